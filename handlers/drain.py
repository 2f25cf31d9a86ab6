"""The end of a process: finish what is under way, or hand it back in time."""

from collections.abc import Callable
from threading import Event, Timer


class Drain:
    """Says whether this process is ending, and cuts short what takes too long then.

    `cut` ends the calls to Cloud Tasks that are under way after `after_s` seconds, so that a
    chunk which is still being fanned out is handed back before the process is killed.
    """

    def __init__(self, cut: Callable[[], None], *, after_s: float) -> None:
        self._cut = cut
        self._after_s = after_s
        self._begun = Event()

    @property
    def begun(self) -> bool:
        """Tell whether the process is ending."""
        return self._begun.is_set()

    def begin(self) -> None:
        """Take no more work; may be called by a signal's handler, and again."""
        if self._begun.is_set():
            return
        self._begun.set()
        timer = Timer(self._after_s, self._cut)
        timer.daemon = True
        timer.start()
