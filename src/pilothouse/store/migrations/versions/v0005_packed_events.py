"""Events, items and searched texts are packed: which still are not."""

import sqlalchemy as sa
from alembic import op

from pilothouse.store import schema, search

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Note every conversation and every text; they are gone through later, while the program works."""
    op.create_table(
        "packing_backlog",
        sa.Column("conversation_id", sa.String(40), primary_key=True),
        sa.Column("seq", sa.BigInteger),
    )
    op.execute("INSERT INTO packing_backlog (conversation_id) SELECT id FROM conversations")
    op.drop_index("events_of_item", "events")
    op.execute(schema.DELTAS_OF_ITEM)
    op.create_table("texts_backlog", sa.Column("before", sa.Integer, primary_key=True))
    if op.get_bind().dialect.name == "sqlite":
        _searched_texts()


def _searched_texts() -> None:
    for trigger in ("search_added", "search_removed"):
        op.execute(f"DROP TRIGGER IF EXISTS {trigger}")
    op.execute("DROP TABLE search_parts")
    for statement in (search.SEARCH_PARTS, *search.SQLITE_TRIGGERS):
        op.execute(statement)
    op.execute("INSERT INTO texts_backlog (before) SELECT max(id) + 1 FROM search_texts HAVING max(id) IS NOT NULL")
