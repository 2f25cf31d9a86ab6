"""Questions to the services beside Cloud Tasks, each over a connection of its own."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import takewhile
from math import inf
from typing import Protocol

from injector.delivery.channel import CallFailed
from injector.delivery.cloud_tasks import routing
from injector.delivery.connection import Connection
from injector.delivery.line import Line
from injector.delivery.verdict import PASSING_FAULTS
from injector.errors import Misused, Retryable

CALL_TIMEOUT_S = 10.0
_NOT_OFFERED = "an emulator answers it with the extra `monitoring` installed"


class Message(Protocol):
    """A request as protobuf has it."""

    SerializeToString: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Method:
    """A call of a service: its path, whom it asks, and what lets one ask."""

    path: str
    whom: str
    mend: str


def answer_to(
    connection: Connection, method: Method, request: Message, about: tuple[str, str]
) -> bytes:
    """Ask, and return the serialized answer; `about` is the field and name it is routed by.

    Raises Retryable where the same later may succeed, and else Misused that says what would do.
    """
    serialized = request.SerializeToString()

    async def ask(line: Line) -> bytes:
        try:
            return await line.call(
                method.path, serialized, about=routing(*about), deadline=inf, most_s=CALL_TIMEOUT_S
            )
        except CallFailed as error:
            raise _verdict(method, error) from error

    return connection.run(ask)


def beginning(names: Collection[str]) -> str:
    """Return what all the names begin with."""
    first, last = min(names), max(names)
    pairs = zip(first, last, strict=False)
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _verdict(method: Method, error: CallFailed) -> Misused | Retryable:
    said = f"{method.whom} cannot be asked: {error} ({error.code})"
    if error.code in PASSING_FAULTS:
        return Retryable(said)
    mend = _NOT_OFFERED if error.code == "UNIMPLEMENTED" else method.mend
    return Misused(f"{said}; {mend}")
