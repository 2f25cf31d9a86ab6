"""Topics: what Pub/Sub called the messages, and which events it was told."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add them."""
    op.create_table(
        "message_ids",
        sa.Column("job", sa.Integer(), nullable=False),
        sa.Column("chunk", sa.Integer(), nullable=False),
        sa.Column("ids", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("job", "chunk", name="message_ids_pkey"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "event_marks",
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("told", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("topic", "source", name="event_marks_pkey"),
        sqlite_with_rowid=False,
    )
