"""Markdown in a terminal, while it streams: headings, lists, code, tables and emphasis as a reader expects them."""

from __future__ import annotations

import re

from pilothouse.cli import markdown_table
from pilothouse.cli.inline import Inline, Span
from pilothouse.cli.terminal import plain, styled
from pilothouse.cli.wrapping import Wrapper, columns

# The beginning of a line that may still become a mark; more of it is waited for.
_UNDECIDED = re.compile(
    r"\s*+(?:#{1,6}|[-*+_]|([-*_])(?:\s*+\1)++|[-*+]\s++\[[ xX]?\]?|\d{1,9}[.)]?|>++|`++[^`]*+|~++[^~]*+)?\s*+"
)
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+")
_ITEM = re.compile(r"(?P<indent>\s*)(?:(?P<bullet>[-*+])|(?P<number>\d{1,9}[.)]))\s+(?:\[(?P<box>[ xX])\]\s+)?(?=\S)")
_QUOTE = re.compile(r"\s{0,3}>\s?(?=.)")
_FENCE = re.compile(r"\s*(?P<mark>`{3,}|~{3,})\s*(?P<language>[^`]*)")
_RULE = re.compile(r"\s{0,3}([-*_])\s*(?:\1\s*){2,}")
# A line that is not decided after so many characters is shown as text: more of it is not waited for.
_UNDECIDED_CHARS = 500
# A row of a table is drawn when it is whole; no column shows more of one.
_ROW_CHARS = 20_000
_BOXES = {" ": "☐", "x": "☑", "X": "☑"}
_RULE_WIDTH = 40
_NONE = Span("")


class MarkdownScreen:
    """Turns markdown that comes in pieces into lines for a terminal."""

    def __init__(self, *, colours: bool = True) -> None:
        self._colours = colours
        self._begin()

    def _begin(self) -> None:
        self._wrapper = Wrapper(colours=self._colours)
        self._inline = Inline()
        # The line so far, until it is known what it is; None while the rest of it is text.
        self._line: str | None = ""
        self._base: frozenset[str] = frozenset()
        # The mark that ends the block of code we are in.
        self._fence = ""
        self._in_code_line = False
        self._table: list[str] = []

    def feed(self, text: str) -> str:
        """Return what can be shown of the text so far."""
        out: list[str] = []
        for number, part in enumerate(plain(text).expandtabs(4).split("\n")):
            if number:
                out.append(self._newline())
            if part:
                out.append(self._code(part) if self._fence else self._text(part))
        return "".join(out)

    def end(self) -> str:
        """Return what was held back, and be ready for another text."""
        held = self._line
        out = self._whole_line(held) if held else self._inline_end()
        out += self._flush_table()
        self._begin()
        return out

    # --- lines of text ---

    def _text(self, part: str) -> str:
        if self._line is None:
            return self._words(self._inline.feed(part))
        self._line += part
        if self._is_waited_for(self._line):
            return ""
        return self._flush_table() + self._open_line()

    def _is_waited_for(self, line: str) -> bool:
        """Return whether a line may still become something else than text."""
        if len(line) <= _UNDECIDED_CHARS:
            return line.lstrip().startswith("|") or _UNDECIDED.fullmatch(line) is not None
        return len(line) <= _ROW_CHARS and line[:_UNDECIDED_CHARS].lstrip().startswith("|")

    def _open_line(self) -> str:
        """Begin to show a line, now that it is known what it is."""
        line, self._line = self._line or "", None
        prefix, indent, self._base, rest = _parts(line)
        return self._wrapper.begin(prefix, indent) + self._words(self._inline.feed(rest))

    def _words(self, spans: list[Span]) -> str:
        return self._wrapper.feed(Span(one.text, one.styles | self._base) for one in spans)

    def _inline_end(self) -> str:
        out = self._words(self._inline.end()) + self._wrapper.end()
        self._base = frozenset()
        return out

    def _newline(self) -> str:
        if self._fence:
            return self._code_newline()
        if self._line is None:
            self._line = ""
            return f"{self._inline_end()}\n"
        line, self._line = self._line, ""
        if line.lstrip().startswith("|"):
            return self._row(line)
        return self._flush_table() + self._whole_line(line) + "\n"

    def _whole_line(self, line: str) -> str:
        """Return a line that came to its end before it was known what it is."""
        if fence := _FENCE.fullmatch(line):
            self._fence = fence["mark"]
            label = f"─── {fence['language'].strip()}".rstrip()
            return self._dim(label)
        if _RULE.fullmatch(line):
            return self._dim("─" * min(_RULE_WIDTH, columns()))
        if line.lstrip().startswith("|"):
            self._table.append(line)
            return ""
        self._line = line
        shown = self._open_line() + self._inline_end()
        self._line = ""
        return shown

    # --- code ---

    def _code(self, part: str) -> str:
        if self._in_code_line:
            return self._coloured(part)
        self._line = (self._line or "") + part
        mark = self._line.strip()
        if mark == self._fence[0] * len(mark):
            # It may be the end of the block.
            return ""
        line, self._line = self._line, ""
        self._in_code_line = True
        return self._coloured(line)

    def _code_newline(self) -> str:
        if self._in_code_line:
            self._in_code_line = False
            return "\n"
        line, self._line = self._line or "", ""
        if len(line.strip()) >= len(self._fence):
            self._fence = ""
            return self._dim("───") + "\n"
        return self._coloured(line) + "\n"

    # --- tables ---

    def _row(self, line: str) -> str:
        """Keep a row until its table is whole: only then is it known how wide its columns are."""
        self._table.append(line)
        if len(self._table) == 2 and not markdown_table.is_rule(line):
            return self._flush_table()
        return ""

    def _flush_table(self) -> str:
        lines, self._table = self._table, []
        if not lines:
            return ""
        if len(lines) > 1 and markdown_table.is_rule(lines[1]):
            return markdown_table.draw(lines, colours=self._colours)
        # Lines with bars, and no table.
        wrapper = Wrapper(colours=self._colours)
        return "".join(wrapper.feed([Span(line)]) + wrapper.end() + "\n" for line in lines)

    def _dim(self, text: str) -> str:
        return styled(text, frozenset({"dim"})) if self._colours else text

    def _coloured(self, text: str) -> str:
        return styled(text, frozenset({"code"})) if self._colours else text


def _parts(line: str) -> tuple[Span, Span, frozenset[str], str]:
    """Return what stands before a line's words, before its further lines, the style of its words, and the rest."""
    if heading := _HEADING.match(line):
        return _NONE, _NONE, frozenset({"bold"}), line[heading.end() :]
    if item := _ITEM.match(line):
        bullet = item["number"] or (_BOXES[item["box"]] if item["box"] else "•")
        prefix = f"{item['indent']}{bullet} "
        return Span(prefix), Span(" " * len(prefix)), frozenset(), line[item.end() :]
    if quote := _QUOTE.match(line):
        bar = Span("│ ", frozenset({"dim"}))
        return bar, bar, frozenset({"italic"}), line[quote.end() :]
    margin = Span(line[: len(line) - len(line.lstrip())])
    return margin, margin, frozenset(), line.lstrip()
