"""What operations on a group work with, put together from the settings."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING

from injector.clock import Clock
from injector.control.standing import Watcher
from injector.delivery.address import Address
from injector.delivery.connection import Connection
from injector.delivery.ports import QueueAdmin, TaskTemplate, Token
from injector.errors import Misused
from injector.operations.kind import Ports, Target, Traffic
from injector.operations.traffic import check_reach
from injector.queues.access import admin_at
from injector.settings import Settings

if TYPE_CHECKING:
    from injector.queues.traffic import CloudTraffic

LATE_S = 240.0
"""How long Cloud Monitoring may take to show what has happened; the emulator takes none."""

MONITORING = "monitoring.googleapis.com"
KEEP_WARM_PATH = "/keep-warm"


def ports_of(
    settings: Settings,
    clock: Clock,
    queues: QueueAdmin,
    watcher: Watcher | None,
    traffic: Traffic,
) -> Ports:
    """Put the ports together over queues, a watcher and traffic that are there."""
    return Ports(
        queues,
        clock,
        watcher,
        0.0 if settings.emulator_host else LATE_S,
        _keep_warm(settings),
        traffic,
    )


@contextmanager
def ports_at(settings: Settings) -> Iterator[Ports]:
    """Give the ports over connections of their own; close them afterwards.

    Queues are watched where Cloud Monitoring's client is installed.
    """
    emulator_host = settings.emulator_host or ""
    reach = settings.traffic_services or None
    late = LateTraffic(settings.platforms_host or "", reach)
    with admin_at(emulator_host) as queues, closing(late) as traffic:
        watcher, connection = _watcher(emulator_host)
        try:
            yield ports_of(settings, settings.clock, queues, watcher, traffic)
        finally:
            if connection:
                connection.close()


def watcher_over(connection: Connection) -> Watcher:
    """Return who asks Cloud Monitoring; raise Misused where its client is not installed."""
    try:
        from injector.queues.monitoring import Monitoring  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise Misused(
            "INJECTOR_MONITORING='on' needs the extra `monitoring`: "
            "pip install 'cloud-tasks-injector[monitoring]'"
        ) from error
    return Monitoring(connection)


def monitoring_connection(emulator_host: str) -> Connection:
    """Return a connection to Cloud Monitoring, or to the emulator that stands for it."""
    return Connection(Address(service=MONITORING, emulator_host=emulator_host))


def _watcher(emulator_host: str) -> tuple[Watcher | None, Connection | None]:
    connection = monitoring_connection(emulator_host)
    try:
        return watcher_over(connection), connection
    except Misused:
        return None, None


class LateTraffic:
    """Splits traffic by Google's clients, which take a second to load and so are when needed.

    Raises Misused where they are not installed, and for a service that is not one of `allowed`;
    None leaves that to IAM.
    """

    def __init__(self, host: str, allowed: Collection[str] | None) -> None:
        self._allowed = allowed
        self._opened = ExitStack()
        self._traffic = cache(lambda: self._opened.enter_context(closing(_cloud_traffic(host))))

    def close(self) -> None:
        """Close what was opened."""
        self._opened.close()

    def split(self, service: str) -> Mapping[str, Decimal]:
        """Return the percent of each version that gets any."""
        check_reach(service, self._allowed)
        return self._traffic().split(service)

    def set_split(self, service: str, split: Mapping[str, Decimal], *, shard_by: str) -> None:
        """Split the traffic so."""
        check_reach(service, self._allowed)
        self._traffic().set_split(service, split, shard_by=shard_by)


def _cloud_traffic(host: str) -> "CloudTraffic":
    try:
        from injector.queues.traffic import traffic_at  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise Misused(
            "a service's traffic is moved with the extra `traffic`: "
            "pip install 'cloud-tasks-injector[traffic]'"
        ) from error
    return traffic_at(host)


def _keep_warm(settings: Settings) -> Target | None:
    """Return where no-op tasks go: to the service, as the first of its queue callers."""
    if settings.service_url is None and settings.auth != "off":
        return None
    token = None
    if settings.queue_callers:
        token = Token("oidc", settings.queue_callers[0], settings.base_url)
    return Target(f"{settings.base_url}{KEEP_WARM_PATH}", TaskTemplate(token=token))
