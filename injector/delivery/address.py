"""Where the service listens, as people write it and as gRPC wants it."""

import re

from injector.errors import Misused

SERVICE = "cloudtasks.googleapis.com"
SERVICE_PORT = 443
EMULATOR_PORT = 8123

_WRITTEN = re.compile(
    r"(?:(?P<scheme>[a-z]+)://)?(?P<host>\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._-]+)(?::(?P<port>\d{1,5}))?/?"
)


def parse_address(written: str, *, default_port: int) -> str:
    """Return `host:port`, without the scheme that people paste along.

    Raises Misused for a path, a port out of range, or an IPv6 address without brackets.
    """
    found = _WRITTEN.fullmatch(written.strip())
    if not found or found["scheme"] not in (None, "http", "https", "dns"):
        raise Misused(f"cannot reach {written!r}: give host:port, such as 127.0.0.1:8123")
    port = int(found["port"] or default_port)
    if not 0 < port < 65536:
        raise Misused(f"cannot reach {written!r}: the port must be 1 to 65535")
    return f"{found['host']}:{port}"
