"""A list of todos in words: how far it is, what stands in it, and what looks done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pilothouse.tools.todos.rules import name_of
from pilothouse.types.json import Frozen
from pilothouse.types.todos import Todo, TodoList, TodoStatus

_MARKS: dict[TodoStatus, str] = {"completed": "x", "in-progress": ">", "not-started": " ", "blocked": "!"}
_READY = "All todos are completed: ready for new work. Append new todos with `add`; the completed ones stay."
_EMPTY = "There are no todos. Begin a list with `write` when the work has several steps."


class Statistics(Frozen, frozen=True):
    """How far a list is."""

    total: int
    completed: int
    in_progress: int
    not_started: int
    blocked: int
    # From 0 to 1, todos that are begun included as far as they are.
    progress: float
    minutes_left: float

    @property
    def all_done(self) -> bool:
        """Return whether everything in a list that has something is completed."""
        return 0 < self.total == self.completed


def statistics(todos: Sequence[Todo]) -> Statistics:
    """Return how far a list is."""
    count = Counter(todo.status for todo in todos)
    return Statistics(
        total=len(todos),
        completed=count["completed"],
        in_progress=count["in-progress"],
        not_started=count["not-started"],
        blocked=count["blocked"],
        progress=sum(_share(todo) for todo in todos) / len(todos) if todos else 0.0,
        minutes_left=sum((1 - _share(todo)) * (todo.estimate_minutes or 0.0) for todo in todos),
    )


def _share(todo: Todo) -> float:
    """Return how much of a todo is done: what it says, else its subtasks."""
    if todo.status == "completed":
        return 1.0
    if todo.progress is not None:
        return todo.progress
    return sum(step.done for step in todo.subtasks) / len(todo.subtasks) if todo.subtasks else 0.0


def looks_done(todo: Todo) -> str:
    """Return why a todo that is not completed looks as if it were; else nothing."""
    if todo.status == "completed":
        return ""
    if todo.subtasks and all(step.done for step in todo.subtasks):
        return "all its subtasks are done"
    return "its progress is 1.0" if todo.progress is not None and todo.progress >= 1 else ""


def in_words(kept: TodoList) -> str:
    """Return the list with its statistics, as the model reads it."""
    if not kept.todos:
        return _EMPTY
    about = statistics(kept.todos)
    lines = [_summary(about), *(_line(todo) for todo in kept.todos)]
    lines += [f"Mark {name_of(todo)} completed: {why}." for todo in kept.todos if (why := looks_done(todo))]
    if about.all_done:
        lines.append(_READY)
    return "\n".join(lines)


def _summary(about: Statistics) -> str:
    counts = f"{about.in_progress} in progress, {about.not_started} not started, {about.blocked} blocked"
    left = f", about {about.minutes_left:.0f} minutes left" if about.minutes_left >= 1 else ""
    return f"{about.completed} of {about.total} completed ({about.progress:.0%}), {counts}{left}"


def _line(todo: Todo) -> str:
    extras: list[str] = [todo.priority or ""]
    if todo.progress is not None and todo.status != "completed":
        extras.append(f"{todo.progress:.0%}")
    if todo.subtasks:
        extras.append(f"{sum(step.done for step in todo.subtasks)}/{len(todo.subtasks)} subtasks")
    if todo.dependencies:
        extras.append(f"after {', '.join(map(str, todo.dependencies))}")
    if todo.status == "blocked":
        extras.append(f"blocked: {todo.blocked_reason}")
    said = "; ".join(extra for extra in extras if extra)
    return f"[{_MARKS[todo.status]}] {todo.id}. {todo.title}{f' ({said})' if said else ''}"
