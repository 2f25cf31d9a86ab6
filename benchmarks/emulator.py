"""What the emulator takes, keeps and sends, and what that costs it.

Each transport serves in a process of its own, pinned to one core where the system can do that;
the load comes from the others. The peer is grpcio's own asyncio server under the same emulator,
and aiohttp for the dispatch client. CPU is the server process's own, from /proc. A ratio is
ours to the peer's in this run. Without h2load (Debian: nghttp2-client) its rows say so.
"""

import argparse
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import grpc
from dispatch_clients import compare_clients
from emulator_load import (
    QUEUES,
    SERVICE,
    Figure,
    batch_request,
    create_request,
    fill,
    google_client,
    measured,
    pause_all,
    process,
    resume_all,
    serve_target,
    served,
    task,
)
from google.cloud import tasks_v2
from google.cloud.tasks_v2.services.cloud_tasks.transports import CloudTasksGrpcTransport
from processes import resident_bytes
from rows import Row, printed

from injector.emulator.options import Options
from injector.emulator.server import running, spare_the_collector
from injector.emulator.state.dynamics import PRESETS
from injector.emulator.transport import event_loop

FASTEST = "{rateLimits: {maxDispatchesPerSecond: 500, maxConcurrentDispatches: 5000}}"
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
CREATED_IN_A_CROWD, SENT_OF_A_CROWD = 10_000, 1000
NO_H2LOAD = "needs h2load (Debian: nghttp2-client)"


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
    yield from compare_crowds(int(1_000_000 * scale))
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


def compare_crowds(most: int) -> Iterator[Row]:
    """Measure creates and dispatches while a thousand tasks wait, and while very many do."""
    with process("--serve", TRANSPORTS[0], core=0) as (port, pid), process("--target", core=1) as t:
        pause_all(port)
        few, many = (in_a_crowd(port, pid, t[0], waiting) for waiting in (1000, most))
    for what, figure in many.items():
        name = f"emulator, {what} while {most:,} wait, CPU for one"
        yield Row(name, figure.cpu_us, "µs", "while 1,000 wait", few[what].cpu_us)


def in_a_crowd(port: int, pid: int, target: int, waiting: int) -> dict[str, Figure]:
    """Create tasks in a queue that holds so many, then dispatch some; the best of three.

    One queue, whose 500 a second keep the dispatcher from starting more than are counted.
    """
    queue, url = QUEUES[4:5], f"http://127.0.0.1:{target}/w"
    fill(port, queue, waiting, url)

    def create() -> None:
        fill(port, queue, CREATED_IN_A_CROWD, url)

    def dispatch() -> None:
        wanted = served(target) + SENT_OF_A_CROWD
        resume_all(port, queue)
        while served(target) < wanted:
            time.sleep(0.05)
        pause_all(port)

    return {
        "task created by a batch": cheapest(pid, CREATED_IN_A_CROWD, create),
        "task dispatched": cheapest(pid, SENT_OF_A_CROWD, dispatch),
    }


def cheapest(pid: int, count: int, load: Callable[[], object]) -> Figure:
    """Measure three times, and return what took the least CPU: neighbours only add to it."""
    return min((measured(pid, count, load) for _ in range(3)), key=lambda figure: figure.cpu_us)


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
            resume_all(port, queues)
            while served(target) < count:
                time.sleep(0.05)

        return measured(pid, count, resume)


async def serve_emulator(transport: str) -> None:
    """Run an emulator, print its port, and go on until the process is ended."""
    queues = tuple(f"{queue}={FASTEST}" for queue in QUEUES)
    options = Options(port=0, transport=transport, queues=queues, dynamics=PRESETS["off"])
    async with running(options) as emulator:
        print(emulator.port, flush=True)
        await spare_the_collector()


if __name__ == "__main__":
    main()
