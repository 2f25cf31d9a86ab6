"""One subscription: what waits in it, what is on lease, and what comes back."""

import re
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf


@dataclass(frozen=True, slots=True)
class Message:
    """A published message: `form` is what subscribers get, `key` its ordering key if it has one."""

    id: str
    form: bytes
    key: str
    published_at: float


@dataclass(frozen=True, slots=True)
class Terms:
    """What a subscription promises; spans in seconds.

    With `ordered`, messages of one key are delivered in their order, the next only when those
    before it are acknowledged.
    """

    ack_deadline_s: float = 10.0
    retention_s: float = 7 * 86400.0
    ordered: bool = False


@dataclass(slots=True, eq=False)
class Held:
    """A message in a subscription; `number` is its place there, `attempt` its deliveries."""

    number: int
    message: Message
    attempt: int = 0
    until: float = -inf
    ack_id: str = ""

    @property
    def is_leased(self) -> bool:
        """Tell whether it has been delivered and may still be acknowledged."""
        return bool(self.ack_id)


class Subscription:
    """The messages that nobody has acknowledged yet, oldest first."""

    def __init__(self, name: str, serial: int, terms: Terms) -> None:
        self.name = name
        self.terms = terms
        self.acknowledged = self.delivered = self.redelivered = self.expired = 0
        self.bytes = 0
        self._is_ack_id = re.compile(rf"s{serial}-(\d{{1,18}})-(\d{{1,18}})").fullmatch
        self._serial = serial
        self._numbers = 0
        self._held: dict[int, Held] = {}
        self._ready: list[int] = []
        self._leases: list[tuple[float, int]] = []
        self._out: dict[str, set[int]] = {}
        self._parked: dict[str, list[int]] = {}

    @property
    def backlog(self) -> int:
        """Return how many messages are not acknowledged."""
        return len(self._held)

    @property
    def outstanding(self) -> int:
        """Return how many messages are delivered, and neither acknowledged nor given back."""
        return sum(held.is_leased for held in self._held.values())

    def add(self, message: Message) -> None:
        """Take in a new message."""
        self._numbers += 1
        self._held[self._numbers] = Held(self._numbers, message)
        self.bytes += len(message.form)
        heappush(self._ready, self._numbers)

    def take(self, *, now: float, most: int, most_bytes: float = inf) -> list[Held]:
        """Deliver what is ready, up to so many messages or bytes; the first goes at any size."""
        self.return_late(now=now)
        taken: list[Held] = []
        size = 0
        ours: set[str] = set()
        while self._ready and len(taken) < most and (not taken or size < most_bytes):
            held = self._held.get(heappop(self._ready))
            if held is None or self._is_parked(held, ours):
                continue
            size += len(held.message.form)
            self._lease(held, now=now)
            ours.add(held.message.key)
            taken.append(held)
        return taken

    def next_return(self) -> float:
        """Return when the next lease ends; infinite if there is none."""
        while self._leases and not self._is_lease(*self._leases[0]):
            heappop(self._leases)
        return self._leases[0][0] if self._leases else inf

    def issued(self, ack_id: str) -> bool:
        """Tell whether an ack id can be one of ours."""
        match = self._is_ack_id(ack_id)
        return match is not None and int(match[1]) <= self._numbers

    def is_out(self, ack_id: str) -> bool:
        """Tell whether a message is still on the lease of this ack id."""
        return self._leased(ack_id) is not None

    def acknowledge(self, ack_id: str, *, now: float) -> None:
        """Drop a message for good; an ack that comes too late changes nothing."""
        self.return_late(now=now)
        if held := self._leased(ack_id):
            self._drop(held)
            self.acknowledged += 1

    def extend(self, ack_id: str, seconds: float, *, now: float) -> None:
        """Lease a message from now on for so long; 0 gives it back at once."""
        self.return_late(now=now)
        held = self._leased(ack_id)
        if held and seconds:
            self._until(held, now + seconds)
        elif held:
            self._give_back(held)

    def return_late(self, *, now: float) -> None:
        """Take back what was not acknowledged in time."""
        while (at := self.next_return()) <= now:
            _, number = heappop(self._leases)
            if self._held[number].until == at:
                self._give_back(self._held[number])

    def expire(self, *, now: float) -> None:
        """Drop what is older than messages are kept."""
        for held in list(self._held.values()):
            if held.message.published_at + self.terms.retention_s > now:
                break
            self._drop(held)
            self.expired += 1

    def clear(self) -> None:
        """Drop everything."""
        for held in list(self._held.values()):
            self._drop(held)

    def _is_parked(self, held: Held, ours: set[str]) -> bool:
        """Set a message aside whose key is out with somebody else."""
        key = held.message.key
        if not (self.terms.ordered and key and self._out.get(key)) or key in ours:
            return False
        self._parked.setdefault(key, []).append(held.number)
        return True

    def _lease(self, held: Held, *, now: float) -> None:
        held.attempt += 1
        self.delivered += 1
        self.redelivered += held.attempt > 1
        held.ack_id = f"s{self._serial}-{held.number}-{held.attempt}"
        self._out.setdefault(held.message.key, set()).add(held.number)
        self._until(held, now + self.terms.ack_deadline_s)

    def _until(self, held: Held, until: float) -> None:
        held.until = until
        heappush(self._leases, (until, held.number))

    def _is_lease(self, until: float, number: int) -> bool:
        held = self._held.get(number)
        return held is not None and held.is_leased and held.until == until

    def _leased(self, ack_id: str) -> Held | None:
        match = self._is_ack_id(ack_id)
        held = self._held.get(int(match[1])) if match else None
        return held if held and held.ack_id == ack_id else None

    def _give_back(self, held: Held) -> None:
        """Make a message ready again, and with it those of its key that went out after it."""
        key = held.message.key
        with_it = {held.number}
        if self.terms.ordered and key:
            with_it |= {number for number in self._out[key] if number > held.number}
        for number in with_it:
            self._held[number].ack_id = ""
            self._out[key].discard(number)
            heappush(self._ready, number)
        self._unpark(key)

    def _drop(self, held: Held) -> None:
        del self._held[held.number]
        self.bytes -= len(held.message.form)
        if held.is_leased:
            self._out[held.message.key].discard(held.number)
            self._unpark(held.message.key)

    def _unpark(self, key: str) -> None:
        """Let the messages of a key go on once none of it is out."""
        if not self._out[key]:
            del self._out[key]
            for number in self._parked.pop(key, ()):
                heappush(self._ready, number)
