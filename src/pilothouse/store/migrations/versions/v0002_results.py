"""Whole results of tool calls."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the table of results."""
    op.create_table(
        "results",
        sa.Column("item_id", sa.String(40), primary_key=True),
        sa.Column("index", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("conversation_id", sa.String(40), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("media_type", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("uri", sa.Text, nullable=False),
        sa.Column("is_text", sa.Boolean, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("cut", sa.Boolean, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_index("results_of_conversation", "results", ["conversation_id"])
