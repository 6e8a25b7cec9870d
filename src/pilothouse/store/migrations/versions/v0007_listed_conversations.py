"""The list of conversations is read in its own order."""

from alembic import op

from pilothouse.store import schema

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Replace the index that left equal times to be sorted."""
    op.drop_index("conversations_recent", table_name="conversations")
    op.execute(schema.LISTED_CONVERSATIONS)
