"""Markdown in a terminal, while it streams: nothing is taken away; headings, code and emphasis are only styled."""

from __future__ import annotations

import re

from pilothouse.cli.terminal import STYLES, plain

_RESET = "\x1b[0m"
# What may be the beginning of a mark waits for its next piece.
_UNDECIDED = re.compile(r"(?:^|\n)#{1,6}\Z|(?<!`)`{1,2}\Z|(?<!\*)\*\Z")
_MARKS = re.compile(r"(```|`|\*\*)")


class MarkdownStyler:
    """Adds styles to markdown that comes in pieces."""

    def __init__(self) -> None:
        self._held = ""
        self._at_start = True
        self._styles: set[str] = set()

    def feed(self, text: str) -> str:
        """Return more text with its styles."""
        text = self._held + plain(text)
        undecided = _UNDECIDED.search(text)
        self._held = text[undecided.start() :].lstrip("\n") if undecided else ""
        return self._style(text[: len(text) - len(self._held)])

    def end(self) -> str:
        """Return what was held back, and end all styles."""
        rest = self._style(self._held)
        self._held, self._at_start = "", True
        return rest + (self._change(set()) if self._styles else "")

    def _style(self, text: str) -> str:
        out: list[str] = []
        for number, line in enumerate(text.split("\n")):
            if number:
                out.append(self._newline())
            if line:
                out.append(self._line(line))
                self._at_start = False
        return "".join(out)

    def _newline(self) -> str:
        self._at_start = True
        # Only a block of code goes on over the end of its line.
        return self._change(self._styles & {"block"}) + "\n"

    def _line(self, line: str) -> str:
        if self._at_start and line.startswith("#") and "block" not in self._styles:
            return self._change({"heading"}) + line
        out: list[str] = []
        for part in _MARKS.split(line):
            if part == "```" and self._at_start and not out:
                out.append(self._toggle("block", part))
            elif part == "`" and "block" not in self._styles:
                out.append(self._toggle("code", part))
            elif part == "**" and not self._styles & {"block", "code"}:
                out.append(self._toggle("bold", part))
            elif part:
                out.append(part)
        return "".join(out)

    def _toggle(self, style: str, mark: str) -> str:
        """Style the mark like what it encloses."""
        if style in self._styles:
            return mark + self._change(self._styles - {style})
        return self._change(self._styles | {style}) + mark

    def _change(self, styles: set[str]) -> str:
        if styles == self._styles:
            return ""
        self._styles = styles
        codes = {"heading": STYLES["bold"], "bold": STYLES["bold"], "code": STYLES["cyan"], "block": STYLES["cyan"]}
        return _RESET + "".join(f"\x1b[{codes[style]}m" for style in sorted(styles))
