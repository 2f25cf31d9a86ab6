"""What every way of serving gRPC takes and answers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

MAX_MESSAGE_BYTES = 128 * 1024 * 1024
"""Room for a batch of 100 tasks of the largest size; a larger request is refused."""


@dataclass(frozen=True, slots=True)
class Tls:
    """The PEM files of a server that speaks TLS: its certificate chain and its private key."""

    certificate: Path
    key: Path


class Server(Protocol):
    """A server that takes calls until it is stopped."""

    @property
    def port(self) -> int:
        """Return the port it listens on, also when any was asked for."""

    async def stop(self, *, grace_s: float) -> None:
        """Take no new calls, let those in flight end within `grace_s` seconds, then close."""
