"""The keys that sign callers' tokens: fetched when first needed, kept, and fetched again."""

import re
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock

import requests
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from injector.errors import Retryable

GOOGLE_KEYS_URL = "https://www.googleapis.com/oauth2/v1/certs"
FETCH_TIMEOUT_S = 5.0
UNKNOWN_KEY_PAUSE_S = 60.0
FAILED_FETCH_PAUSE_S = 5.0
STALE_LIMIT_S = 24 * 3600.0
_MAX_AGE = re.compile(r"max-age=(\d{1,9})")

Keys = Mapping[str, str]
"""Public keys or certificates in PEM, by key id."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A key set and for how many seconds its source says that it holds."""

    keys: Keys
    max_age_s: float


class KeySet:
    """A key set of one process.

    One thread fetches while the others wait. An id that is not in the set causes a fetch at
    most once a minute, so that made-up ids cost nothing; when the source is away, keys that
    are up to a day old go on being used.
    """

    def __init__(self, fetch: Callable[[], Fetched], monotonic: Callable[[], float]) -> None:
        self._fetch = fetch
        self._monotonic = monotonic
        self._lock = Lock()
        self._kept: Keys = {}
        self._fetched_at = float("-inf")
        self._good_until = float("-inf")
        self._not_before = float("-inf")

    def holding(self, key_id: str) -> Keys:
        """Return the keys, fetched anew when they have aged or lack this id.

        Raises Retryable when there are none, since that says nothing about the caller.
        """
        with self._lock:
            now = self._monotonic()
            if self._wants_fetch(key_id, now=now):
                self._refresh(now=now)
            if not self._kept:
                raise Retryable("the key set cannot be fetched", retry_after_s=FAILED_FETCH_PAUSE_S)
            return self._kept

    def _wants_fetch(self, key_id: str, *, now: float) -> bool:
        if now < self._not_before:
            return False
        return now >= self._good_until or key_id not in self._kept

    def _refresh(self, *, now: float) -> None:
        try:
            fetched = self._fetch()
        except Retryable:
            self._not_before = now + FAILED_FETCH_PAUSE_S
            if now - self._fetched_at > STALE_LIMIT_S:
                self._kept = {}
            return
        self._kept = fetched.keys
        self._fetched_at = now
        self._good_until = now + fetched.max_age_s
        self._not_before = now + UNKNOWN_KEY_PAUSE_S


def fetch_keys(url: str) -> Fetched:
    """Fetch a key set, either Google's map of certificates or a JWK set (RFC 7517)."""
    try:
        response = requests.get(url, timeout=FETCH_TIMEOUT_S, allow_redirects=False)
        response.raise_for_status()
        keys = _keys(response.json())
    except (requests.RequestException, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Retryable(f"the key set at {url} cannot be read") from error
    age = _MAX_AGE.search(response.headers.get("Cache-Control", ""))
    return Fetched(keys, min(max(float(age[1]) if age else 3600.0, 300.0), STALE_LIMIT_S))


def _keys(document: Mapping[str, object]) -> Keys:
    listed = document.get("keys")
    if not isinstance(listed, list):
        return {key_id: str(pem) for key_id, pem in document.items()}
    return {key["kid"]: _pem(key) for key in listed if key.get("kty") == "RSA"}


def _pem(key: Mapping[str, str]) -> str:
    """Write an RSA key's two numbers as PEM, which is what google-auth reads."""
    numbers = RSAPublicNumbers(e=_number(key["e"]), n=_number(key["n"]))
    return (
        numbers.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    )


def _number(text: str) -> int:
    return int.from_bytes(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
