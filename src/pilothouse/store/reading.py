"""Queries: lists, snapshots and pages. Each runs in one consistent view of the data."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import islice

import msgspec

from pilothouse.store import fold, inline_images, packing, rows, todos, topics
from pilothouse.store.statements import Connection, Statement
from pilothouse.types import limits
from pilothouse.types.api import ConversationPage, ConversationSnapshot, ItemPage
from pilothouse.types.feed import FeedEvent
from pilothouse.types.item_data import CompactionData
from pilothouse.types.items import Item, read
from pilothouse.types.paging import place_of
from pilothouse.types.records import Briefing
from pilothouse.types.runs import Run, RunStatus
from pilothouse.types.topics import place_of_todos

_OF_OWNER = f"{rows.CONVERSATIONS} WHERE owner = :owner AND deleted_at IS NULL"
_IN_ORDER = "ORDER BY updated_at DESC, id DESC LIMIT :limit"
_LISTED = Statement(f"{_OF_OWNER} {_IN_ORDER}")
_LISTED_AFTER = Statement(f"{_OF_OWNER} AND (updated_at, id) < (:at, :id) {_IN_ORDER}")
_IN_TOPIC = Statement(f"{_OF_OWNER} AND settings LIKE :like {_IN_ORDER}")
_IN_TOPIC_AFTER = Statement(f"{_OF_OWNER} AND settings LIKE :like AND (updated_at, id) < (:at, :id) {_IN_ORDER}")
_ITEMS = Statement(
    "SELECT body FROM items WHERE conversation_id = :id AND position < :before ORDER BY position DESC LIMIT :limit"
)
_OPEN_ITEMS = Statement(
    "SELECT body FROM items WHERE run_id = :id AND status IN ('streaming', 'waiting') ORDER BY position"
)
_ACTIVE = Statement(
    "SELECT body FROM runs WHERE conversation_id = :id AND status IN ('queued', 'running', 'waiting') "
    "ORDER BY created_at LIMIT :limit"
)
_SHOWN = Statement(
    "SELECT body FROM runs WHERE conversation_id = :id "
    "AND id IN (SELECT run_id FROM items WHERE conversation_id = :id AND position >= :first)"
)
_COMPACTION = Statement(
    "SELECT body FROM items WHERE conversation_id = :id AND kind = 'compaction' AND status = 'completed' "
    "ORDER BY position DESC LIMIT 1"
)
_HISTORY = Statement(
    "SELECT body FROM items WHERE conversation_id = :id AND (position >= :since OR kind = 'question' "
    "OR (kind = 'user_message' AND position >= :messages)) ORDER BY position"
)
_RUNS_IN = Statement("SELECT body FROM runs WHERE status IN (:one, :other)")
_RUNS_OF = Statement("SELECT body FROM runs WHERE conversation_id = :id AND status IN (:one, :other)")
_NEXT_QUEUED = Statement(
    "SELECT r.body FROM runs r LEFT JOIN items m ON m.run_id = r.id AND m.kind = 'user_message' "
    "WHERE r.conversation_id = :id AND r.status = 'queued' ORDER BY m.position, r.created_at, r.id LIMIT 1"
)


def conversations(
    connection: Connection, owner: str, limit: int, cursor: str | None, topic: str | None = None
) -> ConversationPage:
    """Return a page of the list, or of those in a topic; the cursor is the last one's time and id."""
    asked: dict[str, object] = {"owner": owner, "limit": limit + 1}
    if topic is not None:
        asked["like"] = topics.like(topics.topic(connection, owner, topic).id)
    if cursor is None:
        found = (_LISTED if topic is None else _IN_TOPIC).rows(connection, asked)
    else:
        at, last_id = place_of(cursor, float, str)
        after = _LISTED_AFTER if topic is None else _IN_TOPIC_AFTER
        found = after.rows(connection, asked | {"at": at, "id": last_id})
    page = tuple(map(rows.conversation_from, found[:limit]))
    more = f"{page[-1].updated_at!r}~{page[-1].id}" if len(found) > limit else None
    return ConversationPage(conversations=page, next=more)


def snapshot(connection: Connection, owner: str, conversation_id: str, limit: int) -> ConversationSnapshot:
    """Return the newest items and the runs that are active or belong to them."""
    conversation = rows.owned_conversation(connection, owner, conversation_id)
    page = _page(connection, conversation_id, None, limit)
    first = page.items[0].position if page.items else 0
    asked = {"id": conversation_id, "limit": limits.PAGE_ITEMS, "first": first}
    bodies = (body for query in (_ACTIVE, _SHOWN) for body in query.column(connection, asked))
    found = {run.id: run for run in map(rows.run_decoder.decode, bodies)}
    runs = sorted(found.values(), key=lambda run: run.created_at)
    return ConversationSnapshot(
        conversation=conversation,
        items=page.items,
        runs=tuple(runs),
        last_seq=conversation.last_seq,
        has_earlier=page.has_earlier,
        todos=todos.todos(connection, place_of_todos(conversation_id, conversation.settings)),
    )


def items(connection: Connection, owner: str, conversation_id: str, before: int | None, limit: int) -> ItemPage:
    """Return up to `limit` items before a position, in order."""
    rows.owned_conversation(connection, owner, conversation_id)
    return _page(connection, conversation_id, before, limit)


def _page(connection: Connection, conversation_id: str, before: int | None, limit: int) -> ItemPage:
    # No position is larger, and a larger number fits no column.
    most = sys.maxsize
    asked = {"id": conversation_id, "before": most if before is None else min(before, most), "limit": limit + 1}
    found = _ITEMS.column(connection, asked)
    page = [with_text(connection, rows.item_of(body)) for body in reversed(found[:limit])]
    return ItemPage(items=tuple(page), has_earlier=len(found) > limit)


def item(connection: Connection, owner: str, item_id: str) -> Item:
    """Return one item with the text it has so far."""
    return with_text(connection, rows.owned_item(connection, owner, item_id))


def history(connection: Connection, conversation_id: str) -> list[Item]:
    """Return everything since the newest compaction, the compaction itself, and the questions before it."""
    newest = _COMPACTION.first(connection, {"id": conversation_id})
    summary = read(CompactionData, rows.kept_item(newest).raw) if newest is not None else CompactionData()
    since, messages = summary.keep_from, summary.messages_from or summary.keep_from
    # What the person allowed for the whole conversation outlives the words around it.
    bodies = _HISTORY.column(connection, {"id": conversation_id, "since": since, "messages": messages})
    return [with_text(connection, rows.item_of(body)) for body in bodies]


def briefing(connection: Connection, run: Run) -> Briefing:
    """Return what a run begins with."""
    conversation = rows.owned_conversation(connection, run.owner, run.conversation_id, deleted=True)
    now = rows.owned_run(connection, run.owner, run.id)
    return Briefing(conversation, now, history(connection, run.conversation_id))


def open_items(connection: Connection, run_id: str) -> list[Item]:
    """Return a run's items that still stream or wait."""
    return [with_text(connection, rows.item_of(body)) for body in _OPEN_ITEMS.column(connection, {"id": run_id})]


def with_text(connection: Connection, item: Item) -> Item:
    """Return the item with the text it has so far."""
    if item.status != "streaming":
        return item
    return msgspec.structs.replace(item, text=item.text + fold.text_so_far(connection, item.id))


def events(
    connection: Connection, conversation_id: str, after: int, limit: int, most_bytes: int | None = None
) -> list[FeedEvent]:
    """Return the durable events after a number: so many, or the first of them up to so many bytes, at least one."""
    found: list[FeedEvent] = []
    total = 0
    for event in islice(packing.events_after(connection, conversation_id, after), limit):
        found.append(inline_images.event_without(FeedEvent(event.seq, event.kind, event.body)))
        total += len(found[-1].json)
        if most_bytes is not None and total >= most_bytes:
            break
    return found


def runs_in(connection: Connection, statuses: Sequence[RunStatus], conversation_id: str | None = None) -> list[Run]:
    """Return the runs in these states, of one conversation or of all, oldest first."""
    query = _RUNS_IN if conversation_id is None else _RUNS_OF
    # Two at a time, which is as many as anyone asks for: one statement over a network, and written out.
    pairs = [(statuses[at], statuses[min(at + 1, len(statuses) - 1)]) for at in range(0, len(statuses), 2)]
    asked = ({"one": one, "other": other, "id": conversation_id} for one, other in pairs)
    bodies = [body for values in asked for body in query.column(connection, values)]
    return sorted(map(rows.run_decoder.decode, bodies), key=lambda run: (run.created_at, run.id))


def next_queued(connection: Connection, conversation_id: str) -> Run | None:
    """Return the queued run of a conversation whose message came first; clocks may jump, numbers do not."""
    body = _NEXT_QUEUED.first(connection, {"id": conversation_id})
    return rows.run_decoder.decode(body) if body is not None else None
