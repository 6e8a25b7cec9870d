"""HTML as text that a model reads: headings, lists, tables, code and numbered links, in the manner of Markdown.

Nothing here goes deeper the deeper a page is nested, and each tag is looked at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

from pilothouse.tools.web.blocks import Blocks
from pilothouse.types import limits
from pilothouse.types.hidden_markup import CLOSES, VOID, is_hidden, is_near
from pilothouse.types.invisible import on_one_line

# What a reader of the page does not see as text.
_UNSEEN = frozenset(
    {*("script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas", "select", "datalist")}
)
# What stands around every page of a site.
_AROUND = frozenset({"nav", "footer", "aside"})
_MAIN = frozenset({"main", "article"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(
    {
        *("address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dialog", "div", "dl", "dt"),
        *("fieldset", "figcaption", "figure", "footer", "form", "header", "legend", "main", "nav", "option", "p"),
        *("section", "summary", "table", "tbody", "thead", "tfoot", "caption", "ul", "ol", "pre", "li", "hr"),
    }
)  # fmt: skip


class Reading(HTMLParser):
    """Takes a page apart; `feed` it, `close` it, then ask `blocks`."""

    def __init__(self, address: str) -> None:
        super().__init__(convert_charrefs=True)
        self._base = address
        self.title = ""
        # Where the page itself would send a browser on.
        self.sends_on = ""
        self.links: list[str] = []
        self.hidden = 0
        self.blocks = Blocks()
        self._numbers: dict[str, int] = {}
        # Open elements, each with what it switched on.
        self._open: list[tuple[str, str]] = []
        self._opened: Counter[str] = Counter()
        self._on: Counter[str] = Counter()
        self._titling = False
        # The number of the link that is open, and where its words begin.
        self._link = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take an element up."""
        given = {name: value or "" for name, value in attrs}
        self._told(tag, given)
        for old in CLOSES.get(tag, ()):
            if self._opened[old] and is_near((name for name, _ in reversed(self._open)), old, tag):
                self.handle_endtag(old)
        if tag not in VOID:
            self._enter(tag, given)
        if self._is_seen:
            self._begin(tag, given)

    def handle_endtag(self, tag: str) -> None:
        """Leave an element, and what was left open in it."""
        if not self._opened[tag]:
            return
        while self._open:
            name, switched = self._open.pop()
            self._opened[name] -= 1
            if self._is_seen:
                self._end(name)
            self._switch(switched, -1)
            if name == "title":
                self._titling = False
            if name == tag:
                return

    def handle_data(self, data: str) -> None:
        """Take text."""
        if self._titling and len(self.title) < limits.WEB_TITLE_CHARS:
            self.title = f"{self.title}{data}"[: limits.WEB_TITLE_CHARS]
        elif self._on["hidden"]:
            self.hidden += len(data.strip())
        elif self._is_seen:
            self.blocks.text(data)

    def end(self) -> None:
        """Say that there is no more."""
        self.close()
        self.blocks.flush()
        self.title = on_one_line(self.title)

    @property
    def _is_seen(self) -> bool:
        return not (self._on["hidden"] or self._on["unseen"] or self._titling)

    def _enter(self, tag: str, given: Mapping[str, str]) -> None:
        switched = ""
        if tag in _UNSEEN:
            switched = "unseen"
        elif is_hidden(given):
            switched = "hidden"
        elif tag in _AROUND:
            switched = "around"
        elif tag in _MAIN or given.get("role") == "main":
            switched = "main"
        self._open.append((tag, switched))
        self._opened[tag] += 1
        self._switch(switched, 1)
        if tag == "title" and not self.title and not self._on["unseen"]:
            self._titling = True

    def _switch(self, what: str, by: int) -> None:
        """Count what is switched on; text before and after belongs to different parts of the page."""
        if not what:
            return
        self._on[what] += by
        if what in ("hidden", "unseen"):
            return
        self.blocks.flush()
        self.blocks.where = "main" if self._on["main"] else "around" if self._on["around"] else "page"

    def _told(self, tag: str, given: Mapping[str, str]) -> None:
        """Take what an element says about the page."""
        if tag == "base" and given.get("href"):
            self._base = _joined(self._base, given["href"]) or self._base
        elif tag == "meta" and given.get("http-equiv", "").lower() == "refresh":
            _, _, target = given.get("content", "").partition("=")
            if target and len(target) <= limits.WEB_LINK_CHARS:
                self.sends_on = _joined(self._base, target.strip(" '\""))

    def _begin(self, tag: str, given: Mapping[str, str]) -> None:
        blocks = self.blocks
        if tag in _HEADINGS:
            blocks.heading(_HEADINGS[tag])
        elif tag in ("ul", "ol"):
            blocks.open_list(numbered=tag == "ol")
        elif tag == "a":
            self._link = self._number(given.get("href", ""))
        elif tag == "img":
            if alt := on_one_line(given.get("alt", ""))[: limits.WEB_TITLE_CHARS]:
                blocks.text(f" [picture: {alt}] ")
        elif tag in _SIMPLE:
            _SIMPLE[tag](blocks)
        elif tag in _BLOCKS:
            blocks.flush()

    def _end(self, tag: str) -> None:
        blocks = self.blocks
        if tag == "a" and self._link:
            blocks.mark(f" [{self._link}]")
            self._link = 0
        elif tag in ("ul", "ol"):
            blocks.close_list()
        elif tag in _ENDING:
            _ENDING[tag](blocks)
        elif tag in _BLOCKS or tag in _HEADINGS:
            blocks.flush()

    def _number(self, href: str) -> int:
        """Return the number of an address, 0 where it leads nowhere that could be read."""
        if not href or href.startswith("#") or len(href) > limits.WEB_LINK_CHARS:
            return 0
        address = _joined(self._base, href)
        if address and address not in self._numbers and len(self.links) < limits.WEB_LINKS:
            self.links.append(address)
            self._numbers[address] = len(self.links)
        return self._numbers.get(address, 0)


_SIMPLE = {
    "li": Blocks.item,
    "br": Blocks.newline,
    "hr": Blocks.rule,
    "pre": Blocks.open_code,
    "code": Blocks.tick,
    "blockquote": Blocks.open_quote,
    "tr": Blocks.open_row,
    "td": Blocks.open_cell,
    "th": Blocks.open_cell,
    "table": Blocks.open_table,
}
_ENDING = {
    "pre": Blocks.close_code,
    "code": Blocks.tick,
    "blockquote": Blocks.close_quote,
    "tr": Blocks.close_row,
    "table": Blocks.close_table,
}


def _joined(base: str, href: str) -> str:
    """Return where a link leads, without the place on the page; nothing for what is no web address."""
    try:
        address = urljoin(base, href.strip())
        parts = urlsplit(address)
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not parts.netloc or len(address) > limits.WEB_LINK_CHARS:
        return ""
    return on_one_line(parts._replace(fragment="").geturl())
