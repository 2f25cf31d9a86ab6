"""What a service in trouble has to bear: half of all creates fail for ten minutes.

    python benchmarks/outage.py

Both clients are offered the same records at the same times: a chunk of 100 every five seconds,
for two minutes before the outage, its ten minutes, and two minutes after it. Both call the same
emulator over gRPC, whose fault plan answers every second create UNAVAILABLE. *Ours* sends
through all layers of delivery; what it does not create comes back with its chunk as an injector
queue sends it again: after 1 to 60 s, for as long as it takes, and within the queue's rate, so
that a chunk that comes back delays a new one. *Plain retry* is `CloudTasksClient.create_task`
under tenacity in 32 threads, with exponential back-off and jitter, until the record is created.
Time stands still while a chunk is sent, and goes on from one to the next, so that no figure
depends on how fast this machine is.

Counted are the calls that reach the emulator while the fault is in force, for each record
offered in that time. That load is the less because records wait: the share that was created
meanwhile is shown beside it, and so are all calls of the run for each of its records, until the
last is created. With K = 2, the SRE book's usual factor, the throttle holds hardly anything back,
and what is less is due to the injector queue's rate. *Full rate* is when the last create was held
back, counted from the end of the outage. At the end every record has exactly one task.
"""

import asyncio
import heapq
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import grpc
from google.api_core.exceptions import ServiceUnavailable
from google.cloud import tasks_v2
from google.cloud.tasks_v2.services.cloud_tasks.transports import CloudTasksGrpcTransport
from rows import Row, printed
from tenacity import Retrying, retry_if_exception_type
from tenacity.wait import wait_random_exponential

from injector.delivery.address import Address
from injector.delivery.connection import Connection
from injector.delivery.creator import Delivery, make_creator
from injector.delivery.ports import Create, Outcome
from injector.emulator.assembly import assemble
from injector.emulator.faults.plan import Effect, Fault
from injector.emulator.options import Options
from injector.emulator.parts import Parts
from injector.emulator.startup import open_queues
from injector.emulator.state.limits import RetryConfig
from injector.emulator.state.retries import backoff_s
from injector.emulator.transport.serve import serve
from injector.pacing.backoff import Backoff
from injector.pacing.signals import THROTTLED
from injector.pacing.throttle import ThrottleSettings

CHUNK, EVERY_S = 100, 5.0
BEFORE_S, OUTAGE_S, AFTER_S = 120.0, 600.0, 120.0
QUEUES = tuple(f"projects/p/locations/us-central1/queues/q-{number}" for number in range(2))
FAULT = Fault("outage", Effect.ERROR, ("CreateTask",), rate=0.5)
REDELIVERED = RetryConfig(min_backoff_s=1.0, max_backoff_s=60.0, max_doublings=6)
"""As Terraform sets injector queues."""

FIRST_S, MOST_S = 0.001, 0.01
BUDGET_S = 45.0


@dataclass(frozen=True, slots=True, order=True)
class Chunk:
    """Creates to be sent at a time of the run, after so many failed deliveries."""

    at: float
    number: int
    failures: int = field(compare=False)
    creates: Sequence[Create] = field(compare=False)

    def again(self, left: Sequence[Create], *, now: float) -> "Chunk":
        """Return the chunk as the injector queue brings it back."""
        failures = self.failures + 1
        due = now + backoff_s(failures, retry=REDELIVERED)
        return Chunk(due, self.number, failures, left)


@dataclass
class Run:
    """What one client did; its clock is the one that the throttle forgets by."""

    parts: Parts
    at: float = 0.0
    held_back_at: float = 0.0
    calls: int = 0
    created_before: int = 0
    created: int = 0

    def now(self) -> float:
        """Return seconds since the run's start."""
        return self.at

    monotonic = now

    def sleep(self, seconds: float) -> None:
        """Let so many seconds pass."""
        self.at += seconds

    def begin(self) -> None:
        """Begin the outage."""
        self.created_before = self.tasks()
        self.parts.plan.set([FAULT])

    def end(self) -> None:
        """End the outage, and count what met it."""
        self.calls = self.parts.plan.counts()[0][1]
        self.parts.plan.set([])
        self.created = self.tasks() - self.created_before

    def tasks(self) -> int:
        """Return how many tasks there are."""
        return sum(queue.depth for queue in self.parts.service.registry.queues.values())

    def all_calls(self) -> int:
        """Return how many creates have reached the emulator."""
        self.parts.metrics.gather(now=self.parts.clock.now())
        totals = self.parts.metrics.calls.totals()
        return sum(count for key, count in totals.items() if key[0].endswith(".CreateTask"))


Deliver = Callable[[Chunk], Sequence[Create]]
"""Sends a chunk, and returns what is to be sent again."""


def offered() -> list[Chunk]:
    """Return all chunks of a run, in a heap."""
    total = int((BEFORE_S + OUTAGE_S + AFTER_S) / EVERY_S)
    return [Chunk(number * EVERY_S, number, 0, _creates(number)) for number in range(total)]


def _creates(number: int) -> list[Create]:
    return [
        Create(QUEUES[n % len(QUEUES)], f"{number:08x}-{n}", "http://t.test/") for n in range(CHUNK)
    ]


def play(run: Run, deliver: Deliver) -> None:
    """Send the chunks as they fall due, one in each interval, with the outage in between."""
    due = offered()
    events = [(BEFORE_S, run.begin), (BEFORE_S + OUTAGE_S, run.end)]
    while due:
        while events and run.at >= events[0][0]:
            events.pop(0)[1]()
        if due[0].at <= run.at:
            chunk = heapq.heappop(due)
            if left := deliver(chunk):
                heapq.heappush(due, chunk.again(left, now=run.at))
        run.at += EVERY_S


@contextmanager
def emulator() -> Iterator[tuple[Parts, str]]:
    """Serve an emulator whose queues stand still, on a thread."""
    options = Options(queues=QUEUES)
    parts = assemble(options)
    open_queues(parts.service, options)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(
        serve(parts.handle, host="127.0.0.1", port=0), loop
    ).result()
    yield parts, f"127.0.0.1:{server.port}"
    asyncio.run_coroutine_threadsafe(server.stop(grace_s=0.1), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def ours(throttle: ThrottleSettings) -> Run:
    """Play the run with all layers of delivery."""
    with emulator() as (parts, address):
        backoff = Backoff(first_s=FIRST_S, most_s=MOST_S)
        delivery = Delivery(mode="single", backoff=backoff, throttle=throttle)
        connection = Connection(Address(emulator_host=address))
        run = Run(parts)
        creator = make_creator(connection, delivery, clock=run)

        def deliver(chunk: Chunk) -> list[Create]:
            results = creator.create_all(chunk.creates, budget_s=BUDGET_S)
            if any(result.code == THROTTLED for result in results):
                run.held_back_at = run.now()
            ends = zip(chunk.creates, results, strict=True)
            return [create for create, end in ends if end.outcome is Outcome.NOT_TAKEN]

        play(run, deliver)
        connection.close()
    return _checked(run)


def plain() -> Run:
    """Play the run with the client library under tenacity."""
    with emulator() as (parts, address), ThreadPoolExecutor(32) as pool:
        channel = grpc.insecure_channel(address)
        client = tasks_v2.CloudTasksClient(transport=CloudTasksGrpcTransport(channel=channel))

        def deliver(chunk: Chunk) -> Sequence[Create]:
            list(pool.map(partial(_persist, client), chunk.creates))
            return ()

        run = Run(parts)
        play(run, deliver)
        channel.close()
    return _checked(run)


def _persist(client: tasks_v2.CloudTasksClient, create: Create) -> None:
    """Create the task as a newcomer does."""
    retrying = Retrying(
        wait=wait_random_exponential(multiplier=FIRST_S, max=MOST_S),
        retry=retry_if_exception_type(ServiceUnavailable),
    )
    name = f"{create.queue}/tasks/{create.task_id}"
    task = {"name": name, "http_request": {"url": create.url}}
    retrying(client.create_task, parent=create.queue, task=task)


def _checked(run: Run) -> Run:
    assert run.tasks() == CHUNK * len(offered()), "every record has one task"
    return run


def rows(*, full: bool) -> Iterator[Row]:
    """Measure both, and ours as it would be with other factors of the SRE book's rule."""
    in_outage = OUTAGE_S / EVERY_S * CHUNK
    in_all = CHUNK * len(offered())
    peer, best = plain(), ThrottleSettings()
    load = peer.calls / in_outage
    run = ours(best)
    what = "half of creates fail for 10 min"
    yield Row(
        f"{what}, calls a record", run.calls / in_outage, "calls", "plain retry", load, aim=">= 3x"
    )
    created, created_by_peer = 100 * run.created / in_outage, 100 * peer.created / in_outage
    yield Row(f"{what}, created meanwhile", created, "%", "plain retry", created_by_peer, "more")
    calls, calls_of_peer = run.all_calls() / in_all, peer.all_calls() / in_all
    yield Row(f"{what}, calls a record in all", calls, "calls", "plain retry", calls_of_peer)
    yield Row(f"{what}, full rate after", run.held_back_at - BEFORE_S - OUTAGE_S, "s")
    for k in (1.1, 2.0) if full else (2.0,):
        other = ours(ThrottleSettings(k=k))
        yield Row(
            f"{what}, calls a record, K = {k:g}",
            other.calls / in_outage,
            "calls",
            "plain retry",
            load,
        )


if __name__ == "__main__":
    printed(rows(full=True))
