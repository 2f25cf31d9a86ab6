"""A target that keeps a tally: what came, and what came more than once.

    python -m injector.local.target PORT [LOG [PUBSUB SUBSCRIPTION…]]

POST /…          one task's request; its path, but for the first /, names the record; answers 200
GET /tally       {"received": N, "distinct": N, "doubled": [the first hundred]}
GET /deliveries  {record: how often it came}

A message of one of the subscriptions counts as well, under its `injector-id`; PUBSUB is the
address of Pub/Sub's emulator.

In LOG each delivery is a line, written before it is answered: the record as in the path, the
task, its retries so far, and when it was due. A target that is started again reads there what
came before.
"""

import json
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from urllib.parse import quote, unquote, urlsplit

from injector.delivery.subscriber import received
from injector.publish_wire import ID_ATTRIBUTE

_TOLD = ("X-CloudTasks-TaskName", "X-CloudTasks-TaskRetryCount", "X-CloudTasks-TaskETA")


class Tally:
    """How often each record was received; safe to use from several threads."""

    def __init__(self, log: Path | None = None) -> None:
        self._seen = Counter(_records(log) if log and log.exists() else ())
        self._log = log.open("ab", buffering=0) if log else None
        self._lock = Lock()

    def add(self, record: str, *attempt: str) -> None:
        """Count one delivery; what is told of its attempt goes into the log."""
        line = "\t".join((quote(record, safe=""), *attempt)) + "\n"
        with self._lock:
            self._seen[record] += 1
            if self._log:
                self._log.write(line.encode())

    def summary(self) -> dict[str, object]:
        """Return the counts, and the first hundred records that came more than once."""
        with self._lock:
            doubled = sorted(record for record, times in self._seen.items() if times > 1)
            return {
                "received": self._seen.total(),
                "distinct": len(self._seen),
                "doubled": doubled[:100],
            }

    def deliveries(self) -> dict[str, int]:
        """Return how often each record came."""
        with self._lock:
            return dict(self._seen)

    def close(self) -> None:
        """Close the log."""
        if self._log:
            self._log.close()


class TargetServer(ThreadingHTTPServer):
    """An HTTP server around a tally."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, port: int, log: Path | None = None) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.tally = Tally(log)

    def server_close(self) -> None:
        """Close the socket and the log."""
        super().server_close()
        self.tally.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: TargetServer

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        record = unquote(urlsplit(self.path).path.removeprefix("/"))
        self.server.tally.add(record, *(self.headers.get(name, "") for name in _TOLD))
        self._answer(b"")

    def do_GET(self) -> None:
        tally = self.server.tally
        shown = tally.deliveries() if self.path == "/deliveries" else tally.summary()
        self._answer(json.dumps(shown).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the parent's name)
        """Say nothing: a line for each of thousands of tasks helps nobody."""

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _records(log: Path) -> list[str]:
    return [unquote(line.partition("\t")[0]) for line in log.read_text().splitlines()]


def main(port: str, log: str = "", host: str = "", *subscriptions: str) -> None:
    """Take what comes until the process is ended."""
    server = TargetServer(int(port), Path(log) if log else None)
    with ExitStack() as stack:
        for subscription in subscriptions:
            add = partial(_add_message, server.tally, subscription)
            stack.enter_context(received(subscription, host, add))
        server.serve_forever()


def _add_message(tally: Tally, subscription: str, attributes: Mapping[str, str]) -> None:
    tally.add(attributes.get(ID_ATTRIBUTE, ""), subscription)


if __name__ == "__main__":
    main(*sys.argv[1:])
