"""The words around a hit, as a person reads them: without the signs of Markdown, with the hit marked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from pilothouse.types.api import Range

SNIPPET_CHARS = 160

# Every pattern here is tried at a place once and goes on, so that no text can hold it up.
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_BEGINNING = re.compile(r"\s*+(?:#{1,6}\s++|(?:>\s?)++|[-*+]\s++(?:\[[ xX]\]\s++)?)")
_CODE = re.compile(r"(?<!`)(`++)([^`]+)\1(?!`)")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")
_ADDRESS = re.compile(r"<((?:https?|mailto):[^<>\s]*)>")
_EMPHASIS = re.compile(r"(?<![\w*_~\\])(\*{1,3}|_{1,3}|~~)(?=\S)([^*_~]*[^*_~\s])\1(?!\w)")
_ESCAPE = re.compile(r"\\([*_`#~>|])")
# Found nowhere: where there are no words, a text is shown from its beginning.
_NOTHING = re.compile(r"(?!)")


class _Bases(dict[int, int]):
    """Each sign's letter without its marks; a sign stays one sign, so that places stay the same."""

    def __missing__(self, code: int) -> int:
        base = ord(unicodedata.normalize("NFD", chr(code))[0])
        self[code] = base
        return base


_BASES = _Bases()


def plain(text: str) -> str:
    """Return Markdown as text: what is drawn of it, not what it is written with."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif fence:
            lines.append(line)
        elif not _is_rule(line):
            lines.append(_plain_line(line))
    return "\n".join(lines)


def _is_rule(line: str) -> bool:
    """Tell whether a line is only drawn: between two parts, or under a table's head."""
    return "---" in line and set(line) <= set("-|: \t\r")


def _plain_line(line: str) -> str:
    beginning = _BEGINNING.match(line)
    rest = line[beginning.end() :] if beginning else line
    if rest.lstrip().startswith("|"):
        rest = " · ".join(cell.strip() for cell in rest.strip().strip("|").split("|"))
    pieces: list[str] = []
    at = 0
    for code in _CODE.finditer(rest):
        pieces += [_plain_words(rest[at : code.start()]), code[2]]
        at = code.end()
    return "".join([*pieces, _plain_words(rest[at:])])


def _plain_words(text: str) -> str:
    text = _ADDRESS.sub(r"\1", _LINK.sub(r"\1", text))
    # Strong words may be within slanted ones.
    text = _EMPHASIS.sub(r"\2", _EMPHASIS.sub(r"\2", text))
    return _ESCAPE.sub(r"\1", text)


def excerpt(text: str, words: Sequence[str], *, markdown: bool = False) -> tuple[str, tuple[Range, ...]]:
    """Return the text around the first hit, and where the words stand in it."""
    pattern = _pattern(words)
    shown = plain(text) if markdown else text
    first = pattern.search(_folded(shown))
    if first is None and markdown:
        # What stands only in the address of a link is shown as it is written.
        shown, first = text, pattern.search(_folded(text))
    start = max(0, (first.start() if first else 0) - SNIPPET_CHARS // 3)
    if start:
        # Begin and end at a word, not inside one.
        space = shown.find(" ", start, start + 20)
        start = space + 1 if space >= 0 else start
    end = start + SNIPPET_CHARS
    if end < len(shown):
        space = shown.rfind(" ", end - 20, end)
        end = space if space >= 0 else end
    part = re.sub(r"\s+", " ", shown[start:end]).strip()
    snippet = ("…" if start else "") + part + ("…" if end < len(shown) else "")
    ranges = tuple(Range(start=hit.start(), end=hit.end()) for hit in pattern.finditer(_folded(snippet)))
    return snippet, ranges


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    """Return what finds the words, longest first: as beginnings of words, or inside of them."""
    longest = sorted(map(_folded, words), key=len, reverse=True)
    if not longest:
        return _NOTHING
    return re.compile("|".join(map(re.escape, longest)), re.IGNORECASE)


def _folded(text: str) -> str:
    """Return the text without the marks of its letters, as the index compares it."""
    return text if text.isascii() else text.translate(_BASES)
