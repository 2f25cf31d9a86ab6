"""The kind of event loop that asyncio runs on here: uvloop's, for it takes less time."""

try:
    import uvloop as loops
except ImportError:  # it has no wheel for every machine
    import asyncio as loops  # type: ignore[no-redef]

__all__ = ["loops"]
