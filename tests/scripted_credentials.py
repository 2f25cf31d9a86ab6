"""Credentials that do what a test tells them, and a certificate to serve with."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from google.auth.credentials import TokenState
from google.auth.exceptions import RefreshError


@dataclass
class StaticCredentials:
    """Credentials whose token is what the test says; `fails` refreshes fail first."""

    token: str | None
    token_state: TokenState = TokenState.INVALID
    fails: int = 0
    refreshes: int = 0
    quota_project_id: str | None = None

    def refresh(self, _: object) -> None:
        self.refreshes += 1
        if self.refreshes <= self.fails:
            raise RefreshError("the metadata server answered 429")
        self.token_state = TokenState.FRESH


def self_signed() -> tuple[bytes, bytes]:
    """Return a certificate for localhost and its key, in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    return certificate.public_bytes(pem), key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
