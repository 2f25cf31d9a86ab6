"""The quotas of calls that production sets for each project."""

from collections.abc import Awaitable, Callable, Mapping

from injector.emulator.api.methods import TASKS
from injector.emulator.rpc import Code, Handle, RpcError
from injector.emulator.state.bucket import Bucket

_PER_MINUTE = {
    TASKS + "RunTask": ("force-run", 60),
    TASKS + "ListTasks": ("list", 600),
    TASKS + "ListQueues": ("list", 600),
}
"""What counts towards which quota, and how many calls a minute it allows (quotas page)."""


class Quota:
    """Refuses calls beyond the quotas; they are filled up continuously.

    `resource` reads which queue or task a request is about.
    """

    def __init__(
        self, inner: Handle, now: Callable[[], float], resource: Callable[[str, bytes], str]
    ) -> None:
        self._inner = inner
        self._now = now
        self._resource = resource
        self._buckets: dict[tuple[str, str], Bucket] = {}

    def __call__(
        self, method: str, request: bytes, metadata: Mapping[str, str]
    ) -> bytes | Awaitable[bytes]:
        """Answer a call; raises RpcError or Dropped."""
        quota = _PER_MINUTE.get(method)
        if quota is not None:
            self._spend(*quota, self._resource(method, request).partition("/locations/")[0])
        return self._inner(method, request, metadata)

    def _spend(self, name: str, per_minute: int, project: str) -> None:
        now = self._now()
        bucket = self._buckets.get((project, name))
        if bucket is None:
            bucket = Bucket(rate=per_minute / 60, burst=per_minute, now=now)
            self._buckets[project, name] = bucket
        if not bucket.take(now=now):
            raise RpcError(
                Code.RESOURCE_EXHAUSTED,
                f"Quota exceeded: {per_minute} {name} requests per minute for {project}.",
            )
