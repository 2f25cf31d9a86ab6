"""The service as gunicorn runs it, in processes of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import requests
import tenacity

from injector.clock import SystemClock
from injector.manifest import load_manifest
from injector.staging import Source, stage
from tests.bench import GROUP, MANIFEST
from tests.scripted_service import Service

GROUPS = json.dumps(
    {
        "groups": {
            "welcome": {
                "injector_queues": ",".join(GROUP.injector_queues),
                "queues": ",".join(GROUP.queues),
            }
        }
    }
)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass
class Served:
    """A gunicorn with its workers, and a Cloud Tasks that does what a test says."""

    process: subprocess.Popen
    url: str
    tasks: Service
    folder: Path
    log: Path

    def submit(self, records=2000):
        body = submission(self.folder, records)
        assert requests.post(f"{self.url}/jobs", json=body, timeout=10).status_code == 201

    def deliver(self, chunk):
        task = {"version": 1, "job": "welcome-1", "chunk": chunk}
        return requests.post(f"{self.url}/inject", json=task, timeout=30)

    def end(self):
        """Send SIGTERM and return the exit code; gunicorn kills a worker that lasts 10 seconds."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


def spawn(folder, log, emulator, *arguments: str, **environ: str):
    usual = {
        "PATH": os.environ["PATH"],
        "INJECTOR_GROUPS": GROUPS,
        "INJECTOR_AUTH": "off",
        "INJECTOR_LEDGER_URL": f"sqlite:///{folder}/ledger.db",
        "INJECTOR_STORE_URL": f"{folder}/chunks",
        "INJECTOR_WORKERS": "1",
        "CLOUDTASKS_EMULATOR_HOST": emulator,
    }
    command = [sys.executable, "-m", "gunicorn", "-c", "python:handlers.gunicorn_config"]
    with log.open("wb") as output:
        return subprocess.Popen(
            [*command, *arguments], env=usual | environ, stdout=output, stderr=subprocess.STDOUT
        )


def stop(process):
    if process.poll() is None:
        process.terminate()
        process.wait(20)


def until(condition):
    """Wait until something holds, at most a minute: the machine may be busy."""
    attempts = tenacity.Retrying(
        stop=tenacity.stop_after_delay(60),
        wait=tenacity.wait_fixed(0.02),
        retry=tenacity.retry_if_result(lambda holds: not holds),
    )
    return attempts(condition)


def await_ready(served):
    def ready():
        assert served.process.poll() is None, served.log.read_text()
        try:
            return requests.get(f"{served.url}/readyz", timeout=5).ok
        except requests.RequestException:
            return False

    until(ready)


def submission(folder, records, manifest=MANIFEST):
    """Stage records in the folder; return what is POSTed to /jobs."""
    source = folder / "users.jsonl"
    source.write_text("".join(f'{{"n":{n}}}\n' for n in range(records)))
    loaded = load_manifest(manifest, source="test")
    staged = stage(Source(str(source)), loaded, str(folder / "chunks"), clock=SystemClock())
    names = ("store", "records", "chunks", "rejected", "digest")
    return {
        "manifest": loaded.model_dump(mode="json"),
        "staged": {name: getattr(staged, name) for name in names},
    }
