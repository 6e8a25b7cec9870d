"""Databases as earlier versions left them: what takes the newest schema back to an older one."""

from __future__ import annotations

# To 0013, before several processes said what they are. The queue on PostgreSQL stays: it is made where it is not there.
BEFORE_SEVERAL = (
    "ALTER TABLE processes DROP COLUMN about",
    "UPDATE alembic_version SET version_num = '0013'",
)
# To 0011, before there were branches.
BEFORE_BRANCHES = (
    *BEFORE_SEVERAL,
    "DROP INDEX items_of_branch",
    "DROP TABLE branches",
    "DROP INDEX runs_at_work",
    *(f"ALTER TABLE {name} DROP COLUMN branch" for name in ("items", "runs", "conversations")),
    "ALTER TABLE conversations DROP COLUMN branches",
    "UPDATE alembic_version SET version_num = '0011'",
)
# To 0010, before there were topics, memories and documents. Their words go with them, or after them.
BEFORE_MEMORY = (
    *BEFORE_BRANCHES,
    *(f"DROP TABLE {name}" for name in ("topics", "memories", "documents", "passages", "vectors")),
    *(f"DROP TABLE IF EXISTS {name}" for name in ("memory_words", "passage_words")),
    "UPDATE alembic_version SET version_num = '0010'",
)
# To 0009, before it was known which use was estimated.
BEFORE_ESTIMATES = (
    *BEFORE_MEMORY,
    "ALTER TABLE usage_days DROP COLUMN estimated",
    "UPDATE alembic_version SET version_num = '0009'",
)
# To 0008, before what was used was counted by day.
BEFORE_USAGE = (
    *BEFORE_MEMORY,
    "DROP TABLE usage_days",
    "DROP TABLE usage_backlog",
    "DROP TABLE budget_raises",
    "UPDATE alembic_version SET version_num = '0008'",
)
# To 0007, before a permission could be for one run.
BEFORE_TASKS = (
    *BEFORE_USAGE,
    "ALTER TABLE grants DROP COLUMN run_id",
    "UPDATE alembic_version SET version_num = '0007'",
)
# To 0006, before the list had an index in its own order.
BEFORE_LISTED = (
    *BEFORE_TASKS,
    "DROP INDEX conversations_listed",
    "CREATE INDEX conversations_recent ON conversations (owner, updated_at)",
    "UPDATE alembic_version SET version_num = '0006'",
)
# To 0005, before attachments were kept with the results of calls.
BEFORE_PARTS = (
    *BEFORE_LISTED,
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
# SQLite before texts were packed, and hits inside words had an index with the place of every letter.
BEFORE_PACKED_TEXTS = (
    "DROP TRIGGER search_added",
    "DROP TRIGGER search_removed",
    "DROP TABLE search_parts",
    "UPDATE search_texts SET body = plain_text(body)",
    "CREATE VIRTUAL TABLE search_parts USING fts5("
    "body, content='search_texts', content_rowid='id', tokenize='trigram')",
    "INSERT INTO search_parts (search_parts) VALUES ('rebuild')",
    "CREATE TRIGGER search_added AFTER INSERT ON search_texts BEGIN "
    "INSERT INTO search_words(rowid, body) VALUES (new.id, new.body); "
    "INSERT INTO search_parts(rowid, body) VALUES (new.id, new.body); END",
    "CREATE TRIGGER search_removed AFTER DELETE ON search_texts BEGIN "
    "INSERT INTO search_words(search_words, rowid, body) VALUES ('delete', old.id, old.body); "
    "INSERT INTO search_parts(search_parts, rowid, body) VALUES ('delete', old.id, old.body); END",
)
