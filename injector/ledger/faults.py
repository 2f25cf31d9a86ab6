"""What a database's error means for who called."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from injector.errors import InjectorError, Misused, Retryable

_SQLITE_PASSING = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_SQLITE_REMEDIES = {
    sqlite3.SQLITE_READONLY: "is read-only; give this user write access to the file and its folder",
    sqlite3.SQLITE_FULL: "cannot grow, the disk is full; free some space and go on",
    sqlite3.SQLITE_IOERR: "cannot be written or read; look at the disk it is on",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; does its folder exist, and may this user write it?",
    sqlite3.SQLITE_NOTADB: "is not a SQLite database; give another path",
    sqlite3.SQLITE_CORRUPT: "is damaged; restore it, or begin with a new file",
}
# Classes and codes of https://www.postgresql.org/docs/current/errcodes-appendix.html
_POSTGRES_PASSING = ("08", "40", "53300", "55P03", "57P", "25P03")
_POSTGRES_REMEDIES = {
    "25006": "is read-only; is it a replica? Give the primary's address",
    "53100": "cannot grow, its disk is full; free some space and go on",
    "42501": "refuses this user; grant it the rights on the ledger's tables",
    "28": "refuses this user; look at the user and password of the URL",
    "3D000": "does not exist; create it",
}
# A connection that is refused carries no code through libpq, only the server's words.
_POSTGRES_REFUSALS = {
    "authentication failed": "28P01",
    "no password supplied": "28P01",
    "no pg_hba.conf entry": "28000",
    "is not permitted to log in": "28000",
    "permission denied for database": "42501",
}
_POSTGRES_MISSING = re.compile(r'(role|database) "[^"]*" does not exist')
_MISSING = {"role": "28000", "database": "3D000"}


@contextmanager
def told_as_ours(url: URL) -> Iterator[None]:
    """Turn what the database raises into the product's errors, but not this program's faults."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        ours = _verdict(error, url)
        if ours is None:
            raise
        raise ours from error


def _verdict(error: SQLAlchemyError | sqlite3.Error, url: URL) -> InjectorError | None:
    name = f"the ledger {url.render_as_string(hide_password=True)}"
    if isinstance(error, sqlite3.Error):
        return _sqlite_verdict(error, name)
    if isinstance(error, PoolTimeoutError):
        return Retryable(f"{name} has all its connections in use", retry_after_s=1.0)
    if not isinstance(error, DBAPIError):
        return None
    if isinstance(error.orig, sqlite3.Error):
        return _sqlite_verdict(error.orig, name)
    return _postgres_verdict(error, name)


def _sqlite_verdict(error: sqlite3.Error, name: str) -> InjectorError | None:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest of the code is detail
    if code in _SQLITE_PASSING:
        return Retryable(f"{name} is busy: {error}", retry_after_s=1.0)
    if code in _SQLITE_REMEDIES:
        return Misused(f"{name} {_SQLITE_REMEDIES[code]} ({error})")
    return None


def _postgres_verdict(error: DBAPIError, name: str) -> InjectorError | None:
    code = _sqlstate(error)
    for prefix, remedy in _POSTGRES_REMEDIES.items():
        if code.startswith(prefix):
            return Misused(f"{name} {remedy} ({error.orig})")
    if code.startswith(_POSTGRES_PASSING):
        return Retryable(f"{name} is busy or away: {error.orig}", retry_after_s=1.0)
    return None


def _sqlstate(error: DBAPIError) -> str:
    """Return its code; for a connection that failed, the one that its words stand for."""
    code = getattr(error.orig, "sqlstate", None)
    if code is None and isinstance(error, OperationalError | InterfaceError):
        return _refusal(str(error.orig))
    return str(code)


def _refusal(words: str) -> str:
    """Return the code of a refused connection; of a lost one, or in words unknown here, 08000."""
    if missing := _POSTGRES_MISSING.search(words):
        return _MISSING[missing[1]]
    return next((code for said, code in _POSTGRES_REFUSALS.items() if said in words), "08000")
