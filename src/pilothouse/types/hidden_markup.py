"""Which elements of a page nobody sees, and where elements end that say no end: for all who read HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from pilothouse.types import limits

# They have no end.
VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})
# A start of one of these ends an open one of the same kind, as browsers have it.
CLOSES: Mapping[str, frozenset[str]] = {
    "li": frozenset({"li"}),
    "p": frozenset({"p"}),
    "td": frozenset({"td", "th"}),
    "th": frozenset({"td", "th"}),
    "tr": frozenset({"td", "th", "tr"}),
    "dt": frozenset({"dt", "dd"}),
    "dd": frozenset({"dt", "dd"}),
    "option": frozenset({"option"}),
}
_HIDING = (
    *("display:none", "visibility:hidden", "visibility:collapse", "opacity:0;", "font-size:0;", "font-size:0px"),
    *("left:-99", "top:-99", "text-indent:-99", "clip:rect(0", "max-height:0;", "height:0;"),
)


def is_hidden(given: Mapping[str, str]) -> bool:
    """Return whether an element with these attributes is one that nobody sees."""
    if "hidden" in given or given.get("aria-hidden", "").lower() == "true":
        return True
    style = given.get("style", "")
    if not style:
        return False
    written = "".join(style[: limits.WEB_LINK_CHARS].lower().split()) + ";"
    return any(way in written for way in _HIDING)


def is_near(outwards: Iterable[str], old: str, new: str) -> bool:
    """Return whether an open element is ended by a new one: not through a list or table that stands between.

    The open elements are given from the innermost outwards, and only so many are looked at.
    """
    walls = ("ul", "ol", "table") if new in ("li", "td", "th", "tr") else ("div", "td", "section")
    for name in islice(outwards, limits.WEB_DEPTH):
        if name == old:
            return True
        if name in walls:
            return False
    return False
