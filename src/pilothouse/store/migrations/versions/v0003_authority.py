"""Grants, changes of files, todos; and a seal on every event."""

import sqlalchemy as sa
from alembic import op

from pilothouse.store import hash_chain

revision = "0003"
down_revision = "0002"
# How many events are sealed at once: memory stays small, whatever the database holds.
_BATCH = 1_000


def upgrade() -> None:
    """Create the tables, and seal the events that there are."""
    _grants()
    _file_changes()
    op.create_table(
        "todos",
        sa.Column("conversation_id", sa.String(40), primary_key=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
    )
    op.add_column("events", sa.Column("chain", sa.LargeBinary))
    connection = op.get_bind()
    for (conversation_id,) in connection.execute(sa.text("SELECT id FROM conversations")).all():
        _seal(connection, conversation_id)


def _grants() -> None:
    op.create_table(
        "grants",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("owner", sa.String(80), nullable=False),
        sa.Column("conversation_id", sa.String(40), nullable=False),
        sa.Column("pattern", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("single_use", sa.Boolean, nullable=False),
        sa.Column("uses", sa.Integer, nullable=False),
        sa.Column("last_used_at", sa.Double),
        sa.Column("revoked_at", sa.Double),
        sa.Column("question_id", sa.String(40), nullable=False),
    )
    op.create_index("grants_of_conversation", "grants", ["conversation_id", "expires_at"])


def _file_changes() -> None:
    op.create_table(
        "file_changes",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("conversation_id", sa.String(40), nullable=False),
        sa.Column("run_id", sa.String(40), nullable=False),
        sa.Column("item_id", sa.String(40), nullable=False),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("before", sa.String(64)),
        sa.Column("after", sa.String(64)),
        sa.Column("mode", sa.Integer),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("undone_at", sa.Double),
        sa.Column("moved_from", sa.Text, nullable=False),
        sa.Column("content", sa.LargeBinary),
    )
    op.create_index("file_changes_of_conversation", "file_changes", ["conversation_id"])
    op.create_index("file_changes_of_run", "file_changes", ["run_id", "at"])
    op.create_index("file_changes_of_item", "file_changes", ["item_id", "at"])


def _seal(connection: sa.Connection, conversation_id: str) -> None:
    read = sa.text(
        "SELECT seq, kind, item_id, body FROM events WHERE conversation_id = :id AND seq > :after "
        "ORDER BY seq LIMIT :limit"
    )
    write = sa.text("UPDATE events SET chain = :chain WHERE conversation_id = :id AND seq = :seq")
    seal, after = hash_chain.beginning(conversation_id), 0
    while found := connection.execute(read, {"id": conversation_id, "after": after, "limit": _BATCH}).all():
        sealed = []
        for seq, kind, item_id, body in found:
            seal = hash_chain.link(seal, (seq, kind, item_id, bytes(body)))
            sealed.append({"id": conversation_id, "seq": seq, "chain": seal})
        connection.execute(write, sealed)
        after = found[-1].seq
