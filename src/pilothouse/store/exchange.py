"""Conversations out of a database as lines, and lines from elsewhere into it, a little at a time.

What a file says is first put into a database of its own, checked there and made harmless: it may come from anyone.
Then its rows are copied in small steps, and the conversation's own row comes last, so that nobody sees half of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec
import sqlalchemy as sa

from pilothouse.store import (
    audit,
    backup,
    branches,
    changes,
    exchange_branches,
    packing,
    reading,
    restore_rows,
    rows,
    schema,
    search,
)
from pilothouse.store.database import Database, sqlite_url
from pilothouse.store.paths import BranchPath
from pilothouse.store.portable import Head, LineReader, LineWriter
from pilothouse.store.writer import Transaction
from pilothouse.types import limits
from pilothouse.types.conversations import Conversation, ConversationSettings, one_line
from pilothouse.types.errors import PilothouseError
from pilothouse.types.exchange import ImportedConversation
from pilothouse.types.feed import FeedEvent
from pilothouse.types.items import Item
from pilothouse.types.json import encode
from pilothouse.types.records import Settle
from pilothouse.types.runs import ACTIVE

# Runs work in the database's writer thread, from another one.
Put = Callable[[Callable[[sa.Connection], Any]], Any]
_talks = schema.conversations


def write(connection: sa.Connection, owner: str, conversation_id: str | None, sink: BinaryIO) -> int:
    """Write one conversation of an owner, or all of them, as lines; return how many."""
    if conversation_id is not None:
        rows.owned_conversation(connection, owner, conversation_id)
    chosen = (_talks.c.owner == owner) & _talks.c.deleted_at.is_(None)
    if conversation_id is not None:
        chosen &= _talks.c.id == conversation_id
    writer = LineWriter(sink, Head(pilothouse="conversations", schema=backup.current_schema(connection)))
    writer.table(connection, _talks, chosen)
    ids = sa.select(_talks.c.id).where(chosen)
    for table in schema.kept_of_conversations():
        writer.table(connection, table, table.c.conversation_id.in_(ids))
    writer.end()
    return writer.rows["conversations"]


def items_after(
    connection: sa.Connection, owner: str, conversation_id: str, after: int, limit: int, branch: int | None = None
) -> list[Item]:
    """Return items after a position, in order, with the text they have so far: of a branch's path, or of all."""
    conversation = rows.owned_conversation(connection, owner, conversation_id)
    if branch is not None and conversation.branches:
        path = BranchPath(conversation_id, branches.check(conversation, branch))
        found = path.after(connection, after, limit)
        return [reading.with_text(connection, rows.kept_item(body)) for body in found]
    table = schema.items
    query = sa.select(table.c.body).where(table.c.conversation_id == conversation_id, table.c.position > after)
    bodies = connection.execute(query.order_by(table.c.position).limit(limit))
    return [reading.with_text(connection, rows.kept_item(body)) for (body,) in bodies]


def items_in(
    connection: sa.Connection, owner: str, conversation_id: str, branch: int, after: int, limit: int
) -> list[Item]:
    """Return the items after a position that stand in a branch itself, in order."""
    rows.owned_conversation(connection, owner, conversation_id)
    table = schema.items
    query = sa.select(table.c.body).where(
        table.c.conversation_id == conversation_id, table.c.branch == branch, table.c.position > after
    )
    bodies = connection.execute(query.order_by(table.c.position).limit(limit))
    return [reading.with_text(connection, rows.kept_item(body)) for (body,) in bodies]


class Found(NamedTuple):
    """A conversation in a file: how far its record goes there, and the seal at its end."""

    id: str
    title: str
    last_seq: int
    head: str


class Staged:
    """The conversations of a file in a database of their own, in an empty folder."""

    def __init__(self, folder: Path, lines: LineReader) -> None:
        self._folder = folder
        self._lines = lines
        self._database = Database(sqlite_url(folder))

    def close(self) -> None:
        """Let go of the database; its folder is the caller's."""
        self._database.close()

    def fill(self, owner: str, settle: Settle) -> list[Found]:
        """Take in what the file says, check it, and make it this owner's."""
        if self._lines.head.pilothouse != "conversations":
            raise self._lines.refused("is a backup: `pilothouse restore` takes it")

        def work(connection: sa.Connection) -> list[Found]:
            with self._lines.refusing():
                restore_rows.fill(connection, self._lines, self._folder, _no_file)
                found = self._checked(connection)
                self._make_harmless(connection, owner, settle)
            return found

        return self._database.write_now(work)

    def _checked(self, connection: sa.Connection) -> list[Found]:
        """Return the conversations, whose records must be as they were written and whose rows must fit together."""
        found = []
        for row in connection.execute(sa.select(_talks)).all():
            check = audit.report(connection, row.owner, row.id)[1]
            if not check.sound:
                raise self._lines.refused(f"holds a conversation whose record was changed ({row.id})")
            found.append(Found(row.id, one_line(row.title), row.last_seq, check.head))
        streaming = {"yield_per": limits.COPIED_ROWS}
        for row in connection.execute(sa.select(schema.items), execution_options=streaming):
            item = rows.kept_item(row.body)
            kept = (item.id, item.conversation_id, item.position, item.run_id, item.kind, item.status, item.branch)
            if kept != (row.id, row.conversation_id, row.position, row.run_id, row.kind, row.status, row.branch):
                raise ValueError(row.id)
        exchange_branches.check(connection)
        return found

    def _make_harmless(self, connection: sa.Connection, owner: str, settle: Settle) -> None:
        """Let nothing go on by itself here, and nothing be allowed that this person did not allow."""
        table, tx = schema.runs, Transaction(connection)
        for row in connection.execute(sa.select(table)).all():
            run = rows.run_decoder.decode(row.body)
            kept = (run.id, run.conversation_id, run.status, run.branch)
            if kept != (row.id, row.conversation_id, row.status, row.branch):
                raise ValueError(row.id)
            options = msgspec.structs.replace(run.options, allow=(), selection=None)
            ours = msgspec.structs.replace(run, owner=owner, options=options, process=None)
            values = {"owner": owner, "process": None, "body": encode(ours)}
            connection.execute(sa.update(table).where(table.c.id == run.id).values(**values))
            if run.status in ACTIVE:
                changes.settle_run(tx, run.id, settle)
        connection.execute(sa.update(_talks).values(owner=owner, deleted_at=None))
        for row in connection.execute(sa.select(_talks)).all():
            harmless = _harmless(rows.conversation_of(row))
            changes.announce(tx, msgspec.structs.replace(harmless, updated_at=tx.now))
        tx.flush()

    def rows_of(self, table: sa.Table, conversation_id: str) -> Iterator[list[dict[str, Any]]]:
        """Yield the rows of a conversation, a few at a time."""
        column = table.c.id if table is _talks else table.c.conversation_id
        with self._database.file.transaction() as bare:
            found = bare.execute(
                sa.select(table).where(column == conversation_id),
                execution_options={"yield_per": limits.COPIED_ROWS},
            )
            batch: list[dict[str, Any]] = []
            weight = 0
            for row in found:
                batch.append({column.name: value for column, value in zip(table.columns, row, strict=True)})
                weight += sum(len(value) for value in row if isinstance(value, str | bytes))
                if len(batch) >= limits.LOADED_ROWS or weight >= limits.LOADED_CHARS:
                    yield batch
                    batch, weight = [], 0
            if batch:
                yield batch


def _no_file(name: str, _content: bytes) -> None:
    raise ValueError(name)


def _harmless(conversation: Conversation) -> Conversation:
    """Return it with what it says and without what it could do: its mode, its folder, its servers, its model."""
    was = conversation.settings
    settings = ConversationSettings(
        system_prompt=was.system_prompt,
        temperature=was.temperature,
        max_tokens=was.max_tokens,
        thinking=was.thinking,
        # Not the default, which may come to more once the conversation has a folder here.
        mode="ask",
    )
    return msgspec.structs.replace(conversation, settings=settings, title=one_line(conversation.title))


def take_over(staged: Staged, found: Sequence[Found], owner: str, put: Put) -> list[ImportedConversation]:
    """Copy the conversations that are not here yet; one that is here with another record refuses all of them."""
    known = put(lambda connection: [_is_here(connection, owner, each) for each in found])
    for each, is_here in zip(found, known, strict=True):
        if not is_here:
            _copy(staged, each, put)
    return [
        ImportedConversation(id=each.id, title=each.title, already=is_here)
        for each, is_here in zip(found, known, strict=True)
    ]


def _is_here(connection: sa.Connection, owner: str, found: Found) -> bool:
    """Return whether the conversation is here, as far as the file goes; raise when there is another in its place."""
    here = connection.execute(sa.select(_talks.c.deleted_at).where(_talks.c.id == found.id)).first()
    if here is None:
        return False
    if here.deleted_at is not None:
        fix = f"Bring it back: pilothouse conversations restore {found.id}"
        message = f"The conversation {found.id} is here, deleted. Nothing was imported."
        raise PilothouseError("conflict", message, fix=fix)
    try:
        check = audit.report(connection, owner, found.id, found.last_seq)[1]
    except PilothouseError:
        check = None
    if check is None or (check.events, check.head) != (found.last_seq, found.head):
        raise PilothouseError(
            "conflict",
            f"The conversation {found.id} is here with another record. Nothing was imported.",
            fix="Keep that one; or import the file into another data folder (PILOTHOUSE_HOME).",
        )
    return True


def _copy(staged: Staged, found: Found, put: Put) -> None:
    """Copy a conversation's rows, in steps that let others write in between."""
    # What an import that was killed left behind; nobody can see it.
    _remove(found, put)
    try:
        for table in schema.kept_of_conversations():
            for batch in staged.rows_of(table, found.id):
                put(partial(_add, table, batch))
        for batch in staged.rows_of(_talks, found.id):
            put(partial(_add, _talks, batch))
    except PilothouseError:
        _remove(found, put)
        raise


def _remove(found: Found, put: Put) -> None:
    for table in schema.PARTS_OF_CONVERSATIONS:
        gone = sa.delete(table).where(table.c.conversation_id == found.id)
        put(partial(_execute, gone))


def _execute(statement: sa.Executable, connection: sa.Connection) -> None:
    connection.execute(statement)


def _add(table: sa.Table, batch: Sequence[dict[str, Any]], connection: sa.Connection) -> None:
    """Put rows into a table, and make findable what is in them."""
    connection.execute(sa.insert(table), list(batch))
    for row in batch:
        if table is schema.items:
            search.index_item(connection, rows.kept_item(row["body"]))
        elif table is _talks:
            search.index_title(connection, row["id"], row["title"], row["updated_at"])
            packing.note(connection, row["id"])


def newest(connection: sa.Connection, conversation_id: str) -> list[FeedEvent]:
    """Return a conversation's newest event, for those who watch the list."""
    last = connection.execute(sa.select(_talks.c.last_seq).where(_talks.c.id == conversation_id)).scalar_one()
    return reading.events(connection, conversation_id, last - 1, 1)
