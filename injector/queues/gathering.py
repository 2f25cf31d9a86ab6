"""Everything that a diagnosis rests on, asked of Cloud Tasks, Monitoring and Logging.

Needs the extra `monitoring`.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil

from injector.delivery.address import Address
from injector.delivery.connection import Connection
from injector.delivery.ports import Queue, QueueAdmin
from injector.errors import InjectorError, Misused, Retryable
from injector.queues import attempt_logs, time_series
from injector.queues.access import admin_at
from injector.queues.diagnosis import (
    Evidence,
    History,
    Latency,
    Minute,
    QueueEvidence,
    history,
)
from injector.queues.measured import creates_of, minutes_of
from injector.queues.time_series import MINUTE_S, Steps

AT_ONCE = 8
LOOKED_AT = 60
LOGS_OVER_S = 300.0
MOST_STEPS = 1440
LOGS_OFF = (
    "the target's latency, and so how many attempts are under way: no attempt is logged; turn "
    "logs on by gcloud tasks queues update QUEUE --log-sampling-ratio=0.1"
)


@dataclass(frozen=True, slots=True)
class Sources:
    """Whom to ask: Cloud Tasks itself, Monitoring, and Logging."""

    admin: QueueAdmin
    monitoring: Connection
    logging: Connection


@contextmanager
def sources_at(emulator_host: str) -> Iterator[Sources]:
    """Give the sources, at the emulator if there is one; close them afterwards."""
    monitoring, logging = (
        Connection(Address(service=service, emulator_host=emulator_host))
        for service in (time_series.SERVICE, attempt_logs.SERVICE)
    )
    try:
        with admin_at(emulator_host) as admin:
            yield Sources(admin, monitoring, logging)
    finally:
        monitoring.close()
        logging.close()


def gather(queues: Sequence[str], sources: Sources, *, now: float) -> Evidence:
    """Look at queues of one location, over the last hour; what cannot be seen is said.

    Raises Misused if none of the queues can be looked at, and where nothing was measured of
    queues that run.
    """
    unseen: list[str] = []
    found = _settings(queues, sources.admin, unseen)
    steps = Steps.back_from(now, count=LOOKED_AT)
    names = [queue.name for queue in found]
    minutes: Mapping[str, tuple[Minute, ...]] = {}
    try:
        minutes = minutes_of(sources.monitoring, names, steps)
        creates = creates_of(sources.monitoring, names[0], steps)
    except (Misused, Retryable) as error:
        if all(queue.state == "RUNNING" for queue in found):
            raise
        unseen.append(f"rates, answers and depths: {error}")
        creates = ()
    logged = _latencies(names, sources.logging, now - LOGS_OVER_S, unseen)
    if not logged and any(row.left for rows in minutes.values() for row in rows[-5:]):
        unseen.append(LOGS_OFF)
    return Evidence(
        tuple(
            QueueEvidence(
                queue.name,
                queue.state,
                queue.rate,
                queue.concurrency,
                minutes.get(queue.name, ()),
                logged.get(queue.name),
            )
            for queue in found
        ),
        creates,
        tuple(dict.fromkeys(unseen)),
    )


def look_back(queues: Sequence[str], sources: Sources, *, since_s: float, now: float) -> History:
    """Tell how much the queues had to do over that span, in up to 1,440 steps of minutes."""
    step_s = MINUTE_S * max(1, ceil(since_s / MINUTE_S / MOST_STEPS))
    count = max(1, ceil(since_s / step_s))
    steps = Steps.back_from(now, count=count, step_s=step_s)
    return history(minutes_of(sources.monitoring, queues, steps), step_s=step_s)


def _settings(queues: Sequence[str], admin: QueueAdmin, unseen: list[str]) -> list[Queue]:
    """Return the queues as they are set; those that cannot be read are told."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        looks = list(pool.map(lambda name: _look_at(name, admin), queues))
    found = [look for look in looks if isinstance(look, Queue)]
    faults = [look for look in looks if isinstance(look, Misused)]
    if not found:
        raise faults[0]
    unseen.extend(map(str, faults))
    return found


def _look_at(name: str, admin: QueueAdmin) -> Queue | Misused:
    try:
        return admin.get_queue(name)
    except Misused as error:
        return error


def _latencies(
    queues: Sequence[str], logging: Connection, since: float, unseen: list[str]
) -> Mapping[str, Latency]:
    try:
        return attempt_logs.latencies(logging, queues, since=since)
    except InjectorError as error:
        unseen.append(f"the target's latency: {error}")
        return {}
