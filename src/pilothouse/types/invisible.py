"""Characters that nobody reads: a hidden alphabet, halves that no JSON takes, and orders to a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pilothouse.types import limits


def _hidden(letters: str) -> str:
    return "".join(chr(0xE0000 + ord(letter)) for letter in letters)


# Three flags are spelled with the hidden alphabet; everything else in it is meant to be overlooked.
FLAGS = re.compile(
    "|".join(f"\N{WAVING BLACK FLAG}{_hidden(country)}\U000e007f" for country in ("gbeng", "gbsct", "gbwls"))
)
_TAGS = re.compile(f"(?P<flag>{FLAGS.pattern})|[\U000e0000-\U000e007f]")

# What a terminal obeys and does not show. No body of a sequence reaches past what may begin another one, and nothing
# is given back once it was taken, so that any text is looked at once.
ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]"  # what moves the cursor or sets a colour
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x80-\x9f]*+(?:\x07|\x1b\\|\x9c)"  # titles, links
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x80-\x9f]*+(?:\x1b\\|\x9c)"
    r"|\x1b[ -/]*+[0-~]"
)
# What each of them begins with.
_BEGINNING = re.compile(r"[\x1b\x90\x98\x9b\x9d-\x9f]")
# All but tab, the ends of lines and of pages.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f]")

# Marks that turn around what stands beside them.
_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def whole(text: str) -> str:
    """Return the text with a mark for each half of a character that stands alone."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def sound(value: Any) -> Any:
    """Return a JSON value in which no text has half of a character that stands alone."""
    match value:
        case str():
            return whole(value)
        case dict():
            return {sound(name): sound(inner) for name, inner in value.items()}
        case list():
            return [sound(inner) for inner in value]
        case _:
            return value


def without_hidden(text: str) -> tuple[str, int]:
    """Return the text without hidden letters, and how many there were."""
    if text.isascii():
        return text, 0
    clean = _TAGS.sub(lambda found: found["flag"] or "", text)
    return clean, len(text) - len(clean)


def on_one_line(text: str) -> str:
    """Return a name that stands on one line and turns nothing around, wherever it is shown."""
    seen = without_hidden(without_escapes(whole(text)))[0]
    return " ".join(_TURNING.sub("", seen).split())


def without_escapes(text: str) -> str:
    """Return the text without colours, titles and other orders to a terminal, and without what it took back."""
    if not any(_CONTROL.search(text, *piece) for piece in _pieces(text)):
        return text
    said = _taken_back("".join(_between_escapes(text)))
    return "".join(_CONTROL.sub("", said[start:end]) for start, end in _pieces(said))


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each piece begins and ends: one look at much of a text would hold everyone up."""
    for start in range(0, len(text), limits.TEXT_PIECE):
        yield start, start + limits.TEXT_PIECE


def _between_escapes(text: str) -> Iterator[str]:
    """Yield what stands between the orders to a terminal; one that is too long for a terminal is none."""
    at = 0
    while at < len(text):
        found = _BEGINNING.search(text, at, at + limits.TEXT_PIECE)
        end = found.start() if found else at + limits.TEXT_PIECE
        yield text[at:end]
        order = ESCAPES.match(text, end, end + limits.TEXT_PIECE) if found else None
        if found and order is None:
            yield text[end]
            end += 1
        at = order.end() if order else end


def _taken_back(text: str) -> str:
    """Return the text without the characters that a backspace follows, as overstriking programs write them."""
    if "\x08" not in text:
        return text
    left: list[str] = []
    for character in text:
        if character != "\x08":
            left.append(character)
        elif left and left[-1] != "\n":
            left.pop()
    return "".join(left)


def plain(value: Any) -> Any:
    """Return a JSON value in which no text has hidden letters."""
    match value:
        case str():
            return without_hidden(value)[0]
        case dict():
            return {plain(name): plain(inner) for name, inner in value.items()}
        case list():
            return [plain(inner) for inner in value]
        case _:
            return value
