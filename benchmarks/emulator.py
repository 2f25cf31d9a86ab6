"""What the emulator takes, keeps and sends, and what that costs it.

Each transport serves in a process of its own, pinned to one core where the system can do that;
the load comes from the others. The peer is grpcio's own asyncio server under the same emulator,
and aiohttp for the dispatch client. CPU is the server process's own, from /proc. A ratio is
ours to the peer's in this run. Without h2load (Debian: nghttp2-client) its rows say so.
"""

import argparse
import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast
from urllib.request import urlopen

import aiohttp
import grpc
from google.cloud import tasks_v2
from google.cloud.tasks_v2.services.cloud_tasks.transports import CloudTasksGrpcTransport
from processes import cpu_s, resident_bytes
from rows import Row, printed

from injector.emulator.options import Options
from injector.emulator.server import running, spare_the_collector
from injector.emulator.state.dynamics import PRESETS
from injector.emulator.transport import event_loop
from injector.emulator.transport.attempts import Attempt
from injector.emulator.transport.dispatch_client import DispatchClient

LOCATION = "projects/p/locations/l"
QUEUES = [f"{LOCATION}/queues/welcome-{number:04}" for number in range(64)]
FASTEST = "{rateLimits: {maxDispatchesPerSecond: 500, maxConcurrentDispatches: 5000}}"
SERVICE = "google.cloud.tasks.v2.CloudTasks"
HEADERS = (
    ("content-type", "application/grpc"),
    ("te", "trailers"),
    ("user-agent", "grpc-c/58.0.0"),
    ("grpc-timeout", "20S"),
    ("x-goog-request-params", f"parent={QUEUES[0].replace('/', '%2F')}"),
)
TRANSPORTS = ("asyncio", "grpc.aio")
H2LOAD_CREATES = {f"create, h2load {c} x {s}": (c, s) for c, s in ((1, 32), (4, 32), (16, 10))}
H2LOAD_BATCH = "task of a batch of 100, h2load 4 x 8"
NO_H2LOAD = "needs h2load (Debian: nghttp2-client)"
OK_STATUS = 200
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Figure:
    """A rate, and the CPU that one of what it counts took."""

    per_s: float
    cpu_us: float

    def __str__(self) -> str:
        """Show both."""
        return f"{self.per_s:,.0f}/s {self.cpu_us:.1f} µs"


def main() -> None:
    """Measure both transports, then the dispatch client, and print the tables."""
    arguments = parse()
    if arguments.serve:
        event_loop.run(serve_emulator(arguments.serve))
    elif arguments.target:
        event_loop.run(serve_target())
    else:
        printed(rows_of(arguments.scale))


def rows(*, full: bool) -> Iterator[Row]:
    """Measure long enough for a figure to be quoted, or a tenth of it."""
    yield from rows_of(1.0 if full else 0.1)


def rows_of(scale: float) -> Iterator[Row]:
    """Measure both transports, then the dispatch client; the rate and the CPU of each load."""
    allowed = affinity()
    stay_off(core=0)
    yield from compare_transports(scale)
    yield from two_rows("dispatch client alone, 50 at once", "aiohttp", *compare_clients(scale))
    stay_on(allowed)


def two_rows(what: str, peer: str, ours: Figure, theirs: Figure) -> Iterator[Row]:
    """Make a row of the rates and one of the CPU times."""
    yield Row(what, ours.per_s, "/s", peer, theirs.per_s, better="more")
    yield Row(f"{what}, CPU for one", ours.cpu_us, "µs", peer, theirs.cpu_us)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="how long to measure")
    parser.add_argument("--serve", choices=TRANSPORTS, help=argparse.SUPPRESS)
    parser.add_argument("--target", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def stay_off(core: int) -> None:
    """Leave a core to the server, for this process and those it starts."""
    if hasattr(os, "sched_setaffinity") and (cores := os.sched_getaffinity(0) - {core}):
        os.sched_setaffinity(0, cores)


def affinity() -> set[int]:
    """Return the cores that this process may use; empty where the system does not say."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def stay_on(cores: set[int]) -> None:
    """Use these cores again."""
    if cores:
        os.sched_setaffinity(0, cores)


def compare_transports(scale: float) -> Iterator[Row]:
    """Measure the emulator over each transport."""
    (ours, ours_bytes), (peer, peer_bytes) = (measure_transport(t, scale) for t in TRANSPORTS)
    for name, figure in ours.items():
        if name in peer:
            yield from two_rows(f"emulator, {name}", "grpc.aio", figure, peer[name])
        else:
            yield Row(f"emulator, {name}", figure.per_s, "/s", better="more")
    for name in [name for name in (*H2LOAD_CREATES, H2LOAD_BATCH) if name not in ours]:
        yield Row(f"emulator, {name}", None, "/s", better="more", absent=NO_H2LOAD)
    yield Row("emulator, memory of a waiting task", ours_bytes, "bytes", "grpc.aio", peer_bytes)


def measure_transport(transport: str, scale: float) -> tuple[dict[str, Figure], float]:
    """Start an emulator and put every kind of load on it; also return the bytes of a task."""
    weight = scale if transport == TRANSPORTS[0] else scale / 5
    with process("--serve", transport, core=0) as (port, pid):
        pause_all(port)
        figures = {
            "create, grpcio in 8 threads": create_by_grpcio(port, pid, int(16_000 * weight)),
            "create, Google's client in 4 threads": create_by_google(port, pid, int(4000 * weight)),
        }
        if shutil.which("h2load"):
            figures |= figures_of_h2load(port, pid, weight)
        size = bytes_per_task(port, pid, int(300_000 * scale))
        if transport == TRANSPORTS[0]:
            figures["tasks dispatched"] = drain(port, pid, max(6000, int(30_000 * scale)))
    return figures, size


def figures_of_h2load(port: int, pid: int, weight: float) -> dict[str, Figure]:
    """Create tasks, one by one and by the hundred, with clients that cost little."""
    single, count = create_request(QUEUES[0]), int(100_000 * weight)
    figures = {
        name: by_h2load(port, pid, "CreateTask", single, count, connections, streams)
        for name, (connections, streams) in H2LOAD_CREATES.items()
    }
    batch, count = batch_request(QUEUES[1]), int(4000 * weight)
    figures[H2LOAD_BATCH] = by_h2load(port, pid, "BatchCreateTasks", batch, count, 4, 8, each=100)
    return figures


def task() -> tasks_v2.Task:
    """Return a task with 200 bytes of body."""
    request = tasks_v2.HttpRequest(
        url="http://worker.example/users/1234567/welcome",
        headers={"Content-Type": "application/json"},
        body=b"x" * 200,
    )
    return tasks_v2.Task(http_request=request)


def create_request(queue: str) -> bytes:
    """Return a serialized create of one task."""
    request = tasks_v2.CreateTaskRequest(parent=queue, task=task())
    return bytes(tasks_v2.CreateTaskRequest.serialize(request))


def batch_request(queue: str, url: str = "http://worker.example/w") -> bytes:
    """Return a serialized create of a hundred tasks."""
    one = task()
    one.http_request.url = url
    creates = [tasks_v2.CreateTaskRequest(parent=queue, task=one) for _ in range(100)]
    request = tasks_v2.BatchCreateTasksRequest(parent=queue, requests=creates)
    return bytes(tasks_v2.BatchCreateTasksRequest.serialize(request))


def measured(pid: int, count: int, load: Callable[[], object]) -> Figure:
    """Run a load of so many calls, and tell its rate and the server's CPU for one."""
    cpu, started = cpu_s(pid), time.perf_counter()
    load()
    spent = time.perf_counter() - started
    return Figure(count / spent, (cpu_s(pid) - cpu) / count * 1e6)


def create_by_grpcio(port: int, pid: int, count: int) -> Figure:
    """Create tasks with bare grpcio: the wire as real clients have it, at little cost to them."""
    request, threads = create_request(QUEUES[2]), 8

    def some(channel: grpc.Channel) -> None:
        create = channel.unary_unary(f"/{SERVICE}/CreateTask")
        for _ in range(count // threads):
            create(request, timeout=20, metadata=HEADERS[-1:])

    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        return measured(pid, count, lambda: in_threads(threads, lambda: some(channel)))


def create_by_google(port: int, pid: int, count: int) -> Figure:
    """Create tasks with google-cloud-tasks as it comes."""
    threads = 4

    def some(client: tasks_v2.CloudTasksClient) -> None:
        for _ in range(count // threads):
            client.create_task(parent=QUEUES[3], task=task())

    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        client = tasks_v2.CloudTasksClient(transport=CloudTasksGrpcTransport(channel=channel))
        return measured(pid, count, lambda: in_threads(threads, lambda: some(client)))


def in_threads(threads: int, work: Callable[[], None]) -> None:
    """Do the work so many times at once."""
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work) for _ in range(threads)]:
            done.result()


def by_h2load(  # noqa: PLR0913, PLR0917  # a load has that many sides
    port: int,
    pid: int,
    method: str,
    request: bytes,
    count: int,
    connections: int,
    streams: int,
    each: int = 1,
) -> Figure:
    """Call a method with nghttp2's load generator; `each` is how many tasks a call creates."""
    with tempfile.NamedTemporaryFile() as body:
        body.write(len(request).to_bytes(5, "big") + request)
        body.flush()
        command = ["h2load", f"-n{count}", f"-c{connections}", f"-m{streams}", f"-d{body.name}"]
        command += [part for key, value in HEADERS for part in ("-H", f"{key}: {value}")]
        command.append(f"http://127.0.0.1:{port}/{SERVICE}/{method}")
        return measured(pid, count * each, lambda: check_h2load(command, count))


def check_h2load(command: Sequence[str], count: int) -> None:
    """Run h2load; fail if a call failed."""
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    succeeded = re.search(r"(\d+) succeeded", said)
    if succeeded is None or int(succeeded[1]) != count:
        raise SystemExit(said)


def bytes_per_task(port: int, pid: int, count: int) -> float:
    """Return by how much the server's memory grows for each waiting task of 200 bytes."""
    before = resident_bytes(pid)
    fill(port, QUEUES[4:5], count, "http://worker.example/w")
    return (resident_bytes(pid) - before) / count


def drain(port: int, pid: int, count: int) -> Figure:
    """Dispatch tasks of 60 queues to a trivial target, from resuming them to the last."""
    queues = QUEUES[4:]
    with process("--target", core=1) as (target, _), google_client(port) as client:
        client.purge_queue(name=QUEUES[4])
        fill(port, queues, count, f"http://127.0.0.1:{target}/w")
        count = count // 100 // len(queues) * 100 * len(queues)

        def resume() -> None:
            for queue in queues:
                client.resume_queue(name=queue)
            while served(target) < count:
                time.sleep(0.05)

        return measured(pid, count, resume)


def served(target: int) -> int:
    """Ask the target how many requests it has answered."""
    with urlopen(f"http://127.0.0.1:{target}/count", timeout=20) as answer:
        return int(answer.read())


def fill(port: int, queues: Sequence[str], count: int, url: str) -> None:
    """Create so many tasks, in hundreds, in each queue in turn."""
    requests = [batch_request(queue, url) for queue in queues]
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        create = channel.unary_unary(f"/{SERVICE}/BatchCreateTasks")
        for number in range(count // 100):
            create(requests[number % len(requests)], timeout=20)


def pause_all(port: int) -> None:
    """Keep the queues from dispatching."""
    with google_client(port) as client:
        for queue in QUEUES:
            client.pause_queue(name=queue)


@contextmanager
def google_client(port: int) -> Iterator[tasks_v2.CloudTasksClient]:
    """Give Google's client, connected to the emulator."""
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield tasks_v2.CloudTasksClient(transport=CloudTasksGrpcTransport(channel=channel))


@contextmanager
def process(*arguments: str, core: int) -> Iterator[tuple[int, int]]:
    """Run a server of this file on one core; give its port and its process id."""
    command = [sys.executable, __file__, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            if server.stdout is None or not (port := server.stdout.readline().strip()):
                raise SystemExit(f"{arguments} did not start")
            if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > core:
                os.sched_setaffinity(server.pid, {core})
            yield int(port), server.pid
        finally:
            server.terminate()


async def serve_emulator(transport: str) -> None:
    """Run an emulator, print its port, and go on until the process is ended."""
    queues = tuple(f"{queue}={FASTEST}" for queue in QUEUES)
    options = Options(port=0, transport=transport, queues=queues, dynamics=PRESETS["off"])
    async with running(options) as emulator:
        print(emulator.port, flush=True)
        await spare_the_collector()


class Target(asyncio.Protocol):
    """Answers every POST with 200, and tells on GET how many there were."""

    posts = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to answer."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer at once; a request is taken to come in one piece."""
        if data.startswith(b"POST"):
            Target.posts += 1
            self._transport.write(OK)
        elif data.startswith(b"GET"):
            count = str(Target.posts).encode()
            self._transport.write(
                b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(count), count)
            )


async def serve_target() -> None:
    """Run the target, print its port, and go on until the process is ended."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Target, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


def compare_clients(scale: float) -> tuple[Figure, Figure]:
    """Send the same requests with the dispatch client and with aiohttp's."""
    count = int(20_000 * scale)
    with process("--target", core=1) as (port, _):
        url = f"http://127.0.0.1:{port}/w"
        ours = measured(os.getpid(), count, lambda: event_loop.run(send_by_ours(url, count)))
        peer = measured(os.getpid(), count, lambda: event_loop.run(send_by_aiohttp(url, count)))
    return ours, peer


TASK_HEADERS = (
    ("User-Agent", "Google-Cloud-Tasks"),
    ("Content-Type", "application/json"),
    ("X-CloudTasks-QueueName", "welcome-0000"),
    ("X-CloudTasks-TaskName", "12345678901234567890"),
    ("X-CloudTasks-TaskRetryCount", "0"),
    ("X-CloudTasks-TaskExecutionCount", "0"),
    ("X-CloudTasks-TaskETA", "1796000000.000000"),
)


async def send_by_ours(url: str, count: int) -> None:
    """Send requests with the dispatch client, 50 at once."""
    client = DispatchClient()

    async def some() -> None:
        for _ in range(count // 50):
            answer = await client.send(Attempt(url, headers=TASK_HEADERS, body=b"x" * 200))
            if answer.status != OK_STATUS:
                raise SystemExit(answer.reason)

    await asyncio.gather(*(some() for _ in range(50)))
    client.close()


async def send_by_aiohttp(url: str, count: int) -> None:
    """Send the same requests with aiohttp, 50 at once."""
    async with aiohttp.ClientSession(skip_auto_headers=("Accept", "Accept-Encoding")) as session:

        async def some() -> None:
            for _ in range(count // 50):
                async with session.post(url, headers=TASK_HEADERS, data=b"x" * 200) as answer:
                    await answer.read()

        await asyncio.gather(*(some() for _ in range(50)))


if __name__ == "__main__":
    main()
