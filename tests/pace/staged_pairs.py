"""Cases that a diagnosis is tried on: two causes at once."""

from collections.abc import Iterator

from injector.emulator.rpc import Code
from injector.emulator.state.dynamics import OFF
from tests.pace.staged_queues import Answer, Come, Do, Set, Staged, burst
from tests.pace.staged_singles import (
    COLD,
    CONCURRENCY,
    CONGESTION,
    CREATES,
    OWN,
    PAUSED,
    SLOW,
    STARVED,
    case,
    refused,
)


def pairs() -> Iterator[Staged]:
    """Two causes in one queue."""
    for status, share in ((429, 0.2), (503, 0.5)):
        yield case(
            f"cold, and {share:.0%} of {status}",
            COLD,
            CONGESTION,
            come=burst(1500),
            asked=4,
            queues=Set(50),
            answers=Answer(status, share, since=1),
            dynamics=SLOW,
        )
    for rate, most, seconds in ((10, 20, 2.0), (5, 5, 1.0)):
        yield case(
            f"limit of {rate}/s, and {most} at once of {seconds:g} s",
            OWN,
            CONCURRENCY,
            come=Come(1.5 * rate),
            asked=8,
            queues=Set(rate, most),
            answers=Answer(seconds=seconds),
        )
    yield case(
        "10 at once, and 500s",
        CONCURRENCY,
        CONGESTION,
        come=Come(8),
        asked=8,
        queues=Set(50, 10),
        answers=(Answer(500, 0.12, seconds=2), Answer(seconds=2)),
        dynamics=OFF,
    )
    yield case(
        "limit of 5/s, and 500s",
        OWN,
        CONGESTION,
        come=Come(8),
        asked=8,
        queues=Set(5),
        answers=Answer(500, 0.15),
        dynamics=OFF,
    )
    yield case(
        "limit of 1/s, and 429s",
        OWN,
        CONGESTION,
        come=Come(2),
        asked=9,
        queues=Set(1),
        answers=Answer(429, 0.2),
    )


def pairs_with_creates() -> Iterator[Staged]:
    """One cause in a queue, while creates are refused."""
    faults = refused(Code.RESOURCE_EXHAUSTED, 0.1)
    yield case(
        "cold, creates refused",
        COLD,
        CREATES,
        come=Come(15),
        asked=4,
        queues=Set(40),
        faults=faults,
        dynamics=SLOW,
    )
    yield case(
        "503s, creates refused",
        CONGESTION,
        CREATES,
        come=Come(12),
        asked=8,
        queues=Set(8),
        answers=Answer(503, 0.3, since=4),
        faults=faults,
    )
    yield case(
        "10 at once, creates refused",
        CONCURRENCY,
        CREATES,
        come=Come(9),
        asked=8,
        queues=Set(50, 10),
        answers=Answer(seconds=2),
        faults=faults,
    )
    yield case(
        "limit of 5/s, creates refused",
        OWN,
        CREATES,
        come=Come(8),
        asked=8,
        queues=Set(5),
        faults=faults,
    )
    yield case(
        "paused, creates refused",
        PAUSED,
        CREATES,
        come=Come(3),
        asked=8,
        done=(Do("pause", 1),),
        faults=faults,
    )
    yield case(
        "starved, since no create is taken",
        STARVED,
        CREATES,
        come=Come(2),
        asked=8,
        faults=refused(Code.UNAVAILABLE, 1.0),
    )


def pairs_in_groups() -> Iterator[Staged]:
    """Queues of one group, each with a trouble of its own."""
    yield case(
        "one is cold, one has 10 at once",
        COLD,
        CONCURRENCY,
        come=(burst(900, at=4, queue="g-1"), Come(8, queue="g-2")),
        asked=8,
        queues={"g-1": Set(30), "g-2": Set(50, 10)},
        answers=(Answer(queue="g-1"), Answer(seconds=2, queue="g-2")),
        dynamics=SLOW,
    )
    yield case(
        "one is paused, one at its limit",
        PAUSED,
        OWN,
        come=(Come(3, queue="g-1"), Come(8, queue="g-2")),
        asked=8,
        queues={"g-1": Set(30), "g-2": Set(5)},
        done=(Do("pause", 3, "g-1"),),
    )
    yield case(
        "one gets nothing, one is at its limit",
        STARVED,
        OWN,
        come=Come(8, queue="g-2"),
        asked=8,
        queues={"g-1": Set(5), "g-2": Set(5)},
    )
    yield case(
        "one meets 429s, one is cold",
        CONGESTION,
        COLD,
        come=(Come(10, queue="g-1"), burst(900, at=5, queue="g-2")),
        asked=8,
        queues={"g-1": Set(8), "g-2": Set(30)},
        answers=(Answer(429, 0.4, since=6, queue="g-1"), Answer(queue="g-2")),
        dynamics=SLOW,
    )
    yield case(
        "one is paused, one meets 503s",
        PAUSED,
        CONGESTION,
        come=(Come(2, queue="g-1"), Come(10, queue="g-2")),
        asked=8,
        queues={"g-1": Set(), "g-2": Set(8)},
        answers=(Answer(queue="g-1"), Answer(503, 0.3, since=4, queue="g-2")),
        done=(Do("pause", 2, "g-1"),),
    )
