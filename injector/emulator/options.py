"""What an emulator is started with."""

from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

from injector.emulator.api.service import Rules
from injector.emulator.state.dynamics import PRESETS, Dynamics
from injector.emulator.state.overload import Overload
from injector.emulator.state.registry import Windows
from injector.emulator.timeline import LATEST_S
from injector.emulator.transport.ports import Tls
from injector.errors import Misused

DEFAULT_PORT = 8123
_LAST_PORT = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """An emulator's settings.

    `port` is gRPC's, `control_port` that of REST, control, metrics and status; 0 takes a free one,
    and None for the latter none. `tls` is for gRPC; None leaves it unencrypted. `app_engine` is the
    base URL that stands for every App Engine app. `queues` are made at the start: full names, each
    with its settings after an `=` if it has any; so are `topics` and `subscriptions`. `queues_file`
    is YAML: a list of queues, or lists of each. `speed` and `origin` set the clock; `frozen` starts
    it standing, at `origin` if there is one. `overload` is what too many creates meet, if anything;
    `quotas` limits forced runs and lists as production does. `state_file` keeps the state across
    restarts. `issuer` is the name in OIDC tokens; empty means the control port, where its keys are
    shown.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    control_port: int | None = None
    transport: str = "asyncio"
    tls: Tls | None = None
    app_engine: str = ""
    queues: tuple[str, ...] = ()
    queues_file: Path | None = None
    topics: tuple[str, ...] = ()
    subscriptions: tuple[str, ...] = ()
    speed: float = 1.0
    origin: float | None = None
    frozen: bool = False
    dynamics: Dynamics = PRESETS["gentle"]
    overload: Overload | None = None
    quotas: bool = False
    windows: Windows = field(default_factory=Windows)
    rules: Rules = field(default_factory=Rules)
    state_file: Path | None = None
    seed: int = 0
    issuer: str = ""

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        if not (self.speed > 0 and isfinite(self.speed)):
            raise Misused(f"speed {self.speed}: needs a number above 0")
        for name, value in self._lengths().items():
            if not (value >= 0 and isfinite(value)):
                raise Misused(f"{name} {value}: needs a number that is 0 or more")
        if self.origin is not None and self.origin > LATEST_S:
            raise Misused(f"origin {self.origin}: needs Unix seconds before the year 9000")
        for port in (self.port, self.control_port or 0):
            if not 0 <= port <= _LAST_PORT:
                raise Misused(f"port {port}: needs a number from 0 to {_LAST_PORT}")
        if self.app_engine and not self.app_engine.startswith(("http://", "https://")):
            raise Misused(f"App Engine at {self.app_engine!r}: needs http://HOST:PORT")

    def _lengths(self) -> dict[str, float]:
        return {
            "origin": self.origin or 0.0,
            "task window": self.windows.task_s,
            "queue window": self.windows.queue_s,
            "queue delay": self.rules.ready_s,
            "operation time": self.rules.operation_s,
            "max queues": self.rules.max_queues,
        }

    def issuer_name(self) -> str:
        """Return the name of who issues the tokens."""
        return self.issuer or f"http://{self.host}:{self.control_port or DEFAULT_PORT + 1}"
