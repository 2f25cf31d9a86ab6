"""How gunicorn serves: `gunicorn --config python:handlers.gunicorn_config`.

A script that gunicorn runs, in the process that starts the workers. It must not import
prometheus_client, which decides as it is imported whether processes share their metrics.

The limits are nested: the handler's own budget ends first, then the worker's, the platform's,
and at last the queue's dispatch deadline. On SIGTERM a worker takes no more work and has 10
seconds; calls to Cloud Tasks that still run after 3 are cut, and their chunk is handed back.
"""

import gc
import resource
import signal
import sys
from shutil import rmtree
from tempfile import mkdtemp
from types import FrameType
from typing import Protocol

from flask import Flask

from handlers.logs import log_config
from injector.errors import Misused
from injector.pacing.limiter import pool_threads
from injector.settings import Settings, read_service_settings

MOST_CONNECTIONS = 1000


class Worker(Protocol):
    """What is used of gunicorn's worker: the application that it serves."""

    wsgi: Flask


def _settings() -> Settings:
    """Read the environment; what is wrong with it is shown as it is, without a traceback."""
    try:
        return read_service_settings()
    except Misused as error:
        sys.stderr.write(f"injector: {error}\n")
        raise SystemExit(2) from error


def _connections() -> int:
    """Return how many callers a worker keeps connected: they take half of its files at most."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if files < 0 else min(MOST_CONNECTIONS, files // 2)


_read = _settings()
_metrics_dir = _read.metrics_dir or mkdtemp(prefix="injector-metrics-")

wsgi_app = "handlers.wsgi:application()"
bind = [_read.listen_at]
workers = _read.workers
worker_class = "handlers.worker.PromptWorker"
threads = pool_threads(_read.threads)
timeout = int(_read.worker_timeout_s)
graceful_timeout = 10
keepalive = 75
worker_connections = _connections()
control_socket_disable = True
forwarded_allow_ips = "127.0.0.1,::1"
logger_class = "handlers.gunicorn_log.QuietLog"
logconfig_dict = log_config(_read.log_level, _read.project)
raw_env = [f"PROMETHEUS_MULTIPROC_DIR={_metrics_dir}"]


def post_worker_init(worker: Worker) -> None:
    """Let SIGTERM begin the drain before it stops the worker, and spare the garbage collector.

    What is loaded by now stays loaded. Left to the collector, all of it is walked again every
    few chunks, which takes a fifth of the time that a create costs.
    """
    gc.collect()
    gc.freeze()
    drain = worker.wsgi.extensions["drain"]
    stop = signal.getsignal(signal.SIGTERM)

    def end(number: int, frame: FrameType | None) -> None:
        drain.begin()
        if callable(stop):
            stop(number, frame)

    signal.signal(signal.SIGTERM, end)


def on_exit(_server: object) -> None:
    """Remove the metrics' folder, if it was made here."""
    if not _read.metrics_dir:
        rmtree(_metrics_dir, ignore_errors=True)
