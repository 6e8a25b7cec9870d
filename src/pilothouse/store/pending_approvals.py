"""What waits for the person, and what calls of the past were, across conversations."""

from __future__ import annotations

from typing import cast

from pilothouse.store import rows
from pilothouse.store.statements import Connection, Statement
from pilothouse.types.authority import PendingApproval, PendingApprovals
from pilothouse.types.item_data import ApprovalData, CallData, ElicitationData, QuestionData
from pilothouse.types.items import Call, Item, is_a
from pilothouse.types.paging import Page, cursor_of, place_of
from pilothouse.types.records import PastCall

_PENDING = Statement(
    "SELECT i.body, c.title, r.created_at, r.id, i.position "
    "FROM runs r JOIN items i ON i.run_id = r.id AND i.status = 'waiting' "
    "JOIN conversations c ON c.id = i.conversation_id WHERE r.status = 'waiting' AND r.owner = :owner "
    "AND i.kind = 'question' AND c.deleted_at IS NULL AND (r.created_at, r.id, i.position) > (:at, :run, :position) "
    "ORDER BY r.created_at, r.id, i.position LIMIT :limit"
)
_ASKED_TO_SIGN_IN = Statement(
    "SELECT r.owner, i.body FROM runs r JOIN items i ON i.run_id = r.id AND i.status = 'waiting' "
    "WHERE r.status = 'waiting' AND i.kind = 'question'"
)
_ITEM = Statement("SELECT body FROM items WHERE id = :id")
_CALLS = Statement(
    "SELECT i.body, c.settings FROM conversations c JOIN items i ON i.conversation_id = c.id "
    "WHERE c.owner = :owner AND c.deleted_at IS NULL AND i.kind = 'tool_call' "
    "ORDER BY c.updated_at DESC, i.position DESC LIMIT :limit"
)


def pending(connection: Connection, owner: str, page: Page) -> PendingApprovals:
    """Return the questions that wait, oldest first; the cursor is the run, by its time, and the place of the last."""
    at, run, position = (-1.0, "", -1) if page.cursor is None else place_of(page.cursor, float, str, int)
    asked = {"owner": owner, "limit": page.limit + 1, "at": at, "run": run, "position": position}
    listed = _PENDING.rows(connection, asked)
    found = [(rows.kept_item(body), title) for body, title, *_ in listed[: page.limit]]
    # Questions of one turn are asked in the same moment; their place in the conversation is their order.
    found.sort(key=lambda one: (one[0].created_at, one[0].conversation_id, one[0].position))
    pending = tuple(_shown(connection, item, title) for item, title in found)
    is_more = len(listed) > page.limit
    return PendingApprovals(pending=pending, next=cursor_of(*listed[page.limit - 1][2:]) if is_more else None)


def asked_to_sign_in(connection: Connection, server: str) -> list[tuple[str, str]]:
    """Return who waits until someone signed in to a server: the owner and the question, in whichever conversation."""
    found = [(owner, rows.kept_item(body)) for owner, body in _ASKED_TO_SIGN_IN.rows(connection, {})]
    return [(owner, item.id) for owner, item in found if is_a(item, QuestionData) and _is_sign_in(item.data, server)]


def _is_sign_in(question: QuestionData, server: str) -> bool:
    return isinstance(question, ElicitationData) and question.mode == "sign_in" and question.server == server


def _shown(connection: Connection, item: Item, title: str) -> PendingApproval:
    """Return a question with what its call is given, which stands on the call alone."""
    about = item.data if is_a(item, QuestionData) else QuestionData()
    body = _ITEM.first(connection, {"id": about.call_item_id}) if isinstance(about, ApprovalData) else None
    call = rows.kept_item(body) if body is not None else None
    given = call.data if call is not None and is_a(call, CallData) else CallData()
    return PendingApproval(
        item_id=item.id,
        conversation_id=item.conversation_id,
        title=title,
        text=item.text,
        at=item.created_at,
        data=item.raw,
        arguments=given.arguments,
        masked=given.masked,
    )


def past_calls(connection: Connection, owner: str, limit: int) -> list[PastCall]:
    """Return calls of the most recently used conversations, newest first."""
    found = _CALLS.rows(connection, {"owner": owner, "limit": limit})
    return [
        PastCall(cast(Call, rows.kept_item(body)), rows.settings_decoder.decode(settings).working_directory)
        for body, settings in found
    ]
