"""The service as gunicorn runs it, in processes of its own."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import requests

from injector.clock import SystemClock
from injector.manifest import load_manifest
from injector.staging import Source, stage
from tests.bench import GROUP, MANIFEST
from tests.scripted_service import Service
from tests.waiting import PATIENCE_S, answers, until

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
        assert requests.post(f"{self.url}/jobs", json=body, timeout=PATIENCE_S).status_code == 201

    def deliver(self, chunk):
        task = {"version": 1, "job": "welcome-1", "chunk": chunk}
        return requests.post(f"{self.url}/inject", json=task, timeout=PATIENCE_S)

    def end(self):
        """Send SIGTERM and return the exit code; gunicorn kills a worker that lasts 10 seconds."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)


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
        process.wait(PATIENCE_S)


def await_ready(served):
    def ready():
        assert served.process.poll() is None, served.log.read_text()
        return answers(f"{served.url}/readyz")

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
