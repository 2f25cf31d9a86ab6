"""What is sent to a target, to the letter, and what is made of whatever comes back."""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from injector.emulator.transport import event_loop, target_connection
from injector.emulator.transport.attempts import Answer, Attempt, End
from injector.emulator.transport.dispatch_client import DispatchClient
from tests.emulator.certificates import self_signed
from tests.emulator.raw_target import OK, RawTarget, says, target


def dispatched(
    script=None, *, attempt: Callable[[str], Attempt] = Attempt, times: int = 1
) -> tuple[list[Answer], RawTarget]:
    """Send an attempt to a target, some times one after the other."""

    async def go() -> tuple[list[Answer], RawTarget]:
        async with target(script) as raw:
            client = DispatchClient()
            answers = [await client.send(attempt(raw.url)) for _ in range(times)]
            client.close()
            return answers, raw

    return event_loop.run(go())


def answer_to(script=None, *, attempt: Callable[[str], Attempt] = Attempt) -> Answer:
    return dispatched(script, attempt=attempt)[0][0]


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


@dataclass
class HandClock:
    """A clock that moves only when it is told to."""

    now: float = 1000.0
    due: list[tuple[float, Callable[[], None]]] = field(default_factory=list)

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Callable[[], None], /) -> "HandClock":
        self.due.append((self.now + delay, callback))
        return self

    def cancel(self) -> None:
        """Let what is due come for nothing: an attempt that has ended takes no notice."""

    def advance(self, seconds: float) -> None:
        self.now += seconds
        due, self.due = self.due, []
        for at, callback in due:
            if at <= self.now:
                callback()
            else:
                self.due.append((at, callback))


async def never(reader: asyncio.StreamReader, _writer: object, _request: bytes) -> None:
    await reader.readexactly(1)


def test_an_attempt_ends_at_its_deadline_by_the_emulators_clock():
    async def go() -> Answer:
        clock = HandClock()
        async with target(never) as raw:
            client = DispatchClient(timers=clock)
            sending = asyncio.create_task(client.send(Attempt(raw.url, deadline_s=600)))
            await raw.asked.wait()
            clock.advance(599)
            await asyncio.sleep(0)
            assert not sending.done()
            clock.advance(1)
            return await sending

    answer = asyncio.run(go())
    assert (answer.end, answer.status, answer.latency_s) == (End.TIMED_OUT, 0, 600)


def test_latency_counts_in_the_emulators_clock():
    async def go() -> Answer:
        clock = HandClock()

        async def slow(_reader: object, writer: asyncio.StreamWriter, _request: bytes) -> None:
            clock.advance(42)
            writer.write(OK)

        async with target(slow) as raw:
            client = DispatchClient(timers=clock)
            answer = await client.send(Attempt(raw.url))
            client.close()
            return answer

    assert asyncio.run(go()).latency_s == 42


def test_a_cancelled_attempt_hangs_up():
    async def go() -> None:
        gone = asyncio.Event()

        async def until_gone(
            reader: asyncio.StreamReader, _writer: asyncio.StreamWriter, _request: bytes
        ) -> None:
            await reader.read()
            gone.set()

        async with target(until_gone) as raw:
            sending = asyncio.create_task(DispatchClient().send(Attempt(raw.url)))
            await raw.asked.wait()
            sending.cancel()
            async with asyncio.timeout(10):
                await gone.wait()
            assert sending.cancelled()

    asyncio.run(go())


def test_no_more_connections_are_open_than_allowed_and_every_attempt_gets_its_turn():
    async def go() -> tuple[list[Answer], int]:
        async with target() as raw:
            client = DispatchClient(most_connections=3)
            answers = await asyncio.gather(*(client.send(Attempt(raw.url)) for _ in range(50)))
            client.close()
            return answers, raw.connections

    answers, connections = asyncio.run(go())
    assert [answer.status for answer in answers] == [200] * 50
    assert connections == 3


async def all_at_once(client: DispatchClient, url: str, count: int) -> list[Answer]:
    return await asyncio.gather(*(client.send(Attempt(url)) for _ in range(count)))


def test_attempts_that_are_due_at_once_share_connections_to_a_fast_target():
    async def go() -> tuple[list[Answer], int]:
        async with target() as raw:
            client = DispatchClient()
            answers = await all_at_once(client, raw.url, 400)
            client.close()
            return answers, raw.connections

    answers, connections = event_loop.run(go())
    assert [answer.status for answer in answers] == [200] * 400
    assert connections < 300


def test_attempts_at_a_slow_target_are_all_under_way_at_once():
    async def go() -> list[Answer]:
        here: list[bytes] = []
        all_here = asyncio.Event()

        async def when_all_are_here(
            _reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
        ) -> None:
            here.append(request)
            if len(here) == 100:
                all_here.set()
            await all_here.wait()
            writer.write(OK)

        async with target(when_all_are_here) as raw, asyncio.timeout(20):
            client = DispatchClient()
            answers = await all_at_once(client, raw.url, 100)
            client.close()
            return answers

    assert [answer.status for answer in event_loop.run(go())] == [200] * 100


def test_attempts_that_are_cancelled_while_they_wait_keep_no_other_from_being_sent():
    async def go() -> Answer:
        async with target() as raw, asyncio.timeout(20):
            client = DispatchClient()
            sending = [asyncio.create_task(client.send(Attempt(raw.url))) for _ in range(200)]
            await raw.asked.wait()
            for task in sending:
                task.cancel()
            await asyncio.gather(*sending, return_exceptions=True)
            answer = await client.send(Attempt(raw.url))
            client.close()
            return answer

    assert event_loop.run(go()).status == 200


def test_a_target_that_is_down_breaks_every_attempt():
    async def go() -> list[Answer]:
        async with asyncio.timeout(20):
            return await all_at_once(DispatchClient(), "http://127.0.0.1:1/", 100)

    assert {answer.end for answer in event_loop.run(go())} == {End.BROKEN}


def test_a_deadline_also_ends_the_wait_for_a_connection():
    async def go() -> list[Answer]:
        clock = HandClock()
        async with target(never) as raw, asyncio.timeout(20):
            client = DispatchClient(timers=clock)
            sending = asyncio.create_task(all_at_once(client, raw.url, 100))
            await raw.asked.wait()
            clock.advance(600)
            return await sending

    assert {answer.end for answer in event_loop.run(go())} == {End.TIMED_OUT}


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


def redirect(status: int, to: str) -> bytes:
    return f"HTTP/1.1 {status} Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n".encode()


def test_a_redirect_is_the_answer_unless_it_may_be_followed():
    answers, raw = dispatched(says(redirect(302, "/b"), OK))
    assert (answers[0].status, len(raw.requests)) == (302, 1)


@pytest.mark.parametrize(
    ("status", "second"),
    [
        (301, b"GET /b HTTP/1.1"),
        (302, b"GET /b HTTP/1.1"),
        (303, b"GET /b HTTP/1.1"),
        (307, b"POST /b HTTP/1.1"),
        (308, b"POST /b HTTP/1.1"),
    ],
)
def test_a_redirect_is_followed_as_its_status_says(status, second):
    answers, raw = dispatched(
        says(redirect(status, "/b"), OK),
        attempt=lambda url: Attempt(f"{url}/a", body=b"x", redirects=1),
    )
    assert answers[0].status == 200
    assert raw.requests[1].startswith(second)
    assert raw.requests[1].endswith(b"x") is second.startswith(b"POST")


def test_redirects_are_followed_so_often_and_no_further():
    answers, raw = dispatched(
        says(redirect(302, "/again")), attempt=lambda url: Attempt(url, redirects=4)
    )
    assert (answers[0].status, len(raw.requests)) == (302, 5)


def test_a_redirect_to_nowhere_is_a_broken_attempt():
    answer = answer_to(
        says(redirect(302, "ftp://x/")), attempt=lambda url: Attempt(url, redirects=1)
    )
    assert answer.end is End.BROKEN


def test_another_server_is_not_shown_the_token():
    async def go() -> RawTarget:
        async with target() as other, target(says(redirect(307, f"{other.url}/b"))) as raw:
            client = DispatchClient()
            headers = (("Authorization", "Bearer t"), ("X-A", "b"))
            await client.send(Attempt(raw.url, headers=headers, redirects=1))
            client.close()
            return other

    request = asyncio.run(go()).requests[0]
    assert b"X-A: b" in request
    assert b"Bearer" not in request


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
