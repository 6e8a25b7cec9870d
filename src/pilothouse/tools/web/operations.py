"""The operations of `web_operations`: reading a page, and searching."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from pilothouse.tools.arguments import BadArgument, failed, optional_int, require_string, success
from pilothouse.tools.consolidated import Operation
from pilothouse.types import limits
from pilothouse.types.access import Access, Effect, Taint
from pilothouse.types.authority import PAGES
from pilothouse.types.invisible import on_one_line
from pilothouse.types.json import JsonObject
from pilothouse.types.lazy import Lazy
from pilothouse.types.ports import CallContext, CallFeedback, CallTimes, ToolOutput
from pilothouse.types.tool_names import WEB

# ruff: noqa: PLC0415 - every model is offered them, and few conversations read a page.
if TYPE_CHECKING:
    from pilothouse.tools.web.chosen import ChosenService
    from pilothouse.tools.web.pages import Kept
    from pilothouse.tools.web.parts import WebParts
    from pilothouse.tools.web.searching import Hit

_STRANGE: frozenset[Taint] = frozenset({"untrusted"})
# What comes from inside the person's network is theirs.
_OWN: frozenset[Taint] = frozenset({"untrusted", "private"})
_READS: frozenset[Effect] = frozenset({"reads"})
_SENDS: frozenset[Effect] = frozenset({"sends"})
_NUMBER = re.compile(r"\[(\d{1,4})\]")


class Fetch(Operation):
    """Reads a page as text."""

    name = "fetch"
    doing = "Reading a page"
    icon = "globe"
    effects = _SENDS
    properties: ClassVar[JsonObject] = {
        "url": {"type": "string", "description": "fetch: the address of the page."},
        "start": {"type": "integer", "description": "fetch: the character to go on at, for the rest of a long page."},
    }

    def __init__(self, web: Lazy[WebParts]) -> None:
        self._web = web

    @property
    def times(self) -> CallTimes:
        return CallTimes(limits.WEB_CALL_TIME)

    def about(self, arguments: Mapping[str, object]) -> str:
        return on_one_line(str(arguments.get("url") or ""))[: limits.WEB_LINK_CHARS]

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        """Return which host would be asked; the rest of a page that this run has read asks nobody."""
        pages = self._web().pages
        target = pages.target(require_string(arguments, "url"))
        operation, host = f"{WEB}.{self.name}", target.place.authority
        brings = _OWN if target.own else _STRANGE
        if _start(arguments) and pages.kept(context.run_id, target.url) is not None:
            return Access(operation=operation, effects=_READS, brings=brings, source=f"{PAGES}{host}")
        return Access(
            operation=operation,
            effects=_SENDS,
            destination=host,
            payload_bytes=len(target.url.encode()),
            brings=brings,
            source=f"{PAGES}{host}",
        )

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Read it."""
        pages = self._web().pages
        target, start = pages.target(require_string(arguments, "url")), _start(arguments)
        kept = pages.kept(context.run_id, target.url) if start else None
        if kept is None and context.access is not None and not context.access.destination:
            raise BadArgument("That page is not kept any more: fetch it again.", "NOT_KEPT")
        kept = kept or await pages.read(context.run_id, target)
        # Three fifths are for the text; links, at most half as much, and notes take the rest.
        room = min(limits.WEB_PAGE_CHARS, max(context.result_room * 3 // 5, limits.WEB_PAGE_LEAST))
        return success(_page(kept, start, room), {"url": kept.url, "title": kept.page.title})


def _start(arguments: Mapping[str, object]) -> int:
    return max(0, optional_int(arguments, "start", 0))


def _page(kept: Kept, start: int, room: int) -> str:
    """Return a part of a page with what there is to know about it."""
    page = kept.page
    if start and start >= len(page.text):
        raise BadArgument(f"The page has {len(page.text):,} characters: there is nothing at {start:,}.", "AT_ITS_END")
    end = _ended(page.text, start, start + room)
    shown = page.text[start:end]
    links = _links(page.links, shown, room // 2)
    head = f"{page.title or 'A page without a title'}\n{kept.url}"
    parts = [head, shown or "(There is no text on this page.)", f"Links:\n{links}" if links else "", *_notes(kept, end)]
    return "\n\n".join(part for part in parts if part)


def _links(all_links: Sequence[str], shown: str, room: int) -> str:
    """Return the addresses behind the numbers in a text, as many as there is room for."""
    lines: list[str] = []
    for number in sorted({int(found) for found in _NUMBER.findall(shown)}):
        if not 0 < number <= len(all_links):
            continue
        line = f"[{number}] {all_links[number - 1]}"
        room -= len(line) + 1
        if room < 0 or len(lines) == limits.WEB_LINKS_SHOWN:
            return "\n".join([*lines, "… and more: a smaller part of the page shows the others."])
        lines.append(line)
    return "\n".join(lines)


def _ended(text: str, start: int, end: int) -> int:
    """Return where a part ends: at the end of a line, if there is one near."""
    if end >= len(text):
        return len(text)
    line = text.rfind("\n", start + (end - start) * 4 // 5, end)
    return line + 1 if line > 0 else end


def _notes(kept: Kept, end: int) -> list[str]:
    page, notes = kept.page, []
    if end < len(page.text):
        notes.append(f"Cut at character {end:,} of {len(page.text):,}. Go on with the same url and start {end}.")
    elif page.cut or kept.cut:
        notes.append("The page is longer than what is read of one: the rest was left out.")
    if page.sends_on:
        notes.append(f"The page sends a browser on to {page.sends_on}.")
    if page.hidden:
        notes.append(f"{page.hidden:,} characters that no reader of the page sees were left out.")
    return [f"[{' '.join(notes)}]"] if notes else []


class Search(Operation):
    """Searches the web."""

    name = "search"
    doing = "Searching the web"
    icon = "search"
    effects = _SENDS
    properties: ClassVar[JsonObject] = {
        "query": {"type": "string", "description": "search: a few words."},
        "count": {"type": "integer", "description": f"search: how many hits, {limits.WEB_SEARCH_HITS} by default."},
    }

    def __init__(self, web: Lazy[WebParts], is_chosen: Callable[[], bool]) -> None:
        self._web = web
        self._is_chosen = is_chosen

    @property
    def _service(self) -> ChosenService:
        return self._web().search

    @property
    def is_offered(self) -> bool:
        """Return whether there is a service, and nothing is known to be wrong with it."""
        return self._is_chosen() and not self._service.problem

    @property
    def times(self) -> CallTimes:
        return CallTimes(limits.WEB_CALL_TIME)

    def about(self, arguments: Mapping[str, object]) -> str:
        return on_one_line(str(arguments.get("query") or ""))[: limits.WEB_SEARCH_QUERY_CHARS]

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        """Return which service would be asked."""
        query = _query(arguments)
        if problem := self._service.problem:
            raise BadArgument(f"The web cannot be searched: {problem}", "NOT_OFFERED")
        return Access(
            operation=f"{WEB}.{self.name}",
            effects=_SENDS,
            destination=self._service.host,
            payload_bytes=len(query.encode()),
            brings=_STRANGE,
            source=f"{PAGES}{self._service.host}",
        )

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Search."""
        from pilothouse.tools.web.chosen import ServiceTrouble
        from pilothouse.tools.web.searching import search

        if context.access is not None and context.access.destination != self._service.host:
            raise BadArgument("The service that searches was changed meanwhile: search again.", "CHANGED")
        query, count = _query(arguments), optional_int(arguments, "count", limits.WEB_SEARCH_HITS)
        try:
            hits = await search(self._service, query, min(max(1, count), limits.WEB_SEARCH_HITS_MOST))
        except ServiceTrouble as trouble:
            return failed(trouble.sentence, "SEARCH_FAILED")
        return success(_listed(hits) if hits else "Nothing was found.")


def _query(arguments: Mapping[str, object]) -> str:
    query = " ".join(require_string(arguments, "query").split())
    if not query or len(query) > limits.WEB_SEARCH_QUERY_CHARS:
        raise BadArgument(f"`query` is a few words, at most {limits.WEB_SEARCH_QUERY_CHARS} characters.")
    return query


def _listed(hits: Sequence[Hit]) -> str:
    lines = (f"{number}. {hit.title}\n{hit.url}\n{hit.snippet}" for number, hit in enumerate(hits, 1))
    return "\n\n".join(line.rstrip() for line in lines)
