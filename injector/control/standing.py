"""How a group's own queues stand: what the target answers, and how far dispatch is behind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a group's queues over a span.

    `attempts` counts attempts at the target by gRPC status name. `late_s` is how many seconds
    after their time attempts leave; None when none left, or nobody knows. `attempts_of` and
    `late_of` say the same by queue; one of which no attempt left is not in them.
    """

    attempts: Mapping[str, int] = field(default_factory=dict)
    late_s: float | None = None
    attempts_of: Mapping[str, int] = field(default_factory=dict)
    late_of: Mapping[str, float] = field(default_factory=dict)


class Watcher(Protocol):
    """Whoever knows how queues stand."""

    def look(self, queues: Sequence[str], *, since: float, now: float) -> Standing:
        """Tell how the queues stood from `since` to `now`, in Unix seconds.

        Raises Retryable while it cannot be asked, and Misused when a person has to mend it.
        """

    def depths(self, queues: Sequence[str], *, now: float) -> Mapping[str, int]:
        """Tell how many tasks wait in each queue; one that nobody measured is left out.

        Raises what `look` does.
        """
