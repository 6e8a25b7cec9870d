"""A permission may be for one run, and need not end at a time."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Say of each permission which run it is for; those of before are for any."""
    with op.batch_alter_table("grants") as grants:
        grants.add_column(sa.Column("run_id", sa.String(40), nullable=False, server_default=""))
        grants.alter_column("expires_at", existing_type=sa.Double(), nullable=True)
