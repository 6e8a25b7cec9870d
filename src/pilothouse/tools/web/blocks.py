"""The blocks of a text as they are written down one after the other: paragraphs, items, rows, code."""

from __future__ import annotations

from typing import Literal

from pilothouse.types import limits

Where = Literal["main", "page", "around"]
# So deep lists and quotes are shown.
_INDENTED = 6


class Blocks:
    """Collects text and makes blocks of it; each knows whether it stands in the main part of a page."""

    def __init__(self) -> None:
        self.where: Where = "page"
        self._done: list[tuple[Where, str]] = []
        self._size = 0
        self.is_full = False
        self._line: list[str] = []
        self._prefix = ""
        # Open lists: the number of the last item, None where items have none.
        self._lists: list[int | None] = []
        self._quotes = 0
        # Open tables; only the outermost has rows.
        self._tables = 0
        self._cells: list[str] | None = None
        self._rows = 0
        self._code = 0

    # --- text ---

    def text(self, data: str) -> None:
        """Add words; blanks count only in code."""
        if self.is_full:
            return
        self._line.append(data if self._code else _squeezed(data))

    def mark(self, text: str) -> None:
        """Add a mark of our own behind words, where there are any."""
        if self._line and not self.is_full:
            if self._line[-1].endswith(" "):
                self._line[-1] = self._line[-1].rstrip(" ")
                text += " "
            self._line.append(text)

    def tick(self) -> None:
        """Begin or end code within a line."""
        if not self._code:
            self._line.append("`")

    def newline(self) -> None:
        """Begin another line of the same block."""
        self._line.append("\n" if self._cells is None else " ")

    # --- blocks ---

    def flush(self) -> None:
        """End the block that is being written."""
        if self._cells is not None:
            # Within a cell everything is one line.
            self._line.append(" ")
            return
        words = "".join(self._line)
        self._line = []
        block = words.strip("\n") if self._code else _tidied(words)
        if block.strip("` \n"):
            self._add(f"```\n{block}\n```" if self._code else f"{self._prefix}{block}")
            self._prefix = ""

    def heading(self, level: int) -> None:
        """Begin a heading."""
        self.flush()
        if self._cells is None:
            self._prefix = f"{'#' * level} "

    def rule(self) -> None:
        """Draw a line across."""
        self.flush()
        if self._cells is None:
            self._add("---")

    def open_list(self, *, numbered: bool) -> None:
        """Begin a list."""
        self.flush()
        self._lists.append(0 if numbered else None)

    def close_list(self) -> None:
        """End a list."""
        self.flush()
        if self._lists:
            self._lists.pop()
        self._prefix = ""

    def item(self) -> None:
        """Begin an item of the list that is open."""
        self.flush()
        if self._cells is not None:
            return
        number = self._lists[-1] if self._lists else None
        if number is not None:
            self._lists[-1] = number + 1
        indent = "  " * min(max(len(self._lists) - 1, 0), _INDENTED)
        self._prefix = f"{indent}- " if number is None else f"{indent}{number + 1}. "

    def open_quote(self) -> None:
        """Begin a quotation."""
        self.flush()
        self._quotes += 1

    def close_quote(self) -> None:
        """End a quotation."""
        self.flush()
        self._quotes = max(0, self._quotes - 1)

    def open_code(self) -> None:
        """Begin code that keeps its lines."""
        self.flush()
        self._code += 1

    def close_code(self) -> None:
        """End it."""
        self.flush()
        self._code = max(0, self._code - 1)

    # --- tables ---

    def open_table(self) -> None:
        """Begin a table; one within another is text."""
        self.flush()
        self._tables += 1
        if self._tables == 1:
            self._rows = 0

    def close_table(self) -> None:
        """End a table."""
        if self._tables == 1:
            self.close_row()
        self._tables = max(0, self._tables - 1)
        self.flush()

    def open_row(self) -> None:
        """Begin a row."""
        if self._tables == 1:
            self.close_row()
            self._cells = []

    def open_cell(self) -> None:
        """Begin a cell, which ends the one before it."""
        if self._tables == 1 and self._cells is not None:
            self._end_cell()
            self._cells.append("")

    def close_row(self) -> None:
        """End a row."""
        if self._tables != 1 or self._cells is None:
            return
        self._end_cell()
        cells, self._cells = self._cells, None
        self._line = []
        if any(cells):
            row = f"| {' | '.join(cells)} |" if len(cells) > 1 else cells[0]
            ruled = f"{row}\n|{' --- |' * len(cells)}" if not self._rows and len(cells) > 1 else row
            self._add(ruled, joined=self._rows > 0 and len(cells) > 1)
            self._rows += 1

    def _end_cell(self) -> None:
        if self._cells and len(self._cells) <= limits.WEB_CELLS:
            self._cells[-1] = " ".join("".join(self._line).replace("|", "\\|").split())
        elif self._cells:
            self._cells.pop()
        self._line = []

    # --- what came of it ---

    def _add(self, block: str, *, joined: bool = False) -> None:
        if self.is_full:
            return
        if self._quotes:
            mark = "> " * min(self._quotes, _INDENTED)
            block = "\n".join(f"{mark}{line}" for line in block.split("\n"))
        is_item = block.lstrip(" ").startswith(("- ", *(f"{digit}" for digit in range(10)))) and bool(self._lists)
        if joined or (is_item and self._done and self._done[-1][0] == self.where):
            block = f"\n{block}"
        elif self._done:
            block = f"\n\n{block}"
        self._size += len(block)
        if self._size > limits.WEB_TEXT_CHARS:
            block = block[: max(0, len(block) - (self._size - limits.WEB_TEXT_CHARS))]
            self.is_full = True
        self._done.append((self.where, block))

    def written(self) -> tuple[str, bool]:
        """Return the text, and whether what stands around the main part was left out.

        A page that marks its main part has it there, unless nearly nothing is in it.
        """
        sizes = {place: sum(len(block) for where, block in self._done if where == place) for place in ("main", "page")}
        least = min(limits.WEB_PAGE_LEAST // 4, sizes["page"])
        wanted = {"main"} if sizes["main"] > least else {"main", "page"} if sum(sizes.values()) else {"around"}
        kept = [block for where, block in self._done if where in wanted]
        return "".join(kept).strip(), len(kept) < len(self._done)


def _squeezed(data: str) -> str:
    """Return text with each stretch of blanks as one."""
    words = " ".join(data.split())
    if not words:
        return " " if data else ""
    return f"{' ' if data[0].isspace() else ''}{words}{' ' if data[-1].isspace() else ''}"


def _tidied(words: str) -> str:
    """Return a block without blanks that nobody wrote as such."""
    lines = (" ".join(line.split()) for line in words.split("\n"))
    return "\n".join(lines).strip()
