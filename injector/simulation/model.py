"""The service as a fluid: what a span of seconds does to a job, in expectation.

Nothing is drawn and no task is stepped through, so a billion tasks cost as much as a thousand.
The queues' rates follow the emulator's own dynamics and the client's throttle is the real one.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from injector.emulator.state.dynamics import Pace
from injector.pacing.histogram import bucket_of
from injector.pacing.limiter import throughput
from injector.pacing.ramp import CHUNK
from injector.pacing.throttle import Throttle
from injector.simulation.scenario import Burst, Scenario, Span, active

ATTEMPTS = 4
"""How often a create is tried in one fan-out, as long as the retry tokens last."""

RETRY_RATIO = 0.1
"""Answers pay for so many retries each: beyond about this share of faults, tokens run out."""


SETTLED = 0.5
"""Expected values never become quite whole: half a record left is none left."""

Counts = defaultdict[str, float]
"""Expected values of signals, by the names that the ledger adds them up under."""

_ALWAYS = Span(0.0, math.inf)


@dataclass(frozen=True, slots=True)
class Odds:
    """What becomes of a record in one fan-out, in expectation.

    It is `settled` with that chance, after `calls` calls; `throttled` is the chance that the
    throttle keeps it.
    """

    settled: float
    calls: float
    throttled: float
    code: str


class Client:
    """The handler's creates: its throttle, its retries, its hedges, and what it sees."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._throttle = Throttle()

    def odds(self, *, t: float) -> Odds:
        """Return what becomes of a record now."""
        burst = active(self._scenario.bursts, t)
        fails = burst.share if burst else 0.0
        tries = ATTEMPTS if fails <= RETRY_RATIO / (1 + RETRY_RATIO) else 1
        throttled = self._throttle.rejected_share(now=t)
        return Odds(
            settled=(1 - throttled) * (1 - fails**tries),
            calls=(1 - throttled) * sum(fails**k for k in range(tries)),
            throttled=throttled,
            code=burst.code if burst else "",
        )

    def create(self, records: float, odds: Odds, *, t: float) -> Counts:
        """Let the throttle see so many creates end, and return their counts."""
        answered = records * odds.settled
        faulted = records * odds.calls - answered
        rejected = records * odds.throttled
        self._throttle.answered(now=t, calls=round(answered))
        self._throttle.faulted(now=t, calls=round(faulted))
        self._throttle.rejected(now=t, calls=round(rejected))
        counts = Counts(float, {"accepted": answered, "local_rejects": rejected})
        if faulted:
            counts[f"faults.{odds.code}"] = faulted
        for seconds, share in self._latencies(t):
            counts[f"latency.{bucket_of(seconds)}"] += records * odds.calls * share
        return counts

    def fan_out_times(self, *, t: float) -> list[tuple[float, float]]:
        """Return how long a fan-out takes, and with what chance: it waits for its slowest create.

        A slow create is hedged as long as the tokens last, which is one create in ten.
        """
        usual = 2 * self._scenario.create_latency_s
        slow, latency_s = self._slow(t)
        delay_s = self._scenario.hedge_delay_s
        if delay_s is not None and slow <= RETRY_RATIO:
            latency_s = min(latency_s, delay_s + self._scenario.create_latency_s)
        hit = 1 - (1 - slow) ** CHUNK
        return [(usual, 1 - hit), (max(usual, latency_s), hit)]

    def hedged(self, *, t: float) -> float:
        """Return which share of the creates is hedged: what is slower, up to one in ten."""
        delay_s, (slow, latency_s) = self._scenario.hedge_delay_s, self._slow(t)
        if delay_s is None:
            return 0.0
        late = slow * (latency_s > delay_s)
        late += (1 - slow) * (self._scenario.create_latency_s > delay_s)
        return min(late, RETRY_RATIO)

    def _latencies(self, t: float) -> Iterator[tuple[float, float]]:
        slow, latency_s = self._slow(t)
        yield self._scenario.create_latency_s, 1 - slow
        if slow:
            yield latency_s, slow

    def _slow(self, t: float) -> tuple[float, float]:
        now = [slow for slow in self._scenario.slow if slow.span.has(t)]
        worst = max(now, key=lambda slow: slow.share * slow.latency_s, default=None)
        return (worst.share, worst.latency_s) if worst else (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Fanned:
    """How many records fan-outs tried to create, and how many of the fan-outs ended in 503."""

    records: float
    deferred: float


@dataclass(frozen=True, slots=True)
class _Part:
    """So many chunks with so many records to create each."""

    chunks: float
    size: float

    @property
    def records(self) -> float:
        return self.chunks * self.size

    def unsettled(self, settled: float) -> float:
        """Return how many of the chunks keep a record that is not settled."""
        return self.chunks * (1.0 - math.pow(settled, max(1.0, self.size)))


class InjectorQueues:
    """The group's injector queues: chunks that are due, and chunks that came back after a 503."""

    def __init__(self, scenario: Scenario) -> None:
        self._queues = scenario.injector_queues
        self._pace = Pace(scenario.dynamics, now=0.0)
        self._size = scenario.records / scenario.chunks
        self._started = 0.0
        self._back = self._back_records = 0.0
        self.capacity = 0.0

    def dispatch(self, due: float, *, t: float, dt: float, rate: float, most: float) -> float:
        """Return how many chunks leave in the span, when `due` were due by its end.

        `most` is what the concurrency allows, per second.
        """
        self._pace.evaluate(rate / self._queues, now=t)
        self.capacity = min(self._queues * self._pace.rate(rate / self._queues), most) * dt
        waiting = max(0.0, due - self._started) + self._back
        if waiting > self.capacity:
            self._pace.starved()
        if waiting:
            self._pace.dispatched(now=t + dt)
        return min(self.capacity, waiting)

    def settle(self, chunks: float, settled: float, *, t: float, rate: float) -> Fanned:
        """Fan out so many chunks whose records are settled with that chance.

        A chunk of which a record is not comes back with what it lacks, by way of a 503, which
        the queues' pace takes for congestion. Those that came back go first.
        """
        again = min(self._back, chunks)
        lacking = self._back_records / self._back if self._back else 0.0
        fresh = _Part(chunks - again, self._size)
        repeated = _Part(again, lacking)
        records = fresh.records + repeated.records
        deferred = fresh.unsettled(settled) + repeated.unsettled(settled)
        self._started += fresh.chunks
        self._back += deferred - again
        self._back_records += records * (1 - settled) - repeated.records
        if deferred > SETTLED:
            self._pace.responded(rate / self._queues, congested=True, failed=True, now=t)
        return Fanned(records, deferred)


class TargetQueues:
    """The group's queues, all alike, and the target behind them; counts are of them all."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._pace = Pace(scenario.dynamics, now=0.0)
        self.backlog = 0.0
        self.done = 0.0
        self.rate = 0.0
        self.drained_after_s = 0.0

    def dispatch(self, arrived: float, *, t: float, dt: float) -> Counts:
        """Let tasks arrive and leave; return the attempts by status name."""
        scenario = self._scenario
        self._pace.evaluate(scenario.queue_rate, now=t)
        capacity = self._capacity() * dt
        waiting = self.backlog + arrived
        attempts = min(waiting, capacity)
        fault = self._fault(attempts / dt, t=t)
        failed = attempts * fault.share if fault else 0.0
        done = attempts - failed
        self.backlog, self.done, self.rate = waiting - done, self.done + done, done / dt
        self.drained_after_s = min(1.0, waiting / capacity) * dt
        self._tell_pace(attempts, starved=waiting > capacity, failing=failed > 0, t=t + dt)
        counts = Counts(float, {"targets.OK": done})
        if fault:
            counts[f"targets.{fault.code}"] = failed
        return counts

    def _capacity(self) -> float:
        """Return the attempts a second that rate and concurrency allow (Little's law)."""
        scenario = self._scenario
        each = throughput(
            self._pace.rate(scenario.queue_rate),
            scenario.queue_concurrency,
            scenario.target.latency_s,
        )
        return scenario.queues * each

    def _fault(self, rate: float, *, t: float) -> Burst | None:
        target = self._scenario.target
        burst = active(target.bursts, t)
        if rate > target.capacity:
            over = 1 - target.capacity / rate
            if burst is None or over > burst.share:
                return Burst(_ALWAYS, over, "RESOURCE_EXHAUSTED")
        return burst

    def _tell_pace(self, attempts: float, *, starved: bool, failing: bool, t: float) -> None:
        if starved:
            self._pace.starved()
        if attempts:
            self._pace.dispatched(now=t)
        if failing:
            self._pace.responded(self._scenario.queue_rate, congested=True, failed=True, now=t)
