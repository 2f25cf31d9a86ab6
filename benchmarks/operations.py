"""The worst growth within 5 minutes, and the fastest queue, of each operation on a group.

Over the emulator in virtual time, by its own counters: `python benchmarks/operations.py`. The
first rate is scaled down, so that it is done in minutes.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from rows import Row, printed

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.pace.operated import MINUTE_S, Operated, operated

FIRST, OWN, TASKS = 4.0, 10.0, 8000


def resume(way: str) -> Callable[[Operated], str]:
    """Resume a backlog."""

    def act(here: Operated) -> str:
        here.set_all(rate=OWN, paused=True)
        here.fill(TASKS)
        return here.begin("resume", by=way, initial=FIRST)

    return act


def ramp(here: Operated) -> str:
    """Ramp a group with demand."""
    here.set_all(rate=1.0)
    here.fill(TASKS)
    return here.begin("ramp", to=4 * OWN, start=FIRST)


def spread(here: Operated) -> str:
    """Hold back what waits for an instant."""
    here.set_all(rate=OWN)
    at = here.now + 10 * MINUTE_S
    here.fill(TASKS, at=at)
    return here.begin("spread", at=at, initial=FIRST)


ACTS: Mapping[str, Callable[[Operated], str]] = {
    "resume in turn": resume("turn"),
    "resume by rate": resume("rate"),
    "ramp": ramp,
    "spread": spread,
}


def rows(*, full: bool) -> Iterator[Row]:
    """Carry each operation out, and see how fast it was at its fastest."""
    del full
    for name, act in ACTS.items():
        with operated() as here:
            here.run(act(here))
            growth = here.worst_growth(first_rate=FIRST)
            yield Row(f"{name}, 5 minutes to the best before", growth, "x", aim="<= 1.5x")
            yield Row(f"{name}, fastest queue", here.fastest_queue(), "/s", aim=f"<= {OWN:g} /s")


if __name__ == "__main__":
    printed(rows(full=False))
