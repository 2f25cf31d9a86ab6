"""One refresh for each expiry, whoever asks, and none too soon after one that failed."""

import asyncio
from collections.abc import Callable

import pytest
from google.auth.credentials import TokenState

from injector.delivery.credentials import REVOKED_AFTER_S, AccessToken
from injector.errors import Misused, Retryable
from tests.scripted_credentials import StaticCredentials


def header(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),)


def never_waiting() -> float:
    return 0.0


def always_waiting() -> float:
    return 0.999


def holder(
    credentials: StaticCredentials, draw: Callable[[], float] = never_waiting
) -> AccessToken:
    return AccessToken(lambda: credentials, draw=draw)


def test_sixty_four_who_meet_an_expired_token_cause_one_refresh() -> None:
    credentials = StaticCredentials("a")

    async def ask() -> None:
        token = holder(credentials)
        for expiry in (1, 2):
            credentials.token_state = TokenState.INVALID
            headers = await asyncio.gather(*(token.metadata() for _ in range(64)))
            assert set(headers) == {header("a")}
            assert credentials.refreshes == expiry

    asyncio.run(ask())


def test_a_fresh_token_is_used_without_asking() -> None:
    credentials = StaticCredentials("a")

    async def ask() -> None:
        token = holder(credentials)
        for _ in range(5):
            await token.metadata()

    asyncio.run(ask())
    assert credentials.refreshes == 1


def test_a_token_that_is_soon_over_is_used_while_it_is_renewed() -> None:
    credentials = StaticCredentials("old")

    async def ask() -> None:
        token = holder(credentials)
        await token.metadata()
        credentials.token, credentials.token_state = "new", TokenState.STALE
        assert await token.metadata() == header("old")
        seen = header("old")
        while seen != header("new"):
            await asyncio.sleep(0)
            seen = await token.metadata()

    asyncio.run(ask())
    assert credentials.refreshes == 2


def test_after_a_failed_refresh_nobody_asks_again_too_soon() -> None:
    credentials = StaticCredentials("a", fails=2)

    async def ask() -> None:
        token = holder(credentials, draw=always_waiting)
        for _ in range(10):
            with pytest.raises(Retryable, match="429") as failure:
                await token.metadata()
            assert failure.value.retry_after_s is not None

    asyncio.run(ask())
    assert credentials.refreshes == 1


def test_a_refresh_that_failed_is_made_good_by_the_next() -> None:
    credentials = StaticCredentials("a", fails=2)

    async def ask() -> None:
        token = holder(credentials)
        for _ in range(2):
            with pytest.raises(Retryable):
                await token.metadata()
        assert await token.metadata() == header("a")

    asyncio.run(ask())


def test_a_stale_token_serves_on_while_refreshes_fail() -> None:
    credentials = StaticCredentials("a")

    async def ask() -> None:
        token = holder(credentials, draw=always_waiting)
        await token.metadata()
        credentials.token_state, credentials.fails = TokenState.STALE, 100
        for _ in range(100):
            assert await token.metadata() == header("a")
            await asyncio.sleep(0)

    asyncio.run(ask())
    assert credentials.refreshes <= 2


def test_a_new_token_that_is_refused_is_of_no_use_and_an_old_one_may_have_been_revoked() -> None:
    credentials = StaticCredentials("a")
    clock = [1000.0]

    async def ask() -> None:
        asyncio.get_running_loop().time = lambda: clock[0]
        token = holder(credentials)
        assert not token.refused(await token.metadata())
        revoked = await token.metadata()
        clock[0] += REVOKED_AFTER_S + 1
        assert token.refused(revoked)
        assert token.refused(revoked), "another caller has seen to it already"
        await token.metadata()

    asyncio.run(ask())
    assert credentials.refreshes == 3


def test_the_project_that_is_billed_is_named() -> None:
    credentials = StaticCredentials("a", quota_project_id="payer")

    async def ask() -> None:
        billed = (("x-goog-user-project", "payer"),)
        assert await holder(credentials).metadata() == header("a") + billed

    asyncio.run(ask())


def test_without_credentials_the_message_says_how_to_get_some() -> None:
    def none() -> StaticCredentials:
        raise Misused("no credentials for Cloud Tasks")

    async def ask() -> None:
        with pytest.raises(Misused, match="no credentials"):
            await AccessToken(none, draw=never_waiting).metadata()

    asyncio.run(ask())
