"""Queries: lists, snapshots and pages. Each runs in one consistent view of the data."""

from __future__ import annotations

from itertools import islice

import msgspec
import sqlalchemy as sa

from pilothouse.store import fold, inline, packing, rows, schema, todos
from pilothouse.store.statements import Statement
from pilothouse.types import limits
from pilothouse.types.api import ConversationPage, ConversationSnapshot, ItemPage
from pilothouse.types.feed import FeedEvent
from pilothouse.types.items import Item
from pilothouse.types.paging import bad_cursor, place_of
from pilothouse.types.runs import ACTIVE, Run, RunStatus

_COMPACTION = Statement(
    "SELECT body FROM items WHERE conversation_id = :id AND kind = 'compaction' AND status = 'completed' "
    "ORDER BY position DESC LIMIT 1"
)
_HISTORY = Statement(
    "SELECT body FROM items WHERE conversation_id = :id AND (position >= :since OR kind = 'question') ORDER BY position"
)
_RUNS_IN = Statement("SELECT body FROM runs WHERE status IN (:one, :other)")
_RUNS_OF = Statement("SELECT body FROM runs WHERE conversation_id = :id AND status IN (:one, :other)")
_NEXT_QUEUED = Statement(
    "SELECT r.body FROM runs r LEFT JOIN items m ON m.run_id = r.id AND m.kind = 'user_message' "
    "WHERE r.conversation_id = :id AND r.status = 'queued' ORDER BY m.position, r.created_at, r.id LIMIT 1"
)


def conversations(connection: sa.Connection, owner: str, limit: int, cursor: str | None) -> ConversationPage:
    """Return a page of the list; the cursor is the last one's time and id."""
    table = schema.conversations
    query = sa.select(table).where(table.c.owner == owner, table.c.deleted_at.is_(None))
    if cursor is not None:
        at, last_id = _parse_cursor(cursor)
        query = query.where(sa.tuple_(table.c.updated_at, table.c.id) < sa.tuple_(sa.literal(at), sa.literal(last_id)))
    found = connection.execute(query.order_by(table.c.updated_at.desc(), table.c.id.desc()).limit(limit + 1)).all()
    page = tuple(rows.conversation_of(row) for row in found[:limit])
    more = f"{page[-1].updated_at!r}~{page[-1].id}" if len(found) > limit else None
    return ConversationPage(conversations=page, next=more)


def _parse_cursor(cursor: str) -> tuple[float, str]:
    at, last_id = place_of(cursor, 2)
    try:
        return float(at), last_id
    except ValueError:
        raise bad_cursor() from None


def snapshot(connection: sa.Connection, owner: str, conversation_id: str, limit: int) -> ConversationSnapshot:
    """Return the newest items and the runs that are active or belong to them."""
    conversation = rows.owned_conversation(connection, owner, conversation_id)
    page = items(connection, conversation_id, None, limit)
    shown = {item.run_id for item in page.items}
    table = schema.runs
    here = sa.select(table.c.body).where(table.c.conversation_id == conversation_id)
    active = here.where(table.c.status.in_(ACTIVE)).order_by(table.c.created_at).limit(limits.PAGE_ITEMS)
    bodies = (row.body for query in (active, here.where(table.c.id.in_(shown))) for row in connection.execute(query))
    found = {run.id: run for run in map(rows.run_decoder.decode, bodies)}
    runs = sorted(found.values(), key=lambda run: run.created_at)
    return ConversationSnapshot(
        conversation=conversation,
        items=page.items,
        runs=tuple(runs),
        last_seq=conversation.last_seq,
        has_earlier=page.has_earlier,
        todos=todos.todos(connection, conversation_id),
    )


def items(connection: sa.Connection, conversation_id: str, before: int | None, limit: int) -> ItemPage:
    """Return up to `limit` items before a position, in order."""
    table = schema.items
    query = sa.select(table.c.body).where(table.c.conversation_id == conversation_id)
    if before is not None:
        query = query.where(table.c.position < before)
    found = connection.execute(query.order_by(table.c.position.desc()).limit(limit + 1)).all()
    page = [with_text(connection, rows.item_of(body)) for (body,) in reversed(found[:limit])]
    return ItemPage(items=tuple(page), has_earlier=len(found) > limit)


def history(connection: sa.Connection, conversation_id: str) -> list[Item]:
    """Return everything since the newest compaction, the compaction itself, and the questions before it."""
    newest = _COMPACTION.first(connection, {"id": conversation_id})
    since = int(rows.item_decoder.decode(newest).data["keepFrom"]) if newest is not None else 0
    # What the person allowed for the whole conversation outlives the words around it.
    bodies = _HISTORY.column(connection, {"id": conversation_id, "since": since})
    return [with_text(connection, rows.item_of(body)) for body in bodies]


def open_items(connection: sa.Connection, run_id: str) -> list[Item]:
    """Return a run's items that still stream or wait."""
    table = schema.items
    query = sa.select(table.c.body).where(table.c.run_id == run_id, table.c.status.in_(("streaming", "waiting")))
    found = connection.execute(query.order_by(table.c.position))
    return [with_text(connection, rows.item_of(body)) for (body,) in found]


def with_text(connection: sa.Connection, item: Item) -> Item:
    """Return the item with the text it has so far."""
    if item.status != "streaming":
        return item
    return msgspec.structs.replace(item, text=item.text + fold.text_so_far(connection, item.id))


def events(
    connection: sa.Connection, conversation_id: str, after: int, limit: int, most_bytes: int | None = None
) -> list[FeedEvent]:
    """Return the durable events after a number: so many, or the first of them up to so many bytes, at least one."""
    found: list[FeedEvent] = []
    total = 0
    for event in islice(packing.events_after(connection, conversation_id, after), limit):
        found.append(inline.event_without(FeedEvent(event.seq, event.kind, event.body)))
        total += len(found[-1].json)
        if most_bytes is not None and total >= most_bytes:
            break
    return found


def runs_in(connection: sa.Connection, statuses: tuple[RunStatus, ...], conversation_id: str | None) -> list[Run]:
    """Return the runs in these states, of one conversation or of all, oldest first."""
    query = _RUNS_IN if conversation_id is None else _RUNS_OF
    # Two at a time, which is as many as anyone asks for: one statement over a network, and written out.
    pairs = [(statuses[at], statuses[min(at + 1, len(statuses) - 1)]) for at in range(0, len(statuses), 2)]
    asked = ({"one": one, "other": other, "id": conversation_id} for one, other in pairs)
    bodies = [body for values in asked for body in query.column(connection, values)]
    return sorted(map(rows.run_decoder.decode, bodies), key=lambda run: (run.created_at, run.id))


def next_queued(connection: sa.Connection, conversation_id: str) -> Run | None:
    """Return the queued run of a conversation whose message came first; clocks may jump, numbers do not."""
    body = _NEXT_QUEUED.first(connection, {"id": conversation_id})
    return rows.run_decoder.decode(body) if body is not None else None
