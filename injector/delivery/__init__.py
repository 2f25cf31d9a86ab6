"""How creates leave this process."""
