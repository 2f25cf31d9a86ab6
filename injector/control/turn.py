"""The controller's turn: one tick at a time holds it, and one that dies leaves it soon."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from injector.clock import Clock
from injector.groups import Group
from injector.ledger.ports import Leases

LEASE = "tick"
RENEWED_AFTER = 1 / 3
"""How much of a turn may pass before it is renewed."""


@dataclass(slots=True)
class Turn:
    """A turn of `ttl_s`, by `clock`, that is renewed as its holder goes on.

    No step is given more than `step_s` seconds of this machine's, at most half of a turn, so
    that none ends under a tick that is alive. Where clocks differ by more than is left of it,
    two ticks may run at once; then the version that they save the ramp with lets one decide.
    """

    leases: Leases
    owner: str
    clock: Clock
    ttl_s: float
    step_s: float
    _renewed_at: float = field(default=0.0, init=False)
    _held: bool = field(default=True, init=False)

    def take(self) -> bool:
        """Take or renew the turn; False while another holds it."""
        now = self.clock.now()
        self._renewed_at = self.clock.monotonic()
        return self.leases.acquire(LEASE, self.owner, now=now, ttl_s=self.ttl_s)

    def give_back(self) -> None:
        """Let the next tick begin."""
        self.leases.release(LEASE, self.owner)

    def each(self, groups: Iterable[Group]) -> Iterator[Group]:
        """Yield the groups for as long as the turn is held."""
        for group in groups:
            if self._holds():
                yield group

    def within(self, time_left: Callable[[], float]) -> Callable[[], float]:
        """Return what tells a step its time: none once the turn is another's."""
        return lambda: min(time_left(), self.step_s) if self._holds() else 0.0

    def _holds(self) -> bool:
        """Renew the turn when that is due; a turn once lost is not taken again."""
        passed = self.clock.monotonic() - self._renewed_at
        if self._held and passed > self.ttl_s * RENEWED_AFTER:
            self._held = self.take()
        return self._held
