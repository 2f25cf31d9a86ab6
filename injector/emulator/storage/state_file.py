"""Writes the state behind the calls, and tells when a call's changes are written."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from injector.emulator.api.service import Service
from injector.emulator.storage import tables
from injector.emulator.storage.pending import Pending
from injector.emulator.storage.restoring import restore
from injector.errors import Misused

_IDLE_S = 0.05
"""How long changes that no call waits for, such as attempts' ends, may stay unwritten."""


class StateFile:
    """A SQLite file that holds the state, written in one transaction after the other.

    A call that changed something is answered once its changes are written (Durable), so that a
    killed emulator has lost nothing that it confirmed; calls that come meanwhile share the next
    transaction. An attempt whose end was not written is made again.
    """

    def __init__(self, path: Path, service: Service, pending: Pending) -> None:
        self._service = service
        self._pending = pending
        self._lock = tables.lock(path)
        try:
            self._connection = tables.connect(path)
        except Misused:
            os.close(self._lock)
            raise
        self._wanted = asyncio.Event()
        self._waiting: list[asyncio.Future[None]] = []

    def restore(self) -> None:
        """Bring the service to the state in the file."""
        restore(self._connection, self._service)
        self._pending.take(self._service, now=self._service.now())
        operations = self._service.operations
        operations.kept = self._pending.operation_kept
        operations.dropped = self._pending.operation_dropped

    @property
    def is_behind(self) -> bool:
        """Tell whether there is something to write."""
        return not self._pending.is_empty

    async def written(self) -> None:
        """Wait until everything up to now is written."""
        done = asyncio.get_running_loop().create_future()
        self._waiting.append(done)
        self._wanted.set()
        await done

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Write what changes, and at the end what is left; then close the file."""
        writer = asyncio.create_task(self._keep_writing())
        try:
            yield
        finally:
            writer.cancel()
            with suppress(asyncio.CancelledError):
                await writer
            self.close()

    def flush(self) -> None:
        """Write what has changed, and let those go on who wait for it."""
        changes = self._pending.take(self._service, now=self._service.now())
        tables.write(self._connection, changes)
        waiting, self._waiting = self._waiting, []
        for done in waiting:
            if not done.done():
                done.set_result(None)

    def close(self) -> None:
        """Write what is left, and close the file."""
        self.flush()
        self._connection.close()
        os.close(self._lock)

    async def _keep_writing(self) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wanted.wait(), _IDLE_S)
            self._wanted.clear()
            if self.is_behind or self._waiting:
                self.flush()
