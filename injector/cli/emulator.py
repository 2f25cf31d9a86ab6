"""`injector emulator`."""

from injector.emulator.__main__ import main as command

__all__ = ["command"]
