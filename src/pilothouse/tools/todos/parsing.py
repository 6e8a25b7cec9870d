"""From what a model writes to todos; what does not fit is said with the todo's id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import get_args

import msgspec

from pilothouse.tools.arguments import BadArgument
from pilothouse.types.errors import BadField
from pilothouse.types.json import JsonObject, convert
from pilothouse.types.todos import Priority, Todo, TodoStatus

_TIMES = frozenset({"createdAt", "updatedAt"})
_WORDS: dict[str | int, tuple[str, ...]] = {"status": get_args(TodoStatus), "priority": get_args(Priority)}
_FIELDS = frozenset(field.encode_name for field in msgspec.structs.fields(Todo)) - _TIMES


def whole_list(arguments: Mapping[str, object]) -> list[Todo]:
    """Return `todoList` as todos; those without an id are numbered after the others."""
    given = _objects(arguments, "todoList")
    free = count(max((each["id"] for each in given if _is_id(each.get("id"))), default=0) + 1)
    return [_todo({**each, "id": next(free)} if each.get("id") is None else each) for each in given]


def updated(todos: Sequence[Todo], arguments: Mapping[str, object]) -> list[Todo]:
    """Return the todos with the fields that `todoUpdates` names; `null` takes a field back."""
    known = {todo.id: todo for todo in todos}
    for update in _objects(arguments, "todoUpdates", required=True):
        number = update.get("id")
        if not _is_id(number):
            raise BadArgument("Every entry of `todoUpdates` needs the `id` of a todo.")
        if number not in known:
            raise BadArgument(f"There is no todo {number}; there are {_ids(known) or 'none'}.")
        known[number] = _todo({**msgspec.to_builtins(known[number]), **update})
    return list(known.values())


def added(todos: Sequence[Todo], arguments: Mapping[str, object]) -> list[Todo]:
    """Return the todos followed by `newTodos`, numbered after the highest id."""
    highest = max((todo.id for todo in todos), default=0)
    new = _objects(arguments, "newTodos", required=True)
    return [*todos, *(_todo({**each, "id": number}) for number, each in enumerate(new, highest + 1))]


def _objects(arguments: Mapping[str, object], key: str, *, required: bool = False) -> list[JsonObject]:
    given = arguments.get(key)
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise BadArgument(f"`{key}` is missing; it must be a list of todos.")
    if required and not given:
        raise BadArgument(f"`{key}` is empty; it needs at least one todo.")
    return given


def _todo(given: JsonObject) -> Todo:
    # The title tells more than a place in a list.
    which = f"todo {given['id']}" if _is_id(given.get("id")) else f"todo “{given.get('title', '')}”"
    unknown = sorted(set(given) - _FIELDS - _TIMES)
    if unknown:
        raise BadArgument(
            f"In {which}: there is no field {', '.join(unknown)}; there are {', '.join(sorted(_FIELDS))}."
        )
    try:
        # The times are ours to write.
        return convert({name: given[name] for name in given if name in _FIELDS and given[name] is not None}, Todo)
    except BadField as error:
        known = _WORDS.get(error.path[-1] if error.path else "", ())
        choice = f" It is one of: {', '.join(known)}." if known else ""
        raise BadArgument(f"In {which}: {error.message}{choice}") from None


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _ids(known: Mapping[int, Todo]) -> str:
    return ", ".join(str(number) for number in known)
