"""The branches that a file of conversations tells of: each must begin where something is, and lead to the first."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import sqlalchemy as sa

from pilothouse.store import branches, rows, schema
from pilothouse.types import limits
from pilothouse.types.branches import Branch
from pilothouse.types.item_data import MessageData
from pilothouse.types.items import Item, read
from pilothouse.types.todos import TodoList

_todos = msgspec.json.Decoder(TodoList)


def check(connection: sa.Connection) -> None:
    """Raise ValueError where rows say another thing about branches than the messages that begin them, or nonsense."""
    talks, items, runs = schema.conversations, schema.items, schema.runs
    for row in connection.execute(sa.select(talks)).all():
        kept = branches.of(connection, row.id)
        if [branch.number for branch in kept] != list(range(1, row.branches + 1)) or row.branches > limits.BRANCHES:
            raise ValueError(row.id)
        there = connection.execute(sa.select(runs.c.id).where(runs.c.conversation_id == row.id)).scalars()
        _check_forks(kept, _forks(connection, row.id), frozenset(there))
        for table in (items, runs):
            is_there = table.c.branch.between(0, row.branches)
            wrong = sa.select(table.c.id).where(table.c.conversation_id == row.id, ~is_there)
            if connection.execute(wrong.limit(1)).first() is not None:
                raise ValueError(row.id)
        if not 0 <= row.branch <= row.branches:
            raise ValueError(row.id)
    for (todos,) in connection.execute(sa.select(schema.branches.c.todos)).all():
        if todos is not None:
            _todos.decode(todos)


def _forks(connection: sa.Connection, conversation_id: str) -> list[Item]:
    """Return the messages that begin branches."""
    table = schema.items
    wanted = sa.select(table.c.body).where(
        table.c.conversation_id == conversation_id, table.c.kind == "user_message", table.c.branch > 0
    )
    found = (rows.kept_item(body) for (body,) in connection.execute(wanted.order_by(table.c.position)).all())
    return [item for item in found if read(MessageData, item.raw).fork is not None]


def _check_forks(kept: Iterable[Branch], messages: Iterable[Item], runs: frozenset[str]) -> None:
    told = {item.branch: item for item in messages}
    positions: dict[int, int] = {0: 0}
    for branch in kept:
        item = told.pop(branch.number, None)
        fork = read(MessageData, item.raw).fork if item is not None else None
        if item is None or fork is None:
            raise ValueError(branch)
        said = Branch(
            number=item.branch,
            parent=fork.parent,
            before=fork.before,
            instead_of=fork.instead_of,
            kind=fork.kind,
            item_id=item.id,
            run_id=item.run_id or "",
            repeats=fork.repeats,
            created_at=item.created_at,
        )
        # A branch leaves one that was there, at a place that it had, so that every path comes to an end.
        leaves = 0 <= said.parent < said.number and positions[said.parent] <= said.before < item.position
        if said != branch or not leaves or said.instead_of not in runs:
            raise ValueError(branch)
        positions[said.number] = item.position
    if told:
        raise ValueError(next(iter(told)))
