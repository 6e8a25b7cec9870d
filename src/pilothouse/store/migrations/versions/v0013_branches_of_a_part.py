"""Which branches leave a part of a conversation, and which of its runs are at work, by an index."""

from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Let a conversation with many branches open as fast as one without."""
    op.create_index("branches_by_place", "branches", ["conversation_id", "before"])
    op.execute(
        "CREATE INDEX runs_at_work ON runs (conversation_id, created_at) "
        "WHERE status IN ('queued', 'running', 'waiting')"
    )
