"""Variables of prompts: `{{name}}`, or `{{name=what it is by default}}`. Whatever else has braces stays as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.prompts import FilledPrompt, PromptVariable

# What is filled in by itself.
BUILT_IN = ("date", "folder", "model", "topic")
_VARIABLE = re.compile(r"\{\{[ \t]*([A-Za-z_][A-Za-z0-9_-]{0,39})[ \t]*(?:=([^{}]{0,2000}))?\}\}")


def variables(text: str) -> tuple[PromptVariable, ...]:
    """Return the variables of a prompt in the order in which they come; the first default of one counts."""
    found: dict[str, str | None] = {}
    for match in _VARIABLE.finditer(text):
        name, default = match.group(1), match.group(2)
        if found.get(name) is None:
            found[name] = default.strip() if default is not None else None
    return tuple(PromptVariable(name=name, default=found[name], built_in=name in BUILT_IN) for name in found)


def filled(text: str, values: Mapping[str, str], facts: Mapping[str, str]) -> FilledPrompt:
    """Return a prompt with its variables filled in, once: what is filled in is not looked at again."""
    known = {each.name: each.default for each in variables(text)}
    given = {name: _value(name, values, facts, default) for name, default in known.items()}
    pieces = []
    size = at = 0
    for match in _VARIABLE.finditer(text):
        value = given[match.group(1)]
        pieces += [text[at : match.start()], match.group() if value is None else value]
        at = match.end()
        size += len(pieces[-1]) + len(pieces[-2])
        if size > limits.PROMPT_FILLED_CHARS:
            most = f"{limits.PROMPT_FILLED_CHARS:,}"
            raise PilothouseError("too_large", f"With its variables the prompt is longer than {most} characters.")
    missing = tuple(name for name, value in given.items() if value is None)
    return FilledPrompt(text="".join(pieces) + text[at:], missing=missing)


def _value(name: str, values: Mapping[str, str], facts: Mapping[str, str], default: str | None) -> str | None:
    """Return what a variable is given: by the person, by what is so, or by the prompt itself; None for nothing."""
    return values.get(name) or facts.get(name) or default


def check_values(values: Mapping[str, str]) -> None:
    """Raise one sentence for more than a form has room for."""
    if len(values) > limits.PROMPT_VARIABLES:
        raise PilothouseError("bad_request", f"A prompt has at most {limits.PROMPT_VARIABLES} variables.")
    longest = max(map(len, (*values, *values.values())), default=0)
    if longest > limits.PROMPT_VALUE_CHARS:
        most = f"{limits.PROMPT_VALUE_CHARS:,}"
        raise PilothouseError("bad_request", f"What a variable is given has at most {most} characters.")
