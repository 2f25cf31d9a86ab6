"""What a question costs, counted in steps of SQLite's machine: no clock, so no flutter."""

import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import event, insert
from sqlalchemy.engine import Engine

from injector.ledger import Ledger, open_ledger
from injector.ledger.lookup import find
from injector.ledger.ports import Chunks, NewJob, Receipt, Reject
from injector.ledger.tables import METADATA, receipts, rejects

FULL = (1 << 100) - 1
SMALL, LARGE = 300, 30_000


@dataclass
class Steps:
    """Counts what the SQLite connections opened while it listens do."""

    count: int = 0

    def listen(self, connection: sqlite3.Connection, _record: object) -> None:
        connection.set_progress_handler(self._step, 1)

    def _step(self) -> int:
        self.count += 1
        return 0

    def of(self, question: Callable[[], object]) -> int:
        before = self.count
        question()
        return self.count - before


@pytest.fixture
def steps() -> Iterator[Steps]:
    counted = Steps()
    event.listen(Engine, "connect", counted.listen)
    yield counted
    event.remove(Engine, "connect", counted.listen)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a file with a small and a large job, fed and settled but for the last 100 chunks."""
    path = tmp_path_factory.mktemp("filled") / "ledger.db"
    with closing(open_ledger(f"sqlite:///{path}")) as ledger:
        hold_two_jobs(ledger)
    return path


def hold_two_jobs(ledger: Ledger) -> None:
    for name, chunks in (("small", SMALL), ("large", LARGE)):
        ledger.jobs.register(NewJob(name, name, "{}", "", 100 * chunks, chunks, "d"), now=1.0)
        feed(ledger, name, chunks)
        fill(ledger, name, chunks - 100)


@pytest.fixture
def two_jobs(filled: Path, steps: Steps, tmp_path: Path) -> Iterator[Ledger]:
    """Open a copy of that file, under the eyes of `steps`."""
    ledger = open_ledger(f"sqlite:///{shutil.copy(filled, tmp_path)}")
    ledger.ping()
    yield ledger
    ledger.close()


def feed(ledger: Ledger, name: str, chunks: int) -> None:
    for first in range(0, chunks, 100):
        fed = Chunks(first, first + 100, 0)
        ledger.jobs.advance(name, fed, scheduled_until=float(first), now=1.0)
    ledger.jobs.overdue(name, before=1e9, limit=1)


def fill(ledger: Ledger, name: str, settled: int) -> None:
    key = ledger.database.read(lambda connection: find(connection, name)).key
    plain = [{"chunk": chunk} for chunk in range(settled)]
    lines = [{"ordinal": chunk * 100} for chunk in range(settled)]
    kept = insert(receipts).values(job=key, records=100, settled=True)
    listed = insert(rejects).values(job=key, line=1, position=0, reason="", file="")
    ledger.database.write(lambda c: [c.execute(kept, plain), c.execute(listed, lines)])
    ledger.jobs.overdue(name, before=1e9, limit=1)


QUESTIONS: dict[str, Callable[[Ledger, str, int], object]] = {
    "get": lambda ledger, job, _: ledger.jobs.get(job),
    "totals": lambda ledger, job, _: ledger.jobs.totals(job),
    "finish": lambda ledger, job, _: ledger.jobs.finish(job, now=2.0),
    "runnable": lambda ledger, job, _: ledger.jobs.runnable(job),
    "active": lambda ledger, job, _: ledger.jobs.active(job),
    "overdue": lambda ledger, job, _: ledger.jobs.overdue(job, before=1e9, limit=1000),
    "rejects": lambda ledger, job, n: ledger.jobs.rejects(job, after=50 * n, limit=10),
    "load": lambda ledger, job, n: ledger.receipts.load(job, n // 2),
    "begin": lambda ledger, job, n: ledger.receipts.begin(job, n // 2),
    "merge": lambda ledger, job, n: ledger.receipts.merge(
        Receipt(job, n - 1, 100, FULL & ~1, 0, 1, (Reject(0, 100 * n - 100, 1, "bad"),)),
        now=2.0,
        counts={"accepted": 100},
    ),
    "merge again": lambda ledger, job, n: ledger.receipts.merge(
        Receipt(job, n // 2, 100, created_mask=FULL), now=2.0
    ),
    "refeed": lambda ledger, job, _: ledger.jobs.refeed(
        job, ledger.jobs.overdue(job, before=1e9, limit=50), scheduled_until=9.0, now=2.0
    ),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_cost_does_not_grow_with_the_job(two_jobs: Ledger, steps: Steps, name: str):
    ask = QUESTIONS[name]

    small = steps.of(lambda: ask(two_jobs, "small", SMALL))
    large = steps.of(lambda: ask(two_jobs, "large", LARGE))

    assert small > 0
    assert large <= small * 1.1 + 10


def test_advance_costs_the_same_at_the_end_of_a_job(two_jobs: Ledger, steps: Steps):
    for name, chunks in (("s", SMALL), ("l", LARGE)):
        two_jobs.jobs.register(NewJob(name, "g", "{}", "", 100 * chunks, chunks, "d"), now=1.0)
        feed(two_jobs, name, chunks - 100)

    small, large = (
        steps.of(
            lambda n=name, c=chunks: two_jobs.jobs.advance(
                n, Chunks(c - 100, c, 0), scheduled_until=9.0, now=2.0
            )
        )
        for name, chunks in (("s", SMALL), ("l", LARGE))
    )

    assert large <= small * 1.1 + 10


@pytest.fixture
def asked() -> Iterator[list[tuple[str, object]]]:
    """Collect the statements that a database is asked to carry out.

    SQLite itself tells them, with their parameters, since not all come from SQLAlchemy.
    """
    statements: list[tuple[str, object]] = []

    def keep(statement: str, parameters: object = ()) -> None:
        if statement.split(maxsplit=1)[0] in ("SELECT", "UPDATE", "DELETE", "WITH"):
            statements.append((statement, parameters))

    def collect(*call: object) -> None:
        _connection, cursor, statement, parameters, _context, many = call
        if not many and not isinstance(cursor, sqlite3.Cursor):
            keep(str(statement), parameters)

    def trace(connection: object, *_record: object) -> None:
        if isinstance(connection, sqlite3.Connection):
            connection.set_trace_callback(keep)

    event.listen(Engine, "before_cursor_execute", collect)
    event.listen(Engine, "checkout", trace)
    yield statements
    event.remove(Engine, "before_cursor_execute", collect)
    event.remove(Engine, "checkout", trace)


def plans(ledger: Ledger, explain: str, asked: list[tuple[str, object]]) -> dict[str, str]:
    """Say how the database goes about each statement."""
    questions = list(asked)
    return ledger.database.read(
        lambda c: {
            statement: "\n".join(
                str(row) for row in c.exec_driver_sql(f"{explain} {statement}", parameters)
            )
            for statement, parameters in questions
        }
    )


@pytest.mark.parametrize("name", QUESTIONS)
def test_sqlite_walks_over_no_table(two_jobs: Ledger, asked, name: str):
    QUESTIONS[name](two_jobs, "large", LARGE)

    explained = plans(two_jobs, "EXPLAIN QUERY PLAN", asked)

    walk = re.compile(rf"SCAN ({'|'.join(METADATA.tables)})\b")
    assert explained
    assert [statement for statement, plan in explained.items() if walk.search(plan)] == []


def test_postgres_walks_over_no_table_that_grows_with_a_job(shared_postgres: str, asked):
    with closing(open_ledger(shared_postgres)) as ledger:
        hold_two_jobs(ledger)
        ledger.database.read(lambda c: c.exec_driver_sql("ANALYZE"))
        asked.clear()
        for ask in QUESTIONS.values():
            ask(ledger, "large", LARGE)
        explained = plans(ledger, "EXPLAIN", asked)

    walk = re.compile("Seq Scan on (receipts|rejects)")
    assert "Index" in str(explained)
    assert [statement for statement, plan in explained.items() if walk.search(plan)] == []


def test_settled_feedings_cost_nothing_once_they_were_seen(two_jobs: Ledger, steps: Steps):
    two_jobs.receipts.merge(Receipt("large", LARGE - 1, 100, created_mask=FULL), now=2.0)
    first = steps.of(lambda: two_jobs.jobs.overdue("large", before=1e9, limit=1000))
    again = steps.of(lambda: two_jobs.jobs.overdue("large", before=1e9, limit=1000))

    assert again <= first
    assert again < 20 * SMALL
