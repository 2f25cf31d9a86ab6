"""Control of running jobs: thresholds, redrives, take-backs, notices, and answers given."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add them."""
    widen_jobs()
    create_takebacks()
    create_notices()
    create_answers()


def widen_jobs() -> None:
    """Add what jobs did not have; SQLite copies the table, and must keep never reusing keys."""
    keeps_keys = {"sqlite_autoincrement": True}
    with op.batch_alter_table("jobs", recreate="auto", table_kwargs=keeps_keys) as jobs:
        jobs.add_column(sa.Column("rejects_allowed", sa.BigInteger(), nullable=True))
        jobs.add_column(
            sa.Column("named_after", sa.Text(), nullable=False, server_default=sa.text("''"))
        )
        jobs.add_column(
            sa.Column("redrives", sa.Integer(), nullable=False, server_default=sa.text("'0'"))
        )


def create_takebacks() -> None:
    """Create takebacks."""
    op.create_table(
        "takebacks",
        sa.Column("job", sa.Integer(), nullable=False),
        sa.Column("next", sa.Integer(), nullable=False),
        sa.Column("past", sa.Integer(), nullable=False),
        sa.Column("deleted", sa.BigInteger(), nullable=False),
        sa.Column("gone", sa.BigInteger(), nullable=False),
        sa.Column("not_before", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("job", name="takebacks_pkey"),
        sqlite_with_rowid=False,
    )


def create_notices() -> None:
    """Create notices."""
    op.create_table(
        "notices",
        sa.Column("job", sa.Integer(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("due", sa.Double(), nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("job", name="notices_pkey"),
        sqlite_with_rowid=False,
    )
    op.create_index("notices_by_time", "notices", ["due"])


def create_answers() -> None:
    """Create answers."""
    op.create_table(
        "answers",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="answers_pkey"),
        sqlite_with_rowid=False,
    )
    op.create_index("answers_by_time", "answers", ["at"])
