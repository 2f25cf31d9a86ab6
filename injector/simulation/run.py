"""The simulation itself: ticks of the real controller, and the model in between."""

import heapq
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count, groupby, pairwise

from injector.control.decision import Kind, Observation, RampState, decide
from injector.control.ramp_state import MINUTE_S, evidence_from
from injector.pacing.histogram import bucket_of
from injector.pacing.limiter import throughput
from injector.pacing.signals import Signals
from injector.simulation.feed import ORIGIN, Feed
from injector.simulation.model import SETTLED, Client, Counts, InjectorQueues, TargetQueues
from injector.simulation.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Row:
    """The job at a tick, or at its end, `t_s` seconds after its start.

    `rate` is what the controller allows in injector tasks per second, `create_rate` what was
    created per second since the row before, `calls` the creates sent by then. `healthy` says
    that nothing was amiss.
    """

    t_s: float
    rate: float
    create_rate: float
    created: int
    calls: int
    done: int
    backlog: int
    fault_share: float
    throttled_share: float
    decision: str
    reason: str
    healthy: bool


@dataclass(frozen=True, slots=True)
class Simulation:
    """What came of it. The times are None for what did not come to its end.

    `created_s` is when the last record's task was created, `finished_s` when the last task was
    done. `calls` are creates sent, retries and `hedges` included. `fan_out_p99_s` is what 99 of
    100 fan-outs took at most, None when there was none, and `concurrency` how many the injector
    queues let run at once at most.
    """

    rows: tuple[Row, ...]
    created_s: float | None
    finished_s: float | None
    calls: int
    hedges: int = 0
    fan_out_p99_s: float | None = None
    concurrency: int = 0

    @property
    def peak_create_rate(self) -> float:
        """Return the highest create rate between two ticks."""
        return max((row.create_rate for row in self.rows), default=0.0)

    def turns(self) -> Iterator[Row]:
        """Yield the rows at which the rate changed, or trouble began or ended."""
        before: tuple[float, bool] | None = None
        for row in self.rows:
            if (row.rate, row.healthy) != before:
                yield row
            before = row.rate, row.healthy

    def to_json(self) -> str:
        """Write the whole as JSON."""
        return json.dumps(asdict(self))


def simulate(scenario: Scenario) -> Simulation:
    """Run the job to its end, or to the scenario's."""
    run = _Run(scenario)
    for start, end in pairwise(_instants(scenario)):
        if run.ticks_at(start):
            run.tick(start)
        run.advance(start, end)
        if run.finished_s is not None:
            break
    run.close(end if run.finished_s is None else run.finished_s)
    return Simulation(
        tuple(run.rows),
        run.created_s,
        run.finished_s,
        round(run.calls),
        round(run.hedges),
        _quantile(run.fan_outs, 0.99),
        run.concurrency,
    )


def _instants(scenario: Scenario) -> Iterator[float]:
    """Yield the times between which nothing begins, ends or is counted, from 0 on."""
    quiet = scenario.dynamics.cold_rate == math.inf and not any(scenario.edges())
    step = MINUTE_S if quiet else min(MINUTE_S, max(scenario.dynamics.interval_s, 10.0))
    streams = [_multiples(period) for period in {step, MINUTE_S, scenario.tick_s}]
    merged = heapq.merge(sorted(scenario.edges()), *streams)
    yield 0.0
    for t, _ in groupby(merged):
        if t >= scenario.until_s:
            break
        if t > 0:
            yield t
    yield scenario.until_s


def _multiples(period: float) -> Iterator[float]:
    return (number * period for number in count())


class _Run:
    """A simulation under way; times are seconds from the job's start."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._client = Client(scenario)
        self._injector = InjectorQueues(scenario)
        self._targets = TargetQueues(scenario)
        self._feed = Feed(scenario)
        self._ramp = scenario.ramp.within(scenario.injector_queues)
        self._seen = Observation(work=False)
        self._decision = decide(RampState(), self._seen, ORIGIN, ramp=self._ramp)
        self._minutes: dict[int, Counts] = {}
        self._created = self._active_at = 0.0
        self._tick = 0
        self.calls = self.hedges = 0.0
        self.concurrency = 0
        self.fan_outs: defaultdict[float, float] = defaultdict(float)
        self.rows: list[Row] = []
        self.created_s: float | None = None
        self.finished_s: float | None = None

    def ticks_at(self, t: float) -> bool:
        """Tell whether a tick comes at that time."""
        if t != self._tick * self._scenario.tick_s:
            return False
        self._tick += 1
        return not any(span.has(t) for span in self._scenario.missed)

    def tick(self, t: float) -> None:
        """Let the controller decide and feed."""
        self._seen = self._observe(t)
        self._decision = decide(self._decision.state, self._seen, ORIGIN + t, ramp=self._ramp)
        self._feed.top_up(self._decision, t=t)
        self.concurrency = max(self.concurrency, self._decision.concurrency)
        self._note(t, self._decision.kind, self._decision.reason)

    def advance(self, start: float, end: float) -> None:
        """Let the span pass."""
        before = self._created
        if self.created_s is None:
            self._fan_out(start, end - start)
        counts = self._targets.dispatch(self._created - before, t=start, dt=end - start)
        self._count(start, counts)
        self._check_finished(start)

    def close(self, t: float) -> None:
        """Note how the job stands at the end."""
        over = "the simulation's time is over" if self.finished_s is None else "every task is done"
        self._note(t, Kind.FINISH, over)

    def _fan_out(self, t: float, dt: float) -> None:
        """Dispatch what is due, create its records, and take back what was not settled."""
        rate, odds = self._decision.rate, self._client.odds(t=t)
        times = self._client.fan_out_times(t=t)
        most = throughput(math.inf, self._decision.concurrency, _mean(times))
        due = self._feed.due(t + dt)
        chunks = self._injector.dispatch(due, t=t, dt=dt, rate=rate, most=most)
        fanned = self._injector.settle(chunks, odds.settled, t=t + dt, rate=rate)
        self._created += fanned.records * odds.settled
        hedges = fanned.records * odds.calls * self._client.hedged(t=t)
        self.hedges += hedges
        self.calls += fanned.records * odds.calls + hedges
        self._count(t, self._client.create(fanned.records, odds, t=t + dt))
        self._count(t, {"fan_outs": chunks, "deferred": fanned.deferred})
        for seconds, share in times:
            self._count(t, {f"fan_out_time.{bucket_of(seconds)}": chunks * share})
            self.fan_outs[seconds] += chunks * share
        if chunks:
            self._active_at = ORIGIN + t + dt
        self._check_created(t, dt, chunks)

    def _check_created(self, t: float, dt: float, chunks: float) -> None:
        if self._created < self._scenario.records - SETTLED:
            return
        self._created = float(self._scenario.records)
        left_at = t + dt * chunks / self._injector.capacity
        self.created_s = min(max(left_at, self._feed.time_of_last()), t + dt)

    def _check_finished(self, t: float) -> None:
        if self.created_s is None or self._targets.done < self._scenario.records - SETTLED:
            return
        drained = max(self.created_s, t + self._targets.drained_after_s)
        self.finished_s = drained + self._scenario.target.latency_s

    def _count(self, t: float, counts: Mapping[str, float]) -> None:
        minute = self._minutes.setdefault(int((ORIGIN + t) // MINUTE_S), Counts(float))
        for name, value in counts.items():
            minute[name] += value

    def _observe(self, t: float) -> Observation:
        """Look at the signals as a tick does: by whole minutes, since the last change."""
        now = ORIGIN + t
        since = evidence_from(self._decision.state, now=now, interval_s=self._ramp.interval_s)
        minutes = range(int(since // MINUTE_S), math.ceil(now / MINUTE_S))
        counts = Counts(float)
        self._minutes = {at: seen for at, seen in self._minutes.items() if at >= minutes.start}
        for minute in minutes:
            for name, value in self._minutes.get(minute, {}).items():
                counts[name] += value
        rate = self._targets.rate
        return Observation(
            Signals.from_counts({name: round(value) for name, value in counts.items()}),
            max(0.0, now - since),
            work=self.created_s is None,
            active_at=self._active_at,
            backlog_s=self._targets.backlog / rate if rate else None,
        )

    def _note(self, t: float, kind: Kind, reason: str) -> None:
        decision, seen = self._decision, self._seen
        last = self.rows[-1] if self.rows else None
        since_s = t - last.t_s if last else 0.0
        created = self._created - last.created if last else 0.0
        self.rows.append(
            Row(
                t_s=t,
                rate=decision.rate,
                create_rate=created / since_s if since_s else 0.0,
                created=round(self._created),
                calls=round(self.calls),
                done=round(self._targets.done),
                backlog=round(self._targets.backlog),
                fault_share=seen.signals.fault_share,
                throttled_share=seen.signals.throttled_share,
                decision=kind.value,
                reason=reason,
                healthy=decision.healthy,
            )
        )


def _quantile(counted: Mapping[float, float], share: float) -> float | None:
    """Return the least value that so many of those counted do not exceed."""
    rank = share * sum(counted.values())
    for value in sorted(counted):
        rank -= counted[value]
        if rank <= 0 < counted[value]:
            return value
    return None


def _mean(times: Sequence[tuple[float, float]]) -> float:
    return sum(seconds * share for seconds, share in times)
