"""The first schema."""

import sqlalchemy as sa
from alembic import op

from pilothouse.store import search

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create all tables."""
    _conversations()
    _timeline()
    _runs()
    _housekeeping()
    extra = search.SQLITE_TABLES if op.get_bind().dialect.name == "sqlite" else search.POSTGRESQL_TABLES
    for statement in extra:
        op.execute(statement)


def _conversations() -> None:
    op.create_table(
        "conversations",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("owner", sa.String(80), nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("title_source", sa.String(16), nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("deleted_at", sa.Double),
        sa.Column("activity", sa.String(16)),
        sa.Column("last_seq", sa.BigInteger, nullable=False),
    )
    op.create_index("conversations_recent", "conversations", ["owner", "updated_at"])


def _timeline() -> None:
    op.create_table(
        "events",
        sa.Column("conversation_id", sa.String(40), primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(24), nullable=False),
        sa.Column("item_id", sa.String(40)),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_index("events_of_item", "events", ["item_id", "kind", "seq"])
    op.create_table(
        "items",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("conversation_id", sa.String(40), nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("run_id", sa.String(40)),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_index("items_in_order", "items", ["conversation_id", "position"])
    op.create_index("items_of_run", "items", ["run_id", "status"])


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("conversation_id", sa.String(40), nullable=False),
        sa.Column("owner", sa.String(80), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("process", sa.String(80)),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_index("runs_of_conversation", "runs", ["conversation_id", "created_at"])
    op.create_index("runs_by_status", "runs", ["status"])
    op.create_table(
        "receipts",
        sa.Column("owner", sa.String(80), primary_key=True),
        sa.Column("key", sa.String(200), primary_key=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
    )


def _housekeeping() -> None:
    op.create_table(
        "processes",
        sa.Column("id", sa.String(80), primary_key=True),
        sa.Column("seen_at", sa.Double, nullable=False),
    )
    op.create_table(
        "sessions",
        sa.Column("token_hash", sa.String(64), primary_key=True),
        sa.Column("owner", sa.String(80), nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
    )
    op.create_table(
        "search_texts",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("conversation_id", sa.String(40), nullable=False),
        sa.Column("item_id", sa.String(40)),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("search_texts_of_conversation", "search_texts", ["conversation_id", "item_id"])
