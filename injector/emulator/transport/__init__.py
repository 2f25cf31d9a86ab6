"""The emulator's two edges: what callers speak to it, and what it sends to targets."""
