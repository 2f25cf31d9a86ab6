"""All cases that a diagnosis is tried on."""

from tests.pace.staged_pairs import pairs, pairs_in_groups, pairs_with_creates
from tests.pace.staged_queues import Staged
from tests.pace.staged_singles import (
    cold,
    concurrency,
    congestion,
    creates,
    healthy,
    own_limit,
    paused_and_starved,
)


def cases() -> tuple[Staged, ...]:
    """Return every case."""
    return tuple(
        case
        for make in (
            cold,
            congestion,
            concurrency,
            own_limit,
            paused_and_starved,
            creates,
            pairs,
            pairs_with_creates,
            pairs_in_groups,
            healthy,
        )
        for case in make()
    )
