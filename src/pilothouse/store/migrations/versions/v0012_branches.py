"""Branches of conversations."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Say of each item and run in which branch it stands; all of before are in the first."""
    for table in ("items", "runs"):
        op.add_column(table, sa.Column("branch", sa.Integer, nullable=False, server_default="0"))
    op.create_index("items_of_branch", "items", ["conversation_id", "branch", "position"])
    for name in ("branch", "branches"):
        op.add_column("conversations", sa.Column(name, sa.Integer, nullable=False, server_default="0"))
    op.create_table(
        "branches",
        sa.Column("conversation_id", sa.String(40), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("parent", sa.Integer, nullable=False),
        sa.Column("before", sa.BigInteger, nullable=False),
        sa.Column("instead_of", sa.String(40), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("item_id", sa.String(40), nullable=False),
        sa.Column("run_id", sa.String(40), nullable=False),
        sa.Column("repeats", sa.String(40)),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("todos", sa.LargeBinary),
        sa.Column("todos_at", sa.Double, nullable=False, server_default="0"),
    )
