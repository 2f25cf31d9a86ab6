"""The access token of this process, refreshed once for all who use it."""

import asyncio
from collections.abc import Callable
from typing import Protocol

import google.auth
from google.auth.credentials import TokenState
from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError
from google.auth.transport.requests import Request

from injector.errors import Misused, Retryable
from injector.pacing.backoff import full_jitter

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
FIRST_BACKOFF_S = 0.5
LONGEST_BACKOFF_S = 30.0
REVOKED_AFTER_S = 60.0

Metadata = tuple[tuple[str, str], ...]


class Credentials(Protocol):
    """What is used of google-auth's credentials."""

    token: str | None

    @property
    def token_state(self) -> TokenState:
        """Say whether the token is fresh, stale (soon over) or invalid."""

    def refresh(self, request: Request) -> None:
        """Get a new token; blocks."""


def application_default() -> Credentials:
    """Find the credentials of this machine, as every Google client does; blocks."""
    try:
        credentials, _ = google.auth.default(scopes=[SCOPE])
    except DefaultCredentialsError as error:
        raise Misused(
            "no credentials for Cloud Tasks: run `gcloud auth application-default login`, run as a"
            " service account, or set CLOUDTASKS_EMULATOR_HOST for an emulator"
        ) from error
    found: Credentials = credentials
    return found


class AccessToken:
    """Hands out the token as metadata; lives on one loop.

    Whoever meets an expired token waits for the one refresh that is under way. A token that is
    only about to expire is used on while it is refreshed. After a failed refresh the next one
    waits, longer each time, and until then everyone is told so at once: a metadata server that
    answers 429 must not be asked more often for it.
    """

    def __init__(self, load: Callable[[], Credentials], *, draw: Callable[[], float]) -> None:
        self._load = load
        self._draw = draw
        self._loop = asyncio.get_running_loop()
        self._credentials: Credentials | None = None
        self._metadata: Metadata = ()
        self._refreshing: asyncio.Task[None] | None = None
        self._refreshed_at = self._not_before = 0.0
        self._failed = 0
        self._failure = ""

    async def metadata(self) -> Metadata:
        """Return the authorization header.

        Raises Retryable while refreshes fail, and Misused where there are no credentials.
        """
        state = self._credentials.token_state if self._credentials else TokenState.INVALID
        if state is not TokenState.FRESH or not self._metadata:
            await self._renew(usable=state is TokenState.STALE and bool(self._metadata))
        return self._metadata

    def refused(self, metadata: Metadata) -> bool:
        """Hear that the service refused this header; say whether a new token may help.

        It may if it was no new one: tokens can be revoked before they expire.
        """
        if metadata is not self._metadata:
            return True
        self._metadata = ()
        return self._loop.time() - self._refreshed_at > REVOKED_AFTER_S

    async def _renew(self, *, usable: bool) -> None:
        if self._refreshing is None:
            if self._loop.time() < self._not_before:
                if usable:
                    return
                raise Retryable(self._failure, retry_after_s=self._not_before - self._loop.time())
            self._refreshing = self._loop.create_task(self._refresh())
            self._refreshing.add_done_callback(self._refreshed)
        if not usable:
            await asyncio.shield(self._refreshing)

    async def _refresh(self) -> None:
        try:
            self._metadata = await self._loop.run_in_executor(None, self._fetch)
        except GoogleAuthError as error:
            self._failed += 1
            wait = full_jitter(
                self._failed, first_s=FIRST_BACKOFF_S, most_s=LONGEST_BACKOFF_S, draw=self._draw()
            )
            self._not_before = self._loop.time() + wait
            self._failure = f"no access token: {error}"
            raise Retryable(self._failure, retry_after_s=wait) from error
        self._failed = 0
        self._refreshed_at = self._loop.time()

    def _fetch(self) -> Metadata:
        if self._credentials is None:
            self._credentials = self._load()
        self._credentials.refresh(Request())
        return _as_metadata(self._credentials)

    def _refreshed(self, task: asyncio.Task[None]) -> None:
        self._refreshing = None
        if not task.cancelled():
            task.exception()


def _as_metadata(credentials: Credentials) -> Metadata:
    """Write the token as headers, with the project that is billed, where one is named."""
    billed = getattr(credentials, "quota_project_id", None)
    header = ("authorization", f"Bearer {credentials.token}")
    return (header, ("x-goog-user-project", billed)) if billed else (header,)
