"""What is sent to a target, to the letter, and what is made of whatever comes back."""

import asyncio
import ssl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from injector.emulator.transport import target_connection
from injector.emulator.transport.attempts import Answer, Attempt, End
from injector.emulator.transport.dispatch_client import DispatchClient
from tests.emulator.certificates import self_signed
from tests.emulator.dispatching import answer_to, dispatched
from tests.emulator.raw_target import OK, RawTarget, says, target


def test_a_request_is_what_the_attempt_says_and_no_more():
    headers = (("X-CloudTasks-QueueName", "q"), ("x-LOWER-Case", "é"), ("User-Agent", "G"))
    _, raw = dispatched(
        attempt=lambda url: Attempt(f"{url}/a%zz/é b?x=1#f", headers=headers, body=b"\0body"),
    )
    host = raw.url.removeprefix("http://")
    assert raw.requests == [
        (
            "POST /a%zz/%C3%A9%20b?x=1 HTTP/1.1\r\n"
            f"Host: {host}\r\n"
            "X-CloudTasks-QueueName: q\r\nx-LOWER-Case: é\r\nUser-Agent: G\r\n"
            "Content-Length: 5\r\n\r\n\0body"
        ).encode()
    ]


@pytest.mark.parametrize(
    ("method", "body", "length"),
    [
        ("POST", b"", b"Content-Length: 0\r\n"),
        ("PUT", b"", b"Content-Length: 0\r\n"),
        ("PATCH", b"", b"Content-Length: 0\r\n"),
        ("GET", b"", b""),
        ("DELETE", b"", b""),
        ("OPTIONS", b"", b""),
        ("DELETE", b"abc", b"Content-Length: 3\r\n"),
    ],
)
def test_a_length_is_sent_where_a_body_is_or_should_be(method, body, length):
    _, raw = dispatched(attempt=lambda url: Attempt(url, method=method, body=body))
    head, _, sent = raw.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(f"{method} / HTTP/1.1\r\nHost: ".encode())
    assert (head + b"\r\n").split(b"\r\n", 2)[2] == length
    assert sent == body


def test_what_frames_the_message_is_not_the_tasks_to_say():
    headers = (
        ("content-length", "99"),
        ("Transfer-Encoding", "chunked"),
        ("HOST", "elsewhere"),
        ("Connection", "close"),
    )
    _, raw = dispatched(attempt=lambda url: Attempt(url, headers=headers, body=b"x"))
    host = raw.url.removeprefix("http://")
    assert raw.requests == [
        f"POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1\r\n\r\nx".encode()
    ]


def test_another_host_can_be_named_than_is_called():
    _, raw = dispatched(attempt=lambda url: Attempt(url, host="p.l.r.appspot.com"))
    assert b"\r\nHost: p.l.r.appspot.com\r\n" in raw.requests[0]


def test_an_answer_has_its_status_and_headers():
    reply = b"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nX-a: b\r\nContent-Length: 4\r\n\r\nbody"
    answer = answer_to(says(reply))
    assert (answer.end, answer.status) == (End.ANSWERED, 503)
    assert answer.header("retry-after") == "7"
    assert answer.header("x-none") is None


def test_a_connection_serves_many_attempts():
    answers, raw = dispatched(says(OK), times=5)
    assert [answer.status for answer in answers] == [200] * 5
    assert raw.connections == 1


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nmore than was asked for",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ],
)
def test_a_connection_that_cannot_go_on_is_not_used_again(reply):
    answers, raw = dispatched(says(reply), times=2)
    assert [answer.end for answer in answers] == [End.ANSWERED] * 2
    assert raw.connections == 2


def test_a_connection_that_its_target_closed_meanwhile_is_not_used_again():
    async def go() -> tuple[Answer, Answer, RawTarget]:
        async with target(says(OK, then_close=True)) as raw:
            client = DispatchClient()
            first = await client.send(Attempt(raw.url))
            second = await client.send(Attempt(raw.url))
            client.close()
            return first, second, raw

    first, second, raw = asyncio.run(go())
    assert (first.status, second.status, raw.connections) == (200, 200, 2)


def test_a_connection_that_nobody_uses_is_closed():
    closed = asyncio.Event()

    async def ok_until_closed(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _request: bytes
    ) -> None:
        writer.write(OK)
        await reader.read()
        closed.set()

    async def go() -> None:
        async with target(ok_until_closed) as raw:
            await DispatchClient(most_idle_s=0.01).send(Attempt(raw.url))
            async with asyncio.timeout(10):
                await closed.wait()

    asyncio.run(go())


def test_an_answer_to_head_has_no_body_to_wait_for():
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"
    answer = answer_to(says(reply), attempt=lambda url: Attempt(url, method="HEAD"))
    assert (answer.end, answer.status) == (End.ANSWERED, 200)


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 P\r\nA: b\r\n\r\n" + OK, 200),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-T: t\r\n\r\n",
            200,
        ),
        (b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", 200),
        (b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n", 999),
    ],
)
def test_unusual_answers_are_answers(reply, status):
    assert answer_to(says(reply)).status == status


def test_headers_of_an_interim_answer_are_not_the_answers():
    reply = b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + OK
    assert answer_to(says(reply)).header("link") is None


def test_a_body_without_a_length_ends_with_its_connection():
    answer = answer_to(says(b"HTTP/1.1 200 OK\r\n\r\nbody", then_close=True))
    assert (answer.end, answer.status) == (End.ANSWERED, 200)


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"garbage",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nBad Header: x\r\n\r\n",
        b"HTTP/1.1 2OO OK\r\n\r\n",
    ],
)
def test_what_is_no_whole_answer_is_a_broken_attempt_that_says_why(reply):
    answer = answer_to(says(reply, then_close=True))
    assert (answer.end, answer.status) == (End.BROKEN, 0)
    assert answer.reason


def test_headers_without_end_are_given_up():
    async def endless(_reader, writer, _request) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(b"A: b\r\n" * 1000)
            await writer.drain()

    assert answer_to(endless).reason == f"headers of over {target_connection.MOST_HEAD_BYTES} bytes"


def test_of_a_body_without_end_the_status_counts():
    async def endless(_reader, writer, _request) -> None:
        writer.write(b"HTTP/1.1 202 OK\r\nContent-Length: 99999999999\r\n\r\n")
        while True:
            writer.write(bytes(1024 * 1024))
            await writer.drain()

    answer = answer_to(endless)
    assert (answer.end, answer.status) == (End.ANSWERED, 202)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/",
        "http://127.0.0.1:99999/",
        "http://[::1/",
        "http://",
        "ftp://h/",
        "nonsense",
        "",
        "http://a b/",
        "http://h\r\nX: y/",
        f"http://{'a' * 70}.example/",
    ],
)
def test_a_target_that_cannot_be_reached_is_a_broken_attempt(url):
    answer = answer_to(attempt=lambda _url: Attempt(url))
    assert answer.end is End.BROKEN
    assert answer.reason


@pytest.mark.parametrize(
    "header", [("a b", "c"), ("", "c"), ("a", "b\r\nc: d"), ("a", "b\0"), ("é", "c")]
)
def test_a_header_that_cannot_be_sent_is_a_broken_attempt(header):
    answers, raw = dispatched(attempt=lambda url: Attempt(url, headers=(header,)))
    assert answers[0].end is End.BROKEN
    assert raw.requests == []


def test_an_https_target_is_called_if_its_certificate_is_trusted(tmp_path):
    files = self_signed(tmp_path)
    serves = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serves.load_cert_chain(files.certificate, files.key)
    trusting = ssl.create_default_context(cafile=files.certificate)

    async def go() -> tuple[Answer, Answer]:
        async with target(tls=serves) as raw:
            trusted = DispatchClient(tls=trusting)
            answers = (
                await trusted.send(Attempt(raw.url)),
                await DispatchClient().send(Attempt(raw.url)),
            )
            trusted.close()
            return answers

    first, second = asyncio.run(go())
    assert first.status == 200
    assert second.end is End.BROKEN
    assert "certificate" in second.reason


@settings(deadline=None)
@given(
    st.binary(max_size=100)
    | st.binary(max_size=60).map(b"HTTP/1.1 200 OK\r\n".__add__)
    | st.binary(max_size=60).map(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".__add__)
)
def test_any_bytes_are_an_answer_or_a_broken_attempt(reply):
    answer = answer_to(says(reply, then_close=True))
    assert (answer.end is End.ANSWERED) == (answer.status >= 100)
    assert answer.end is not End.TIMED_OUT
