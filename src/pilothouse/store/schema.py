"""The tables. `events` is the truth; `items` and `runs` are folds of it kept for reading."""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()

conversations = sa.Table(
    "conversations",
    metadata,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("owner", sa.String(80), nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("title_source", sa.String(16), nullable=False),
    sa.Column("settings", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("updated_at", sa.Double, nullable=False),
    sa.Column("deleted_at", sa.Double),
    sa.Column("activity", sa.String(16)),
    # The number of the newest event. Its row lock is what makes numbers gap-free and commit-ordered.
    sa.Column("last_seq", sa.BigInteger, nullable=False),
    # The branch that the person chose last, and how many were made: none of them in most conversations.
    sa.Column("branch", sa.Integer, nullable=False, server_default="0"),
    sa.Column("branches", sa.Integer, nullable=False, server_default="0"),
)
# In the very order of the list and without what it leaves out: a page of it reads its own rows only, also where
# thousands were imported at the same moment or deleted. Not an `Index`: one with a condition imports all that
# SQLAlchemy knows of both databases.
LISTED_CONVERSATIONS = (
    "CREATE INDEX conversations_listed ON conversations (owner, updated_at, id) WHERE deleted_at IS NULL"
)
sa.event.listen(conversations, "after_create", sa.DDL(LISTED_CONVERSATIONS))  # type: ignore[no-untyped-call]

events = sa.Table(
    "events",
    metadata,
    sa.Column("conversation_id", sa.String(40), primary_key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    # `packed` for a range of events that became one record, in the place of its last; see `packing`.
    sa.Column("kind", sa.String(24), nullable=False),
    sa.Column("item_id", sa.String(40)),
    # The event's JSON exactly as readers get it, or the record.
    sa.Column("body", sa.LargeBinary, nullable=False),
    # The seal over this event and the seal before it; see `chain`. Only a row that nobody sealed has none.
    sa.Column("chain", sa.LargeBinary),
)
# Only the text of an item that streams is looked for by its item; what has ended is packed.
DELTAS_OF_ITEM = "CREATE INDEX deltas_of_item ON events (item_id, seq) WHERE kind = 'item.delta'"
sa.event.listen(events, "after_create", sa.DDL(DELTAS_OF_ITEM))  # type: ignore[no-untyped-call]

items = sa.Table(
    "items",
    metadata,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("conversation_id", sa.String(40), nullable=False),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("run_id", sa.String(40)),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    # The item's JSON, packed. While it streams its text is in the delta events; the whole text comes at its end.
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("branch", sa.Integer, nullable=False, server_default="0"),
    sa.Index("items_in_order", "conversation_id", "position"),
    # A branch that was left long ago is opened without going through all that was said elsewhere since.
    sa.Index("items_of_branch", "conversation_id", "branch", "position"),
    sa.Index("items_of_run", "run_id", "status"),
)

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("conversation_id", sa.String(40), nullable=False),
    sa.Column("owner", sa.String(80), nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    # Grows with each take-over; a writer with an older epoch is refused.
    sa.Column("epoch", sa.Integer, nullable=False),
    sa.Column("process", sa.String(80)),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("branch", sa.Integer, nullable=False, server_default="0"),
    sa.Index("runs_of_conversation", "conversation_id", "created_at"),
    sa.Index("runs_by_status", "status"),
)
# Of thousands of runs hardly one is at work, and each look at a conversation asks which.
RUNS_AT_WORK = (
    "CREATE INDEX runs_at_work ON runs (conversation_id, created_at) WHERE status IN ('queued', 'running', 'waiting')"
)
sa.event.listen(runs, "after_create", sa.DDL(RUNS_AT_WORK))  # type: ignore[no-untyped-call]

# A fold of the messages that branches begin with; see `types/branches.py`.
branches = sa.Table(
    "branches",
    metadata,
    sa.Column("conversation_id", sa.String(40), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("parent", sa.Integer, nullable=False),
    # What belongs to messages before this position of its parent's path is shared.
    sa.Column("before", sa.BigInteger, nullable=False),
    sa.Column("instead_of", sa.String(40), nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("item_id", sa.String(40), nullable=False),
    sa.Column("run_id", sa.String(40), nullable=False),
    sa.Column("repeats", sa.String(40)),
    sa.Column("created_at", sa.Double, nullable=False),
    # The JSON of its list of todos, and when that changed: at first as it was where the branch begins.
    sa.Column("todos", sa.LargeBinary),
    sa.Column("todos_at", sa.Double, nullable=False, server_default="0"),
    # What leaves a part of a path is found without going through all branches.
    sa.Index("branches_by_place", "conversation_id", "before"),
)

# What people attached and tools gave back, for who looks at it; the timeline has what each is, and its digest.
parts = sa.Table(
    "parts",
    metadata,
    sa.Column("item_id", sa.String(40), primary_key=True),
    sa.Column("index", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("conversation_id", sa.String(40), nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("media_type", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("uri", sa.Text, nullable=False),
    sa.Column("is_text", sa.Boolean, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    # Whether the whole result is more than its pieces here.
    sa.Column("cut", sa.Boolean, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Index("parts_of_conversation", "conversation_id"),
)

# What the person allowed in one conversation: for a while, for one run, or until they withdraw it.
grants = sa.Table(
    "grants",
    metadata,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("owner", sa.String(80), nullable=False),
    sa.Column("conversation_id", sa.String(40), nullable=False),
    # The pattern's JSON.
    sa.Column("pattern", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    # Nothing for one that no time ends.
    sa.Column("expires_at", sa.Double),
    sa.Column("single_use", sa.Boolean, nullable=False),
    sa.Column("uses", sa.Integer, nullable=False),
    sa.Column("last_used_at", sa.Double),
    sa.Column("revoked_at", sa.Double),
    sa.Column("question_id", sa.String(40), nullable=False),
    # The only run that it is for, and with which it ends; empty for any.
    sa.Column("run_id", sa.String(40), nullable=False, server_default=""),
    sa.Index("grants_of_conversation", "conversation_id", "expires_at"),
)

# What files were before a call changed them; `before` and `after` are hashes, `content` is what was replaced.
file_changes = sa.Table(
    "file_changes",
    metadata,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("conversation_id", sa.String(40), nullable=False),
    sa.Column("run_id", sa.String(40), nullable=False),
    sa.Column("item_id", sa.String(40), nullable=False),
    sa.Column("path", sa.Text, nullable=False),
    sa.Column("before", sa.String(64)),
    sa.Column("after", sa.String(64)),
    sa.Column("mode", sa.Integer),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("undone_at", sa.Double),
    sa.Column("moved_from", sa.Text, nullable=False),
    sa.Column("content", sa.LargeBinary),
    sa.Index("file_changes_of_conversation", "conversation_id"),
    sa.Index("file_changes_of_run", "run_id", "at"),
    sa.Index("file_changes_of_item", "item_id", "at"),
)

todos = sa.Table(
    "todos",
    metadata,
    sa.Column("conversation_id", sa.String(40), primary_key=True),
    # The list's JSON.
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("updated_at", sa.Double, nullable=False),
)

receipts = sa.Table(
    "receipts",
    metadata,
    sa.Column("owner", sa.String(80), primary_key=True),
    sa.Column("key", sa.String(200), primary_key=True),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
)

processes = sa.Table(
    "processes",
    metadata,
    sa.Column("id", sa.String(80), primary_key=True),
    sa.Column("seen_at", sa.Double, nullable=False),
    # What it says of itself, as JSON; nothing for one of an earlier release.
    sa.Column("about", sa.Text),
)

sessions = sa.Table(
    "sessions",
    metadata,
    # A hash: whoever reads the database cannot sign in with it.
    sa.Column("token_hash", sa.String(64), primary_key=True),
    sa.Column("owner", sa.String(80), nullable=False),
    sa.Column("expires_at", sa.Double, nullable=False),
)

# What search looks at: one row per message or title.
search_texts = sa.Table(
    "search_texts",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("conversation_id", sa.String(40), nullable=False),
    sa.Column("item_id", sa.String(40)),
    sa.Column("at", sa.Double, nullable=False),
    # On SQLite packed: bytes. There, what is still a text was kept by an earlier version.
    sa.Column("body", sa.Text, nullable=False),
    sa.Index("search_texts_of_conversation", "conversation_id", "item_id"),
)

# Conversations of before an upgrade, with calls that cannot be found yet: up to which item they were gone through.
search_backlog = sa.Table(
    "search_backlog",
    metadata,
    sa.Column("conversation_id", sa.String(40), primary_key=True),
    sa.Column("position", sa.BigInteger, nullable=False),
)

# SQLite after an upgrade: texts before this one are not packed yet, and hits inside their words are not found.
texts_backlog = sa.Table("texts_backlog", metadata, sa.Column("before", sa.Integer, primary_key=True))

# Conversations with events that can be packed: up to which one they were gone through, if this has begun.
packing_backlog = sa.Table(
    "packing_backlog",
    metadata,
    sa.Column("conversation_id", sa.String(40), primary_key=True),
    sa.Column("seq", sa.BigInteger),
)

# What models were asked for, by day and model: counted with the items that say it, and kept when these go.
usage_days = sa.Table(
    "usage_days",
    metadata,
    sa.Column("owner", sa.String(80), primary_key=True),
    # YYYY-MM-DD, by the clock of the machine that wrote it.
    sa.Column("day", sa.String(10), primary_key=True),
    sa.Column("model", sa.Text, primary_key=True),
    sa.Column("requests", sa.BigInteger, nullable=False),
    sa.Column("input", sa.BigInteger, nullable=False),
    sa.Column("output", sa.BigInteger, nullable=False),
    sa.Column("cache_read", sa.BigInteger, nullable=False),
    sa.Column("cache_write", sa.BigInteger, nullable=False),
    # In dollars, of as many requests as are known to cost something.
    sa.Column("cost", sa.Double, nullable=False),
    sa.Column("cost_known_for", sa.BigInteger, nullable=False),
    # How many requests no provider counted to their end.
    sa.Column("estimated", sa.BigInteger, nullable=False, server_default="0"),
)

# What the budget of a day was raised to, by whoever went on: in dollars.
budget_raises = sa.Table(
    "budget_raises",
    metadata,
    sa.Column("owner", sa.String(80), primary_key=True),
    sa.Column("day", sa.String(10), primary_key=True),
    sa.Column("raised", sa.Double, nullable=False),
)

# Conversations of before an upgrade, whose use is not counted yet: after which item, and up to which one.
usage_backlog = sa.Table(
    "usage_backlog",
    metadata,
    sa.Column("conversation_id", sa.String(40), primary_key=True),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("until", sa.BigInteger, nullable=False),
)

# A named place that conversations share for memories, documents and todos.
topics = sa.Table(
    "topics",
    metadata,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("owner", sa.String(80), nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("updated_at", sa.Double, nullable=False),
    sa.Column("deleted_at", sa.Double),
    # Of one that was deleted: the JSON of which conversations were in it, for when it is brought back.
    sa.Column("members", sa.LargeBinary),
    sa.Index("topics_of_owner", "owner", "name"),
)

# What is remembered. Its scope is who sees it: a conversation, a topic, a folder, or every conversation of its owner.
memories = sa.Table(
    "memories",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    # How it is named elsewhere.
    sa.Column("key", sa.String(40), nullable=False, unique=True),
    sa.Column("owner", sa.String(80), nullable=False),
    sa.Column("scope_kind", sa.String(16), nullable=False),
    sa.Column("scope", sa.Text, nullable=False),
    # What is searched: its title and its text.
    sa.Column("text", sa.Text, nullable=False),
    # Of the text without case and spaces: the same is not kept twice.
    sa.Column("digest", sa.String(64), nullable=False),
    # The whole record's JSON.
    sa.Column("body", sa.LargeBinary, nullable=False),
    # The conversation that stored it, if one did.
    sa.Column("origin", sa.String(40), nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("updated_at", sa.Double, nullable=False),
    # Nothing for one that is remembered; it can be brought back for a while.
    sa.Column("forgotten_at", sa.Double),
    sa.Index("memories_in_scope", "owner", "scope_kind", "scope", "updated_at"),
    sa.Index("memories_alike", "owner", "scope_kind", "scope", "digest"),
    sa.Index("memories_of_owner", "owner", "updated_at"),
    sa.Index("memories_from", "origin", "created_at"),
)

# What was imported, or attached to a message: what it is, and its file as it came.
documents = sa.Table(
    "documents",
    metadata,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("owner", sa.String(80), nullable=False),
    sa.Column("scope_kind", sa.String(16), nullable=False),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    # Of the file: the same is not imported twice.
    sa.Column("digest", sa.String(64), nullable=False),
    # The whole record's JSON: kind, pages, characters, state, where it came from.
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("file", sa.LargeBinary),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("deleted_at", sa.Double),
    sa.Index("documents_in_scope", "owner", "scope_kind", "scope", "created_at"),
    sa.Index("documents_alike", "owner", "scope_kind", "scope", "digest"),
)

# The text of a document in pieces that are found and quoted.
passages = sa.Table(
    "passages",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("document_id", sa.String(40), nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    # Its page from 1 on, or nothing where there are none; its first line there, from 1 on; the headings above it.
    sa.Column("page", sa.Integer),
    sa.Column("line", sa.Integer, nullable=False),
    sa.Column("section", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Index("passages_of_document", "document_id", "position"),
)

# What texts mean, as an embedding model has it. The key is a memory's, a passage's number or an item's id.
vectors = sa.Table(
    "vectors",
    metadata,
    # Grows: who has read up to a number asks for what came after it.
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("key", sa.String(40), nullable=False),
    sa.Column("model", sa.String(200), nullable=False),
    sa.Column("owner", sa.String(80), nullable=False),
    sa.Column("scope_kind", sa.String(16), nullable=False),
    sa.Column("scope", sa.Text, nullable=False),
    # What the text was when this was made: a memory's digest, a passage's document; messages never change.
    sa.Column("version", sa.String(64), nullable=False),
    # Of length 1, as little-endian 16-bit floats.
    sa.Column("vector", sa.LargeBinary, nullable=False),
    sa.Index("vectors_of_texts", "kind", "key", "model", unique=True),
    sa.Index("vectors_in_order", "model", "kind", "id"),
    # No number is given twice, also when the newest rows went.
    sqlite_autoincrement=True,
)

# Everything that goes when a conversation goes for good.
PARTS_OF_CONVERSATIONS = (
    events,
    items,
    parts,
    runs,
    branches,
    search_texts,
    search_backlog,
    packing_backlog,
    usage_backlog,
    grants,
    file_changes,
    todos,
)

# What is made from other tables, or means nothing in another place or at another time: no copy has these.
DERIVED = (search_texts, search_backlog, texts_backlog, vectors)
OF_THE_MOMENT = (processes, sessions)
# What a conversation may do and has done on this machine, and what is to be done about it: not for other machines.
OF_THE_MACHINE = (grants, file_changes, packing_backlog, usage_backlog)


def kept() -> list[sa.Table]:
    """Return the tables that a copy of everything has: all that are not said to be left out."""
    return [table for table in metadata.sorted_tables if table not in (*DERIVED, *OF_THE_MOMENT)]


def kept_of_conversations() -> list[sa.Table]:
    """Return the tables that a copy of conversations has, beside the one of conversations itself."""
    left_out = (*DERIVED, *OF_THE_MOMENT, *OF_THE_MACHINE)
    return [table for table in PARTS_OF_CONVERSATIONS if table not in left_out]
