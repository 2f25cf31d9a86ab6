"""An emulator in real time beside the test, and a target that it calls."""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc
from google.cloud import tasks_v2
from google.cloud.tasks_v2.services.cloud_tasks.transports import CloudTasksGrpcTransport

from injector.emulator.options import Options
from injector.emulator.server import Running, running
from injector.emulator.state.dynamics import OFF
from tests.emulator.loop_thread import LoopThread
from tests.waiting import PATIENCE_S


@dataclass(frozen=True)
class Live:
    """An emulator at work, the real client that calls it, and its HTTP port."""

    client: tasks_v2.CloudTasksClient
    channel: grpc.Channel
    url: str
    running: Running


@contextmanager
def live_emulator(**options: object) -> Iterator[Live]:
    """Run an emulator on free ports, without dynamics unless asked for."""
    chosen = Options(**{"dynamics": OFF, "port": 0, "control_port": 0, **options})
    thread = LoopThread()
    context = running(chosen)
    emulator = thread.run(context.__aenter__())
    channel = grpc.insecure_channel(f"127.0.0.1:{emulator.port}")
    client = tasks_v2.CloudTasksClient(transport=CloudTasksGrpcTransport(channel=channel))
    try:
        yield Live(client, channel, f"http://127.0.0.1:{emulator.control_port}", emulator)
    finally:
        channel.close()
        thread.run(context.__aexit__(None, None, None))
        thread.close()


@dataclass(frozen=True)
class Seen:
    """A request that the target got."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]


@dataclass
class Target:
    """Answers with a script of statuses, then with 200; keeps what it saw.

    Nothing is answered before so many requests as are to be there `together` have come.
    """

    url: str = ""
    script: deque[int] = field(default_factory=deque)
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    together: int = 1
    seen: list[Seen] = field(default_factory=list)
    active: int = 0
    peak: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)

    def wait(self, count: int) -> list[Seen]:
        """Wait until so many requests were seen."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.seen) >= count, PATIENCE_S), self.seen
            return list(self.seen)


@contextmanager
def http_target() -> Iterator[Target]:
    """Serve a target on a free port."""
    target = Target()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            with target.changed:
                seen = Seen(self.command, self.path, list(self.headers.items()), body)
                target.seen.append(seen)
                target.active += 1
                target.peak = max(target.peak, target.active)
                status = target.script.popleft() if target.script else 200
                target.changed.notify_all()
                target.changed.wait_for(lambda: len(target.seen) >= target.together)
            time.sleep(target.delay_s)
            with target.changed:
                target.active -= 1
            self.send_response(status)
            for name, value in target.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = answer  # noqa: N815

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    target.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield target
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
