"""A client that speaks HTTP/2 frame by frame to a session without a socket between them."""

from collections.abc import Iterable

import h2.config
import h2.connection
import h2.events
from h2.settings import SettingCodes
from hpack import Encoder

from injector.emulator.transport.session import Asked, Session
from injector.http2.frames import PREFACE, Type, frame

METHOD = "/google.cloud.tasks.v2.CloudTasks/CreateTask"
HEADERS = (
    (":method", "POST"),
    (":scheme", "http"),
    (":path", METHOD),
    (":authority", "127.0.0.1:8123"),
    ("te", "trailers"),
    ("content-type", "application/grpc"),
    ("grpc-timeout", "20S"),
)
HELLO = PREFACE + frame(Type.SETTINGS, 0, 0)


def block(headers: Iterable[tuple[str, str]] = HEADERS) -> bytes:
    """Pack headers as a client that has sent nothing before."""
    return Encoder().encode(headers)


def framed(message: bytes) -> bytes:
    return len(message).to_bytes(5, "big") + message


class Echo:
    """A session whose calls are answered at once with their request's body, or kept open."""

    def __init__(
        self, *, max_streams: int = 100, most_gathered_bytes: int = 2**28, answers: bool = True
    ) -> None:
        self.asked: list[Asked] = []
        self.forgotten: list[int] = []
        self.session = Session(
            ask=self._ask,
            forget=self.forgotten.append,
            max_streams=max_streams,
            most_gathered_bytes=most_gathered_bytes,
        )
        self._answers = answers

    @property
    def bodies(self) -> list[bytes]:
        return [body for _, _, body in self.asked]

    def _ask(self, asked: list[Asked]) -> None:
        self.asked += asked
        for stream, _, body in asked if self._answers else ():
            self.session.answer(stream, body[5:])

    def receive(self, *parts: bytes) -> bytes:
        """Take bytes and return what is written in answer."""
        self.session.receive(b"".join(parts))
        return self.written()

    def written(self) -> bytes:
        out = b"".join(self.session.out)
        self.session.out.clear()
        return out


class RawClient:
    """Another implementation's client (h2), joined to a session."""

    def __init__(self, echo: Echo, *, window: int = 65_535) -> None:
        self._echo = echo
        self.connection = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=True, header_encoding="utf-8"),
        )
        self.connection.initiate_connection()
        self.connection.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: window})
        self.received: dict[int, bytes] = {}
        self.trailers: dict[int, dict[str, str]] = {}
        self.resets: dict[int, int] = {}
        self.other: list[h2.events.Event] = []
        self.talk()

    def talk(self) -> None:
        """Carry what either side has to say to the other, until both are silent."""
        while True:
            out = self.connection.data_to_send()
            back = self._echo.receive(out)
            if not out and not back:
                return
            for event in self.connection.receive_data(back):
                self._note(event)

    def call(self, body: bytes, *, headers: Iterable[tuple[str, str]] = HEADERS) -> int:
        """Send a request in frames of 16 KiB at most, as far as the window goes."""
        stream = self.connection.get_next_available_stream_id()
        self.connection.send_headers(stream, headers)
        for at in range(0, len(body), 16_384):
            self.connection.send_data(stream, body[at : at + 16_384])
            self.talk()
        self.connection.end_stream(stream)
        self.talk()
        return stream

    def _note(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.DataReceived):
            self.received[event.stream_id] = self.received.get(event.stream_id, b"") + event.data
        elif isinstance(event, h2.events.TrailersReceived):
            self.trailers[event.stream_id] = dict(event.headers)
        elif isinstance(event, h2.events.StreamReset):
            self.resets[event.stream_id] = event.error_code
        else:
            self.other.append(event)
