"""The part of Cloud Storage's JSON API that gcsfs uses, in memory, on a port of this machine."""

import json
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

RESUMABLE = re.compile(r"bytes (\d+)-(\d+)/(\*|\d+)")


@dataclass
class Bucket:
    """Objects by name, each with its generation; uploads that are under way by their number.

    `withheld` are permissions that nobody has.
    """

    objects: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    uploads: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    reads: list[tuple[str, str]] = field(default_factory=list)
    withheld: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, name: str, content: bytes) -> dict[str, object]:
        with self.lock:
            generation = self.objects.get(name, (0, b""))[0] + 1
            self.objects[name] = (generation, content)
        return self.described(name)

    def described(self, name: str) -> dict[str, object]:
        generation, content = self.objects[name]
        return {
            "kind": "storage#object",
            "bucket": "bucket",
            "name": name,
            "size": str(len(content)),
            "generation": str(generation),
            "updated": "2026-11-30T12:00:00.000Z",
            "timeCreated": "2026-11-30T12:00:00.000Z",
        }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    bucket: Bucket

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        name = unquote(url.path.partition("/o/")[2])
        if name and query.get("alt") == "media":
            self._send_content(name)
        elif name:
            self._send_object(name)
        elif url.path.endswith("/iam/testPermissions"):
            asked = parse_qs(url.query)["permissions"]
            self._send(
                200, {"permissions": [each for each in asked if each not in self.bucket.withheld]}
            )
        elif url.path.endswith("/o"):
            self._send_list(query)
        else:
            self._send(200, {"kind": "storage#bucket", "name": "bucket"})

    def do_POST(self) -> None:
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if url.path.startswith("/batch"):
            self._delete_all(body)
        elif "upload_id" in query:
            self._take_part(query["upload_id"], body)
        elif query["uploadType"] == "resumable":
            self._begin(json.loads(body)["name"])
        else:
            _, described, content, _ = body.split(b"--==0==")
            name = json.loads(described.partition(b"\n\n")[2])["name"]
            self._send(200, self.bucket.put(name, content.partition(b"\n\n")[2][:-1]))

    def do_DELETE(self) -> None:
        found = self.bucket.objects.pop(unquote(urlsplit(self.path).path.partition("/o/")[2]), None)
        self._send(204 if found else 404, b"")

    def _begin(self, name: str) -> None:
        number = str(len(self.bucket.uploads))
        self.bucket.uploads[number] = (name, b"")
        host = self.headers["Host"]
        self._send(200, {}, Location=f"http://{host}/upload/storage/v1/b/x/o?upload_id={number}")

    def _take_part(self, number: str, part: bytes) -> None:
        name, before = self.bucket.uploads[number]
        span = RESUMABLE.fullmatch(self.headers["Content-Range"])
        self.bucket.uploads[number] = (name, before + part)
        if span and span[3] == "*":
            self._send(308, {}, Range=f"bytes=0-{len(before + part) - 1}")
        else:
            self._send(200, self.bucket.put(name, before + part))

    def _delete_all(self, body: bytes) -> None:
        answers = []
        for path in re.findall(rb"DELETE /storage/v1/b/[^/]+/o/(\S+) HTTP", body):
            found = self.bucket.objects.pop(unquote(path.decode().partition("?")[0]), None)
            answers.append(f"--b\n\nHTTP/1.1 {204 if found else 404} x\n")
        content = ("".join(answers) + "--b--").encode()
        self._send(200, content, **{"Content-Type": "multipart/mixed; boundary=b"})

    def _send_content(self, name: str) -> None:
        span = self.headers.get("Range")
        self.bucket.reads.append((name, span or "whole"))
        if name not in self.bucket.objects:
            self._send(404, {"error": {"code": 404, "message": "No such object"}})
            return
        content = self.bucket.objects[name][1]
        if span:
            first, last = re.findall(r"\d+", span)[0], re.findall(r"-(\d*)", span)[0]
            content = content[int(first) : int(last) + 1 if last else None]
        if span and not content:
            self._send(416, {"error": {"code": 416, "message": "range not satisfiable"}})
        else:
            self._send(206 if span else 200, content)

    def _send_object(self, name: str) -> None:
        if name in self.bucket.objects:
            self._send(200, self.bucket.described(name))
        else:
            self._send(404, {"error": {"code": 404, "message": "No such object"}})

    def _send_list(self, query: dict[str, str]) -> None:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter")
        items, prefixes = [], set()
        for name in sorted(self.bucket.objects):
            rest = name.removeprefix(prefix)
            if name.startswith(prefix) and delimiter and delimiter in rest:
                prefixes.add(prefix + rest.partition(delimiter)[0] + delimiter)
            elif name.startswith(prefix):
                items.append(self.bucket.described(name))
        self._send(200, {"items": items, "prefixes": sorted(prefixes)})

    def _send(self, status: int, body: object, **headers: str) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for key, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(content)


class Server(ThreadingHTTPServer):
    """A server to whom it is no news that a client has gone."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@contextmanager
def serving() -> Iterator[tuple[Bucket, str]]:
    """Serve one bucket; give it, and where it is."""
    bucket = Bucket()
    handler = type("BucketHandler", (Handler,), {"bucket": bucket})
    server = Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
    try:
        yield bucket, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
