"""The end of programs whose starter was killed.

    python -m injector.local.lifeline

A process of its own that is told on its input which process groups there are: `+GROUP` as one
starts, `-GROUP` as one is over. Its input ends with whoever writes to it, however that one ends,
and then it kills the groups that are left, so that none goes on by itself and holds its port.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

GONE_WITHIN_S = 2.0
_PR_SET_PDEATHSIG = 1


class Lifeline:
    """The starter's end of it. `held` are descriptors that stay open until all are gone."""

    def __init__(self, held: Iterable[int] = ()) -> None:
        self._process = subprocess.Popen(
            (sys.executable, "-m", "injector.local.lifeline"),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=tuple(held),
        )

    @property
    def is_cut(self) -> bool:
        """Tell whether the process is gone, so that another must take over."""
        return self._process.poll() is not None

    def tie(self, group: int) -> None:
        """Let the group die with this process."""
        self._say(f"+{group}\n")

    def untie(self, group: int) -> None:
        """Forget a group that is over."""
        self._say(f"-{group}\n")

    def close(self) -> None:
        """End it; groups that are still tied are killed."""
        assert self._process.stdin
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()

    def _say(self, line: str) -> None:
        assert self._process.stdin
        with suppress(BrokenPipeError):
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()


def parent_death() -> Callable[[], object] | None:
    """Return what a child calls to be killed when its parent dies; None where nothing does that.

    It holds even if the lifeline is killed along with the parent, but only for the child
    itself: its own children have to see by themselves that they are orphans, as gunicorn's do.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def end_group(group: int) -> bool:
    """Kill every process of the group; tell whether there was one."""
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # some systems' word for a group of zombies
        return False
    return True


def groups_left(lines: Iterable[str]) -> set[int]:
    """Return the groups that were tied and not untied when the lines end."""
    left: set[int] = set()
    for line in lines:
        change = left.add if line.startswith("+") else left.discard
        change(int(line[1:]))
    return left


def main() -> None:
    """Wait for the end of the input, and kill what is left."""
    left = groups_left(sys.stdin)
    until = time.monotonic() + GONE_WITHIN_S
    while left and time.monotonic() < until:
        left = {group for group in left if end_group(group)}
        time.sleep(0.01)


if __name__ == "__main__":
    main()
