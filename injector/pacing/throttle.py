"""Adaptive throttling: a client that is refused often asks less often, all by itself.

Calls end in three ways: answered (a refusal such as ALREADY_EXISTS is an answer), faulted
(overload or server error, `signals.NOT_ACCEPTED`), or given up by this client (a hedge that
lost), which is evidence of nothing and not told here. Time is monotonic seconds; a step back
counts as no time at all.
"""

from collections import deque
from dataclasses import dataclass

from injector.errors import Misused
from injector.pacing.sickness import Sickness

BUCKETS = 10
HEALTHY_SHARE = 0.95
"""Answers among the calls sent that make a bucket healthy; the value is Envoy's default."""


def reject_probability(requests: float, accepts: float, k: float) -> float:
    """Return the chance of rejecting a call locally (Google SRE book, Handling Overload)."""
    return max(0.0, (requests - k * accepts) / (requests + 1))


@dataclass(frozen=True, slots=True)
class ThrottleSettings:
    """How a throttle judges. Raises Misused for a value out of range.

    A backend that answers only every k-th call leaves the throttle open; a greater `k` wastes
    more of its capacity on refusals and notices recovery sooner. The SRE book's usual 2 does
    nothing while half of the calls fail, which is an outage by any name; 1.1 gives up most of the
    traffic at one failure in ten. Of 1.5 the throttle begins at one in three, below which it is
    the controller that slows down. `floor` is the share of the
    calls that always passes, without which a recovery would never be noticed. With fewer than
    `least` calls in the window there is no verdict (as with Envoy's `rps_threshold`): the formula
    alone rejects half of everything after a new process's first fault, and 19 of 20 for minutes
    when that was a batch of 100. Where calls are so few that there never are as many, a tenth of
    them is enough once they have spoken for rejecting over a whole window.
    """

    window_s: float = 120.0
    k: float = 1.5
    floor: float = 0.05
    least: int = 200

    def __post_init__(self) -> None:
        _check("window_s", self.window_s, 1, 3600)
        _check("k", self.k, 1, 100)
        _check("floor", self.floor, 0.001, 1)
        _check("least", self.least, 1, 1_000_000)

    @property
    def suspected(self) -> float:
        """How many calls in the window are enough to be suspicious."""
        return self.least / 10

    @property
    def bucket_s(self) -> float:
        """How finely the window forgets."""
        return self.window_s / BUCKETS


class Throttle:
    """Rejects calls locally with the chance that the last window's answers give.

    A call counts once it has ended, so that a hundred calls in flight are no evidence against
    a service that has not had time to answer; a local reject counts as a request at once.

    The formula alone needs many windows to notice a recovery, since the rejects that it caused
    go on speaking against the service: 12 at k = 1.1. So with each bucket in which what was
    sent was also answered, the share that passes whatever the formula says doubles from
    `floor`; one unhealthy bucket sends it back there.
    """

    def __init__(self, settings: ThrottleSettings | None = None) -> None:
        self._settings = settings or ThrottleSettings()
        self._window: deque[_Bucket] = deque([_Bucket(0)])
        self._probe = self._settings.floor
        self._answers = self._unanswered = 0
        self._calm = 0
        self._elapsed = 0.0
        self._seen: float | None = None

    def admit(self, *, now: float, draw: float, calls: int = 1) -> bool:
        """Say whether the call may be sent; `draw` is uniform in [0, 1).

        One that stands for several, such as a batch, is kept or sent as one and counts as many.
        """
        if draw >= self.rejected_share(now=now):
            return True
        self.rejected(now=now, calls=calls)
        return False

    @property
    def clean(self) -> bool:
        """Whether all in the window was answered: then it neither rejects nor suspects."""
        return not self._unanswered

    def answered(self, *, now: float, calls: int = 1) -> None:
        """Count calls that the service answered."""
        if now != self._seen:
            self._roll(now)
        self._window[-1].answered += calls
        self._answers += calls

    def faulted(self, *, now: float, calls: int = 1) -> None:
        """Count calls that the service did not take."""
        self._roll(now)
        self._window[-1].faulted += calls
        self._unanswered += calls

    def rejected(self, *, now: float, calls: int = 1) -> None:
        """Count calls that were rejected here; `admit` does so for its own."""
        self._roll(now)
        self._window[-1].rejected += calls
        self._unanswered += calls

    def rejected_share(self, *, now: float) -> float:
        """Return the share of calls that is rejected at this moment."""
        self._roll(now)
        share = self._formula()
        if not share:
            return 0.0
        passing = self._probe if self._window[-1].healthy else self._settings.floor
        return min(share, 1 - passing)

    def open(self, *, now: float) -> bool:
        """Say whether nothing is rejected at this moment."""
        self._roll(now)
        return not self._formula()

    def suspicious(self, *, now: float) -> bool:
        """Say whether a tenth of the least calls speaks for rejecting."""
        self._roll(now)
        return self._formula(self._settings.suspected) > 0

    def _formula(self, least: float | None = None) -> float:
        requests = self._answers + self._unanswered
        if requests < (self._least if least is None else least):
            return 0.0
        return reject_probability(requests, self._answers, self._settings.k)

    @property
    def _least(self) -> float:
        """How many calls a verdict needs: fewer when suspicion has outlasted all in the window."""
        lasting = self._window[-1].number - self._calm > BUCKETS
        return self._settings.suspected if lasting else self._settings.least

    def _roll(self, now: float) -> None:
        """Open the bucket of this time, judge the one that it closes, drop those too old."""
        if now == self._seen:
            return
        self._elapsed += max(0.0, now - (now if self._seen is None else self._seen))
        self._seen = now
        number = int(self._elapsed / self._settings.bucket_s)
        if number == self._window[-1].number:
            return
        self._judge(self._window[-1])
        self._window.append(_Bucket(number))
        while self._window[0].number <= number - BUCKETS:
            gone = self._window.popleft()
            self._answers -= gone.answered
            self._unanswered -= gone.faulted + gone.rejected
        if not self._formula(self._settings.suspected):
            self._calm = number

    def _judge(self, closed: "_Bucket") -> None:
        if not closed.healthy or not self._formula():
            self._probe = self._settings.floor
        elif closed.answered:
            self._probe = min(1.0, 2 * self._probe)


class GroupThrottle:
    """A throttle for each queue and one over them all, so that a sick queue harms no other.

    A call answers to its queue's own throttle once that rejects, else to the group's. The
    group's hears nothing more of a queue that has become suspicious, so nine sick queues are no
    evidence against the tenth; it is there for the group that fails everywhere at once, with
    too few calls a queue for any to judge.

    A queue that refuses all it is sent is also known to be sick, long before a window full of
    answers lets its throttle reject.
    """

    def __init__(self, settings: ThrottleSettings | None = None) -> None:
        self._settings = settings or ThrottleSettings()
        self._whole = Throttle(self._settings)
        self._queues: dict[str, Throttle] = {}
        self._sickness = Sickness()

    def admit(self, queue: str, *, now: float, draw: float, calls: int = 1) -> bool:
        """Say whether a call to the queue may be sent; `draw` is uniform in [0, 1)."""
        own = self._of(queue)
        if own.clean and self._whole.clean:
            return True
        throttle = self._whole if own.open(now=now) else own
        return throttle.admit(now=now, draw=draw, calls=calls)

    def answered(self, queue: str, *, now: float, calls: int = 1, refused: int = 0) -> None:
        """Count calls that the queue answered.

        So many of them were refused for what only a person can mend: no sign of overload, but
        of a queue that takes nothing.
        """
        own = self._of(queue)
        if own.clean or not own.suspicious(now=now):
            self._whole.answered(now=now, calls=calls)
        own.answered(now=now, calls=calls)
        if refused:
            self._sickness.refused(queue, calls=refused)
        if calls > refused and not self._sickness.well(queue):
            self._sickness.answered(queue, held=not own.open(now=now))

    def faulted(self, queue: str, *, now: float, calls: int = 1) -> None:
        """Count calls that the queue did not take."""
        own = self._of(queue)
        if not own.suspicious(now=now):
            self._whole.faulted(now=now, calls=calls)
        own.faulted(now=now, calls=calls)
        self._sickness.refused(queue, calls=calls, held=not own.open(now=now))

    def sick(self, queue: str) -> bool:
        """Say whether the queue takes nothing while most of the others do."""
        return self._sickness.sick(queue)

    def rejected_share(self, queue: str, *, now: float) -> float:
        """Return the share of the queue's calls that is rejected at this moment."""
        own = self._of(queue).rejected_share(now=now)
        return own or self._whole.rejected_share(now=now)

    def _of(self, queue: str) -> Throttle:
        own = self._queues.get(queue)
        if own is None:
            own = self._queues[queue] = Throttle(self._settings)
        return own


class RetryTokens:
    """Tokens for retries and hedges, never for first tries (gRPC A6, `retryThrottling`).

    They start at `max_tokens`; a fault takes one, an answer gives back `token_ratio`. Counted
    in thousandths, as gRPC does, so that no sum of tenths falls short of one.
    """

    def __init__(self, *, max_tokens: int = 100, token_ratio: float = 0.1) -> None:
        _check("max_tokens", max_tokens, 1, 1000)
        _check("token_ratio", token_ratio, 0.001, 1000)
        self._most = max_tokens * 1000
        self._ratio = round(token_ratio * 1000)
        self._left = self._most

    @property
    def tokens(self) -> float:
        """How many tokens there are."""
        return self._left / 1000

    @property
    def allowed(self) -> bool:
        """Whether a call may be tried again: while more than half of the tokens are there."""
        return self._left > self._most / 2

    def answered(self) -> None:
        """Give tokens back for a call that was answered."""
        if self._left < self._most:
            self._left = min(self._most, self._left + self._ratio)

    def faulted(self) -> None:
        """Take a token for a call that was not taken."""
        self._left = max(0, self._left - 1000)


class GroupRetryTokens:
    """Tokens of each queue and of them all: a sick queue spends no other's, many have a cap.

    The group's hear of a queue's faults only while it may still retry, so it takes few from the
    others, and a group of a thousand queues that fail at once retries no more than one of
    `QUEUES_WORTH`.
    """

    QUEUES_WORTH = 10

    def __init__(self) -> None:
        self._queues: dict[str, RetryTokens] = {}
        self._whole = RetryTokens(max_tokens=100 * self.QUEUES_WORTH)

    def allowed(self, queue: str) -> bool:
        """Say whether a call to the queue may be tried again."""
        return self._of(queue).allowed and self._whole.allowed

    def answered(self, queue: str) -> None:
        """Give tokens back for a call that the queue answered."""
        self._of(queue).answered()
        self._whole.answered()

    def faulted(self, queue: str) -> None:
        """Take a token for a call that the queue did not take."""
        if self.allowed(queue):
            self._whole.faulted()
        self._of(queue).faulted()

    def _of(self, queue: str) -> RetryTokens:
        own = self._queues.get(queue)
        if own is None:
            own = self._queues[queue] = RetryTokens()
        return own


@dataclass(slots=True)
class _Bucket:
    number: int
    answered: int = 0
    faulted: int = 0
    rejected: int = 0

    @property
    def healthy(self) -> bool:
        return self.answered >= HEALTHY_SHARE * (self.answered + self.faulted)


def _check(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise Misused(f"{name} is {value}; needs a value from {low} to {high}")
