"""HTML as pieces of text and names of tags, in time that grows with the page: the standard parser's does not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

_NAME = re.compile(r"/?[a-zA-Z][a-zA-Z0-9:-]{0,30}")
# What stands in these is no markup, up to their end.
_RAW = frozenset({"script", "style", "textarea", "title", "iframe", "noscript", "template"})
_RAW_END = re.compile(r"</(script|style|textarea|title|iframe|noscript|template)", re.IGNORECASE)
# A sign that ends a tag may stand in a quoted value; so many of them are passed over.
_QUOTED_ENDS = 8


def pieces(page: str) -> Iterator[tuple[str, str]]:
    """Yield what a page is made of: ("", text), ("p", its attributes) for a beginning, ("/p", "") for an end."""
    at, size, last = 0, len(page), page.rfind(">")
    while at < size:
        begin = page.find("<", at)
        # Behind the last sign that could end a tag, there are none.
        if begin < 0 or begin > last:
            yield "", unescape(page[at:])
            return
        if begin > at:
            yield "", unescape(page[at:begin])
        named = _NAME.match(page, begin + 1)
        if named is None:
            at = _passed_over(page, begin)
            if at == begin + 1:
                yield "", "<"
            continue
        at = _end_of_tag(page, named.end())
        name = named[0].lower()
        yield name, "" if name.startswith("/") else page[named.end() : at - 1]
        if name in _RAW:
            until = _raw_end(page, name, at)
            yield "", unescape(page[at:until]) if name in ("title", "textarea") else ""
            at = until


def _passed_over(page: str, begin: int) -> int:
    """Return where to go on after a comment or a declaration; a sign that begins neither is text."""
    if page.startswith("<!--", begin):
        end = page.find("-->", begin + 4)
        return end + 3 if end >= 0 else len(page)
    if page.startswith(("<!", "<?"), begin):
        return page.find(">", begin) + 1
    return begin + 1


def _end_of_tag(page: str, at: int) -> int:
    """Return where a tag is over; one whose quotes never end is over at its first sign for that."""
    first = end = page.find(">", at)
    for _ in range(_QUOTED_ENDS):
        inside = page[at:end]
        if inside.count('"') % 2 == 0 or end < 0:
            break
        end = page.find(">", end + 1)
    return (end if end >= 0 else first) + 1


def _raw_end(page: str, name: str, at: int) -> int:
    ends = (found.start() for found in _RAW_END.finditer(page, at) if found[1].lower() == name)
    return next(ends, len(page))
