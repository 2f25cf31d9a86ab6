from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, inspect, text

from injector.errors import Misused
from injector.ledger import open_ledger, upgrade
from injector.ledger.engines import parse_url
from injector.ledger.tables import METADATA, REVISION

SCRIPTS = Config()
SCRIPTS.set_main_option("script_location", "injector.ledger:migrations")
RELEASED = [each.revision for each in ScriptDirectory.from_config(SCRIPTS).walk_revisions()]


@pytest.fixture
def engine(empty_url: str) -> Iterator[Engine]:
    made = create_engine(parse_url(empty_url))
    yield made
    made.dispose()


def lead_to(engine: Engine, revision: str) -> None:
    with engine.begin() as connection:
        SCRIPTS.attributes["connection"] = connection
        command.upgrade(SCRIPTS, revision)


def shape(engine: Engine) -> dict[str, object]:
    """Say what a database's tables are like, down to each column and index."""
    look = inspect(engine)
    return {
        table: (
            [(c["name"], str(c["type"]), c["nullable"]) for c in look.get_columns(table)],
            look.get_pk_constraint(table)["constrained_columns"],
            sorted(
                (str(i["name"]), i["column_names"], i["unique"]) for i in look.get_indexes(table)
            ),
            sorted(u["column_names"] for u in look.get_unique_constraints(table)),
        )
        for table in look.get_table_names()
        if table != "alembic_version"
    }


def test_program_knows_the_newest_migration():
    assert ScriptDirectory.from_config(SCRIPTS).get_current_head() == REVISION


def test_migrations_lead_to_the_tables_that_the_program_uses(engine: Engine, empty_url: str):
    upgrade(empty_url)

    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
    migrated = shape(engine)
    METADATA.drop_all(engine)
    METADATA.create_all(engine)
    assert migrated == shape(engine)


def test_sqlite_tables_are_the_same_to_the_letter(empty_sqlite: str):
    upgrade(empty_sqlite)
    migrated, made = create_engine(empty_sqlite), create_engine("sqlite://")
    METADATA.create_all(made)

    assert statements(migrated) == statements(made)

    migrated.dispose()
    made.dispose()


def statements(engine: Engine) -> set[str]:
    query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND tbl_name <> 'alembic_version'"
    with engine.connect() as connection:
        # a table that was copied by a migration comes back with its name in quotes
        found = (str(sql).replace('"jobs"', "jobs") for sql in connection.scalars(text(query)))
        return {" ".join(sql.split()) for sql in found}


@pytest.mark.parametrize("released", RELEASED)
def test_each_released_schema_is_led_to_the_present_one(
    engine: Engine, empty_url: str, released: str
):
    lead_to(engine, released)

    upgrade(empty_url)

    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
        assert connection.scalar(text("SELECT version_num FROM alembic_version")) == REVISION


def test_upgrading_again_changes_nothing(engine: Engine, empty_url: str):
    upgrade(empty_url)
    before = shape(engine)

    upgrade(empty_url)

    assert shape(engine) == before


def test_upgrades_that_begin_at_once_do_not_meet(empty_url: str):
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(upgrade, [empty_url] * 3))

    ledger = open_ledger(empty_url)
    ledger.ping()
    ledger.close()


def test_sqlite_ledger_is_made_by_its_first_use(empty_sqlite: str):
    ledger = open_ledger(empty_sqlite)

    assert ledger.jobs.list() == []

    ledger.close()


def test_postgres_without_tables_is_refused_with_the_command_to_run(empty_postgres: str):
    ledger = open_ledger(empty_postgres)

    with pytest.raises(Misused, match="has no tables yet; run `injector db upgrade`"):
        ledger.ping()

    ledger.close()


def test_postgres_of_an_older_version_is_refused_with_the_command_to_run(shared_postgres: str):
    set_version(shared_postgres, "0000")
    ledger = open_ledger(shared_postgres)

    with pytest.raises(Misused, match=f"version 0000 of {REVISION}; run `injector db upgrade`"):
        ledger.ping()

    ledger.close()


def test_ledger_of_a_newer_version_is_left_alone(shared_url: str):
    set_version(shared_url, "9999")
    ledger = open_ledger(shared_url)

    with pytest.raises(Misused, match="at version 9999, this program knows"):
        ledger.ping()
    with pytest.raises(Misused, match="at version 9999, this program knows"):
        upgrade(shared_url)

    ledger.close()


def set_version(url: str, version: str) -> None:
    engine = create_engine(parse_url(url))
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :to"), {"to": version})
    engine.dispose()
