"""Marks within a line of markdown, while it streams: what cannot be decided yet waits, and what is no mark is shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

# A mark that is not closed within this many characters is none; the reader would wait too long for its text.
_LONGEST = 300
_SPECIAL = re.compile(r"[*_`\[~\\<!$]")
_CODE = re.compile(r"(?P<mark>`+)(?!`)(?P<text>.+?)(?<!`)(?P=mark)(?!`)")
_FORMULA = re.compile(r"\\\(.+?\\\)|\\\[.+?\\\]|\$\$.+?\$\$")
_ESCAPED = re.compile(r"\\(?P<text>[*_`#~|!<>+.-])")
_LINK = re.compile(r"!?\[(?P<text>[^\]\n]*)\]\((?P<url>[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+\"[^\"]*\")?\)")
_ADDRESS = re.compile(r"<(?P<text>(?:https?://|mailto:)[^\s<>]+)>")
_STYLED = (
    (re.compile(r"(?P<mark>\*\*\*|___)(?=[^\s*_])(?P<text>.+?)(?<=[^\s*_])(?P=mark)"), {"bold", "italic"}),
    (re.compile(r"(?P<mark>\*\*|__)(?=[^\s*_])(?P<text>.+?)(?<=\S)(?P=mark)(?![*_])"), {"bold"}),
    (re.compile(r"(?P<mark>[*_])(?=[^\s*_])(?P<text>.+?)(?<=[^\s*_])(?P=mark)(?![\w*])"), {"italic"}),
    (re.compile(r"(?P<mark>~~)(?=\S)(?P<text>.+?)(?<=\S)(?P=mark)"), {"strike"}),
)


class Span(NamedTuple):
    """A piece of text and its styles."""

    text: str
    styles: frozenset[str] = frozenset()


class Inline:
    """Takes a line's text in pieces and gives it in spans."""

    def __init__(self) -> None:
        self._held = ""
        self._before = ""

    def feed(self, text: str) -> list[Span]:
        """Return what is decided of the text so far."""
        return self._take(self._held + text, final=False)

    def end(self) -> list[Span]:
        """Return the rest: what was not closed until now is no mark."""
        spans = self._take(self._held, final=True)
        self._before = ""
        return spans

    def _take(self, text: str, *, final: bool) -> list[Span]:
        spans, at, self._held = list[Span](), 0, ""
        while at < len(text):
            special = _SPECIAL.search(text, at)
            if special is None:
                spans.append(Span(text[at:]))
                at = len(text)
                break
            if special.start() > at:
                spans.append(Span(text[at : special.start()]))
                at = special.start()
            before = text[at - 1] if at else self._before
            found = _construct(text, at, before)
            # A closing mark at the very end may go on with the next piece.
            if found is not None and (final or found[1] < len(text) or text[-1] not in "*_`"):
                spans += found[0]
                at = found[1]
            elif not final and (found is not None or _may_become(text[at:], before)):
                self._held = text[at:]
                break
            else:
                width = len(text) - at - len(text[at:].lstrip(text[at]))
                spans.append(Span(text[at : at + width]))
                at += width
        self._before = text[at - 1] if at else self._before
        return spans


def spans_of(text: str) -> list[Span]:
    """Return a whole text in spans."""
    return Inline()._take(text, final=True)


def _construct(text: str, at: int, before: str) -> tuple[list[Span], int] | None:
    """Return the mark that begins here with its end, if it is whole."""
    if found := _CODE.match(text, at):
        return [Span(found["text"].strip() or found["text"], frozenset({"code"}))], found.end()
    if found := _FORMULA.match(text, at):
        # Until formulas are drawn they stand as they were written.
        return [Span(found[0])], found.end()
    if found := _ESCAPED.match(text, at):
        return [Span(found["text"])], found.end()
    if found := _LINK.match(text, at):
        return _link(found["text"], found["url"]), found.end()
    if found := _ADDRESS.match(text, at):
        return [Span(found["text"], frozenset({"link"}))], found.end()
    if before.isalnum() and text[at : at + 2] not in ("**", "~~"):
        # Within a word or a sum they are letters like any other.
        return None
    for pattern, styles in _STYLED:
        if found := pattern.match(text, at):
            inner = spans_of(found["text"])
            return [Span(one.text, one.styles | styles) for one in inner], found.end()
    return None


def _link(text: str, url: str) -> list[Span]:
    shown = [Span(one.text, one.styles | {"link"}) for one in spans_of(text)]
    if not url or text == url:
        return shown
    return [*shown, Span(f" ({url})" if shown else url, frozenset({"dim"}))]


def _may_become(rest: str, before: str) -> bool:
    """Return whether a mark that is not whole yet may still be one."""
    return len(rest) < _LONGEST and _UNDECIDED[rest[0]](rest, before)


def _emphasis(rest: str, before: str) -> bool:
    inside = rest.lstrip(rest[0])
    if not inside:
        return True
    return not inside[0].isspace() and not (before.isalnum() and not rest.startswith("**"))


def _bracket(rest: str, _before: str) -> bool:
    _, closed, after = rest.partition("]")
    return not closed or not after or (after[0] == "(" and ")" not in after)


_UNDECIDED: dict[str, Callable[[str, str], bool]] = {
    "*": _emphasis,
    "_": _emphasis,
    "`": lambda rest, before: True,
    "[": _bracket,
    "!": lambda rest, before: rest == "!" or (rest[1] == "[" and _bracket(rest, before)),
    "~": lambda rest, before: rest == "~" or (rest.startswith("~~") and _emphasis(rest, before)),
    "\\": lambda rest, before: len(rest) == 1 or rest[1] in "([",
    "$": lambda rest, before: rest == "$" or rest.startswith("$$"),
    "<": lambda rest, before: rest[:5] in "<http" or rest[:8] in "<mailto:" or rest.startswith("<http"),
}
