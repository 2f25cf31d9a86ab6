"""A relay before the service that does something at the very moment of a registration."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import requests


@dataclass(frozen=True)
class Relay:
    """Where the relay listens."""

    url: str


@contextmanager
def relay(
    service_url: str,
    *,
    before: Callable[[], object] = lambda: None,
    after: Callable[[], object] = lambda: None,
) -> Iterator[Relay]:
    """Hand requests on; a registration is handed on between `before` and `after`.

    One that `before` or `after` says True to is not handed on, or not answered.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.answer(requests.get(service_url + self.path, timeout=30))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if before():
                return self.hang_up()
            headers = {"Content-Type": self.headers["Content-Type"]}
            answer = requests.post(service_url + self.path, body, headers=headers, timeout=30)
            return self.hang_up() if after() else self.answer(answer)

        def answer(self, answer: requests.Response) -> None:
            self.send_response(answer.status_code)
            self.send_header("Content-Type", answer.headers["Content-Type"])
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def hang_up(self) -> None:
            self.close_connection = True

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield Relay(f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
