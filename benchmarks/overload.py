"""What hedging and throttling do for a fan-out, and what they cost, over real calls.

    python benchmarks/overload.py

*Slow calls*: one call in a hundred takes 2 s, the others 20 ms. 200 fan-outs of 100 creates, two
at a time, with and without hedging after the live p95: how long a fan-out takes, and how many calls
there are for each create. Ten fan-outs before that do not count: tokens and p95 begin at nothing.

*Outage*: every call fails for ten minutes, before and after which the service is well. Counted
are the calls that reach the failing service for each create that is wanted meanwhile; retry
alone makes all its attempts. The clock runs 100 times as fast.
"""

import asyncio
import itertools
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import quantiles

from rows import Row, printed

from injector.clock import FastClock
from injector.delivery.address import Address
from injector.delivery.connection import Connection
from injector.delivery.creator import CallingCreator, Delivery, make_creator
from injector.delivery.ports import Create, Outcome, Result
from injector.emulator.rpc import Code, RpcError
from injector.emulator.transport.serve import serve
from injector.pacing.backoff import Backoff
from injector.pacing.hedge import HedgingSettings

QUEUE = "projects/p/locations/l/queues/q"
CHUNK = 100
SPEED = 100.0
BETWEEN_S = 0.02
LEARNING = 10


@dataclass
class Backend:
    """Answers every call, as slowly and as badly as it is told."""

    usual_s: float = 0.0
    slow_s: float = 0.0
    slow_share: float = 0.0
    failing: bool = False
    calls: int = 0
    refused: int = 0

    async def handle(self, *_: object) -> bytes:
        """Answer one call."""
        self.calls += 1
        if self.failing:
            self.refused += 1
            raise RpcError(Code.UNAVAILABLE, "down")
        slow = random.random() < self.slow_share
        await asyncio.sleep(self.slow_s if slow else self.usual_s)
        return b""


@contextmanager
def creator_for(backend: Backend, delivery: Delivery) -> Iterator[CallingCreator]:
    """Serve the backend on a thread and give a creator that calls it."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(
        serve(backend.handle, host="127.0.0.1", port=0), loop
    ).result()
    connection = Connection(Address(emulator_host=f"127.0.0.1:{server.port}", channels=4))
    yield make_creator(connection, delivery, clock=FastClock(SPEED, time.time()))
    connection.close()
    asyncio.run_coroutine_threadsafe(server.stop(grace_s=0.1), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def chunk(number: int) -> list[Create]:
    """Return the creates of one fan-out."""
    return [Create(QUEUE, f"{number:08x}-{n}", "http://t.test/") for n in range(CHUNK)]


def slow_calls(hedging: HedgingSettings | None, fan_outs: int = 200) -> tuple[float, float, float]:
    """Return the median and the 99th percentile of a fan-out, and the calls for each create."""
    backend = Backend(usual_s=0.02, slow_s=2.0, slow_share=0.01)
    with creator_for(backend, Delivery(mode="single", hedging=hedging)) as creator:
        for number in range(LEARNING):
            creator.create_all(chunk(number), budget_s=30)
        backend.calls = 0

        def fan_out(number: int) -> float:
            before = time.monotonic()
            creator.create_all(chunk(number), budget_s=30)
            return time.monotonic() - before

        with ThreadPoolExecutor(2) as pool:
            took = list(pool.map(fan_out, range(LEARNING, LEARNING + fan_outs)))
    share = quantiles(took, n=100)
    return share[49], share[98], backend.calls / (fan_outs * CHUNK)


def outage(delivery: Delivery) -> float:
    """Return how many calls met the failing service for each create wanted of it."""
    backend = Backend(usual_s=0.005)
    with creator_for(backend, delivery) as creator:
        numbers = itertools.count()

        def fan_out_for(minutes: float) -> list[Result]:
            ends = []
            until = time.monotonic() + 60 * minutes / SPEED
            while time.monotonic() < until:
                ends += creator.create_all(chunk(next(numbers)), budget_s=30)
                time.sleep(BETWEEN_S)
            return ends

        fan_out_for(minutes=2)
        backend.failing = True
        wanted = len(fan_out_for(minutes=10))
        backend.failing = False
        fan_out_for(minutes=4)
        recovered = fan_out_for(minutes=1)
    assert all(result.outcome is Outcome.CREATED for result in recovered), "it must recover"
    return backend.refused / wanted


def rows(*, full: bool) -> Iterator[Row]:
    """Measure fan-outs with and without hedging, then the outage."""
    fan_outs = 200 if full else 100
    half, most, calls = slow_calls(None, fan_outs)
    hedged = slow_calls(HedgingSettings(follow_p95=True), fan_outs)
    plain = "without hedging"
    yield Row("fan-out, 1 call in 100 slow, p50", hedged[0] * 1e3, "ms", plain, half * 1e3)
    yield Row("fan-out, 1 call in 100 slow, p99", hedged[1] * 1e3, "ms", plain, most * 1e3)
    yield Row("fan-out, 1 call in 100 slow, calls a create", hedged[2], "calls", plain, calls)
    backoff = Backoff(first_s=0.01)
    ours = outage(Delivery(mode="single", backoff=backoff))
    yield Row("outage, calls a create", ours, "calls", "retry alone", backoff.attempts)


if __name__ == "__main__":
    printed(rows(full=True))
