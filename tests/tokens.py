"""ID tokens that a test signs with its own key, and the key set to verify them by."""

import base64
import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import crypt, jwt

GOOGLE = "https://accounts.google.com"
SERVICE = "https://injector.example"


def segment(part: object) -> str:
    """Write a part of a token as it is written on the wire."""
    text = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


@cache
def key_of(whose: str) -> rsa.RSAPrivateKey:
    """Make somebody's key, once, since it takes time."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass(frozen=True)
class Signer:
    """Someone who signs tokens."""

    key: rsa.RSAPrivateKey
    key_id: str = "key-1"

    @classmethod
    def new(cls, key_id: str = "key-1", whose: str = "Google") -> "Signer":
        """Make one with somebody's key."""
        return cls(key_of(whose), key_id)

    def claims(self, address: str, /, **changes: object) -> dict[str, object]:
        """Return the claims of a good token, except for the changes; None leaves a claim out."""
        now = int(time.time())
        good = {
            "iss": GOOGLE,
            "aud": SERVICE,
            "email": address,
            "email_verified": True,
            "sub": "1234",
            "iat": now - 5,
            "exp": now + 3600,
        }
        return {name: value for name, value in (good | changes).items() if value is not None}

    def token(self, address: str, /, **changes: object) -> str:
        """Sign a token."""
        pem = self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        signer = crypt.RSASigner.from_string(pem, self.key_id)
        return jwt.encode(signer, self.claims(address, **changes)).decode()

    def certificates(self) -> dict[str, str]:
        """Return the key as Google publishes it: a certificate by key id."""
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tests")])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(self.key.public_key())
            .serial_number(1)
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .sign(self.key, hashes.SHA256())
        )
        return {self.key_id: certificate.public_bytes(serialization.Encoding.PEM).decode()}

    def jwks(self) -> dict[str, list[dict[str, str]]]:
        """Return the key as a JWK set."""
        numbers = self.key.public_key().public_numbers()
        number = {"e": numbers.e, "n": numbers.n}
        parts = {
            name: segment(value.to_bytes((value.bit_length() + 7) // 8, "big"))
            for name, value in number.items()
        }
        return {"keys": [{"kty": "RSA", "alg": "RS256", "kid": self.key_id, **parts}]}
