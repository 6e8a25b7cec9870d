"""Makes text of what a web server sent; carried out in the helper process, since a stranger wrote it."""

from __future__ import annotations

import msgspec

from pilothouse.tools.web.letters import text_of
from pilothouse.types import limits
from pilothouse.types.invisible import whole, without_escapes, without_hidden

_HTML = ("text/html", "application/xhtml+xml")
# What begins a page of which nobody said what it is.
_BEGINNINGS = ("<!doctype html", "<html")
# Letters without width between others spell what nobody sees.
_WIDTHLESS = dict.fromkeys(map(ord, "\u200b\u2060\ufeff\u00ad\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"))


class Sent(msgspec.Struct, frozen=True, array_like=True):
    """What came from an address."""

    address: str
    content_type: str
    body: bytes


class Readable(msgspec.Struct, frozen=True, array_like=True):
    """A page as a model reads it."""

    title: str
    text: str
    # The addresses of its links, number 1 first.
    links: list[str]
    # Characters that no reader of the page sees, and that are left out.
    hidden: int = 0
    # Whether there was more text than is kept.
    cut: bool = False
    # Whether menus and the like were left out.
    trimmed: bool = False
    # Where the page itself would send a browser.
    sends_on: str = ""


def readable(sent: Sent) -> Readable:
    """Return a page as text with its links."""
    text = text_of(sent.body, sent.content_type)
    kind = sent.content_type.partition(";")[0].strip().lower()
    if kind in _HTML or (not kind and text.lstrip()[:20].lower().startswith(_BEGINNINGS)):
        return _of_html(sent.address, text)
    clean, hidden = _clean(text)
    kept = clean[: limits.WEB_TEXT_CHARS]
    return Readable("", kept.strip(), [], hidden, len(clean) > len(kept))


def _of_html(address: str, text: str) -> Readable:
    from pilothouse.tools.web.html_text import Reading  # noqa: PLC0415

    reading = Reading(address)
    # In pieces, so that a page of which enough is there is not read to its end.
    for start in range(0, len(text), limits.TEXT_PIECE):
        if reading.blocks.is_full:
            break
        reading.feed(text[start : start + limits.TEXT_PIECE])
    reading.end()
    written, trimmed = reading.blocks.written()
    clean, hidden = _clean(written)
    hidden += reading.hidden
    cut = reading.blocks.is_full
    return Readable(_clean(reading.title)[0], clean, reading.links, hidden, cut, trimmed, reading.sends_on)


def _clean(text: str) -> tuple[str, int]:
    """Return text without what nobody reads, and how many characters that were."""
    said, hidden = without_hidden(without_escapes(whole(text)))
    clean = said.translate(_WIDTHLESS)
    return clean, hidden + len(said) - len(clean)
