import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from injector.ledger import Ledger, open_ledger
from injector.ledger.ports import NewJob, Totals

WORKERS = Path(__file__).with_name("ledger_workers.py")
PROCESSES = 8
CHUNKS = 20
"""Small here; `benchmarks/ledger.py` runs the same with 500."""


@pytest.fixture
def here(shared_url: str) -> Iterator[Ledger]:
    """Open the ledger that the processes share."""
    ledger = open_ledger(shared_url)
    yield ledger
    ledger.close()


def register(ledger: Ledger, *, chunks: int) -> None:
    ledger.jobs.register(
        NewJob("job", "mail", "{}", "file:///c", 100 * chunks, chunks, "d"), now=1.0
    )


def run(*arguments: object) -> subprocess.Popen[str]:
    """Start a process; one that was forked rightly leaves what it inherited unclosed."""
    warnings = ["-W", "error", "-W", "ignore::ResourceWarning"]
    command = [sys.executable, *warnings, str(WORKERS), *map(str, arguments)]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def outcomes(processes: Sequence[subprocess.Popen[str]]) -> list[tuple[int, str]]:
    said = [process.communicate(timeout=100)[0] for process in processes]
    return [(process.returncode, text) for process, text in zip(processes, said, strict=True)]


def test_processes_that_settle_at_once_lose_nothing(here: Ledger, shared_url: str):
    register(here, chunks=PROCESSES * CHUNKS)

    ended = outcomes([run("merge", shared_url, n * CHUNKS, CHUNKS) for n in range(PROCESSES)])

    assert ended == [(0, "")] * PROCESSES
    all_chunks = PROCESSES * CHUNKS
    assert here.jobs.totals("job") == Totals(100 * all_chunks, chunks_settled=all_chunks)
    (minute,) = here.signals.since("mail", 0.0)
    assert minute.counts == {"accepted": 3 * all_chunks}


def test_processes_that_settle_the_same_chunks_count_them_once(here: Ledger, shared_url: str):
    register(here, chunks=CHUNKS)

    ended = outcomes([run("merge", shared_url, 0, CHUNKS) for _ in range(4)])

    assert ended == [(0, "")] * 4
    assert here.jobs.totals("job") == Totals(100 * CHUNKS, chunks_settled=CHUNKS)


def test_connections_are_not_shared_across_a_fork(here: Ledger, shared_url: str):
    workers = 4
    all_chunks = 1 + (workers + 1) * CHUNKS
    register(here, chunks=all_chunks)

    ended = outcomes([run("fork", shared_url, workers, CHUNKS)])

    assert ended == [(0, "")]
    assert here.jobs.totals("job") == Totals(100 * all_chunks, chunks_settled=all_chunks)
