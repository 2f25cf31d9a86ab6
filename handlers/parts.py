"""What the handlers work with: put together once, opening nothing before it is used.

Connections to the ledger and to Cloud Tasks are opened by each process at its first call, so
an application that was made before a fork works after it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from uuid import uuid4

from handlers.logs import failure
from handlers.webhook import Webhooks
from injector.clock import Clock
from injector.control.events import Tells
from injector.control.feed import Call, Feeder, Horizon
from injector.control.notify import Notifies, post_or_publish
from injector.control.operate import Operates
from injector.control.pinning import Pinned
from injector.control.rules import Thresholds
from injector.control.standing import Watcher
from injector.control.take_back import TakesBack
from injector.control.tick import Errand, Ticker
from injector.delivery.address import Address
from injector.delivery.channel import Around, bare
from injector.delivery.connection import Connection
from injector.delivery.creator import Delivery, Mode, make_creator
from injector.delivery.ports import Creator, QueueAdmin, TaskTemplate, Token, Topics
from injector.delivery.publisher import SERVICE as PUBSUB
from injector.delivery.publisher import make_publisher
from injector.delivery.queue_admin import CloudTasksAdmin
from injector.delivery.topics import PubSubTopics
from injector.errors import Misused
from injector.fan_out import OpenJob
from injector.groups import Group
from injector.layout import Layout
from injector.ledger import open_ledger
from injector.ledger.ports import Job, LedgerPort
from injector.manifest import Manifest, compile_job, parse_manifest
from injector.operations.kind import Ports, Traffic
from injector.operations.kinds import KINDS
from injector.operations.runner import Runner
from injector.pacing.hedge import HedgingSettings
from injector.pacing.throttle import ThrottleSettings
from injector.queues.ports import LateTraffic, monitoring_connection, ports_of, watcher_over
from injector.settings import Settings
from injector.staging import Chunk, ChunkReader, Reach, around

JOBS_KEPT = 64
LEASE_S = 30.0
TURN_S = 90.0
PATIENCE_S = 2.0
MOST_PATIENCE_S = 60.0
"""Ticks come each minute, so by a fast clock as well there is no sense in waiting for longer."""

CreatorOf = Callable[[Group, Manifest], Creator]
"""Returns how the records of a group's job leave, as its manifest wants it."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a service; `open_job` remembers the last jobs that it opened.

    `publisher` sends what a topic is told of jobs.
    """

    settings: Settings
    clock: Clock
    ledger: LedgerPort
    queues: QueueAdmin
    open_job: Callable[[Job], OpenJob]
    publisher: Creator
    topics: Topics
    traffic: Traffic
    close: Callable[[], None]
    watcher: Watcher | None = None

    @property
    def webhooks(self) -> Webhooks:
        """Return who calls webhooks."""
        return Webhooks(local=not self.settings.looks_like_production)

    @property
    def reach(self) -> Reach:
        """Return where the service reads records in place."""
        return reach_of(self.settings)

    def ticker(self) -> Ticker:
        """Return the controller; the spans that it waits are of its clock's time."""
        settings = self.settings
        feeder = Feeder(
            self.ledger.jobs,
            self.queues,
            injector_call(settings),
            Horizon(settings.horizon_s, settings.refeed_after_s),
        )
        return Ticker(
            self.ledger,
            self.queues,
            feeder,
            settings.groups,
            self.clock,
            lease_s=LEASE_S * settings.clock_speed,
            patience_s=min(PATIENCE_S * settings.clock_speed, MOST_PATIENCE_S),
            limits=Thresholds().on_clock(settings.clock_speed),
            errands=tuple(self._errands()),
            watcher=self.watcher,
            capacity=settings.fan_outs_at_once,
            alarm=lambda group, error: failure("group.tick_failed", error, group=group),
        )

    def _errands(self) -> Iterator[Errand]:
        yield Operates(self.runner())
        tell = post_or_publish(self.webhooks.post, self.publisher)
        yield Notifies(self.ledger, self.clock, tell, self.settings.webhook_secret)
        yield TakesBack(self.ledger, self.queues, self.open_job, self.clock)
        if topic := self.settings.events_topic:
            yield Tells(self.ledger, self.publisher, self.clock, topic)

    def operation_ports(self) -> Ports:
        """Return what operations on groups work with."""
        settings = self.settings
        return ports_of(
            settings,
            self.clock,
            self.queues,
            self.watcher,
            self.traffic,
        )

    def runner(self) -> Runner:
        """Return what goes on with operations; a turn outlives the handler's budget."""
        settings = self.settings
        return Runner(
            self.ledger,
            self.operation_ports(),
            KINDS,
            self.clock,
            owner=uuid4().hex,
            patience_s=min(PATIENCE_S * settings.clock_speed, MOST_PATIENCE_S),
            lease_s=TURN_S * settings.clock_speed,
        )


def make_parts(settings: Settings, around: Around = bare) -> Parts:
    """Put together what a service in production, or against an emulator, works with.

    Its calls of creates pass what is put `around` each channel.
    """
    clock = settings.clock
    connection = Connection(
        Address(
            emulator_host=settings.emulator_host or "",
            channels=settings.channels,
            streams=settings.streams,
            by_grpc=settings.transport == "grpc",
        ),
        around=around,
    )
    topics = Connection(
        replace(connection.address, service=PUBSUB, emulator_host=settings.pubsub_host),
        around=around,
    )
    creator_of = creators(settings, connection, topics, clock)
    feeding = make_creator(connection, Delivery(mode="single", throttle=None), clock=clock)
    ledger = open_ledger(settings.ledger_url)
    traffic = LateTraffic(settings.platforms_host or "", settings.traffic_services)
    return Parts(
        settings,
        clock,
        ledger,
        CloudTasksAdmin(connection, feeding),
        job_opener(settings, creator_of, ledger),
        _teller(settings, topics, clock),
        PubSubTopics(topics),
        traffic,
        lambda: _close(connection, topics, traffic),
        _watcher(settings),
    )


def _teller(settings: Settings, topics: Connection, clock: Clock) -> Creator:
    """Return the publisher of events, which has no throttle: they are few."""
    delivery = Delivery()
    hedging = _hedging(settings, delivery.call_timeout_s)
    return make_publisher(topics, replace(delivery, throttle=None, hedging=hedging), clock=clock)


def _close(*connections: Connection | LateTraffic) -> None:
    for connection in connections:
        connection.close()


def _watcher(settings: Settings) -> Watcher | None:
    """Return who knows how queues stand, if anyone is to be asked."""
    if settings.monitoring == "off":
        return None
    return watcher_over(monitoring_connection(settings.emulator_host or ""))


def creators(
    settings: Settings, connection: Connection, topics: Connection, clock: Clock
) -> CreatorOf:
    """Make the function that returns a group's creator, one for each way its jobs are sent."""

    @cache
    def tasks_of(group: str, mode: str, timeout_s: float) -> Creator:
        del group  # Each group has its own throttle, and so its own creator.
        delivery = _delivery(settings, timeout_s, mode="auto" if mode == "batch" else "single")
        return make_creator(connection, delivery, clock=clock)

    @cache
    def messages_of(group: str, timeout_s: float, *, ordered: bool) -> Creator:
        del group
        delivery = _delivery(settings, timeout_s)
        delivery = replace(delivery, hedging=None) if ordered else delivery
        return make_publisher(topics, delivery, clock=clock, ordered=ordered)

    def creator_of(group: Group, manifest: Manifest) -> Creator:
        timeout_s = manifest.create_timeout
        if manifest.message is None:
            return tasks_of(group.name, manifest.create_mode, timeout_s)
        return messages_of(group.name, timeout_s, ordered=manifest.message.ordering_key is not None)

    return creator_of


def _delivery(settings: Settings, timeout_s: float, mode: Mode = "auto") -> Delivery:
    return Delivery(
        mode=mode,
        call_timeout_s=timeout_s,
        throttle=ThrottleSettings(settings.throttle_window_s, settings.throttle_k),
        hedging=_hedging(settings, timeout_s),
    )


def _hedging(settings: Settings, timeout_s: float) -> HedgingSettings | None:
    """Return when to hedge; a call that ends before its hedge would be sent has none."""
    if not 0 < settings.hedge_delay_s < timeout_s:
        return None
    return HedgingSettings(
        settings.hedge_delay_s,
        settings.hedge_max_tokens,
        settings.hedge_refill_ratio,
        follow_p95=settings.hedge_follows,
    )


def job_opener(
    settings: Settings, creator_of: CreatorOf, ledger: LedgerPort
) -> Callable[[Job], OpenJob]:
    """Make the function that opens a job, whose manifest and store never change.

    Where its chunks' tasks go, the ledger tells; a job that was removed and came again is another.
    """
    opened = lru_cache(maxsize=JOBS_KEPT)(
        lambda manifest, store, group, names, _registered_at: _open(
            parse_manifest(manifest),
            ChunkReader(store, reach_of(settings)).read,
            group_of(settings, group),
            names,
            creator_of,
            ledger,
        )
    )
    return lambda job: opened(
        job.manifest_json, job.store, job.group, job.named_after, job.registered_at
    )


def group_of(settings: Settings, name: str) -> Group:
    """Return the group of that name; raise Misused that names those there are."""
    if name not in settings.groups:
        known = ", ".join(sorted(settings.groups))
        raise Misused(f"there is no group {name!r} here; there are {known}")
    return settings.groups[name]


def reach_of(settings: Settings) -> Reach:
    """Return where records are read in place: a local run's anywhere on its machine."""
    machine = () if settings.looks_like_production else ("/",)
    return Reach((around(settings.store_url), *settings.sources, *machine))


def _open(  # noqa: PLR0913, PLR0917  (what a job is, and what it is opened with)
    manifest: Manifest,
    read: Callable[[int], Chunk],
    group: Group,
    names: str,
    creator_of: CreatorOf,
    ledger: LedgerPort,
) -> OpenJob:
    pinned = Pinned(lambda: ledger.jobs.pins(names or manifest.job), Layout(group.queues))
    return OpenJob(
        read,
        compile_job(manifest, group, named_after=names, layout_of=pinned.of),
        creator_of(group, manifest),
        manifest.rejects_allowed,
        pinned.fresh_of,
        len(group.queues),
    )


def injector_call(settings: Settings) -> Call:
    """Return what injector tasks call: the service itself, as the first of its queue callers."""
    token = None
    if settings.auth != "off":
        token = Token("oidc", settings.queue_callers[0], settings.base_url)
    template = TaskTemplate(
        headers=(("Content-Type", "application/json"),),
        token=token,
        dispatch_deadline_s=settings.dispatch_deadline_s,
    )
    return Call(f"{settings.base_url}/inject", template)
