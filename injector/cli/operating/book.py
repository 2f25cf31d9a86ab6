"""Where operations are kept: a service's book, or that of the ledger here."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from injector.cli.operating.here import runner_here
from injector.cli.operating.who import user
from injector.cli.options import service_at
from injector.operations.kinds import kind_of
from injector.operations.runner import Runner
from injector.operations.shown import shown
from injector.operations.steering import cancel, pause, resume
from injector.operations.values import Fields, Operation
from injector.settings import Settings


class Book(Protocol):
    """Lists, shows and steers operations."""

    def operations(self, group: str = "") -> Sequence[Fields]:
        """Return the newest operations first, of one group or of all."""

    def operation(self, operation: str) -> Fields:
        """Return the operation; raises NotFound."""

    def steer(self, operation: str, act: str) -> Fields:
        """Pause, resume or cancel the operation, and return it."""


@dataclass(frozen=True, slots=True)
class LedgerBook:
    """The book of the ledger here."""

    runner: Runner

    def operations(self, group: str = "") -> Sequence[Fields]:
        """Return the newest operations first."""
        return [shown(each) for each in self.runner.ledger.operations.list(group=group)]

    def operation(self, operation: str) -> Fields:
        """Return the operation."""
        return shown(self.get(operation))

    def get(self, operation: str) -> Operation:
        """Return the operation whole."""
        return self.runner.ledger.operations.get(operation)

    def steer(self, operation: str, act: str) -> Fields:
        """Pause, resume or cancel it; what a clean stop takes is done at once."""
        ledger, now = self.runner.ledger, self.runner.clock.now()
        if act == "cancel":
            kind = kind_of(ledger.operations.get(operation).kind)
            cancel(ledger, operation, kind, now=now, who=user())
            return shown(self.runner.go_on(operation, time_left=lambda: float("inf")))
        steer = {"pause": pause, "resume": resume}[act]
        return shown(steer(ledger, operation, now=now, who=user()))


@contextmanager
def book_of(settings: Settings, url: str, *, here: bool = False) -> Iterator[Book]:
    """Give where the operations are kept: the service, where there is one, or the ledger here."""
    if not here and (url or settings.service_url):
        yield service_at(url)
        return
    with runner_here(settings) as runner:
        yield LedgerBook(runner)
