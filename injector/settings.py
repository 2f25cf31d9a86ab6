"""The environment, read once into one frozen object.

Nothing else reads the environment. All that is wrong is reported together, each with its key,
its value and what it needs.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from ipaddress import ip_address
from itertools import pairwise
from typing import Literal
from urllib.parse import urlsplit

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from injector.clock import Clock, FastClock, SystemClock
from injector.errors import Misused
from injector.setting_types import Address, Emails, Groups, HedgeDelay, Places, Seconds, Url

_PREFIX = "INJECTOR_"
_SHOWN = 80


class Settings(BaseModel):
    """What the environment says. Each field's description is what its value needs to be.

    The first of `queue_callers` is whom the injector's own tasks call as.
    """

    model_config = ConfigDict(frozen=True, populate_by_name=True, extra="forbid")

    ledger_url: str = Field(
        "sqlite:///.injector/ledger.db",
        repr=False,
        pattern=r"^(sqlite|postgres(ql)?)(\+\w+)?://",
        description="a database URL: sqlite:///FILE or postgresql://USER@HOST/NAME",
    )
    groups: Groups = Field(
        default_factory=dict, description="queue groups as YAML or JSON, or the name of a file"
    )
    service_url: Url | None = Field(
        None, description="the service's own base URL, without query, such as https://i.example"
    )
    auth: Literal["oidc", "app-engine", "off"] = Field(
        "oidc", description="oidc, app-engine or off"
    )
    queue_callers: Emails = Field((), description="e-mail addresses, separated by commas")
    scheduler_callers: Emails = Field((), description="e-mail addresses, separated by commas")
    people: Emails = Field((), description="e-mail addresses, separated by commas")
    requests_per_minute: int = Field(
        1200,
        ge=1,
        le=1_000_000,
        description="requests of one person to one process, from 1 to 1000000 a minute",
    )
    oidc_issuer: str | None = Field(None, description="the emulator's issuer, for local runs")
    oidc_keys_url: Url | None = Field(None, description="the emulator's key set, for local runs")

    host: str | None = Field(None, description="the address to listen on")
    port: int = Field(
        8080,
        ge=1,
        le=65535,
        validation_alias=AliasChoices("INJECTOR_PORT", "PORT"),
        description="a port from 1 to 65535",
    )
    workers: int = Field(2, ge=1, le=64, description="a number of processes from 1 to 64")
    threads: int = Field(8, ge=1, le=256, description="a number of threads from 1 to 256")
    instances: int = Field(1, ge=1, le=1000, description="a number of instances from 1 to 1000")
    handler_budget_s: Seconds = Field(45.0, description="seconds above 0 and at most 1800")
    worker_timeout_s: Seconds = Field(60.0, description="seconds above 0 and at most 1800")
    request_timeout_s: Seconds = Field(90.0, description="seconds above 0 and at most 1800")
    dispatch_deadline_s: float = Field(120.0, ge=15, le=1800, description="seconds from 15 to 1800")
    drain_s: float = Field(3.0, gt=0, le=8, description="seconds above 0 and at most 8")

    webhook_secret: str = Field(
        "", repr=False, description="what notices of ended jobs are signed with, such as whsec_…"
    )
    horizon_s: float = Field(180.0, ge=1, le=3600, description="seconds from 1 to 3600")
    refeed_after_s: float = Field(900.0, ge=60, le=86400, description="seconds from 60 to 86400")

    channels: int = Field(1, ge=1, le=100, description="a number of connections from 1 to 100")
    streams: int = Field(100, ge=1, le=10_000, description="calls a connection, from 1 to 10000")
    transport: Literal["http2", "grpc"] = Field(
        "http2", description="http2, or grpc for gRPC's own client"
    )
    throttle_window_s: float = Field(120.0, ge=1, le=3600, description="seconds from 1 to 3600")
    throttle_k: float = Field(1.5, ge=1, le=100, description="a factor from 1 to 100")
    hedge_delay_s: HedgeDelay = Field(1.0, description="seconds from 0.1 to 10, or 0 for no hedges")
    hedge_max_tokens: int = Field(50, ge=1, le=250, description="a number from 1 to 250")
    hedge_refill_ratio: float = Field(
        0.1, ge=0.001, le=0.2, description="a ratio from 0.001 to 0.2"
    )

    clock_speed: float = Field(
        1.0, gt=0, le=10000, allow_inf_nan=False, description="a factor above 0, at most 10000"
    )
    clock_origin: float = Field(0.0, ge=0, allow_inf_nan=False, description="Unix seconds")
    emulator_host: Address | None = Field(
        None,
        validation_alias=AliasChoices("CLOUDTASKS_EMULATOR_HOST", "CLOUD_TASKS_EMULATOR_HOST"),
        description="HOST:PORT, such as 127.0.0.1:8123",
    )
    pubsub_emulator_host: Address | None = Field(
        None,
        validation_alias="PUBSUB_EMULATOR_HOST",
        description="HOST:PORT, such as 127.0.0.1:8123",
    )
    events_topic: str = Field(
        "",
        pattern=r"^(projects/[^/\s]+/topics/[A-Za-z][A-Za-z0-9_.~+%-]*)?$",
        description="a topic that is told of all jobs, as projects/PROJECT/topics/TOPIC",
    )
    monitoring: Literal["on", "off"] = Field("off", description="on or off")
    store_url: str = Field(
        ".injector/chunks",
        description="where chunks are kept: a folder, or a URL such as gs://BUCKET/chunks",
    )
    sources: Places = Field(
        (), description="folders or URLs, separated by commas, such as gs://BUCKET/exports"
    )
    traffic_services: Places = Field(
        (),
        description="what traffic-split may reach, separated by commas, such as "
        "projects/PROJECT/locations/LOCATION/services/SERVICE or apps/APP/services/SERVICE",
    )
    platforms_host: Address | None = Field(
        None, description="HOST:PORT of what stands in for Cloud Run and App Engine in local runs"
    )
    target_url: Url | None = Field(
        None, description="where the target of a local run is called, for new manifests"
    )
    token: str = Field(
        "", repr=False, description="what gcloud auth print-identity-token prints, to call with"
    )
    impersonate: str = Field(
        "",
        pattern=r"^([^@\s]+@[^@\s]+)?$",
        description="a service account's e-mail address, to call the service as",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        "INFO", description="DEBUG, INFO, WARNING or ERROR"
    )
    otlp_endpoint: str = Field(
        "",
        validation_alias=AliasChoices(
            "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
        ),
        pattern=r"^(https?://[^\s]+)?$",
        description="where traces are sent by OTLP over HTTP, such as http://127.0.0.1:4318",
    )
    metrics_dir: str = Field(
        "",
        validation_alias="PROMETHEUS_MULTIPROC_DIR",
        description="a folder in which a service's processes gather their metrics",
    )
    project: str = Field(
        "", validation_alias="GOOGLE_CLOUD_PROJECT", description="a Google Cloud project id"
    )
    cloud_run: str = Field("", validation_alias="K_SERVICE", description="set by Cloud Run")
    app_engine: str = Field("", validation_alias="GAE_ENV", description="set by App Engine")

    @property
    def looks_like_production(self) -> bool:
        """Tell whether this runs on Google's platforms, or says that it is reached from outside."""
        if self.cloud_run or self.app_engine:
            return True
        return self.service_url is not None and not is_loopback(urlsplit(self.service_url).hostname)

    @property
    def base_url(self) -> str:
        """Return the URL that the service's own tasks call, and their audience."""
        return self.service_url or f"http://{self.listen_at}"

    @property
    def listen_on(self) -> str:
        """Return the address to listen on: every one on Google's platforms, else loopback."""
        on_platform = self.cloud_run or self.app_engine
        return self.host or ("0.0.0.0" if on_platform else "127.0.0.1")  # noqa: S104

    @property
    def listen_at(self) -> str:
        """Return address and port as they are written in a URL."""
        host = f"[{self.listen_on}]" if ":" in self.listen_on else self.listen_on
        return f"{host}:{self.port}"

    @property
    def fan_outs_at_once(self) -> int:
        """Return how many fan-outs the service takes at once when all its instances run."""
        return self.instances * self.workers * self.threads

    @property
    def hedge_follows(self) -> bool:
        """Tell whether the hedge's delay follows the live p95: unless someone has chosen one."""
        return "hedge_delay_s" not in self.model_fields_set

    @property
    def clock(self) -> Clock:
        """Return the clock of this run; a local run's processes share speed and origin."""
        if self.clock_speed == 1.0:
            return SystemClock()
        return FastClock(self.clock_speed, self.clock_origin)

    @property
    def pubsub_host(self) -> str:
        """Return where Pub/Sub's emulator is; a run against Cloud Tasks' publishes there, too."""
        return self.pubsub_emulator_host or self.emulator_host or ""

    def warnings(self) -> Iterator[str]:
        """Say what is allowed and yet probably a mistake."""
        if self.emulator_host and self.looks_like_production:
            yield (
                f"CLOUDTASKS_EMULATOR_HOST={self.emulator_host!r} is set where production seems "
                "to run: tasks go to the emulator, none to Cloud Tasks; unset it"
            )
        if self.platforms_host and self.looks_like_production:
            yield (
                f"INJECTOR_PLATFORMS_HOST={self.platforms_host!r} is set where production seems "
                "to run: no traffic of Cloud Run or App Engine is split; unset it"
            )
        if self.pubsub_emulator_host and self.looks_like_production:
            yield (
                f"PUBSUB_EMULATOR_HOST={self.pubsub_emulator_host!r} is set where production "
                "seems to run: messages go to the emulator, none to Pub/Sub; unset it"
            )


def is_loopback(host: str | None) -> bool:
    """Tell whether an address can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host or "").is_loopback
    except ValueError:
        return False


def variables() -> dict[str, FieldInfo]:
    """Return each setting by its environment variable."""
    return {_key(name): field for name, field in Settings.model_fields.items()}


def read_settings() -> Settings:
    """Read the environment; raise Misused that lists every wrong key."""
    settings, faults = _read(os.environ)
    return _faultless(settings, faults)


def read_settings_without_groups() -> Settings:
    """Read the environment but for the queue groups, for those who only ask the service.

    It takes half as long, since groups are YAML.
    """
    settings, faults = _read({**os.environ, _key("groups"): ""})
    return _faultless(settings, faults)


def read_service_settings() -> Settings:
    """Read the environment for a process that serves, which needs more than the command does."""
    settings, faults = _read(os.environ)
    wrong = {fault.key for fault in faults}
    faults += [fault for fault in service_faults(settings) if fault.key not in wrong]
    return _faultless(settings, faults)


@dataclass(frozen=True, slots=True)
class Fault:
    """A wrong key: the value it has, and what it needs."""

    key: str
    value: object
    needs: str

    def __str__(self) -> str:
        """Show the fault on one line; only the first characters of a long value."""
        return f"{self.key}={str(self.value)[:_SHOWN]!r}: {self.needs}"


def service_faults(settings: Settings) -> Iterator[Fault]:
    """Yield what keeps a process from serving with these settings."""
    yield from _budget_faults(settings)
    yield from _caller_faults(settings)
    yield from _emulator_token_faults(settings)
    if not settings.groups:
        yield Fault(_key("groups"), "", "needs at least one queue group")


def _budget_faults(settings: Settings) -> Iterator[Fault]:
    """Each limit ends before the one around it, so that the innermost can still answer."""
    names = ("handler_budget_s", "worker_timeout_s", "request_timeout_s", "dispatch_deadline_s")
    for inner, outer in pairwise(names):
        limit = getattr(settings, outer)
        if getattr(settings, inner) >= limit:
            needs = f"needs to be less than {_key(outer)}, which is {limit:g}"
            yield Fault(_key(inner), f"{getattr(settings, inner):g}", needs)


def _caller_faults(settings: Settings) -> Iterator[Fault]:
    if settings.auth == "off":
        if settings.looks_like_production or not is_loopback(settings.listen_on):
            needs = (
                f"needs oidc or app-engine unless the service is on loopback ({settings.listen_on})"
            )
            yield Fault(_key("auth"), "off", needs)
        return
    if settings.auth == "app-engine" and not settings.app_engine:
        yield Fault(_key("auth"), settings.auth, "needs to run on App Engine; elsewhere use oidc")
    for name in ("service_url", "queue_callers", "scheduler_callers", "people"):
        platform_vouches = settings.auth == "app-engine" and name == "scheduler_callers"
        if not getattr(settings, name) and not platform_vouches:
            yield Fault(_key(name), "", f"needs {Settings.model_fields[name].description}")


def _emulator_token_faults(settings: Settings) -> Iterator[Fault]:
    """Refuse a foreign issuer outside local runs, since whoever holds its key gets in."""
    if not (settings.oidc_issuer or settings.oidc_keys_url):
        return
    issuer = settings.oidc_issuer or ""
    if not (settings.oidc_issuer and settings.oidc_keys_url):
        yield Fault(_key("oidc_issuer"), issuer, f"needs {_key('oidc_keys_url')} beside it")
    if settings.looks_like_production or not settings.emulator_host:
        needs = "needs a local run: an emulator, and a service on loopback; unset it elsewhere"
        yield Fault(_key("oidc_issuer"), issuer, needs)


def _read(environ: Mapping[str, str]) -> tuple[Settings, list[Fault]]:
    """Read what can be read, with the default in place of each value that cannot be used."""
    faults, texts = list(_unknown(environ)), _set(environ)
    try:
        return Settings.model_validate(texts), faults
    except ValidationError as error:
        wrong = {_field_of(str(found["loc"][0])): found for found in error.errors()}
    faults += [_fault(name, found["input"], found["msg"]) for name, found in wrong.items()]
    usable = {name: text for name, text in texts.items() if name not in wrong}
    return Settings.model_validate(usable), faults


def _set(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the text of each field that is set, by its first variable; an empty one is not."""
    found = {
        name: next((text for key in _variables_of(name) if (text := environ.get(key))), "")
        for name in Settings.model_fields
    }
    return {name: text for name, text in found.items() if text}


def _unknown(environ: Mapping[str, str]) -> Iterator[Fault]:
    known = variables()
    for key in sorted(environ):
        if key.upper().startswith(_PREFIX) and key not in known:
            nearest = get_close_matches(key.upper(), known, n=1)
            remedy = f"; did you mean {nearest[0]}?" if nearest else ""
            yield Fault(key, environ[key], f"is not a setting{remedy}")


def _fault(field: str, value: object, message: str) -> Fault:
    if field == "groups":
        return Fault(_key(field), value, message.removeprefix("Value error, "))
    shown = value if Settings.model_fields[field].repr else "…"
    return Fault(_key(field), shown, f"needs {Settings.model_fields[field].description}")


def _field_of(location: str) -> str:
    """Return the field of an error's location, which may be the variable's name."""
    if location in Settings.model_fields:
        return location
    return next(name for name in Settings.model_fields if location in _aliases(name))


def _key(name: str) -> str:
    """Return the environment variable of a field."""
    return _variables_of(name)[0]


def _variables_of(name: str) -> list[str]:
    return _aliases(name) or [f"{_PREFIX}{name.upper()}"]


def _aliases(name: str) -> list[str]:
    alias = Settings.model_fields[name].validation_alias
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
    return [choice for choice in choices if isinstance(choice, str)]


def _faultless(settings: Settings, faults: list[Fault]) -> Settings:
    if faults:
        lines = "\n".join(f"  {fault}" for fault in faults)
        raise Misused(f"the environment has settings that cannot be used:\n{lines}")
    return settings
