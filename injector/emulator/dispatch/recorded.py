"""Attempts that leave once it is written that they do."""

from contextlib import suppress

from injector.emulator.dispatch.dispatcher import Deliver
from injector.emulator.rpc import RpcError
from injector.emulator.storage.state_file import StateFile
from injector.emulator.transport.attempts import Answer, Attempt


class Recorded:
    """Delivers an attempt when its task is in the state file, and that it was dispatched.

    So a killed emulator has sent nothing of a task that it does not know when it starts again,
    which its creator, who had no answer, would then create a second time.
    """

    def __init__(self, inner: Deliver, file: StateFile) -> None:
        self._inner = inner
        self._file = file

    async def __call__(self, task: str, request: Attempt) -> Answer:
        """Send an attempt of a task and wait for its end."""
        await self._written()
        return await self._inner(task, request)

    async def _written(self) -> None:
        """Wait for the file, however long it cannot be written."""
        while True:
            with suppress(RpcError):
                await self._file.written()
                return
