"""Gets pages: through the guarded way out, one at a time from each host, within a time and a size.

A page that sends on to another host is not followed there: who may be asked is decided for each host, and many hosts
send whoever asks on to any other, with what the address says.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit
from weakref import WeakValueDictionary

from pilothouse import __version__
from pilothouse.helper.client import Helper, Unreadable
from pilothouse.net.addresses import Place, is_public, literal, place_of
from pilothouse.net.errors import NetError
from pilothouse.net.reply import Reply
from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.web.reading import Readable, Sent, readable
from pilothouse.types import limits
from pilothouse.types.invisible import on_one_line
from pilothouse.types.origins import is_loopback_host

_HEADERS = {
    "user-agent": f"Pilothouse/{__version__} (reads a page because a person's agent asked for it)",
    "accept": "text/html, application/xhtml+xml, text/markdown, text/plain, application/json;q=0.9, */*;q=0.1",
}
_TEXTS = ("application/json", "application/xml", "application/xhtml+xml", "application/javascript", "application/yaml")
_WORDS = {
    400: "does not understand the address",
    401: "wants a sign-in",
    402: "wants to be paid",
    403: "refuses to show it, to programs at least",
    404: "has no such page",
    410: "has that page no more",
    429: "asks for a pause",
    451: "must not show it",
}


class Kept(NamedTuple):
    """A page that was read, and where it was in the end."""

    url: str
    page: Readable
    content_type: str
    # Whether the server sent more than was read.
    cut: bool


class Target(NamedTuple):
    """An address that is to be read."""

    url: str
    place: Place
    # Whether the person named it as one of their own network.
    own: bool


class Pages:
    """Reads pages, and keeps the last ones so that their rest can be read."""

    def __init__(self, helper: Helper, own: Callable[[], str]) -> None:
        """Take a helper process for pages alone, and the addresses inside that the person allows."""
        self._helper = helper
        self._own = own
        self._kept: OrderedDict[tuple[str, str], Kept] = OrderedDict()
        # While one page of a host is read, others wait.
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def target(self, written: str) -> Target:
        """Return which address is meant; raise BadArgument for what is none."""
        if len(written) > limits.WEB_URL_CHARS:
            raise BadArgument(f"An address has at most {limits.WEB_URL_CHARS:,} characters.", "BAD_URL")
        url = written.strip().replace(" ", "%20")
        if "://" not in url:
            url = f"https://{url}"
        try:
            place = place_of(url)
            if place.scheme not in ("http", "https"):
                raise NetError("url", "it is not a web address")
        except NetError as error:
            raise BadArgument(f"“{on_one_line(written[:200])}” cannot be read: {error.why}.", "BAD_URL") from None
        return Target(urlsplit(url)._replace(fragment="").geturl(), place, self._is_own(place))

    def _is_own(self, place: Place) -> bool:
        return place.authority in self._own().lower().replace(",", " ").split()

    def kept(self, run_id: str, url: str) -> Kept | None:
        """Return a page that this run has read."""
        return self._kept.get((run_id, url))

    async def read(self, run_id: str, target: Target) -> Kept:
        """Get a page and keep it; raise BadArgument with one sentence for what cannot be had."""
        host = target.place.authority
        turn = self._turns.setdefault(host, asyncio.Lock())
        async with turn:
            try:
                async with asyncio.timeout(limits.WEB_TIME):
                    sent, cut = await self._get(target)
            except TimeoutError:
                raise BadArgument(f"{host} did not send the page within {limits.WEB_TIME:g} s.", "NO_ANSWER") from None
            except NetError as error:
                raise BadArgument(f"{host} cannot be read: {error.why}.", error.problem.upper()) from None
        try:
            page = await asyncio.to_thread(self._helper.ask, readable, sent, limits.WEB_READ_TIME)
        except Unreadable as error:
            raise BadArgument(f"The page {sent.address} cannot be read: {error.why}.", "UNREADABLE") from None
        kept = Kept(sent.address, page, sent.content_type, cut)
        self._kept[(run_id, target.url)] = kept
        self._kept.move_to_end((run_id, target.url))
        while len(self._kept) > limits.WEB_PAGES_KEPT:
            self._kept.popitem(last=False)
        return kept

    async def _get(self, target: Target) -> tuple[Sent, bool]:
        """Return what an address has, and whether there was more; redirects on the same host are followed."""
        # It takes long to import, and few conversations read a page.
        from pilothouse.net import guarded  # noqa: PLC0415

        url = target.url
        for _ in range(limits.REDIRECTS + 1):
            near = url if self._is_own(place_of(url)) else ""
            async with guarded.open_once(url, headers=_HEADERS, near=near) as reply:
                location = reply.header("location")
                if reply.status not in guarded.REDIRECTING or not location:
                    return await _taken(url, target.place.host, reply)
            url = self._followed(url, location, target)
        raise NetError("refused", f"it sent us on more than {limits.REDIRECTS} times")

    def _followed(self, url: str, location: str, target: Target) -> str:
        """Return where to go on; raise BadArgument where that is another host, or without encryption."""
        following = urljoin(url, location[: limits.WEB_URL_CHARS].strip().replace(" ", "%20"))
        here, there = place_of(url), place_of(following)
        if there.scheme not in ("http", "https"):
            raise NetError("refused", "it sent us on to something that is no web address")
        if here.scheme == "https" and there.scheme != "https":
            raise NetError("refused", "it sent us on to an address without encryption")
        # Only ports that the address itself could have meant.
        ports = here.port == there.port or {(here.scheme, here.port), (there.scheme, there.port)} == _USUAL
        if _bare(here.host) != _bare(there.host) or not ports:
            if _is_inside(there) and not self._is_own(there):
                raise NetError("refused", f"it sent us on to {there.host}, which is inside your network")
            message = f"{target.place.authority} sends on to another host: {on_one_line(following)}"
            raise BadArgument(f"{message} If that is wanted, fetch that address.", "OTHER_HOST")
        return urlsplit(following)._replace(fragment="").geturl()


_USUAL = {("http", 80), ("https", 443)}


def _is_inside(place: Place) -> bool:
    """Return whether an address says by itself that it leads inside; of a name nobody is asked here."""
    address = literal(place.host)
    return is_loopback_host(place.host) or (address is not None and not is_public(address))


def _bare(host: str) -> str:
    return host.removeprefix("www.")


async def _taken(url: str, host: str, reply: Reply) -> tuple[Sent, bool]:
    if reply.status >= 400:
        said = _WORDS.get(reply.status, "failed" if reply.status >= 500 else "refuses")
        raise BadArgument(f"{host} {said} (status {reply.status}).", f"HTTP_{reply.status}")
    content_type = on_one_line(reply.header("content-type"))[:200]
    kind = content_type.partition(";")[0].strip().lower()
    if kind and not (kind.startswith("text/") or kind in _TEXTS or kind.endswith(("+json", "+xml"))):
        raise BadArgument(_no_text(url, kind), "NOT_TEXT")
    body = await reply.read(limits.WEB_BYTES + 1, None)
    if not kind and b"\0" in body[:1024]:
        raise BadArgument(_no_text(url, "something that is no text"), "NOT_TEXT")
    return Sent(url, content_type, body[: limits.WEB_BYTES]), len(body) > limits.WEB_BYTES


def _no_text(url: str, kind: str) -> str:
    if kind == "application/pdf":
        return f"{url} is a PDF, which is no page. As a file it can be imported as a document."
    if kind.startswith("image/"):
        return f"{url} is a picture ({kind}), which has no text."
    return f"{url} is {kind}, which is no page to read."
