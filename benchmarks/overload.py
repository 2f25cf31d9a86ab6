"""What hedging and throttling do for a fan-out, and what they cost, over real calls.

    python benchmarks/overload.py

*Slow calls*: one call in a hundred takes 2 s, the others 20 ms; which, is drawn from a fixed seed.
Fan-outs of 100 creates, one after the other, so that none waits while another has the processor:
how long one takes with hedging after the live p95, and without, when six in ten meet a slow call;
and how many calls there are for each create. Twenty fan-outs before that do not count: tokens and
p95 begin at nothing. Then rounds of 200 with hedging and 20 without take turns, and the best round
of each counts: on a machine that stops for a moment all hundred calls look slow at once, which
takes all tokens, and says nothing of hedging.

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
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
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
LEARNING, HEDGED, PLAIN = 20, 200, 20


@dataclass
class Backend:
    """Answers every call, as slowly and as badly as it is told."""

    usual_s: float = 0.0
    slow_s: float = 0.0
    slow_share: float = 0.0
    failing: bool = False
    calls: int = 0
    refused: int = 0
    chance: random.Random = field(default_factory=lambda: random.Random(1))

    async def handle(self, *_: object) -> bytes:
        """Answer one call."""
        self.calls += 1
        if self.failing:
            self.refused += 1
            raise RpcError(Code.UNAVAILABLE, "down")
        slow = self.chance.random() < self.slow_share
        await asyncio.sleep(self.slow_s if slow else self.usual_s)
        return b""


@dataclass(frozen=True, slots=True)
class Took:
    """How long half of the fan-outs took at most, and 99 in a hundred."""

    p50_s: float
    p99_s: float


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


def slow_calls(rounds: int) -> tuple[Took, Took, float]:
    """Return how long a fan-out takes with hedging and without, and the former's calls a create."""
    backends = [Backend(usual_s=0.02, slow_s=2.0, slow_share=0.01) for _ in range(2)]
    deliveries = (
        Delivery(mode="single", hedging=HedgingSettings(follow_p95=True)),
        Delivery(mode="single"),
    )
    numbers = itertools.count()
    with ExitStack() as stack:
        hedged, plain = (
            stack.enter_context(creator_for(*each))
            for each in zip(backends, deliveries, strict=True)
        )
        for creator in (hedged, plain):
            fan_outs(creator, numbers, LEARNING)
        backends[0].calls = 0
        took = [
            (fan_outs(hedged, numbers, HEDGED), fan_outs(plain, numbers, PLAIN))
            for _ in range(rounds)
        ]
    best = [min(ends, key=lambda each: each.p99_s) for ends in zip(*took, strict=True)]
    return best[0], best[1], backends[0].calls / (rounds * HEDGED * CHUNK)


def fan_outs(creator: CallingCreator, numbers: Iterator[int], count: int) -> Took:
    """Create so many chunks, one after the other."""
    took = []
    for number in itertools.islice(numbers, count):
        before = time.monotonic()
        creator.create_all(chunk(number), budget_s=30)
        took.append(time.monotonic() - before)
    share = quantiles(took, n=100, method="inclusive")
    return Took(share[49], share[98])


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
    hedged, plain, calls = slow_calls(5 if full else 3)
    peer, what = "without hedging", "fan-out, 1 call in 100 slow"
    yield Row(f"{what}, p50", hedged.p50_s * 1e3, "ms", peer, plain.p50_s * 1e3)
    yield Row(f"{what}, p99", hedged.p99_s * 1e3, "ms", peer, plain.p99_s * 1e3)
    yield Row(f"{what}, calls a create", calls, "calls", peer, 1.0, aim="<= 1.1")
    backoff = Backoff(first_s=0.01)
    ours = outage(Delivery(mode="single", backoff=backoff))
    yield Row("outage, calls a create", ours, "calls", "retry alone", backoff.attempts)


if __name__ == "__main__":
    printed(rows(full=True))
