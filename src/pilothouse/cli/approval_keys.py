"""A permission for a call in a terminal: one key answers; what is dangerous takes a typed word."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec

from pilothouse.cli.prompting import read_key, read_line
from pilothouse.cli.terminal import Terminal
from pilothouse.types import limits
from pilothouse.types.api import Answer
from pilothouse.types.item_data import ApprovalData, ChoiceShown
from pilothouse.types.items import Call
from pilothouse.types.json import JsonObject

# The key of each choice that has one of its own; another gets the first free letter of its words.
_KEYS = {"allow": "a", "task": "f", "while": "w", "conversation": "c", "always": "s", "deny": "d"}
_EDIT, _INSTEAD, _ALL = "e", "t", "A"
_DANGEROUS = "This is dangerous. Type “allow” to allow it › "
_WHAT_INSTEAD = "What to do instead? The model is told › "
_CHANGED = "What it is given, as JSON › "
# In place of an answer: everything that waits and does not stand out is allowed.
ALL = Answer(choice="allow", text="all")


async def ask_approval(asked: ApprovalData, call: Call | None, aside: Terminal, together: int = 0) -> Answer | None:
    """Ask for one key and return the answer; None when the person leaves it open, `ALL` for all of `together`."""
    keys = keys_of(asked.choices)
    given = call.data.arguments if call is not None and not call.data.masked else None
    words = {key: _words(choice) for key, choice in keys.items()}
    words |= {_EDIT: "Change what it is given"} if given else {}
    words |= {_INSTEAD: "Say what to do instead"}
    words |= {_ALL: f"Allow all {together}"} if together > 1 and not asked.dangerous else {}
    for letter, label in words.items():
        aside.line(f"  {letter}  {label}")
    while (key := await read_key(words, limits.ASKING_ARMED, aside)) is not None:
        if key == _ALL:
            return ALL
        answer = await _answered(key, keys, given, asked, aside)
        if answer is not None:
            return answer
    return None


def _words(choice: ChoiceShown) -> str:
    label = choice.label or choice.id
    return f"{label}, {choice.note}" if choice.note else label


async def _answered(
    key: str, keys: dict[str, ChoiceShown], given: JsonObject | None, asked: ApprovalData, aside: Terminal
) -> Answer | None:
    """Return the answer that a key leads to; None when the person thought better of it."""
    if key == _INSTEAD:
        words = (await read_line(_WHAT_INSTEAD, aside) or "").strip()
        return Answer(choice="deny", text=words) if words else None
    choice = "allow" if key == _EDIT else keys[key].id
    changed = await _changed(given or {}, aside) if key == _EDIT else None
    if key == _EDIT and changed is None:
        return None
    if choice != "deny" and asked.dangerous and (await read_line(_DANGEROUS, aside) or "").strip().lower() != "allow":
        return None
    return Answer(choice=choice, arguments=changed)


async def _changed(given: JsonObject, aside: Terminal) -> JsonObject | None:
    """Return what the person makes of a call's arguments; None when they leave, or change nothing."""
    line = json.dumps(given, ensure_ascii=False)
    while (typed := await read_line(_CHANGED, aside, line)) is not None:
        try:
            changed = msgspec.json.decode(typed, type=JsonObject)
        except msgspec.MsgspecError as error:
            aside.line(f"That is not a JSON object: {error}.", "yellow")
            line = typed
        else:
            return changed if changed != given else None
    return None


def keys_of(choices: Sequence[ChoiceShown]) -> dict[str, ChoiceShown]:
    """Return the choices by the key that stands for each: whatever the question offers has one."""
    keys: dict[str, ChoiceShown] = {_KEYS[one.id]: one for one in choices if one.id in _KEYS}
    taken = {*_KEYS.values(), _EDIT, _INSTEAD}
    for one in choices:
        if one.id not in _KEYS:
            letters = [letter for letter in f"{one.id}{one.label}bcfghijklmnopqruvxyz".lower() if letter.isalpha()]
            key = next((letter for letter in letters if letter not in taken), "")
            taken.add(key)
            keys[key] = one
    return {key: one for key, one in keys.items() if key}
