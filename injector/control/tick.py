"""One run of the controller: for each group finish, look, decide, tell the queues, and feed.

One tick at a time, by turns. A tick that is missed or comes twice changes nothing: the ramp
counts running time, and what is fed is counted by the curve.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

from injector.clock import Clock
from injector.control.decision import Decision, Observation, Thresholds, decide
from injector.control.feed import Feeder, Released
from injector.control.growth import Spread, spread, take_over
from injector.control.memory import Memory, Said, said
from injector.control.ramp_state import RampState, evidence_from
from injector.control.sickness import (
    FORGET_S,
    SickQueue,
    refusing,
    sick_queues,
    told,
    tried,
    tries_due,
)
from injector.control.slots import Pace
from injector.control.standing import Standing, Watcher
from injector.control.stop import stop_broken
from injector.control.turn import Turn
from injector.delivery.ports import Queue, QueueAdmin
from injector.errors import InjectorError, Retryable
from injector.groups import Group
from injector.ledger.ports import GroupState, JobState, LedgerPort, Minute, RampDecision
from injector.pacing.limiter import Pacer
from injector.pacing.signals import Signals

SIGNALS_KEPT_S = 24 * 3600.0
ANSWERS_KEPT_S = 24 * 3600.0
MINUTE_S = 60.0
SAMPLE = 0.1
"""How much of the rate goes, beyond it, to chunks that show how queues are that were sick."""

UPDATES_PER_S, AT_ONCE_S = 10.0, 1.0
"""How often queues are updated; the first second's worth of it goes at once."""


@dataclass(frozen=True, slots=True)
class GroupTick:
    """What a tick did for a group; `due_in_s` is the least time until a step up."""

    group: str
    said: Said
    rate: float = 0.0
    due_in_s: float = 0.0
    finished: tuple[str, ...] = ()
    fed: int = 0
    refed: int = 0
    errands: tuple[str, ...] = ()


class Errand(Protocol):
    """What else is done for a group at a tick, once it is fed."""

    def run(self, group: Group, *, rate: float, time_left: Callable[[], float]) -> Iterable[str]:
        """Do it, and say what was done; `rate` is in injector tasks per second."""


@dataclass(frozen=True, slots=True)
class Look:
    """How a tick finds a group: what was kept of it, its injector queues, and what was seen.

    `notices` say what could not be seen, and what else a person should know. `refusing` are
    queues that take nothing; what they refused is not in what was `seen`. `nothing_taken` says
    that no queue has taken anything for minutes.
    """

    kept: GroupState
    memory: Memory
    queues: Sequence[Queue]
    seen: Observation
    finished: tuple[str, ...]
    notices: tuple[str, ...] = ()
    refusing: frozenset[str] = frozenset()
    nothing_taken: bool = False


@dataclass(frozen=True, slots=True)
class Ticker:
    """Runs ticks over all groups. Spans are in seconds of `clock`, but for `step_s`.

    A tick that dies keeps the next from beginning for `lease_s` at most, and no step of one that
    lives takes longer than `step_s` of this machine's seconds.

    `patience_s` is how long a tick waits for a step that is just about due: ticks that come a
    moment early would else make a step of 5 minutes one of 6. Without a `watcher` nothing is
    known of the group's own queues. `capacity` is how many fan-outs the service takes at once,
    which the groups at work share evenly; None sets no bound. `alarm` is told of each error that
    nobody expected, with the group that it befell.
    """

    ledger: LedgerPort
    queues: QueueAdmin
    feeder: Feeder
    groups: Mapping[str, Group]
    clock: Clock
    lease_s: float = 30.0
    step_s: float = 15.0
    patience_s: float = 3.0
    limits: Thresholds = field(default_factory=Thresholds)
    errands: Sequence[Errand] = ()
    watcher: Watcher | None = None
    capacity: int | None = None
    alarm: Callable[[str, Exception], None] = lambda _group, _error: None

    def tick(self, owner: str, *, time_left: Callable[[], float]) -> Sequence[GroupTick] | None:
        """Tick every group; None when another tick is under way."""
        turn = Turn(self.ledger.leases, owner, self.clock, self.lease_s, self.step_s)
        if not turn.take():
            return None
        try:
            groups = turn.each(self._in_turn(self.clock.now()))
            sharing = replace(self, capacity=self._capacity_each())
            return sharing.tick_each(groups, turn.within(time_left))
        finally:
            turn.give_back()

    def tick_each(
        self, groups: Iterable[Group], time_left: Callable[[], float]
    ) -> Sequence[GroupTick]:
        """Tick the groups, each with this capacity, and forget what is old."""
        now = self.clock.now()
        ticks = [self._in_time(group, time_left) for group in groups]
        ticks = [self._after(tick, time_left) for tick in ticks]
        self.ledger.signals.forget(before=now - SIGNALS_KEPT_S)
        self.ledger.answers.forget(before=now - ANSWERS_KEPT_S)
        return ticks

    def _capacity_each(self) -> int | None:
        """Return a group's share of what the service takes at once."""
        if self.capacity is None:
            return None
        return max(1, self.capacity // max(1, sum(map(self._works, self.groups))))

    def _works(self, group: str) -> bool:
        return any(job.state is JobState.RUNNING for job in self.ledger.jobs.active(group))

    def _in_turn(self, now: float) -> Sequence[Group]:
        """Begin with another group each minute, so that a lack of time hits none for good."""
        groups = list(self.groups.values())
        first = int(now // MINUTE_S) % len(groups) if groups else 0
        return groups[first:] + groups[:first]

    def _in_time(self, group: Group, time_left: Callable[[], float]) -> GroupTick:
        """Tick the group, and again when its step comes due in a moment."""
        tick = self._safely(group, time_left)
        if not 0 < tick.due_in_s <= self.patience_s:
            return tick
        self.clock.sleep(tick.due_in_s)
        return _joined(tick, self._safely(group, time_left))

    def _safely(self, group: Group, time_left: Callable[[], float]) -> GroupTick:
        """Tick the group; what goes wrong with it keeps no other group from its tick."""
        try:
            return self._tick(group, self.clock.now(), time_left)
        except InjectorError as error:
            return GroupTick(group.name, self._fault(group, str(error)))
        except Exception as error:  # noqa: BLE001  (whatever it is, it is one group's)
            return GroupTick(group.name, self._fault(group, self._surprise(group, error)))

    def _surprise(self, group: Group, error: Exception) -> str:
        """Have the error and its trace logged, and return words for it."""
        self.alarm(group.name, error)
        return f"unexpected {type(error).__name__}: {error}; the log tells where"

    def _after(self, tick: GroupTick, time_left: Callable[[], float]) -> GroupTick:
        """Run the errands; those of a group with work of its own go at its first, slow rate."""
        group = self.groups[tick.group]
        first = group.ramp.initial_rate
        rate = first if tick.fed or tick.refed else max(first, tick.rate)
        said: list[str] = []
        for errand in self.errands:
            try:
                said.extend(errand.run(group, rate=rate, time_left=time_left))
            except InjectorError as error:
                said.append(str(error))
            except Exception as error:  # noqa: BLE001  (the other errands are run all the same)
                said.append(self._surprise(group, error))
        return replace(tick, errands=tuple(said))

    def _fault(self, group: Group, why: str) -> Said:
        """Keep what went wrong where people look for it, unless that is what went wrong."""
        words = Said(self.clock.now(), fault=why)
        with suppress(Exception):
            kept = self.ledger.groups.state(group.name)
            memory = Memory.from_json(kept.ramp_json)
            words = replace(memory.said, at=words.at, fault=why)
            self._save(kept, replace(memory, said=words))
        return words

    def _tick(self, group: Group, now: float, time_left: Callable[[], float]) -> GroupTick:
        look = self._look(group, now)
        decision = decide(look.memory.ramp, look.seen, now, ramp=group.ramp, limits=self.limits)
        if decision.apply:
            self._tell(look.queues, decision, time_left)
        grown = self._spread(group, look, decision, now=now)
        words = said(decision, at=now, more=(*look.notices, *grown.notices))
        tick = GroupTick(group.name, words, decision.rate, finished=look.finished)
        memory = replace(look.memory, ramp=decision.state, said=words, growth=grown.growth)
        if not self._save(look.kept, memory, _record(look, decision, now=now)):
            return replace(tick, said=replace(words, fault="another tick was quicker"))
        if not look.seen.work or look.seen.halted:
            return tick
        stop_broken(self.ledger.jobs, group, memory.sick, nothing_taken=look.nothing_taken, now=now)
        pace = Pace(decision.curve, decision.origin, decision.rate)
        let = self._release(group, memory, rate=decision.rate, now=now)
        memory = replace(memory, sick=tried(memory.sick, let.of, now=now))
        fed = self.feeder.top_up(
            group,
            pace,
            memory.mark,
            now=now,
            time_left=time_left,
            layout_at=grown.layout_at,
            soon=_sample(let, rate=decision.rate),
        )
        words = replace(words, fault=fed.fault)
        saved = replace(look.kept, version=look.kept.version + 1)
        self._save(saved, replace(memory, mark=fed.mark, said=words))
        return replace(tick, said=words, due_in_s=decision.due_in_s, fed=fed.fed, refed=fed.refed)

    def _release(self, group: Group, memory: Memory, *, rate: float, now: float) -> Released:
        """Let chunks try the sick queues again: in half of the slots if others want any."""
        jobs = self.ledger.jobs.runnable(group.name)
        most = max(1, int(rate * MINUTE_S / (2 if jobs else 1)))
        tries = tries_due(memory.sick, most=most, now=now)
        return self.feeder.release(group, tries, most=most, now=now)

    def _look(self, group: Group, now: float) -> Look:
        """Finish what is done, and see how the group and its injector queues stand."""
        jobs = self.ledger.jobs.active(group.name)
        finished = tuple(job.id for job in jobs if self.ledger.jobs.finish(job.id, now=now))
        running = [j.id for j in jobs if j.state is JobState.RUNNING and j.id not in finished]
        work = bool(running)
        queues = [self.queues.get_queue(name) for name in group.injector_queues] if work else []
        kept = self.ledger.groups.state(group.name)
        memory, notice = _taken_over(Memory.from_json(kept.ramp_json), group, now=now)
        since = evidence_from(memory.ramp, now=now, interval_s=group.ramp.interval_s)
        first = min(since, memory.ramp.ticked_at or since, now - FORGET_S)
        minutes = self._minutes(group, first, now=now)
        halted = next((queue.state.lower() for queue in queues if queue.state != "RUNNING"), "")
        sick = self._sick(memory, minutes, running, now=now, still=not work or bool(halted))
        memory = replace(memory, sick=sick)
        apart = refusing(memory.sick, len(group.queues), now=now)
        standing, notices = self._standing(group, since, now) if work else (Standing(), ())
        seen = Observation(
            signals=_sum(minute for minute in minutes if minute.at >= since).without(apart)
            + Signals(targets=standing.attempts),
            span_s=max(0.0, now - since),
            work=work,
            active_at=_last_active(minutes, now=now),
            backlog_s=standing.late_s,
            found_rate=sum(queue.rate for queue in queues) if queues else None,
            capacity=self.capacity,
            halted=halted,
        )
        notices = (*notices, *notice, *told(memory.sick, apart, now=now))
        taken = _sum(minutes).without([each.queue for each in memory.sick]).accepted
        return Look(kept, memory, queues, seen, finished, notices, apart, not taken)

    def _sick(
        self,
        memory: Memory,
        minutes: Sequence[Minute],
        running: Sequence[str],
        *,
        now: float,
        still: bool,
    ) -> tuple[SickQueue, ...]:
        waited_for = {queue for job in running for queue in self.ledger.jobs.waits_for(job)}
        return sick_queues(memory.sick, minutes, now=now, waited_for=waited_for, still=still)

    def _spread(self, group: Group, look: Look, decision: Decision, *, now: float) -> Spread:
        """Decide on the queues that are new, by what was seen since that last changed."""
        growth = look.memory.growth
        since = evidence_from(growth.ramp, now=now, interval_s=group.ramp.interval_s)
        minutes = self._minutes(group, since, now=now) if growth.fresh else ()
        seen = replace(
            look.seen, signals=_sum(minutes).without(look.refusing), span_s=max(0.0, now - since)
        )
        ahead_s = self.feeder.horizon.ahead_s
        return spread(growth, group, seen, decision, now=now, ahead_s=ahead_s, limits=self.limits)

    def _minutes(self, group: Group, since: float, *, now: float) -> Sequence[Minute]:
        """Return the minutes from then on; a clock that was set back has left later ones."""
        return [at for at in self.ledger.signals.since(group.name, since) if at.at <= now]

    def _standing(self, group: Group, since: float, now: float) -> tuple[Standing, tuple[str, ...]]:
        """Ask how the group's own queues stand; an answer that is not to be had stops nothing."""
        if self.watcher is None or not group.queues:
            return Standing(), ()
        try:
            return self.watcher.look(group.queues, since=since, now=now), ()
        except InjectorError as error:
            return Standing(), (str(error),)

    def _tell(
        self, queues: Sequence[Queue], decision: Decision, time_left: Callable[[], float]
    ) -> None:
        """Set rate and concurrency of the queues that have others, and nothing else of them.

        The calls are spaced, since the service allows few of them. Raises Retryable when there
        is no time for all; the next tick decides again, and goes on with those that are left.
        """
        pacer = Pacer(UPDATES_PER_S, slack_s=AT_ONCE_S)
        shares = zip(queues, decision.shares(len(queues)), strict=True)
        changed = [each for each in shares if (each[0].rate, each[0].concurrency) != each[1]]
        for queue, (rate, concurrency) in changed:
            if wait_s := pacer.reserve(now=self.clock.monotonic()):
                self.clock.sleep(wait_s)
                if time_left() <= 0:
                    raise Retryable("the time for setting the injector queues' rates was over")
            self.queues.update_rate(queue.name, rate=rate, concurrency=concurrency)

    def _save(self, kept: GroupState, memory: Memory, record: RampDecision | None = None) -> bool:
        state = replace(kept, ramp_json=memory.to_json(), saved_at=self.clock.now())
        return self.ledger.groups.save(state, expected_version=kept.version, decision=record)


def _sample(let: Released, *, rate: float) -> Mapping[str, int]:
    """Choose what of it is due soon, so that the next tick sees how it went: of each job a part."""
    share = min(1.0, SAMPLE * MINUTE_S * rate / max(1, sum(let.by.values())))
    return {job: math.ceil(count * share) for job, count in let.by.items() if count}


def _joined(first: GroupTick, second: GroupTick) -> GroupTick:
    return replace(
        second,
        finished=first.finished + second.finished,
        fed=first.fed + second.fed,
        refed=first.refed + second.refed,
    )


def _taken_over(memory: Memory, group: Group, *, now: float) -> tuple[Memory, tuple[str, ...]]:
    """Take over the queues that the group is configured with; all new, its ramp begins anew."""
    taken = take_over(memory.growth, group, now=now, rate=memory.ramp.rate)
    ramp = RampState() if taken.cold else memory.ramp
    notices = (taken.notice,) if taken.notice else ()
    return replace(memory, growth=taken.growth, ramp=ramp), notices


def _sum(minutes: Iterable[Minute]) -> Signals:
    return sum((Signals.from_counts(minute.counts) for minute in minutes), Signals())


def _last_active(minutes: Sequence[Minute], *, now: float) -> float | None:
    """Return the end of the last minute with a fan-out; None when there is none."""
    active = [minute.at for minute in minutes if minute.counts.get("fan_outs")]
    return min(now, max(active) + MINUTE_S) if active else None


def _record(look: Look, decision: Decision, *, now: float) -> RampDecision | None:
    """Write the decision down, unless it says what the last one said, figures apart."""
    last = look.memory.said
    if last.kind == decision.kind and _words(last.reason) == _words(decision.reason):
        return None
    return RampDecision(
        now,
        decision.kind.value,
        decision.rate,
        decision.concurrency,
        decision.reason,
        json.dumps(look.seen.evidence()),
    )


def _words(reason: str) -> str:
    return re.sub(r"[\d.]+", "", reason)
