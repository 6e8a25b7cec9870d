"""The database as the rest of the program sees it: the `Records` port."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import sqlalchemy as sa

from pilothouse.store import (
    backlog,
    changes,
    changes_kept,
    packing,
    parts,
    reading,
    receipts,
    retention,
    room,
    rows,
    schema,
    search,
    todos,
    waiting_room,
)
from pilothouse.store.authority import AuthorityStore
from pilothouse.store.database import Database
from pilothouse.store.exchange_store import ExchangeStore
from pilothouse.store.writer import Publish, Writer
from pilothouse.types import limits
from pilothouse.types.api import (
    ConversationPage,
    ConversationSnapshot,
    FullResult,
    ItemPage,
    MessageAccepted,
    PartData,
    SearchResult,
)
from pilothouse.types.changes import ChangeList, KeptChange
from pilothouse.types.conversations import Conversation
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event
from pilothouse.types.feed import FeedEvent, Guard
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject
from pilothouse.types.paging import Page
from pilothouse.types.ports import KeptResult
from pilothouse.types.records import Posting, Settle
from pilothouse.types.retention import Retention
from pilothouse.types.runs import Run, RunStatus
from pilothouse.types.todos import TodoList

_DAY = 86_400.0
_log = logging.getLogger(__name__)


class Store(AuthorityStore, ExchangeStore):
    """Reads in threads, writes by group commit, publishes what it wrote; `folder` is for what is only passing."""

    def __init__(self, database: Database, publish: Publish, folder: Path) -> None:
        ExchangeStore.__init__(self, database, publish, folder)
        self._database = database
        self._writer = Writer(database, publish)
        # Whoever signs in while the disk is full stays signed in until this process ends.
        self._unsaved_sessions: dict[str, tuple[str, float]] = {}

    # --- conversations ---

    async def add_conversation(self, conversation: Conversation) -> Conversation:
        """Keep a new conversation."""
        return await self._writer.write(lambda tx: changes.add_conversation(tx, conversation))

    async def conversation(self, owner: str, conversation_id: str, *, deleted: bool = False) -> Conversation:
        """Return one conversation."""
        return await self._database.look(lambda c: rows.owned_conversation(c, owner, conversation_id, deleted=deleted))

    async def conversations(self, owner: str, limit: int, cursor: str | None) -> ConversationPage:
        """Return conversations, most recently used first."""
        return await self._database.read(lambda c: reading.conversations(c, owner, limit, cursor))

    async def change_conversation(
        self, owner: str, conversation_id: str, change: Callable[[Conversation], Conversation], *, deleted: bool = False
    ) -> Conversation:
        """Change a conversation by a pure function of what it is now."""
        return await self._writer.write(
            lambda tx: changes.change_conversation(tx, owner, conversation_id, change, deleted)
        )

    async def purge(self, deleted_before: float) -> int:
        """Remove for good what was deleted before this time."""
        return await self._writer.write(lambda tx: changes.purge(tx, deleted_before))

    # --- the timeline ---

    async def append(
        self, conversation_id: str, events: Sequence[Event], guard: Guard | None, *, promised: bool = True
    ) -> Sequence[Event]:
        """Append events; with a guard, only for the process that holds the run."""
        return await self._writer.write(lambda tx: tx.append(conversation_id, events, guard), promised=promised)

    async def events(
        self, conversation_id: str, after: int, limit: int, most_bytes: int | None = None
    ) -> list[FeedEvent]:
        """Return the durable events after a number, in order."""
        return await self._database.read(lambda c: reading.events(c, conversation_id, after, limit, most_bytes))

    async def snapshot(self, owner: str, conversation_id: str, limit: int) -> ConversationSnapshot:
        """Return a conversation with its newest items, as of one event number."""
        return await self._database.read(lambda c: reading.snapshot(c, owner, conversation_id, limit))

    async def items(self, owner: str, conversation_id: str, before: int | None, limit: int) -> ItemPage:
        """Return items before a position."""

        def query(connection: sa.Connection) -> ItemPage:
            rows.owned_conversation(connection, owner, conversation_id)
            return reading.items(connection, conversation_id, before, limit)

        return await self._database.read(query)

    async def item(self, owner: str, item_id: str) -> Item:
        """Return one item."""
        return await self._database.read(lambda c: reading.with_text(c, rows.owned_item(c, owner, item_id)))

    async def history(self, conversation_id: str) -> list[Item]:
        """Return everything since the newest compaction."""
        return await self._database.read(lambda c: reading.history(c, conversation_id))

    async def search(self, owner: str, query: str, limit: int) -> SearchResult:
        """Find words in messages, calls and titles."""
        return await self._database.slow.run(
            lambda c: search.find(c, owner, query, limit),
            limits.SEARCH_SECONDS,
            "This search takes too long. Type more letters, or a rarer word.",
        )

    async def catch_up(self) -> bool:
        """Make a part of what is not findable yet findable; tell whether there may be more."""
        # What a power cut takes of it is found again as missing.
        return await self._database.write(backlog.catch_up, promised=False)

    async def pack(self) -> bool:
        """Make a part of what finished runs wrote smaller, then give room back; tell whether there may be more."""
        planned = await self._database.read(packing.plan)
        if planned is None:
            return await self._give_back()
        with contextlib.suppress(packing.Overtaken):
            # What a power cut takes of it is as it was before.
            await self._database.write(lambda c: packing.carry_out(c, planned), promised=False)
        return True

    async def _give_back(self) -> bool:
        more = self._database.is_sqlite and await self._database.read(room.can_give_back)
        if more:
            await self._database.write(room.give_back, promised=False)
        return more

    # --- parts of messages and results ---

    async def keep_result(self, result: KeptResult) -> None:
        """Keep the whole result of a call, instead of any that was kept for it before."""
        # Not in a group: what is this large would only hold the others up. The end of the call, which is a
        # promise, comes after it and takes it along.
        await self._database.write(lambda c: parts.keep(c, result), promised=False)

    async def result(self, owner: str, item_id: str) -> FullResult | None:
        """Return what was kept of a call's result."""
        return await self._database.read(lambda c: parts.result(c, owner, item_id))

    async def part(self, owner: str, item_id: str, index: int) -> PartData | None:
        """Return one part of a message or a result."""
        return await self._database.read(lambda c: parts.part(c, owner, item_id, index))

    async def part_bytes(self, conversation_id: str, item_id: str, index: int) -> bytes | None:
        """Return one part for a run of the same conversation."""
        return await self._database.read(lambda c: parts.body(c, conversation_id, item_id, index))

    # --- changes of files ---

    async def keep_changes(self, kept: Sequence[KeptChange]) -> None:
        """Keep what files were, before any of them is changed: all or nothing."""
        # Not in a group: whole files would only hold the others up.
        await self._database.write(lambda c: changes_kept.keep(c, kept))

    async def drop_changes(self, change_ids: Sequence[str]) -> None:
        """Forget changes that did not happen after all."""
        await self._database.write(lambda c: changes_kept.drop(c, change_ids))

    async def changes(self, owner: str, *, run_id: str | None = None, item_id: str | None = None) -> list[KeptChange]:
        """Return the changes of a run or of a call that are not undone, oldest first."""
        return await self._database.read(lambda c: changes_kept.changes(c, owner, run_id, item_id))

    async def changes_of_run(self, owner: str, run_id: str, page: Page) -> ChangeList:
        """Return what a run changed and nobody undid, oldest first."""
        return await self._database.read(lambda c: changes_kept.of_run(c, owner, run_id, page))

    async def mark_undone(self, change_ids: Sequence[str], at: float) -> None:
        """Remember that these were put back."""
        await self._database.write(lambda c: changes_kept.mark_undone(c, change_ids, at))

    # --- todos ---

    async def todos(self, conversation_id: str) -> TodoList:
        """Return a conversation's list."""
        return await self._database.read(lambda c: todos.todos(c, conversation_id))

    async def keep_todos(
        self, conversation_id: str, new: TodoList, *, instead_of: float, events: Sequence[Event] = ()
    ) -> bool:
        """Replace the list that was last changed at `instead_of`; False when it has changed since."""
        return await self._writer.write(lambda tx: todos.keep(tx, conversation_id, new, instead_of, events))

    # --- runs ---

    async def run(self, owner: str, run_id: str) -> Run:
        """Return one run."""
        return await self._database.look(lambda c: rows.owned_run(c, owner, run_id))

    async def post_message(self, posting: Posting) -> MessageAccepted:
        """Keep a message and its queued run."""
        return await self._writer.write(lambda tx: changes.post_message(tx, posting))

    async def check_room(self, posting: Posting) -> None:
        """Raise if no further message may wait for its answer."""
        await self._database.read(lambda c: waiting_room.check(c, posting.item.conversation_id, posting.room))

    async def receipt(self, posting: Posting) -> MessageAccepted | None:
        """Return the acceptance that was given for this message before."""
        return await self._database.look(lambda c: receipts.receipt(c, posting))

    async def claim_next(self, conversation_id: str, process: str, *, perhaps_held: bool = False) -> Run | None:
        """Take the next queued run of a conversation for this process."""
        # A claim that a power cut takes leaves the run in the queue, and whoever had it is gone. What it does
        # that must not be done twice, it promises first.
        return await self._writer.write(
            lambda tx: changes.claim_next(tx, conversation_id, process, perhaps_held), promised=False
        )

    async def change_run(self, run_id: str, change: Callable[[Run], Run | None]) -> Run | None:
        """Change a run by a pure function of what it is now."""
        return await self._writer.write(lambda tx: changes.change_run(tx, run_id, change))

    async def settle_run(self, run_id: str, rule: Settle) -> Run | None:
        """Change a run together with what it left open."""
        return await self._writer.write(lambda tx: changes.settle_run(tx, run_id, rule))

    async def runs_in(self, statuses: Sequence[RunStatus], conversation_id: str | None = None) -> list[Run]:
        """Return the runs in one of these states, of one conversation or of all."""
        return await self._database.look(lambda c: reading.runs_in(c, tuple(statuses), conversation_id))

    async def mark_item(self, owner: str, item_id: str, data: JsonObject) -> Item:
        """Merge data into an item that has not ended."""
        return await self._writer.write(lambda tx: changes.mark_item(tx, owner, item_id, data))

    # --- processes ---

    async def beat(self, process: str) -> None:
        """Say that this process lives."""
        table, now = schema.processes, time.time()

        def work(connection: sa.Connection) -> None:
            changed = connection.execute(sa.update(table).where(table.c.id == process).values(seen_at=now))
            if changed.rowcount == 0:
                connection.execute(sa.insert(table).values(id=process, seen_at=now))

        # After a power cut nobody lives.
        await self._database.write(work, promised=False)

    async def holders(self) -> dict[str, float | None]:
        """Return the processes that hold runs at work, and when each last said that it lives."""
        runs, alive = schema.runs, schema.processes
        query = (
            sa.select(runs.c.process, alive.c.seen_at)
            .join(alive, alive.c.id == runs.c.process, isouter=True)
            .where(runs.c.status == "running", runs.c.process.is_not(None))
            .distinct()
        )
        return await self._database.look(lambda c: {process: seen for process, seen in c.execute(query)})

    async def forget_process(self, process: str) -> None:
        """Remove a process that ended."""
        table = schema.processes
        await self._database.write(lambda c: c.execute(sa.delete(table).where(table.c.id == process)) and None)

    # --- sessions ---

    async def add_session(self, token_hash: str, owner: str, expires_at: float) -> None:
        """Keep a signed-in browser, and forget those whose time is over."""
        table, now = schema.sessions, time.time()

        def work(connection: sa.Connection) -> None:
            connection.execute(sa.delete(table).where(table.c.expires_at < now))
            connection.execute(sa.insert(table).values(token_hash=token_hash, owner=owner, expires_at=expires_at))

        try:
            await self._database.write(work)
        except PilothouseError as error:
            if error.code != "disk_full":
                raise
            self._unsaved_sessions[token_hash] = (owner, expires_at)

    async def session_owner(self, token_hash: str) -> str | None:
        """Return whose session this is, while it lasts."""
        table = schema.sessions
        owner, expires_at = self._unsaved_sessions.get(token_hash, ("", 0.0))
        if expires_at > time.time():
            return owner
        query = sa.select(table.c.owner).where(table.c.token_hash == token_hash, table.c.expires_at > time.time())
        return await self._database.look(lambda c: c.execute(query).scalar())

    async def end_session(self, token_hash: str) -> None:
        """Sign a browser out."""
        if self._unsaved_sessions.pop(token_hash, None) is not None:
            return
        table = schema.sessions
        await self._database.write(
            lambda c: c.execute(sa.delete(table).where(table.c.token_hash == token_hash)) and None
        )

    # --- housekeeping ---

    async def tidy(self) -> None:
        """Drop what nobody can need any more: old receipts, conversations and files that cannot be brought back."""
        table, now = schema.receipts, time.time()
        before = now - limits.IDEMPOTENCY_DAYS * _DAY
        await self._database.write(lambda c: c.execute(sa.delete(table).where(table.c.created_at < before)) and None)
        await self._database.write(lambda c: changes_kept.forget(c, now - limits.UNDO_CHANGE_DAYS * _DAY))
        await self.purge(now - limits.UNDO_DELETE_DAYS * _DAY)

    async def retain(self, wanted: Retention) -> int:
        """Remove for good what the person does not want to keep any longer; return how many conversations went."""
        if wanted == Retention():
            return 0
        view = await self._database.read(lambda c: retention.look(c, wanted))
        gone = 0
        for one in view.leaving:
            # Two short steps for each, so that everyone hears of it and others write in between.
            if await self._writer.write(partial(retention.take_away, leaving=one)):
                gone += await self._writer.write(partial(retention.remove, conversation_id=one.id))
                days = (time.time() - one.updated_at) / _DAY
                _log.info("removed conversation %s by the setting: %.0f days old, %d bytes", one.id, days, one.bytes)
        if gone:
            await self._database.write(retention.forget_receipts)
        return gone

    async def settle(self) -> None:
        """Wait until everything given to the writer is written or refused."""
        await self._writer.settle()

    async def close(self) -> None:
        """Finish what is queued and close the database."""
        await self.settle()
        self._database.close()
