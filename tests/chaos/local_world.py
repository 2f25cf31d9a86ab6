"""A local run as a user has it: `injector up` in one terminal, the other commands in another."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import requests

from injector.local.layout import LocalRun
from tests.chaos import processes
from tests.chaos.account import Account, deliveries, tasks_made, waiting
from tests.waiting import PATIENCE_S, free_port, until

SPEED = 60.0
RATE = 0.1
RECORDS = 3000
BUDGET = {"INJECTOR_HANDLER_BUDGET_S": "5"}
BAD = frozenset({7, 1234, 2999})
GROUPS = """
groups:
  chaos:
    injector_queues: projects/local/locations/us-central1/queues/chaos-injector
    queues: projects/local/locations/us-central1/queues/chaos-[00-03]
    ramp: {initial_rate: RATE}
"""
MANIFEST = """
job: JOB
group: chaos
records: users.jsonl
format: jsonl
identity: {field: n}
task: {http: {url: "http://127.0.0.1:PORT/users/{n}", body: record}}
"""


@dataclass
class LocalWorld:
    """A folder with a manifest and records, and the `injector up` that runs on it."""

    run: LocalRun
    target_port: int
    records: int = RECORDS
    job: str = "chaos-1"
    up: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def folder(self) -> Path:
        return self.run.folder.parent

    @property
    def wanted(self) -> frozenset[str]:
        return frozenset(str(n) for n in range(self.records) if n not in BAD)

    def start(self) -> None:
        """Run `injector up`, and wait until everything answers."""
        ports = {
            "--port": self.run.service_port,
            "--emulator-port": self.run.emulator_port,
            "--control-port": self.run.control_port,
            "--target-port": self.target_port,
        }
        options = ["--no-target"] if self.run.target_port is None else []
        options += [part for name, port in ports.items() for part in (name, str(port))]
        options += ["--speed", repr(self.run.speed), "--folder", str(self.run.folder)]
        with (self.folder / "up.log").open("ab") as log:
            self.up = subprocess.Popen(
                [*INJECTOR, "up", "--groups", str(self.run.groups), *options],
                stdout=log,
                stderr=log,
                env={**os.environ, **BUDGET},
            )
        until(self.answers, what="injector up answers")

    def answers(self) -> bool:
        urls = (program.ready_url for program in self.run.programs())
        return self.runs() and all(_ask(url) is not None for url in urls)

    def runs(self) -> bool:
        """Say True; what `up` said is shown if it has ended."""
        assert self.up
        assert self.up.poll() is None, (self.folder / "up.log").read_text()
        return True

    def stop(self) -> int:
        """Press Ctrl-C."""
        assert self.up
        self.up.send_signal(signal.SIGINT)
        code = self.up.wait(PATIENCE_S)
        self.up = None
        return code

    def pid(self, kind: str) -> int:
        """Return a process by what it is, as soon as there is one."""
        assert self.up
        return until(lambda: processes.find(self.up.pid, kind), what=f"a {kind}")

    def kill(self, *kinds: str) -> None:
        """Kill processes at once with SIGKILL, and see that they die.

        `up` is started again; what `up` had started, it starts again itself.
        """
        assert self.up
        pids = [self.pid(kind) for kind in kinds]
        family = processes.descendants_of(self.up.pid)
        for pid in pids:
            processes.kill(pid)
        if "up" in kinds:
            self.up.wait(PATIENCE_S)
            pids = family
        until(lambda: not any(map(processes.lives, pids)), what=f"{kinds} are dead")
        if "up" in kinds:
            self.start()

    def submit(self, *options: str) -> subprocess.CompletedProcess[str]:
        return self.command("submit", "job.yaml", "--yes", *options)

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*INJECTOR, *arguments],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    @property
    def environ(self) -> dict[str, str]:
        return {**os.environ, **self.run.environment}

    def status(self) -> dict[str, object]:
        """Return the job as the service shows it."""
        return self.ask(f"/jobs/{self.job}")

    def ask(self, path: str) -> dict[str, object]:
        """Return what the service says, once it does."""
        url = self.run.service_url + path
        return until(lambda: self.runs() and _ask(url), what="the service answers")

    def await_settled(self, share: float) -> None:
        """Wait until that share of the records is settled."""
        until(
            lambda: int(self.status()["settled"]) >= share * self.records,
            what=f"{share:.0%} of the records are settled",
        )

    def await_end(self) -> None:
        """Wait until the job is finished and every task is done."""
        until(lambda: self.status()["state"] == "finished", what="the job is finished")
        url = f"http://127.0.0.1:{self.run.control_port}/control/drained?timeout=0"
        until(lambda: _ask(url) is not None, what="the queues are empty")

    def account(self) -> Account:
        """Ask the four witnesses."""
        until(lambda: not waiting(self.state_file), what="the state file is up to date")
        listed = self.command("report", self.job, "--all").stdout
        return Account(
            wanted=self.wanted,
            came=deliveries(self.run.folder / "deliveries.log"),
            tasks_made=tasks_made(self.state_file, "%/queues/chaos-0%"),
            totals=self.status(),
            report=self.command("report", self.job).returncode,
            outcomes=[json.loads(line) for line in listed.splitlines()],
        )

    @contextmanager
    def another_service(self) -> Iterator[str]:
        """Run a second service on the same ledger; yield its URL."""
        port = free_port()
        with (self.folder / "another.log").open("ab") as log:
            service = subprocess.Popen(
                [*INJECTOR, "serve"],
                stdout=log,
                stderr=log,
                env={**self.environ, **BUDGET, "INJECTOR_PORT": str(port)},
            )
        url = f"http://127.0.0.1:{port}"
        try:
            until(lambda: _ask(f"{url}/readyz") is not None, what="another service answers")
            yield url
        finally:
            service.terminate()
            service.wait(PATIENCE_S)

    def fault(self, **fault: object) -> None:
        """Put a fault of the emulator in force."""
        answer = requests.put(self.faults, json={"faults": [fault]}, timeout=PATIENCE_S)
        answer.raise_for_status()

    def end_faults(self) -> dict[str, object]:
        """End the fault, and return what it has done."""
        return requests.delete(self.faults, timeout=PATIENCE_S).json()

    @property
    def faults(self) -> str:
        return f"http://127.0.0.1:{self.run.control_port}/control/faults"

    @property
    def now(self) -> float:
        return self.run.clock.now()

    @property
    def state_file(self) -> Path:
        return self.run.folder / "emulator.db"


INJECTOR = (sys.executable, "-m", "injector")


@contextmanager
def local_world(
    folder: Path,
    *,
    records: int = RECORDS,
    job: str = "chaos-1",
    rate: float = RATE,
    speed: float = SPEED,
    has_target: bool = True,
) -> Iterator[LocalWorld]:
    """Lay out a folder, start everything, and leave nothing running.

    `rate` is the group's initial rate. Without a target, something else is to answer at its port.
    """
    target, *ports = (free_port() for _ in range(4))
    (folder / "groups.yaml").write_text(GROUPS.replace("RATE", repr(rate)))
    (folder / "job.yaml").write_text(MANIFEST.replace("JOB", job).replace("PORT", str(target)))
    lines = (f'{{"n":{n}}}' if n not in BAD else "?" for n in range(records))
    (folder / "users.jsonl").write_text("\n".join(lines) + "\n")
    run = LocalRun(
        folder=folder / "run",
        groups=folder / "groups.yaml",
        origin=time.time(),
        speed=speed,
        service_port=ports[0],
        emulator_port=ports[1],
        control_port=ports[2],
        target_port=target if has_target else None,
    )
    world = LocalWorld(run, target, records, job)
    try:
        world.start()
        yield world
    finally:
        if world.up:
            with suppress(subprocess.TimeoutExpired):
                world.stop()
        if world.up:
            world.up.kill()
            world.up.wait()


def _ask(url: str) -> dict[str, object] | None:
    try:
        answer = requests.get(url, timeout=5)
    except requests.RequestException:
        return None
    return answer.json() if answer.ok else None
