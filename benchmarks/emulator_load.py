"""What load on an emulator is made of: requests, servers on a core of their own, and figures."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.request import urlopen

import grpc
from google.cloud import tasks_v2
from google.cloud.tasks_v2.services.cloud_tasks.transports import CloudTasksGrpcTransport
from processes import cpu_s

LOCATION = "projects/p/locations/l"
QUEUES = [f"{LOCATION}/queues/welcome-{number:04}" for number in range(64)]
SERVICE = "google.cloud.tasks.v2.CloudTasks"
EMULATOR = str(Path(__file__).with_name("emulator.py"))
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Figure:
    """A rate, and the CPU that one of what it counts took."""

    per_s: float
    cpu_us: float

    def __str__(self) -> str:
        """Show both."""
        return f"{self.per_s:,.0f}/s {self.cpu_us:.1f} µs"


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


@contextmanager
def process(*arguments: str, core: int) -> Iterator[tuple[int, int]]:
    """Run a server of the benchmark on one core; give its port and its process id."""
    command = [sys.executable, EMULATOR, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            if server.stdout is None or not (port := server.stdout.readline().strip()):
                raise SystemExit(f"{arguments} did not start")
            if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > core:
                os.sched_setaffinity(server.pid, {core})
            yield int(port), server.pid
        finally:
            server.terminate()


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


def fill(port: int, queues: Sequence[str], count: int, url: str) -> None:
    """Create so many tasks, in hundreds, in each queue in turn."""
    requests = [batch_request(queue, url) for queue in queues]
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        create = channel.unary_unary(f"/{SERVICE}/BatchCreateTasks")
        for number in range(count // 100):
            create(requests[number % len(requests)], timeout=20)


def served(target: int) -> int:
    """Ask the target how many requests it has answered."""
    with urlopen(f"http://127.0.0.1:{target}/count", timeout=20) as answer:
        return int(answer.read())


def pause_all(port: int) -> None:
    """Keep the queues from dispatching."""
    with google_client(port) as client:
        for queue in QUEUES:
            client.pause_queue(name=queue)


def resume_all(port: int, queues: Sequence[str]) -> None:
    """Let queues dispatch."""
    with google_client(port) as client:
        for queue in queues:
            client.resume_queue(name=queue)


@contextmanager
def google_client(port: int) -> Iterator[tasks_v2.CloudTasksClient]:
    """Give Google's client, connected to the emulator."""
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield tasks_v2.CloudTasksClient(transport=CloudTasksGrpcTransport(channel=channel))
