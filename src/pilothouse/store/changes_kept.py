"""What files were before calls changed them: one row for each change."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import sqlalchemy as sa

from pilothouse.store import rows, schema
from pilothouse.types.changes import ChangeList, FileChange, KeptChange
from pilothouse.types.paging import Page, bad_cursor, cursor_of, place_of

_table = schema.file_changes
_FIELDS = FileChange.__struct_fields__


def keep(connection: sa.Connection, changes: Sequence[KeptChange]) -> None:
    """Keep changes together with what they replace."""
    for kept in changes:
        values = msgspec.structs.asdict(kept.change) | {"content": kept.content}
        connection.execute(sa.insert(_table).values(**values))


def drop(connection: sa.Connection, change_ids: Sequence[str]) -> None:
    """Forget changes."""
    connection.execute(sa.delete(_table).where(_table.c.id.in_(change_ids)))


def changes(connection: sa.Connection, owner: str, run_id: str | None, item_id: str | None) -> list[KeptChange]:
    """Return what a run or a call changed and nobody undid, oldest first."""
    query = sa.select(_table).where(_table.c.undone_at.is_(None))
    if run_id is not None:
        rows.owned_run(connection, owner, run_id)
        query = query.where(_table.c.run_id == run_id)
    if item_id is not None or run_id is None:
        rows.owned_item(connection, owner, item_id or "")
        query = query.where(_table.c.item_id == item_id)
    found = connection.execute(query.order_by(_table.c.at, _table.c.id)).all()
    return [_kept(row) for row in found]


def of_run(connection: sa.Connection, owner: str, run_id: str, page: Page) -> ChangeList:
    """Return what a run changed and nobody undid, oldest first, without the contents; the cursor is time and id."""
    rows.owned_run(connection, owner, run_id)
    columns = [_table.c[name] for name in _FIELDS]
    query = sa.select(*columns).where(_table.c.run_id == run_id, _table.c.undone_at.is_(None))
    if page.cursor is not None:
        at, last_id = place_of(page.cursor, 2)
        try:
            place = sa.tuple_(sa.literal(float(at)), sa.literal(last_id))
        except ValueError:
            raise bad_cursor() from None
        query = query.where(sa.tuple_(_table.c.at, _table.c.id) > place)
    found = connection.execute(query.order_by(_table.c.at, _table.c.id).limit(page.limit + 1)).all()
    listed = tuple(FileChange(**row._mapping) for row in found[: page.limit])
    is_more = len(found) > page.limit
    return ChangeList(changes=listed, next=cursor_of(listed[-1].at, listed[-1].id) if is_more else None)


def mark_undone(connection: sa.Connection, change_ids: Sequence[str], at: float) -> None:
    """Remember that changes were put back."""
    connection.execute(sa.update(_table).where(_table.c.id.in_(change_ids)).values(undone_at=at))


def forget(connection: sa.Connection, before: float) -> None:
    """Forget what was changed before a time."""
    connection.execute(sa.delete(_table).where(_table.c.at < before))


def _kept(row: sa.Row[tuple[object, ...]]) -> KeptChange:
    fields = {name: row._mapping[name] for name in _FIELDS}
    content = row._mapping["content"]
    return KeptChange(FileChange(**fields), None if content is None else bytes(content))
