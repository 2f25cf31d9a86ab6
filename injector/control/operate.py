"""Going on with a group's operations at each tick, so that no command needs to stay."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from injector.errors import InjectorError
from injector.groups import Group
from injector.operations.runner import Runner
from injector.operations.values import Operation

RESERVE_S = 10.0
"""How much of its time a tick leaves for others."""


@dataclass(frozen=True, slots=True)
class Operates:
    """Goes on with operations."""

    runner: Runner

    def run(self, group: Group, *, rate: float, time_left: Callable[[], float]) -> Iterator[str]:
        """Go on with each operation of the group, and tell where it is; one keeps no other back."""
        del rate
        for operation in self.runner.ledger.operations.open(group.name):
            if time_left() <= RESERVE_S:
                return
            try:
                yield _words(
                    self.runner.go_on(operation.id, time_left=lambda: time_left() - RESERVE_S)
                )
            except InjectorError as error:
                yield str(error)


def _words(operation: Operation) -> str:
    place = f"step {operation.step} of {operation.steps or '?'}"
    return f"operation {operation.id} is {operation.state}, {place}: {operation.reason}"
