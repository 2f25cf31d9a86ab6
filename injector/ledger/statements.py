"""What SQLite and PostgreSQL say alike, and SQLAlchemy only by dialect."""

from functools import cache

from sqlalchemy import Insert, Table
from sqlalchemy.dialects import postgresql, sqlite


@cache
def insert_new(dialect: str, table: Table) -> Insert:
    """Return an insert that leaves a row alone that is there already."""
    return _insert(dialect, table).on_conflict_do_nothing()


@cache
def insert_or_add(dialect: str, table: Table) -> Insert:
    """Return an insert that adds to the row that is there, in all columns but the key."""
    insert = _insert(dialect, table)
    sums = {c.name: c + insert.excluded[c.name] for c in table.c if not c.primary_key}
    return insert.on_conflict_do_update(index_elements=list(table.primary_key), set_=sums)


def _insert(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    return postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
