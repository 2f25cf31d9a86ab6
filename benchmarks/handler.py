"""What a record costs the service, from the dispatched request to the durable receipt.

    python benchmarks/handler.py [--records 50000] [--mode batch]

A local run as it is: the emulator dispatches injector tasks, with its OIDC tokens, to gunicorn
with one worker, which verifies the token, reads the chunk, creates its 100 tasks in the
emulator, writes the receipt to SQLite, logs and counts. The queues of the group are paused, so
that the emulator only keeps what it gets. Counted is the worker's CPU time, user and system, of
all its threads, after 50 chunks to warm up. Memory and descriptors are the worker's, after the
first tenth of the records and after the last. The peer is `CloudTasksClient.create_task` in a
loop, as in `delivery.py`, in the same run.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import delivery
import requests
from processes import children, cpu_s, descriptors, free_ports, resident_bytes
from rows import Row, printed

from injector.clock import SystemClock
from injector.delivery.address import Address
from injector.delivery.connection import Connection
from injector.delivery.creator import Delivery, make_creator
from injector.delivery.ports import Outcome, TaskTemplate, Token
from injector.injector_task import InjectorTask, create_injector_task
from injector.layout import Layout
from injector.ledger import Ledger, open_ledger
from injector.ledger.ports import NewJob
from injector.local.programs import Program, Programs
from injector.manifest import load_manifest
from injector.staging import Source, Staged, stage

LOCATION = "projects/p/locations/l/queues"
INJECTOR_QUEUE = f"{LOCATION}/welcome-injector"
QUEUES = [f"{LOCATION}/welcome-{number:04}" for number in range(40)]
FASTEST = "{rateLimits: {maxDispatchesPerSecond: 500, maxConcurrentDispatches: 8}}"
CALLER = "injector@p.iam.gserviceaccount.com"
GROUPS = (
    f'{{"groups": {{"welcome": {{"injector_queues": "{INJECTOR_QUEUE}",'
    f' "queues": "{LOCATION}/welcome-[0000-0039]"}}}}}}'
)
MANIFEST = """
job: {mode}
group: welcome
records: users.jsonl
identity: {{field: user_id}}
create_mode: {mode}
task:
  http:
    url: https://worker.example/users/{{user_id}}
    headers: {{X-Campaign: welcome}}
    body: record
    oidc: {{service_account: s@p.iam.gserviceaccount.com, audience: https://worker.example}}
  dispatch_deadline: 10m
"""
WARM_CHUNKS = 50
STUCK_S = 30.0
START_WITHIN_S = 120.0
MODES = ("single", "batch")
AIMS_US = {"single": 130, "batch": 40}
USUAL = 50_000


@dataclass(frozen=True, slots=True)
class Held:
    """What the worker holds at a moment: megabytes resident, and open files and sockets."""

    memory: float
    descriptors: int


@dataclass(frozen=True, slots=True)
class Figures:
    """What one mode showed."""

    records: int
    cpu_us: float
    per_s: float
    before: Held
    after: Held


@dataclass(frozen=True, slots=True)
class World:
    """A local run in a folder."""

    folder: Path
    ledger: Ledger
    connection: Connection
    service: str
    worker: int


def main() -> None:
    """Measure both modes and the peer, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=int, default=USUAL, help="how many in each mode")
    parser.add_argument("--mode", choices=MODES, help="measure this mode only")
    asked = parser.parse_args()
    printed(rows_of(asked.records, modes=(asked.mode,) if asked.mode else MODES))


def rows(*, full: bool) -> Iterator[Row]:
    """Fan out a million records in each mode, or fewer."""
    yield from rows_of(1_000_000 if full else USUAL)


def rows_of(records: int, *, modes: Sequence[str] = MODES) -> Iterator[Row]:
    """Measure the peer, then the modes."""
    with delivery.server() as address:
        newcomer = delivery.measure(delivery.NEWCOMER, address) * 1e6
    for mode in modes:
        seen = measure(mode, records)
        name, aim = f"whole handler, {mode}", f"≤ {AIMS_US[mode]} µs"
        yield Row(f"{name}, CPU a task", seen.cpu_us, "µs", delivery.NEWCOMER, newcomer, aim=aim)
        yield Row(f"{name}, one worker", seen.per_s, "tasks/s", better="more")
        for what in ("memory", "descriptors"):
            yield grown(f"{name}, {what} at {records:,}", what, seen)


def grown(name: str, what: str, seen: Figures) -> Row:
    """Compare what the worker held at a tenth of the records and at the end."""
    unit = "MB" if what == "memory" else "open"
    before, after = getattr(seen.before, what), getattr(seen.after, what)
    return Row(name, after, unit, "at a tenth", before, aim="flat")


def measure(mode: str, records: int) -> Figures:
    """Fan out so many records in one mode, in a world of its own."""
    with tempfile.TemporaryDirectory(prefix="handler-") as folder, world(Path(folder)) as here:
        chunks = register(here, mode, records)
        first = max(WARM_CHUNKS, chunks // 10)
        fan_out(here, mode, range(first))
        before = held(here.worker)
        cpu, began = cpu_s(here.worker), time.monotonic()
        fan_out(here, mode, range(first, chunks))
        spent, took = cpu_s(here.worker) - cpu, time.monotonic() - began
        counted = records - 100 * first
        assert here.ledger.jobs.totals(mode).created == records, here.ledger.jobs.totals(mode)
        return Figures(records, spent / counted * 1e6, counted / took, before, held(here.worker))


def held(pid: int) -> Held:
    """Look at what a process holds."""
    return Held(resident_bytes(pid) / 1e6, descriptors(pid))


@contextmanager
def world(folder: Path) -> Iterator[World]:
    """Run an emulator with paused queues, and gunicorn with one worker."""
    emulator, control, port = free_ports(3)
    issuer, service = f"http://127.0.0.1:{control}", f"http://127.0.0.1:{port}"
    with Programs(print) as programs:
        programs.start(emulator_program(folder, emulator, control))
        for queue in QUEUES:
            requests.post(f"{issuer}/v2/{queue}:pause", timeout=10).raise_for_status()
        programs.start(service_program(folder, f"127.0.0.1:{emulator}", issuer, service))
        (worker,) = children(programs.pids()["service"])
        connection = Connection(Address(emulator_host=f"127.0.0.1:{emulator}"))
        with closing(connection), closing(open_ledger(ledger_url(folder))) as ledger:
            yield World(folder, ledger, connection, service, worker)


def ledger_url(folder: Path) -> str:
    """Return where the ledger is."""
    return f"sqlite:///{folder}/ledger.db"


def emulator_program(folder: Path, port: int, control: int) -> Program:
    """Return the emulator, its injector queue as fast as production allows."""
    queues = [f"{INJECTOR_QUEUE}={FASTEST}", *QUEUES]
    return Program(
        name="emulator",
        command=(
            *(sys.executable, "-m", "injector.emulator", "--quiet", "--dynamics", "off"),
            *("--port", str(port), "--control-port", str(control)),
            *(part for queue in queues for part in ("--queue", queue)),
        ),
        log=folder / "emulator.log",
        ready_url=f"http://127.0.0.1:{control}/healthz",
        ready_within_s=START_WITHIN_S,
    )


def service_program(folder: Path, emulator: str, issuer: str, service: str) -> Program:
    """Return the service as it is deployed, with one worker."""
    env = {
        "INJECTOR_WORKERS": "1",
        "INJECTOR_GROUPS": GROUPS,
        "INJECTOR_LEDGER_URL": ledger_url(folder),
        "INJECTOR_SERVICE_URL": service,
        "INJECTOR_QUEUE_CALLERS": CALLER,
        "INJECTOR_SCHEDULER_CALLERS": CALLER,
        "INJECTOR_PEOPLE": CALLER,
        "INJECTOR_OIDC_ISSUER": issuer,
        "INJECTOR_OIDC_KEYS_URL": f"{issuer}/oauth2/v3/certs",
        "INJECTOR_PORT": service.rpartition(":")[2],
        "CLOUDTASKS_EMULATOR_HOST": emulator,
    }
    return Program(
        name="service",
        command=(sys.executable, "-m", "gunicorn", "-c", "python:handlers.gunicorn_config"),
        log=folder / "service.log",
        ready_url=f"{service}/readyz",
        ready_within_s=START_WITHIN_S,
        env=env,
    )


def register(here: World, mode: str, records: int) -> int:
    """Stage the records and register their job; return its chunks."""
    source = here.folder / "users.jsonl"
    with source.open("w", encoding="utf-8") as file:
        for number in range(records):
            file.write(delivery.BODY.decode().replace("12345", str(10_000_000 + number)) + "\n")
    manifest = load_manifest(MANIFEST.format(mode=mode), source="benchmark")
    staged = stage(Source(str(source)), manifest, str(here.folder / "chunks"), clock=SystemClock())
    here.ledger.jobs.register(job_of(mode, manifest.model_dump_json(), staged), now=time.time())
    here.ledger.jobs.pin(mode, staged.chunks, Layout(tuple(QUEUES)).to_text())
    return staged.chunks


def job_of(mode: str, manifest_json: str, staged: Staged) -> NewJob:
    """Return the job as `POST /jobs` would register it."""
    return NewJob(
        mode,
        "welcome",
        manifest_json,
        staged.store,
        staged.records,
        staged.chunks,
        staged.digest,
        staged.rejected,
    )


def fan_out(here: World, mode: str, chunks: range) -> None:
    """Put the injector tasks into their queue, and wait until all are settled."""
    creator = make_creator(here.connection, Delivery(mode="batch"))
    template = TaskTemplate(
        headers=(("Content-Type", "application/json"),),
        token=Token("oidc", CALLER, here.service),
        dispatch_deadline_s=120.0,
    )
    creates = [
        create_injector_task(
            InjectorTask(mode, chunk),
            queues=(INJECTOR_QUEUE,),
            schedule_time=time.time(),
            template=template,
            url=f"{here.service}/inject",
        )
        for chunk in chunks
    ]
    results = creator.create_all(creates, budget_s=60)
    assert all(result.outcome is Outcome.CREATED for result in results)
    await_settled(here, mode, chunks.stop)


def await_settled(here: World, mode: str, chunks: int) -> None:
    """Wait for the receipts, as long as there are new ones."""
    settled, since = 0, time.monotonic()
    while settled < chunks:
        time.sleep(0.1)
        totals = here.ledger.jobs.totals(mode)
        if totals.rejected or time.monotonic() - since > STUCK_S:
            said = (here.folder / "service.log").read_text(encoding="utf-8")
            raise SystemExit(f"{mode}: {totals}\n{said[-2000:]}")
        if totals.chunks_settled > settled:
            settled, since = totals.chunks_settled, time.monotonic()


if __name__ == "__main__":
    main()
