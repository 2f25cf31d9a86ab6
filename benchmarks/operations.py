"""The worst growth within 5 minutes, and the fastest queue, of each operation on a group.

    python benchmarks/operations.py [--full] [NAME ...]

Over the emulator in virtual time, by its own counters, with the queues' own cold starts. Usually
the rates are scaled down, so that it is done in minutes; in full each queue goes up to 500/s, the
most that the service has, which takes an hour.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rows import Row, printed

sys.path.insert(0, str(Path(__file__).parents[1]))

from injector.emulator.state.dynamics import FAITHFUL
from injector.interleave import interleave
from injector.pacing.ramp import Ramp
from tests.pace.law import worst_growth
from tests.pace.operated import MINUTE_S, Operated, operated
from tests.pace.virtual_world import QUEUES, VirtualWorld, virtual_world

AIM = "<= 1.51x"
"""Half as much again, as the curve has it; and a hundredth, for counts are of whole tasks, and a
bucket may let a second's worth go on top."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How many queues there are, what each has in the end, and with how much all begin."""

    queues: int
    own: float
    first: float


SMALL, REAL = Scale(4, 10.0, 4.0), Scale(2, 500.0, 500.0)


def resume(way: str) -> Callable[[Operated, Scale], str]:
    """Resume a backlog."""

    def act(here: Operated, scale: Scale) -> str:
        here.set_all(rate=scale.own, paused=True)
        here.fill(round(3 * MINUTE_S * scale.own), prefix="backlog-")
        return here.begin("resume", by=way, initial=scale.first)

    return act


def ramp(here: Operated, scale: Scale) -> str:
    """Ramp a group with demand."""
    here.set_all(rate=scale.own / 10)
    return here.begin("ramp", to=scale.queues * scale.own, start=scale.first)


def spread(here: Operated, scale: Scale) -> str:
    """Hold back what waits for an instant."""
    here.set_all(rate=scale.own)
    at = here.now + 4 * MINUTE_S
    here.fill(round(13 * MINUTE_S * scale.own), at=at, prefix="instant-")
    return here.begin("spread", at=at, initial=scale.first)


ACTS: Mapping[str, Callable[[Operated, Scale], str]] = {
    "resume in turn": resume("turn"),
    "resume by rate": resume("rate"),
    "ramp": ramp,
    "spread": spread,
}
FURTHER = tuple(f"{QUEUES}/pace-{number:02d}" for number in range(4, 10))
EXPANSIONS = ("expand", "expand in an emergency")


def rows(*, full: bool, names: tuple[str, ...] = ()) -> Iterator[Row]:
    """Carry each operation out, and see how fast it was at its fastest."""
    scale = REAL if full else SMALL
    for name, act in ACTS.items():
        if not names or name in names:
            yield from _operation(name, act, scale)
    for name in EXPANSIONS:
        if not names or name in names:
            yield from _expansion(name, scale, is_emergency=name != "expand")


def _operation(name: str, act: Callable[[Operated, Scale], str], scale: Scale) -> Iterator[Row]:
    with operated(scale.queues, dynamics=FAITHFUL) as here:
        is_backlog = name != "spread"
        found = here.run(act(here, scale), busy=is_backlog)
        growth = here.worst_growth(first_rate=scale.first)
        what = f"{name} ({found.state}), 5 minutes to the best before"
        yield Row(what, growth, "x", aim=AIM)
        yield Row(f"{name}, fastest queue", here.fastest_queue(), "/s", aim=f"<= {scale.own:g} /s")


def _expansion(name: str, scale: Scale, *, is_emergency: bool) -> Iterator[Row]:
    """Give a group more queues while a job creates as much as its ramp allows."""
    with _busy_world(scale) as world:
        old = world.group.queues
        new = interleave(old) if is_emergency else FURTHER
        world.configure(old + new)
        world.run(12)
        if is_emergency:
            yield Row(f"{name}, new queues to old", len(new) / len(old), "x", aim="<= 0.5x")
        else:
            growth = worst_growth(world.dispatched(new), first_rate=scale.first)
            yield Row(f"{name}, new queues' 5 minutes to the best before", growth, "x", aim=AIM)
        fastest = max(max(world.dispatched((queue,))) for queue in old + new) / MINUTE_S
        yield Row(f"{name}, fastest queue", fastest, "/s", aim="<= 500 /s")


@contextmanager
def _busy_world(scale: Scale) -> Iterator[VirtualWorld]:
    """Run a group of four queues for three minutes with a job that takes all of its ramp."""
    chunk = 100 if scale is REAL else 2
    ramp = Ramp(initial_rate=scale.first / chunk, max_rate=2.4 * scale.first / chunk)
    warm = Ramp(ramp.initial_rate, max_rate=ramp.max_rate, warm_rate=ramp.max_rate)
    with virtual_world(ramp=warm, queues=4, per_chunk=chunk, dynamics=FAITHFUL) as world:
        world.submit(chunks=round(ramp.max_rate * 16 * MINUTE_S))
        world.run(3)
        yield world


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--full", action="store_true", help="take an hour, for 500/s a queue")
    parser.add_argument("names", nargs="*", metavar="NAME", help="all by default")
    asked = parser.parse_args()
    if strange := set(asked.names) - {*ACTS, *EXPANSIONS}:
        parser.error(f"no {min(strange)!r}; there are {', '.join([*ACTS, *EXPANSIONS])}")
    printed(rows(full=asked.full, names=tuple(asked.names)))
