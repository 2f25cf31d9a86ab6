"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create all of them."""
    create_jobs()
    create_feeds()
    create_receipts()
    create_rejects()
    create_counters()
    create_signals()
    create_groups()
    create_leases()
    create_audit()


def create_jobs() -> None:
    """Create jobs."""
    op.create_table(
        "jobs",
        sa.Column("key", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=True),
        sa.Column("queue_group", sa.Text(), nullable=False),
        sa.Column("manifest_json", sa.Text(), nullable=False),
        sa.Column("store", sa.Text(), nullable=False),
        sa.Column("records", sa.BigInteger(), nullable=False),
        sa.Column("chunks", sa.Integer(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("rejected", sa.BigInteger(), nullable=False),
        sa.Column("weight", sa.Double(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("max_rate", sa.Double(), nullable=True),
        sa.Column("parent", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("cursor", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("registered_at", sa.Double(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=True),
        sa.Column("finished_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("key"),
        sa.UniqueConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("jobs_by_group", "jobs", ["queue_group", "state"])
    op.create_index("jobs_by_state", "jobs", ["state", "key"])


def create_feeds() -> None:
    """Create feeds."""
    op.create_table(
        "feeds",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("job", sa.Integer(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("first", sa.Integer(), nullable=False),
        sa.Column("past", sa.Integer(), nullable=False),
        sa.Column("scheduled_until", sa.Double(), nullable=False),
        sa.Column("fed_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("feeds_by_time", "feeds", ["job", "scheduled_until"])


def create_receipts() -> None:
    """Create receipts."""
    op.create_table(
        "receipts",
        sa.Column("job", sa.Integer(), nullable=False),
        sa.Column("chunk", sa.Integer(), nullable=False),
        sa.Column("records", sa.SmallInteger(), nullable=False),
        sa.Column("settled", sa.Boolean(), nullable=False),
        sa.Column("masks", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("job", "chunk", name="receipts_pkey"),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "receipts_not_plain",
        "receipts",
        ["job", "chunk"],
        sqlite_where=sa.text("masks IS NOT NULL"),
        postgresql_where=sa.text("masks IS NOT NULL"),
    )


def create_rejects() -> None:
    """Create rejects."""
    op.create_table(
        "rejects",
        sa.Column("job", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.BigInteger(), nullable=False),
        sa.Column("line", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.SmallInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("job", "ordinal", name="rejects_pkey"),
        sqlite_with_rowid=False,
    )


def create_counters() -> None:
    """Create counters."""
    op.create_table(
        "counters",
        sa.Column("job", sa.Integer(), nullable=False),
        sa.Column("shard", sa.SmallInteger(), nullable=False),
        sa.Column("chunks", sa.Integer(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("existed", sa.BigInteger(), nullable=False),
        sa.Column("rejected", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("job", "shard", name="counters_pkey"),
        sqlite_with_rowid=False,
    )


def create_signals() -> None:
    """Create signals."""
    op.create_table(
        "signals",
        sa.Column("queue_group", sa.Text(), nullable=False),
        sa.Column("minute", sa.Integer(), nullable=False),
        sa.Column("shard", sa.SmallInteger(), nullable=False),
        sa.Column("counts_json", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("queue_group", "minute", "shard", name="signals_pkey"),
        sqlite_with_rowid=False,
    )
    op.create_index("signals_by_minute", "signals", ["minute"])


def create_groups() -> None:
    """Create groups and decisions."""
    op.create_table(
        "groups",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("ramp_json", sa.Text(), nullable=False),
        sa.Column("saved_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="groups_pkey"),
    )
    op.create_table(
        "decisions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("queue_group", sa.Text(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("rate", sa.Double(), nullable=False),
        sa.Column("concurrency", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("evidence_json", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("decisions_by_group", "decisions", ["queue_group", "id"])


def create_leases() -> None:
    """Create leases."""
    op.create_table(
        "leases",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="leases_pkey"),
    )


def create_audit() -> None:
    """Create audit."""
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("old", sa.Text(), nullable=False),
        sa.Column("new", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("audit_by_job", "audit", ["job", "id"])
