"""How much each person may ask of a process, so that one's script does not stop the others.

Queues and the scheduler are under no such limit: what they may send is theirs to pace.
"""

import math
import time
from functools import cached_property

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from handlers.auth import Caller, Role
from injector.errors import Throttled


class Allowance:
    """Counts the requests of each caller over the last minute.

    Callers are those whom the gate let in, so there are no more of them than the settings
    name. The count is a process's own: a service of many lets that many times more in.
    """

    def __init__(self, per_minute: int) -> None:
        self._limit = RateLimitItemPerMinute(per_minute)

    def take(self, caller: Caller, role: Role) -> None:
        """Count a request; raise Throttled that says when there is room for another."""
        if role is not Role.PEOPLE or self._limiter.hit(self._limit, caller.name):
            return
        room_at, _ = self._limiter.get_window_stats(self._limit, caller.name)
        wait_s = max(1, math.ceil(room_at - time.time()))
        raise Throttled(
            f"{caller.name} has made {self._limit.amount} requests within a minute, as many as one "
            f"may; ask again in {wait_s} s, or raise INJECTOR_REQUESTS_PER_MINUTE",
            retry_after_s=wait_s,
        )

    @cached_property
    def _limiter(self) -> MovingWindowRateLimiter:
        """Return the limiter; making it starts a thread, so it is made after any fork."""
        return MovingWindowRateLimiter(MemoryStorage())
