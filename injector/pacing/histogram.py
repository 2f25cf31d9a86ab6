"""Durations counted in fixed buckets, so that what many processes saw can be added up."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

SHORTEST_S = 0.001
BUCKETS_PER_DOUBLING = 4
BOUNDS_S = tuple(SHORTEST_S * 2 ** (i / BUCKETS_PER_DOUBLING) for i in range(68))
"""Upper bounds from 1 ms to 110 s, each 19 % above the last; one more bucket has no bound."""

SIZE = len(BOUNDS_S) + 1
_EMPTY = (0,) * SIZE


def bucket_of(seconds: float) -> int:
    """Return the number of the bucket that a duration falls into."""
    return bisect_left(BOUNDS_S, seconds)


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many durations fell into each bucket, and their sum in whole microseconds."""

    counts: Sequence[int] = _EMPTY
    total_us: int = 0

    @classmethod
    def of(cls, durations_s: Iterable[float]) -> "Histogram":
        """Count the durations."""
        counts, total_us = list(_EMPTY), 0
        for duration in durations_s:
            counts[bucket_of(duration)] += 1
            total_us += round(duration * 1e6)
        return cls(tuple(counts), total_us)

    def __add__(self, other: "Histogram") -> "Histogram":
        if other.empty or self.empty:
            return self if other.empty else other
        counts = tuple(map(int.__add__, self.counts, other.counts))
        return Histogram(counts, self.total_us + other.total_us)

    @property
    def empty(self) -> bool:
        """Whether nothing was ever counted here; told quickly, since most never hold anything."""
        return self.counts is _EMPTY and not self.total_us

    @property
    def count(self) -> int:
        """How many durations there are."""
        return sum(self.counts)

    @property
    def mean_s(self) -> float | None:
        """The mean in seconds; None when there is nothing to average."""
        return self.total_us / 1e6 / self.count if self.count else None

    def quantile_s(self, share: float) -> float | None:
        """Return the duration in seconds that `share` of them do not exceed; None when empty.

        Between the bounds of a bucket the durations count as evenly spread, so the answer is
        at most 19 % off. Under a millisecond it reads about 1 ms, over 110 s it reads 110 s.
        """
        if not self.count:
            return None
        rank = share * self.count
        for bucket, count in enumerate(self.counts):
            if count and rank <= count:
                return _within(bucket, rank / count)
            rank -= count
        return BOUNDS_S[-1]


def _within(bucket: int, part: float) -> float:
    if bucket == len(BOUNDS_S):
        return BOUNDS_S[-1]
    lower = BOUNDS_S[bucket] / 2 ** (1 / BUCKETS_PER_DOUBLING)
    return lower + (BOUNDS_S[bucket] - lower) * part
