"""The lists of todos: one row for each conversation, and for each topic one that its conversations share."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pilothouse.store.statements import Connection, Statement
from pilothouse.store.writer import Transaction
from pilothouse.types.events import ItemCreated
from pilothouse.types.json import encode
from pilothouse.types.todos import TodoList

_decoder = msgspec.json.Decoder(TodoList)
_LIST = Statement("SELECT body FROM todos WHERE conversation_id = :id")
_REPLACE = Statement(
    "UPDATE todos SET body = :body, updated_at = :at WHERE conversation_id = :id AND updated_at = :before"
)
_ADD = Statement(
    "INSERT INTO todos (conversation_id, body, updated_at) VALUES (:id, :body, :at) "
    "ON CONFLICT (conversation_id) DO NOTHING"
)


def todos(connection: Connection, place: str) -> TodoList:
    """Return the list of a conversation or a topic."""
    body = _LIST.first(connection, {"id": place})
    return _decoder.decode(body) if body is not None else TodoList()


def keep(
    tx: Transaction, place: str, new: TodoList, *, instead_of: float, recorded: Sequence[ItemCreated] = ()
) -> bool:
    """Replace the list as it was at a time; False when it has changed since."""
    values: dict[str, object] = {"id": place, "body": encode(new), "at": new.updated_at}
    replaced = _REPLACE.run(tx.connection, values | {"before": instead_of})
    if not replaced and (instead_of or not _ADD.run(tx.connection, values)):
        return False
    for event in recorded:
        tx.append(event.item.conversation_id, [event])
    return True
