"""Marks within a line of markdown, while it streams: what cannot be decided yet waits, and what is no mark is shown."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

from pilothouse.types.origins import host_shown

# A mark that is not closed within this many characters is none; the reader would wait too long for its text.
_LONGEST = 300
_SPECIAL = re.compile(r"[*_`\[~\\<!$]")
_RUN = re.compile(r"`++")
_ESCAPED = re.compile(r"\\(?P<text>[*_`#~|!<>+.-])")
_BEHIND_LINK = re.compile(r"\]\((?P<url>[^()\s]*+(?:\([^()\s]*+\)[^()\s]*+)*+)(?:\s++\"[^\"]*+\")?\)")
_ADDRESS = re.compile(r"<(?P<text>(?:https?://|mailto:)[^\s<>]++)>")


class _Pair(NamedTuple):
    """A mark, what must follow it, what ends it, and the styles of what is between."""

    mark: str
    opening: re.Pattern[str]
    closing: re.Pattern[str]
    styles: frozenset[str] = frozenset()


def _pairs(marks: tuple[str, ...], after: str, before: str, beyond: str, *styles: str) -> tuple[_Pair, ...]:
    def pair(mark: str) -> _Pair:
        sign = re.escape(mark)
        return _Pair(mark, re.compile(sign + after), re.compile(before + sign + beyond), frozenset(styles))

    return tuple(map(pair, marks))


_FORMULAS = tuple(
    _Pair(begin, re.compile(re.escape(begin)), re.compile(re.escape(end)))
    for begin, end in ((r"\(", r"\)"), (r"\[", r"\]"), ("$$", "$$"))
)
_STYLED = (
    *_pairs(("***", "___"), r"(?=[^\s*_])", r"(?<=[^\s*_])", "", "bold", "italic"),
    *_pairs(("**", "__"), r"(?=[^\s*_])", r"(?<=\S)", r"(?![*_])", "bold"),
    *_pairs(("*", "_"), r"(?=[^\s*_])", r"(?<=[^\s*_])", r"(?![\w*])", "italic"),
    *_pairs(("~~",), r"(?=\S)", r"(?<=\S)", "", "strike"),
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
        line = _Line(text)
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
            found = line.construct(at, before)
            # A closing mark at the very end may go on with the next piece.
            if found is not None and (final or found[1] < len(text) or text[-1] not in "*_`"):
                spans += found[0]
                at = found[1]
            elif not final and (found is not None or _may_become(text, at, before)):
                self._held = text[at:]
                break
            else:
                start = at
                while at < len(text) and text[at] == text[start]:
                    at += 1
                spans.append(Span(text[start:at]))
        self._before = text[at - 1] if at else self._before
        return spans


def spans_of(text: str) -> list[Span]:
    """Return a whole text in spans."""
    return Inline()._take(text, final=True)


class _Line:
    """A text in which marks are looked for; it remembers what is not there, so that nothing is looked for twice."""

    def __init__(self, text: str) -> None:
        self._text = text
        # From where on a mark is not closed any more.
        self._unclosed: dict[_Pair, int] = {}
        # Where runs of backticks stand, by their length, once someone asks.
        self._runs: dict[int, list[int]] | None = None
        self._bracket = -1
        self._link: re.Match[str] | None = None

    def construct(self, at: int, before: str) -> tuple[list[Span], int] | None:
        """Return the mark that begins here with its end, if it is whole."""
        text = self._text
        for look in (self._code, self._formula, self._linked):
            if found := look(at):
                return found
        if escaped := _ESCAPED.match(text, at):
            return [Span(escaped["text"])], escaped.end()
        if address := _ADDRESS.match(text, at):
            return [Span(address["text"], frozenset({"link"})), *_disguised(address["text"])], address.end()
        if before.isalnum() and text[at : at + 2] not in ("**", "~~"):
            # Within a word or a sum they are letters like any other.
            return None
        for pair in _STYLED:
            if closing := self._closing(pair, at):
                inner = spans_of(text[at + len(pair.mark) : closing.start()])
                return [Span(one.text, one.styles | pair.styles) for one in inner], closing.end()
        return None

    def _closing(self, pair: _Pair, at: int) -> re.Match[str] | None:
        """Return the end of a pair that begins here; there is something between the two."""
        start = at + len(pair.mark) + 1
        if not pair.opening.match(self._text, at) or start >= self._unclosed.get(pair, len(self._text)):
            return None
        found = pair.closing.search(self._text, start)
        if found is None:
            self._unclosed[pair] = start
        return found

    def _code(self, at: int) -> tuple[list[Span], int] | None:
        run = _RUN.match(self._text, at)
        if run is None:
            return None
        if self._runs is None:
            self._runs = {}
            for each in _RUN.finditer(self._text):
                self._runs.setdefault(len(each[0]), []).append(each.start())
        alike = self._runs.get(len(run[0]), [])
        following = bisect_right(alike, run.end())
        if following == len(alike):
            return None
        text = self._text[run.end() : alike[following]]
        return [Span(text.strip() or text, frozenset({"code"}))], alike[following] + len(run[0])

    def _formula(self, at: int) -> tuple[list[Span], int] | None:
        for pair in _FORMULAS:
            if closing := self._closing(pair, at):
                # Until formulas are drawn they stand as they were written.
                return [Span(self._text[at : closing.end()])], closing.end()
        return None

    def _linked(self, at: int) -> tuple[list[Span], int] | None:
        start = at + 1 if self._text[at] == "!" else at
        if not self._text.startswith("[", start):
            return None
        if self._bracket <= start:
            closed = self._text.find("]", start)
            self._bracket = closed if closed >= 0 else len(self._text)
            self._link = _BEHIND_LINK.match(self._text, self._bracket)
        if self._link is None:
            return None
        return _link(self._text[start + 1 : self._bracket], self._link["url"]), self._link.end()


def _link(text: str, url: str) -> list[Span]:
    shown = [Span(one.text, one.styles | {"link"}) for one in spans_of(text)]
    if not url or text == url:
        return [*shown, *_disguised(text)]
    return [*shown, Span(f" ({url})" if shown else url, frozenset({"dim"})), *_disguised(url)]


def _disguised(url: str) -> list[Span]:
    """Return the host that an address leads to, where it can be taken for another."""
    if (url.isascii() and "@" not in url) or not url.lower().startswith(("http://", "https://")):
        return []
    host = host_shown(url)
    rest = url.partition("//")[2]
    is_plain = rest.lower().startswith(host) and rest[len(host) : len(host) + 1] in ("", "/", "?", "#")
    return [] if not host or is_plain else [Span(f" [{host}]", frozenset({"dim"}))]


def _may_become(text: str, at: int, before: str) -> bool:
    """Return whether a mark that is not whole yet may still be one."""
    return len(text) - at < _LONGEST and _UNDECIDED[text[at]](text[at:], before)


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
