"""The lists of todos: one for each branch of a conversation, and for each topic one that its conversations share."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pilothouse.store.statements import Connection, Statement
from pilothouse.store.writer import Transaction
from pilothouse.types.branches import place_from
from pilothouse.types.events import ItemCreated
from pilothouse.types.json import encode
from pilothouse.types.todos import TodoList

_decoder = msgspec.json.Decoder(TodoList)
_LIST = Statement("SELECT body FROM todos WHERE conversation_id = :id")
_REPLACE = Statement(
    "UPDATE todos SET body = :body, updated_at = :at WHERE conversation_id = :id AND updated_at = :before"
)
_OF_BRANCH = Statement("SELECT todos FROM branches WHERE conversation_id = :id AND number = :branch")
_REPLACE_OF_BRANCH = Statement(
    "UPDATE branches SET todos = :body, todos_at = :at "
    "WHERE conversation_id = :id AND number = :branch AND todos_at = :before"
)
_ADD = Statement(
    "INSERT INTO todos (conversation_id, body, updated_at) VALUES (:id, :body, :at) "
    "ON CONFLICT (conversation_id) DO NOTHING"
)


def todos(connection: Connection, place: str) -> TodoList:
    """Return the list of a conversation, of one of its branches or of a topic."""
    conversation_id, branch = place_from(place)
    if branch:
        body = _OF_BRANCH.first(connection, {"id": conversation_id, "branch": branch})
    else:
        body = _LIST.first(connection, {"id": place})
    return _decoder.decode(body) if body is not None else TodoList()


def keep(
    tx: Transaction, place: str, new: TodoList, *, instead_of: float, recorded: Sequence[ItemCreated] = ()
) -> bool:
    """Replace the list as it was at a time; False when it has changed since."""
    conversation_id, branch = place_from(place)
    values: dict[str, object] = {"id": conversation_id, "body": encode(new), "at": new.updated_at}
    if branch:
        replaced = _REPLACE_OF_BRANCH.count(tx.connection, values | {"before": instead_of, "branch": branch})
    else:
        replaced = _REPLACE.count(tx.connection, values | {"before": instead_of})
    if not replaced and (branch or instead_of or not _ADD.count(tx.connection, values)):
        return False
    for event in recorded:
        tx.append(event.item.conversation_id, [event])
    return True
