"""Words of code: identifiers as they stand and in the words they are made of, and passages that belong together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import msgspec

from pilothouse.tools.search.symbols import Symbol
from pilothouse.types import limits

# Passages begin at definitions or headings; a shorter one goes with the next, a longer one is cut.
_PASSAGE_MIN = 12
_PASSAGE_MAX = 60
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,80}")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_COMPOUND = re.compile(r"_|[a-z0-9][A-Z]|[A-Za-z][0-9]")
_WORD = re.compile(r"\w+")
_HEADING = re.compile(r"#{1,6} \S")
# Words of questions, not of what is asked about.
_COMMON = frozenset((Path(__file__).parent / "common_words.txt").read_text().split())


class Passage(msgspec.Struct, frozen=True):
    """Lines of a file that belong together."""

    first: int
    last: int
    text: str
    # The names that are defined in it.
    names: tuple[str, ...]


@lru_cache(maxsize=65_536)
def parts_of(identifier: str) -> str:
    """Return the words that an identifier is made of; empty when it is one word."""
    if not _COMPOUND.search(identifier):
        return ""
    found = _PARTS.findall(identifier)
    return " ".join(found) if len(found) > 1 else ""


def split_identifiers(text: str) -> str:
    """Return the words of every compound identifier in a text, each once."""
    return " ".join(filter(None, map(parts_of, set(_IDENTIFIER.findall(text)))))


def query_words(question: str) -> list[str]:
    """Return the words that a question is about, compound ones also in their parts."""
    said = _WORD.findall(question)
    words = [word for word in said if word.lower() not in _COMMON] or said
    found: dict[str, None] = {}
    for word in words:
        for part in (word, *parts_of(word).split()):
            found.setdefault(part.lower())
    return list(found)


def passages(text: str, symbols: Sequence[Symbol]) -> list[Passage]:
    """Cut a file into passages, at its definitions where it has some, else at its headings."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if not lines:
        return []
    cuts = _cuts(lines, {symbol.line for symbol in symbols})
    found = []
    for first, after in zip(cuts, [*cuts[1:], len(lines) + 1], strict=True):
        names = tuple(symbol.name for symbol in symbols if first <= symbol.line < after)
        found.append(Passage(first, after - 1, "\n".join(lines[first - 1 : after - 1]), names))
    return found


def _cuts(lines: Sequence[str], starts: set[int]) -> list[int]:
    """Return the lines with which passages begin."""
    cuts, size = [1], len(lines[0])
    for number, line in enumerate(lines[1:], 2):
        length = number - cuts[-1]
        if length >= _PASSAGE_MAX or size + len(line) >= limits.PASSAGE_CHARS:
            is_new = True
        elif starts:
            is_new = length >= _PASSAGE_MIN and number in starts
        else:
            # Prose: a paragraph is about one thing, and a heading belongs to what follows it.
            is_new = size >= limits.PARAGRAPH_CHARS and not lines[number - 2].strip()
            is_new = is_new or (length >= _PASSAGE_MIN and _HEADING.match(line) is not None)
        if is_new:
            cuts.append(number)
            size = 0
        size += len(line) + 1
    return cuts


def meant(path: str, text: str) -> str:
    """Return what a model is given of a passage: where it stands says part of what it is about."""
    return f"{path}\n{text}"[: limits.MEANING_CHARS]


def digest_of(text: str) -> bytes:
    """Return what tells the meaning of one text from another's."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
