"""Texts of memories: cleaned, named, and compared by their words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from html import escape
from pathlib import Path

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.invisible import on_one_line, whole, without_escapes, without_hidden

_WORD = re.compile(r"\w+")
# What takes no room, and what turns around what stands beside it: nobody writes a fact with them. What joins the signs
# of one picture stays.
_INVISIBLE = re.compile("[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]")
_NAMED_CHARS = 60
# A word that begins another one is about the same if it has as many letters.
_LEAST_STEM = 4
_COMMON = frozenset((Path(__file__).parent / "common_words.txt").read_text().split())
# Whoever has one of these and the other not says the opposite.
_NEGATIONS = frozenset({"no", "not", "never", "none", "without", "nicht", "kein", "keine", "nie", "ohne"})


def cleaned(text: str) -> str:
    """Return a text without what nobody reads; raise one sentence for what is empty or too long."""
    if len(text) > limits.MEMORY_CHARS:
        message = f"A memory has at most {limits.MEMORY_CHARS:,} characters; this one has {len(text):,}."
        raise PilothouseError("too_large", message, fix="Keep what matters of it, or make it a document.")
    seen = without_hidden(without_escapes(whole(text).replace("\x00", " ")))[0]
    clean = unicodedata.normalize("NFC", _INVISIBLE.sub("", seen)).strip()
    if not clean:
        raise PilothouseError("bad_request", "There is nothing to remember in an empty text.")
    return clean


def title_of(title: str, text: str) -> str:
    """Return a title on one line: the one that was given, else the beginning of the text."""
    if len(title) > limits.MEMORY_CHARS:
        raise PilothouseError("too_large", f"A title has at most {limits.MEMORY_TITLE_CHARS} characters.")
    named = _INVISIBLE.sub("", on_one_line(title))
    return _cut(named, limits.MEMORY_TITLE_CHARS) or _cut(on_one_line(text.partition("\n")[0]), _NAMED_CHARS)


def tags_of(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the tags, each once and on one line; raise where there are too many."""
    clean = tuple(dict.fromkeys(filter(None, (_INVISIBLE.sub("", on_one_line(tag[:1000])) for tag in tags))))
    if len(clean) > limits.MEMORY_TAGS or any(len(tag) > limits.MEMORY_TAG_CHARS for tag in clean):
        message = f"A memory has at most {limits.MEMORY_TAGS} tags of {limits.MEMORY_TAG_CHARS} characters."
        raise PilothouseError("bad_request", message)
    return clean


def words_of(text: str, most: int = limits.MEMORY_QUERY_WORDS) -> tuple[str, ...]:
    """Return the words that a search looks for: those that say something, or all where none does."""
    # As they are written: an index has them so.
    plain = unicodedata.normalize("NFC", text[: limits.MEMORY_QUERY_CHARS]).lower()
    every = tuple(dict.fromkeys(_WORD.findall(plain)))
    return (tuple(word for word in every if word not in _COMMON) or every)[:most]


def bare_words(text: str) -> frozenset[str]:
    """Return the words that a text says something with, numbers and negations among them."""
    return frozenset(word for word in _tokens(text) if word not in _COMMON or word in _NEGATIONS)


def _tokens(text: str) -> frozenset[str]:
    """Return the words of a text without the marks on their letters."""
    apart = unicodedata.normalize("NFD", text).lower()
    return frozenset(_WORD.findall("".join(letter for letter in apart if not unicodedata.combining(letter))))


def squeezed(text: str) -> str:
    """Return what is the same for texts that differ only in case and spaces."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def in_common(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of words that two texts have in common."""
    return len(one & other) / len(one | other) if one and other else 0.0


def shared(one: frozenset[str], other: frozenset[str]) -> int:
    """Return how many words one text has in common with another, a word and its longer forms being the same."""
    return sum(1 for word in one if word in other or any(_begins(word, each) for each in other))


def _begins(word: str, other: str) -> bool:
    short, long = sorted((word, other), key=len)
    return len(short) >= _LEAST_STEM and long.startswith(short)


def has_words(words: tuple[str, ...], text: str) -> int:
    """Return how many of these words a text has, each as a beginning."""
    there = _tokens(text)
    bare = [next(iter(_tokens(word)), word) for word in words]
    return sum(1 for word in bare if word in there or any(each.startswith(word) for each in there))


def preview(text: str, most: int = limits.MEMORY_PREVIEW_CHARS) -> str:
    """Return the beginning of a text on one line, so that it can end no block that it stands in."""
    return escape(_cut(on_one_line(text[: 4 * most]), most), quote=False)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
