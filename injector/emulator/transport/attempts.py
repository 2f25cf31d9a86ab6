"""What is sent to a target, and how that ended."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Attempt:
    """One HTTP request to a target.

    `headers` are sent in their order and casing, and no others but Host and Content-Length;
    `host` is what Host says, if not the URL's own. `deadline_s` counts in the emulator's clock
    and from when the request may leave. At most `redirects` redirects are followed.
    """

    url: str
    method: str = "POST"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    host: str = ""
    deadline_s: float = 600.0
    redirects: int = 0


class End(Enum):
    """How an attempt ended: with a whole answer, over its deadline, or with neither."""

    ANSWERED = "answered"
    TIMED_OUT = "timed out"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back from a target.

    `status` is 0 and `headers` are empty unless it answered; `reason` says why it did not.
    `latency_s` is in the emulator's clock.
    """

    end: End
    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    reason: str = ""
    latency_s: float = 0.0

    def header(self, name: str) -> str | None:
        """Return the first value of a header by its name in any casing; None if it is not there."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)


class Timer(Protocol):
    """Something that will be called, unless it is cancelled."""

    def cancel(self) -> None:
        """Do not call it."""


class Timers(Protocol):
    """The emulator's clock on an event loop; the loop itself is one that runs in real time."""

    def time(self) -> float:
        """Return seconds from an arbitrary start, which only grow."""

    def call_later(self, delay: float, callback: Callable[[], None], /) -> Timer:
        """Call back after that many of this clock's seconds."""
