"""A target that keeps a tally: which records came, and which came more than once.

POST /airports/<id>   one task's request; answers 200
GET  /tally           {"received": N, "distinct": N, "doubled": [...first hundred]}
GET  /received        the ids, one a line

Run it with: python examples/target.py --port 8090
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import unquote


class Tally:
    """How often each id was received."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self._lock = Lock()

    def add(self, record: str) -> None:
        """Count one delivery."""
        with self._lock:
            self._seen[record] += 1

    def summary(self) -> dict[str, object]:
        """Return the counts, and the first hundred ids that came more than once."""
        with self._lock:
            doubled = sorted(record for record, times in self._seen.items() if times > 1)
            return {
                "received": self._seen.total(),
                "distinct": len(self._seen),
                "doubled": doubled[:100],
            }

    def ids(self) -> Iterator[str]:
        """Yield each id once, sorted."""
        with self._lock:
            yield from sorted(self._seen)


class TargetServer(ThreadingHTTPServer):
    """An HTTP server around a tally."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, address: tuple[str, int]) -> None:
        super().__init__(address, TargetHandler)
        self.tally = Tally()


class TargetHandler(BaseHTTPRequestHandler):
    """Counts POSTs and tells what was counted."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: TargetServer

    def do_POST(self) -> None:
        """Count the record that the last part of the path names."""
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.tally.add(unquote(self.path.rsplit("/", 1)[-1]))
        self._answer(b"")

    def do_GET(self) -> None:
        """Tell the tally, or every id."""
        if self.path == "/received":
            self._answer("\n".join(self.server.tally.ids()).encode())
        else:
            self._answer(json.dumps(self.server.tally.summary()).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the parent's name)
        """Say nothing: a line for each of thousands of tasks helps nobody."""

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8090)
    server = TargetServer(("127.0.0.1", parser.parse_args().port))
    print(f"target on http://127.0.0.1:{server.server_port}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print(json.dumps(server.tally.summary()))


if __name__ == "__main__":
    main()
