"""What a search found, and how a page of it reads."""

from __future__ import annotations

from itertools import groupby

import msgspec

from pilothouse.tools.arguments import BadArgument
from pilothouse.types import limits
from pilothouse.types.json import JsonObject


class Hit(msgspec.Struct, frozen=True):
    """One place that was found; line 0 is the file itself."""

    path: str
    line: int = 0
    text: str = ""
    # The last line of a longer passage.
    last: int = 0
    # What kind of place: "definition", "call", a symbol's kind.
    label: str = ""
    # Counted from 1; 0 where it does not matter.
    column: int = 0


class Found(msgspec.Struct, frozen=True):
    """The result of one search; hits of one file stand together."""

    # The search in words: "`def main` in the working directory".
    what: str
    # What its hits are called: "match", "file", "usage".
    unit: str
    hits: tuple[Hit, ...]
    # Whether there are more than were kept.
    more: bool = False
    # What was left out, what is still being built; one sentence each.
    notes: tuple[str, ...] = ()

    @property
    def pages(self) -> int:
        """Return how many pages there are."""
        return max(1, -(-len(self.hits) // limits.SEARCH_PAGE))


def page_of(found: Found, number: int) -> tuple[str, JsonObject]:
    """Return a page in words for the model, and as data for the person."""
    if not 1 <= number <= found.pages:
        raise BadArgument(f"There is no page {number}; the last search has {found.pages}.", "NO_SUCH_PAGE")
    start = (number - 1) * limits.SEARCH_PAGE
    hits = found.hits[start : start + limits.SEARCH_PAGE]
    lines = [_heading(found, number), *_body(hits), *found.notes]
    if number < found.pages:
        lines.append(f"For more: get_search_results with page {number + 1}.")
    data: JsonObject = {
        "search": {
            "what": found.what,
            "unit": found.unit,
            "total": len(found.hits),
            "more": found.more,
            "page": number,
            "pages": found.pages,
            "hits": [_plain(hit) for hit in hits],
            "notes": list(found.notes),
        }
    }
    return "\n".join(lines), data


def cut(text: str, start: int = 0, end: int = 0) -> str:
    """Return a line short enough to show, around the place that matters."""
    most = limits.SEARCH_LINE_CHARS
    if len(text) <= most:
        return text
    begin = max(0, min(start, end - most // 2, len(text) - most)) if start > most // 2 else 0
    piece = text[begin : begin + most]
    return f"{'…' if begin else ''}{piece}{'…' if begin + most < len(text) else ''}"


def _heading(found: Found, number: int) -> str:
    total = len(found.hits)
    if not total:
        return f"No {found.unit} for {found.what}."
    files = len({hit.path for hit in found.hits})
    count = f"{'More than ' if found.more else ''}{total:,} {plural(found.unit, total)}"
    inside = f" in {files:,} {plural('file', files)}" if found.unit != "file" else ""
    page = f" (page {number} of {found.pages})" if found.pages > 1 else ""
    return f"{count}{inside} for {found.what}{page}:"


def plural(unit: str, count: int) -> str:
    """Return a unit as it is said with a number."""
    if count == 1:
        return unit
    if unit.endswith("y"):
        return f"{unit[:-1]}ies"
    return f"{unit}es" if unit.endswith("ch") else f"{unit}s"


def counted(count: int, unit: str) -> str:
    """Return a number with its unit."""
    return f"{count:,} {plural(unit, count)}"


def _body(hits: tuple[Hit, ...]) -> list[str]:
    lines: list[str] = []
    for path, group in groupby(hits, key=lambda hit: hit.path):
        lines.append(path)
        for hit in group:
            if hit.line:
                span = f"{hit.line}-{hit.last}" if hit.last > hit.line else f"{hit.line}"
                label = f" [{hit.label}]" if hit.label else ""
                column = f":{hit.column}" if hit.column else ""
                lines.append(f"  {span}{column}:{label} {hit.text}")
    return lines


def _plain(hit: Hit) -> JsonObject:
    plain: JsonObject = {"path": hit.path}
    if hit.line:
        plain |= {"line": hit.line, "text": hit.text}
    if hit.last > hit.line:
        plain["last"] = hit.last
    if hit.label:
        plain["label"] = hit.label
    if hit.column:
        plain["column"] = hit.column
    return plain
