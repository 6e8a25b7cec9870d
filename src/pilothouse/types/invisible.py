"""Characters that no honest text has: a hidden alphabet that only a model reads, and halves that no JSON takes."""

from __future__ import annotations

import re
from typing import Any


def _hidden(letters: str) -> str:
    return "".join(chr(0xE0000 + ord(letter)) for letter in letters)


# Three flags are spelled with the hidden alphabet; everything else in it is meant to be overlooked.
FLAGS = re.compile(
    "|".join(f"\N{WAVING BLACK FLAG}{_hidden(country)}\U000e007f" for country in ("gbeng", "gbsct", "gbwls"))
)
_TAGS = re.compile(f"(?P<flag>{FLAGS.pattern})|[\U000e0000-\U000e007f]")


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
