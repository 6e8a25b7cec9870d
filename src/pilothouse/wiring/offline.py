"""What commands do without a host, beside whoever has the database: export, and show and set what is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import BinaryIO

from pilothouse.settings.config import ConfigService
from pilothouse.settings.home import open_home
from pilothouse.store import backup, branch_tree, exchange, reading, retention
from pilothouse.store.database import Database
from pilothouse.store.statements import Connection
from pilothouse.timeline import transcripts
from pilothouse.types import limits
from pilothouse.types.api import ConfigPatch
from pilothouse.types.conversations import Conversation
from pilothouse.types.exchange import ExportFormat
from pilothouse.types.items import Item
from pilothouse.types.retention import Retention, RetentionView
from pilothouse.wiring.backups import database_url, opened_to_read


def export(
    owner: str, conversation_id: str | None, form: ExportFormat, sink: BinaryIO, *, all_branches: bool = False
) -> int:
    """Write one conversation, or all of them; return how many."""
    with opened_to_read() as database:
        database.check()
        if form == "json":
            return database.read_now(lambda connection: exchange.write(connection, owner, conversation_id, sink))
        chosen = [conversation_id] if conversation_id is not None else _all(database, owner)
        for index, each in enumerate(chosen):
            sink.write(b"\n---\n\n" if index else b"")
            _tell(database, owner, each, sink, all_branches=all_branches)
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


def _tell(database: Database, owner: str, conversation_id: str, sink: BinaryIO, *, all_branches: bool) -> None:
    conversation = database.read_now(lambda c: reading.snapshot(c, owner, conversation_id, 1)).conversation
    sink.write(transcripts.heading(conversation).encode(errors="replace"))
    sink.write(transcripts.about_branches(conversation, all_of_them=all_branches).encode())
    if not (all_branches and conversation.branches):
        path = partial(exchange.items_after, owner=owner, conversation_id=conversation_id, branch=conversation.branch)
        _tell_items(database, sink, lambda c, after, most: path(c, after=after, limit=most))
        return
    for node in database.read_now(lambda c: branch_tree.nodes(c, conversation)):
        sink.write(transcripts.branch_heading(node).encode(errors="replace"))
        own = partial(exchange.items_in, owner=owner, conversation_id=conversation_id, branch=node.number)
        _tell_items(database, sink, lambda c, after, most: own(c, after=after, limit=most))  # noqa: B023 - used at once


def _tell_items(database: Database, sink: BinaryIO, page: Callable[[Connection, int, int], Sequence[Item]]) -> None:
    after = -1
    while items := database.read_now(lambda c: page(c, after, limits.SNAPSHOT_ITEMS)):  # noqa: B023 - used at once
        sink.write("".join(transcripts.told(items)).encode(errors="replace"))
        after = items[-1].position


def retained() -> RetentionView:
    """Return the setting, and what it would remove now; nothing is removed."""
    wanted = retention_now()
    with opened_to_read() as database:
        database.check()
        return database.read_now(lambda connection: retention.look(connection, wanted))


def change_retention(wanted: Retention) -> None:
    """Keep another setting; a running server takes it over at once, and acts on it once a day."""
    with _config() as config:
        asyncio.run(config.patch(ConfigPatch(retention=wanted)))


def retention_now() -> Retention:
    """Return the setting."""
    with _config() as config:
        return config.config.retention


@contextmanager
def _config() -> Iterator[ConfigService]:
    """The settings; with PostgreSQL those that all processes on it share."""
    home, url = open_home().path, database_url()
    if url is None:
        yield ConfigService(home, "sqlite")
        return
    from pilothouse.settings.shared_json import SharedSettings
    from pilothouse.store.shared_rows import PostgresSharedRows

    with opened_to_read() as database:
        database.check()
        database.read_now(backup.current_schema)
        yield ConfigService(home, "postgresql", SharedSettings(PostgresSharedRows(database), home).open_json)
