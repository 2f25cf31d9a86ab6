"""Numbers of calls, by method and code."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from injector.emulator.rpc import Code, Dropped, Handle, RpcError

Count = Callable[[str, Code, str], None]
ROUTING = "x-goog-request-params"


class Counted:
    """Tells `count` of each call's end: method, code, and the routing that its client sent."""

    def __init__(self, inner: Handle, count: Count) -> None:
        self._inner = inner
        self._count = count

    def __call__(
        self, method: str, request: bytes, metadata: Mapping[str, str]
    ) -> bytes | Awaitable[bytes]:
        """Answer a call; raises RpcError or Dropped."""
        routing = metadata.get(ROUTING, "")
        try:
            answer = self._inner(method, request, metadata)
        except (RpcError, Dropped) as error:
            self._count(method, code_of(error), routing)
            raise
        if isinstance(answer, bytes):
            self._count(method, Code.OK, routing)
            return answer
        return told_of(answer, lambda code: self._count(method, code, routing))


async def told_of(answer: Awaitable[bytes], tell: Callable[[Code], None]) -> bytes:
    """Wait for an answer and tell how the call ended."""
    try:
        form = await answer
    except (RpcError, Dropped, asyncio.CancelledError) as error:
        tell(code_of(error))
        raise
    tell(Code.OK)
    return form


def code_of(error: BaseException) -> Code:
    """Return the code under which a call's end is counted.

    A caller that gives up, or whose deadline passes, cancels its call: production counts both
    as CANCELLED.
    """
    if isinstance(error, RpcError):
        return error.code
    return Code.UNAVAILABLE if isinstance(error, Dropped) else Code.CANCELLED
