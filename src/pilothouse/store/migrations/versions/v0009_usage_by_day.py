"""What models were asked for is counted by day, and outlives the conversations."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Note every conversation; what was used in it so far is counted later, while the program works."""
    op.create_table(
        "usage_days",
        sa.Column("owner", sa.String(80), primary_key=True),
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("model", sa.Text, primary_key=True),
        sa.Column("requests", sa.BigInteger, nullable=False),
        sa.Column("input", sa.BigInteger, nullable=False),
        sa.Column("output", sa.BigInteger, nullable=False),
        sa.Column("cache_read", sa.BigInteger, nullable=False),
        sa.Column("cache_write", sa.BigInteger, nullable=False),
        sa.Column("cost", sa.Double, nullable=False),
        sa.Column("cost_known_for", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "budget_raises",
        sa.Column("owner", sa.String(80), primary_key=True),
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("raised", sa.Double, nullable=False),
    )
    op.create_table(
        "usage_backlog",
        sa.Column("conversation_id", sa.String(40), primary_key=True),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
    )
    op.execute("INSERT INTO usage_backlog (conversation_id, position, until) SELECT id, 0, last_seq FROM conversations")
