"""Logging's ListLogEntries, so that google-cloud-logging works against the emulator."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

from google.cloud.logging_v2 import types

from injector.emulator.api import messages, pages, paths
from injector.emulator.api.methods import Method
from injector.emulator.api.refusals import invalid
from injector.emulator.api.service import Service
from injector.emulator.filtering.parser import compile_filter
from injector.emulator.filtering.values import Reader, Value, at_path
from injector.emulator.records.operations_log import Entry, OperationsLog

_LOG = "cloudtasks.googleapis.com%2Ftask_operations_log"
_LARGEST_PAGE = 1000
_DEBUG, _ERROR = 100, 500
_SEVERITIES = {
    "default": 0,
    "debug": 100,
    "info": 200,
    "notice": 300,
    "warning": 400,
    "error": 500,
    "critical": 600,
    "alert": 700,
    "emergency": 800,
}
_SEVERITY = re.compile(r'(\bseverity\s*[<>!=:]+\s*)"?([A-Za-z]+)"?')


def methods(log: OperationsLog) -> dict[str, Method]:
    """Return the methods of the logging service that are answered."""
    name = "/google.logging.v2.LoggingServiceV2/ListLogEntries"
    return {name: Method(types.ListLogEntriesRequest.pb(), partial(_answer, log))}


def _answer(log: OperationsLog, service: Service, request: messages.Message) -> bytes:
    response = list_log_entries(log, service, types.ListLogEntriesRequest.wrap(request))
    return bytes(types.ListLogEntriesResponse.serialize(response))


def list_log_entries(
    log: OperationsLog, service: Service, request: types.ListLogEntriesRequest
) -> types.ListLogEntriesResponse:
    """Return a page of the entries that pass the filter, in the order of their times."""
    accepts = compile_filter(_plain(request.filter), _field)
    newest_first = _is_newest_first(request.order_by)
    scope = f"entries/{'/'.join(request.resource_names)}/{request.filter}/{newest_first}"
    after = int(pages.read(request.page_token, scope=scope, now=service.now()) or 0)
    size = pages.size(request.page_size, _LARGEST_PAGE)
    projects = {name.removeprefix("projects/").partition("/")[0] for name in request.resource_names}
    response = types.ListLogEntriesResponse()
    for entry in _ordered(log, after, newest_first=newest_first):
        tree = _tree(entry)
        if _project(entry) not in projects or not accepts(tree):
            continue
        if len(response.entries) == size:
            last = str(after)
            response.next_page_token = pages.write(last, scope=scope, now=service.now())
            break
        response.entries.append(_entry(entry, tree))
        after = entry.number
    return response


def _ordered(log: OperationsLog, after: int, *, newest_first: bool) -> Iterator[Entry]:
    if newest_first:
        return (e for e in reversed(log.entries) if not after or e.number < after)
    return (entry for entry in log.entries if entry.number > after)


def _is_newest_first(order_by: str) -> bool:
    if order_by not in ("", "timestamp asc", "timestamp desc", "timestamp"):
        raise invalid("order_by must be 'timestamp asc' or 'timestamp desc'.")
    return order_by == "timestamp desc"


def _plain(text: str) -> str:
    """Return a filter on one line, without comments, and with severities as their numbers."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("--")]
    return _SEVERITY.sub(lambda found: found[1] + _rank(found[2]), " ".join(lines))


def _rank(severity: str) -> str:
    return str(_SEVERITIES.get(severity.casefold(), severity))


def _field(name: str) -> Reader:
    root = name.partition(".")[0]
    if root not in (
        "logName",
        "resource",
        "severity",
        "timestamp",
        "jsonPayload",
        "insertId",
        "labels",
    ):
        raise invalid(f"Invalid filter: '{name}' is not a field of these entries.")
    if name == "severity":
        return _severity
    return at_path(tuple(name.split(".")))


def _severity(tree: object) -> list[Value]:
    return [float(_SEVERITIES.get(str(at_path(("severity",))(tree)[0]), 0))]


def _project(entry: Entry) -> str:
    return entry.queue.split("/", 2)[1]


def _tree(entry: Entry) -> dict[str, object]:
    where = paths.location(paths.location_of_queue(entry.queue))
    return {
        "logName": f"projects/{where.project}/logs/{_LOG}",
        "insertId": f"{entry.number:012d}",
        "resource": {
            "type": "cloud_tasks_queue",
            "labels": {
                "project_id": where.project,
                "location": where.location,
                "queue_id": entry.queue.rpartition("/")[2],
                "target_type": entry.target_type,
            },
        },
        "severity": "ERROR" if entry.is_error else "DEBUG",
        "timestamp": str(entry.at),
        "jsonPayload": entry.payload,
    }


def _entry(entry: Entry, tree: dict[str, object]) -> types.LogEntry:
    message = types.LogEntry(
        log_name=tree["logName"],
        insert_id=tree["insertId"],
        severity=_ERROR if entry.is_error else _DEBUG,
        resource=tree["resource"],
        timestamp=datetime.fromtimestamp(entry.at, UTC),
    )
    messages.ParseDict(dict(entry.payload), types.LogEntry.pb(message).json_payload)
    return message
