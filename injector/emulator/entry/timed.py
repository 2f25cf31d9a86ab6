"""How long publishes take, and how they end."""

from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache, partial
from time import perf_counter
from urllib.parse import unquote

from injector.emulator.entry.counted import ROUTING, code_of, told_of
from injector.emulator.rpc import Code, Dropped, Handle, RpcError

PUBLISH = "/google.pubsub.v1.Publisher/Publish"
Tell = Callable[[str, Code, float], None]


class Timed:
    """Tells of each call of a method how it ended and in how many seconds.

    What it is about is read from the routing that its client sent: a request may be 10 MB.
    """

    def __init__(self, inner: Handle, method: str, tell: Tell) -> None:
        self._inner = inner
        self._method = method
        self._tell = tell

    def __call__(
        self, method: str, request: bytes, metadata: Mapping[str, str]
    ) -> bytes | Awaitable[bytes]:
        """Answer a call; raises RpcError or Dropped."""
        if method != self._method:
            return self._inner(method, request, metadata)
        tell = partial(self._ended, _resource(metadata.get(ROUTING, "")), perf_counter())
        try:
            answer = self._inner(method, request, metadata)
        except (RpcError, Dropped) as error:
            tell(code_of(error))
            raise
        if isinstance(answer, bytes):
            tell(Code.OK)
            return answer
        return told_of(answer, tell)

    def _ended(self, resource: str, since: float, code: Code) -> None:
        self._tell(resource, code, perf_counter() - since)


@lru_cache(maxsize=4096)
def _resource(routing: str) -> str:
    """Return the one resource that a routing header names."""
    return unquote(routing.partition("=")[2].partition("&")[0])
