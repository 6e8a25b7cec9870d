"""Calls can be found by search: which conversations still have some that cannot."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Note every conversation; the calls in them are gone through later, while the program works."""
    op.create_table(
        "search_backlog",
        sa.Column("conversation_id", sa.String(40), primary_key=True),
        sa.Column("position", sa.BigInteger, nullable=False),
    )
    op.execute("INSERT INTO search_backlog (conversation_id, position) SELECT id, -1 FROM conversations")
