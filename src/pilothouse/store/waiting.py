"""What waits for the person, and what calls of the past were, across conversations."""

from __future__ import annotations

import sqlalchemy as sa

from pilothouse.store import rows
from pilothouse.store.statements import Statement
from pilothouse.types.authority import PendingApproval, PendingApprovals
from pilothouse.types.paging import Page, bad_cursor, cursor_of, place_of
from pilothouse.types.records import PastCall

_PENDING = Statement(
    "SELECT i.body, c.title, r.created_at, r.id, i.position "
    "FROM runs r JOIN items i ON i.run_id = r.id AND i.status = 'waiting' "
    "JOIN conversations c ON c.id = i.conversation_id WHERE r.status = 'waiting' AND r.owner = :owner "
    "AND i.kind = 'question' AND c.deleted_at IS NULL AND (r.created_at, r.id, i.position) > (:at, :run, :position) "
    "ORDER BY r.created_at, r.id, i.position LIMIT :limit"
)
_CALLS = Statement(
    "SELECT i.body, c.settings FROM conversations c JOIN items i ON i.conversation_id = c.id "
    "WHERE c.owner = :owner AND c.deleted_at IS NULL AND i.kind = 'tool_call' "
    "ORDER BY c.updated_at DESC, i.position DESC LIMIT :limit"
)


def pending(connection: sa.Connection, owner: str, page: Page) -> PendingApprovals:
    """Return the questions that wait, oldest first; the cursor is the run, by its time, and the place of the last."""
    asked = {"owner": owner, "limit": page.limit + 1, **_after(page.cursor)}
    listed = _PENDING.rows(connection, asked)
    found = [(rows.item_decoder.decode(body), title) for body, title, *_ in listed[: page.limit]]
    # Questions of one turn are asked in the same moment; their place in the conversation is their order.
    found.sort(key=lambda one: (one[0].created_at, one[0].conversation_id, one[0].position))
    pending = tuple(
        PendingApproval(
            item_id=item.id,
            conversation_id=item.conversation_id,
            title=title,
            text=item.text,
            at=item.created_at,
            data=item.data,
        )
        for item, title in found
    )
    is_more = len(listed) > page.limit
    return PendingApprovals(pending=pending, next=cursor_of(*listed[page.limit - 1][2:]) if is_more else None)


def _after(cursor: str | None) -> dict[str, object]:
    if cursor is None:
        return {"at": -1.0, "run": "", "position": -1}
    at, run, position = place_of(cursor, 3)
    try:
        return {"at": float(at), "run": run, "position": int(position)}
    except ValueError:
        raise bad_cursor() from None


def past_calls(connection: sa.Connection, owner: str, limit: int) -> list[PastCall]:
    """Return calls of the most recently used conversations, newest first."""
    found = _CALLS.rows(connection, {"owner": owner, "limit": limit})
    return [
        PastCall(rows.item_decoder.decode(body), rows.settings_decoder.decode(settings).working_directory)
        for body, settings in found
    ]
