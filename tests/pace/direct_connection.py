"""The product's own delivery over an emulator in the same process, in virtual time.

Only gRPC is left out: messages are serialized, and every layer of delivery is the real one, on a
loop whose time leaps ahead whenever there is nothing to do but wait.
"""

import asyncio
import selectors
import threading

from injector.delivery.address import Address
from injector.delivery.channel import CallFailed
from injector.delivery.limited import Turns
from injector.delivery.ports import OUT_OF_TIME
from injector.emulator.rpc import Dropped, RpcError
from injector.pacing.limiter import call_timeout_s


class LeapingLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual seconds, counted from 0."""

    def __init__(self) -> None:
        self._leapt = 0.0
        super().__init__(_Leaping(self))

    def time(self) -> float:
        return self._leapt

    def leap(self, seconds: float) -> None:
        self._leapt += seconds


class _Leaping(selectors.DefaultSelector):
    """Never waits: it lets the loop leap instead."""

    def __init__(self, loop: LeapingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout=None):
        if timeout is None:
            raise RuntimeError("nothing would ever happen again")
        if timeout > 0:
            self._loop.leap(timeout)
        return super().select(0)


class DirectLine:
    """Calls an emulator's handle."""

    closed = False

    def __init__(self, handle, width: int) -> None:
        self._handle = handle
        self._now = asyncio.get_running_loop().time
        self.turns = Turns(width)
        self.sent = 0

    async def call(self, path, request, *, about, deadline, most_s):
        timeout_s = call_timeout_s(deadline - self._now(), most_s=most_s)
        if not timeout_s:
            raise CallFailed(OUT_OF_TIME, "the time for it was over before it was sent")
        self.sent += 1
        try:
            answer = self._handle(path, request, dict(about))
            if isinstance(answer, bytes):
                return answer
            async with asyncio.timeout(timeout_s):
                return await answer
        except RpcError as error:
            raise CallFailed(error.code.name, error.message) from error
        except Dropped as error:
            raise CallFailed("UNAVAILABLE", str(error)) from error
        except TimeoutError as error:
            raise CallFailed("DEADLINE_EXCEEDED", "Deadline Exceeded") from error


class DirectConnection:
    """Stands where `Connection` does; what is run on it takes virtual time of its loop."""

    def __init__(self, handle, *, width: int = 100) -> None:
        self.address = Address(emulator_host="127.0.0.1:1", streams=width)
        self.loop = LeapingLoop()
        self._turn = threading.Lock()
        self.line = self.loop.run_until_complete(_open(handle, width))

    def run(self, work):
        with self._turn:
            return self.loop.run_until_complete(work(self.line))

    def close(self) -> None:
        self.loop.close()

    @property
    def elapsed_s(self) -> float:
        """Return how much virtual time calls have taken so far."""
        return self.loop.time()


async def _open(handle, width: int) -> DirectLine:
    return DirectLine(handle, width)
