"""Where the service listens, as people write it and as gRPC wants it."""

import re
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Address:
    """Where the service is, and how wide the way to it may be.

    With an `emulator_host` the channel is plain and carries no credentials. `streams` is how
    many calls the server lets run at once on one of the `channels`: more would wait inside
    the channel, unseen and with their deadline running. `root_certificates` (PEM) are trusted in
    place of the well-known ones where given. `by_grpc` takes gRPC's own client in place of ours.
    """

    service: str = SERVICE
    emulator_host: str = ""
    channels: int = 1
    streams: int = 100
    root_certificates: bytes = b""
    by_grpc: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be reached, before the first task is created."""
        self.target()
        if not (1 <= self.channels <= 100 and 1 <= self.streams <= 10_000):
            raise Misused(
                f"channels {self.channels} and streams {self.streams} must be 1 to 100 and"
                " 1 to 10,000"
            )

    @property
    def emulated(self) -> bool:
        """Say whether it is an emulator's; an empty host means that none is set."""
        return bool(self.emulator_host.strip())

    @property
    def width(self) -> int:
        """Return how many calls may be on their way at once."""
        return self.channels * self.streams

    def host_and_port(self) -> tuple[str, int]:
        """Return the two apart; an IPv6 address keeps its brackets."""
        host, _, port = self.target().rpartition(":")
        return host, int(port)

    def target(self) -> str:
        """Return what gRPC is to connect to."""
        if self.emulated:
            return parse_address(self.emulator_host, default_port=EMULATOR_PORT)
        return parse_address(self.service, default_port=SERVICE_PORT)
