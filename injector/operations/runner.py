"""Carries operations on: what was decided is saved first, then done, and noted act by act.

A process that is killed at any moment leaves an operation with acts to do. Whoever goes on with
it looks again, since others may have changed what the acts were decided on, and does those that
still hold before it decides anew. A paused operation does nothing. One process at a time goes on
with an operation, by a lease; a save that finds another version than it had read changes nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from injector.clock import Clock
from injector.errors import Conflict, Misused, Outdated, Retryable
from injector.ledger.ports import AuditLine, LedgerPort
from injector.operations.acts import ACTS_PER_S
from injector.operations.kind import AnyKind, Ports
from injector.operations.values import Act, Decided, Operation, State
from injector.pacing.limiter import Pacer

LEASE_S = 90.0
ROUND_S = 60.0
"""The longest time between two looks at an operation: evidence comes by the minute."""

RESERVE_S = 2.0
AT_ONCE_S = 1.0

TimeLeft = Callable[[], float]
Decide = Callable[[Operation, Ports, float], Decided]


@dataclass(frozen=True, slots=True)
class Runner:
    """Goes on with operations of these kinds, as `owner`.

    `patience_s` is how long it waits for a step that is just about due, `lease_s` how long its
    turn lasts when it is killed.
    """

    ledger: LedgerPort
    ports: Ports
    kinds: Mapping[str, AnyKind]
    clock: Clock
    owner: str
    patience_s: float = 3.0
    lease_s: float = LEASE_S

    def go_on(self, operation_id: str, *, time_left: TimeLeft) -> Operation:
        """Do what is due of the operation, and return it as it is then.

        Raises Conflict while another process holds it, Retryable when the service or the ledger
        cannot be reached: the same again later goes on. What only a person can mend pauses it.
        """
        name, now = f"operation {operation_id}", self.clock.now()
        if not self.ledger.leases.acquire(name, self.owner, now=now, ttl_s=self.lease_s):
            raise Conflict(
                f"operation {operation_id} is being carried on by another process; see "
                f"`injector group operations show {operation_id}`"
            )
        try:
            return self._round(self.ledger.operations.get(operation_id), time_left)
        finally:
            self.ledger.leases.release(name, self.owner)

    def _round(self, operation: Operation, time_left: TimeLeft) -> Operation:
        """Finish what is left of the last decision, and decide anew if that is due."""
        if operation.state is State.PAUSED:
            return operation
        if operation.acts_left:
            operation = self._decided(operation, lambda kind: kind.reconsider)
            operation = self._carry_out(operation, time_left)
        if operation.acts_left or operation.state is not State.RUNNING:
            return operation
        wait_s = operation.next_at - self.clock.now()
        if wait_s > self.patience_s:
            return operation
        if wait_s > 0:
            self.clock.sleep(wait_s)
        operation = self._decided(operation, lambda kind: kind.decide)
        return self._carry_out(operation, time_left)

    def _decided(self, operation: Operation, how: Callable[[AnyKind], Decide]) -> Operation:
        """Save what its kind decides, before anything of it is done."""
        now = self.clock.now()
        try:
            decided, acts = how(self._kind(operation))(operation, self.ports, now)
        except Misused as error:
            return self._stopped(operation, error)
        decided = replace(decided, acts=tuple(acts), acts_done=0)
        return save(self.ledger, operation, decided, now=now)

    def _stopped(self, operation: Operation, error: Misused) -> Operation:
        """Pause until a person has mended it; what had ended is then a failure, and stays ended."""
        now = self.clock.now()
        if operation.state is State.RUNNING:
            stopped = operation.ending(State.PAUSED, str(error), now=now)
        else:
            failed = operation.ending(State.FAILED, f"{operation.reason}; but {error}", now=now)
            stopped = replace(failed, acts=(), acts_done=0)
        return save(self.ledger, operation, stopped, now=now)

    def _carry_out(self, operation: Operation, time_left: TimeLeft) -> Operation:
        """Do the acts that are left, and note each; those without time are for the next round."""
        pacer = Pacer(ACTS_PER_S, slack_s=AT_ONCE_S)
        for act in () if operation.state is State.PAUSED else operation.acts_left:
            if wait_s := pacer.reserve(now=self.clock.monotonic()):
                self.clock.sleep(wait_s)
            if time_left() <= RESERVE_S:
                return operation
            try:
                self._do(operation, act)
            except Misused as error:
                return self._stopped(operation, error)
            operation = self._noted(operation)
        return operation

    def _do(self, operation: Operation, act: Act) -> str:
        self._hold(operation)
        return self._kind(operation).verbs[act.verb](act, self.ports)

    def _noted(self, operation: Operation) -> Operation:
        done = operation.acts_done + 1
        if not self.ledger.operations.acted(operation, done=done):
            raise Outdated(f"operation {operation.id} was changed meanwhile; look at it again")
        return replace(operation, acts_done=done)

    def _hold(self, operation: Operation) -> None:
        """Keep the turn; raise Conflict when it was lost, before anything is done without it."""
        name, now = f"operation {operation.id}", self.clock.now()
        if not self.ledger.leases.acquire(name, self.owner, now=now, ttl_s=self.lease_s):
            raise Conflict(f"operation {operation.id} was taken over by another process")

    def _kind(self, operation: Operation) -> AnyKind:
        found = self.kinds.get(operation.kind)
        if found is None:
            raise Misused(f"this version has no operation {operation.kind!r}; upgrade it")
        return found


def save(
    ledger: LedgerPort, before: Operation, after: Operation, *, now: float, who: str = ""
) -> Operation:
    """Save what was decided, with an audit line for each step and each change of state.

    Raises Outdated when someone else has saved meanwhile.
    """
    saved = replace(after, version=before.version + 1)
    lines = _lines(before, after, now=now, who=who)
    if not ledger.operations.save(saved, expected_version=before.version, lines=lines):
        raise Outdated(f"operation {before.id} was changed meanwhile; look at it again")
    return saved


def _lines(before: Operation, after: Operation, *, now: float, who: str) -> Sequence[AuditLine]:
    changes = (("step", before.step, after.step), ("state", before.state, after.state))
    return [
        AuditLine(now, after.id, who, what, str(old), str(new), after.reason)
        for what, old, new in changes
        if old != new
    ]


def drive(
    runner: Runner,
    operation_id: str,
    show: Callable[[Operation], None],
    *,
    time_left: TimeLeft = lambda: float("inf"),
) -> Operation:
    """Go on until the operation ends or pauses, however long it takes; show it after each round.

    What cannot be reached for a while, or is held by another process, is asked again soon.
    """
    clock = runner.clock
    while True:
        operation, was_reached = _patiently(runner, operation_id, time_left)
        show(operation)
        is_over = was_reached or not operation.acts_left or operation.state is State.PAUSED
        if operation.state is not State.RUNNING and is_over:
            return operation
        wait_s = operation.next_at - clock.now()
        clock.sleep(min(max(wait_s, 1.0), ROUND_S))


def _patiently(runner: Runner, operation_id: str, time_left: TimeLeft) -> tuple[Operation, bool]:
    """Go on; return the operation as it is, and whether all that it needs could be reached."""
    try:
        return runner.go_on(operation_id, time_left=time_left), True
    except (Retryable, Conflict) as error:
        found = runner.ledger.operations.get(operation_id)
        return replace(found, reason=str(error), next_at=runner.clock.now() + ROUND_S / 4), False
