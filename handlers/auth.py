"""Who may call: tokens that google-auth verifies, or the headers that App Engine vouches for.

`X-CloudTasks-*` headers say nothing here, since anyone can send them. What is logged of a
token is which claim failed, never the token.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from werkzeug.datastructures import Headers

from handlers.keys import GOOGLE_KEYS_URL, Fetched, KeySet, fetch_keys
from handlers.tokens import Claims, Verifier, refused
from injector.errors import Refused
from injector.settings import Settings, is_loopback

GOOGLE_ISSUERS = ("https://accounts.google.com", "accounts.google.com")


class Role(Enum):
    """What a route is for, which decides who may call it."""

    QUEUES = "queues"
    SCHEDULER = "scheduler"
    PEOPLE = "people"


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller that was let in: the e-mail address or the platform's word, for audit lines."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """What is known of a request before its body is read."""

    headers: Headers
    remote: str | None


class Gate:
    """Lets callers in, or raises Refused; raises Retryable while no key set can be had."""

    def __init__(self, settings: Settings, keys: KeySet | None = None) -> None:
        self._settings = settings
        self._tokens = Verifier(keys or KeySet(self._fetch, time.monotonic))
        self._allowed = {
            Role.QUEUES: settings.queue_callers,
            Role.SCHEDULER: settings.scheduler_callers,
            Role.PEOPLE: settings.people,
        }

    def admit(self, call: Call, role: Role) -> Caller:
        """Return who calls."""
        if self._settings.auth == "off":
            return self._local_caller(call)
        if self._settings.auth == "app-engine" and (caller := self._platform_caller(call, role)):
            return caller
        return self._token_caller(call, role)

    def _local_caller(self, call: Call) -> Caller:
        """Let in this machine's own callers, but no page that a browser here has open.

        A web page can call loopback, under a name of its own that resolves there; its Host or
        its Origin gives it away.
        """
        host = call.headers.get("Host", "").rsplit(":", 1)[0].strip("[]")
        origin = call.headers.get("Origin", "")
        if not (is_loopback(call.remote) and is_loopback(host)):
            raise Refused("authentication is off, so only this machine may call")
        if origin and origin.split("://", 1)[-1] != call.headers.get("Host"):
            raise Refused("authentication is off, so no page of another site may call")
        return Caller("local")

    def _platform_caller(self, call: Call, role: Role) -> Caller | None:
        """Return whom App Engine vouches for; it strips these headers from outside requests."""
        queue = call.headers.get("X-AppEngine-QueueName", "")
        if role is Role.QUEUES and queue in self._injector_queue_ids():
            return Caller(f"queue {queue}")
        if role is Role.SCHEDULER and call.headers.get("X-Appengine-Cron") == "true":
            return Caller("cron")
        return None

    def _injector_queue_ids(self) -> set[str]:
        groups = self._settings.groups.values()
        return {queue.rsplit("/", 1)[-1] for group in groups for queue in group.injector_queues}

    def _token_caller(self, call: Call, role: Role) -> Caller:
        claims = self._tokens.claims_of(_bearer_token(call.headers))
        if wrong := wrong_claim(claims, issuers=self._issuers, audience=self._settings.base_url):
            raise refused(wrong)
        email = str(claims["email"]).lower()
        if email not in self._allowed[role]:
            raise Refused(f"{email} is not one of the {role.value} callers", authenticated=True)
        return Caller(email)

    @property
    def _issuers(self) -> Sequence[str]:
        local = self._settings.oidc_issuer
        return (local,) if local else GOOGLE_ISSUERS

    def _fetch(self) -> Fetched:
        return fetch_keys(self._settings.oidc_keys_url or GOOGLE_KEYS_URL)


def wrong_claim(claims: Claims, *, issuers: Sequence[str], audience: str) -> str:
    """Name the claim that does not say what it must; empty when all do."""
    if claims.get("iss") not in issuers:
        return "iss"
    if claims.get("aud") != audience:
        return "aud"
    if claims.get("email_verified") is not True:
        return "email_verified"
    return "" if claims.get("email") else "email"


def _bearer_token(headers: Headers) -> str:
    scheme, _, token = headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Refused("the request carries no bearer token")
    return token.strip()
