"""Hedging: the same call sent again beside a slow one, and the first answer taken.

These are the rules of Pub/Sub's publish hedging, free of any client: a batch of messages and a
create of a named task are both an operation whose attempts get numbers, 0 being the original.
What happens goes in as a call, what is to be done comes out as actions. A hedge cures short
spikes; against an outage the tokens end it, since only successes bring new ones.
"""

from dataclasses import dataclass

from injector.errors import Misused

MAX_HEDGE_S = 10.0
_MICRO = 1_000_000


@dataclass(frozen=True, slots=True)
class HedgingSettings:
    """When to hedge. Raises Misused for a value out of range.

    `hedge_delay` is in seconds. About `refill_ratio` of all operations can be hedged in the
    long run, and `max_tokens` at once. With `follow_p95` the delay is the 95th percentile of
    the calls' latency where that is known, within the same range.
    """

    hedge_delay: float = 1.0
    max_tokens: int = 50
    refill_ratio: float = 0.1
    follow_p95: bool = False

    def __post_init__(self) -> None:
        _check("hedge_delay", self.hedge_delay, 0.1, 10)
        _check("max_tokens", self.max_tokens, 1, 250)
        _check("refill_ratio", self.refill_ratio, 0.001, 0.2)
        if self.max_tokens % 1:
            raise Misused(f"max_tokens is {self.max_tokens}; needs a whole number")


@dataclass(frozen=True, slots=True)
class Send:
    """Send this attempt, with so many seconds to answer."""

    attempt: int
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Wake:
    """Call `woke` at this time, unless the operation is over by then."""

    at: float


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel these attempts, as best one can; what they still answer changes nothing."""

    attempts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Finish:
    """The operation ends as this attempt did: a success, or the original's error."""

    attempt: int
    succeeded: bool


Action = Send | Wake | Cancel | Finish


class Hedging:
    """The hedging of one publisher or creator: its delay, its tokens, its counts.

    The bucket starts empty, as in the Go and Node clients. Not locked: whoever shares one
    between threads locks it.
    """

    def __init__(
        self,
        settings: HedgingSettings,
        *,
        first_timeout_s: float,
        total_timeout_s: float,
        unrepeatable: str = "",
    ) -> None:
        """Raise Misused unless the delay is below both time-outs, or when `unrepeatable`.

        That is the reason why a second copy would do harm: message ordering, unnamed tasks.
        """
        _check_hedgeable(settings, first_timeout_s, total_timeout_s, unrepeatable)
        self._settings = settings
        self._delay_below_s = min(first_timeout_s, total_timeout_s)
        self.total_timeout_s = total_timeout_s
        self.delay_s = settings.hedge_delay
        self._tokens = 0
        self.sent = self.won = self.cancelled = 0

    @property
    def tokens(self) -> float:
        """How many tokens there are; a hedge takes a whole one."""
        return self._tokens / _MICRO

    def follow(self, p95_s: float) -> None:
        """Take the latency's 95th percentile as the delay, if the settings say so.

        One that is not below the time-outs leaves the delay as it was.
        """
        delay = min(max(p95_s, 0.1), 10.0)
        if self._settings.follow_p95 and delay < self._delay_below_s:
            self.delay_s = delay

    def begin(self, *, now: float, timeout_s: float | None = None) -> "Chain":
        """Begin an operation; None gives it the total time-out."""
        return Chain(self, now=now, until=now + (timeout_s or self.total_timeout_s))

    def take_token(self) -> bool:
        """Take a token if there is a whole one."""
        if self._tokens < _MICRO:
            return False
        self._tokens -= _MICRO
        self.sent += 1
        return True

    def refill(self) -> None:
        """Add the refill ratio, in millionths, so that ten tenths are a whole token."""
        most = self._settings.max_tokens * _MICRO
        if self._tokens < most:
            refilled = self._tokens + round(self._settings.refill_ratio * _MICRO)
            self._tokens = min(refilled, most)


class Chain:
    """One operation: the original and its hedges, until the first success or the end.

    Each method tells what happened and returns what is to be done. Attempts that answer once
    the operation is over are told in vain, which is right.
    """

    def __init__(self, hedging: Hedging, *, now: float, until: float) -> None:
        self._hedging = hedging
        self._until = until
        self._in_flight = [0]
        self._sent = 1
        self._over = False
        self.first = (Send(0, until - now), Wake(now + hedging.delay_s))

    def woke(self, *, now: float, throttled: bool = False) -> tuple[Action, ...]:
        """Hedge, now that one more delay has passed; without a token the chain ends here.

        `throttled` says that the throttle rejects: the service is overloaded, and a second
        copy would make it worse, so the chain ends too.
        """
        left = self._until - now
        if self._over or left <= 0 or throttled or not self._hedging.take_token():
            return ()
        attempt, self._sent = self._sent, self._sent + 1
        self._in_flight.append(attempt)
        return Send(attempt, min(left, MAX_HEDGE_S)), Wake(now + self._hedging.delay_s)

    def succeeded(self, attempt: int) -> tuple[Action, ...]:
        """Take the first success, cancel the rest and refill once."""
        if self._over:
            return ()
        self._hedging.refill()
        self._hedging.won += attempt > 0
        return self._finish(attempt, succeeded=True)

    def failed(self, attempt: int) -> tuple[Action, ...]:
        """End with the original's error, once that is final; ignore a hedge's."""
        if self._over:
            return ()
        if attempt == 0:
            return self._finish(0, succeeded=False)
        self._in_flight.remove(attempt)
        return ()

    def _finish(self, attempt: int, *, succeeded: bool) -> tuple[Action, ...]:
        self._over = True
        losers = tuple(each for each in self._in_flight if each != attempt)
        self._hedging.cancelled += len(losers)
        finish = Finish(attempt, succeeded)
        return (finish, Cancel(losers)) if losers else (finish,)


def _check(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise Misused(f"{name} is {value}; needs a value from {low} to {high}")


def _check_hedgeable(
    settings: HedgingSettings, first_timeout_s: float, total_timeout_s: float, unrepeatable: str
) -> None:
    if unrepeatable:
        raise Misused(f"hedging sends the same twice, which {unrepeatable} does not allow")
    for name, timeout in (("first", first_timeout_s), ("total", total_timeout_s)):
        if not settings.hedge_delay < timeout:
            raise Misused(
                f"hedge_delay is {settings.hedge_delay} s; needs to be below the {name} time-out,"
                f" which is {timeout} s"
            )
