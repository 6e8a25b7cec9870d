"""Exports for the command line, read beside whoever has the database."""

from __future__ import annotations

from typing import BinaryIO

from pilothouse.runs import transcripts
from pilothouse.store import exchange, reading
from pilothouse.store.database import Database
from pilothouse.types import limits
from pilothouse.types.conversations import Conversation
from pilothouse.types.exchange import ExportFormat
from pilothouse.wiring.backups import opened_to_read


def export(owner: str, conversation_id: str | None, form: ExportFormat, sink: BinaryIO) -> int:
    """Write one conversation, or all of them; return how many."""
    with opened_to_read() as database:
        database.check()
        if form == "json":
            return database.read_now(lambda connection: exchange.write(connection, owner, conversation_id, sink))
        chosen = [conversation_id] if conversation_id is not None else _all(database, owner)
        for index, each in enumerate(chosen):
            sink.write(b"\n---\n\n" if index else b"")
            _tell(database, owner, each, sink)
        return len(chosen)


def _all(database: Database, owner: str) -> list[str]:
    found: list[Conversation] = []
    cursor: str | None = None
    while True:
        now = cursor
        page = database.read_now(lambda c: reading.conversations(c, owner, limits.PAGE_ITEMS, now))  # noqa: B023
        found += page.conversations
        cursor = page.next
        if cursor is None:
            return [one.id for one in found]


def _tell(database: Database, owner: str, conversation_id: str, sink: BinaryIO) -> None:
    snapshot = database.read_now(lambda c: reading.snapshot(c, owner, conversation_id, 1))
    sink.write(transcripts.heading(snapshot.conversation).encode(errors="replace"))
    after = -1
    while True:
        here = after
        items = database.read_now(
            lambda c: exchange.items_after(c, owner, conversation_id, here, limits.SNAPSHOT_ITEMS)  # noqa: B023
        )
        if not items:
            return
        sink.write("".join(transcripts.told(items)).encode(errors="replace"))
        after = items[-1].position
