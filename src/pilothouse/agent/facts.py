"""What the host itself knows of older turns: taken from the timeline, kept beside every summary, within a bound.

A summary is what a model made of a conversation, and may leave anything out. This is not made by anyone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from pilothouse.types import limits
from pilothouse.types.authority import LASTING
from pilothouse.types.item_data import (
    ApprovalData,
    CallData,
    CollaborationData,
    LimitData,
    MessageData,
    NoticeData,
    QuestionData,
)
from pilothouse.types.items import Call, Item, Question, is_a
from pilothouse.types.json import encode_text
from pilothouse.types.summed_up import Facts
from pilothouse.types.todos import Todo, TodoList

_WORDS = dict(line.split(": ", 1) for line in (Path(__file__).parent / "facts.md").read_text().splitlines())
# What part of the room each list has; what one leaves over is for those after it.
_SHARES = {
    "asked": 0.3,
    "decided": 0.15,
    "unanswered": 0.1,
    "todos": 0.2,
    "changed": 0.1,
    "read": 0.05,
    "results": 0.1,
}
_MORE = " …"


def facts_of(items: Sequence[Item], older: Sequence[Item], earlier: Facts | None) -> Facts:
    """Return what the older ones of a conversation's items say, after what was known of those before them."""
    before = earlier or Facts()
    calls = [item for item in older if is_a(item, CallData) and not item.data.cut_off and not item.data.hidden]
    changed = _each(before.changed, (path for call in calls for path in _changed(call)))
    read = _each(before.read, (path for call in calls for path in _read(call)))
    todos = _newest_todos(items)
    known = Facts(
        asked=(*before.asked, *(_words(item.text, item.data) for item in older if _is_said(item))),
        decided=_each(before.decided, filter(None, map(_decision, older))),
        unanswered=_each(before.unanswered, filter(None, map(_unanswered, older))),
        todos=before.todos if todos is None else tuple(_todo(todo) for todo in todos.todos if _is_open(todo)),
        changed=changed,
        # The longer word for one that was changed, too.
        read=tuple(path for path in read if not path.endswith(tuple(f"/{name}" for name in changed))),
        results=_each(before.results, (f"{call.data.kept_as}: {_called(call)}" for call in calls if call.data.kept_as)),
    )
    return within(known, limits.FACTS_CHARS)


def with_wish(facts: Facts, keep: str) -> Facts:
    """Return the facts with what the person said that a summary is to keep: later ones are told it, too."""
    return within(msgspec.structs.replace(facts, asked=(*facts.asked, _cut(f"/compact {keep}"))), limits.FACTS_CHARS)


def within(facts: Facts, room: int) -> Facts:
    """Return what there is room for: of each list the newest, and the person's first message."""
    left = room - len(_WORDS["head"])
    over = 0
    kept: dict[str, tuple[str, ...]] = {}
    for name, share in _SHARES.items():
        kept[name], over = _fitting(name, getattr(facts, name), over + int(left * share))
    return Facts(**kept)


def _fitting(name: str, lines: tuple[str, ...], room: int) -> tuple[tuple[str, ...], int]:
    """Return the lines that there is room for, in order, and how much of it is left."""
    left = room - len(_WORDS[name]) - 2
    first = lines[:1] if name == "asked" else ()
    taken: list[str] = []
    for given in (*first, *reversed(lines[len(first) :])):
        line = given
        if first and not taken and len(_told(name, line)) >= left:
            # Of what they came for, a little is better than nothing.
            line = " ".join(line.split())[: max(0, left - 8)]
        size = len(_told(name, line)) + 1
        if not line or size > left:
            break
        left -= size
        taken.append(line)
    if not taken:
        return (), room
    return (*taken[: len(first)], *reversed(taken[len(first) :])), left


def section(facts: Facts) -> str:
    """Return them as the model and people read them; empty where there are none."""
    lists = {name: lines for name in _SHARES if (lines := getattr(facts, name))}
    told = ["\n".join([_WORDS[name], *(_told(name, line) for line in lines)]) for name, lines in lists.items()]
    return "\n\n".join([_WORDS["head"], *(each.rstrip() for each in told)]) if told else ""


def _told(name: str, line: str) -> str:
    """Return a line so that nothing in it looks like one of ours: the person's words are quoted line by line."""
    if name != "asked":
        return f"- {line}"
    return "\n".join(f"> {each}" for each in line.splitlines()) + "\n"


# --- from items to lines -----------------------------------------------------------------------------


def _is_said(item: Item) -> bool:
    # What the person hid from models is not told to them in other words.
    return is_a(item, MessageData) and not item.data.command and not item.data.hidden


def _words(text: str, data: object) -> str:
    """Return what the person wrote themselves, up to a bound, and whether more came with it."""
    typed = data.typed_chars if isinstance(data, MessageData) and data.typed_chars is not None else len(text)
    pictures = len(data.content) if isinstance(data, MessageData) else 0
    said = _cut(text[:typed].strip())
    rest = [f"{len(text) - typed:,} characters that were piped in"] if typed < len(text) else []
    rest += [f"{pictures} attached"] if pictures else []
    return f"{said} [{', '.join(rest)}]".strip() if rest else said


def _cut(words: str) -> str:
    most = limits.FACT_WORDS_CHARS
    return words if len(words) <= most else words[: most - len(_MORE)] + _MORE


def _line(text: str) -> str:
    """Return a text on one line, its beginning if it is long."""
    most = limits.FACT_LINE_CHARS
    flat = " ".join(text[: most * 4].split())
    return flat if len(flat) <= most else flat[: most - len(_MORE)] + _MORE


def _decision(item: Item) -> str:
    """Return what the person decided with this, where it counts for more than one call."""
    if is_a(item, NoticeData):
        return _line(item.text) if item.data.grant is not None else ""
    if not is_a(item, QuestionData) or item.data.answer is None:
        return ""
    answer, asked = item.data.answer, item.data
    if isinstance(asked, CollaborationData):
        said = ": ".join(filter(None, (_label(item), answer.text)))
        return f"{_line(item.text)} Answer: {_line(said)}"
    if not isinstance(asked, ApprovalData):
        return ""
    if answer.choice in LASTING:
        return f"{_line(asked.proposal_text or asked.operation)}: {_label(item)}"
    why = f" ({_line(answer.text)})" if answer.text else ""
    return f"{_line(item.text)} No{why}" if answer.choice == "deny" else ""


def _label(question: Question) -> str:
    """Return the answer as it was offered."""
    chosen = question.data.answer.choice if question.data.answer is not None else None
    labels = (one.label for one in question.data.choices if one.id == chosen)
    return _line(next(labels, chosen or ""))


def _unanswered(item: Item) -> str:
    if not is_a(item, QuestionData) or item.data.answer is not None or isinstance(item.data, LimitData):
        return ""
    return _line(item.text)


def _newest_todos(items: Sequence[Item]) -> TodoList | None:
    """Return the list as it was last told; None where nobody changed it."""
    told = (item.data for item in reversed(items))
    lists = (data.todos for data in told if isinstance(data, CallData | NoticeData))
    return next((each for each in lists if each is not None), None)


def _is_open(todo: Todo) -> bool:
    return todo.status != "completed"


def _todo(todo: Todo) -> str:
    state = "" if todo.status == "not-started" else f" ({todo.status})"
    return f"{todo.id}. {_line(todo.title)}{state}"


def _changed(call: Call) -> Iterator[str]:
    undone = set(call.data.undone)
    for change in call.data.changes:
        if change.change_id not in undone or not change.change_id:
            yield _line(change.path)


def _read(call: Call) -> Iterator[str]:
    if call.status == "completed" and call.data.access is not None:
        yield from (_line(use.path) for use in call.data.access.paths if use.effect == "reads")


def _called(call: Call) -> str:
    given = f" with {encode_text(call.data.arguments)}" if call.data.arguments else ""
    return _line(f"{call.data.server_tool or call.data.tool}{given}")


def _each(before: tuple[str, ...], more: Iterable[str]) -> tuple[str, ...]:
    """Return each once, at the place where it came last."""
    newest_first = dict.fromkeys(reversed([*before, *more]))
    return tuple(reversed(list(newest_first)))
