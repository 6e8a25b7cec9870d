"""Tables of markdown in a terminal: columns side by side where they fit, else row by row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pilothouse.cli.inline import Span, spans_of
from pilothouse.cli.terminal import styled
from pilothouse.cli.wrapping import Wrapper, columns, text_width

_RULE = re.compile(r"\s*+\|?\s*+:?-++:?\s*+(?:\|\s*+:?-++:?\s*+)*+\|?\s*+")
_CELL = re.compile(r"(?<!\\)\|")
_GAP = " │ "
# A column that is narrower than this breaks nearly every word.
_NARROWEST = 8


def is_rule(line: str) -> bool:
    """Return whether a line is what stands below the head of a table."""
    return "-" in line and _RULE.fullmatch(line) is not None


def draw(lines: Sequence[str], *, colours: bool) -> str:
    """Return a table, from its lines."""
    rows = [_cells(line) for number, line in enumerate(lines) if number != 1]
    count = max(map(len, rows))
    rows = [row + [""] * (count - len(row)) for row in rows]
    wanted = [max(1, *(text_width(_bare(row[at])) for row in rows)) for at in range(count)]
    room = columns() - len(_GAP) * (count - 1)
    if sum(wanted) > room and room < _NARROWEST * count:
        return "".join(_one_by_one(rows, colours=colours))
    return "".join(_side_by_side(rows, _fitted(wanted, room), colours=colours))


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    inner = inner.removesuffix("|") if not inner.endswith("\\|") else inner
    return [cell.strip() for cell in _CELL.split(inner)]


def _bare(cell: str) -> str:
    return "".join(one.text for one in spans_of(cell))


def _fitted(wanted: Sequence[int], room: int) -> list[int]:
    """Return the widths of the columns: the widest give way until all fit."""
    widths = [min(width, room) for width in wanted]
    while sum(widths) > room:
        widest = max(range(len(widths)), key=widths.__getitem__)
        second = max((width for at, width in enumerate(widths) if at != widest), default=1)
        widths[widest] = max(
            second - 1 if second < widths[widest] else widths[widest] - 1, widths[widest] - (sum(widths) - room), 1
        )
    return widths


def _side_by_side(rows: Sequence[Sequence[str]], widths: Sequence[int], *, colours: bool) -> Iterator[str]:
    for number, row in enumerate(rows):
        cells = [
            _lines(cell, width, colours=colours, bold=number == 0) for cell, width in zip(row, widths, strict=True)
        ]
        for at in range(max(map(len, cells))):
            shown = [cell[at] if at < len(cell) else ("", 0) for cell in cells]
            padded = [text + " " * (width - taken) for (text, taken), width in zip(shown, widths, strict=True)]
            yield _dim(_GAP, colours=colours).join(padded).rstrip() + "\n"
        if number == 0:
            yield _dim("─┼─".join("─" * width for width in widths), colours=colours) + "\n"


def _one_by_one(rows: Sequence[Sequence[str]], *, colours: bool) -> Iterator[str]:
    """Yield each row as lines of its own, each with the name of its column."""
    head, *others = rows
    for number, row in enumerate(others):
        if number:
            yield _dim("─" * 10, colours=colours) + "\n"
        for name, cell in zip(head, row, strict=True):
            wrapper = Wrapper(colours=colours)
            label = f"{_bare(name)}: " if name else ""
            yield wrapper.begin(Span(label, frozenset({"bold"})), Span("  "))
            yield wrapper.feed(spans_of(cell)) + wrapper.end() + "\n"


def _lines(cell: str, width: int, *, colours: bool, bold: bool) -> list[tuple[str, int]]:
    """Return a cell in lines of at most this width, each with the columns that it takes."""
    lines: list[tuple[str, int]] = [("", 0)]
    for one in spans_of(cell):
        styles = one.styles | {"bold"} if bold else one.styles
        for word in re.findall(r"\s+|\S+", one.text):
            for piece in _pieces(word, width):
                text, taken = lines[-1]
                if taken and taken + text_width(piece) > width:
                    text, taken = "", 0
                    lines.append((text, taken))
                if piece.isspace() and not taken:
                    continue
                lines[-1] = (text + (styled(piece, styles) if colours else piece), taken + text_width(piece))
    return lines


def _pieces(word: str, width: int) -> Iterator[str]:
    """Yield a word, in parts when it is wider than its column."""
    part, taken = "", 0
    for char in word if text_width(word) > width else ():
        more = text_width(part[-1:] + char) - text_width(part[-1:])
        if part and taken + more > width:
            yield part
            part, taken, more = "", 0, text_width(char)
        part, taken = part + char, taken + more
    yield part or word


def _dim(text: str, *, colours: bool) -> str:
    return styled(text, frozenset({"dim"})) if colours else text
