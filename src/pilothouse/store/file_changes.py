"""What files were before calls changed them: one row for each change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from pilothouse.store import rows
from pilothouse.store.statements import Connection, Statement, inserting
from pilothouse.types.changes import ChangeList, FileChange, KeptChange
from pilothouse.types.paging import Page, cursor_of, place_of

_OPEN = "FROM file_changes WHERE undone_at IS NULL AND"
_COLUMNS = FileChange.__struct_fields__
_CHANGES = f"SELECT {', '.join(_COLUMNS)}"
_WHOLE = f"{_CHANGES}, content {_OPEN}"
_IN_ORDER = "ORDER BY at, id"
_OF_RUN = Statement(f"{_WHOLE} run_id = :run {_IN_ORDER}")
_OF_ITEM = Statement(f"{_WHOLE} item_id = :item {_IN_ORDER}")
_PAGE = Statement(f"{_CHANGES} {_OPEN} run_id = :run AND (at, id) > (:at, :id) {_IN_ORDER} LIMIT :limit")
_ADD = inserting("file_changes", *_COLUMNS, "content")
_DROP = Statement("DELETE FROM file_changes WHERE id = :id")
_UNDONE = Statement("UPDATE file_changes SET undone_at = :at WHERE id = :id")
_FORGET = Statement("DELETE FROM file_changes WHERE at < :before")


def keep(connection: Connection, kept: Sequence[KeptChange]) -> None:
    """Keep changes together with what they replace."""
    for each in kept:
        values: dict[str, object] = msgspec.structs.asdict(each.change)
        _ADD.run(connection, values | {"content": each.content})


def drop(connection: Connection, change_ids: Sequence[str]) -> None:
    """Forget changes."""
    _DROP.many(connection, [{"id": each} for each in change_ids])


def changes(
    connection: Connection, owner: str, *, run_id: str | None = None, item_id: str | None = None
) -> list[KeptChange]:
    """Return what a run or a call changed and nobody undid, oldest first."""
    if run_id is not None:
        rows.owned_run(connection, owner, run_id)
        found = _OF_RUN.rows(connection, {"run": run_id})
    else:
        rows.owned_item(connection, owner, item_id or "")
        found = _OF_ITEM.rows(connection, {"item": item_id})
    return [_kept(row) for row in found]


def of_run(connection: Connection, owner: str, run_id: str, page: Page) -> ChangeList:
    """Return what a run changed and nobody undid, oldest first, without the contents; the cursor is time and id."""
    rows.owned_run(connection, owner, run_id)
    at, last_id = (-1.0, "") if page.cursor is None else place_of(page.cursor, float, str)
    found = _PAGE.rows(connection, {"run": run_id, "limit": page.limit + 1, "at": at, "id": last_id})
    listed = tuple(FileChange(*row) for row in found[: page.limit])
    is_more = len(found) > page.limit
    return ChangeList(changes=listed, next=cursor_of(listed[-1].at, listed[-1].id) if is_more else None)


def mark_undone(connection: Connection, change_ids: Sequence[str], at: float) -> None:
    """Remember that changes were put back."""
    _UNDONE.many(connection, [{"id": each, "at": at} for each in change_ids])


def forget(connection: Connection, before: float) -> None:
    """Forget what was changed before a time."""
    _FORGET.run(connection, {"before": before})


def _kept(row: tuple[Any, ...]) -> KeptChange:
    content = row[-1]
    return KeptChange(FileChange(*row[:-1]), None if content is None else bytes(content))
