"""Questions to the services beside Cloud Tasks, each over a connection of its own."""

from collections.abc import Callable
from math import inf
from typing import Protocol

from injector.delivery.cloud_tasks import routing
from injector.delivery.connection import Connection
from injector.delivery.line import CallFailed, Line
from injector.delivery.ports import OWN_CODES
from injector.delivery.verdict import OVERLOAD_FAULTS
from injector.errors import Misused, Retryable

CALL_TIMEOUT_S = 10.0
_AGAIN = OVERLOAD_FAULTS | OWN_CODES | {"INTERNAL", "UNKNOWN", "CANCELLED"}


class Message(Protocol):
    """A request as protobuf has it."""

    SerializeToString: Callable[[], bytes]


def answer_to(
    connection: Connection,
    path: str,
    request: Message,
    about: tuple[str, str],
    *,
    whom: str,
    mend: str,
) -> bytes:
    """Ask, and return the serialized answer.

    Raises Retryable where the same later may succeed, and else Misused, which says that `whom`
    cannot be asked, and that `mend` would do.
    """
    serialized = request.SerializeToString()

    async def ask(line: Line) -> bytes:
        try:
            return await line.call(
                path, serialized, about=routing(*about), deadline=inf, most_s=CALL_TIMEOUT_S
            )
        except CallFailed as error:
            said = f"{whom} cannot be asked: {error} ({error.code})"
            if error.code in _AGAIN:
                raise Retryable(said) from error
            raise Misused(f"{said}; {mend}") from error

    return connection.run(ask)
