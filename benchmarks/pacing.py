"""What pacing brings, in virtual time: the rules themselves against a model of the service.

    python benchmarks/pacing.py

Shown are the time that a simulation of a billion tasks takes (CPU, the best of five), the load
that an outage of half of all creates gets from a job of ten million, most of whose records then
wait until it is over, and the time of a fan-out
of 100 creates when one create in a hundred takes 2 s, with hedging and without.
"""

import heapq
import random
import time
from collections.abc import Callable, Iterator

from rows import Row, printed

from injector.pacing.hedge import Action, Finish, Hedging, HedgingSettings, Send, Wake
from injector.pacing.histogram import Histogram
from injector.pacing.ramp import CHUNK, Ramp
from injector.simulation import Burst, Scenario, Simulation, Span, simulate

OUTAGE = Span(1200.0, 1800.0)
PLAIN_ATTEMPTS = 8
FAN_OUTS = 3000


def rows(*, full: bool) -> Iterator[Row]:  # noqa: ARG001  (it takes seconds)
    """Simulate a billion tasks, an outage, and slow calls."""
    yield Row("simulation of 10⁹ tasks, CPU", billion_s(), "s")
    ours, plain = outage_calls()
    what = "job of ten million, half of creates fail for 10 min, calls meanwhile"
    yield Row(what, ours, "calls", "8 attempts, at full rate", plain)
    slow, _ = fan_outs(None)
    hedged, extra = fan_outs(HedgingSettings(follow_p95=True))
    for share in (0.5, 0.99, 0.999):
        name = f"fan-out hedged after the p95, p{100 * share:g}"
        yield Row(name, quantile(hedged, share), "s", "not hedged", quantile(slow, share))
    yield Row("fan-out hedged after the p95, calls added", 100 * extra, "%")


def billion_s() -> float:
    """Return the CPU seconds of the quickest of five simulations."""
    scenario = Scenario(10**9, queues=120)
    return min(_cpu_s(lambda: simulate(scenario)) for _ in range(5))


def outage_calls() -> tuple[float, float]:
    """Return the creates sent in the outage by the product, and by a client that only retries."""
    simulation = simulate(Scenario(10_000_000, bursts=(Burst(OUTAGE, 0.5),)))
    ours = calls_by(simulation, OUTAGE.end_s) - calls_by(simulation, OUTAGE.start_s)
    wanted = Ramp().total_by(OUTAGE.end_s) - Ramp().total_by(OUTAGE.start_s)
    return ours, wanted * CHUNK * sum(0.5**attempt for attempt in range(PLAIN_ATTEMPTS))


def calls_by(simulation: Simulation, t: float) -> int:
    """Return the creates sent by then."""
    return next(row.calls for row in simulation.rows if row.t_s >= t)


def fan_outs(settings: HedgingSettings | None) -> tuple[list[float], float]:
    """Return the times of fan-outs one after the other, and the share of calls that hedges add."""
    chance = random.Random(1)
    hedging = Hedging(settings or HedgingSettings(), first_timeout_s=20.0, total_timeout_s=45.0)
    times: list[float] = []
    seen: list[float] = []
    for _ in range(FAN_OUTS):
        took = [latency(chance) for _ in range(CHUNK)]
        seen = (seen + took)[-500:]
        if settings:
            took = [hedged(hedging, first, chance) for first in took]
            hedging.follow(Histogram.of(seen).quantile_s(0.95) or 1.0)
        times.append(max(took))
    return times, hedging.sent / (FAN_OUTS * CHUNK)


def hedged(hedging: Hedging, first_s: float, chance: random.Random) -> float:
    """Return when a create is over whose original takes so long."""
    chain = hedging.begin(now=0.0)
    agenda: list[tuple[float, int]] = []
    actions: tuple[Action, ...] = chain.first
    now = 0.0
    while True:
        for action in actions:
            match action:
                case Send(attempt):
                    heapq.heappush(
                        agenda, (now + (latency(chance) if attempt else first_s), attempt)
                    )
                case Wake(at):
                    heapq.heappush(agenda, (at, -1))
                case Finish():
                    return now
        now, attempt = heapq.heappop(agenda)
        actions = chain.woke(now=now) if attempt < 0 else chain.succeeded(attempt)


def latency(chance: random.Random) -> float:
    """Draw a create's latency: 50 ms give or take, and 2 s more for one in a hundred."""
    return chance.lognormvariate(-3.0, 0.3) + (2.0 if chance.random() < 0.01 else 0.0)


def quantile(values: list[float], share: float) -> float:
    """Return the value that this share of them does not exceed."""
    return sorted(values)[int(share * (len(values) - 1))]


def _cpu_s(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


if __name__ == "__main__":
    printed(rows(full=True))
