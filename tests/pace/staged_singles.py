"""Cases that a diagnosis is tried on: each cause alone, and queues that are well.

What is wrong is known from how a case is staged: how a queue is set, how the target answers, and
what the emulator's own dynamics make of it.
"""

from collections.abc import Iterator

from injector.emulator.faults.plan import Effect, Fault
from injector.emulator.rpc import Code
from injector.emulator.state.dynamics import OFF, Dynamics
from injector.emulator.state.overload import Overload
from injector.queues.diagnosis import Cause
from tests.pace.staged_queues import Answer, Come, Do, Set, Staged, burst

SLOW = Dynamics(
    cold_rate=1.0, growth=1.3, interval_s=30.0, cut=0.5, task_backoff=3.0, least_samples=20
)
LAZY = Dynamics(cold_rate=0.5, growth=1.5, interval_s=60.0, cut=0.5, least_rate=0.5)
COLD, CONGESTION, CONCURRENCY = Cause.COLD, Cause.CONGESTION, Cause.CONCURRENCY
PAUSED, OWN, STARVED, CREATES = Cause.PAUSED, Cause.OWN_LIMIT, Cause.STARVED, Cause.CREATES


def case(name: str, *causes: Cause, **staging: object) -> Staged:
    """Stage a case, for one queue unless more are named."""
    if isinstance(staging.get("queues"), Set):
        staging["queues"] = {"q": staging["queues"]}
    come = staging.pop("come")
    come = come if isinstance(come, tuple) else (come,)
    answers = staging.pop("answers", (Answer(),))
    answers = answers if isinstance(answers, tuple) else (answers,)
    return Staged(name, frozenset(causes), come, answers=answers, **staging)


def refused(code: Code, rate: float, queue: str = "*") -> tuple[Fault, ...]:
    """Let a share of creates be refused."""
    return (Fault("refused", Effect.ERROR, ("CreateTask",), queue, rate=rate, code=code),)


def cold() -> Iterator[Staged]:
    """Queues that are new, were idle, paused or congested, and climb."""
    yield case("new, a minute ago", COLD, come=burst(1500), asked=1.1, queues=Set(rate=50))
    yield case(
        "new, climbing for minutes", COLD, come=burst(1500), asked=3, queues=Set(20), dynamics=SLOW
    )
    yield case("new, high limit", COLD, come=burst(3000), asked=6, queues=Set(300), dynamics=SLOW)
    yield case("new, steady tasks", COLD, come=Come(10), asked=4, queues=Set(40), dynamics=SLOW)
    yield case("new, low limit", COLD, come=burst(600), asked=4, queues=Set(5), dynamics=LAZY)
    yield case(
        "new, logs off", COLD, come=burst(1500), asked=4, queues=Set(30, logged=0), dynamics=SLOW
    )
    yield case(
        "idle for ten minutes",
        COLD,
        come=(Come(12, until=3), burst(900, at=15)),
        asked=18,
        queues=Set(10),
        dynamics=SLOW,
    )
    yield case(
        "resumed",
        COLD,
        come=Come(12),
        asked=11,
        queues=Set(10),
        done=(Do("pause", 6), Do("resume", 8)),
        dynamics=SLOW,
    )
    yield case(
        "after errors that are over",
        COLD,
        come=Come(12),
        asked=11,
        queues=Set(10),
        answers=Answer(503, 0.6, since=6, until=8),
        dynamics=SLOW,
    )


def congestion() -> Iterator[Staged]:
    """Targets that cannot take what warm queues send them."""
    for status, share in ((429, 0.3), (503, 0.3), (503, 0.08), (429, 1.0), (500, 0.7)):
        yield case(
            f"{share:.0%} of {status}",
            CONGESTION,
            come=Come(10),
            asked=8,
            queues=Set(8),
            answers=Answer(status, share, since=4),
        )
    yield case(
        "time-outs",
        CONGESTION,
        come=Come(10),
        asked=8,
        queues=Set(8),
        answers=(Answer(None, 0.6, since=4, seconds=5),),
    )
    yield case(
        "few 503s are enough",
        CONGESTION,
        come=Come(18),
        asked=7,
        queues=Set(15),
        answers=Answer(503, 0.02, since=3),
    )
    yield case(
        "503s, logs off",
        CONGESTION,
        come=Come(10),
        asked=8,
        queues=Set(8, logged=0),
        answers=Answer(503, 0.3, since=4),
    )


def concurrency() -> Iterator[Staged]:
    """Queues with too few attempts at once for how long each takes."""
    for most, seconds, logged in (
        (10, 2.0, 0.3),
        (5, 0.5, 0.3),
        (60, 20.0, 1.0),
        (1, 0.3, 0.2),
        (10, 2.0, 0.0),
        (3, 1.0, 0.0),
    ):
        yield case(
            f"{most} at once of {seconds:g} s, {logged:.0%} logged",
            CONCURRENCY,
            come=Come(1.4 * most / seconds),
            asked=8,
            queues=Set(50, most, logged),
            answers=Answer(seconds=seconds),
        )


def own_limit() -> Iterator[Staged]:
    """Queues that are set lower than their tasks come."""
    for rate, logged in ((5, 0.3), (10, 0.3), (0.5, 1.0), (0.1, 1.0), (30, 0.1), (5, 0.0)):
        yield case(
            f"limit of {rate:g}/s, {logged:.0%} logged",
            OWN,
            come=Come(1.5 * rate),
            asked=9 if rate < 1 else 4,
            queues=Set(rate, logged=logged),
        )


def paused_and_starved() -> Iterator[Staged]:
    """Queues that are stopped, and queues with nothing to do while others have work."""
    yield case("paused, tasks wait", PAUSED, come=Come(2), asked=8, done=(Do("pause", 2),))
    yield case("paused, empty", PAUSED, come=(), asked=8, done=(Do("pause"),))
    yield case("disabled", PAUSED, come=Come(1, until=3), asked=8, done=(Do("disable", 2),))
    for name, come in (
        ("one never gets a task", ()),
        ("one is done with all", (Come(5, until=2, queue="g-1"),)),
        ("one has tasks for tomorrow", (Come(2, until=3, ahead=1440, queue="g-1"),)),
    ):
        yield case(
            name,
            STARVED,
            come=(*come, Come(4, queue="g-2")),
            asked=10,
            queues={"g-1": Set(20), "g-2": Set(20)},
            dynamics=OFF,
        )


def creates() -> Iterator[Staged]:
    """Creates beyond what the service takes, in queues that are well."""
    for code, rate in (
        (Code.RESOURCE_EXHAUSTED, 0.2),
        (Code.UNAVAILABLE, 0.04),
        (Code.DEADLINE_EXCEEDED, 0.1),
        (Code.INTERNAL, 0.5),
    ):
        yield case(
            f"{rate:.0%} of creates {code.name}",
            CREATES,
            come=Come(4),
            asked=6,
            faults=refused(code, rate),
            dynamics=OFF,
        )
    yield case(
        "creates at thrice their capacity",
        CREATES,
        come=(Come(1, until=4), Come(15, since=4)),
        asked=6,
        queues=Set(100),
        overload=Overload(first_rate=5.0, latency_s=0.001),
        dynamics=OFF,
    )


def healthy() -> Iterator[Staged]:
    """Queues in which nothing is wrong, which those that are idle are not."""
    yield case("never a task", come=(), asked=10)
    yield case("done with all", come=Come(5, until=2), asked=10)
    yield case("tasks for tomorrow", come=Come(2, until=3, ahead=1440), asked=10)
    yield case("three at rest", come=(), asked=10, queues={f"g-{n}": Set(20) for n in range(3)})
    yield case("well below its limit", come=Come(3), asked=8, queues=Set(30))
    yield case("just below its limit", come=Come(9.5), asked=8, queues=Set(10), dynamics=OFF)
    yield case(
        "almost all of its concurrency",
        come=Come(8),
        asked=8,
        queues=Set(50, 10),
        answers=Answer(seconds=1),
        dynamics=OFF,
    )
    yield case("2 % of 500s", come=Come(5), asked=8, answers=Answer(500, 0.02), dynamics=OFF)
    yield case("a few 404s", come=Come(5), asked=8, answers=Answer(404, 0.01), dynamics=OFF)
    yield case(
        "a burst each minute",
        come=tuple(burst(100, at) for at in range(8)),
        asked=8,
        queues=Set(50),
        dynamics=OFF,
    )
    yield case(
        "a large burst that is over",
        come=(Come(2), burst(1200, at=5.2)),
        asked=6.1,
        queues=Set(50),
        dynamics=OFF,
    )
    yield case(
        "many tasks for later",
        come=(Come(2), Come(5, until=4, ahead=600)),
        asked=8,
        queues=Set(20),
    )
    yield case("one task in ten seconds", come=Come(0.1), asked=12)
    yield case("logs off", come=Come(4), asked=8, queues=Set(20, logged=0), dynamics=OFF)
    yield case(
        "1 in 250 creates refused",
        come=Come(5),
        asked=8,
        faults=refused(Code.UNAVAILABLE, 0.004),
        dynamics=OFF,
    )
    yield case(
        "three that share the work",
        come=tuple(Come(2, queue=f"g-{number}") for number in range(3)),
        asked=8,
        queues={f"g-{number}": Set(20) for number in range(3)},
    )
