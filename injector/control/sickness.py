"""Queues of a group that take nothing while most of the others do: since when, and what to try.

What was meant for them waits. Each tick lets a few chunks try again: more of them once those that
were let before have met no refusal, and as few as at first when one has.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from injector.delivery.ports import QUEUE_FAULTS
from injector.delivery.verdict import remedy
from injector.ledger.ports import Minute
from injector.pacing.signals import THROTTLED, Signals
from injector.wording import counted

FIRST_TRY, GROWTH = 1, 4
"""How many chunks try a sick queue at each tick, and how many times as many once it takes them."""

APART_S = 30.0
"""How far apart tries are at least, so that a tick that comes twice lets nothing go twice."""

FORGET_S = 180.0
"""After how long without a refusal a queue is well, unless something still waits for it."""

MINUTE_S = 60.0
NAMED = SEVERAL = 3


@dataclass(frozen=True, slots=True)
class SickQueue:
    """A queue that takes nothing; `code` is how it refuses, `since` and `seen` Unix seconds.

    `tries` is how many chunks the next try may send it. `released` is how many the last one let
    go, at Unix second `tried_at`; 0 once that was judged, or when it shows nothing.
    """

    queue: str
    since: float
    seen: float
    code: str
    tries: int = FIRST_TRY
    released: int = 0
    tried_at: float = 0.0


def sick_queues(
    known: Sequence[SickQueue],
    minutes: Sequence[Minute],
    *,
    now: float,
    waited_for: Collection[str] = (),
    still: bool = False,
) -> tuple[SickQueue, ...]:
    """Bring what is known up to now, by the signals of the last minutes.

    `waited_for` are the queues that chunks wait for; one that is not known to be sick is tried.
    While the injector queues stand `still`, nothing is tried, whatever was released.
    """
    found = {queue: SickQueue(queue, now, 0.0, "") for queue in waited_for}
    found |= {each.queue: each for each in known}
    for queue, (first, last, code) in _refusals(minutes).items():
        before = found.get(queue, SickQueue(queue, first, 0.0, code))
        since = before.since if now - before.seen < FORGET_S else first
        found[queue] = replace(before, since=since, seen=min(now, last + MINUTE_S), code=code)
    return tuple(
        replace(each, released=0) if still else _judged(each, now=now)
        for _, each in sorted(found.items())
        if now - each.seen < FORGET_S or each.queue in waited_for
    )


def _judged(sick: SickQueue, *, now: float) -> SickQueue:
    """Let as few go as at first after a refusal, and more where those that were let met none."""
    if sick.seen > sick.tried_at:
        return replace(sick, tries=FIRST_TRY, released=0)
    if not sick.released or not _due(sick, now=now):
        return sick
    return replace(sick, tries=GROWTH * sick.released, released=0)


def _due(sick: SickQueue, *, now: float) -> bool:
    return not 0 <= now - sick.tried_at < APART_S


def tries_due(sick: Sequence[SickQueue], *, most: int, now: float) -> Mapping[str, int]:
    """Return how many chunks may try each queue now, at most `most`; first those tried first."""
    longest_ago = sorted(sick, key=lambda each: each.tried_at)
    return {each.queue: min(each.tries, most) for each in longest_ago if _due(each, now=now)}


def tried(
    sick: Sequence[SickQueue], released: Mapping[str, int], *, now: float
) -> tuple[SickQueue, ...]:
    """Keep how many were let go now."""
    return tuple(
        replace(each, released=count, tried_at=now) if (count := released.get(each.queue)) else each
        for each in sick
    )


def _refusals(minutes: Sequence[Minute]) -> Mapping[str, tuple[float, float, str]]:
    """Return for each queue its first and last minute with a refusal, and the usual code."""
    codes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    at: defaultdict[str, list[float]] = defaultdict(list)
    for minute in minutes:
        for name, count in Signals.from_counts(minute.counts).sick.items():
            queue, _, code = name.rpartition(":")
            codes[queue][code] += 0 if code == THROTTLED else count
            at[queue].append(minute.at)
    return {queue: (min(times), max(times), _usual(codes[queue])) for queue, times in at.items()}


def _usual(codes: Counter[str]) -> str:
    ((code, count),) = codes.most_common(1)
    return code if count else THROTTLED


def refusing(sick: Sequence[SickQueue], queues: int, *, now: float) -> frozenset[str]:
    """Return those that refuse now, none where they are half of the group's queues or more.

    Then it is no queue's trouble, but the group's.
    """
    found = frozenset(each.queue for each in sick if now - each.seen < FORGET_S)
    return found if 2 * len(found) < queues else frozenset()


def to_mend(
    sick: Sequence[SickQueue], queues: int, *, since: float, nothing_taken: bool = False
) -> tuple[SickQueue, ...]:
    """Return those that refuse all until a person has mended something, where half refuse or more.

    None where fewer than half of the group's queues do; where nothing was taken by any queue,
    several are enough, for a job may never meet half of them. Counted is what was refused after
    `since`, by the minute, for earlier faults may be mended, and what no later try has disproved.
    """
    found = [
        each
        for each in sick
        if each.code and each.seen - MINUTE_S >= since and each.tries == FIRST_TRY
    ]
    if 2 * len(found) < queues and not (nothing_taken and len(found) >= SEVERAL):
        return ()
    return tuple(each for each in found if each.code in QUEUE_FAULTS)


def broken(found: Sequence[SickQueue], queues: int) -> str:
    """Say which of the group's queues a person has to mend."""
    named = ", ".join(f"{each.queue} ({each.code})" for each in found[:NAMED])
    rest = f" and {counted(len(found) - NAMED, 'other')}" if len(found) > NAMED else ""
    first = found[0].code
    take = "takes" if len(found) == 1 else "take"
    return f"{len(found)} of {queues} queues {take} nothing: {named}{rest}; {remedy(first)}"


def told(sick: Sequence[SickQueue], refusing: Collection[str], *, now: float) -> Iterator[str]:
    """Say of each queue that refuses now for how long, and how."""
    for each in sick:
        if each.queue in refusing:
            span = f"for {(now - each.since) / MINUTE_S:.0f} min"
            yield f"{each.queue} takes nothing {span} ({each.code}); what is for it waits"
