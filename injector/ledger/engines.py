"""How SQLite and PostgreSQL are connected to."""

import sqlite3
from dataclasses import dataclass
from importlib.util import find_spec

from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from injector.errors import Misused
from injector.ledger.iam_login import LoginToken, log_in_by_token

WANTED = "give sqlite:///PATH or postgresql://USER@HOST/DATABASE"


@dataclass(frozen=True, slots=True)
class Engines:
    """One pool of connections, used in two ways: outside transactions, and in them."""

    reading: Engine
    writing: Engine

    @property
    def sqlite(self) -> bool:
        """Tell which of the two databases it is."""
        return self.writing.dialect.name == "sqlite"

    def begin(self, connection: Connection) -> None:
        """Take SQLite's write lock at once: a read that turns into a write cannot wait for it."""
        if self.sqlite:
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    def close(self) -> None:
        """Close the connections."""
        self.writing.dispose()


def parse_url(text: str) -> URL:
    """Return the URL with its driver, or raise Misused that says what would do."""
    try:
        url = make_url(text)
    except ArgumentError as error:
        raise Misused(f"the ledger's URL {text!r} is not one: {WANTED}") from error
    if url.drivername in ("sqlite", "sqlite+pysqlite"):
        return url
    if url.drivername in ("postgres", "postgresql", "postgresql+psycopg"):
        return _with_psycopg(url)
    raise Misused(f"the ledger cannot be kept in {url.drivername}: {WANTED}")


def _with_psycopg(url: URL) -> URL:
    if url.query.get("login", "iam") != "iam":
        raise Misused(f"the ledger's URL says login={url.query['login']}: say login=iam or nothing")
    if find_spec("psycopg") is None:
        raise Misused(
            "a ledger in PostgreSQL needs psycopg: pip install 'cloud-tasks-injector[postgres]'"
        )
    return url.set(drivername="postgresql+psycopg")


def make_engines(url: URL, *, wait_s: float, connections: int) -> Engines:
    """Return engines that wait at most `wait_s` for a lock; nothing is opened yet."""
    if url.drivername.startswith("postgresql"):
        engine = _postgresql(url, wait_s=wait_s, connections=connections)
        return Engines(engine.execution_options(isolation_level="AUTOCOMMIT"), engine)
    engine = _sqlite(url, wait_s=wait_s, connections=connections)
    return Engines(engine, engine)


def _postgresql(url: URL, *, wait_s: float, connections: int) -> Engine:
    """Return an engine on which a worker that hangs in a transaction loses it, and its locks."""
    given, by_token = url.query.get("options", ""), "login" in url.query
    settings = f"-c lock_timeout={wait_s * 1000:.0f} -c idle_in_transaction_session_timeout=60000"
    engine = create_engine(
        url.difference_update_query(["login"]),
        connect_args={
            "options": f"{given} {settings}".strip(),
            "connect_timeout": 10,
            "application_name": "injector",
        },
        pool_size=connections,
        max_overflow=0,
        pool_timeout=wait_s,
        pool_recycle=1800,
    )
    if by_token:
        log_in_by_token(engine, LoginToken())
    return engine


def _sqlite(url: URL, *, wait_s: float, connections: int) -> Engine:
    """Return an engine; a memory database lives in its one connection, taken in turns."""
    engine = create_engine(
        url,
        connect_args={"timeout": wait_s, "check_same_thread": False},
        poolclass=QueuePool,
        pool_size=1 if in_memory(url) else connections,
        max_overflow=0,
        pool_timeout=wait_s,
    )
    event.listen(engine, "connect", _on_connect)
    return engine


def in_memory(url: URL) -> bool:
    """Tell whether the SQLite database is gone when its process is."""
    return url.database in (None, "", ":memory:")


def _on_connect(connection: sqlite3.Connection, _record: object) -> None:
    """Begin transactions by hand only, and do not wait for the disk at each commit.

    In WAL mode NORMAL survives the death of any process; a power cut may take the last
    commits, and their chunks are then fed again under the same names.
    """
    connection.isolation_level = None
    connection.execute("PRAGMA synchronous = NORMAL")
