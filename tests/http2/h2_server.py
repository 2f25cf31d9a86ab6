"""A strict HTTP/2 server in memory, by the library h2, that answers as a test tells it."""

from collections.abc import Callable, Sequence

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    DataReceived,
    Event,
    RequestReceived,
    SettingsAcknowledged,
    StreamEnded,
    StreamReset,
)
from h2.settings import SettingCodes

from injector.http2.answers import Answer
from injector.http2.client_session import ClientSession
from injector.http2.heads import HeadWriter

OK = (("grpc-status", "0"),)
HEADERS = ((":status", "200"), ("content-type", "application/grpc"))
PATH = "/test.Service/Method"


class H2Server:
    """Answers every whole request by `answer`; h2 raises where the client breaks the protocol."""

    def __init__(self, answer: "Callable[[H2Server, int, bytes], None] | None" = None) -> None:
        self.connection = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        self.connection.initiate_connection()
        self.answer = answer or (lambda server, stream, body: server.echo(stream, body))
        self.heads: dict[int, dict[str, str]] = {}
        self.bodies: dict[int, bytes] = {}
        self.reset: list[int] = []
        self.most_open = 0
        self.acknowledged = 0

    def limit(self, **settings: int) -> None:
        """Announce settings, by h2's names for them."""
        self.connection.update_settings(
            {SettingCodes[name]: value for name, value in settings.items()}
        )

    def receive(self, data: bytes) -> None:
        for event in self.connection.receive_data(data):
            self._take(event)

    def _take(self, event: Event) -> None:
        if isinstance(event, RequestReceived):
            self.heads[event.stream_id] = dict(event.headers)
            self.bodies[event.stream_id] = b""
            self.most_open = max(self.most_open, self.connection.open_inbound_streams)
        elif isinstance(event, DataReceived):
            self.bodies[event.stream_id] += event.data
            size = event.flow_controlled_length
            if size:
                self.connection.acknowledge_received_data(size, event.stream_id)
        elif isinstance(event, SettingsAcknowledged):
            self.acknowledged += 1
        elif isinstance(event, StreamEnded):
            self.answer(self, event.stream_id, self.bodies[event.stream_id])
        elif isinstance(event, StreamReset):
            self.reset.append(event.stream_id)

    def echo(self, stream: int, body: bytes, trailers: Sequence[tuple[str, str]] = OK) -> None:
        """Answer with the request's own body."""
        self.connection.send_headers(stream, HEADERS)
        for at in range(0, len(body), 10_000):
            self.connection.send_data(stream, body[at : at + 10_000])
        self.connection.send_headers(stream, trailers, end_stream=True)

    def refuse(self, stream: int, *fields: tuple[str, str]) -> None:
        """Answer with headers alone."""
        self.connection.send_headers(stream, (*HEADERS, *fields), end_stream=True)


class Pair:
    """A session of ours and a server, and what passes between them."""

    def __init__(self, server: H2Server | None = None) -> None:
        self.server = server or H2Server()
        self.heads = HeadWriter(scheme="http", authority="here:80", user_agent="test")
        self.session = ClientSession(self._ended, self.heads)
        self.ends: dict[int, Answer] = {}

    def _ended(self, stream: int, answer: Answer) -> None:
        assert stream not in self.ends
        self.ends[stream] = answer

    def open(self, message: bytes = b"", path: str = PATH, own=(), shared=()) -> int:
        return self.session.open(path, message, shared=shared, own=own, timeout_s=20)

    def talk(self, pieces: Callable[[bytes], Sequence[bytes]] = lambda data: (data,)) -> None:
        """Let both speak until they have nothing more to say."""
        while True:
            sent = b"".join(self.session.out)
            self.session.out.clear()
            self.server.receive(sent)
            said = self.server.connection.data_to_send()
            if not sent and not said:
                return
            for piece in pieces(said):
                self.session.receive(piece)

    def ask(self, message: bytes = b"") -> Answer:
        stream = self.open(message)
        self.talk()
        return self.ends[stream]
