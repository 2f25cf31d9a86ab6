"""Bring a database to the present tables, or say that it is not there yet."""

from contextlib import closing
from pathlib import Path

from sqlalchemy import URL, Connection, inspect, text

from injector.errors import Misused
from injector.ledger.engines import Engines, in_memory, make_engines, parse_url
from injector.ledger.faults import told_as_ours
from injector.ledger.patience import patiently
from injector.ledger.tables import REVISION

LOCK = 500_50_5
"""The advisory lock that one migration at a time holds in PostgreSQL."""

PATIENCE_S = 20.0
"""How long to wait for another one that is under way."""


def upgrade(url: str) -> None:
    """Lead the database from whatever released schema it has, or none, to the present one."""
    parsed = parse_url(url)
    patiently(lambda: _upgrade(parsed), PATIENCE_S)


def _upgrade(url: URL) -> None:
    engines = make_engines(url, wait_s=PATIENCE_S / 2, connections=1)
    with closing(engines), told_as_ours(url):
        _make_folder(url)
        migrate(engines)


def prepare(engines: Engines) -> None:
    """Make a SQLite ledger ready for use; only check one in PostgreSQL, which others share.

    Raises Misused when the database is of another version and may not be changed here.
    """
    url = engines.writing.url
    _make_folder(url)
    found = revision(engines)
    if found == REVISION:
        return
    _refuse_newer(url, found)
    if not engines.sqlite:
        name = url.render_as_string(hide_password=True)
        state = f"is at version {found} of {REVISION}" if found else "has no tables yet"
        raise Misused(f"the ledger {name} {state}; run `injector db upgrade`")
    migrate(engines)


def version_of(url: str) -> str:
    """Return the version of the tables at a URL, and change nothing; empty when there are none."""
    parsed = parse_url(url)
    if parsed.drivername.startswith("sqlite") and not _is_file(parsed):
        return ""
    engines = make_engines(parsed, wait_s=10.0, connections=1)
    with closing(engines), told_as_ours(parsed):
        return revision(engines)


def revision(engines: Engines) -> str:
    """Return the version of the database's tables; empty when it has none."""
    with engines.reading.connect() as connection:
        return _revision(connection)


def migrate(engines: Engines) -> None:
    """Run the migrations that are missing, one process at a time, all or none."""
    if engines.sqlite:
        _write_ahead(engines)
    with engines.writing.begin() as connection:
        engines.begin(connection)
        if not engines.sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
        found = _revision(connection)
        _refuse_newer(engines.writing.url, found)
        if found != REVISION:
            _run_alembic(connection)


def _is_file(url: URL) -> bool:
    return not in_memory(url) and Path(str(url.database).removeprefix("file:")).is_file()


def _make_folder(url: URL) -> None:
    """Make the folder of a SQLite file, but not the one above it: that would be a typing error."""
    if url.drivername.startswith("sqlite") and not in_memory(url):
        folder = Path(str(url.database).removeprefix("file:")).absolute().parent
        if folder.parent.is_dir():
            folder.mkdir(exist_ok=True)


def _write_ahead(engines: Engines) -> None:
    """Let readers and the writer work side by side; the file remembers it."""
    with engines.reading.connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")


def _run_alembic(connection: Connection) -> None:
    """Import Alembic only now: most processes find the tables as they should be."""
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", "injector.ledger:migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _revision(connection: Connection) -> str:
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return str(connection.scalar(text("SELECT version_num FROM alembic_version")) or "")


def _refuse_newer(url: URL, found: str) -> None:
    if found > REVISION:
        name = url.render_as_string(hide_password=True)
        raise Misused(
            f"the ledger {name} is at version {found}, this program knows {REVISION}; upgrade it"
        )
