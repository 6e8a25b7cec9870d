"""Databases as earlier versions left them: what takes the newest schema back to an older one."""

from __future__ import annotations

# To 0005, before attachments were kept with the results of calls.
BEFORE_PARTS = (
    "DROP INDEX parts_of_conversation",
    "ALTER TABLE parts RENAME TO results",
    "CREATE INDEX results_of_conversation ON results (conversation_id)",
    "UPDATE alembic_version SET version_num = '0005'",
)
# To 0004, before events were packed.
BEFORE_PACKING = (
    *BEFORE_PARTS,
    "DROP TABLE packing_backlog",
    "DROP TABLE texts_backlog",
    "DROP INDEX deltas_of_item",
    "CREATE INDEX events_of_item ON events (item_id, kind, seq)",
    "UPDATE alembic_version SET version_num = '0004'",
)
