"""What waits for the person, and what calls of the past were, across conversations."""

from __future__ import annotations

import sqlalchemy as sa

from pilothouse.store import rows
from pilothouse.store.statements import Statement
from pilothouse.types import limits
from pilothouse.types.authority import PendingApproval
from pilothouse.types.records import PastCall

_PENDING = Statement(
    "SELECT i.body, c.title FROM runs r JOIN items i ON i.run_id = r.id AND i.status = 'waiting' "
    "JOIN conversations c ON c.id = i.conversation_id WHERE r.status = 'waiting' AND r.owner = :owner "
    "AND i.kind = 'question' AND c.deleted_at IS NULL LIMIT :limit"
)
_CALLS = Statement(
    "SELECT i.body, c.settings FROM conversations c JOIN items i ON i.conversation_id = c.id "
    "WHERE c.owner = :owner AND c.deleted_at IS NULL AND i.kind = 'tool_call' "
    "ORDER BY c.updated_at DESC, i.position DESC LIMIT :limit"
)


def pending(connection: sa.Connection, owner: str) -> list[PendingApproval]:
    """Return the questions that wait, oldest first."""
    found = [
        (rows.item_decoder.decode(body), title)
        for body, title in _PENDING.rows(connection, {"owner": owner, "limit": limits.PENDING_SHOWN})
    ]
    # Questions of one turn are asked in the same moment; their place in the conversation is their order.
    found.sort(key=lambda one: (one[0].created_at, one[0].conversation_id, one[0].position))
    return [
        PendingApproval(
            item_id=item.id,
            conversation_id=item.conversation_id,
            title=title,
            text=item.text,
            at=item.created_at,
            data=item.data,
        )
        for item, title in found
    ]


def past_calls(connection: sa.Connection, owner: str, limit: int) -> list[PastCall]:
    """Return calls of the most recently used conversations, newest first."""
    found = _CALLS.rows(connection, {"owner": owner, "limit": limit})
    return [
        PastCall(rows.item_decoder.decode(body), rows.settings_decoder.decode(settings).working_directory)
        for body, settings in found
    ]
