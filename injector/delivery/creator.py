"""How creates leave: in calls, through one nest of layers.

    Retried(Limited(Throttled(Counted(Hedged(CloudTasks)))))

A retry is outermost, so that a call which waits for its next attempt holds no slot. The slot
comes before everything that judges or measures: the throttle then decides on what is known
when the call leaves, and neither it nor the hedge's delay nor the latency sees the wait in this
client. The throttle and the counts stand around the hedge, since a create is one create however
many copies are sent. A batch takes the same way, without a hedge.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from typing import Literal

from injector.clock import Clock, SystemClock
from injector.delivery.batch import BatchTasks
from injector.delivery.batched import Batched, Part, by_queue, each_alone
from injector.delivery.call import Call, Sender
from injector.delivery.cloud_tasks import CloudTasks
from injector.delivery.connection import Connection
from injector.delivery.counted import Counted
from injector.delivery.hedged import Hedged
from injector.delivery.limited import Limited
from injector.delivery.line import Line
from injector.delivery.ports import NO_TOKEN, Create, Result
from injector.delivery.retried import Retried
from injector.delivery.throttled import Throttled
from injector.delivery.verdict import LATE, OVERLOAD_FAULTS
from injector.errors import Misused
from injector.pacing.backoff import Backoff
from injector.pacing.hedge import Hedging, HedgingSettings
from injector.pacing.limiter import MAX_CALL_S
from injector.pacing.signals import Signals, Tally
from injector.pacing.throttle import GroupThrottle, ThrottleSettings

TALLIES_KEPT = 1000
NARROWEST = 100
"""How many calls of one `create_all` may stand in line for a slot, whatever comes in."""

GRACE_S = 0.25
"""How long calls that are out may take to report their own deadline, which says more."""

MOST_BATCH = 4 * 1024 * 1024
"""Bytes of the largest message that a gRPC server takes unless it is set otherwise."""

RETRIED_CODES = OVERLOAD_FAULTS | {NO_TOKEN, "INTERNAL"}
"""The codes after which a create is sent again."""

Mode = Literal["auto", "single", "batch"]


@dataclass(frozen=True, slots=True)
class Delivery:
    """How a group's creates are sent; raises Misused for what the service would refuse.

    `call_timeout_s` is what one call may take once it is sent. Mode `auto` sends batches until
    the service refuses them as such. None for `hedging` or `throttle` switches it off.
    """

    mode: Mode = "auto"
    call_timeout_s: float = 20.0
    backoff: Backoff = field(default_factory=Backoff)
    throttle: ThrottleSettings | None = field(default_factory=ThrottleSettings)
    hedging: HedgingSettings | None = None
    most_batch_bytes: int = 3_500_000

    def __post_init__(self) -> None:
        """Refuse values that no call could be sent with."""
        if not 0 < self.call_timeout_s <= MAX_CALL_S:
            raise Misused(
                f"call timeout {self.call_timeout_s} s: the service takes deadlines of more than"
                f" 0 and at most {MAX_CALL_S:.0f} s"
            )
        if self.mode not in ("auto", "single", "batch"):
            raise Misused(f"mode {self.mode!r}: use auto, single or batch")
        if not 1 <= self.most_batch_bytes <= MOST_BATCH:
            raise Misused(
                f"most_batch_bytes is {self.most_batch_bytes}; needs a value from 1 to {MOST_BATCH}"
            )
        self.new_hedging()

    def new_hedging(self, *, unrepeatable: str = "") -> Hedging | None:
        """Start hedging with an empty bucket; raise Misused when it would do harm, and why."""
        if self.hedging is None:
            return None
        total = first = self.call_timeout_s
        return Hedging(
            self.hedging,
            first_timeout_s=first,
            total_timeout_s=total,
            unrepeatable=unrepeatable,
        )


def make_creator(
    connection: Connection, delivery: Delivery | None = None, *, clock: Clock | None = None
) -> "CallingCreator":
    """Build the creator of a group; it opens the connection with its first create.

    Each group has its own, because each has its own throttle; they share the process's
    connection and its slots. `clock` is what the throttle forgets by.
    """
    delivery = delivery or Delivery()
    hedging = delivery.new_hedging()
    return CallingCreator(
        connection,
        partial(nest, delivery=delivery, clock=clock or SystemClock(), hedging=hedging),
        each_alone
        if delivery.mode == "single"
        else partial(by_queue, most_bytes=delivery.most_batch_bytes),
        hedging,
    )


def nest(line: Line, delivery: Delivery, clock: Clock, hedging: Hedging | None) -> Sender:
    """Put the layers together, on the loop that they live on."""
    throttle = GroupThrottle(delivery.throttle) if delivery.throttle else None
    around = partial(layered, line=line, delivery=delivery, clock=clock, throttle=throttle)
    single: Sender = CloudTasks(line, timeout_s=delivery.call_timeout_s)
    single = hedged(single, hedging, line=line, throttle=throttle, clock=clock)
    if delivery.mode == "single":
        return around(single)
    batches = BatchTasks(line, timeout_s=delivery.call_timeout_s, draw=random.random)
    return Batched(around(batches), around(single), fall_back=delivery.mode == "auto")


def hedged(
    sender: Sender,
    hedging: Hedging | None,
    *,
    line: Line,
    throttle: GroupThrottle | None,
    clock: Clock,
) -> Sender:
    """Let the sender's slow calls be hedged, unless hedging is off."""
    if hedging is None:
        return sender
    return Hedged(sender, hedging=hedging, turns=line.turns, throttled=_rejects(throttle, clock))


def layered(
    sender: Sender, *, line: Line, delivery: Delivery, clock: Clock, throttle: GroupThrottle | None
) -> Sender:
    """Put around a sender what every call passes through, whatever it carries."""
    sender = Counted(sender)
    if throttle:
        sender = Throttled(sender, throttle=throttle, now=clock.monotonic, draw=random.random)
    return Retried(
        Limited(sender, turns=line.turns),
        backoff=delivery.backoff,
        codes=RETRIED_CODES,
        draw=random.random,
    )


def _rejects(throttle: GroupThrottle | None, clock: Clock) -> Callable[[str], bool]:
    def rejects(queue: str) -> bool:
        return throttle is not None and throttle.rejected_share(queue, now=clock.monotonic()) > 0

    return rejects


class CallingCreator:
    """Creates tasks by calls over the process's connection.

    `new_nest` puts the layers together, around a `hedging` that outlives a connection, and
    `split` says which calls creates become.
    """

    def __init__(
        self,
        connection: Connection,
        new_nest: Callable[[Line], Sender],
        split: Callable[[Sequence[Create]], Iterator[Part]],
        hedging: Hedging | None = None,
    ) -> None:
        self._connection = connection
        self._new_nest = new_nest
        self._split = split
        self._hedging = hedging
        self._nested: tuple[Line, Sender] | None = None
        self._tallies: deque[Tally] = deque(maxlen=TALLIES_KEPT)

    def create_all(self, creates: Sequence[Create], *, budget_s: float) -> list[Result]:
        """Create each task and return the results in the order of `creates`."""
        if not creates:
            return []
        return self._connection.run(lambda line: self._create_all(line, creates, budget_s))

    def drain_signals(self) -> Signals:
        """Return what ended calls of `create_all` saw; the oldest go when nobody asks."""
        total = Signals()
        while self._tallies:
            drained = self._tallies.popleft().drain()
            total = total + drained if total.creates else drained
        return total

    def hedge_tokens(self) -> float | None:
        """Return how many tokens for hedges are left; None where nothing is hedged."""
        return self._hedging.tokens if self._hedging else None

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    async def _create_all(
        self, line: Line, creates: Sequence[Create], budget_s: float
    ) -> list[Result]:
        sender, tally = self._sender(line), Tally()
        deadline = asyncio.get_running_loop().time() + budget_s
        results = [LATE] * len(creates)

        async def work(first: Part) -> None:
            for places, part in chain((first,), parts):
                call = Call(part[0].queue, part, deadline, tally)
                for place, result in zip(places, await sender.send(call), strict=True):
                    results[place] = result

        parts = self._split(creates)
        width = max(NARROWEST, self._connection.address.width)
        try:
            async with asyncio.timeout_at(deadline + GRACE_S):
                await asyncio.gather(*(work(first) for first in islice(parts, width)))
        except (TimeoutError, asyncio.CancelledError) as stop:
            if isinstance(stop, asyncio.CancelledError) and not line.closed:
                raise
        self._tallies.append(tally)
        return results

    def _sender(self, line: Line) -> Sender:
        """Return the line's nest; only the loop's thread comes here."""
        if self._nested is None or self._nested[0] is not line:
            self._nested = line, self._new_nest(line)
        return self._nested[1]
