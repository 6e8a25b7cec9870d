"""Several processes on one PostgreSQL: the queue, shared settings, and what each process says of itself."""

import sqlalchemy as sa
from alembic import op

from pilothouse.store import shared_tables

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Let a process say what it is, and make what only PostgreSQL has."""
    op.add_column("processes", sa.Column("about", sa.Text))
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        shared_tables.make(connection)
