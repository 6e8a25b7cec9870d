"""Queries: lists, snapshots and pages. Each runs in one consistent view of the data."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import islice

import msgspec

from pilothouse.store import branches, fold, inline_images, packing, paths, rows, todos, topics
from pilothouse.store.paths import BranchPath, PathPage
from pilothouse.store.statements import Connection, Statement
from pilothouse.types import limits
from pilothouse.types.api import ConversationPage, ConversationSnapshot, ItemPage
from pilothouse.types.conversations import Conversation
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
_OF_RUN = Statement("SELECT body FROM items WHERE run_id = :id ORDER BY position")
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
_HAS_BRANCHES = Statement("SELECT 1 FROM conversations WHERE id = :id AND branches > 0")
_RUNS_IN = Statement("SELECT body FROM runs WHERE status IN (:one, :other)")
_RUNS_OF = Statement("SELECT body FROM runs WHERE conversation_id = :id AND status IN (:one, :other)")
_COUNT_QUEUED = Statement("SELECT count(*) FROM runs WHERE status = 'queued'")
_QUEUED = Statement(
    "SELECT r.body FROM runs r LEFT JOIN items m ON m.run_id = r.id AND m.kind = 'user_message' "
    "WHERE r.conversation_id = :id AND r.status = 'queued' ORDER BY m.position, r.created_at, r.id LIMIT :limit"
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


def snapshot(
    connection: Connection, owner: str, conversation_id: str, limit: int, branch: int | None = None
) -> ConversationSnapshot:
    """Return the newest items of a branch, or of the one that was chosen, and the runs that matter to it."""
    conversation = rows.owned_conversation(connection, owner, conversation_id)
    number = conversation.branch if branch is None else branches.check(conversation, branch)
    path = _path(conversation, number)
    page = _page(connection, conversation_id, None, limit, path)
    first = page.items[0].position if page.items else 0
    asked = {"id": conversation_id, "limit": limits.PAGE_ITEMS, "first": first}
    seen = {item.run_id for item in page.items if item.run_id is not None}
    shown = _SHOWN.column(connection, asked) if path is None else paths.runs(connection, seen)
    bodies = (*_ACTIVE.column(connection, asked), *shown)
    found = {run.id: run for run in map(rows.run_decoder.decode, bodies)}
    runs = sorted(found.values(), key=lambda run: run.created_at)
    return ConversationSnapshot(
        conversation=conversation,
        items=page.items,
        runs=tuple(runs),
        last_seq=conversation.last_seq,
        has_earlier=page.has_earlier,
        todos=todos.todos(connection, place_of_todos(conversation_id, conversation.settings, number)),
        branch=number,
        branches=page.branches,
    )


def _path(conversation: Conversation, branch: int | None) -> BranchPath | None:
    """Return what narrows a query down to a branch; nothing where everything is in the first one, or wanted."""
    return BranchPath(conversation.id, branch) if conversation.branches and branch is not None else None


def items(
    connection: Connection, owner: str, conversation_id: str, before: int | None, limit: int, branch: int | None = None
) -> ItemPage:
    """Return up to `limit` items before a position, in order: those of a branch's path, or of all branches."""
    conversation = rows.owned_conversation(connection, owner, conversation_id)
    if branch is not None:
        branches.check(conversation, branch)
    return _page(connection, conversation_id, before, limit, _path(conversation, branch))


def _page(
    connection: Connection, conversation_id: str, before: int | None, limit: int, path: BranchPath | None
) -> ItemPage:
    # No position is larger, and a larger number fits no column.
    most = sys.maxsize
    asked = {"id": conversation_id, "before": most if before is None else min(before, most), "limit": limit + 1}
    if path is None:
        found, leaving = PathPage(_ITEMS.column(connection, asked), ())
    else:
        found, leaving = path.before(connection, most if before is None else min(before, most), limit + 1)
    page = [with_text(connection, rows.item_of(body)) for body in reversed(found[:limit])]
    return ItemPage(items=tuple(page), has_earlier=len(found) > limit, branches=leaving)


def item(connection: Connection, owner: str, item_id: str) -> Item:
    """Return one item with the text it has so far."""
    return with_text(connection, rows.owned_item(connection, owner, item_id))


def history(connection: Connection, conversation_id: str, branch: int = 0) -> list[Item]:
    """Return everything of a branch since its newest compaction, that itself, and the questions before it."""
    has_branches = _HAS_BRANCHES.first(connection, {"id": conversation_id})
    return _history(connection, conversation_id, BranchPath(conversation_id, branch) if has_branches else None)


def _history(connection: Connection, conversation_id: str, path: BranchPath | None) -> list[Item]:
    asked = {"id": conversation_id}
    newest = _COMPACTION.first(connection, asked) if path is None else path.compaction(connection)
    summary = read(CompactionData, rows.kept_item(newest).raw) if newest is not None else CompactionData()
    since, messages = summary.keep_from, summary.messages_from or summary.keep_from
    # What the person allowed for the whole conversation outlives the words around it.
    if path is None:
        bodies = _HISTORY.column(connection, {**asked, "since": since, "messages": messages})
    else:
        bodies = path.history(connection, since, messages)
    return [with_text(connection, rows.item_of(body)) for body in bodies]


def briefing(connection: Connection, run: Run) -> Briefing:
    """Return what a run begins with."""
    conversation = rows.owned_conversation(connection, run.owner, run.conversation_id, deleted=True)
    now = rows.owned_run(connection, run.owner, run.id)
    return Briefing(conversation, now, _history(connection, run.conversation_id, _path(conversation, run.branch)))


def items_of_run(connection: Connection, owner: str, run_id: str) -> list[Item]:
    """Return everything that a run has in the timeline, in order."""
    rows.owned_run(connection, owner, run_id)
    return [with_text(connection, rows.item_of(body)) for body in _OF_RUN.column(connection, {"id": run_id})]


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


def count_queued(connection: Connection) -> int:
    """Return how many runs wait for their turn."""
    return int(_COUNT_QUEUED.first(connection, {}) or 0)


def queued(connection: Connection, conversation_id: str, limit: int) -> list[Run]:
    """Return the queued runs of a conversation whose messages came first; clocks may jump, numbers do not."""
    bodies = _QUEUED.column(connection, {"id": conversation_id, "limit": limit})
    return list(map(rows.run_decoder.decode, bodies))
