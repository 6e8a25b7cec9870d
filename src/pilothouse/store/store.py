"""The database as the rest of the program sees it: the `Records` port."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from pilothouse.store import audit as audits
from pilothouse.store import branches as branch_rows
from pilothouse.store import changes as units
from pilothouse.store import (
    file_changes,
    glance,
    packing,
    parts,
    pending_approvals,
    queue_limit,
    reading,
    receipts,
    rows,
    search,
    search_backlog,
    usage,
    usage_backlog,
    vacuum,
)
from pilothouse.store import grants as passing
from pilothouse.store import todos as todo_lists
from pilothouse.store import topics as topic_rows
from pilothouse.store.database import Database
from pilothouse.store.statements import Connection, Statement
from pilothouse.store.writer import Publish, Transaction, Writer
from pilothouse.types import limits
from pilothouse.types.api import SearchResult
from pilothouse.types.conversations import Conversation
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event
from pilothouse.types.exchange import Imported
from pilothouse.types.feed import Guard
from pilothouse.types.items import Item
from pilothouse.types.paging import Page
from pilothouse.types.records import Settle
from pilothouse.types.retention import Retention
from pilothouse.types.runs import Run
from pilothouse.types.scopes import Scope

if TYPE_CHECKING:
    from pilothouse.types.branch_views import BranchNode
    from pilothouse.types.memories import Memory, MemoryCollection, MemoryFilter, MemoryPage
    from pilothouse.types.operations import RunList
    from pilothouse.types.paging import Page
    from pilothouse.types.processes import ProcessView
    from pilothouse.types.runs import Run, RunStatus

P = ParamSpec("P")
T = TypeVar("T")
_Verb = Callable[Concatenate["Store", P], Coroutine[Any, Any, T]]
_DAY = 86_400.0
_log = logging.getLogger(__name__)
_BEAT = Statement(
    "INSERT INTO processes (id, seen_at) VALUES (:id, :now) ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at"
)
_FORGET_PROCESS = Statement("DELETE FROM processes WHERE id = :id")
_ADD_SESSION = Statement("INSERT INTO sessions (token_hash, owner, expires_at) VALUES (:hash, :owner, :expires_at)")
_SESSION = Statement("SELECT owner FROM sessions WHERE token_hash = :hash AND expires_at > :now")
_LIVING_SESSIONS = Statement("SELECT token_hash FROM sessions WHERE expires_at > :now")
_END_SESSION = Statement("DELETE FROM sessions WHERE token_hash = :hash")
_END_SESSIONS = Statement("DELETE FROM sessions WHERE expires_at < :now")
_FORGET_RECEIPTS = Statement("DELETE FROM receipts WHERE created_at < :before")


def _looks(query: Callable[Concatenate[Connection, P], T]) -> _Verb[P, T]:
    """Make a query a verb; its statements need no transaction around them."""

    async def verb(self: Store, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.look(lambda connection: query(connection, *args, **kwargs))

    return verb


def _reads(query: Callable[Concatenate[Connection, P], T]) -> _Verb[P, T]:
    """Make a query a verb; it sees the data as of one moment."""

    async def verb(self: Store, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.read(lambda connection: query(connection, *args, **kwargs))

    return verb


def _writes(work: Callable[Concatenate[Connection, P], T], *, promised: bool = True) -> _Verb[P, T]:
    """Make work a verb that has a transaction of its own: what is large would only hold the others up."""

    async def verb(self: Store, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.write(lambda connection: work(connection, *args, **kwargs), promised=promised)

    return verb


def _joins(
    unit: Callable[Concatenate[Transaction, P], T], about: Callable[..., str] | None = None, *, promised: bool = True
) -> _Verb[P, T]:
    """Make a unit of work a verb that shares a transaction with others, and publishes what it wrote.

    `about` tells the conversation that it is about, of what the unit is given.
    """

    async def verb(self: Store, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = about(*args) if about is not None else ""
        return await self._writer.write(lambda tx: unit(tx, *args, **kwargs), promised=promised, key=key)

    return verb


def _catch_up(connection: Connection) -> bool:
    """Do a part of what an upgrade left to be done; tell whether there may be more."""
    return usage_backlog.catch_up(connection) or search_backlog.catch_up(connection)


class Store:
    """Reads in threads, writes by group commit, publishes what it wrote; `folder` is for what is only passing."""

    def __init__(self, database: Database, publish: Publish, folder: Path, *, executes_own: bool = False) -> None:
        self._database = database
        self._publish = publish
        self._folder = folder
        self._writer = Writer(database, publish, executes_own=executes_own)
        # The conversations of runs that were claimed here.
        self._places: dict[str, str] = {}
        # Whoever signs in while the disk is full stays signed in until this process ends.
        self._unsaved_sessions: dict[str, tuple[str, float]] = {}

    @property
    def text_every(self) -> float:
        return limits.DURABLE_FLUSH if self._database.is_sqlite else limits.DURABLE_FLUSH_SHARED

    # --- conversations ---

    add_conversation = _joins(units.add_conversation, lambda conversation: conversation.id)
    conversation = _looks(rows.owned_conversation)
    conversations = _looks(reading.conversations)
    change_conversation = _joins(units.change_conversation, lambda _owner, conversation_id, *_: conversation_id)
    purge = _joins(units.purge)
    title = _joins(units.title, lambda conversation, *_: conversation.id)

    # --- the timeline ---

    async def append(
        self, conversation_id: str, events: Sequence[Event], guard: Guard | None, *, promised: bool = True
    ) -> Sequence[Event]:
        return await self._writer.write(
            lambda tx: tx.append(conversation_id, events, guard), promised=promised, key=conversation_id
        )

    events = _reads(reading.events)
    snapshot = _reads(reading.snapshot)
    items = _reads(reading.items)
    branches = _reads(branch_rows.branches)
    following = _looks(branch_rows.following)
    leaving = _looks(branch_rows.leaving)
    done_since = _reads(branch_rows.done_since)
    items_of_run = _reads(reading.items_of_run)
    hide = _joins(branch_rows.hide)

    async def branch_nodes(self, conversation: Conversation) -> tuple[BranchNode, ...]:
        from pilothouse.store import branch_tree

        return await self._database.read(lambda c: branch_tree.nodes(c, conversation))

    item = _reads(reading.item)
    history = _reads(reading.history)
    briefing = _reads(reading.briefing)
    # What a power cut takes of it is found again as missing.
    catch_up = _writes(_catch_up, promised=False)

    similar = _reads(search.similar)

    async def search(self, owner: str, query: str, limit: int) -> SearchResult:
        return await self._database.slow.run(
            lambda c: search.find(c, owner, query, limit),
            limits.SEARCH_SECONDS,
            "This search takes too long. Type more letters, or a rarer word.",
        )

    async def pack(self) -> bool:
        plans = await self._database.read(packing.plans)
        for planned in plans:
            # Each in a transaction of its own, so that others write in between; what a power cut takes is as before.
            with contextlib.suppress(packing.Overtaken):
                await self._database.write(partial(packing.carry_out, planned=planned), promised=False)
        return bool(plans) or await self._give_back()

    async def _give_back(self) -> bool:
        more = self._database.is_sqlite and await self._database.read(vacuum.can_give_back)
        if more:
            await self._database.write(vacuum.give_back, promised=False)
        return more

    # --- parts of messages and results ---

    # The end of the call, which is a promise, comes after it and takes it along.
    keep_result = _writes(parts.keep, promised=False)
    repeat_result = _writes(parts.repeat, promised=False)
    kept_parts = _reads(parts.of_run)
    result = _reads(parts.result)
    part = _reads(parts.part)
    part_bytes = _reads(parts.body)

    # --- changes of files ---

    keep_changes = _writes(file_changes.keep)
    drop_changes = _writes(file_changes.drop)
    changes = _reads(file_changes.changes)
    changes_of_run = _reads(file_changes.of_run)
    mark_undone = _writes(file_changes.mark_undone)

    # --- todos ---

    todos = _reads(todo_lists.todos)
    keep_todos = _joins(todo_lists.keep)

    # --- memories ---

    memories_of_conversation = _looks(glance.stored_in)
    has_memories = _looks(glance.has_memories)

    async def add_memory(self, owner: str, memory: Memory) -> tuple[Memory, bool]:
        from pilothouse.store import memories

        return await self._database.write(lambda c: memories.add(c, owner, memory))

    async def memory(self, owner: str, key: str, *, forgotten: bool = False) -> Memory:
        from pilothouse.store import memories

        return await self._database.look(lambda c: memories.get(c, owner, key, forgotten=forgotten))

    async def memories(self, owner: str, wanted: MemoryFilter, page: Page) -> MemoryPage:
        from pilothouse.store import memories

        return await self._database.read(lambda c: memories.listed(c, owner, wanted, page))

    async def change_memory(
        self, owner: str, key: str, change: Callable[[Memory], Memory], *, forgotten: bool = False
    ) -> Memory:
        from pilothouse.store import memories

        return await self._database.write(lambda c: memories.change(c, owner, key, change, forgotten=forgotten))

    async def merge_memories(self, owner: str, memory: Memory, keys: Sequence[str], at: float) -> None:
        from pilothouse.store import memories

        await self._database.write(lambda c: memories.merge(c, owner, memory, keys, at))

    async def used_memories(self, owner: str, keys: Sequence[str], at: float) -> None:
        from pilothouse.store import memories

        # A count that a power cut takes is no loss.
        await self._database.write(lambda c: memories.used(c, owner, keys, at), promised=False)

    async def memories_by_key(
        self, owner: str, keys: Sequence[str], scopes: Sequence[Scope] | None
    ) -> dict[str, Memory]:
        from pilothouse.store import memories

        return await self._database.read(lambda c: memories.by_key(c, owner, keys, scopes))

    async def memory_sizes(self, owner: str, scopes: Sequence[Scope] | None) -> Sequence[MemoryCollection]:
        from pilothouse.store import memories

        return await self._database.read(lambda c: memories.sizes(c, owner, scopes))

    async def find_memories(
        self, owner: str, words: Sequence[str], scopes: Sequence[Scope] | None, most: int
    ) -> Sequence[Memory]:
        from pilothouse.store import memories

        return await self._database.slow.run(
            lambda c: memories.find(c, owner, words, scopes, most),
            limits.MEMORY_SEARCH_TIME,
            "This search takes too long. Take fewer or rarer words.",
        )

    # --- documents ---

    has_documents = _looks(glance.has_documents)

    # --- topics ---

    settings = _looks(topic_rows.settings)
    topic = _reads(topic_rows.topic)
    topics = _reads(topic_rows.topics)
    add_topic = _joins(topic_rows.add)
    change_topic = _joins(topic_rows.change)
    delete_topic = _joins(topic_rows.delete)
    restore_topic = _joins(topic_rows.restore)

    # --- what was used ---

    usage_since = _reads(usage.since)
    spent_on = _reads(usage.spent_on)
    requests = _reads(usage.requests)
    count_older = _writes(usage_backlog.catch_up, promised=False)

    # --- who may do what, and who did ---

    add_grant = _writes(passing.add)
    grants = _reads(passing.standing)
    # The intent of the call, which is a promise, comes after it and takes it along.
    use_grant = _writes(passing.use, promised=False)
    revoke_grant = _writes(passing.revoke)
    pending = _reads(pending_approvals.pending)
    asked_to_sign_in = _reads(pending_approvals.asked_to_sign_in)
    past_calls = _reads(pending_approvals.past_calls)
    audited = _reads(audits.conversations)
    audit = _reads(audits.report)

    # --- conversations as files ---

    async def export(self, owner: str, conversation_id: str) -> AsyncIterator[bytes]:
        from pilothouse.store import exchange_files

        return await exchange_files.export(self._database, self._folder, owner, conversation_id)

    async def items_after(
        self, owner: str, conversation_id: str, after: int, limit: int, branch: int | None = None
    ) -> list[Item]:
        from pilothouse.store import exchange

        return await self._database.read(
            lambda c: exchange.items_after(c, owner, conversation_id, after, limit, branch)
        )

    async def import_conversations(self, owner: str, chunks: AsyncIterator[bytes], settle: Settle) -> Imported:
        from pilothouse.store import exchange, exchange_files

        taken = await exchange_files.taken_over(self._database, self._folder, owner, chunks, settle)
        for one in taken:
            if not one.already:
                self._publish(one.id, await self._database.read(partial(exchange.newest, conversation_id=one.id)))
        return Imported(conversations=taken)

    async def items_in(self, owner: str, conversation_id: str, branch: int, after: int, limit: int) -> list[Item]:
        from pilothouse.store import exchange

        return await self._database.read(lambda c: exchange.items_in(c, owner, conversation_id, branch, after, limit))

    async def copy_run(self, owner: str, run_id: str, made: Conversation, told: Item) -> Conversation:
        # Few ask for it.
        from pilothouse.store import copying

        return await copying.copied(self._database, self._writer, copying.Wanted(owner, run_id, made, told))

    # --- runs ---

    run = _looks(rows.owned_run)
    post_message = _joins(units.post_message, lambda posting: posting.item.conversation_id)
    post_messages = _joins(units.post_messages, lambda postings: postings[0].item.conversation_id)
    admit = _looks(queue_limit.admit)
    receipt = _looks(receipts.receipt)
    accepted_together = _looks(receipts.together)
    # A claim that a power cut takes leaves the run in the queue, and whoever had it is gone. What it does
    # that must not be done twice, it promises first.
    _claim_next = _joins(units.claim_next, lambda conversation_id, *_: conversation_id, promised=False)

    async def claim_next(self, conversation_id: str, process: str, *, perhaps_held: bool = False) -> Run | None:
        run = await self._claim_next(conversation_id, process, perhaps_held=perhaps_held)
        if run is not None:
            # Few are at work at once; of an older one the store finds it itself.
            self._places[run.id] = conversation_id
            while len(self._places) > limits.RUNS_PLACED:
                del self._places[next(iter(self._places))]
        return run

    async def change_run(self, run_id: str, change: Callable[[Run], Run | None]) -> Run | None:
        key = self._places.get(run_id, "")
        return await self._writer.write(lambda tx: units.change_run(tx, run_id, change), key=key)

    async def settle_run(self, run_id: str, rule: Settle) -> Run | None:
        key = self._places.get(run_id, "")
        return await self._writer.write(lambda tx: units.settle_run(tx, run_id, rule), key=key)

    runs_in = _looks(reading.runs_in)
    queued = _looks(reading.count_queued)

    async def run_list(self, owner: str, statuses: Sequence[RunStatus], page: Page) -> RunList:
        from pilothouse.store.run_list import run_list

        return await self._database.look(lambda connection: run_list(connection, owner, statuses, page))

    mark_item = _joins(units.mark_item)

    # --- processes ---

    async def take_over(self, process: str, rule: Settle) -> Sequence[Run]:
        # Few processes die.
        from pilothouse.store import takeover

        return await self._writer.write(lambda tx: takeover.take_over(tx, process, rule))

    async def processes(self) -> Sequence[ProcessView]:
        from pilothouse.store import takeover

        return await self._database.look(takeover.processes)

    async def go_on_with_forgotten(self) -> None:
        from pilothouse.store import takeover

        await self._database.write(takeover.go_on_with_forgotten)

    async def beat(self, process: str) -> None:
        values: dict[str, object] = {"id": process, "now": time.time()}
        # After a power cut nobody lives.
        await self._database.write(lambda c: _BEAT.run(c, values), promised=False)

    async def forget_process(self, process: str) -> None:
        await self._database.write(lambda c: _FORGET_PROCESS.run(c, {"id": process}))

    # --- sessions ---

    async def add_session(self, token_hash: str, owner: str, expires_at: float) -> None:
        def work(connection: Connection) -> None:
            _END_SESSIONS.run(connection, {"now": time.time()})
            _ADD_SESSION.run(connection, {"hash": token_hash, "owner": owner, "expires_at": expires_at})

        try:
            await self._database.write(work)
        except PilothouseError as error:
            if error.code != "disk_full":
                raise
            self._unsaved_sessions[token_hash] = (owner, expires_at)

    async def session_owner(self, token_hash: str) -> str | None:
        owner, expires_at = self._unsaved_sessions.get(token_hash, ("", 0.0))
        if expires_at > time.time():
            return owner
        values: dict[str, object] = {"hash": token_hash, "now": time.time()}
        found: str | None = await self._database.look(lambda c: _SESSION.first(c, values))
        return found

    async def living_sessions(self) -> Collection[str]:
        now = time.time()
        unsaved = {token for token, (_, expires_at) in self._unsaved_sessions.items() if expires_at > now}
        return unsaved.union(await self._database.look(lambda c: _LIVING_SESSIONS.column(c, {"now": now})))

    async def end_session(self, token_hash: str) -> None:
        if self._unsaved_sessions.pop(token_hash, None) is not None:
            return
        await self._database.write(lambda c: _END_SESSION.run(c, {"hash": token_hash}))

    # --- housekeeping ---

    async def tidy(self) -> None:
        from pilothouse.store import documents, memories

        now = time.time()
        before = {"before": now - limits.IDEMPOTENCY_DAYS * _DAY}
        await self._database.write(lambda c: _FORGET_RECEIPTS.run(c, before))
        await self._database.write(lambda c: file_changes.forget(c, now - limits.UNDO_CHANGE_DAYS * _DAY))
        await self._database.write(usage.forget)
        await self._database.write(memories.forget)
        await self._database.write(lambda c: documents.remove_old(c, now - limits.UNDO_DELETE_DAYS * _DAY))
        await self._database.write(lambda c: topic_rows.purge(c, now - limits.UNDO_DELETE_DAYS * _DAY))
        await self.purge(now - limits.UNDO_DELETE_DAYS * _DAY)
        from pilothouse.store import copying

        await self._database.write(lambda c: copying.remove_unfinished(c, now - limits.COPY_DAYS * _DAY))

    async def retain(self, wanted: Retention) -> int:
        if wanted == Retention():
            return 0
        from pilothouse.store import retention

        view = await self._database.read(lambda c: retention.look(c, wanted))
        gone = 0
        for one in view.leaving:
            # Two short steps for each, so that everyone hears of it and others write in between.
            if await self._writer.write(partial(retention.take_away, leaving=one), key=one.id):
                gone += await self._writer.write(partial(retention.remove, conversation_id=one.id), key=one.id)
                days = (time.time() - one.updated_at) / _DAY
                _log.info("removed conversation %s by the setting: %.0f days old, %d bytes", one.id, days, one.bytes)
        if gone:
            await self._database.write(retention.forget_receipts)
        return gone

    async def flush(self) -> None:
        await self._writer.flush()

    async def close(self) -> None:
        """Finish what is queued and close the database."""
        await self.flush()
        self._database.close()
