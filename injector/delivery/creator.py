"""How a chunk's creates leave: through one nest of layers, in a window that stays full."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from injector.delivery.call import Call, Sender
from injector.delivery.cloud_tasks import CloudTasks
from injector.delivery.connection import Connection, Line
from injector.delivery.ports import Create, Result
from injector.delivery.verdict import LATE
from injector.errors import Misused

MAX_CALL_S = 30.0


@dataclass(frozen=True, slots=True)
class Delivery:
    """How creates are sent. `call_timeout_s` is what one call may take once it is sent."""

    call_timeout_s: float = 20.0

    def __post_init__(self) -> None:
        """Refuse what the service would refuse with every call."""
        if not 0 < self.call_timeout_s <= MAX_CALL_S:
            raise Misused(
                f"call timeout {self.call_timeout_s} s: the service takes deadlines of more than"
                f" 0 and at most {MAX_CALL_S:.0f} s"
            )


def make_creator(connection: Connection, delivery: Delivery = Delivery()) -> "WindowedCreator":
    """Build a creator; it opens the connection with its first create."""

    def nest(line: Line) -> Sender:
        return CloudTasks(line, timeout_s=delivery.call_timeout_s)

    return WindowedCreator(connection, nest)


class WindowedCreator:
    """Sends a chunk's creates all at once, as far as the line is wide."""

    def __init__(self, connection: Connection, nest: Callable[[Line], Sender]) -> None:
        self._connection = connection
        self._nest = nest
        self._nested: tuple[Line, Sender] | None = None

    def create_all(self, creates: Sequence[Create], *, budget_s: float) -> list[Result]:
        """Create each task and return the results in the order of `creates`."""
        if not creates:
            return []
        return self._connection.run(lambda line: self._create_all(line, creates, budget_s))

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    async def _create_all(
        self, line: Line, creates: Sequence[Create], budget_s: float
    ) -> list[Result]:
        deadline = asyncio.get_running_loop().time() + budget_s
        results = [LATE] * len(creates)
        left = iter(enumerate(creates))
        width = min(len(creates), self._connection.address.width)
        sender = self._sender(line)
        await asyncio.gather(*(_drain(left, sender, deadline, results) for _ in range(width)))
        return results

    def _sender(self, line: Line) -> Sender:
        """Return the line's nest; only the loop's thread comes here."""
        if self._nested is None or self._nested[0] is not line:
            self._nested = line, self._nest(line)
        return self._nested[1]


async def _drain(
    left: Iterator[tuple[int, Create]], sender: Sender, deadline: float, results: list[Result]
) -> None:
    for number, create in left:
        (results[number],) = await sender.send(Call(create.queue, (create,), deadline))
