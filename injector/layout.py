"""Which queue of a group a record's task goes to, while the group grows as well.

The choice depends on the record's lot and the layout alone, and a chunk keeps the layout under
which it was first fed. So a retry, a redelivery and a chunk that is fed again choose the queue of
the first attempt, whatever has become of the group since: Cloud Tasks refuses a name twice only
within one queue, so a task that changed its queue could be created twice.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from injector.groups import expand
from injector.queue_names import compact

_HALF = 32
_DIGITS = 1_000_000


@dataclass(frozen=True, slots=True)
class Layout:
    """The queues of a chunk's tasks: `share` of the tasks, from 0 to 1, goes to `fresh` ones."""

    queues: tuple[str, ...]
    fresh: tuple[str, ...] = ()
    share: float = 0.0

    def queue_of(self, draw: int) -> str:
        """Choose the queue: the lot's upper half decides whether a fresh one, the rest which."""
        if draw >> _HALF < self.share * (1 << _HALF):
            return self.fresh[draw % len(self.fresh)]
        return self.queues[draw % len(self.queues)]

    def queues_of(self, draws: Iterable[int]) -> list[str]:
        """Choose the queues of many lots."""
        if self.share:
            return [self.queue_of(draw) for draw in draws]
        queues, count = self.queues, len(self.queues)
        return [queues[draw % count] for draw in draws]

    def to_text(self) -> str:
        """Write the layout down; the same layout is always the same text."""
        if not self.fresh or not self.share:
            return msgspec.json.encode({"queues": compact(self.queues)}).decode()
        named = {
            "queues": compact(self.queues) if self.queues else "",
            "fresh": compact(self.fresh),
        }
        return msgspec.json.encode(named | {"share": self.share}).decode()

    @staticmethod
    def from_text(text: str) -> "Layout":
        """Read what `to_text` wrote."""
        return _read(text)


def share_of(rate: float, whole: float, *, most: float) -> float:
    """Return which share of `whole` is `rate`, at most `most`, cut after six digits."""
    share = min(rate / whole, most) if whole > 0 else most
    return math.floor(share * _DIGITS) / _DIGITS


@lru_cache(maxsize=64)
def _read(text: str) -> Layout:
    kept = msgspec.json.decode(text)
    queues, fresh = kept["queues"], kept.get("fresh", "")
    return Layout(
        expand(queues) if queues else (), expand(fresh) if fresh else (), kept.get("share", 0.0)
    )
