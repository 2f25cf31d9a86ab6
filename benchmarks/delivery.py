"""What a client spends on each create: the ways a newcomer would take, ours, and the limit.

    python benchmarks/delivery.py [--rounds 3]

Every way runs in a process of its own against the same server on this machine, which answers at
once and spends 4 µs on a call. Counted is the client's CPU time, user and system, of all its
threads, from the first create to the last answer; imports and connecting are not in it. What
was imported is frozen out of the garbage collector's sight, for all alike, as in the service.
Rounds take turns over all ways, and the best of each is shown, since whatever else runs here
only ever adds. The last two do less: they send the same bytes without any of our layers, by gRPC,
and from C++ by h2load (Debian's nghttp2-client); without that its row says so. Then some of the
ways before a server as far away as the service is, whose every answer takes 20 to 60 ms: a client
then wakes for a few answers at a time, which costs it more.
"""

import argparse
import asyncio
import gc
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import grpc
from google.cloud import tasks_v2
from google.cloud.tasks_v2.services.cloud_tasks.transports import (
    CloudTasksGrpcAsyncIOTransport,
    CloudTasksGrpcTransport,
)
from google.cloud.tasks_v2.types import BatchCreateTasksMetadata, BatchCreateTasksResponse, Task
from google.longrunning.operations_pb2 import Operation
from rows import Row, printed

from injector.delivery.address import Address
from injector.delivery.cloud_tasks import CREATE_TASK, Requests, routing
from injector.delivery.connection import Connection
from injector.delivery.creator import Delivery, make_creator
from injector.delivery.ports import Create, Outcome, TaskTemplate, Token
from injector.emulator.transport.serve import serve
from injector.event_loops import loops
from injector.pacing.hedge import HedgingSettings
from injector.wire import create_task_request

CHUNK = 100
QUEUE = "projects/my-project/locations/europe-west1/queues/welcome-0001"
BODY = b'{"user_id": 12345, "name": "A. Person", "email": "a.person@mail.example", "plan": 3}'
TEMPLATE = TaskTemplate(
    headers=(("Content-Type", "application/json"), ("X-Campaign", "welcome")),
    token=Token("oidc", "s@my-project.iam.gserviceaccount.com", "https://worker.example"),
    dispatch_deadline_s=600,
)


def create(number: int) -> Create:
    """Return one of a job's creates."""
    name = f"{number:032x}-{number}"
    return Create(QUEUE, name, f"https://worker.example/users/{number}", BODY, (), None, TEMPLATE)


def request(number: int) -> tasks_v2.CreateTaskRequest:
    """Return the same create as a newcomer writes it."""
    task = {
        "name": f"{QUEUE}/tasks/{number:032x}-{number}",
        "http_request": {
            "url": f"https://worker.example/users/{number}",
            "http_method": tasks_v2.HttpMethod.POST,
            "headers": dict(TEMPLATE.headers),
            "body": BODY,
            "oidc_token": {
                "service_account_email": "s@my-project.iam.gserviceaccount.com",
                "audience": "https://worker.example",
            },
        },
        "dispatch_deadline": {"seconds": 600},
    }
    return tasks_v2.CreateTaskRequest({"parent": QUEUE, "task": task})


def loop(address: str, count: int) -> float:
    """`CloudTasksClient.create_task`, one after the other."""
    channel = grpc.insecure_channel(address)
    client = tasks_v2.CloudTasksClient(transport=CloudTasksGrpcTransport(channel=channel))
    client.create_task(request(0))
    return cpu_of(lambda: [client.create_task(request(n)) for n in range(count)])


def threads(address: str, count: int) -> float:
    """Call the same from a pool of 32 threads."""
    channel = grpc.insecure_channel(address)
    client = tasks_v2.CloudTasksClient(transport=CloudTasksGrpcTransport(channel=channel))
    client.create_task(request(0))
    with ThreadPoolExecutor(32) as pool:
        return cpu_of(
            lambda: list(pool.map(lambda n: client.create_task(request(n)), range(count)))
        )


def asynchronous(address: str, count: int) -> float:
    """`CloudTasksAsyncClient.create_task`, a hundred at a time."""

    async def run() -> float:
        channel = grpc.aio.insecure_channel(address)
        transport = CloudTasksGrpcAsyncIOTransport(channel=channel)
        client = tasks_v2.CloudTasksAsyncClient(transport=transport)
        await client.create_task(request(0))
        before = time.process_time()
        for start in range(0, count, CHUNK):
            numbers = range(start, start + CHUNK)
            await asyncio.gather(*(client.create_task(request(number)) for number in numbers))
        return time.process_time() - before

    return asyncio.run(run())


def raw(address: str, count: int) -> float:
    """Send our bytes over a bare channel of grpc.aio, a hundred at a time.

    The requests are serialized as ours are; nothing judges, counts, limits or retries.
    """

    async def run() -> float:
        invoke = grpc.aio.insecure_channel(address).unary_unary(CREATE_TASK)
        requests, about = Requests(), grpc.aio.Metadata(*routing("parent", QUEUE))
        await invoke(requests.of(create(0)), timeout=20, metadata=about)

        async def send(number: int) -> None:
            await invoke(requests.of(create(number)), timeout=20, metadata=about)

        before = time.process_time()
        for start in range(0, count, CHUNK):
            await asyncio.gather(*map(send, range(start, start + CHUNK)))
        return time.process_time() - before

    with asyncio.Runner(loop_factory=loops.new_event_loop) as runner:
        return runner.run(run())


def ours(address: str, count: int, *, delivery: Delivery, by_grpc: bool = False) -> float:
    """Create chunk by chunk through all layers, as a fan-out does."""
    connection = Connection(Address(emulator_host=address, by_grpc=by_grpc))
    creator = make_creator(connection, delivery)
    chunks = [[create(start + n) for n in range(CHUNK)] for start in range(0, count, CHUNK)]
    creator.create_all(chunks[0], budget_s=30)

    def fan_out(chunk: list[Create]) -> bool:
        results = creator.create_all(chunk, budget_s=30)
        creator.drain_signals()
        return all(result.outcome is Outcome.CREATED for result in results)

    before = time.process_time()
    assert all(fan_out(chunk) for chunk in chunks)
    spent = time.process_time() - before
    connection.close()
    return spent


def h2load(address: str, count: int) -> float:
    """Send the same bytes with h2load, and count its own time."""
    message = create_task_request(create(1))
    with tempfile.NamedTemporaryFile() as body:
        body.write(b"\0" + len(message).to_bytes(4, "big") + message)
        body.flush()
        command = [
            *("h2load", f"--requests={count}", "--clients=1", "--max-concurrent-streams=100"),
            *("--header=content-type: application/grpc", "--header=te: trailers"),
            *(f"--data={body.name}", f"http://{address}{CREATE_TASK}"),
        ]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert f"{count} succeeded" in done.stdout, done.stdout
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


FAR_S = 0.02, 0.06
FAR = ("CloudTasksAsyncClient", "grpc.aio, bytes only", "injector, single creates")
AIMS = {
    "injector, single creates": "≤ 75 µs, 3.5x",
    "injector, batches of 100": "≤ 10 µs, 25x",
}
SINGLE = Delivery(mode="single")
NEWCOMER = "CloudTasksClient, in a loop"
WAYS: dict[str, tuple[Callable[[str, int], float], int]] = {
    NEWCOMER: (loop, 2_000),
    "CloudTasksClient, 32 threads": (threads, 2_000),
    "CloudTasksAsyncClient": (asynchronous, 3_000),
    "injector, single creates": (partial(ours, delivery=SINGLE), 10_000),
    "injector, single and hedged": (
        partial(ours, delivery=replace(SINGLE, hedging=HedgingSettings())),
        10_000,
    ),
    "injector, single by gRPC": (partial(ours, delivery=SINGLE, by_grpc=True), 10_000),
    "injector, batches of 100": (partial(ours, delivery=Delivery(mode="batch")), 100_000),
    "grpc.aio, bytes only": (raw, 10_000),
    "h2load, bytes only": (h2load, 100_000),
}


def cpu_of(work: Callable[[], object]) -> float:
    """Return the CPU seconds of this process that the work took."""
    before = time.process_time()
    work()
    return time.process_time() - before


async def late(answer: bytes) -> bytes:
    """Answer as late as from afar."""
    await asyncio.sleep(random.uniform(*FAR_S))
    return answer


async def answer(*, far: bool) -> None:
    """Serve, and print the port."""
    task = Task(request(1).task)
    tasks = BatchCreateTasksResponse(tasks=[task] * CHUNK)
    operation = Operation(name="projects/p/locations/l/operations/o", done=True)
    operation.metadata.value = BatchCreateTasksMetadata.serialize(BatchCreateTasksMetadata(state=2))
    operation.response.value = BatchCreateTasksResponse.serialize(tasks)
    answers = {True: Task.serialize(task), False: operation.SerializeToString()}

    def handle(method: str, _message: bytes, _metadata: object) -> bytes | Awaitable[bytes]:
        ready = answers[method == CREATE_TASK]
        return late(ready) if far else ready

    server = await serve(handle, host="127.0.0.1", port=0)
    print(server.port, flush=True)
    await asyncio.Event().wait()


@contextmanager
def server(*, far: bool = False) -> Iterator[str]:
    """Run the server, near or far, in a process of its own, and give its address."""
    command = [sys.executable, __file__, "--answer", "far" if far else "near"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield f"127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.terminate()


def measure(way: str, address: str) -> float:
    """Run a way in a process of its own, and return its CPU seconds for one create."""
    command = [sys.executable, __file__, "--way", way, "--address", address]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout) / WAYS[way][1]


def rows(*, full: bool) -> Iterator[Row]:
    """Measure every way in turn, once or as often as for a figure to be quoted."""
    yield from rows_of(3 if full else 1)


def rows_of(rounds: int) -> Iterator[Row]:
    """Measure every way in turn, and put the best of each beside the newcomer's loop."""
    ways = [way for way in WAYS if not way.startswith("h2load") or shutil.which("h2load")]
    best = best_of(rounds, ways, far=False)
    for way in WAYS:
        name, aim = f"client CPU a create: {way}", AIMS.get(way, "")
        if way not in best:
            yield Row(name, None, "µs", absent="needs h2load")
            continue
        peer = "" if way == NEWCOMER else NEWCOMER
        yield Row(name, best[way], "µs", peer, best[NEWCOMER], aim=aim)
    best = best_of(rounds, FAR, far=True)
    first = FAR[0]
    for way in FAR:
        name, peer = f"client CPU a create at 20 to 60 ms: {way}", "" if way == first else first
        yield Row(name, best[way], "µs", peer, best[first])


def best_of(rounds: int, ways: Sequence[str], *, far: bool) -> dict[str, float]:
    """Measure the ways in turn; return the least microseconds for one create that each took."""
    best = dict.fromkeys(ways, float("inf"))
    with server(far=far) as address:
        for _ in range(rounds):
            for way in ways:
                best[way] = min(best[way], measure(way, address) * 1e6)
    return best


def main() -> None:
    """Read what to do."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="how often each way is measured")
    parser.add_argument("--answer", choices=("near", "far"), help=argparse.SUPPRESS)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--address", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.answer:
        asyncio.run(answer(far=asked.answer == "far"))
    elif asked.way:
        run, count = WAYS[asked.way]
        gc.collect()
        gc.freeze()
        print(run(asked.address, count))
    else:
        printed(rows_of(asked.rounds))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main()
