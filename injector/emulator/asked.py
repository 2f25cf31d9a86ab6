"""What the command line asks of an emulator, and the settings that it means."""

from pathlib import Path
from typing import TypedDict

from injector.emulator.api.service import Rules
from injector.emulator.options import Options
from injector.emulator.state.dynamics import PRESETS
from injector.emulator.state.overload import Overload
from injector.emulator.state.registry import Windows
from injector.emulator.transport.ports import Tls
from injector.errors import Misused


class Asked(TypedDict):
    """One value for each option of the command."""

    host: str
    port: int
    control_port: int | None
    tls_certificate: Path | None
    tls_key: Path | None
    app_engine: str
    queues: tuple[str, ...]
    queues_file: Path | None
    topics: tuple[str, ...]
    subscriptions: tuple[str, ...]
    auto_create: bool
    dynamics: str
    speed: float
    origin: float | None
    frozen: bool
    state_file: Path | None
    task_window: float
    queue_window: float
    queue_delay: float
    quotas: bool
    operation_time: float
    accounts: tuple[str, ...]
    locations: tuple[str, ...]
    max_queues: int
    max_task_bytes: int
    issuer: str
    seed: int
    quiet: bool
    as_json: bool
    log_level: str


def options_of(asked: Asked) -> Options:
    """Return an emulator's settings; raises Misused for what cannot work."""
    dynamics = asked["dynamics"]
    return Options(
        host=asked["host"],
        port=asked["port"],
        control_port=asked["control_port"],
        tls=_tls(asked["tls_certificate"], asked["tls_key"]),
        app_engine=_url(asked["app_engine"]),
        queues=asked["queues"],
        queues_file=asked["queues_file"],
        topics=asked["topics"],
        subscriptions=asked["subscriptions"],
        speed=asked["speed"],
        origin=asked["origin"],
        frozen=asked["frozen"],
        dynamics=PRESETS[dynamics],
        overload=Overload() if dynamics == "faithful" else None,
        windows=Windows(task_s=asked["task_window"], queue_s=asked["queue_window"]),
        rules=_rules(asked),
        quotas=asked["quotas"],
        state_file=asked["state_file"],
        seed=asked["seed"],
        issuer=asked["issuer"],
    )


def _rules(asked: Asked) -> Rules:
    return Rules(
        auto_create=asked["auto_create"],
        max_task_bytes=asked["max_task_bytes"],
        service_accounts=frozenset(asked["accounts"]),
        locations=frozenset(asked["locations"]),
        max_queues=asked["max_queues"],
        ready_s=asked["queue_delay"],
        operation_s=asked["operation_time"],
    )


def _tls(certificate: Path | None, key: Path | None) -> Tls | None:
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise Misused("TLS needs both --tls-certificate and --tls-key")
    return Tls(certificate, key)


def _url(address: str) -> str:
    """Return a base URL; the variable of other emulators holds a mere HOST:PORT."""
    if address and "://" not in address:
        address = f"http://{address}"
    return address.rstrip("/")
