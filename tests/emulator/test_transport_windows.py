"""Answers fit the client's windows, whatever it makes of them."""

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from injector.emulator.transport.outbox import Outbox
from injector.http2.frame_reader import FrameReader
from injector.http2.frames import END_STREAM, PREFACE, Type
from tests.emulator.raw_client import Echo, RawClient, framed

ENOUGH = 10_000_000


class Peer:
    """A client that counts what it is sent against what it has said it would take."""

    def __init__(self) -> None:
        self.outbox = Outbox()
        self.out = self.outbox.out
        self.window = self.initial = 65_535
        self.windows: dict[int, int] = defaultdict(int)
        self.received: dict[int, bytes] = defaultdict(bytes)
        self.ended: list[int] = []
        self._frames = FrameReader(preface=True)
        list(self._frames.read(PREFACE))

    def read(self) -> None:
        for kind, flags, stream, payload in self._frames.read(b"".join(self.out)):
            assert stream not in self.ended
            if kind == Type.DATA:
                self._take(stream, payload)
            if flags & END_STREAM:
                self.ended.append(stream)
        self.out.clear()

    def _take(self, stream: int, payload: bytes) -> None:
        self.window -= len(payload)
        self.windows[stream] -= len(payload)
        assert self.window >= 0
        assert self.initial + self.windows[stream] >= 0
        self.received[stream] += payload

    def put(self, stream: int, message: bytes) -> None:
        self.outbox.put(stream, message)

    def widen(self, stream: int, increment: int) -> None:
        if stream in self.ended:
            return
        if stream:
            self.windows[stream] += increment
        else:
            self.window += increment
        self.outbox.widen(stream, increment)

    def start_at(self, initial: int) -> None:
        self.initial = initial
        self.outbox.start_at(initial)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 80_000)),
        st.tuples(st.just("widen"), st.integers(0, 9), st.integers(1, 50_000)),
        st.tuples(st.just("start_at"), st.integers(0, 100_000)),
    ),
    max_size=30,
)


@given(STEPS)
def test_no_window_is_ever_overrun_and_every_answer_arrives_whole(steps):
    peer = Peer()
    sent: dict[int, bytes] = {}
    for name, *arguments in steps:
        if name == "put":
            stream = 2 * len(sent) + 1
            sent[stream] = bytes([stream % 256]) * arguments[0]
            peer.put(stream, sent[stream])
        elif name == "widen":
            peer.widen(*arguments)
        else:
            peer.start_at(*arguments)
        peer.read()
    peer.widen(0, ENOUGH)
    peer.start_at(ENOUGH)
    peer.read()
    assert peer.received == {stream: framed(message) for stream, message in sent.items()}
    assert sorted(peer.ended) == sorted(sent)


@given(st.integers(0, 70_000), st.integers(1, 70_000))
def test_another_implementations_client_gets_whole_answers_through_a_window_of_any_size(
    size, window
):
    client = RawClient(Echo(), window=window)
    stream = client.call(framed(bytes(size)))
    while stream not in client.trailers:
        client.connection.increment_flow_control_window(70_000)
        client.connection.increment_flow_control_window(70_000, stream)
        client.talk()
    assert client.received[stream] == framed(bytes(size))


def test_an_answer_that_was_given_up_is_sent_no_further():
    peer = Peer()
    peer.put(1, bytes(100_000))
    peer.outbox.drop(1)
    peer.read()
    peer.widen(0, ENOUGH)
    peer.read()
    assert (len(peer.received[1]), peer.ended, len(peer.outbox)) == (65_535, [], 0)
