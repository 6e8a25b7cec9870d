"""Removes conversations that the person does not want to keep for ever: the longest untouched first, one at a time."""

from __future__ import annotations

import time
from collections import Counter

import msgspec
import sqlalchemy as sa

from pilothouse.store import changes, documents, memories, receipts, rows, schema, usage_backlog
from pilothouse.store.writer import Transaction
from pilothouse.types.retention import Leaving, Retention, RetentionView
from pilothouse.types.runs import ACTIVE

_DAY = 86_400.0
_MEGABYTE = 1_000_000
_talks = schema.conversations
_active = (
    sa.select(schema.runs.c.id)
    .where(schema.runs.c.conversation_id == _talks.c.id, schema.runs.c.status.in_(sorted(ACTIVE)))
    .exists()
)


def look(connection: sa.Connection, retention: Retention) -> RetentionView:
    """Return how much is kept, and what is to be removed now."""
    sizes = _sizes(connection)
    query = sa.select(_talks.c.id, _talks.c.title, _talks.c.updated_at).where(~_active)
    found = [
        Leaving(id=row.id, title=row.title, updated_at=row.updated_at, bytes=sizes[row.id])
        for row in connection.execute(query.order_by(_talks.c.updated_at, _talks.c.id))
    ]
    total, leaving = sum(sizes.values()), []
    left = total
    before = time.time() - retention.days * _DAY if retention.days is not None else float("-inf")
    most = retention.megabytes * _MEGABYTE if retention.megabytes is not None else float("inf")
    for one in found:
        if one.updated_at >= before and left <= most:
            break
        leaving.append(one)
        left -= one.bytes
    return RetentionView(retention=retention, conversations=len(sizes), bytes=total, leaving=tuple(leaving))


def _sizes(connection: sa.Connection) -> Counter[str]:
    """Return how much each conversation holds, in bytes and characters; the same on both databases."""
    sizes: Counter[str] = Counter({str(each): 0 for each in connection.execute(sa.select(_talks.c.id)).scalars()})
    for table in schema.PARTS_OF_CONVERSATIONS:
        kept = [sa.func.length(column) for column in table.columns if isinstance(column.type, sa.LargeBinary | sa.Text)]
        if not kept or table in schema.DERIVED:
            continue
        size = sa.func.sum(sum((sa.func.coalesce(each, 0) for each in kept), start=sa.literal(0)))
        grouped = sa.select(table.c.conversation_id, size).group_by(table.c.conversation_id)
        for conversation_id, count in connection.execute(grouped):
            if conversation_id in sizes:
                sizes[conversation_id] += int(count or 0)
    return sizes


def take_away(tx: Transaction, leaving: Leaving) -> bool:
    """Delete a conversation, unless someone touched it since; everybody hears of it."""
    tx.hold(leaving.id)
    still = sa.select(_talks).where(_talks.c.id == leaving.id, _talks.c.updated_at == leaving.updated_at, ~_active)
    row = tx.connection.execute(still).first()
    if row is None:
        return False
    conversation = rows.conversation_of(row)
    if conversation.deleted_at is None:
        changes.announce(tx, msgspec.structs.replace(conversation, deleted_at=tx.now))
    return True


def remove(tx: Transaction, conversation_id: str) -> bool:
    """Remove a deleted conversation for good, unless it was brought back in between."""
    tx.hold(conversation_id)
    deleted = sa.select(_talks.c.id).where(_talks.c.id == conversation_id, _talks.c.deleted_at.is_not(None))
    if tx.connection.execute(deleted).first() is None:
        return False
    usage_backlog.finish(tx.connection, [conversation_id])
    for table in schema.PARTS_OF_CONVERSATIONS:
        tx.connection.execute(sa.delete(table).where(table.c.conversation_id == conversation_id))
    memories.leave_with(tx.connection, [conversation_id])
    documents.remove_of(tx.connection, [conversation_id])
    tx.connection.execute(sa.delete(_talks).where(_talks.c.id == conversation_id))
    return True


def forget_receipts(connection: sa.Connection) -> None:
    """Forget what was answered to messages in conversations that are gone."""
    here = set(connection.execute(sa.select(_talks.c.id)).scalars())
    table = schema.receipts
    for row in connection.execute(sa.select(table.c.owner, table.c.key, table.c.body)).all():
        if receipts.conversation_of(row.body) not in here:
            connection.execute(sa.delete(table).where(table.c.owner == row.owner, table.c.key == row.key))
