"""Answers that wait until what they say is written."""

from collections.abc import Awaitable, Mapping

from injector.emulator.rpc import Handle
from injector.emulator.storage.state_file import StateFile


class Durable:
    """Answers a call that changed the state once the change is in the state file."""

    def __init__(self, inner: Handle, file: StateFile) -> None:
        self._inner = inner
        self._file = file

    def __call__(
        self, method: str, request: bytes, metadata: Mapping[str, str]
    ) -> bytes | Awaitable[bytes]:
        """Answer a call; raises RpcError or Dropped."""
        answer = self._inner(method, request, metadata)
        if not isinstance(answer, bytes) or not self._file.is_behind:
            return answer
        return self._once_written(answer)

    async def _once_written(self, answer: bytes) -> bytes:
        await self._file.written()
        return answer
