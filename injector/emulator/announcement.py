"""What an emulator says once it is up: where it listens, and how to point clients at it."""

import json
from dataclasses import asdict, dataclass

from injector.emulator.options import Options

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104  # only read


@dataclass(frozen=True, slots=True)
class Announcement:
    """Addresses of a running emulator; None for what it does not have."""

    grpc: str
    tls: bool
    control: str | None
    state_file: str | None

    def text(self) -> str:
        """Return a line on where it is, and one on how to use it."""
        parts = [f"gRPC at {self.grpc}{' (TLS)' if self.tls else ''}"]
        parts.append(f"REST and control at {self.control}" if self.control else "no control port")
        parts.append(f"state in {self.state_file}" if self.state_file else "state in memory")
        where = ", ".join(parts)
        return f"Cloud Tasks emulator: {where}\nexport CLOUDTASKS_EMULATOR_HOST={self.grpc}"

    def json(self) -> str:
        """Return the same for programs."""
        return json.dumps({"event": "emulator.started", **asdict(self)})


def announce(options: Options, port: int, control_port: int | None) -> Announcement:
    """Return what to say of an emulator that listens on these ports."""
    host = _EVERYWHERE.get(options.host, options.host)
    host = f"[{host}]" if ":" in host else host
    return Announcement(
        grpc=f"{host}:{port}",
        tls=options.tls is not None,
        control=None if control_port is None else f"http://{host}:{control_port}",
        state_file=None if options.state_file is None else str(options.state_file),
    )
