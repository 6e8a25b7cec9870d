"""A server's form in the terminal: each field is asked for in words, and only what fits is taken."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest

from pilothouse.cli.form_fields import fill, parse
from pilothouse.cli.terminal import Terminal

TITLED = {"oneOf": [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]}
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "description": "As in your passport."},
        "age": {"type": "integer"},
        "colour": {"type": "string", "enum": ["red", "blue"], "enumNames": ["Red", "Blue"]},
        "news": {"type": "boolean", "default": False},
        "note": {"type": "string"},
    },
    "required": ["name", "age", "colour", "news"],
}


class Person:
    """Types these lines, and remembers what was shown."""

    def __init__(self, *lines: str | None) -> None:
        self._lines: Iterator[str | None] = iter(lines)
        self._shown = io.StringIO()
        self.aside = Terminal(self._shown)

    async def read(self, prompt: str) -> str | None:
        self._shown.write(prompt)
        return next(self._lines)

    @property
    def shown(self) -> str:
        return self._shown.getvalue()


async def test_each_field_is_asked_for_until_it_fits() -> None:
    person = Person("Ada", "old", "36", "green", "2", "", "")
    assert await fill(SCHEMA, person.read, person.aside) == {"name": "Ada", "age": 36, "colour": "blue", "news": False}
    for words in ("Your name", "As in your passport.", "1  Red", "yes or no [False]", "note (may stay empty)"):
        assert words in person.shown
    assert person.shown.count("That is not") == 2


async def test_whoever_leaves_fills_in_nothing() -> None:
    person = Person("Ada", None)
    assert await fill(SCHEMA, person.read, person.aside) is None
    assert await fill({}, person.read, person.aside) == {}


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("", {"type": "string"}, None),
        ("x", {"type": "string"}, "x"),
        ("7", {"type": "string"}, "7"),
        ("1.5", {"type": "number"}, 1.5),
        ("1.5", {"type": "integer"}, None),
        ("Yes", {"type": "boolean"}, True),
        ("perhaps", {"type": "boolean"}, None),
        ("Blue", TITLED, "b"),
        ("1", TITLED, "r"),
        ("3", TITLED, None),
        ("1, Blue", {"type": "array", "items": {"anyOf": TITLED["oneOf"]}}, ["r", "b"]),
        ("red,grey", {"type": "array", "items": {"enum": ["red", "blue"]}}, None),
    ],
)
def test_what_is_typed_becomes_what_the_field_wants(text: str, field: dict[str, Any], value: object) -> None:
    assert parse(text, field) == value


async def test_a_form_cannot_move_the_cursor() -> None:
    person = Person("x")
    evil = {"properties": {"a": {"title": "\x1b[2JName", "description": "\x1b]0;owned\x07", "default": "\x1b[1A"}}}
    await fill(evil, person.read, person.aside)
    assert "\x1b" not in person.shown
