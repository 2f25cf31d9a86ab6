"""The tables of a state file, and the statements that change them."""

import fcntl
import os
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

from injector.errors import Misused

VERSION = 1
_SCHEMA = f"""
CREATE TABLE queues (name TEXT PRIMARY KEY, config BLOB, state INT, purged_at REAL) WITHOUT ROWID;
CREATE TABLE tasks (
  queue TEXT, id TEXT, seq INT, form BLOB, schedule_at REAL, created_at REAL, generated INT,
  to_app_engine INT, dispatch_count INT, response_count INT, executions INT,
  first_dispatch_at REAL, previous_status INT, last TEXT, PRIMARY KEY (queue, id)
) WITHOUT ROWID;
CREATE TABLE reserved (queue TEXT, id TEXT, until REAL, PRIMARY KEY (queue, id)) WITHOUT ROWID;
CREATE TABLE graves (name TEXT PRIMARY KEY, until REAL) WITHOUT ROWID;
CREATE TABLE operations (number INTEGER PRIMARY KEY, name TEXT UNIQUE, key TEXT, form BLOB);
CREATE TABLE policies (name TEXT PRIMARY KEY, form BLOB) WITHOUT ROWID;
CREATE TABLE keys (location TEXT PRIMARY KEY, kms_key TEXT) WITHOUT ROWID;
PRAGMA user_version = {VERSION};
"""
_STATEMENTS = {
    "close_queue": "DELETE FROM queues WHERE name = ?",
    "close_tasks": "DELETE FROM tasks WHERE queue = ?",
    "close_reserved": "DELETE FROM reserved WHERE queue = ?",
    "unbury_all": "DELETE FROM graves",
    "bury": "INSERT OR REPLACE INTO graves VALUES (?, ?)",
    "unbury": "DELETE FROM graves WHERE name = ?",
    "queue": "INSERT OR REPLACE INTO queues VALUES (?, ?, ?, ?)",
    "remove": "DELETE FROM tasks WHERE queue = ? AND id = ?",
    "reserve": "INSERT OR REPLACE INTO reserved VALUES (?, ?, ?)",
    "task": "INSERT OR REPLACE INTO tasks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "operation": "INSERT OR REPLACE INTO operations (name, key, form) VALUES (?, ?, ?)",
    "forget": "DELETE FROM operations WHERE name = ?",
    "forget_policy": "DELETE FROM policies WHERE name = ?",
    "policy": "INSERT OR REPLACE INTO policies VALUES (?, ?)",
    "key": "INSERT OR REPLACE INTO keys VALUES (?, ?)",
    "expire": "DELETE FROM reserved WHERE until <= ?",
}
"""In the order in which a set of changes is written."""

Row = tuple[object, ...]


@dataclass(slots=True)
class Changes:
    """What has to be written, as rows by statement."""

    rows: dict[str, list[Row]] = field(default_factory=dict)

    def add(self, statement: str, *rows: Row) -> None:
        """Add rows."""
        self.rows.setdefault(statement, []).extend(rows)


def connect(path: Path) -> sqlite3.Connection:
    """Open a state file, made if it is not there; raises Misused if it cannot be used."""
    try:
        connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")  # survives kills, not power cuts
        _prepare(connection, path)
    except sqlite3.Error as error:
        raise Misused(f"{path}: cannot be used as state file ({error})") from error
    return connection


def lock(path: Path) -> int:
    """Keep other emulators off a state file, by a lock beside it; return its descriptor.

    Two would deliver every task twice. Raises Misused while another holds it.
    """
    try:
        descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Misused(f"{path}: cannot be used as state file ({error.strerror})") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise Misused(f"{path}: is in use by another emulator; give another file") from error
    return descriptor


def write(connection: sqlite3.Connection, changes: Changes) -> None:
    """Write changes in one transaction, all or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for name, statement in _STATEMENTS.items():
            rows = changes.rows.get(name)
            if rows:
                connection.executemany(statement, rows)
        connection.execute("COMMIT")
    except sqlite3.Error:
        if connection.in_transaction:  # a full disk may have rolled it back already
            connection.execute("ROLLBACK")
        raise


def read(connection: sqlite3.Connection, table: str, order: str) -> sqlite3.Cursor:
    """Return the rows of a table."""
    return connection.execute(f"SELECT * FROM {table} ORDER BY {order}")  # noqa: S608  # our names


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0:
        connection.executescript(_SCHEMA)
    elif version != VERSION:
        raise Misused(f"{path}: has format {version}, needs {VERSION}; start with another file")
