"""The event loop to run an emulator on."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

try:
    from uvloop import new_event_loop
except ImportError:  # there is none for Windows
    from asyncio import new_event_loop

_Result = TypeVar("_Result")


def run(main: Coroutine[None, None, _Result]) -> _Result:
    """Run `main` to its end: on uvloop if possible, which takes a third off a dispatch's cost."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)
