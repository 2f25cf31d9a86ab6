"""Who the caller is, as an ID token for one service."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Protocol

import google.auth
from google.auth.credentials import TokenState
from google.auth.exceptions import GoogleAuthError
from google.auth.impersonated_credentials import Credentials as Impersonated
from google.auth.impersonated_credentials import IDTokenCredentials
from google.auth.transport.requests import Request
from google.oauth2.id_token import fetch_id_token_credentials

from injector.delivery.credentials import SCOPE
from injector.errors import Misused

_REMEDY = (
    "run as a service account, name one in INJECTOR_IMPERSONATE for which you have "
    "roles/iam.serviceAccountTokenCreator, or set INJECTOR_TOKEN"
)


class IdCredentials(Protocol):
    """What is used of google-auth's credentials for ID tokens."""

    token: str | None

    @property
    def token_state(self) -> TokenState:
        """Say whether the token is fresh, stale (soon over) or invalid."""

    def refresh(self, request: Request) -> None:
        """Get a new token; blocks."""


def default_identity(audience: str) -> IdCredentials:
    """Find the service account that this process runs as; blocks.

    Or the one that its user impersonates at every login. Raises GoogleAuthError where there is
    none: a user's own credentials make no ID tokens for an audience of one's choice.
    """
    own, _ = google.auth.default(scopes=[SCOPE])
    if isinstance(own, Impersonated):
        return _identity_of(own, audience)
    found: IdCredentials = fetch_id_token_credentials(audience, request=Request())
    return found


def impersonated(account: str, audience: str) -> IdCredentials:
    """Return the identity of a service account, which the caller's own credentials may assume."""
    own, _ = google.auth.default(scopes=[SCOPE])
    if isinstance(own, Impersonated) and own.service_account_email == account:
        return _identity_of(own, audience)  # it need not be allowed to assume itself
    assumed = Impersonated(source_credentials=own, target_principal=account, target_scopes=[SCOPE])
    return _identity_of(assumed, audience)


def _identity_of(assumed: Impersonated, audience: str) -> IdCredentials:
    found: IdCredentials = IDTokenCredentials(assumed, target_audience=audience, include_email=True)
    return found


@dataclass
class IdToken:
    """The token for a service at `audience`, fetched when it is first wanted and when it ends."""

    audience: str
    load: Callable[[], IdCredentials]

    def __post_init__(self) -> None:
        self._lock = Lock()
        self._credentials: IdCredentials | None = None

    def __call__(self) -> str:
        """Return a token that is not over; blocks.

        Raises Misused where there is none to be had, in one line that names what would do.
        """
        try:
            with self._lock:
                return self._fresh()
        except GoogleAuthError as error:
            why = " ".join(str(error.args[0] if error.args else error).split())
            raise Misused(f"no ID token for {self.audience}: {why}; {_REMEDY}") from error

    def _fresh(self) -> str:
        self._credentials = self._credentials or self.load()
        if self._credentials.token_state is not TokenState.FRESH:
            self._credentials.refresh(Request())
        return self._credentials.token or ""


def id_token(audience: str, impersonate: str) -> IdToken:
    """Return the token of a service account that is named, or else of whom this process runs as."""
    if impersonate:
        return IdToken(audience, lambda: impersonated(impersonate, audience))
    return IdToken(audience, lambda: default_identity(audience))
