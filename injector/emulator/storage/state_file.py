"""Writes the state behind the calls, and tells when a call's changes are written."""

import asyncio
import logging
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from injector.emulator.api.service import Service
from injector.emulator.rpc import Code, RpcError
from injector.emulator.storage import tables
from injector.emulator.storage.pending import Pending
from injector.emulator.storage.restoring import restore
from injector.errors import Misused, Retryable

_log = logging.getLogger(__name__)
_AGAIN_S = 0.5
"""Between two tries to write to a disk that is full or broken."""
_IDLE_S = 0.05
"""How long changes that no call waits for, such as attempts' ends, may stay unwritten."""


class StateFile:
    """A SQLite file that holds the state, written in one transaction after the other.

    A call that changed something is answered once its changes are written (Durable), so that a
    killed emulator has lost nothing that it confirmed; calls that come meanwhile share the next
    transaction. An attempt whose end was not written is made again. While the file cannot be
    written, changes are kept and tried again, and calls that make more are answered UNAVAILABLE.
    """

    def __init__(self, path: Path, service: Service, pending: Pending) -> None:
        self._path = path
        self._service = service
        self._pending = pending
        self._unwritten: tables.Changes | None = None
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
        self._service.policy_changed = self._pending.policy_changed
        self._service.key_changed = self._pending.key_changed

    @property
    def is_behind(self) -> bool:
        """Tell whether there is something to write."""
        return not self._pending.is_empty or self._unwritten is not None

    async def written(self) -> None:
        """Wait until everything up to now is written; raises RpcError if it cannot be."""
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
        """Write what has changed, and let those go on who wait for it; raises RpcError if not."""
        waiting, self._waiting = self._waiting, []
        try:
            self._write()
        except sqlite3.Error as error:
            failed = RpcError(Code.UNAVAILABLE, f"{self._path}: cannot be written ({error}).")
            for done in waiting:
                if not done.done():
                    done.set_exception(failed)
            raise failed from error
        for done in waiting:
            if not done.done():
                done.set_result(None)

    def _write(self) -> None:
        """Write what could not be written before, then what has come since."""
        if self._unwritten is not None:
            tables.write(self._connection, self._unwritten)
            self._unwritten = None
            _log.warning("state_file.recovered path=%s", self._path)
        changes = self._pending.take(self._service, now=self._service.now())
        try:
            tables.write(self._connection, changes)
        except sqlite3.Error as error:
            self._unwritten = changes
            _log.error("state_file.unwritten path=%s reason=%s", self._path, error)
            raise

    def close(self) -> None:
        """Write what is left, and close the file; raises Retryable if that cannot be written."""
        try:
            self.flush()
        except RpcError as error:
            raise Retryable(f"{error} The changes since then are lost.") from error
        finally:
            self._connection.close()
            os.close(self._lock)

    async def _keep_writing(self) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wanted.wait(), _IDLE_S)
            self._wanted.clear()
            if self.is_behind or self._waiting:
                try:
                    self.flush()
                except RpcError:
                    await asyncio.sleep(_AGAIN_S)
