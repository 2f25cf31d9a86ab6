"""The worst growth within 5 minutes, and the fastest queue, of each operation on a group.

Over the emulator in virtual time, by its own counters: `python benchmarks/operations.py`. The
first rate is scaled down, so that it is done in minutes.
"""

import sys
from collections.abc import Callable
from pathlib import Path

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


def main() -> None:
    """Print a line for each."""
    acts = {
        "resume in turn": resume("turn"),
        "resume by rate": resume("rate"),
        "ramp": ramp,
        "spread": spread,
    }
    for name, act in acts.items():
        with operated() as here:
            found = here.run(act(here))
            minutes = (found.ended_at or here.now) - found.started_at
            print(
                f"{name}: {found.state}, {found.step} steps in {minutes / MINUTE_S:.0f} min, "
                f"worst 5 minutes x{here.worst_growth(first_rate=FIRST):.3f}, "
                f"over the curve {here.excess(first_rate=FIRST):g}, "
                f"fastest queue {here.fastest_queue():.2f}/s of {OWN:g}/s"
            )


if __name__ == "__main__":
    main()
