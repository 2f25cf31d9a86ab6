"""Topics and their messages in this process's memory, for tests and dry runs: no service."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from injector.delivery.counted import count
from injector.delivery.ports import Create, Outcome, Result
from injector.delivery.pubsub import judge_publish
from injector.errors import NotFound, Retryable
from injector.pacing.signals import Signals, Tally


class MemoryTopics:
    """Topics that hold what was published to them, again and again if need be.

    `faults` end the next messages with those status codes, first come first served, and
    `faults_met` counts them; OK lets one pass, and after "lost " a message is published although
    its call fails. A message that is not `valid` is refused for good. While `away`, nobody can say
    whether a topic is there.
    """

    away = False

    def __init__(
        self,
        topics: Iterable[str] = (),
        *,
        faults: Iterable[str] = (),
        valid: Callable[[Create], bool] = lambda _: True,
    ) -> None:
        self.topics: dict[str, list[Create]] = {topic: [] for topic in topics}
        self.faults_met: Counter[str] = Counter()
        self.faults = list(faults)
        self.valid = valid
        self._published = 0
        self._tally = Tally()
        self._lock = threading.Lock()

    def create_all(self, creates: Sequence[Create], *, budget_s: float) -> list[Result]:
        """Publish each message."""
        del budget_s
        with self._lock:
            results = [self._publish(create) for create in creates]
            count(results, self._tally)
        return results

    def hedge_tokens(self) -> None:
        """Return None: nothing is hedged."""

    def drain_signals(self) -> Signals:
        """Return how messages ended since the last time."""
        with self._lock:
            return self._tally.drain()

    def look(self, topic: str) -> None:
        """Raise NotFound for a topic that is not there."""
        if self.away:
            raise Retryable(f"topic {topic}: Pub/Sub does not answer")
        if topic not in self.topics:
            raise NotFound(f"topic {topic} is not there")

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""

    def _publish(self, create: Create) -> Result:
        code = self.faults.pop(0) if self.faults else "OK"
        if code.startswith("lost "):
            self.topics[create.queue].append(create)
        if code != "OK":
            self.faults_met[code] += 1
            return judge_publish(code.removeprefix("lost "), "asked for by a test", create.queue)
        if create.queue not in self.topics:
            return judge_publish("NOT_FOUND", "Resource not found.", create.queue)
        if not self.valid(create):
            return judge_publish("INVALID_ARGUMENT", "the message will not do", create.queue)
        self.topics[create.queue].append(create)
        self._published += 1
        return Result(Outcome.CREATED, message_id=str(self._published))
