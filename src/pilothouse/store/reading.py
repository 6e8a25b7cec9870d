"""Queries: lists, snapshots and pages. Each runs in one consistent view of the data."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from pilothouse.store import fold, rows, schema
from pilothouse.types.api import ConversationPage, ConversationSnapshot, ItemPage
from pilothouse.types.errors import PilothouseError
from pilothouse.types.feed import FeedEvent
from pilothouse.types.items import Item
from pilothouse.types.runs import ACTIVE, Run, RunStatus

_EVENTS = sa.text(
    "SELECT seq, kind, body FROM events WHERE conversation_id = :id AND seq > :after ORDER BY seq LIMIT :limit"
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
    at, _, last_id = cursor.partition("~")
    try:
        return float(at), last_id
    except ValueError:
        raise PilothouseError(
            "bad_request", "That cursor is not one of ours.", fix="Leave it out to begin at the newest."
        ) from None


def snapshot(connection: sa.Connection, owner: str, conversation_id: str, limit: int) -> ConversationSnapshot:
    """Return the newest items and the runs that are active or belong to them."""
    conversation = rows.owned_conversation(connection, owner, conversation_id)
    page = items(connection, conversation_id, None, limit)
    shown = {item.run_id for item in page.items}
    table = schema.runs
    found = connection.execute(
        sa.select(table.c.body).where(
            table.c.conversation_id == conversation_id, table.c.status.in_(ACTIVE) | table.c.id.in_(shown)
        )
    )
    runs = sorted((rows.run_decoder.decode(body) for (body,) in found), key=lambda run: run.created_at)
    return ConversationSnapshot(
        conversation=conversation,
        items=page.items,
        runs=tuple(runs),
        last_seq=conversation.last_seq,
        has_earlier=page.has_earlier,
    )


def items(connection: sa.Connection, conversation_id: str, before: int | None, limit: int) -> ItemPage:
    """Return up to `limit` items before a position, in order."""
    table = schema.items
    query = sa.select(table.c.body).where(table.c.conversation_id == conversation_id)
    if before is not None:
        query = query.where(table.c.position < before)
    found = connection.execute(query.order_by(table.c.position.desc()).limit(limit + 1)).all()
    page = [with_text(connection, rows.item_decoder.decode(body)) for (body,) in reversed(found[:limit])]
    return ItemPage(items=tuple(page), has_earlier=len(found) > limit)


def history(connection: sa.Connection, conversation_id: str) -> list[Item]:
    """Return everything since the newest compaction, the compaction itself, and the questions before it."""
    table = schema.items
    mine = table.c.conversation_id == conversation_id
    newest = connection.execute(
        sa.select(table.c.body)
        .where(mine, table.c.kind == "compaction", table.c.status == "completed")
        .order_by(table.c.position.desc())
        .limit(1)
    ).scalar()
    query = sa.select(table.c.body).where(mine).order_by(table.c.position)
    if newest is not None:
        kept = table.c.position >= int(rows.item_decoder.decode(newest).data["keepFrom"])
        # What the person allowed for the whole conversation outlives the words around it.
        query = query.where(sa.or_(kept, table.c.kind == "question"))
    return [with_text(connection, rows.item_decoder.decode(body)) for (body,) in connection.execute(query)]


def open_items(connection: sa.Connection, run_id: str) -> list[Item]:
    """Return a run's items that still stream or wait."""
    table = schema.items
    query = sa.select(table.c.body).where(table.c.run_id == run_id, table.c.status.in_(("streaming", "waiting")))
    found = connection.execute(query.order_by(table.c.position))
    return [with_text(connection, rows.item_decoder.decode(body)) for (body,) in found]


def with_text(connection: sa.Connection, item: Item) -> Item:
    """Return the item with the text it has so far."""
    if item.status != "streaming":
        return item
    return msgspec.structs.replace(item, text=item.text + fold.text_so_far(connection, item.id))


def events(connection: sa.Connection, conversation_id: str, after: int, limit: int) -> list[FeedEvent]:
    """Return the durable events after a number."""
    found = connection.execute(_EVENTS, {"id": conversation_id, "after": after, "limit": limit})
    return [FeedEvent(seq, kind, bytes(body)) for seq, kind, body in found]


def runs_in(connection: sa.Connection, statuses: tuple[RunStatus, ...]) -> list[Run]:
    """Return the runs in these states, oldest first."""
    table = schema.runs
    found = connection.execute(
        sa.select(table.c.body).where(table.c.status.in_(statuses)).order_by(table.c.created_at, table.c.id)
    )
    return [rows.run_decoder.decode(body) for (body,) in found]


def next_queued(connection: sa.Connection, conversation_id: str) -> Run | None:
    """Return the queued run of a conversation whose message came first; clocks may jump, numbers do not."""
    table, messages = schema.runs, schema.items
    message = sa.and_(messages.c.run_id == table.c.id, messages.c.kind == "user_message")
    body = connection.execute(
        sa.select(table.c.body)
        .join(messages, message, isouter=True)
        .where(table.c.conversation_id == conversation_id, table.c.status == "queued")
        .order_by(messages.c.position, table.c.created_at, table.c.id)
        .limit(1)
    ).scalar()
    return rows.run_decoder.decode(body) if body is not None else None
