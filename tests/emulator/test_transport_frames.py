"""HTTP/2 frame by frame: odd but allowed ones are understood, forbidden ones end the connection."""

import pytest
from h2.events import ConnectionTerminated, PingAckReceived, ResponseReceived
from hypothesis import given
from hypothesis import strategies as st

from injector.emulator.rpc import Code, RpcError
from injector.emulator.transport.ports import MAX_MESSAGE_BYTES
from injector.http2 import frames
from injector.http2.frames import (
    ACK,
    CONNECTION_WINDOW_BYTES,
    END_HEADERS,
    END_STREAM,
    PADDED,
    PREFACE,
    PRIORITY,
    STREAM_WINDOW_BYTES,
    Broken,
    Fault,
    Setting,
    Type,
    frame,
)
from tests.emulator.raw_client import HEADERS, HELLO, METHOD, Echo, RawClient, block, framed

HEAD = frame(Type.HEADERS, END_HEADERS, 1, block())
WHOLE = frame(Type.DATA, END_STREAM, 1, framed(b"abc"))


def settings(**values: int) -> bytes:
    pairs = ((Setting[key.upper()], value) for key, value in values.items())
    packed = b"".join(key.to_bytes(2, "big") + value.to_bytes(4, "big") for key, value in pairs)
    return frame(Type.SETTINGS, 0, 0, packed)


def test_a_call_of_another_implementation_is_answered():
    client = RawClient(Echo())
    stream = client.call(framed(b"abc"))
    assert client.received[stream] == framed(b"abc")
    assert client.trailers[stream] == {"grpc-status": "0"}


def test_a_head_says_method_and_metadata_without_what_is_https():
    echo = Echo()
    echo.receive(HELLO, HEAD, WHOLE)
    _, head, _ = echo.asked[0]
    assert head.method == METHOD
    assert dict(head.metadata) == {
        "te": "trailers",
        "content-type": "application/grpc",
        "grpc-timeout": "20S",
    }


def test_metadata_that_calls_share_cannot_be_changed():
    echo = Echo()
    echo.receive(HELLO, HEAD, WHOLE)
    with pytest.raises(TypeError):
        echo.asked[0][1].metadata["grpc-timeout"] = "1S"  # type: ignore[index]


def test_a_request_may_come_in_any_number_of_frames():
    echo = Echo()
    packed = block()
    echo.receive(
        HELLO,
        frame(Type.HEADERS, 0, 1, packed[:3]),
        frame(Type.CONTINUATION, 0, 1, packed[3:20]),
        frame(Type.CONTINUATION, 0, 1),
        frame(Type.CONTINUATION, END_HEADERS, 1, packed[20:]),
        *(frame(Type.DATA, 0, 1, bytes([byte])) for byte in framed(b"abc")),
        frame(Type.DATA, END_STREAM, 1),
    )
    assert echo.bodies == [framed(b"abc")]


def test_padding_and_priority_are_left_out():
    echo = Echo()
    echo.receive(
        HELLO,
        frame(Type.PRIORITY, 0, 1, bytes(5)),
        frame(
            Type.HEADERS,
            END_HEADERS | PADDED | PRIORITY,
            1,
            b"\x07" + bytes(5) + block() + bytes(7),
        ),
        frame(Type.DATA, END_STREAM | PADDED, 1, b"\x09" + framed(b"abc") + bytes(9)),
    )
    assert echo.bodies == [framed(b"abc")]


def test_trailers_may_end_a_request():
    echo = Echo()
    end = frame(Type.HEADERS, END_HEADERS | END_STREAM, 1, block((("x", "y"),)))
    echo.receive(HELLO, HEAD, frame(Type.DATA, 0, 1, framed(b"abc")), end)
    assert echo.bodies == [framed(b"abc")]


def test_frames_of_unknown_types_and_settings_are_ignored():
    echo = Echo()
    unknown = frame(Type.SETTINGS, 0, 0, b"\x77\x77" + bytes(4))
    odd = bytes((0, 0, 1, 0xEE, 0xFF, 0, 0, 0, 1, 7))
    echo.receive(HELLO, unknown, odd, HEAD, odd, WHOLE)
    assert echo.bodies == [framed(b"abc")]


@given(st.data())
def test_bytes_may_arrive_in_any_pieces(data):
    rest = HELLO + HEAD + frame(Type.DATA, 0, 1, framed(b"abc")[:4])
    rest += frame(Type.DATA, END_STREAM, 1, framed(b"abc")[4:])
    echo = Echo()
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        echo.receive(rest[:size])
        rest = rest[size:]
    assert echo.bodies == [framed(b"abc")]


def test_frames_that_come_late_for_an_answered_call_are_ignored():
    echo = Echo()
    late = (
        frame(Type.WINDOW_UPDATE, 0, 1, b"\0\0\0\1"),
        frame(Type.RST_STREAM, 0, 1, bytes(4)),
        frame(Type.DATA, END_STREAM, 1, b"x"),
        frame(Type.HEADERS, END_HEADERS | END_STREAM, 1, block()),
    )
    echo.receive(HELLO, HEAD, WHOLE)
    echo.receive(*late)
    assert echo.receive(frame(Type.HEADERS, END_HEADERS, 3, block())) == b""
    echo.receive(frame(Type.DATA, END_STREAM, 3, framed(b"next")))
    assert echo.bodies == [framed(b"abc"), framed(b"next")]


def test_a_reset_call_is_forgotten_and_never_answered():
    echo = Echo(answers=False)
    echo.receive(HELLO, HEAD, WHOLE)
    echo.receive(frame(Type.RST_STREAM, 0, 1, bytes(4)))
    echo.session.answer(1, b"late")
    assert echo.forgotten == [1]
    assert echo.written() == b""
    assert echo.session.idle


def test_a_request_that_is_reset_before_its_end_is_never_asked():
    echo = Echo()
    echo.receive(
        HELLO,
        HEAD,
        frame(Type.DATA, 0, 1, b"\0"),
        frame(Type.RST_STREAM, 0, 1, bytes(4)),
        frame(Type.DATA, END_STREAM, 1, b"rest"),
    )
    assert (echo.asked, echo.forgotten, echo.session.idle) == ([], [], True)


def test_a_whole_request_that_is_reset_in_the_same_breath_is_never_asked():
    echo = Echo()
    echo.receive(HELLO, a_call(1, b"a"), a_call(3, b"b"), frame(Type.RST_STREAM, 0, 1, bytes(4)))
    assert echo.bodies == [framed(b"b")]
    assert echo.session.idle


def test_calls_of_one_read_are_asked_in_their_order_even_if_the_last_breaks_it():
    echo = Echo()
    calls = [a_call(2 * number + 1, b"%d" % number) for number in range(250)]
    with pytest.raises(Broken):
        echo.receive(HELLO, *calls, frame(Type.PUSH_PROMISE, 0, 1))
    assert echo.bodies == [framed(b"%d" % number) for number in range(250)]
    assert echo.session.idle


def test_client_that_pings_however_often_is_not_sent_away():
    client = RawClient(Echo())
    for number in range(1000):
        client.connection.ping(number.to_bytes(8, "big"))
    client.talk()
    assert not [e for e in client.other if isinstance(e, ConnectionTerminated)]
    stream = client.call(framed(b"abc"))
    assert client.trailers[stream] == {"grpc-status": "0"}


def test_pings_are_echoed():
    client = RawClient(Echo())
    client.connection.ping(b"12345678")
    client.talk()
    assert [e.ping_data for e in client.other if isinstance(e, PingAckReceived)] == [b"12345678"]


def a_call(stream: int, message: bytes) -> bytes:
    return frame(Type.HEADERS, END_HEADERS, stream, block()) + frame(
        Type.DATA, END_STREAM, stream, framed(message)
    )


def test_a_call_over_the_streams_that_are_taken_is_refused_and_the_next_is_taken():
    echo = Echo(max_streams=2, answers=False)
    echo.receive(HELLO, a_call(1, b"first"), a_call(3, b"second"))
    assert echo.receive(a_call(5, b"refused")) == frames.rst_stream(5, Fault.REFUSED_STREAM)
    echo.session.answer(1, b"")
    echo.receive(a_call(7, b"third"))
    assert echo.bodies == [framed(b"first"), framed(b"second"), framed(b"third")]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (((":method", "GET"), (":path", "/")), "405"),
        (((":method", "POST"), (":path", "/"), ("content-type", "application/json")), "415"),
        (((":path", "/"),), "400"),
    ],
)
def test_what_is_no_grpc_call_is_refused_with_an_http_status(headers, status):
    echo = Echo()
    out = echo.receive(HELLO, frame(Type.HEADERS, END_HEADERS | END_STREAM, 1, block(headers)))
    assert f":status\x03{status}".encode() in out
    assert echo.asked == []


def test_a_call_that_fails_before_its_request_ended_is_told_to_stop():
    echo = Echo()
    client = RawClient(echo)
    stream = client.connection.get_next_available_stream_id()
    client.connection.send_headers(stream, HEADERS)
    client.talk()
    echo.session.fail(stream, RpcError(Code.RESOURCE_EXHAUSTED, "too large"))
    client.talk()
    head = next(dict(e.headers) for e in client.other if isinstance(e, ResponseReceived))
    assert (head["grpc-status"], head["grpc-message"]) == ("8", "too large")
    assert echo.session.idle


def test_a_leaving_server_ends_what_it_took_and_looks_at_nothing_new():
    echo = Echo(answers=False)
    client = RawClient(echo)
    stream = client.call(framed(b"taken"))
    echo.session.leave()
    echo.receive(
        frame(Type.HEADERS, END_HEADERS, stream + 2, block()),
        frame(Type.DATA, END_STREAM, stream + 2, framed(b"new")),
    )
    echo.session.answer(stream, b"answer")
    client.talk()
    assert echo.bodies == [framed(b"taken")]
    assert echo.session.idle


def test_a_leaving_server_says_what_it_took():
    echo = Echo(answers=False)
    client = RawClient(echo)
    stream = client.call(framed(b"taken"))
    echo.session.leave()
    client.talk()
    farewell = next(e for e in client.other if isinstance(e, ConnectionTerminated))
    assert (farewell.last_stream_id, farewell.error_code) == (stream, Fault.NO_ERROR)


EMPTY = frame(Type.CONTINUATION, 0, 1)
ENDLESS = frame(Type.CONTINUATION, 0, 1, bytes(16_384)) * 5
FORBIDDEN = [
    ("no preface", b"GET / HTTP/1.1\r\n", Fault.PROTOCOL_ERROR),
    ("no settings first", PREFACE + frame(Type.PING, 0, 0, bytes(8)), Fault.PROTOCOL_ERROR),
    ("a frame too large", HELLO + b"\x00\x40\x01" + bytes(6), Fault.FRAME_SIZE_ERROR),
    ("data of stream 0", HELLO + frame(Type.DATA, 0, 0, b"x"), Fault.PROTOCOL_ERROR),
    ("stream 0 reset", HELLO + frames.rst_stream(0, Fault.CANCEL), Fault.PROTOCOL_ERROR),
    ("data of nothing", HELLO + frame(Type.DATA, 0, 1, b"x"), Fault.PROTOCOL_ERROR),
    ("a server's stream", HELLO + frame(Type.HEADERS, 4, 2, block()), Fault.PROTOCOL_ERROR),
    ("stream 0", HELLO + frame(Type.HEADERS, 4, 0, block()), Fault.PROTOCOL_ERROR),
    ("opened twice", HELLO + HEAD + HEAD, Fault.PROTOCOL_ERROR),
    ("a push", HELLO + frame(Type.PUSH_PROMISE, 4, 1, bytes(4)), Fault.PROTOCOL_ERROR),
    ("a short ping", HELLO + frame(Type.PING, 0, 0, b"x"), Fault.FRAME_SIZE_ERROR),
    ("a stream's ping", HELLO + frame(Type.PING, 0, 1, bytes(8)), Fault.PROTOCOL_ERROR),
    ("a stream's settings", HELLO + frame(Type.SETTINGS, 0, 1), Fault.PROTOCOL_ERROR),
    ("half a setting", HELLO + frame(Type.SETTINGS, 0, 0, b"xxx"), Fault.FRAME_SIZE_ERROR),
    ("an ack with more", HELLO + frame(Type.SETTINGS, ACK, 0, bytes(6)), Fault.FRAME_SIZE_ERROR),
    ("a window too wide", HELLO + settings(initial_window_size=2**31), Fault.FLOW_CONTROL_ERROR),
    ("a window overrun", HELLO + frames.window_update(0, 2**31 - 1), Fault.FLOW_CONTROL_ERROR),
    ("an overrun", HELLO + HEAD + frames.window_update(1, 2**31 - 1), Fault.FLOW_CONTROL_ERROR),
    ("widened by 0", HELLO + frames.window_update(0, 0), Fault.PROTOCOL_ERROR),
    ("a closed one reset", HELLO + frames.rst_stream(9, Fault.CANCEL), Fault.PROTOCOL_ERROR),
    ("a short reset", HELLO + HEAD + frame(Type.RST_STREAM, 0, 1), Fault.FRAME_SIZE_ERROR),
    ("a short priority", HELLO + frame(Type.PRIORITY, 0, 1), Fault.FRAME_SIZE_ERROR),
    ("a stream goes away", HELLO + frame(Type.GOAWAY, 0, 1, bytes(8)), Fault.PROTOCOL_ERROR),
    ("all padding", HELLO + frame(Type.HEADERS, 4 | PADDED, 1, b"\x09x"), Fault.PROTOCOL_ERROR),
    ("a lone continuation", HELLO + frame(Type.CONTINUATION, 4, 1), Fault.PROTOCOL_ERROR),
    ("interleaved", HELLO + frame(Type.HEADERS, 0, 1) + WHOLE, Fault.PROTOCOL_ERROR),
    ("another's", HELLO + frame(Type.HEADERS, 0, 1) + frame(9, 4, 3), Fault.PROTOCOL_ERROR),
    ("endless headers", HELLO + frame(Type.HEADERS, 0, 1) + ENDLESS, Fault.ENHANCE_YOUR_CALM),
    ("empty headers", HELLO + frame(Type.HEADERS, 0, 1) + EMPTY * 1000, Fault.ENHANCE_YOUR_CALM),
    ("broken HPACK", HELLO + frame(Type.HEADERS, 4, 1, b"\xff\xff"), Fault.COMPRESSION_ERROR),
]  # fmt: skip


@pytest.mark.parametrize(
    ("sent", "fault"),
    [pytest.param(sent, fault, id=name) for name, sent, fault in FORBIDDEN],
)
def test_what_the_protocol_forbids_ends_the_connection_with_its_fault(sent, fault):
    with pytest.raises(Broken) as raised:
        Echo().receive(sent)
    assert raised.value.fault is fault


def test_headers_that_unpack_to_far_more_than_they_are_end_the_connection():
    bomb = block(((":path", "/" + "a" * 4000),)) + b"\xbe" * 100
    with pytest.raises(Broken) as raised:
        Echo().receive(HELLO, frame(Type.HEADERS, END_HEADERS, 1, bomb))
    assert raised.value.fault is Fault.ENHANCE_YOUR_CALM


@given(st.binary(max_size=200))
def test_garbage_after_the_greeting_is_understood_or_ends_the_connection(garbage):
    echo = Echo()
    try:
        echo.receive(HELLO, garbage)
    except Broken:
        return
    assert echo.asked == []


FRAMES = st.builds(
    lambda kind, flags, stream, payload: (
        len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload
    ),
    st.integers(0, 11),
    st.integers(0, 255),
    st.integers(0, 5),
    st.binary(max_size=30)
    | st.just(block())
    | st.just(framed(b"abc"))
    | st.sampled_from([b"\0\0\0\1", bytes(8), settings(initial_window_size=3)]),
)


@given(st.lists(FRAMES, max_size=30))
def test_no_sequence_of_frames_breaks_the_session_otherwise(frames):
    echo = Echo()
    try:
        echo.receive(HELLO, *frames)
    except Broken:
        return
    assert len(echo.asked) <= len(frames)


def test_windows_are_given_back_as_they_are_used():
    echo = Echo()
    part = frame(Type.DATA, 0, 1, bytes(16_384))
    echo.receive(HELLO, HEAD)
    out = echo.receive(part * (CONNECTION_WINDOW_BYTES // 2 // 16_384))
    assert out.count(frames.window_update(0, CONNECTION_WINDOW_BYTES // 2)) == 1
    assert out.count(frames.window_update(1, STREAM_WINDOW_BYTES // 2)) == 16


def test_a_request_larger_than_any_is_refused_and_what_follows_is_ignored():
    echo = Echo()
    part = frame(Type.DATA, 0, 1, bytes(16_384)) * 64
    echo.receive(HELLO, HEAD)
    out = b"".join(echo.receive(part) for _ in range(MAX_MESSAGE_BYTES // len(part) + 3))
    assert out.count(frames.rst_stream(1, Fault.NO_ERROR)) == 1
    assert b"grpc-status\x018" in out
    assert echo.session.idle


def unfinished(stream: int, size: int) -> bytes:
    head = frame(Type.HEADERS, END_HEADERS, stream, block())
    return head + frame(Type.DATA, 0, stream, bytes(size))


def test_unfinished_requests_that_fill_the_memory_end_the_connection():
    echo = Echo(most_gathered_bytes=30_000)
    echo.receive(HELLO, unfinished(1, 10_000), unfinished(3, 10_000), unfinished(5, 10_000))
    with pytest.raises(Broken) as raised:
        echo.receive(unfinished(7, 1))
    assert raised.value.fault is Fault.ENHANCE_YOUR_CALM


def test_requests_that_ended_leave_room_for_others():
    echo = Echo(most_gathered_bytes=30_000)
    echo.receive(HELLO, unfinished(1, 10_000), unfinished(3, 10_000), unfinished(5, 10_000))
    echo.receive(frame(Type.DATA, END_STREAM, 1), frames.rst_stream(3, Fault.CANCEL))
    echo.session.fail(5, RpcError(Code.ABORTED))
    echo.receive(unfinished(7, 15_000), unfinished(9, 15_000))
    assert echo.bodies == [bytes(10_000)]
