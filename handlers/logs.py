"""Logs as JSON lines that Cloud Logging understands: events with fields, one for each thing.

Payloads and tokens are never among the fields.
"""

import json
import logging
import re
from datetime import UTC, datetime

import orjson
from flask import g, has_request_context

log = logging.getLogger("injector")

_LEVELS = logging.getLevelNamesMapping()
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
_CLOUD_TRACE = re.compile(r"([0-9a-f]{32})(?:/\d+)?(?:;.*)?")


def event(name: str, severity: str = "INFO", **fields: object) -> None:
    """Log that something happened, in the dotted past tense."""
    level = _LEVELS[severity]
    words = " ".join(f"{key}={value}" for key, value in fields.items())
    log.log(level, "%s %s", name, words, extra={"event": name, "fields": fields})


def failure(name: str, error: BaseException, **fields: object) -> None:
    """Log what nobody expected, with where it came from."""
    log.error("%s", name, extra={"event": name, "fields": fields}, exc_info=error)


def trace_of(traceparent: str, cloud_trace: str) -> str:
    """Return the trace id of a request's headers; empty when they carry none."""
    found = _TRACEPARENT.fullmatch(traceparent) or _CLOUD_TRACE.fullmatch(cloud_trace)
    return found[1] if found else ""


class JsonLines(logging.Formatter):
    """Formats records as JSON lines; `project` makes a trace id the name of a trace."""

    def __init__(self, project: str = "") -> None:
        super().__init__()
        self._project = project

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        line: dict[str, object] = {
            "severity": record.levelname,
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "message": record.getMessage().strip(),
            "logger": record.name,
        }
        if name := getattr(record, "event", ""):
            line |= {"event": name} | getattr(record, "fields", {})
        if record.exc_info:
            line["stack_trace"] = self.formatException(record.exc_info)
        if trace := _current_trace():
            line["logging.googleapis.com/trace"] = self._trace_name(trace)
        return _json(line)

    def _trace_name(self, trace: str) -> str:
        return f"projects/{self._project}/traces/{trace}" if self._project else trace


def _json(line: dict[str, object]) -> str:
    """Write the line; what orjson refuses, such as half of a surrogate pair, takes longer."""
    try:
        return orjson.dumps(line, default=str).decode()
    except orjson.JSONEncodeError:
        return json.dumps(line, default=str)


def _current_trace() -> str:
    return str(g.get("trace", "")) if has_request_context() else ""


def log_config(level: str, project: str) -> dict[str, object]:
    """Return the logging configuration of a process that serves: JSON lines on stdout."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": "handlers.logs.JsonLines", "project": project}},
        "handlers": {
            "stdout": {
                "class": "logging.StreamHandler",
                "formatter": "lines",
                "stream": "ext://sys.stdout",
            }
        },
        "root": {"level": "WARNING", "handlers": ["stdout"]},
        "loggers": {
            "injector": {"level": level},
            "gunicorn.error": {"level": level, "handlers": [], "propagate": True},
        },
    }
