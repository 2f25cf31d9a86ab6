"""What fan-outs saw of the service: the evidence that the controller decides on.

A process tallies, hands over what it tallied with each receipt, and the ledger adds it up by
group and minute. Creates end in three ways: answered (created, existed, or refused for good),
a fault (overload or server error), or rejected here by the throttle. The same counts serve a
ramp of dispatches, whose operations are attempts at the target.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import compress
from operator import attrgetter

from injector.pacing.histogram import SIZE, Histogram, bucket_of

NOT_ACCEPTED = frozenset(
    {
        "RESOURCE_EXHAUSTED",
        "UNAVAILABLE",
        "DEADLINE_EXCEEDED",
        "INTERNAL",
        "ABORTED",
        "UNKNOWN",
    }
)
"""The codes that are evidence of overload or of a fault; every other answer is an answer."""

THROTTLED = "THROTTLED"
"""The code of a create that this process held back, because the service is overloaded."""


@dataclass(frozen=True, slots=True)
class Signals:
    """Counts that can be added.

    `accepted` and `faults`, by gRPC status name, count creates that the service answered and
    did not; `local_rejects` those that the throttle kept here. Retries count, hedges do not.
    `hedges_cancelled` counts attempts, originals too, that another's answer ended.
    `latency` is of calls, from being sent to being answered, `waited` of the wait for a slot in
    this client before that. `fan_outs` counts runs of a chunk that had something to create,
    `deferred` those of them that ended in 503, and `fan_out_time` is how long they took.
    `fresh` counts creates sent to queues that were still new to their group.
    `targets` counts attempts at the target by gRPC status name, where they are known. `sick`
    counts which of all these creates a sick queue did not take, by "queue:code".
    """

    accepted: int = 0
    local_rejects: int = 0
    hedges_sent: int = 0
    hedges_won: int = 0
    hedges_cancelled: int = 0
    fan_outs: int = 0
    deferred: int = 0
    fresh: int = 0
    faults: Mapping[str, int] = field(default_factory=dict)
    targets: Mapping[str, int] = field(default_factory=dict)
    sick: Mapping[str, int] = field(default_factory=dict)
    latency: Histogram = field(default_factory=Histogram)
    waited: Histogram = field(default_factory=Histogram)
    fan_out_time: Histogram = field(default_factory=Histogram)

    @property
    def faulted(self) -> int:
        """How many creates ended in a fault."""
        return sum(self.faults.values())

    @property
    def sent(self) -> int:
        """How many creates left this client."""
        return self.accepted + self.faulted

    @property
    def creates(self) -> int:
        """How many creates were wanted: those sent, and those that the throttle kept."""
        return self.sent + self.local_rejects

    @property
    def fault_share(self) -> float:
        """Which share of the creates sent ended in a fault."""
        return self.faulted / self.sent if self.sent else 0.0

    @property
    def throttled_share(self) -> float:
        """Which share of the creates wanted was rejected here."""
        return self.local_rejects / self.creates if self.creates else 0.0

    @property
    def target_attempts(self) -> int:
        """How many attempts at the target are known."""
        return sum(self.targets.values())

    @property
    def target_fault_share(self) -> float:
        """Which share of the attempts at the target answered 429, 5xx or not in time."""
        faults = sum(count for code, count in self.targets.items() if code in NOT_ACCEPTED)
        return faults / self.target_attempts if self.target_attempts else 0.0

    def without(self, queues: Collection[str]) -> "Signals":
        """Return the signals without what these queues did not take while they were sick."""
        faults, rejects, accepted = Counter(self.faults), self.local_rejects, self.accepted
        for name, count in self.sick.items():
            queue, _, code = name.rpartition(":")
            if queue not in queues:
                continue
            if code in NOT_ACCEPTED:
                faults[code] -= count
            elif code == THROTTLED:
                rejects -= count
            else:
                accepted -= count
        return replace(self, accepted=accepted, local_rejects=rejects, faults=+faults)

    def __add__(self, other: "Signals") -> "Signals":
        return Signals(
            accepted=self.accepted + other.accepted,
            local_rejects=self.local_rejects + other.local_rejects,
            hedges_sent=self.hedges_sent + other.hedges_sent,
            hedges_won=self.hedges_won + other.hedges_won,
            hedges_cancelled=self.hedges_cancelled + other.hedges_cancelled,
            fan_outs=self.fan_outs + other.fan_outs,
            deferred=self.deferred + other.deferred,
            fresh=self.fresh + other.fresh,
            faults=_sum(self.faults, other.faults),
            targets=_sum(self.targets, other.targets),
            sick=_sum(self.sick, other.sick),
            latency=self.latency + other.latency,
            waited=self.waited + other.waited,
            fan_out_time=self.fan_out_time + other.fan_out_time,
        )

    def to_counts(self) -> dict[str, int]:
        """Return the counts by name, zeros left out: what the ledger adds up."""
        return {name: count for name, count in _flat(self) if count}

    @classmethod
    def from_counts(cls, counts: Mapping[str, int]) -> "Signals":
        """Read counts by name; names that this version does not know are passed over."""
        families = _families(counts)
        return cls(
            accepted=counts.get("accepted", 0),
            local_rejects=counts.get("local_rejects", 0),
            hedges_sent=counts.get("hedges_sent", 0),
            hedges_won=counts.get("hedges_won", 0),
            hedges_cancelled=counts.get("hedges_cancelled", 0),
            fan_outs=counts.get("fan_outs", 0),
            deferred=counts.get("deferred", 0),
            fresh=counts.get("fresh", 0),
            faults=families["faults"],
            targets=families["targets"],
            sick=families["sick"],
            latency=_histogram(families["latency"]),
            waited=_histogram(families["waited"]),
            fan_out_time=_histogram(families["fan_out_time"]),
        )

    def to_json(self) -> str:
        """Write the counts as a JSON object."""
        return json.dumps(self.to_counts(), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Signals":
        """Read what `to_json` wrote."""
        return cls.from_counts(json.loads(text))


class Tally:
    """Counts as they happen, cheaply; not locked: whoever shares one between threads locks it."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        """Begin at nothing; an empty Counter takes ten times as long to make as these."""
        self._counts: defaultdict[str, int] = defaultdict(int)
        self._faults: defaultdict[str, int] = defaultdict(int)
        self._sick: defaultdict[str, int] = defaultdict(int)
        self._durations: defaultdict[str, list[float]] = defaultdict(list)

    def answered(self, *, creates: int = 1) -> None:
        """Count creates that the service answered, refusals for good included."""
        self._counts["accepted"] += creates

    def faulted(self, code: str, *, creates: int = 1) -> None:
        """Count creates that ended in a fault, by gRPC status name."""
        self._faults[code] += creates

    def rejected(self, *, creates: int = 1) -> None:
        """Count creates that the throttle kept here."""
        self._counts["local_rejects"] += creates

    def sick(self, queue: str, code: str, *, creates: int = 1) -> None:
        """Count creates that a sick queue did not take; they are counted as what they are too."""
        self._sick[f"{queue}:{code}"] += creates

    def hedged(self, *, won: bool = False) -> None:
        """Count a hedge when it is sent, and again when it wins."""
        self._counts["hedges_won" if won else "hedges_sent"] += 1

    def cancelled(self, attempts: int) -> None:
        """Count attempts that another's answer ended."""
        self._counts["hedges_cancelled"] += attempts

    def fanned_out(self, seconds: float, *, deferred: bool) -> None:
        """Count a fan-out that had something to create."""
        self._counts["fan_outs"] += 1
        self._counts["deferred"] += deferred
        self._durations["fan_out_time"].append(seconds)

    def called(self, seconds: float) -> None:
        """Count how long a call took once it was sent."""
        self._durations["latency"].append(seconds)

    def waited(self, seconds: float) -> None:
        """Count how long a call waited in this client before it was sent."""
        self._durations["waited"].append(seconds)

    def drain(self) -> Signals:
        """Return what was counted since the last time."""
        counts, durations = self._counts, self._durations
        faults, sick = dict(self._faults), dict(self._sick)
        self._clear()
        return Signals(
            accepted=counts["accepted"],
            local_rejects=counts["local_rejects"],
            hedges_sent=counts["hedges_sent"],
            hedges_won=counts["hedges_won"],
            hedges_cancelled=counts["hedges_cancelled"],
            fan_outs=counts["fan_outs"],
            deferred=counts["deferred"],
            faults=faults,
            sick=sick,
            latency=_counted(durations["latency"]),
            waited=_counted(durations["waited"]),
            fan_out_time=_counted(durations["fan_out_time"]),
        )


_NOTHING = Histogram()


def _counted(seconds: Sequence[float]) -> Histogram:
    """Count durations in the buckets of a histogram, their sum rounded once."""
    if not seconds:
        return _NOTHING
    buckets = [0] * SIZE
    for each in seconds:
        buckets[bucket_of(each)] += 1
    return Histogram(tuple(buckets), round(sum(seconds) * 1e6))


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> Mapping[str, int]:
    return Counter(one) + Counter(other) if one and other else one or other


_MADE_BY = {each.name: each.default_factory for each in fields(Signals)}
_FAMILIES = tuple(name for name, made_by in _MADE_BY.items() if made_by is dict)
_HISTOGRAMS = tuple(name for name, made_by in _MADE_BY.items() if made_by is Histogram)
_NUMBERS = tuple(name for name in _MADE_BY if name not in _FAMILIES + _HISTOGRAMS)
_families_of, _histograms_of = attrgetter(*_FAMILIES), attrgetter(*_HISTOGRAMS)
_numbers_of = attrgetter(*_NUMBERS)


def _flat(signals: Signals) -> Iterator[tuple[str, int]]:
    """Yield all counts under their names; kinds are told apart beforehand, as that takes long."""
    yield from zip(_NUMBERS, _numbers_of(signals), strict=True)
    for name, family in zip(_FAMILIES, _families_of(signals), strict=True):
        yield from ((f"{name}.{code}", count) for code, count in family.items())
    for name, histogram in zip(_HISTOGRAMS, _histograms_of(signals), strict=True):
        full = compress(enumerate(histogram.counts), histogram.counts)
        yield from ((f"{name}.{bucket}", count) for bucket, count in full)
        yield f"{name}.us", histogram.total_us


def _families(counts: Mapping[str, int]) -> defaultdict[str, dict[str, int]]:
    """Gather the counts with a dot in their name by what is before it."""
    families: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for name, count in counts.items():
        family, dot, member = name.partition(".")
        if dot:
            families[family][member] = count
    return families


def _histogram(counts: Mapping[str, int]) -> Histogram:
    buckets = [0] * SIZE
    for member, count in counts.items():
        if member.isdecimal() and int(member) < SIZE:
            buckets[int(member)] = count
    return Histogram(tuple(buckets), counts.get("us", 0))
