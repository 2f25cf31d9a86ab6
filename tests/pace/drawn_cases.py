"""Cases like the staged ones whose numbers are drawn, so that the rules were not made for them."""

from collections.abc import Callable, Iterator
from math import log
from random import Random

from injector.emulator.rpc import Code
from injector.emulator.state.dynamics import OFF, Dynamics
from tests.pace.staged_queues import Answer, Come, Do, Set, Staged, burst
from tests.pace.staged_singles import (
    COLD,
    CONCURRENCY,
    CONGESTION,
    CREATES,
    OWN,
    PAUSED,
    STARVED,
    case,
    refused,
)


def drawn_cases(number: int, seed: int) -> Iterator[Staged]:
    """Draw so many cases, of each kind in turn."""
    chance = Random(seed)
    for index in range(number):
        yield _KINDS[index % len(_KINDS)](chance, f"drawn {seed}/{index}")


def own_limit(chance: Random, name: str) -> Staged:
    rate, seconds = chance.uniform(0.3, 15), chance.uniform(0.05, 2)
    return case(
        f"{name}: limit of {rate:.2g}/s",
        OWN,
        come=Come(rate * chance.uniform(1.2, 3)),
        asked=chance.uniform(5, 9),
        queues=Set(rate, _ample(rate, seconds), chance.choice([0.0, 0.5])),
        answers=Answer(seconds=seconds),
    )


def concurrency(chance: Random, name: str) -> Staged:
    most, seconds = chance.randint(1, 30), chance.uniform(0.3, 8)
    through = most / seconds
    return case(
        f"{name}: {most} at once of {seconds:.2g} s",
        CONCURRENCY,
        come=Come(through * chance.uniform(1.2, 2)),
        asked=chance.uniform(7, 9),
        queues=Set(min(500, through * chance.uniform(1.5, 10)), most, chance.choice([0.0, 0.5])),
        answers=Answer(seconds=seconds),
    )


def cold(chance: Random, name: str) -> Staged:
    rate, dynamics, asked = _climb(chance)
    return case(
        f"{name}: cold, {rate:.2g}/s after {asked:.2g} min",
        COLD,
        come=burst(3000),
        asked=asked,
        queues=Set(rate, logged=chance.choice([0.0, 0.5])),
        dynamics=dynamics,
    )


def congestion(chance: Random, name: str) -> Staged:
    rate, share, status = chance.uniform(4, 12), chance.uniform(0.1, 0.9), chance.choice([429, 503])
    return case(
        f"{name}: {share:.0%} of {status}",
        CONGESTION,
        come=Come(rate * chance.uniform(1.1, 1.4)),
        asked=chance.uniform(6, 9),
        queues=Set(rate, logged=chance.choice([0.0, 0.5])),
        answers=Answer(status, share, since=4),
    )


def creates(chance: Random, name: str) -> Staged:
    share = chance.uniform(0.03, 0.6)
    code = chance.choice([Code.RESOURCE_EXHAUSTED, Code.UNAVAILABLE, Code.INTERNAL])
    return case(
        f"{name}: {share:.0%} of creates {code.name}",
        CREATES,
        come=Come(chance.uniform(3, 8)),
        asked=6,
        queues=Set(20),
        faults=refused(code, share),
        dynamics=OFF,
    )


def stopped(chance: Random, name: str) -> Staged:
    if chance.random() < 0.5:
        done = (Do("pause", chance.uniform(1, 5)),)
        return case(f"{name}: paused", PAUSED, come=Come(2), asked=8, done=done)
    come = Come(chance.uniform(1, 8), until=chance.uniform(0, 2), queue="g-1")
    asked = chance.uniform(8.5, 12)
    if chance.random() < 0.5:
        return case(f"{name}: idle", come=come, asked=asked, queues={"g-1": Set(500)})
    return case(
        f"{name}: starved",
        STARVED,
        come=(come, Come(3, queue="g-2")),
        asked=asked,
        queues={"g-1": Set(500), "g-2": Set(20)},
        dynamics=OFF,
    )


def own_and_concurrency(chance: Random, name: str) -> Staged:
    most, seconds = chance.randint(4, 30), chance.uniform(0.5, 3)
    rate = most / seconds * chance.uniform(0.98, 1.02)
    return case(
        f"{name}: limit of {rate:.3g}/s, {most} at once of {seconds:.2g} s",
        OWN,
        CONCURRENCY,
        come=Come(rate * chance.uniform(1.3, 2)),
        asked=chance.uniform(6, 8),
        queues=Set(rate, most, 0.5),
        answers=Answer(seconds=seconds),
    )


def cold_and_congestion(chance: Random, name: str) -> Staged:
    rate, dynamics, asked = _climb(chance)
    status = chance.choice([429, 503])
    return case(
        f"{name}: cold, and {status}s",
        COLD,
        CONGESTION,
        come=burst(3000),
        asked=asked + 1,
        queues=Set(rate),
        answers=Answer(status, chance.uniform(0.15, 0.7), since=asked - 0.5),
        dynamics=dynamics,
    )


def own_and_creates(chance: Random, name: str) -> Staged:
    rate = chance.uniform(2, 8)
    return case(
        f"{name}: limit of {rate:.2g}/s, creates refused",
        OWN,
        CREATES,
        come=Come(rate * 2.5),
        asked=7,
        queues=Set(rate),
        faults=refused(Code.RESOURCE_EXHAUSTED, chance.uniform(0.03, 0.4)),
    )


def well(chance: Random, name: str) -> Staged:
    rate, seconds = chance.uniform(3, 40), chance.uniform(0.05, 2)
    come = min(12.0, rate * chance.uniform(0.1, 0.85))
    return case(
        f"{name}: {come:.2g} of {rate:.2g}/s",
        come=Come(come),
        asked=chance.uniform(6, 9),
        queues=Set(rate, _ample(come, seconds), chance.choice([0.0, 0.5])),
        answers=(Answer(500, chance.uniform(0, 0.02), seconds=seconds), Answer(seconds=seconds)),
        dynamics=OFF,
    )


def _ample(rate: float, seconds: float) -> int:
    return 3 + int(1.5 * rate * seconds)


def _climb(chance: Random) -> tuple[float, Dynamics, float]:
    """Draw a limit, a curve, and a minute by which the curve is at most at 0.6 of the limit."""
    rate, growth, step_s = chance.uniform(8, 60), chance.uniform(1.2, 1.5), chance.uniform(20, 40)
    until_s = step_s * log(0.6 * rate) / log(growth)
    dynamics = Dynamics(
        cold_rate=1.0, growth=growth, interval_s=step_s, cut=0.5, task_backoff=3.0, least_samples=20
    )
    return rate, dynamics, max(1.5, min(8.0, until_s / 60 * chance.uniform(0.5, 1)))


_KINDS: tuple[Callable[[Random, str], Staged], ...] = (
    own_limit,
    concurrency,
    cold,
    congestion,
    creates,
    stopped,
    own_and_concurrency,
    cold_and_congestion,
    own_and_creates,
    well,
    well,
)
