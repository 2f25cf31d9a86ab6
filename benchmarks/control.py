"""How soon a pause holds, how fast tasks are taken back, and what a report costs.

    python benchmarks/control.py [--records 1000000]

A local run as it is: emulator, service with two workers, its clock the machine's. The group's
own queues are paused, so that the emulator keeps each task with the time of its create.

The pause is asked for while the group creates 500 a second (its first step) or 2,000; counted
are the seconds from before the request to the moment, by the service's log, when the last chunk
in which anything was created was settled. Injector tasks for minutes are in their queue then, and
go on being dispatched while it is watched; below zero, nothing was under way. The job is then
cancelled and its tasks taken back: counted is the time of the ticks that delete them, at the
pace of the ramp. The report is that of a job whose receipts were written straight into the
ledger, one record in a hundred rejected: `injector report --all` as a user runs it, with the
memory of that command and of the worker that answers at their peaks.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import requests
from processes import children, free_ports
from rows import Row, printed

from injector.clock import SystemClock
from injector.ledger import Ledger, open_ledger
from injector.ledger.ports import NewJob, Receipt, Reject
from injector.local.layout import LocalRun
from injector.local.up import started
from injector.manifest import Manifest, load_manifest
from injector.staging import Source, Staged, stage

PLACE = "projects/local/locations/us-central1/queues"
QUEUES = tuple(f"{PLACE}/welcome-{number:02}" for number in range(8))
GROUPS = """
groups:
  welcome:
    injector_queues: {place}/welcome-injector
    queues: {place}/welcome-[00-07]
    ramp: {{initial_rate: {rate}, unsafe: true}}
"""
MANIFEST = """
job: {job}
group: welcome
records: users.jsonl
format: jsonl
stop_when_rejected: 100%
task: {{http: {{url: "https://worker.example/users/{{n}}"}}}}
"""
RATES = (5, 20)
USUAL = 100_000
QUIET_S = 6.0
CHUNK = 100


@dataclass(frozen=True, slots=True)
class World:
    """A local run in a folder."""

    folder: Path
    run: LocalRun
    ledger: Ledger
    pids: dict[str, int]

    def post(self, path: str, body: object = None) -> dict[str, object]:
        """Ask the service to do something."""
        answer = requests.post(f"{self.run.service_url}{path}", json=body, timeout=60)
        answer.raise_for_status()
        found: dict[str, object] = answer.json()
        return found

    def job(self, job: str) -> dict[str, object]:
        """Look at a job."""
        found: dict[str, object] = requests.get(
            f"{self.run.service_url}/jobs/{job}", timeout=60
        ).json()
        return found


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=int, default=USUAL, help="how many are reported")
    printed(rows_of(parser.parse_args().records))


def rows(*, full: bool) -> Iterator[Row]:
    """Report a million records, or fewer."""
    yield from rows_of(1_000_000 if full else USUAL)


def rows_of(records: int) -> Iterator[Row]:
    """Measure pauses, a take-back, and reports."""
    for rate in RATES:
        with world(rate) as here:
            seconds = pause(here, "paused")
            name = f"pause to last create, {rate * CHUNK} creates/s"
            yield Row(name, seconds, "s", aim="< 2 s and a chunk")
            if rate == RATES[-1]:
                yield Row("take-back at the ramp's pace", take_back(here), "tasks/s", better="more")
    with world(RATES[0]) as here:
        yield from report(here, records)


@contextmanager
def world(rate: float) -> Iterator[World]:
    """Run emulator and service, the group's queues paused."""
    with tempfile.TemporaryDirectory(prefix="control-") as name:
        folder = Path(name)
        service, emulator, control = free_ports(3)
        (folder / "groups.yaml").write_text(GROUPS.format(place=PLACE, rate=rate))
        run = LocalRun(
            folder=folder / "run",
            groups=folder / "groups.yaml",
            origin=time.time(),
            service_port=service,
            emulator_port=emulator,
            control_port=control,
            target_port=None,
        )
        with started(run, announce=lambda _: None) as programs:
            for queue in QUEUES:
                requests.post(f"{rest(run)}/v2/{queue}:pause", timeout=10).raise_for_status()
            with closing(open_ledger(run.environment["INJECTOR_LEDGER_URL"])) as ledger:
                yield World(folder, run, ledger, programs.pids())


def rest(run: LocalRun) -> str:
    """Return where the emulator answers over HTTP."""
    return f"http://127.0.0.1:{run.control_port}"


def staged(here: World, job: str, records: int) -> tuple[Manifest, Staged]:
    """Write so many records down, and stage them."""
    source = here.folder / f"{job}.jsonl"
    with source.open("w", encoding="utf-8") as file:
        file.writelines(f'{{"n":{number}}}\n' for number in range(records))
    manifest = load_manifest(MANIFEST.format(job=job), source="benchmark")
    store = here.run.environment["INJECTOR_STORE_URL"]
    return manifest, stage(Source(str(source)), manifest, store, clock=SystemClock())


def pause(here: World, job: str) -> float:
    """Pause a job under way; return the seconds until its last create."""
    manifest, found = staged(here, job, 200_000)
    names = ("store", "records", "chunks", "rejected", "digest")
    facts = {name: getattr(found, name) for name in names}
    here.post("/jobs", {"manifest": manifest.model_dump(mode="json"), "staged": facts})
    here.post("/control/tick")
    wait_until(lambda: int(str(here.job(job)["created"])) > 2000)
    asked = time.time()
    here.post(f"/jobs/{job}/pause")
    time.sleep(QUIET_S)
    return max(settled_at(here)) - asked


def settled_at(here: World) -> Iterator[float]:
    """Yield when each chunk in which something was created was settled, by the service's log."""
    log = (here.run.folder / "service.log").read_text(encoding="utf-8")
    for event in map(json.loads, log.splitlines()):
        if event.get("event") == "chunk.settled" and event["created"]:
            yield datetime.fromisoformat(event["time"]).timestamp()


def take_back(here: World) -> float:
    """Cancel the paused job and take its tasks back; return how many a second were deleted."""
    here.post("/jobs/paused/cancel", {"take_back": True})
    here.ledger.database.write(
        lambda connection: connection.exec_driver_sql("UPDATE takebacks SET not_before = 0")
    )
    began = time.monotonic()
    while not done(here):
        here.post("/control/tick")
    took = time.monotonic() - began
    told = here.job("paused")["taken_back"]
    assert isinstance(told, dict)
    return (told["deleted"] + told["gone"]) / took


def done(here: World) -> bool:
    """Tell whether all is taken back."""
    told = here.job("paused")["taken_back"]
    return isinstance(told, dict) and bool(told["done"])


def report(here: World, records: int) -> Iterator[Row]:
    """Report every record of a settled job in each format."""
    manifest, found = staged(here, "done", records)
    settle(here, manifest, found)
    for kind in ("jsonl", "csv", "parquet"):
        seconds, megabytes = command(here, str(here.folder / f"report.{kind}"))
        size = (here.folder / f"report.{kind}").stat().st_size / 1e6
        name = f"report of {records:,} records, {kind}"
        yield Row(name, seconds, "s")
        yield Row(f"{name}, size", size, "MB")
        yield Row(f"{name}, memory of the command", megabytes, "MB", aim="flat")
    workers = [peak(pid) for pid in children(here.pids["service"])]
    yield Row("memory of the worker that reports", max(workers), "MB", aim="flat")


def settle(here: World, manifest: Manifest, found: Staged) -> None:
    """Write the receipts of a job that has run, the first record of each chunk rejected."""
    job = NewJob(
        manifest.job,
        manifest.group,
        manifest.model_dump_json(),
        found.store,
        found.records,
        found.chunks,
        found.digest,
    )
    here.ledger.jobs.register(job, now=time.time())
    for chunk in range(found.chunks):
        reject = Reject(0, chunk * CHUNK, chunk * CHUNK + 1, "needs a value in 'user_id'")
        receipt = Receipt(manifest.job, chunk, CHUNK, (1 << CHUNK) - 2, 0, 1, (reject,))
        here.ledger.receipts.merge(receipt, now=time.time())


def command(here: World, out: str) -> tuple[float, float]:
    """Run `injector report`; return its seconds, and its memory at its peak in megabytes."""
    code = (
        "import sys; from injector.cli.main import run; run(sys.argv[1:]);"
        "sys.stderr.write(open('/proc/self/status').read())"
    )
    arguments = ("report", "done", "--all", "--out", out, "--json")
    began = time.monotonic()
    ended = subprocess.run(  # the command is ours
        [sys.executable, "-c", code, *arguments],
        env={**here.run.environment, "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    return time.monotonic() - began, high_water(ended.stderr)


def peak(pid: int) -> float:
    """Return the most megabytes that a process has held."""
    return high_water(Path(f"/proc/{pid}/status").read_text(encoding="ascii"))


def high_water(status: str) -> float:
    """Read VmHWM out of a process's status."""
    return 1024 * int(status.partition("VmHWM:")[2].split()[0]) / 1e6


def wait_until(holds: object, within_s: float = 60.0) -> None:
    """Wait until it holds."""
    ends = time.monotonic() + within_s
    while not (callable(holds) and holds()):
        assert time.monotonic() < ends
        time.sleep(0.05)


if __name__ == "__main__":
    main()
