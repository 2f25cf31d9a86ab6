"""An event loop beside the test, for servers that blocking clients are to call."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from injector.emulator.rpc import Converse, Handle
from injector.emulator.transport.ports import Tls
from injector.emulator.transport.serve import serve
from tests.waiting import PATIENCE_S

Result = TypeVar("Result")
NewEventLoop = Callable[[], asyncio.AbstractEventLoop]


class LoopThread:
    """Runs coroutines in another thread's event loop."""

    def __init__(self, new_event_loop: NewEventLoop = asyncio.new_event_loop) -> None:
        self._loop = new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE_S)

    def close(self) -> None:
        self.run(self._loop.shutdown_asyncgens())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@contextmanager
def loop_thread(new_event_loop: NewEventLoop = asyncio.new_event_loop) -> Iterator[LoopThread]:
    thread = LoopThread(new_event_loop)
    try:
        yield thread
    finally:
        thread.close()


@contextmanager
def serving(
    handle: Handle,
    *,
    transport: str = "asyncio",
    new_event_loop: NewEventLoop = asyncio.new_event_loop,
    port: int = 0,
    tls: Tls | None = None,
    streams: Mapping[str, Converse] | None = None,
) -> Iterator[int]:
    """Serve gRPC calls by `handle`, and give the port."""
    with loop_thread(new_event_loop) as thread:
        server = thread.run(
            serve(
                handle,
                host="127.0.0.1",
                port=port,
                tls=tls,
                transport=transport,
                streams=streams,
            ),
        )
        try:
            yield server.port
        finally:
            thread.run(server.stop(grace_s=0.2))
