"""Where redirects lead an attempt, and what they take along."""

import asyncio

import pytest

from injector.emulator.transport.attempts import Attempt, End
from injector.emulator.transport.dispatch_client import DispatchClient
from tests.emulator.dispatching import answer_to, dispatched
from tests.emulator.raw_target import OK, RawTarget, says, target


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
