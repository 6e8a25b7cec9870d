"""How many of a day's requests were estimated, because the provider never said what they took."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the count; what was counted before was told by providers."""
    op.add_column("usage_days", sa.Column("estimated", sa.BigInteger, nullable=False, server_default="0"))
