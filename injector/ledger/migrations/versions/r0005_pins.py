"""Pins: which layout of its group's queues each chunk was first fed under."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "pins",
        sa.Column("names", sa.Text(), nullable=False),
        sa.Column("first", sa.Integer(), nullable=False),
        sa.Column("past", sa.Integer(), nullable=False),
        sa.Column("layout", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("names", "first", name="pins_pkey"),
        sqlite_with_rowid=False,
    )
