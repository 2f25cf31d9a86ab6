"""How a group's queues grow: which of them are warm, and what the new ones may get meanwhile.

The controller notices by itself that its configuration names other queues than before. What is
new begins at the group's first rate over all new queues together and climbs on the same rules as
the group, until it has its even share; what sorts evenly between warm queues is used at once. So
however a group comes by its queues, none of them is overrun.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial

from injector.control.decision import Decision, Observation, RampState, Thresholds, decide
from injector.control.rules import Kind
from injector.groups import Group, expand
from injector.interleave import bound_problems, is_even
from injector.layout import Layout, share_of
from injector.pacing.ramp import CHUNK, Ramp
from injector.queue_names import compact, so_many


@dataclass(frozen=True, slots=True)
class Growth:
    """A group's queues as the controller last had them, as expressions.

    `ramp` is that of the `fresh` queues together, in injector tasks' worth of creates a second.
    `interleaved_at` is when queues were last taken in between others, in Unix seconds.
    """

    warm: str = ""
    fresh: str = ""
    ramp: RampState = field(default_factory=RampState)
    interleaved_at: float = 0.0

    def to_builtins(self) -> Mapping[str, object]:
        """Return what `from_builtins` reads."""
        return asdict(self) | {"ramp": json.loads(self.ramp.to_json())}

    @classmethod
    def from_builtins(cls, kept: Mapping[str, object]) -> "Growth":
        """Read what `to_builtins` gave; nothing is a group that was never ticked."""
        if not kept:
            return cls()
        ramp = RampState.from_json(json.dumps(kept["ramp"]))
        at = float(str(kept["interleaved_at"]))
        return cls(str(kept["warm"]), str(kept["fresh"]), ramp, at)


@dataclass(frozen=True, slots=True)
class TakenOver:
    """A group's queues after its configuration was looked at.

    `cold` says that none of them is warm, so that the group begins anew; `notice` tells what
    was done, or what must wait, and is empty where nothing has changed.
    """

    growth: Growth
    cold: bool = False
    notice: str = ""


@dataclass(frozen=True, slots=True)
class Spread:
    """How a group's chunks are to be spread from now on; `decision` is about the fresh queues.

    `decision` is None when there are none.
    """

    growth: Growth
    layout_at: Callable[[float], Layout]
    decision: Decision | None = None

    @property
    def notices(self) -> tuple[str, ...]:
        """Say how far the fresh queues are."""
        if self.decision is None:
            return ()
        queues = len(expand(self.growth.fresh))
        rate = self.decision.rate * CHUNK
        return (
            f"up to {rate:,.4g} creates/s for {so_many(queues, 'new')}: {self.decision.reason}",
        )


def take_over(growth: Growth, group: Group, *, now: float, rate: float) -> TakenOver:
    """Take over the queues that the group is configured with; `rate` is what it now has.

    A group that was never seen is taken for what it is: its own ramp begins cold.
    """
    if not group.queues:
        return TakenOver(growth)
    if not growth.warm and not growth.fresh:
        return TakenOver(Growth(compact(group.queues)))
    warm, fresh = names_of(growth.warm), names_of(growth.fresh)
    if set(group.queues) == {*warm, *fresh}:
        return TakenOver(growth)
    still = [name for name in group.queues if name in set(warm)]
    climbing = [name for name in group.queues if name in set(fresh)]
    added = [name for name in group.queues if name not in {*warm, *fresh}]
    if not still:
        anew = "all its queues are new: it begins anew"
        return TakenOver(Growth(compact(group.queues)), cold=True, notice=anew)
    if added and is_even(still, added):
        return _interleaved(growth, still, climbing, added, now=now, rate=rate)
    return _appended(growth, still, [*climbing, *added], is_more=bool(added))


def names_of(expression: str) -> tuple[str, ...]:
    """Name the queues of an expression, which is empty where there are none."""
    return expand(expression) if expression else ()


def _appended(
    growth: Growth, still: Sequence[str], fresh: Sequence[str], *, is_more: bool
) -> TakenOver:
    """Lead new queues up from the first rate; those that were climbing begin again with them."""
    kept = replace(growth, warm=compact(still), fresh=compact(fresh))
    if not is_more:
        return TakenOver(kept, notice=f"the group is down to {so_many(len(still) + len(fresh))}")
    notice = f"{so_many(len(fresh), 'new')} beside {len(still)}: the share follows the curve"
    return TakenOver(replace(kept, ramp=RampState()), notice=notice)


def _interleaved(  # noqa: PLR0913  (what there is, and the moment)
    growth: Growth,
    still: Sequence[str],
    climbing: Sequence[str],
    added: Sequence[str],
    *,
    now: float,
    rate: float,
) -> TakenOver:
    """Use queues at once that sort evenly between warm ones, within the bounds of that.

    Where only the time since the last ones is too short, they wait; else they climb. Queues that
    the group has no longer are left out in any case.
    """
    kept = replace(growth, warm=compact(still), fresh=compact(climbing))
    since_s = max(0.0, now - growth.interleaved_at)
    broken = partial(bound_problems, queues=len(still), new=len(added), creates_per_s=rate * CHUNK)
    if problems := list(broken()):
        taken = _appended(growth, still, [*climbing, *added], is_more=True)
        return replace(taken, notice=f"{taken.notice}, since {'; '.join(problems)}")
    if problems := list(broken(since_last_s=since_s)):
        return TakenOver(kept, notice=f"{so_many(len(added), 'new')} waiting: {problems[0]}")
    notice = f"{so_many(len(added))}, sorted evenly between {len(still)}, in use at once"
    warm = compact([*still, *added])
    return TakenOver(replace(kept, warm=warm, interleaved_at=now), notice=notice)


def spread(  # noqa: PLR0913  (a decision's whole case)
    growth: Growth,
    group: Group,
    seen: Observation,
    of_group: Decision,
    *,
    now: float,
    ahead_s: float,
    limits: Thresholds,
) -> Spread:
    """Decide what the fresh queues may get, and end their climb once it is their even share.

    Their share is of the rate that the group's curve allows when a chunk is due, which is never
    less than what it really has by then.
    """
    warm, fresh = names_of(growth.warm), names_of(growth.fresh)
    if not fresh:
        return Spread(growth, lambda _rate: Layout(warm))
    even = len(fresh) / (len(warm) + len(fresh))
    decision = decide(
        growth.ramp, _of_fresh(seen), now, ramp=_ramp(group.ramp, even), limits=limits
    )
    coming = of_group.curve.rate_at(now + ahead_s - of_group.origin)
    whole = max(coming, of_group.rate, group.ramp.start_rate)
    if decision.kind is not Kind.FINISH and decision.rate >= even * whole:
        grown = Growth(compact((*warm, *fresh)), interleaved_at=growth.interleaved_at)
        return Spread(grown, lambda _rate: Layout((*warm, *fresh)))
    moved = replace(growth, ramp=decision.state)
    return Spread(
        moved,
        lambda rate: Layout(warm, fresh, share_of(decision.rate, rate, most=even)),
        decision,
    )


def _of_fresh(seen: Observation) -> Observation:
    """Return what was seen, with the fresh queues' part of it as the operations."""
    signals = seen.signals
    part = signals.fresh / signals.sent if signals.sent else 0.0
    counted = replace(signals, fan_outs=math.floor(signals.fan_outs * min(1.0, part)))
    return replace(seen, signals=counted, found_rate=None)


def _ramp(ramp: Ramp, even: float) -> Ramp:
    """Return the group's ramp, cold, and as high as the fresh queues' even share."""
    return replace(ramp, warm_rate=None, max_rate=max(ramp.initial_rate, even * ramp.max_rate))
