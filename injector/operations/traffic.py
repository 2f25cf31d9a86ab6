"""Whether the traffic's next step may be taken: the rules, without clock, service or queue."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from injector.control.rules import Thresholds
from injector.control.standing import Standing
from injector.errors import Misused
from injector.operations.spec import read_spec
from injector.operations.values import Act, Decided, Fields, Line, Operation, Plan, PlannedStep
from injector.operations.values import State as Ends
from injector.pacing.ramp import SAFE_GROWTH, SAFE_INTERVAL_S, SAFE_RATE
from injector.pacing.traffic import WHOLE, Shift, split, table

NAME = "traffic-split"
SET = "set_traffic"
LOOK_EACH_S = 60.0
LIMITS = Thresholds()
ROLL_BACK_FROM = LIMITS.cut_throttled
"""The share of attempts that fail from which on the former split is restored."""

FAULTS = ("RESOURCE_EXHAUSTED", "UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED", "UNKNOWN")
GRAINS: Mapping[str, Decimal] = {
    "run": Decimal(1),
    "ip": Decimal(1),
    "cookie": Decimal("0.1"),
    "random": Decimal("0.1"),
}
"""In percent: Cloud Run takes whole percents, App Engine hundredths of 1 by address and
thousandths of 1 by cookie or at random."""

Split = Mapping[str, Decimal]


@dataclass(frozen=True, slots=True)
class TrafficSpec:
    """Move a service's traffic to the version `to`.

    `service` is projects/P/locations/L/services/S or apps/A/services/S. `tps` is what all queues
    together get a second, `new_share` the new ones' share of it in the end. `shard_by` is how App
    Engine tells users apart. Held for `give_up_s`, it is rolled back.
    """

    queues: tuple[str, ...]
    service: str
    to: str
    tps: float
    new_share: float = 0.5
    start: float = SAFE_RATE
    growth: float = 1.5
    interval_s: float = 300.0
    shard_by: str = "random"
    blind: bool = False
    give_up_s: float = 3600.0

    @property
    def shift(self) -> Shift:
        """Return the curve."""
        return Shift(self.tps, self.new_share, self.start, self.growth, self.interval_s)

    @property
    def grain(self) -> Decimal:
        """Return the least part of the traffic that the platform can move."""
        return GRAINS["run" if self.service.startswith("projects/") else self.shard_by]


@dataclass(frozen=True, slots=True)
class TrafficSeen:
    """The split as it is, and how the target stood since the last change; None if unknown."""

    split: Split
    standing: Standing | None = None


def read(fields: Fields) -> TrafficSpec:
    """Read what was asked for."""
    return read_spec(fields, TrafficSpec, kind=NAME)


def check_reach(service: str, allowed: Collection[str] | None) -> None:
    """Raise Misused for a service that is not one of those that are allowed; None allows all."""
    if allowed is not None and service not in allowed:
        raise Misused(
            f"{NAME}: the traffic of {service[:200]} may not be split here, only that of "
            f"{', '.join(sorted(allowed)) or 'none'}: name it in INJECTOR_TRAFFIC_SERVICES, or do "
            "it from where you are logged in, by --here"
        )


def plan(operation: Operation, seen: TrafficSeen, now: float) -> Plan:
    """Show the table: what the curve allows, what the platform can do of it, and who gets what."""
    del now
    spec = read(operation.spec)
    rows, shares = list(table(spec.shift)), list(spec.shift.steps())
    steps = []
    for row, share in zip(rows, shares, strict=True):
        found = split(seen.split, spec.to, share, grain=spec.grain)
        figures = {
            "curve %": float(row.moved),
            "new queues %": float(row.to_new_queues),
            "old queues %": float(row.to_old_queues),
            "set %": float(found.get(spec.to, 0)),
            "new queues/s": spec.tps * spec.new_share * float(found.get(spec.to, 0)) / 100,
        }
        steps.append(PlannedStep(60 * row.minute, in_words(found), figures))
    points = tuple((60 * row.minute, float(row.moved)) for row in rows)
    return Plan(
        {"service": spec.service, "now": in_words(seen.split), "to": spec.to},
        tuple(steps),
        "% of the traffic moved",
        (Line("moved", points),),
        tuple(_warnings(spec)),
        steps[-1].at_s,
    )


def advance(operation: Operation, seen: TrafficSeen, now: float) -> Decided:
    """Take the next step when it is due and the target is well; roll back when it is not."""
    spec = read(operation.spec)
    memory = operation.memory
    if not memory:
        return _begin(operation, spec, seen, now)
    if seen.split != _split_of(memory["set"]):
        return _left_to_them(operation, seen, now)
    if unwell := _unwell(operation, spec, seen, now):
        return unwell
    due = float(str(memory["changed_at"])) + spec.interval_s
    if now < due:
        following = operation.going_on(
            in_words(seen.split), next_at=min(due, now + LOOK_EACH_S), ends_at=operation.ends_at
        )
        return replace(following, memory={**memory, "held_at": None}), ()
    return _step(operation, spec, now)


def again(operation: Operation, seen: TrafficSeen, now: float) -> Decided:
    """Finish an interrupted change if the target is well, and nobody else has split it anew."""
    (act,), memory = operation.acts_left, operation.memory
    if seen.split == _split_of(act.values["split"]):
        return operation, ()
    before = _split_of(_was(memory))
    if operation.state is not Ends.RUNNING:
        if seen.split in (before, _split_of(memory["set"])):
            return operation, (act,)
        reason = f"{operation.reason}; but {_by_others(seen)}, and it is left so"
        return replace(operation, reason=reason), ()
    if seen.split != before:
        return _left_to_them(operation, seen, now)
    if _unwell(operation, read(operation.spec), seen, now):
        return _taken_back(operation, now), ()
    return operation, (act,)


def _left_to_them(operation: Operation, seen: TrafficSeen, now: float) -> Decided:
    """Pause, rather than fight whoever else has split the traffic."""
    reason = f"{_by_others(seen)}; cancel it, or set it back"
    return operation.ending(Ends.PAUSED, reason, now=now), ()


def _by_others(seen: TrafficSeen) -> str:
    return f"someone set the traffic to {in_words(seen.split)}"


def _taken_back(operation: Operation, now: float) -> Operation:
    """Return the operation as it was before its last step, which was not taken."""
    memory = operation.memory
    before = {**memory, "set": _was(memory), "next": int(str(memory["next"])) - 1}
    return replace(operation, memory=before, step=operation.step - 1, next_at=now)


def roll_back(operation: Operation, why: str, now: float) -> Decided:
    """Restore the split that was there before."""
    former = operation.memory.get("former")
    if not former:
        return operation.ending(Ends.CANCELLED, f"{why}; nothing was changed yet", now=now), ()
    act = _set(read(operation.spec), _split_of(former))
    words = in_words(_split_of(former))
    return operation.ending(Ends.ROLLED_BACK, f"{why}; back to {words}", now=now), (act,)


def cancel(operation: Operation, now: float) -> Decided:
    """Roll back on request."""
    return roll_back(operation, "cancelled", now)


def in_words(found: Split) -> str:
    """Write a split for a person."""
    return ", ".join(f"{name} {percent.normalize():f} %" for name, percent in found.items())


def _begin(operation: Operation, spec: TrafficSpec, seen: TrafficSeen, now: float) -> Decided:
    if seen.split.get(spec.to):
        raise Misused(
            f"{spec.to} gets {seen.split[spec.to].normalize():f} % of the traffic already; begin "
            "with a version that gets none"
        )
    steps = len(list(spec.shift.steps()))
    former = {name: str(percent) for name, percent in seen.split.items()}
    memory = {"former": former, "next": 0, "set": former, "was": former, "changed_at": now}
    return _step(replace(operation, memory=memory, steps=steps), spec, now)


def _step(operation: Operation, spec: TrafficSpec, now: float) -> Decided:
    memory = operation.memory
    step, before = int(str(memory["next"])), _split_of(memory["set"])
    if before.get(spec.to) == WHOLE:
        return operation.ending(Ends.DONE, f"all traffic goes to {spec.to}", now=now), ()
    found = split(_split_of(memory["former"]), spec.to, spec.shift.share(step), grain=spec.grain)
    written = {name: str(percent) for name, percent in found.items()}
    changed = {
        **memory,
        "next": step + 1,
        "set": written,
        "was": memory["set"],
        "changed_at": now,
        "held_at": None,
    }
    ends_at = now + max(1, operation.steps - step) * spec.interval_s
    following = replace(operation, memory=changed).stepping(
        in_words(found), next_at=now + min(LOOK_EACH_S, spec.interval_s), ends_at=ends_at
    )
    return following, () if found == before else (_set(spec, found),)


def _unwell(
    operation: Operation, spec: TrafficSpec, seen: TrafficSeen, now: float
) -> Decided | None:
    """Roll back or hold when the target is not well; None when it is."""
    failing, enough = _failing(seen.standing)
    if enough and failing >= ROLL_BACK_FROM:
        return roll_back(operation, f"{failing:.0%} of the attempts failed", now)
    if enough and failing >= LIMITS.warn_targets:
        return _hold(operation, spec, f"{failing:.0%} of the attempts fail", now)
    late_s = (seen.standing.late_s if seen.standing else None) or 0.0
    if late_s > LIMITS.backlog_s:
        return _hold(operation, spec, f"tasks leave {late_s:.0f} s late", now)
    return None


def _hold(operation: Operation, spec: TrafficSpec, why: str, now: float) -> Decided:
    """Stay, and roll back if that lasts."""
    held_at = float(str(operation.memory.get("held_at") or now))
    if now - held_at >= spec.give_up_s:
        return roll_back(operation, f"held for {(now - held_at) / 60:.0f} min: {why}", now)
    held = replace(operation, memory={**operation.memory, "held_at": held_at})
    return held.going_on(f"held: {why}", next_at=now + LOOK_EACH_S), ()


def _set(spec: TrafficSpec, found: Split) -> Act:
    written = {name: str(percent) for name, percent in found.items()}
    return Act(SET, spec.service, {"split": written, "shard_by": spec.shard_by})


def _was(memory: Fields) -> object:
    """Return the split before the last step; the former one where an earlier version began."""
    return memory.get("was", memory.get("former"))


def _split_of(written: object) -> Split:
    pairs = written.items() if isinstance(written, Mapping) else ()
    return {str(name): Decimal(str(percent)) for name, percent in pairs}


def _failing(standing: Standing | None) -> tuple[float, bool]:
    """Return the share of attempts that failed, and whether they are enough to tell."""
    attempts = standing.attempts if standing else {}
    whole = sum(attempts.values())
    failed = sum(attempts.get(code, 0) for code in FAULTS)
    return (failed / whole if whole else 0.0), whole >= LIMITS.least_creates


def _warnings(spec: TrafficSpec) -> Iterator[str]:
    first = spec.shift.share(0)
    if first < spec.grain:
        yield (
            f"the curve begins at {float(first):.3g} %, less than the {spec.grain} % that the "
            "platform can move; nothing moves until it is reached"
        )
    if spec.start > SAFE_RATE or spec.growth > SAFE_GROWTH or spec.interval_s < SAFE_INTERVAL_S:
        yield "this is steeper than 500/50/5"
