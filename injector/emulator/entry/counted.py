"""Numbers of calls, by method and code."""

from collections.abc import Awaitable, Callable, Mapping

from injector.emulator.rpc import Code, Dropped, Handle, RpcError

Count = Callable[[str, Code, str], None]
_ROUTING = "x-goog-request-params"


class Counted:
    """Tells `count` of each call's end: method, code, and the routing that its client sent."""

    def __init__(self, inner: Handle, count: Count) -> None:
        self._inner = inner
        self._count = count

    def __call__(
        self, method: str, request: bytes, metadata: Mapping[str, str]
    ) -> bytes | Awaitable[bytes]:
        """Answer a call; raises RpcError or Dropped."""
        routing = metadata.get(_ROUTING, "")
        try:
            answer = self._inner(method, request, metadata)
        except (RpcError, Dropped) as error:
            self._count(method, _code(error), routing)
            raise
        if isinstance(answer, bytes):
            self._count(method, Code.OK, routing)
            return answer
        return self._later(method, answer, routing)

    async def _later(self, method: str, answer: Awaitable[bytes], routing: str) -> bytes:
        try:
            form = await answer
        except (RpcError, Dropped) as error:
            self._count(method, _code(error), routing)
            raise
        self._count(method, Code.OK, routing)
        return form


def _code(error: RpcError | Dropped) -> Code:
    return error.code if isinstance(error, RpcError) else Code.UNAVAILABLE
