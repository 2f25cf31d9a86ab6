"""`injector group diagnose`, which is `injector diagnose`."""

from injector.cli.diagnose import command

__all__ = ["command"]
