"""Waits: chunks whose open records wait for a queue that takes nothing."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the table, and their number to a job's totals."""
    op.create_table(
        "waits",
        sa.Column("job", sa.Integer(), nullable=False),
        sa.Column("chunk", sa.Integer(), nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("job", "chunk", name="waits_pkey"),
        sqlite_with_rowid=False,
    )
    op.create_index("waits_by_queue", "waits", ["job", "queue", "generation", "chunk"])
    op.add_column(
        "counters", sa.Column("waiting", sa.Integer(), nullable=False, server_default="0")
    )
