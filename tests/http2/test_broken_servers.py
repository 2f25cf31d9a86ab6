"""Servers that break HTTP/2, by accident or on purpose: no more comes of it than an end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.http2.frames import Broken, Type, frame
from tests.http2.h2_server import Pair

SETTINGS = frame(Type.SETTINGS, 0, 0)
BROKEN = {
    "another frame before the settings": frame(Type.PING, 0, 0, bytes(8)),
    "an answer nobody asked for": SETTINGS + frame(Type.HEADERS, 5, 9, b"\x88"),
    "an answer on an even stream": SETTINGS + frame(Type.DATA, 0, 2, b"x"),
    "a push": SETTINGS + frame(Type.PUSH_PROMISE, 4, 1, b"\0\0\0\2\x88"),
    "a frame too large": SETTINGS + b"\xff\xff\xff\0\0\0\0\0\1",
    "headers that are none": SETTINGS + frame(Type.HEADERS, 5, 1, b"\xff\xff\xff\xff\xff"),
    "a window widened too far": SETTINGS + frame(Type.WINDOW_UPDATE, 0, 0, b"\x7f\xff\xff\xff"),
    "a continuation of nothing": SETTINGS + frame(Type.CONTINUATION, 4, 1, b"\x88"),
    "a block cut in two by another": (
        SETTINGS + frame(Type.HEADERS, 0, 1, b"\x88") + frame(Type.PING, 0, 0, bytes(8))
    ),
}


@pytest.mark.parametrize("sent", BROKEN.values(), ids=BROKEN)
def test_a_server_that_breaks_the_protocol_is_found_out(sent):
    pair = Pair()
    pair.open(b"x")
    with pytest.raises(Broken):
        pair.session.receive(sent)


FRAMES = st.builds(
    frame,
    st.sampled_from(list(Type)),
    st.integers(0, 0xFF),
    st.integers(0, 9),
    st.binary(max_size=40) | st.sampled_from([b"\x88", b"\0\0\0\1", b"\x40\x0bgrpc-status\x010"]),
)


@given(st.lists(FRAMES, max_size=12))
def test_no_sequence_of_frames_ends_otherwise_than_in_a_call_or_as_broken(frames):
    pair = Pair()
    opened = [pair.open(b"x"), pair.open(b"y")]
    try:
        pair.session.receive(SETTINGS + b"".join(frames))
    except Broken:
        pair.session.lose(Pair().ask())
    assert len(pair.ends) + pair.session.open_calls == len(opened)


@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=6),
    st.integers(0, 400),
    st.integers(1, 50),
)
def test_an_answer_with_bytes_changed_or_lost_ends_in_a_call_or_as_broken(changes, whole, size):
    pair = Pair()
    opened = [pair.open(b"x" * 20), pair.open(b"y" * 20)]
    pair.server.receive(b"".join(pair.session.out))
    said = bytearray(pair.server.connection.data_to_send())
    for at, byte in changes:
        said[at % len(said)] = byte
    try:
        for at in range(0, min(whole, len(said)), size):
            pair.session.receive(bytes(said[at : min(at + size, whole)]))
    except Broken:
        pair.session.lose(Pair().ask())
    assert len(pair.ends) + pair.session.open_calls == len(opened)
