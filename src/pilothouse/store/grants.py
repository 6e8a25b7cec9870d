"""Passing permissions: given, used up once and for all, withdrawn."""

from __future__ import annotations

import sys
import time
from typing import Any

import msgspec

from pilothouse.store import paths, rows
from pilothouse.store.statements import Connection, Statement, inserting
from pilothouse.types.authority import Grant, Pattern
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import encode_text
from pilothouse.types.runs import Run

_COLUMNS = tuple(Grant.__struct_fields__)
_pattern = msgspec.json.Decoder(Pattern)

_ADD = inserting("grants", *_COLUMNS)
_GRANTS = f"SELECT {', '.join(_COLUMNS)}"
_STANDING = (
    "FROM grants WHERE owner = :owner AND (expires_at IS NULL OR expires_at > :now) AND revoked_at IS NULL "
    "AND (NOT single_use OR uses = 0) AND"
)
_THERE = "conversation_id IN (SELECT id FROM conversations WHERE deleted_at IS NULL)"
_IN_ORDER = "ORDER BY created_at DESC, id"
_OF_CONVERSATION = Statement(f"{_GRANTS} {_STANDING} conversation_id = :id {_IN_ORDER}")
# What was allowed at a question counts where that question is part of the story; what was allowed by hand, everywhere.
_ON_PATH = (
    "(NOT EXISTS (SELECT 1 FROM items WHERE items.id = grants.question_id) OR EXISTS (SELECT 1 FROM items "  # noqa: S608
    f"JOIN path ON items.branch = path.number WHERE items.id = grants.question_id AND {paths.ON_PATH}))"
)
_OF_PATH = Statement(f"{paths.PATH}{_GRANTS} {_STANDING} conversation_id = :id AND {_ON_PATH} {_IN_ORDER}")
_OF_OWNER = Statement(f"{_GRANTS} {_STANDING} {_THERE} {_IN_ORDER}")
# One statement, so that of two calls that want the last use only one gets it.
_USE = Statement(
    "UPDATE grants SET uses = uses + 1, last_used_at = :at WHERE id = :id AND revoked_at IS NULL "
    "AND (expires_at IS NULL OR expires_at > :at) AND (NOT single_use OR uses = 0)"
)
_REVOKE = Statement("UPDATE grants SET revoked_at = :at WHERE id = :id AND owner = :owner AND revoked_at IS NULL")
_END_WITH_RUN = Statement(
    "UPDATE grants SET revoked_at = :at "
    "WHERE conversation_id = :conversation_id AND run_id = :id AND revoked_at IS NULL"
)
_EXISTS = Statement("SELECT 1 FROM grants WHERE id = :id AND owner = :owner")


def add(connection: Connection, grant: Grant) -> None:
    """Keep a permission for a conversation of its owner's."""
    rows.owned_conversation(connection, grant.owner, grant.conversation_id)
    values: dict[str, Any] = msgspec.structs.asdict(grant)
    _ADD.run(connection, values | {"pattern": encode_text(grant.pattern)})


def standing(connection: Connection, owner: str, conversation_id: str | None, branch: int | None = None) -> list[Grant]:
    """Return the permissions of a conversation, of a branch's path or of all that stand now, newest first."""
    values: dict[str, object] = {"owner": owner, "now": time.time()}
    if conversation_id is None:
        return [_grant(row) for row in _OF_OWNER.rows(connection, values)]
    values["id"] = conversation_id
    if branch is None:
        return [_grant(row) for row in _OF_CONVERSATION.rows(connection, values)]
    return [_grant(row) for row in _OF_PATH.rows(connection, values | {"branch": branch, "most": sys.maxsize})]


def use(connection: Connection, grant_id: str, at: float) -> bool:
    """Count one use; False when the permission does not stand at that time."""
    return _USE.count(connection, {"id": grant_id, "at": at}) == 1


def revoke(connection: Connection, owner: str, grant_id: str) -> None:
    """Withdraw a permission; one that was withdrawn before stays so."""
    values: dict[str, object] = {"id": grant_id, "owner": owner}
    if _REVOKE.count(connection, values | {"at": time.time()}) == 0 and _EXISTS.first(connection, values) is None:
        raise PilothouseError("not_found", "There is no such permission.")


def end_with(connection: Connection, run: Run) -> None:
    """End the permissions that were for a run; one that begins again later has none of them."""
    values = {"conversation_id": run.conversation_id, "id": run.id, "at": run.updated_at}
    _END_WITH_RUN.run(connection, values)


def _grant(row: tuple[Any, ...]) -> Grant:
    fields: dict[str, Any] = dict(zip(_COLUMNS, row, strict=True))
    fields |= {"pattern": _pattern.decode(fields["pattern"]), "single_use": bool(fields["single_use"])}
    return Grant(**fields)
