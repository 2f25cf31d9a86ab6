"""What SQLite and PostgreSQL say alike, and SQLAlchemy only by dialect."""

from collections.abc import Mapping
from functools import cache

from sqlalchemy import Connection, Insert, Table
from sqlalchemy.dialects import postgresql, sqlite


def add_new(connection: Connection, table: Table, row: Mapping[str, object]) -> bool:
    """Insert the row unless one is there already, and tell whether it did."""
    return connection.execute(_insert_new(connection.dialect.name, table), row).rowcount == 1


def add_up(connection: Connection, table: Table, row: Mapping[str, object]) -> None:
    """Insert the row, or add it to the one that is there, in all columns but the key."""
    connection.execute(_insert_or_add(connection.dialect.name, table), row)


@cache
def _insert_new(dialect: str, table: Table) -> Insert:
    statement = _insert(dialect, table).on_conflict_do_nothing()
    return statement.execution_options(preserve_rowcount=True)


@cache
def _insert_or_add(dialect: str, table: Table) -> Insert:
    insert = _insert(dialect, table)
    sums = {c.name: c + insert.excluded[c.name] for c in table.c if not c.primary_key}
    return insert.on_conflict_do_update(index_elements=list(table.primary_key), set_=sums)


def _insert(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    return postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
