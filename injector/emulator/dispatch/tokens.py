"""The tokens that tasks carry: OIDC ones signed with the emulator's own key, OAuth ones opaque."""

import base64
from hashlib import blake2b
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import crypt, jwt

LIFETIME_S = 3600
_REUSED_S = 300.0
_MOST_KEPT = 1000


class Issuer:
    """Signs tokens (RS256) under the name of an issuer whose pages the control port serves.

    The key is made at the first token: it takes a tenth of a second. A token is reused for
    five minutes, as Google's metadata servers do.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._private: rsa.RSAPrivateKey | None = None
        self._signer: crypt.RSASigner | None = None
        self._kept: dict[tuple[str, str], tuple[float, str]] = {}

    def oidc(self, email: str, audience: str, *, now: float) -> str:
        """Return an identity token of a service account for an audience."""
        until, token = self._kept.get((email, audience), (0.0, ""))
        if not until - _REUSED_S <= now < until:
            token = self._sign(email, audience, now)
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[email, audience] = (now + _REUSED_S, token)
        return token

    def oauth(self, email: str, scope: str) -> str:
        """Return an access token; it means nothing to anybody."""
        digest = blake2b(f"{email} {scope}".encode(), digest_size=24).digest()
        return "ya29.emulator-" + base64.urlsafe_b64encode(digest).decode()

    def discovery(self) -> dict[str, object]:
        """Return what `/.well-known/openid-configuration` says."""
        return {
            "issuer": self.name,
            "jwks_uri": f"{self.name}/oauth2/v3/certs",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "claims_supported": ["aud", "email", "email_verified", "exp", "iat", "iss", "sub"],
        }

    def key_set(self) -> dict[str, list[dict[str, str]]]:
        """Return the public key as a JSON Web Key Set."""
        numbers = self._key().public_key().public_numbers()
        key = {
            "kty": "RSA",
            "use": "sig",
            "alg": "RS256",
            "kid": self._key_id(),
            "n": _base64(numbers.n),
            "e": _base64(numbers.e),
        }
        return {"keys": [key]}

    def public_pem(self) -> dict[str, str]:
        """Return the public key in PEM by its id, which google-auth reads as well."""
        pem = (
            self._key()
            .public_key()
            .public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
        )
        return {self._key_id(): pem.decode()}

    def _sign(self, email: str, audience: str, now: float) -> str:
        issued = int(now)
        claims: dict[str, Any] = {
            "iss": self.name,
            "aud": audience,
            "azp": email,
            "sub": str(int.from_bytes(blake2b(email.encode(), digest_size=8).digest(), "big")),
            "email": email,
            "email_verified": True,
            "iat": issued,
            "exp": issued + LIFETIME_S,
        }
        if self._signer is None:
            self._signer = crypt.RSASigner(self._key(), self._key_id())
        return bytes(jwt.encode(self._signer, claims)).decode()

    def _key(self) -> rsa.RSAPrivateKey:
        if self._private is None:
            self._private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        return self._private

    def _key_id(self) -> str:
        number = self._key().public_key().public_numbers().n
        return blake2b(number.to_bytes(256, "big"), digest_size=20).hexdigest()


def _base64(number: int) -> str:
    raw = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
