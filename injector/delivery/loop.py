"""An asyncio loop on a thread of its own, for callers that are threads."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import TypeVar

from injector.errors import Retryable
from injector.event_loops import loops

T = TypeVar("T")

CLOSE_WITHIN_S = 5.0


class LoopThread:
    """A running loop; threads hand it coroutines."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop = loops.new_event_loop()
        self._closing = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="injector-delivery", daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[object, object, T]) -> Future[T]:
        """Start the coroutine on the loop; raises Retryable once that is closing."""
        with self._lock:
            if self._closing:
                work.close()
                raise Retryable("the connection was closed")
            return asyncio.run_coroutine_threadsafe(work, self.loop)

    def close(self) -> None:
        """Take no more work, cancel what still runs, stop the loop and wait for its thread."""
        with self._lock:
            self._closing = True
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(CLOSE_WITHIN_S)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.loop.run_until_complete(_cancel_all(self.loop))
            self.loop.close()


async def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    left = asyncio.all_tasks(loop) - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
