"""Identity tokens: their signature and time verified by google-auth, each once."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from google.auth import exceptions, jwt

from handlers.keys import KeySet
from injector.errors import Refused

Claims = Mapping[str, object]
SKEW_S = 10
KEPT = 256
_INVALID = (ValueError, TypeError, exceptions.GoogleAuthError)


@dataclass(frozen=True, slots=True)
class _Verified:
    """What a token says that was found good, and the key that its signature was found good by."""

    claims: Claims
    key_id: str
    key: str


class Verifier:
    """Verifies tokens by a key set.

    A queue sends the same token with many tasks. So the last good ones are known again, by
    digest: their signature holds for as long as their key does, and only their time is looked
    at anew. A token that was not found good is never kept, so strangers cannot fill this.
    """

    def __init__(self, keys: KeySet, now: Callable[[], float] = time.time) -> None:
        self._keys = keys
        self._now = now
        self._known: dict[bytes, _Verified] = {}

    def claims_of(self, token: str) -> Claims:
        """Return the claims of a token that is signed by a known key and within its time.

        Raises Refused that names what is wrong, and Retryable while no key set can be had.
        """
        digest = sha256(token.encode()).digest()
        known = self._known.get(digest)
        if known and self._holds(known):
            return known.claims
        verified = self._verify(token)
        if len(self._known) >= KEPT:
            self._known.clear()
        self._known[digest] = verified
        return verified.claims

    def _holds(self, known: _Verified) -> bool:
        """Tell whether the token is still within its time, and its key still the key set's."""
        if untimely_claim(known.claims, now=self._now()):
            return False
        return self._keys.holding(known.key_id).get(known.key_id) == known.key

    def _verify(self, token: str) -> _Verified:
        try:
            key_id = str(jwt.decode_header(token).get("kid"))
            untimely = untimely_claim(jwt.decode(token, verify=False), now=self._now())
        except _INVALID as error:
            raise refused("form") from error
        if untimely:
            raise refused(untimely)
        keys = self._keys.holding(key_id)
        try:
            claims: Claims = jwt.decode(token, certs=keys, clock_skew_in_seconds=SKEW_S)
        except _INVALID as error:
            raise refused("signature") from error
        return _Verified(claims, key_id, keys.get(key_id, ""))


def untimely_claim(claims: Claims, *, now: float) -> str:
    """Name the claim that keeps a token from being used now; empty when none does."""
    issued, expires = claims.get("iat"), claims.get("exp")
    if not isinstance(issued, int | float) or now < issued - SKEW_S:
        return "iat"
    if not isinstance(expires, int | float) or now > expires + SKEW_S:
        return "exp"
    return ""


def refused(claim: str) -> Refused:
    """Make the verdict on a token, which names a claim and never the token."""
    return Refused(f"the token's {claim} is not what it must be")
