"""Asking a server for its tools: page by page, within bounds, and the long way round for gateways."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from pilothouse.mcp.normaliser import cursor_of, server_names, tool_of, tools_of
from pilothouse.mcp.peer import BadAnswer, RpcError
from pilothouse.types import limits
from pilothouse.types.json import JsonObject, encode

Request = Callable[[str, JsonObject], Awaitable[JsonObject]]


class ToolListing(msgspec.Struct):
    """The tools of a server, and how they were learned."""

    tools: list[JsonObject]
    pages: int = 0
    # What is worth a line in the server's log.
    notes: list[str] = msgspec.field(default_factory=list)
    # Why the list is not whole; empty when it is.
    cut: str = ""
    bytes: int = 0


async def list_tools(request: Request) -> ToolListing:
    """Return all tools, as far as a list may go; a gateway that lists none is asked server by server."""
    listing = ToolListing([])
    async with asyncio.timeout(limits.LIST_TIMEOUT):
        await _pages(request, {}, listing)
    if not listing.tools and not listing.cut:
        await _by_server(request, listing)
    pages = "1 page" if listing.pages == 1 else f"{listing.pages} pages"
    listing.notes.append(f"{len(listing.tools)} tools in {pages}")
    return listing


async def _pages(request: Request, params: JsonObject, listing: ToolListing) -> None:
    seen: set[str] = set()
    cursor: str | None = None
    while not listing.cut:
        page = await request("tools/list", {**params, "cursor": cursor} if cursor else params)
        if listing.pages == 0:
            listing.notes.append(f"tools/list answers with {', '.join(sorted(page)) or 'nothing'}")
        listing.pages += 1
        _take(page, listing)
        cursor = cursor_of(page)
        if cursor is None:
            return
        listing.notes.append(f"next page at {cursor[:40]!r}")
        if cursor in seen:
            listing.cut = "The server's list of tools goes round in circles."
        elif listing.pages >= limits.LIST_PAGES:
            listing.cut = f"The server's list of tools has more than {limits.LIST_PAGES} pages."
        seen.add(cursor)


def _take(page: JsonObject, listing: ToolListing) -> None:
    entries = tools_of(page)
    if entries is None:
        listing.notes.append(f"an unexpected shape of tools/list: {', '.join(sorted(page)) or 'empty'}")
        return
    for entry in entries:
        listing.bytes += len(encode(entry))
        if len(listing.tools) >= limits.LIST_TOOLS:
            listing.cut = f"The server offers more than {limits.LIST_TOOLS:,} tools."
            return
        if listing.bytes > limits.LIST_BYTES:
            listing.cut = f"The server's list of tools is larger than {limits.LIST_BYTES // 1024 // 1024} MB."
            return
        listing.tools.append(tool_of(entry))


async def _by_server(request: Request, listing: ToolListing) -> None:
    """Ask a gateway for its servers, and each of them for its tools."""
    try:
        async with asyncio.timeout(limits.SERVERS_LIST_TIMEOUT):
            names = server_names(await request("servers/list", {}))
    except TimeoutError:
        listing.cut = f"It did not list its servers within {limits.SERVERS_LIST_TIMEOUT:g} s."
        return
    except (RpcError, BadAnswer):
        return
    for name in names:
        if listing.cut:
            return
        async with asyncio.timeout(limits.LIST_TIMEOUT):
            await _pages(request, {"server": name}, listing)
