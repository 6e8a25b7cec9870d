"""What people attach is kept where the results of calls are: the table has the parts of both."""

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Give the table its name; messages of before keep their images, for what is sealed is not rewritten."""
    op.drop_index("results_of_conversation", table_name="results")
    op.rename_table("results", "parts")
    op.create_index("parts_of_conversation", "parts", ["conversation_id"])
