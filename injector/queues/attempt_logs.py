"""How long targets take, by the attempts that Cloud Logging or the emulator has logged.

Needs the extra `monitoring`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice

from google.cloud.logging_v2 import types

from injector.delivery.connection import Connection
from injector.pacing.histogram import Histogram
from injector.queues.asking import Method, answer_to, beginning
from injector.queues.diagnosis.evidence import Latency

SERVICE = "logging.googleapis.com"
ONE_BY_ONE = 10
"""Up to so many queues are asked about singly: Logging lets a project ask 60 times a minute."""

_LIST = Method(
    "/google.logging.v2.LoggingServiceV2/ListLogEntries",
    "Cloud Logging",
    "grant roles/logging.viewer",
)
_SECONDS = re.compile(r"([0-9]+(?:\.[0-9]+)?)s?")
_READ, _READ_EACH = 1000, 200
_ENOUGH = 5
_Request = types.ListLogEntriesRequest.pb()
_Response = types.ListLogEntriesResponse.pb()
Durations = Mapping[str, Sequence[float]]


def latencies(
    connection: Connection, queues: Sequence[str], *, since: float
) -> Mapping[str, Latency]:
    """Return the latency of each queue of one location, by its newest attempts or the group's."""
    durations = _by_queue(connection, queues, since)
    pool = [seconds for each in durations.values() for seconds in each]
    if not pool:
        return {}
    return {queue: _latency(durations.get(queue, ()), pool) for queue in queues}


def _latency(own: Sequence[float], pool: Sequence[float]) -> Latency:
    pooled = len(own) < min(_ENOUGH, len(pool))
    durations = pool if pooled else own
    p95_s = Histogram.of(durations).quantile_s(0.95) or 0.0
    return Latency(sum(durations) / len(durations), p95_s, len(durations), pooled)


def _by_queue(connection: Connection, queues: Sequence[str], since: float) -> Durations:
    if len(queues) <= ONE_BY_ONE:
        return {
            queue: [seconds for _, seconds in _attempts(connection, [queue], since, _READ_EACH)]
            for queue in queues
        }
    names = {queue.rpartition("/")[2]: queue for queue in queues}
    found: dict[str, list[float]] = {queue: [] for queue in queues}
    for queue_id, seconds in _attempts(connection, queues, since, _READ):
        if queue_id in names:
            found[names[queue_id]].append(seconds)
    return found


def _attempts(
    connection: Connection, queues: Sequence[str], since: float, most: int
) -> Iterator[tuple[str, float]]:
    """Yield the queue and the seconds of each attempt, newest first, at most so many."""
    project = "/".join(queues[0].split("/")[:2])
    request: types.ListLogEntriesRequest = _Request(
        resource_names=[project],
        filter=_filter(queues, since),
        order_by="timestamp desc",
        page_size=most,
    )
    yield from islice(_pages(connection, request, project), most)


def _pages(
    connection: Connection, request: types.ListLogEntriesRequest, project: str
) -> Iterator[tuple[str, float]]:
    about = "resource_names", project
    while True:
        said = answer_to(connection, _LIST, request, about)
        answer = _Response.FromString(said)
        for entry in answer.entries:
            log = entry.json_payload.fields["attemptResponseLog"].struct_value
            if took_s := _SECONDS.fullmatch(log.fields["attemptDuration"].string_value):
                yield entry.resource.labels["queue_id"], float(took_s[1])
        if not answer.next_page_token:
            return
        request.page_token = answer.next_page_token


def _filter(queues: Sequence[str], since: float) -> str:
    ids = [queue.rpartition("/")[2] for queue in queues]
    named = f'="{ids[0]}"' if len(ids) == 1 else f'=~"^{beginning(ids)}"'
    stamp = datetime.fromtimestamp(since, UTC).isoformat().replace("+00:00", "Z")
    return (
        'resource.type="cloud_tasks_queue"'
        f' AND resource.labels.location="{queues[0].split("/")[3]}"'
        f" AND resource.labels.queue_id{named}"
        " AND jsonPayload.attemptResponseLog.attemptDuration:*"
        f' AND timestamp>="{stamp}"'
    )
