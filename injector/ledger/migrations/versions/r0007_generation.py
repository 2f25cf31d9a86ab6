"""Generation: the least one of a job's chunks that still counts, so that what was fed goes back."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the column."""
    op.add_column("jobs", sa.Column("generation", sa.Integer(), nullable=False, server_default="0"))
