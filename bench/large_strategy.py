"""A fixed way to read in a large result: what it knows is what a model sees, the text that entered and the question."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

from bench.processes import ROOT

# Words of a question that stand in any text.
COMMON = frozenset((ROOT / "bench" / "large" / "common_words.txt").read_text().split())
_ABOUT = re.compile(r"\[Result (r[0-9]+): (.*?)\. Not all of it is here", re.DOTALL)
_TABLE = re.compile(r"([0-9,]+) lines, (?:CSV|TSV|Markdown): ([0-9,]+) rows of")
_TOKEN = re.compile(r"""["“`']([^"”`']+)["”`']|([\w@][\w./@:+-]*\w|\w)""")
_HIT = re.compile(r"^([0-9]+)(?: at ([0-9]+))?: (.*)$", re.MULTILINE)
_AROUND = 10
_BEFORE, _BEHIND = 12, 60
_CHARACTERS_BEFORE = 1_500


class Seen(NamedTuple):
    """A result as it entered."""

    id: str
    about: str
    # Whether nearly all of it is one table.
    is_table: bool

    @property
    def is_json(self) -> bool:
        """Return whether a path leads into it."""
        return "JSON: " in self.about


def seen(entered: str) -> Seen | None:
    """Return what the first line of a text says of its result; None where it entered whole."""
    told = _ABOUT.search(entered)
    if told is None:
        return None
    table = _TABLE.search(told[2])
    lines, rows = (int(number.replace(",", "")) for number in table.groups()) if table else (1, 0)
    return Seen(told[1], told[2], rows > lines / 2)


def words(ask: str) -> list[str]:
    """Return the words of a question, the most telling first: quoted, then of odd make, then no English, then long."""

    def telling(word: str) -> tuple[bool, bool, bool, int]:
        odd = bool(re.search(r"[0-9_./@:-]|[a-z][A-Z]", word.strip(".-")))
        return f'"{word}"' in ask, odd, word.lower() not in _english(), len(word)

    found = dict.fromkeys(quoted or word for quoted, word in _TOKEN.findall(ask))
    return sorted((word for word in found if word.lower() not in COMMON), key=telling, reverse=True)


@cache
def _english() -> frozenset[str]:
    """Return words that a reader knows from elsewhere: those of this repository's own guide."""
    pages = (ROOT / "docs" / "guide").glob("*.md")
    return frozenset(word for page in pages for word in re.findall(r"[a-z]+", page.read_text().lower()))


def first(result: Seen, ask: str) -> dict[str, Any]:
    """Return the first read: rows or lines with the most telling word."""
    telling = words(ask)
    wanted: dict[str, Any] = {"id": result.id, "pattern": _pattern(telling[0])}
    if result.is_table:
        return wanted | {"start_row": 0}
    # Unfolded, so that JSON on one line has lines.
    return wanted | {"around": _AROUND} | ({"path": "."} if result.is_json else {})


def _pattern(word: str) -> str:
    return f"(?i){re.escape(word)}"


def second(result: Seen, ask: str, page: str) -> dict[str, Any]:
    """Return the second read: another word where none of them stands near a hit, else more around the best one."""
    telling = words(ask)
    hits = _HIT.findall(page)
    read = first(result, ask)
    unseen = [word for word in telling[1:] if word.lower() not in page.lower()]
    if not hits or result.is_table:
        return read | {"pattern": _pattern(telling[1 % len(telling)])}
    if unseen == telling[1:] and unseen:
        return read | {"pattern": _pattern(unseen[0]), "start_line": int(hits[0][0])}
    others = [word.lower() for word in telling[1:]]
    line, offset, _text = max(hits, key=lambda hit: sum(word in hit[2].lower() for word in others))
    del read["pattern"], read["around"]
    if offset:
        return read | {"offset": max(0, int(offset) - _CHARACTERS_BEFORE)}
    return read | {"start_line": max(1, int(line) - _BEFORE), "end_line": int(line) + _BEHIND}
