"""The database under the ledger, reached by each process over connections of its own."""

import os
from collections.abc import Callable, Mapping
from typing import TypeVar

from sqlalchemy import URL, Connection, Engine
from sqlalchemy.exc import SQLAlchemyError
from tenacity import (
    Retrying,
    retry_if_exception_type,
    stop_after_delay,
    wait_random_exponential,
)

from injector.errors import Retryable
from injector.ledger.engines import WRITING, make_engine
from injector.ledger.faults import verdict
from injector.ledger.schema import prepare

T = TypeVar("T")


class Database:
    """Runs units of work, each again from its start when the database was busy or away.

    `patience_s` bounds the repeats of one unit. Making a Database opens nothing: a process
    connects at its first unit of work, and what it inherited over a fork it leaves alone,
    neither using nor closing it (a shared TLS stream breaks for both, and so does a shared
    SQLite file).
    """

    def __init__(self, url: URL, *, patience_s: float, connections: int) -> None:
        self.url = url
        self._patience_s = patience_s
        self._connections = connections
        self._engines: dict[int, Engine] = {}

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run it outside a transaction: each statement sees what is committed by then."""
        return self._patiently(work, {"isolation_level": "AUTOCOMMIT"})

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run it as one transaction."""
        return self._patiently(work, WRITING)

    def close(self) -> None:
        """Close this process's connections."""
        engine = self._engines.pop(os.getpid(), None)
        if engine is not None:
            engine.dispose()

    def _patiently(self, work: Callable[[Connection], T], options: Mapping[str, object]) -> T:
        attempts = Retrying(
            retry=retry_if_exception_type(Retryable),
            wait=wait_random_exponential(multiplier=0.02, max=1.0),
            stop=stop_after_delay(self._patience_s),
            reraise=True,
        )
        return attempts(lambda: self._once(work, options))

    def _once(self, work: Callable[[Connection], T], options: Mapping[str, object]) -> T:
        try:
            with self._engine().execution_options(**options).begin() as connection:
                return work(connection)
        except SQLAlchemyError as error:
            raise verdict(error, self.url) from error

    def _engine(self) -> Engine:
        """Return this process's engine; of threads that make it at once, the first one's stays."""
        engine = self._engines.get(os.getpid())
        if engine is not None:
            return engine
        engine = self._prepared()
        kept = self._engines.setdefault(os.getpid(), engine)
        if kept is not engine:
            engine.dispose()
        return kept

    def _prepared(self) -> Engine:
        engine = make_engine(self.url, wait_s=self._patience_s / 4, connections=self._connections)
        try:
            prepare(engine)
        except BaseException:
            engine.dispose()
            raise
        return engine
