"""Events of finished runs are packed: which conversations still have some that are not."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Note every conversation; they are gone through later, while the program works."""
    op.create_table(
        "packing_backlog",
        sa.Column("conversation_id", sa.String(40), primary_key=True),
        sa.Column("seq", sa.BigInteger),
    )
    op.execute("INSERT INTO packing_backlog (conversation_id) SELECT id FROM conversations")
    deltas = sa.text("kind = 'item.delta'")
    op.drop_index("events_of_item", "events")
    op.create_index("deltas_of_item", "events", ["item_id", "seq"], sqlite_where=deltas, postgresql_where=deltas)
