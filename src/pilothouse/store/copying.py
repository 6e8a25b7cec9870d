"""A new conversation of everything that leads to a run, in small steps that let others write in between.

Everything keeps its place: what a model was told by numbers (results that it can read again, entries that it can look
back at, how far a summary reaches) means the same in the copy. What belongs to other branches is left out, and where
it stood, the copy's log says once more what the conversation is; so its numbers have no gaps, and are sealed like any.
The conversation's own row comes last. Until then nobody sees anything of it, and what a process that died left behind
is known by its note for the packer, and removed when the house is kept.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from pilothouse.store import branches, copied_documents, hash_chain, packing, paths, rows, search
from pilothouse.store.copied_records import Renaming
from pilothouse.store.database import Database
from pilothouse.store.packed_range import Kept
from pilothouse.store.packed_text import plain_body
from pilothouse.store.parts import copy_all
from pilothouse.store.statements import Connection, Statement, inserting
from pilothouse.store.writer import Transaction, Writer
from pilothouse.types import limits
from pilothouse.types.conversations import Conversation
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import ItemCreated
from pilothouse.types.ids import new_id
from pilothouse.types.item_data import CallData, NoticeData
from pilothouse.types.items import Item, is_a
from pilothouse.types.json import encode
from pilothouse.types.runs import ACTIVE, Run
from pilothouse.types.todos import TodoList

# The path of a branch up to a position, and not all of it.
_PATH = paths.PATH.replace("CAST(:most", "CAST(:until")
_ITEM_IDS = Statement(
    f"{_PATH}SELECT items.id, items.position FROM items JOIN path ON items.branch = path.number "  # noqa: S608 - ours
    f"WHERE conversation_id = :id AND {paths.ON_PATH} ORDER BY items.position"
)
_ITEMS = Statement(
    "SELECT id, position, run_id, kind, status, body FROM items WHERE conversation_id = :id AND position >= :first "
    "AND position <= :last ORDER BY position"
)
_RUNS = Statement("SELECT body FROM runs WHERE conversation_id = :id ORDER BY created_at")
_PARTS = Statement("SELECT item_id, sum(size) FROM parts WHERE conversation_id = :id GROUP BY item_id ORDER BY item_id")
_ADD_EVENT = inserting("events", "conversation_id", "seq", "kind", "item_id", "body", "chain")
_ADD_ITEM = inserting("items", "id", "conversation_id", "position", "run_id", "kind", "status", "body", "branch")
_ADD_RUN = inserting(
    "runs", "id", "conversation_id", "owner", "status", "epoch", "process", "created_at", "body", "branch"
)
_ADD_TODOS = inserting("todos", "conversation_id", "body", "updated_at")
_PLACE = Statement("UPDATE conversations SET last_seq = :last, activity = :activity WHERE id = :id")

Row = dict[str, object]
# Runs work in the database's writer thread, from another one.
Put = Callable[[Callable[[Connection], Any]], Any]


class Wanted(NamedTuple):
    """The copy to be made: whose run it ends with, the conversation that it is to be, and what is told at its end."""

    owner: str
    run_id: str
    made: Conversation
    told: Item


class _Source(NamedTuple):
    """What is copied: from which place to which, the runs, and the name that everything gets."""

    conversation: Conversation
    first: int
    last: int
    runs: Sequence[Run]
    renaming: Renaming


async def copied(database: Database, writer: Writer, wanted: Wanted) -> Conversation:
    """Make the copy, all of it or nothing."""
    loop = asyncio.get_running_loop()

    def put(work: Callable[[Connection], Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(database.write(work), loop).result()

    def finish(unit: Callable[[Transaction], Conversation]) -> Conversation:
        return asyncio.run_coroutine_threadsafe(writer.write(unit), loop).result()

    # The thread goes on when nobody waits for it any more, and clears up after itself.
    return await asyncio.to_thread(_copy, database, put, finish, wanted)


def _copy(
    database: Database,
    put: Put,
    finish: Callable[[Callable[[Transaction], Conversation]], Conversation],
    wanted: Wanted,
) -> Conversation:
    made = wanted.made
    # The first step is a write: where nothing can be written, nothing is read in vain.
    put(partial(packing.note, conversation_id=made.id))
    try:
        end, todos = database.read_now(lambda connection: _rows(connection, put, wanted))
        return finish(partial(_show, wanted=wanted, end=end, todos=todos))
    except BaseException:
        put(partial(_remove, conversation_id=made.id))
        raise


class _End(NamedTuple):
    """How far the copied log goes, and how its newest run ended."""

    seq: int
    activity: str


def _rows(connection: Connection, put: Put, wanted: Wanted) -> tuple[_End, TodoList | None]:
    """Copy everything, as it is at one moment."""
    source = _source(connection, wanted)
    end = 0
    for events in _few(_events(connection, source), "body"):
        end = int(str(events[-1]["seq"]))
        put(partial(_ADD_EVENT.many, rows=events))
    todos: TodoList | None = None
    for items in _few(_items(connection, source), "body"):
        put(partial(_add_items, items=items))
        todos = next((found for row in reversed(items) if (found := _todos(row)) is not None), todos)
    for runs in _few(map(source.renaming.run, source.runs), "body"):
        put(partial(_ADD_RUN.many, rows=runs))
    for pairs in _few(_parts(connection, source), "size"):
        of = [(str(pair["of"]), str(pair["id"])) for pair in pairs]
        put(partial(copy_all, pairs=of, conversation_id=wanted.made.id))
    for old, new in source.renaming.documents.items():
        put(partial(copied_documents.copy, old=old, new=new, conversation_id=wanted.made.id))
    return _End(end, source.runs[-1].status), todos


def _source(connection: Connection, wanted: Wanted) -> _Source:
    """Return what leads to a run, and the run; raise where something of it is not at its end."""
    last = rows.owned_run(connection, wanted.owner, wanted.run_id)
    conversation = rows.owned_conversation(connection, wanted.owner, last.conversation_id)
    # A copy is gone on with.
    branches.check_way_on(connection, conversation.id, last.branch)
    until = branches.end_of(connection, conversation.id, last.id)
    asked = {"id": conversation.id, "branch": last.branch, "most": sys.maxsize, "until": until}
    found = _ITEM_IDS.rows(connection, asked)
    items = {str(item_id): new_id("i") for item_id, _ in found}
    everything = map(rows.run_decoder.decode, _RUNS.column(connection, {"id": conversation.id}))
    runs = [run for run in everything if run.message_item_id in items]
    if any(run.status in ACTIVE for run in runs):
        raise PilothouseError(
            "conflict",
            "An answer up to this place is still being worked on, so it cannot be copied yet.",
            fix="Stop it first, or wait until it has ended.",
        )
    ids = items | {run.id: new_id("r") for run in runs}
    documents = copied_documents.of(connection, wanted.owner, conversation.id)
    renaming = Renaming(ids | {conversation.id: wanted.made.id}, documents, wanted.made.id)
    return _Source(conversation, found[0][1], found[-1][1], runs, renaming)


def _events(connection: Connection, source: _Source) -> Iterator[Row]:
    """Yield the events of the copy up to the last one about anything in it, sealed to each other."""
    seal, made = hash_chain.beginning(source.renaming.conversation_id), source.renaming.conversation_id
    # What stands between: it is told only where something follows.
    between: list[Kept] = []
    for event in packing.events_after(connection, source.conversation.id, 0):
        renamed = source.renaming.event(event)
        if renamed is None or event.kind == "conversation.updated":
            between.append(renamed or source.renaming.stand_in(event.seq))
            continue
        for each in (*between, renamed):
            seal = hash_chain.link(seal, each)
            yield {"conversation_id": made, **each._asdict(), "chain": seal}
        between.clear()


def _items(connection: Connection, source: _Source) -> Iterator[Row]:
    first, ids = source.first, source.renaming.ids
    while first <= source.last:
        upto = first + limits.LOADED_ROWS - 1
        place = {"id": source.conversation.id, "first": first, "last": min(upto, source.last)}
        for item_id, position, run_id, kind, status, body in _ITEMS.rows(connection, place):
            if item_id in ids:
                yield {
                    "id": ids[item_id],
                    "conversation_id": source.renaming.conversation_id,
                    "position": position,
                    "run_id": ids[run_id] if run_id is not None else None,
                    "kind": kind,
                    "status": status,
                    "body": source.renaming.item(plain_body(bytes(body))),
                    "branch": 0,
                }
        first = upto + 1


def _parts(connection: Connection, source: _Source) -> Iterator[Row]:
    for item_id, size in _PARTS.rows(connection, {"id": source.conversation.id}):
        if item_id in source.renaming.ids:
            yield {"of": item_id, "id": source.renaming.ids[item_id], "size": int(size or 0)}


def _few(found: Iterator[Row], weighed: str) -> Iterator[list[Row]]:
    """Yield rows by as many as are put in together."""
    batch: list[Row] = []
    weight = 0
    for row in found:
        batch.append(row)
        value = row[weighed]
        weight += value if isinstance(value, int) else len(value) if isinstance(value, bytes) else 0
        if len(batch) >= limits.LOADED_ROWS or weight >= limits.LOADED_CHARS:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch


def _add_items(connection: Connection, items: Sequence[Mapping[str, object]]) -> None:
    _ADD_ITEM.many(connection, items)
    for row in items:
        body = row["body"]
        if isinstance(body, bytes):
            search.index_item(connection, rows.kept_item(body))


def _todos(row: Row) -> TodoList | None:
    """Return the list as it was after an item, if the item says that."""
    body = row["body"]
    if row["kind"] not in ("tool_call", "notice") or not isinstance(body, bytes) or b'"todos"' not in body:
        return None
    item = rows.kept_item(body)
    return item.data.todos if is_a(item, CallData) or is_a(item, NoticeData) else None


def _show(tx: Transaction, wanted: Wanted, end: _End, todos: TodoList | None) -> Conversation:
    """Let everyone see the copy: from here on it is a conversation like any."""
    # Imported here: it imports what copies.
    from pilothouse.store import changes, topics

    made, connection = wanted.made, tx.connection
    topics.check_joined(tx, made.owner, None, made.settings.topic_id)
    rows.add_conversation(connection, made)
    _PLACE.run(connection, {"id": made.id, "last": end.seq, "activity": end.activity})
    if todos is not None:
        _ADD_TODOS.run(connection, {"conversation_id": made.id, "body": encode(todos), "updated_at": todos.updated_at})
    tx.append(made.id, [ItemCreated(item=wanted.told)])
    now = msgspec.structs.replace(made, last_seq=end.seq + 1, updated_at=tx.now, activity=end.activity)
    return changes.announce(tx, now)


# --- what was not finished ---------------------------------------------------------------------------

_IS_SEEN = Statement("SELECT 1 FROM conversations WHERE id = :id")
_LEFT = Statement(
    "SELECT conversation_id FROM packing_backlog WHERE conversation_id < :before "
    "AND NOT EXISTS (SELECT 1 FROM conversations c WHERE c.id = packing_backlog.conversation_id)"
)


def remove_unfinished(connection: Connection, before: float) -> None:
    """Remove what copies left behind that were begun before a time and never finished."""
    # An id begins with the time at which it was made.
    oldest = f"c_{int(before * 1_000):012x}"
    for conversation_id in _LEFT.column(connection, {"before": oldest}):
        _remove(connection, str(conversation_id))


def _remove(connection: Connection, conversation_id: str) -> None:
    import sqlalchemy as sa

    from pilothouse.store import documents, schema
    from pilothouse.store.database import alchemy

    if _IS_SEEN.first(connection, {"id": conversation_id}):
        return
    documents.remove_of(connection, [conversation_id])
    for table in schema.PARTS_OF_CONVERSATIONS:
        alchemy(connection).execute(sa.delete(table).where(table.c.conversation_id == conversation_id))
