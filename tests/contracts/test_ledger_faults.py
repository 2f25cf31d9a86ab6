import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Barrier, Thread

import psycopg
import pytest
from sqlalchemy import Connection, event, make_url, text
from sqlalchemy.engine import Engine

from injector.errors import Misused, Retryable
from injector.ledger import Ledger, open_ledger, upgrade
from injector.ledger.ports import NewJob, Receipt
from injector.ledger.schema import version_of

JOB = NewJob("job", "mail", "{}", "file:///c", 1000, 10, "sha256:1")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    upgrade(f"sqlite:///{path}")
    return path


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "the ledger's URL '' is not one: give sqlite:///PATH or postgresql://"),
        ("ledger.db", "the ledger's URL 'ledger.db' is not one"),
        ("mysql://host/db", "cannot be kept in mysql: give sqlite:///PATH"),
    ],
)
def test_url_that_cannot_be_used_is_refused_before_anything_is_opened(url: str, said: str):
    with pytest.raises(Misused) as refusal:
        open_ledger(url)

    assert said in str(refusal.value)


def test_postgres_without_its_driver_is_refused_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setitem(sys.modules, "psycopg", None)

    with pytest.raises(Misused, match=r"pip install 'cloud-tasks-injector\[postgres\]'"):
        open_ledger("postgresql://host/db")


def test_read_only_file_is_said_to_be_so(file: Path):
    ledger = open_ledger(f"sqlite:///file:{file}?mode=ro&uri=true", patience_s=0.2)

    assert ledger.jobs.list() == []
    with pytest.raises(Misused, match=r"ledger\.db\?.* is read-only; give this user write access"):
        ledger.jobs.register(JOB, now=1.0)

    ledger.close()


@pytest.fixture
def small_disk() -> Iterator[None]:
    """Let SQLite files grow to no more than they have, as on a full disk."""

    def limit(connection: object, _record: object) -> None:
        if isinstance(connection, sqlite3.Connection):
            connection.execute("PRAGMA max_page_count = 1")

    event.listen(Engine, "connect", limit)
    yield
    event.remove(Engine, "connect", limit)


def test_full_disk_is_said_to_be_so_and_loses_nothing_that_was_kept(file: Path, small_disk: None):
    ledger = open_ledger(f"sqlite:///{file}", patience_s=0.2)
    ledger.jobs.register(JOB, now=1.0)

    with pytest.raises(Misused, match="the disk is full; free some space"):
        fill(ledger)

    assert ledger.jobs.get("job").id == "job"
    ledger.close()


def fill(ledger: Ledger) -> None:
    for number in range(1000):
        ledger.leases.acquire(f"name {number} " + "x" * 1000, "a", now=1.0, ttl_s=1.0)


def test_folder_of_the_file_is_made(tmp_path: Path):
    ledger = open_ledger(f"sqlite:///{tmp_path / '.injector' / 'ledger.db'}")

    ledger.ping()

    assert (tmp_path / ".injector" / "ledger.db").exists()
    ledger.close()


def test_missing_folder_above_is_said_to_be_the_cause(tmp_path: Path):
    ledger = open_ledger(f"sqlite:///{tmp_path / 'no' / 'where' / 'ledger.db'}", patience_s=0.2)

    with pytest.raises(Misused, match="cannot be opened; does its folder exist"):
        ledger.ping()


def test_file_of_another_kind_is_left_alone(tmp_path: Path):
    path = tmp_path / "users.csv"
    path.write_text("id,name\n" * 1000)
    ledger = open_ledger(f"sqlite:///{path}", patience_s=0.2)

    with pytest.raises(Misused, match="is not a SQLite database"):
        ledger.ping()

    assert path.read_text() == "id,name\n" * 1000


@pytest.fixture
def locked(file: Path) -> Iterator[sqlite3.Connection]:
    """Hold the write lock of the file."""
    holder = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    yield holder
    holder.close()


def test_lock_that_is_not_given_back_is_retryable_after_a_bounded_wait(
    file: Path, locked: sqlite3.Connection
):
    ledger = open_ledger(f"sqlite:///{file}", patience_s=0.2)

    with pytest.raises(Retryable, match="is busy: database is locked"):
        ledger.jobs.register(JOB, now=1.0)

    ledger.close()


def test_readers_do_not_wait_for_the_writer(file: Path, locked: sqlite3.Connection):
    ledger = open_ledger(f"sqlite:///{file}", patience_s=0.2)

    assert ledger.jobs.list() == []

    ledger.close()


def test_writer_waits_until_the_lock_is_given_back(file: Path, locked: sqlite3.Connection):
    ledger = open_ledger(f"sqlite:///{file}", patience_s=60.0)
    waiting = Thread(target=ledger.jobs.register, args=(JOB,), kwargs={"now": 1.0})
    waiting.start()

    locked.execute("ROLLBACK")
    waiting.join()

    assert ledger.jobs.get("job").id == "job"
    ledger.close()


@pytest.fixture
def postgres(shared_postgres: str) -> Iterator[Ledger]:
    ledger = open_ledger(shared_postgres)
    ledger.jobs.register(JOB, now=1.0)
    yield ledger
    ledger.close()


def test_connections_cut_by_the_server_are_made_anew(postgres: Ledger, postgres_server: str):
    cut = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'injector'"
    )
    with psycopg.connect(postgres_server, autocommit=True) as admin:
        assert admin.execute(cut).fetchall()

    postgres.receipts.merge(Receipt("job", 0, 100, created_mask=1), now=2.0)

    assert postgres.jobs.totals("job").created == 1


def test_server_that_is_away_is_retryable_and_its_password_not_shown():
    ledger = open_ledger("postgresql://ann:secret@127.0.0.1:1/db", patience_s=0.2)

    with pytest.raises(Retryable, match=r"ann:\*\*\*@127.0.0.1:1/db is busy or away") as away:
        ledger.ping()

    assert "secret" not in str(away.value)


@pytest.fixture
def locked_postgres(postgres_server: str) -> Iterator[str]:
    """Give the address of the server, which wants the password of its user `locked`."""
    with psycopg.connect(postgres_server, autocommit=True) as admin:
        (hba,) = admin.execute("SHOW hba_file").fetchone() or ("",)
        kept = Path(hba).read_text(encoding="utf-8")
        admin.execute("CREATE ROLE locked LOGIN PASSWORD 'right'")
        admin.execute("CREATE ROLE barred NOLOGIN")
        Path(hba).write_text(f"local all locked scram-sha-256\n{kept}", encoding="utf-8")
        admin.execute("SELECT pg_reload_conf()")
        yield postgres_server
        Path(hba).write_text(kept, encoding="utf-8")
        admin.execute("SELECT pg_reload_conf()")
        admin.execute("DROP ROLE locked")
        admin.execute("DROP ROLE barred")


@pytest.mark.parametrize(
    ("user", "database", "said"),
    [
        ("locked:wrong", "postgres", "refuses this user; look at the user and password"),
        ("locked", "postgres", "refuses this user"),
        ("nobody", "postgres", "refuses this user"),
        ("barred", "postgres", "refuses this user"),
        ("postgres", "missing", "does not exist; create it"),
    ],
)
def test_server_that_refuses_the_login_is_told_at_once_and_as_it_is(
    locked_postgres: str, user: str, database: str, said: str
):
    url = make_url(locked_postgres).set(database=database).render_as_string(hide_password=False)
    scheme, _, rest = url.partition("://")
    url = f"{scheme}://{user}@{rest.partition('@')[2]}"

    for used in (open_ledger(url).ping, lambda: version_of(url), lambda: upgrade(url)):
        with pytest.raises(Misused, match=said) as refused:
            used()
        assert "locked:wrong" not in str(refused.value)


def test_units_of_work_that_block_each_other_both_end(postgres: Ledger):
    for name in ("a", "b"):
        postgres.leases.acquire(name, "0", now=1.0, ttl_s=1.0)
    both_hold_one = Barrier(2)
    runs: list[str] = []

    def crossing(first: str, second: str) -> Callable[[Connection], None]:
        def work(connection: Connection) -> None:
            runs.append(first)
            lengthen(connection, first)
            if runs.count(first) == 1:
                both_hold_one.wait()
            lengthen(connection, second)

        return work

    threads = [
        Thread(target=postgres.database.write, args=(crossing(*names),))
        for names in (("a", "b"), ("b", "a"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    untils = postgres.database.read(lambda c: c.scalars(text("SELECT until FROM leases")).all())
    assert untils == [4.0, 4.0]
    assert len(runs) > 2


def lengthen(connection: Connection, name: str) -> None:
    connection.execute(
        text("UPDATE leases SET until = until + 1 WHERE name = :name"), {"name": name}
    )


def test_ledger_that_was_closed_opens_again(ledger: Ledger):
    ledger.ping()
    ledger.close()
    ledger.ping()


def test_opening_a_ledger_touches_nothing(tmp_path: Path):
    open_ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    open_ledger("postgresql://nobody@192.0.2.1/db")

    assert list(tmp_path.iterdir()) == []
