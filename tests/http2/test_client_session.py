"""Calls of ours, answered by another's implementation of HTTP/2."""

import pytest
from h2.errors import ErrorCodes
from hypothesis import given
from hypothesis import strategies as st

from injector.http2.client_session import MAX_ANSWER_BYTES
from injector.http2.frames import (
    Setting,
    Type,
    frame,
    header_frames,
    settings_frame,
    window_update,
)
from injector.http2.header_blocks import field
from injector.http2.heads import Unsendable
from injector.http2.messages import framed
from tests.http2.h2_server import HEADERS, H2Server, Pair

METADATA = st.lists(
    st.tuples(
        st.sampled_from(["authorization", "x-goog-request-params", "x-a"]),
        st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=300),
    ),
    max_size=3,
).map(tuple)


def never(_server: H2Server, _stream: int, _body: bytes) -> None:
    """Answer nothing."""


@given(
    st.lists(
        st.tuples(st.binary(max_size=50), st.sampled_from(["/a/B", "/a/C"]), METADATA, METADATA),
        max_size=20,
    ),
    st.sampled_from([None, 0, 60, 200, 4096, 65_536]),
    st.integers(1, 50),
)
def test_every_request_arrives_as_it_was_meant_and_is_answered(calls, table, size):
    pair = Pair()
    if table is not None:
        pair.server.limit(HEADER_TABLE_SIZE=table)
    opened = {}
    for message, path, own, shared in calls:
        opened[pair.open(message, path, own, shared)] = (message, path, own, shared)
        pair.talk(lambda data: [data[at : at + size] for at in range(0, len(data), size)])
    for stream, (message, path, own, shared) in opened.items():
        head = pair.server.heads[stream]
        assert pair.server.bodies[stream] == framed(message)
        assert pair.ends[stream].code == "OK"
        assert pair.ends[stream].message == message
        assert (head[":method"], head[":scheme"], head[":path"]) == ("POST", "http", path)
        assert (head[":authority"], head["te"], head["user-agent"]) == (
            "here:80",
            "trailers",
            "test",
        )
        assert (head["content-type"], head["grpc-timeout"]) == ("application/grpc", "20000m")
        assert dict((*shared, *own)).items() <= head.items()


@given(
    st.lists(st.integers(0, 40_000), min_size=1, max_size=8),
    st.sampled_from([0, 1_000, 16_384, 65_535, 1_000_000]),
)
def test_requests_of_any_size_pass_windows_of_any_size(sizes, window):
    pair = Pair()
    pair.server.limit(INITIAL_WINDOW_SIZE=window)
    pair.talk()
    streams = [pair.open(bytes([n]) * size) for n, size in enumerate(sizes)]
    pair.talk()
    pair.server.limit(INITIAL_WINDOW_SIZE=1_000_000)
    pair.talk()
    assert [pair.ends[stream].message for stream in streams] == [
        bytes([n]) * size for n, size in enumerate(sizes)
    ]


@given(
    st.lists(
        st.lists(st.sampled_from([0, 60, 200, 300, 4096, 65_536]), max_size=5),
        min_size=1,
        max_size=6,
    )
)
def test_requests_keep_to_a_table_of_headers_that_grows_and_shrinks(changes):
    pair = Pair()
    for number, sizes in enumerate(changes):
        for size in sizes:
            pair.server.limit(HEADER_TABLE_SIZE=size)
        pair.talk()
        for _ in range(2):
            stream = pair.open(b"", shared=(("x-a", str(number)),))
            pair.talk()
            assert pair.server.heads[stream]["x-a"] == str(number)


def test_of_many_changes_of_the_table_two_are_told():
    pair = Pair()
    pair.ask()
    for size in (100, 0, 50, 4096, 300):
        pair.session.receive(settings_frame((Setting.HEADER_TABLE_SIZE, size)))
    pair.session.out.clear()
    pair.open()
    block = b"".join(pair.session.out)[9:]
    assert block.startswith(b"\x20\x3f\x8d\x02\x83")


@pytest.mark.parametrize("value", ["a\r\nx: y", "a\n", "\0", "ü", "\udcff", "€", " a", "a "])
@pytest.mark.parametrize("place", ["own", "shared"])
def test_a_header_that_none_may_be_is_not_sent_and_spoils_nothing(place, value):
    pair = Pair()
    with pytest.raises(Unsendable, match="x-b"):
        pair.open(b"", **{place: (("x-a", "fine"), ("x-b", value))})
    assert pair.session.open_calls == 0
    assert pair.ask(b"abc").message == b"abc"
    assert "x-a" not in pair.server.heads[1]


def test_a_repeated_request_costs_a_few_bytes_of_headers():
    token = (("authorization", "Bearer " + "x" * 900),)
    pair = Pair()
    sizes = []
    for _ in range(4):
        pair.open(b"", shared=token)
        sizes.append(sum(map(len, pair.session.out)))
        pair.talk()
    assert sizes[0] > 700
    assert sizes[2] == sizes[3] < 80


def test_a_new_token_replaces_the_old_one():
    pair = Pair()
    for number in range(300):
        pair.open(b"", shared=(("authorization", f"Bearer {number}"),))
        pair.talk()
    tokens = [head["authorization"] for head in pair.server.heads.values()]
    assert tokens == [f"Bearer {number}" for number in range(300)]


def test_no_more_calls_begin_than_the_server_allows():
    pair = Pair(H2Server(never))
    pair.server.limit(MAX_CONCURRENT_STREAMS=3)
    pair.talk()
    assert pair.session.room == 3
    stream = pair.open()
    pair.open()
    assert pair.session.room == 1
    pair.session.cancel(stream)
    assert pair.session.room == 2
    pair.server.limit(MAX_CONCURRENT_STREAMS=1000)
    pair.talk()
    assert pair.session.room == 999


@pytest.mark.parametrize(
    ("fields", "code", "text"),
    [
        (
            (("grpc-status", "6"), ("grpc-message", "there%3A %E2%82%AC")),
            "ALREADY_EXISTS",
            "there: €",
        ),
        ((("grpc-status", "14"),), "UNAVAILABLE", ""),
        ((("grpc-status", "99"),), "UNKNOWN", ""),
        ((("grpc-status", "x"), ("grpc-message", "%zz%")), "UNKNOWN", "%zz%"),
        ((), "INTERNAL", "the answer ended without a status"),
    ],
)
def test_a_status_says_how_a_call_ended(fields, code, text):
    pair = Pair(H2Server(lambda server, stream, _: server.refuse(stream, *fields)))
    end = pair.ask(b"x")
    assert (end.code, end.text, end.unseen) == (code, text, False)


def test_a_status_may_follow_an_answers_bytes():
    failed = (("grpc-status", "8"), ("grpc-message", "too much"))
    pair = Pair(H2Server(lambda server, stream, body: server.echo(stream, body, failed)))
    end = pair.ask(b"abc")
    assert (end.code, end.text, end.message) == ("RESOURCE_EXHAUSTED", "too much", b"")


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("400", "INTERNAL"),
        ("401", "UNAUTHENTICATED"),
        ("403", "PERMISSION_DENIED"),
        ("404", "UNIMPLEMENTED"),
        ("429", "UNAVAILABLE"),
        ("502", "UNAVAILABLE"),
        ("504", "UNAVAILABLE"),
        ("500", "UNKNOWN"),
        ("503", "UNAVAILABLE"),
        ("418", "UNKNOWN"),
    ],
)
@pytest.mark.parametrize("ends", [True, False])
def test_an_http_status_stands_for_one_of_grpc(status, code, ends):
    def answer(server, stream, _body):
        fields = ((":status", status), ("content-type", "text/html"))
        server.connection.send_headers(stream, fields, end_stream=ends)

    end = Pair(H2Server(answer)).ask()
    assert (end.code, end.text) == (code, f"the server answered with HTTP status {status}")


def test_headers_that_only_inform_are_passed_over():
    def answer(server, stream, body):
        server.connection.send_headers(stream, ((":status", "103"),))
        server.echo(stream, body)

    assert Pair(H2Server(answer)).ask(b"abc").message == b"abc"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "no message"),
        (framed(b"a") + framed(b"b"), "two messages"),
        (framed(b"abc")[:-1], "a message cut off"),
        (b"\1\0\0\0\1a", "a compressed message, which was not asked for"),
    ],
)
def test_an_answer_that_is_not_one_whole_message_is_an_error(body, why):
    end = Pair(H2Server(lambda server, stream, _: server.echo(stream, body))).ask()
    assert end.code == "INTERNAL", why


def test_an_answer_without_trailers_is_an_error():
    def answer(server, stream, body):
        server.connection.send_headers(stream, HEADERS)
        server.connection.send_data(stream, body, end_stream=True)

    assert Pair(H2Server(answer)).ask(b"abc").code == "INTERNAL"


def test_the_largest_answer_is_taken_and_a_larger_one_is_not():
    pair = Pair()
    assert len(pair.ask(bytes(MAX_ANSWER_BYTES)).message) == MAX_ANSWER_BYTES
    assert pair.ask(bytes(MAX_ANSWER_BYTES + 1)).code == "RESOURCE_EXHAUSTED"
    assert pair.ask(b"and on").code == "OK"


@pytest.mark.parametrize(
    ("fault", "code", "unseen"),
    [
        (ErrorCodes.REFUSED_STREAM, "UNAVAILABLE", True),
        (ErrorCodes.CANCEL, "CANCELLED", False),
        (ErrorCodes.ENHANCE_YOUR_CALM, "RESOURCE_EXHAUSTED", False),
        (ErrorCodes.INADEQUATE_SECURITY, "PERMISSION_DENIED", False),
        (ErrorCodes.INTERNAL_ERROR, "INTERNAL", False),
    ],
)
def test_a_reset_stream_ends_its_call(fault, code, unseen):
    pair = Pair(H2Server(lambda server, stream, _: server.connection.reset_stream(stream, fault)))
    end = pair.ask()
    assert (end.code, end.unseen) == (code, unseen)


def test_a_call_that_was_being_answered_is_not_taken_for_unseen():
    def answer(server, stream, _body):
        server.connection.send_headers(stream, HEADERS)
        server.connection.reset_stream(stream, ErrorCodes.REFUSED_STREAM)

    end = Pair(H2Server(answer)).ask()
    assert (end.code, end.unseen) == ("UNAVAILABLE", False)


def test_a_status_of_thousands_of_digits_is_no_more_than_an_error():
    pair = Pair()
    pair.talk()
    stream = pair.open()
    block = field(":status", "2" * 5000)
    pair.session.receive(header_frames(stream, block))
    assert pair.ends[stream].code == "UNKNOWN"


def test_after_a_goaway_no_call_begins_and_those_under_way_end_as_they_may():
    pair = Pair(H2Server(never))
    streams = [pair.open(b"%d" % n) for n in range(3)]
    pair.talk()
    pair.server.connection.close_connection(last_stream_id=3)
    goaway = pair.server.connection.data_to_send()
    pair.session.receive(goaway)
    assert pair.session.room == 0
    assert list(pair.ends) == streams[2:]
    assert (pair.ends[5].code, pair.ends[5].unseen) == ("UNAVAILABLE", True)
    assert pair.session.open_calls == 2


def test_a_lost_connection_ends_every_call():
    pair = Pair(H2Server(never))
    streams = [pair.open() for _ in range(3)]
    pair.talk()
    pair.session.lose(pair_end := Pair().ask())
    assert pair.ends == dict.fromkeys(streams, pair_end)
    assert pair.session.room == 0


def test_a_call_that_is_given_up_is_reset_and_what_comes_late_for_it_is_ignored():
    pair = Pair()
    stream, other = pair.open(b"abc"), pair.open(b"def")
    sent = b"".join(pair.session.out)
    pair.session.out.clear()
    pair.session.cancel(stream)
    pair.server.receive(sent)
    pair.talk()
    assert list(pair.ends) == [other]
    assert pair.session.open_calls == 0


def test_an_answer_before_the_request_is_all_sent_leaves_no_stream_open():
    pair = Pair()
    pair.server.limit(INITIAL_WINDOW_SIZE=10)
    pair.talk()
    stream = pair.open(bytes(100))
    pair.server.receive(b"".join(pair.session.out))
    pair.session.out.clear()
    pair.server.refuse(stream, ("grpc-status", "8"))
    pair.talk()
    assert pair.ends[stream].code == "RESOURCE_EXHAUSTED"
    assert pair.server.reset == [stream]
    assert pair.server.connection.open_inbound_streams == 0
    assert pair.ask(b"").code == "OK"


def test_a_ping_is_answered():
    pair = Pair()
    pair.talk()
    pair.session.receive(frame(Type.PING, 0, 0, b"12345678"))
    assert pair.session.out == [frame(Type.PING, 1, 0, b"12345678")]


def test_a_window_that_shrinks_below_what_was_sent_is_waited_for():
    pair = Pair()
    pair.server.limit(INITIAL_WINDOW_SIZE=1000)
    pair.talk()
    stream = pair.open(b"a" * 5000)
    pair.session.receive(settings_frame((Setting.INITIAL_WINDOW_SIZE, 10)))
    sent = b"".join(pair.session.out)
    assert sent.count(b"a") < 1000 + len("authority")
    pair.session.out.clear()
    pair.session.receive(window_update(stream, 990))
    assert pair.session.out == []
    pair.session.receive(window_update(stream, 5000))
    assert b"".join(pair.session.out).count(b"a") > 3900
