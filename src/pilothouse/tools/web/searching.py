"""Searches the web by the service that the person has: how each is asked, and what its hits are."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from urllib.parse import urlencode

import msgspec

from pilothouse.tools.web.chosen import ChosenService, ServiceTrouble
from pilothouse.types import limits
from pilothouse.types.invisible import on_one_line
from pilothouse.types.json import JsonObject

# What services put around the words that were looked for.
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>")


class Hit(msgspec.Struct, frozen=True):
    """One page that was found."""

    title: str
    url: str
    snippet: str


class _Asking(msgspec.Struct, frozen=True):
    """How a service is asked, and under which names its hits tell what they are."""

    path: Callable[[str, int], str]
    key: Callable[[str], Mapping[str, str]]
    content: Callable[[str, int], JsonObject] | None
    # Where the list stands in an answer, and what of a hit is its text.
    hits: tuple[str, ...]
    snippet: str


_SERVICES: Mapping[str, _Asking] = {
    "brave": _Asking(
        path=lambda query, count: f"/res/v1/web/search?{urlencode({'q': query, 'count': count})}",
        key=lambda key: {"x-subscription-token": key},
        content=None,
        hits=("web", "results"),
        snippet="description",
    ),
    "tavily": _Asking(
        path=lambda _query, _count: "/search",
        key=lambda key: {"authorization": f"Bearer {key}"},
        content=lambda query, count: {"query": query, "max_results": count},
        hits=("results",),
        snippet="content",
    ),
    "exa": _Asking(
        path=lambda _query, _count: "/search",
        key=lambda key: {"x-api-key": key},
        content=lambda query, count: {
            "query": query,
            "numResults": count,
            "contents": {"text": {"maxCharacters": limits.WEB_SEARCH_SNIPPET_CHARS}},
        },
        hits=("results",),
        snippet="text",
    ),
    "searxng": _Asking(
        path=lambda query, _count: f"/search?{urlencode({'q': query, 'format': 'json'})}",
        key=lambda key: {"authorization": f"Bearer {key}"},
        content=None,
        hits=("results",),
        snippet="content",
    ),
}


async def search(service: ChosenService, query: str, count: int) -> list[Hit]:
    """Return what a search finds, the best first; raise ServiceTrouble with one sentence."""
    asking = _SERVICES.get(service.choice.kind)
    if asking is None or service.row is None:
        raise ServiceTrouble("No service that searches the web is chosen.")
    key = await service.key()
    found: object = await service.ask(
        asking.path(query, count),
        headers=asking.key(key) if key else {},
        content=asking.content(query, count) if asking.content else None,
    )
    for name in asking.hits:
        # Brave leaves the whole list out where there is nothing.
        found = found.get(name, []) if isinstance(found, dict) else found
    if not isinstance(found, list):
        raise ServiceTrouble(f"{service.row.name} at {service.host} answered with something that is no list of hits.")
    hits = (_hit(each, asking.snippet) for each in found if isinstance(each, dict))
    return [hit for hit in hits if hit is not None][:count]


def _hit(raw: JsonObject, snippet: str) -> Hit | None:
    url = raw.get("url")
    if not isinstance(url, str) or not url.startswith(("http://", "https://")) or len(url) > limits.WEB_LINK_CHARS:
        return None
    title = _plain(raw.get("title"), limits.WEB_TITLE_CHARS)
    return Hit(title or on_one_line(url), on_one_line(url), _plain(raw.get(snippet), limits.WEB_SEARCH_SNIPPET_CHARS))


def _plain(text: object, most: int) -> str:
    """Return a text of a hit on one line, without marks."""
    if not isinstance(text, str):
        return ""
    # Cut before it is looked through: some services send whole pages.
    words = on_one_line(html.unescape(_TAG.sub("", text[: most * 4])))
    return words if len(words) <= most else f"{words[:most]}…"
