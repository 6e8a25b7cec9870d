"""What a list of todos must be like: each broken rule is one sentence that names the todos."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pilothouse.types import limits
from pilothouse.types.todos import Todo


def name_of(todo: Todo) -> str:
    """Return a todo as sentences name it."""
    return f"todo {todo.id} “{todo.title}”"


def complaints(todos: Sequence[Todo]) -> list[str]:
    """Return what is wrong with a list; nothing when it is fine."""
    return [*_sizes(todos), *_identities(todos), *_single(todos), *_progress(todos), *_dependencies(todos)]


def lost(before: Sequence[Todo], after: Sequence[Todo]) -> list[str]:
    """Return the complaint about completed todos that a new list leaves out."""
    kept = {todo.id for todo in after}
    missing = [name_of(todo) for todo in before if todo.status == "completed" and todo.id not in kept]
    if not missing:
        return []
    return [f"Cannot delete completed todos: {', '.join(missing)} must stay in the list; use `add` to append new ones."]


def _sizes(todos: Sequence[Todo]) -> Iterator[str]:
    if len(todos) > limits.TODOS:
        yield f"A list has at most {limits.TODOS} todos; this one has {len(todos)}."
    for todo in todos:
        if not todo.title.strip():
            yield f"Todo {todo.id} needs a title of 3 to 7 words."
        texts = (todo.title, todo.description, todo.blocked_reason or "", todo.parallel_group or "")
        if any(len(text) > limits.TODO_CHARS for text in (*texts, *(step.title for step in todo.subtasks))):
            yield f"A text of todo {todo.id} has more than {limits.TODO_CHARS} characters."
        if len(todo.subtasks) > limits.SUBTASKS:
            yield f"{_capital(todo)} has {len(todo.subtasks)} subtasks; at most {limits.SUBTASKS} are kept."
        if any(not step.title.strip() for step in todo.subtasks):
            yield f"{_capital(todo)} has a subtask without a title."


def _identities(todos: Sequence[Todo]) -> Iterator[str]:
    for number, count in Counter(todo.id for todo in todos).items():
        if number < 1:
            yield f"A todo cannot have the id {number}; ids begin with 1."
        if count > 1:
            yield f"{count} todos have the id {number}; each needs its own."


def _single(todos: Sequence[Todo]) -> Iterator[str]:
    begun = [name_of(todo) for todo in todos if todo.status == "in-progress"]
    if len(begun) > 1:
        yield f"Only one todo can be in-progress, but {' and '.join(begun)} are; complete one of them first."


def _progress(todos: Sequence[Todo]) -> Iterator[str]:
    for todo in todos:
        if todo.status == "blocked" and not (todo.blocked_reason or "").strip():
            yield f"{_capital(todo)} is blocked but has no blockedReason."
        if todo.progress is not None and not 0 <= todo.progress <= 1:
            yield f"{_capital(todo)} has the progress {todo.progress:g}; it must be from 0.0 to 1.0."
        if todo.estimate_minutes is not None and not 0 <= todo.estimate_minutes < float("inf"):
            yield f"{_capital(todo)} has an estimate of {todo.estimate_minutes:g} minutes; it cannot be that."


def _dependencies(todos: Sequence[Todo]) -> Iterator[str]:
    known = {todo.id: todo for todo in todos}
    for todo in todos:
        for other in todo.dependencies:
            if other not in known:
                yield f"{_capital(todo)} depends on non-existent todo {other}."
    for todo in todos:
        circle = _circle(todo, known)
        if circle:
            how = "directly" if len(circle) == 2 else "indirectly"
            yield f"{_capital(todo)} has a circular dependency: it {how} depends on itself ({_arrows(circle)})."


def _circle(start: Todo, known: dict[int, Todo]) -> tuple[int, ...]:
    """Return the shortest way along dependencies from a todo back to itself."""
    came_from: dict[int, int] = {}
    reached = [start.id]
    for number in reached:
        for following in known[number].dependencies if number in known else ():
            if following == start.id:
                way = [number]
                while way[-1] != start.id:
                    way.append(came_from[way[-1]])
                return (*reversed(way), start.id)
            if following not in came_from:
                came_from[following] = number
                reached.append(following)
    return ()


def _arrows(way: Sequence[int]) -> str:
    return " → ".join(str(number) for number in way)


def _capital(todo: Todo) -> str:
    return f"Todo {todo.id} “{todo.title}”"
