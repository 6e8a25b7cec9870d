"""Passing permissions: given, used up once and for all, withdrawn."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from pilothouse.store import rows
from pilothouse.store.statements import Statement
from pilothouse.types.authority import Grant, Pattern
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import encode_text

_COLUMNS = tuple(Grant.__struct_fields__)
_pattern = msgspec.json.Decoder(Pattern)

_ADD = Statement(
    "INSERT INTO grants (id, owner, conversation_id, pattern, created_at, expires_at, single_use, uses, last_used_at, "
    "revoked_at, question_id) VALUES (:id, :owner, :conversation_id, :pattern, :created_at, :expires_at, :single_use, "
    ":uses, :last_used_at, :revoked_at, :question_id)"
)
_OF_CONVERSATION = Statement(
    "SELECT id, owner, conversation_id, pattern, created_at, expires_at, single_use, uses, last_used_at, revoked_at, "
    "question_id FROM grants WHERE conversation_id = :id AND owner = :owner AND expires_at > :now "
    "AND revoked_at IS NULL AND (NOT single_use OR uses = 0) ORDER BY created_at DESC, id"
)
_OF_OWNER = Statement(
    "SELECT g.id, g.owner, g.conversation_id, g.pattern, g.created_at, g.expires_at, g.single_use, g.uses, "
    "g.last_used_at, g.revoked_at, g.question_id FROM grants g JOIN conversations c ON c.id = g.conversation_id "
    "WHERE g.owner = :owner AND g.expires_at > :now AND g.revoked_at IS NULL AND (NOT g.single_use OR g.uses = 0) "
    "AND c.deleted_at IS NULL ORDER BY g.created_at DESC, g.id"
)
# One statement, so that of two calls that want the last use only one gets it.
_USE = Statement(
    "UPDATE grants SET uses = uses + 1, last_used_at = :at WHERE id = :id AND revoked_at IS NULL "
    "AND expires_at > :at AND (NOT single_use OR uses = 0)"
)
_REVOKE = Statement("UPDATE grants SET revoked_at = :at WHERE id = :id AND owner = :owner AND revoked_at IS NULL")
_EXISTS = Statement("SELECT 1 FROM grants WHERE id = :id AND owner = :owner")


def add(connection: sa.Connection, grant: Grant) -> None:
    """Keep a permission for a conversation of its owner's."""
    rows.owned_conversation(connection, grant.owner, grant.conversation_id)
    values: dict[str, Any] = msgspec.structs.asdict(grant)
    _ADD.run(connection, values | {"pattern": encode_text(grant.pattern)})


def standing(connection: sa.Connection, owner: str, conversation_id: str | None, now: float) -> list[Grant]:
    """Return the permissions of a conversation or of all that stand at a time, newest first."""
    values: dict[str, object] = {"owner": owner, "now": now}
    if conversation_id is None:
        return [_grant(row) for row in _OF_OWNER.rows(connection, values)]
    return [_grant(row) for row in _OF_CONVERSATION.rows(connection, values | {"id": conversation_id})]


def use(connection: sa.Connection, grant_id: str, at: float) -> bool:
    """Count one use; False when the permission does not stand at that time."""
    return _USE.run(connection, {"id": grant_id, "at": at}) == 1


def revoke(connection: sa.Connection, owner: str, grant_id: str, at: float) -> None:
    """Withdraw a permission; one that was withdrawn before stays so."""
    values: dict[str, object] = {"id": grant_id, "owner": owner}
    if _REVOKE.run(connection, values | {"at": at}) == 0 and _EXISTS.first(connection, values) is None:
        raise PilothouseError("not_found", "There is no such permission.")


def _grant(row: tuple[Any, ...]) -> Grant:
    fields: dict[str, Any] = dict(zip(_COLUMNS, row, strict=True))
    fields |= {"pattern": _pattern.decode(fields["pattern"]), "single_use": bool(fields["single_use"])}
    return Grant(**fields)
