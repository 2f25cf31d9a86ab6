"""One call to the service, and the one shape of everything that a call passes through."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from injector.delivery.ports import Create, Result
from injector.pacing.signals import Tally


@dataclass(slots=True)
class Call:
    """The creates of one call, all in one queue; `deadline` is in the loop's seconds.

    What happens to it is told to `tally`. Not frozen, because one is made for every create, and
    freezing doubles what that costs; no layer changes it.
    """

    queue: str
    creates: Sequence[Create]
    deadline: float
    tally: Tally


class Sender(Protocol):
    """Sends calls. Every layer is one around another."""

    async def send(self, call: Call) -> Sequence[Result]:
        """Send the call and return the ends of its creates, in their order."""
