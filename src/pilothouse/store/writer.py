"""Group commit: everything that waits to be written shares one transaction.

A unit of work is a function of a transaction. Units of a group run one after the other; if one fails,
the group is rolled back and each unit runs again on its own, so a refused unit never takes others down.
One promise among them is enough for the whole group to be on disk before anyone hears of it.

PostgreSQL has several groups side by side. Units of one conversation keep their order: none begins before those that
came earlier are over. A unit that is not about one conversation has a transaction of its own, one after the other.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from typing import Generic, TypeVar, cast

import msgspec

from pilothouse.store import fold, hash_chain
from pilothouse.store.database import Database, Unsure
from pilothouse.store.statements import Connection, Statement, inserting, together
from pilothouse.store.usage import Tallies
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemCreated, RunUpdated
from pilothouse.types.feed import FeedEvent, Guard
from pilothouse.types.items import Item
from pilothouse.types.json import encode
from pilothouse.types.runs import Run

T = TypeVar("T")
Publish = Callable[[str, Sequence[FeedEvent]], None]

# Both return the new last number, whose it is, and the seal of the event that was the last one until now.
_COUNTED = "UPDATE conversations SET last_seq = last_seq + :count WHERE id = :id"
_HELD = "EXISTS (SELECT 1 FROM runs WHERE runs.id = :run AND runs.epoch = :epoch)"
_BEFORE = (
    "RETURNING last_seq, owner, branches, branch, (SELECT events.chain FROM events "
    "WHERE events.conversation_id = conversations.id AND events.seq = conversations.last_seq - :count)"
)
_NEXT = Statement(f"{_COUNTED} {_BEFORE}")
_NEXT_GUARDED = Statement(f"{_COUNTED} AND {_HELD} {_BEFORE}")
_BRANCH_OF_RUN = Statement("SELECT branch FROM runs WHERE id = :id")
_HOLD = Statement("SELECT 1 FROM conversations WHERE id = :id FOR UPDATE")
_HOLD_ALL = Statement("SELECT 1 FROM conversations WHERE id = ANY(:ids) ORDER BY id FOR UPDATE")
_WAIT_SHORTLY = Statement("SELECT set_config('lock_timeout', :milliseconds, true)")
# Deadlocks and the like: PostgreSQL undid the transaction so that others can go on.
_UNDONE = "40"
_INSERT_EVENT = inserting("events", "conversation_id", "seq", "kind", "item_id", "body", "chain")


class Transaction:
    """One open transaction: statements, and events to append and publish when it commits."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.now = time.time()
        self.published: list[tuple[str, list[FeedEvent]]] = []
        self._rows: list[dict[str, object]] = []
        # The newest seal of each conversation appended to; its row may not be inserted yet.
        self._seals: dict[str, bytes] = {}
        # Whose the conversations appended to are, and what their items add to what was used.
        self._owners: dict[str, str] = {}
        self.tallies = Tallies()
        # Of conversations with branches, the one that the person chose; and the branches of runs.
        self._chosen: dict[str, int] = {}
        self._branches: dict[str, int | None] = {}
        # Conversations that nobody else writes to until this ends.
        self._held: set[str] = set()
        # Runs that were queued, began or ended: someone may have to go on with their conversations.
        self.changed_runs: list[Run] = []

    def hold(self, conversation_id: str) -> None:
        """Keep others from writing to a conversation, so that what is read from now on still holds at commit."""
        # SQLite needs no statement: its one writer holds the whole file.
        if self.connection.dialect.name != "sqlite" and conversation_id not in self._held:
            _HOLD.run(self.connection, {"id": conversation_id})
            self._held.add(conversation_id)

    def hold_all(self, conversations: Collection[str]) -> None:
        """Keep others from writing to several conversations, taken in one order so that no two wait for each other."""
        wanted = sorted(set(conversations) - self._held)
        if wanted and self.connection.dialect.name != "sqlite":
            _HOLD_ALL.run(self.connection, {"ids": wanted})
            self._held.update(wanted)

    def append(self, conversation_id: str, drafts: Sequence[Event], guard: Guard | None = None) -> list[Event]:
        """Number the events, fold them into items and runs, and return them as they are kept."""
        with together(self.connection):
            first = self._numbers(conversation_id, len(drafts), guard)
            numbered = [self._numbered(draft, first + index) for index, draft in enumerate(drafts)]
            feed = [self._gather(conversation_id, event) for event in numbered]
            if any(fold.needs_events(event) for event in numbered):
                self.flush()
            for event in numbered:
                if (item := fold.apply(self.connection, event)) is not None:
                    self.tallies.see(self._owners[conversation_id], *item)
                elif isinstance(event, RunUpdated):
                    self.changed_runs.append(event.run)
        self.published.append((conversation_id, feed))
        return numbered

    def _gather(self, conversation_id: str, event: Event) -> FeedEvent:
        kind, item_id, body = fold.kind_of(event), fold.item_of(event), encode(event)
        seal = hash_chain.link(self._seals[conversation_id], (event.seq, kind, item_id, body))
        self._seals[conversation_id] = seal
        self._rows.append(
            {
                "conversation_id": conversation_id,
                "seq": event.seq,
                "kind": kind,
                "item_id": item_id,
                "body": body,
                "chain": seal,
            }
        )
        return FeedEvent(event.seq, kind, body)

    def flush(self) -> None:
        """Insert the gathered event rows."""
        if self._rows:
            _INSERT_EVENT.many(self.connection, self._rows)
            self._rows = []

    def _numbers(self, conversation_id: str, count: int, guard: Guard | None) -> int:
        values: dict[str, object] = {"id": conversation_id, "count": count}
        # Before the next statement looks at the run and the last seal: one that waits for the lock while others write
        # would still see them as they were.
        self.hold(conversation_id)
        if guard is None:
            found = _NEXT.rows(self.connection, values)
        else:
            found = _NEXT_GUARDED.rows(self.connection, values | {"run": guard.run_id, "epoch": guard.epoch})
        if not found:
            if guard is not None:
                raise PilothouseError("stale_run", "Another process has taken this run over.")
            raise PilothouseError("not_found", "There is no such conversation.")
        last, owner, branches, branch, seal = found[0]
        self._owners[conversation_id] = owner
        if branches:
            self._chosen[conversation_id] = branch
        if conversation_id not in self._seals:
            self._seals[conversation_id] = bytes(seal) if seal is not None else hash_chain.beginning(conversation_id)
        return int(last) - count + 1

    def _branch(self, item: Item) -> int:
        """Return the branch in which an item stands: its own, that of its run, or the one that the person chose."""
        if item.branch or item.conversation_id not in self._chosen:
            return item.branch
        if item.run_id is None:
            return self._chosen[item.conversation_id]
        if item.run_id not in self._branches:
            self._branches[item.run_id] = _BRANCH_OF_RUN.first(self.connection, {"id": item.run_id})
        # A message comes before its run, and says itself where it stands.
        return self._branches[item.run_id] or 0

    def _numbered(self, draft: Event, seq: int) -> Event:
        if isinstance(draft, ItemCreated):
            item = msgspec.structs.replace(
                draft.item, position=seq, created_at=self.now, updated_at=self.now, branch=self._branch(draft.item)
            )
            return ItemCreated(seq=seq, at=self.now, item=item)
        return msgspec.structs.replace(draft, seq=seq, at=self.now)


Unit = Callable[[Transaction], T]
# What came of the units of a group, and the events to publish.
_Written = tuple[list[object], list[tuple[str, list[FeedEvent]]]]


class _Waiting(Generic[T]):
    """A unit in the queue and who waits for it."""

    __slots__ = ("alone", "future", "key", "promised", "tries", "unit")

    def __init__(self, unit: Unit[T], future: asyncio.Future[T], promised: bool, key: str) -> None:
        self.unit = unit
        self.future = future
        self.promised = promised
        # The conversation that it is about.
        self.key = key
        # Whether it shares a transaction with no other, and how often it was tried then.
        self.alone = False
        self.tries = 0


class Writer:
    """The one path by which anything is written."""

    def __init__(self, database: Database, publish: Publish, *, executes_own: bool = False) -> None:
        self._database = database
        self._publish = publish
        # Whether this process executes itself what it queues, as a command does that waits for its answer.
        self._executes_own = executes_own
        self._queue: list[_Waiting[object]] = []
        # Those at work, and the conversations that they write to.
        self._tasks: set[asyncio.Task[None]] = set()
        self._busy: set[str] = set()

    async def write(self, unit: Unit[T], *, promised: bool = True, key: str = "") -> T:
        """Run a unit in one of the next groups; return when it is on disk, unless it is no promise, and published.

        The key is the conversation that it is about, and no other.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.append(_Waiting(unit, future, promised, key))  # type: ignore[arg-type]
        self._begin()
        return await future

    def _begin(self) -> None:
        """Have one more at work, if there may be more."""
        if self._queue and len(self._tasks) < self._database.writers:
            self._tasks.add(asyncio.create_task(self._work(), name="store-writer"))

    async def flush(self) -> None:
        """Wait until everything queued so far is written or refused."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _work(self) -> None:
        try:
            await self._drain()
        finally:
            # Here, at once: what is queued before anyone else would do it begins another one.
            self._tasks.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    async def _drain(self) -> None:
        while group := self._take():
            keys = {waiting.key for waiting in group}
            self._busy |= keys
            try:
                outcomes, published = await self._commit(group)
            except Exception as error:
                self._again(group, error)
            else:
                self._deliver(group, outcomes, published)
            finally:
                self._busy -= keys

    def _take(self) -> list[_Waiting[object]]:
        """Take the next group: what is first, and what may go with it."""
        if self._database.writers == 1:
            # What failed together with others is before all that never did.
            count = 1 if self._queue and self._queue[0].alone else limits.GROUP_COMMIT
            group, self._queue = self._queue[:count], self._queue[count:]
            return group
        # Shared out among all who write, also those who are at work now.
        most = min(-(-len(self._queue) // self._database.writers), limits.GROUP_COMMIT)
        group, rest, held = [], [], set(self._busy)
        for waiting in self._queue:
            if waiting.key not in held and len(group) < most and _goes_with(waiting, group):
                group.append(waiting)
            else:
                # What comes after it in its conversation stays after it.
                held.add(waiting.key)
                rest.append(waiting)
        self._queue = rest
        return group

    def _again(self, group: list[_Waiting[object]], error: Exception) -> None:
        """Have each of a group that failed run on its own, before all others; one that did so is refused."""
        if isinstance(error, Unsure) or (len(group) == 1 and not _may_repeat(group[0], error)):
            for waiting in group:
                self._fail(waiting, error)
            return
        for waiting in group:
            waiting.tries += waiting.alone
            waiting.alone = True
        self._queue[:0] = group
        self._begin()

    async def _commit(self, group: list[_Waiting[object]]) -> _Written:
        promised = any(waiting.promised for waiting in group)
        return await self._database.write(lambda connection: self._run_group(connection, group), promised=promised)

    def _run_group(self, connection: Connection, group: list[_Waiting[object]]) -> _Written:
        if len(group) > 1 and self._database.writers > 1:
            _WAIT_SHORTLY.run(connection, {"milliseconds": str(int(limits.DATABASE_LOCK_SHARED * 1000))})
        return self._run_all(connection, group)

    def _run_all(self, connection: Connection, group: list[_Waiting[object]]) -> _Written:
        transaction = Transaction(connection)
        # All at once, and in one order, however they came.
        transaction.hold_all({waiting.key for waiting in group if waiting.key})
        outcomes = [waiting.unit(transaction) for waiting in group]
        transaction.flush()
        transaction.tallies.write(connection)
        self._defer(connection, transaction.changed_runs)
        return outcomes, transaction.published

    def _defer(self, connection: Connection, changed: Sequence[Run]) -> None:
        """Have other processes go on where a run was queued, or where the end of one lets another begin."""
        if self._database.is_sqlite or not changed:
            return
        # Imported only here: SQLite needs none of it.
        from pilothouse.store import jobs

        begun = [run for run in changed if run.status == "running"]
        jobs.defer_beside(connection, [run for run in begun if run.options.beside is not None])
        others = [run for run in changed if run.status != "running"]
        if wanted := {run.conversation_id for run in others if run.status != "queued" or not self._executes_own}:
            jobs.defer(connection, wanted)

    def _deliver(
        self, group: list[_Waiting[object]], outcomes: list[object], published: list[tuple[str, list[FeedEvent]]]
    ) -> None:
        for conversation_id, feed in published:
            self._publish(conversation_id, feed)
        for waiting, outcome in zip(group, outcomes, strict=True):
            if not waiting.future.done():
                waiting.future.set_result(outcome)

    @staticmethod
    def _fail(waiting: _Waiting[object], error: Exception) -> None:
        if not waiting.future.done():
            waiting.future.set_exception(error)


def _goes_with(waiting: _Waiting[object], group: list[_Waiting[object]]) -> bool:
    """Return whether a unit may share a transaction with others, or begins one."""
    return not group or not (waiting.alone or group[0].alone or not waiting.key or not group[0].key)


def _may_repeat(waiting: _Waiting[object], error: Exception) -> bool:
    """Return whether a unit that failed by itself is tried again: another was in its way, and nothing of it is kept."""
    state = getattr(getattr(error.__cause__, "orig", None), "sqlstate", None) or ""
    return waiting.tries < limits.WRITE_AGAIN and state.startswith(_UNDONE)
