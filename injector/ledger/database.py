"""The database under the ledger, reached by each process over connections of its own."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import TypeVar, cast

from sqlalchemy import URL, Connection

from injector.ledger.engines import Engines, make_engines
from injector.ledger.faults import told_as_ours
from injector.ledger.patience import patiently
from injector.ledger.schema import prepare

T = TypeVar("T")

CONNECTIONS = 16
"""How many a process holds at the most."""


class Database:
    """Runs units of work, each again from its start when the database was busy or away.

    `patience_s` bounds the repeats of one unit. Making a Database opens nothing: a process
    connects at its first unit of work, and what it inherited over a fork it leaves alone,
    neither using nor closing it (a shared TLS stream breaks for both, and so does a shared
    SQLite file).
    """

    def __init__(self, url: URL, *, patience_s: float) -> None:
        self.url = url
        self._patience_s = patience_s
        self._engines: dict[int, Engines] = {}

    @property
    def postgresql(self) -> bool:
        """Tell which of the two databases it is."""
        return self.url.drivername.startswith("postgresql")

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run it statement by statement, each a transaction by itself."""
        return patiently(lambda: self._read(work), self._patience_s)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run it as one transaction."""
        return patiently(lambda: self._write(work), self._patience_s)

    def drive(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run it on the driver's own connection to SQLite, statement by statement."""
        return patiently(lambda: self._drive(work), self._patience_s)

    def close(self) -> None:
        """Close this process's connections."""
        engines = self._engines.pop(os.getpid(), None)
        if engines is not None:
            engines.close()

    def _read(self, work: Callable[[Connection], T]) -> T:
        with told_as_ours(self.url), self._here().reading.connect() as connection:
            return work(connection)

    def _write(self, work: Callable[[Connection], T]) -> T:
        """Run it between begin and commit."""
        with told_as_ours(self.url), self._here().writing.begin() as connection:
            self._here().begin(connection)
            return work(connection)

    def _drive(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with told_as_ours(self.url), closing(self._here().reading.raw_connection()) as pooled:
            return work(cast("sqlite3.Connection", pooled.driver_connection))

    def _here(self) -> Engines:
        """Return this process's engines; of threads that make them at once, the first's stay."""
        kept = self._engines.get(os.getpid())
        if kept is not None:
            return kept
        made = self._prepared()
        kept = self._engines.setdefault(os.getpid(), made)
        if kept is not made:
            made.close()
        return kept

    def _prepared(self) -> Engines:
        engines = make_engines(self.url, wait_s=self._patience_s / 4, connections=CONNECTIONS)
        try:
            prepare(engines)
        except BaseException:
            engines.close()
            raise
        return engines
