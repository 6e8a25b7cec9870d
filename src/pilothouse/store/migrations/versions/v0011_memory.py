"""Topics, memories, documents with their passages, and what texts mean."""

import sqlalchemy as sa
from alembic import op

from pilothouse.store import words

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Add the tables; they begin empty, and what messages mean is worked out while the program runs."""
    _topics()
    _memories()
    _documents()
    _vectors()
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    for statement in words.SQLITE_TABLES if is_sqlite else words.POSTGRESQL_TABLES:
        op.execute(statement)


def _topics() -> None:
    op.create_table(
        "topics",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("owner", sa.String(80), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("deleted_at", sa.Double),
        sa.Column("members", sa.LargeBinary),
        sa.Index("topics_of_owner", "owner", "name"),
    )


def _memories() -> None:
    op.create_table(
        "memories",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("key", sa.String(40), nullable=False, unique=True),
        sa.Column("owner", sa.String(80), nullable=False),
        sa.Column("scope_kind", sa.String(16), nullable=False),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("forgotten_at", sa.Double),
        sa.Index("memories_in_scope", "owner", "scope_kind", "scope", "updated_at"),
        sa.Index("memories_alike", "owner", "scope_kind", "scope", "digest"),
    )


def _documents() -> None:
    op.create_table(
        "documents",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("owner", sa.String(80), nullable=False),
        sa.Column("scope_kind", sa.String(16), nullable=False),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("file", sa.LargeBinary),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("deleted_at", sa.Double),
        sa.Index("documents_in_scope", "owner", "scope_kind", "scope", "created_at"),
        sa.Index("documents_alike", "owner", "scope_kind", "scope", "digest"),
    )
    op.create_table(
        "passages",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("document_id", sa.String(40), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("page", sa.Integer),
        sa.Column("line", sa.Integer, nullable=False),
        sa.Column("section", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Index("passages_of_document", "document_id", "position"),
    )


def _vectors() -> None:
    op.create_table(
        "vectors",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("key", sa.String(40), nullable=False),
        sa.Column("model", sa.String(200), nullable=False),
        sa.Column("owner", sa.String(80), nullable=False),
        sa.Column("scope_kind", sa.String(16), nullable=False),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("vector", sa.LargeBinary, nullable=False),
        sa.Index("vectors_of_texts", "kind", "key", "model", unique=True),
    )
