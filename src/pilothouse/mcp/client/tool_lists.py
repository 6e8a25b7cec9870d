"""Asking a server for its tools: page by page, within bounds, and the long way round for gateways."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from pilothouse.mcp.client.jsonrpc import BadAnswer, RpcError
from pilothouse.types import limits
from pilothouse.types.json import JsonObject, encode

Request = Callable[[str, JsonObject], Awaitable[JsonObject]]
_LISTS = ("tools", "items", "data")
_CURSORS = ("nextCursor", "next", "cursor", "next_cursor")
_SCHEMAS = ("inputSchema", "input_schema", "parameters")


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


def tools_of(result: JsonObject) -> list[object] | None:
    """Return the entries of a page of tools, or None when it has none of the known shapes."""
    return next((found for key in _LISTS if isinstance(found := result.get(key), list)), None)


def cursor_of(result: JsonObject) -> str | None:
    """Return where the next page begins; None at the end."""
    found = next((result[key] for key in _CURSORS if result.get(key)), None)
    return str(found) if isinstance(found, str | int) and not isinstance(found, bool) else None


def tool_of(entry: object) -> JsonObject:
    """Return one tool under the names of the specification; what is missing is empty."""
    if not isinstance(entry, dict):
        return {"name": "", "description": "", "inputSchema": {"type": "object"}, "unreadable": True}
    tool = {key: value for key, value in entry.items() if key not in _SCHEMAS}
    schema: object = next((entry[key] for key in _SCHEMAS if entry.get(key) is not None), {})
    tool["description"] = entry.get("description") or ""
    # A schema that is none is left as it is: whoever checks tools says what is wrong with it.
    tool["inputSchema"] = {"type": "object", **schema} if isinstance(schema, dict) else schema
    return tool


def server_names(result: JsonObject) -> list[str]:
    """Return the names in a gateway's list of servers."""
    listed = next((found for key in ("servers", "items", "data") if isinstance(found := result.get(key), list)), [])
    names = (entry.get("name") if isinstance(entry, dict) else entry for entry in listed)
    return [name for name in names if isinstance(name, str) and name]
