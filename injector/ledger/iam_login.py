"""Logging in to Cloud SQL as whom this process runs as: `postgresql://…?login=iam`.

The password is an access token that is good for logging in and nothing else. It is shown when a
connection is opened; one that is open stays so when the token expires.
"""

import threading
from collections.abc import Callable
from typing import Protocol

import google.auth
from google.auth.credentials import TokenState
from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError
from google.auth.transport.requests import Request
from sqlalchemy import Engine, event

from injector.errors import Misused, Retryable

SCOPE = "https://www.googleapis.com/auth/sqlservice.login"


class Credentials(Protocol):
    """What is used of google-auth's credentials."""

    token: str | None

    @property
    def token_state(self) -> TokenState:
        """Say whether the token is fresh, stale (soon over) or invalid."""

    def refresh(self, request: Request) -> None:
        """Get a new token; blocks."""


def log_in_by_token(engine: Engine, token: Callable[[], str]) -> None:
    """Let each connection that the engine opens show a token for its password."""

    def show(
        _dialect: object, _record: object, _arguments: object, parameters: dict[str, object]
    ) -> None:
        parameters["password"] = token()

    event.listen(engine, "do_connect", show)


def own_credentials() -> Credentials:
    """Find the credentials of this machine, as every Google client does; blocks."""
    try:
        credentials, _ = google.auth.default(scopes=[SCOPE])
    except DefaultCredentialsError as error:
        raise Misused(
            "no credentials to log in to the ledger with: run as a service account, or "
            "`gcloud auth application-default login`, or leave login=iam out of its URL"
        ) from error
    found: Credentials = credentials
    return found


class LoginToken:
    """Hands out the token, renewed by one thread for all when it is not fresh."""

    def __init__(self, load: Callable[[], Credentials] = own_credentials) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._credentials: Credentials | None = None

    def __call__(self) -> str:
        """Return the token; raises Retryable when none can be had, Misused without credentials."""
        with self._lock:
            if self._credentials is None:
                self._credentials = self._load()
            if self._credentials.token_state is not TokenState.FRESH:
                _renew(self._credentials)
            return self._credentials.token or ""


def _renew(credentials: Credentials) -> None:
    try:
        credentials.refresh(Request())
    except GoogleAuthError as error:
        raise Retryable(f"no token to log in to the ledger with: {error}") from error
