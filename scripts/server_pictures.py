"""The pictures of MCP servers: their list, a consent, the tools, the status, the traffic."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from playwright.async_api import expect

from tests.browser.rooms import Rooms, server_of, switch
from tests.browser.studio import Chat, Studio
from tests.support.mcp_servers import SCRIPTED
from tests.support.waiting import until

Keep = Callable[[Chat, str], Awaitable[None]]

# Where most systems have one; the consent shows it.
PYTHON = "/usr/bin/python3"
TEXT = {"type": "string"}


def tool(name: str, description: str, properties: dict[str, Any], required: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a tool as a server lists it."""
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": description, "inputSchema": schema}


QUERY = {"type": "string", "description": "Words that the note has."}
NOTES = (
    tool(
        "search_notes",
        "Finds notes by their words and returns their titles, newest first.",
        {"query": QUERY, "limit": {"type": "integer", "minimum": 1, "default": 10}, "archived": {"type": "boolean"}},
        ("query",),
    ),
    tool("read_note", "Returns one note as Markdown.", {"title": TEXT}, ("title",)),
    tool("write_note", "Writes a note; one of the same title is replaced.", {"title": TEXT, "text": TEXT}, ("title",)),
    tool("list_tags", "Lists the tags with how often each is used.", {}),
)
FOUND = {"notes": [{"title": "Knots for the mooring", "tags": ["sailing"]}, {"title": "Tide tables", "tags": []}]}
ANSWERS = {
    "search_notes": json.dumps(FOUND),
    "read_note": "# Tide tables\n\nHigh water at 06:12 and 18:40.",
    "list_tags": "sailing 4, cooking 2",
}


def write_server(
    folder: Path, name: str, tools: tuple[Any, ...], *options: str, answers: Mapping[str, str] = ANSWERS
) -> str:
    """Write a server's program and return the command that starts it."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = folder / f"{name}.tools.json"
    listed.write_text(json.dumps(tools), encoding="utf-8")
    program = folder / f"{name}.py"
    program.write_text(
        f"import json, runpy, sys, time\n"
        f"sys.argv[1:] = {['--tools', str(listed), *options]!r}\n"
        f"sys.path.insert(0, {str(SCRIPTED.parent)!r})\n"
        f"import scripted\n"
        f"for name, text in {dict(answers)!r}.items():\n"
        f"    def answer(self, number, params, text=text):\n"
        f"        time.sleep(0.004 + len(json.dumps(params)) * 0.0002)\n"
        f"        return text\n"
        f"    setattr(scripted.Server, 'do_' + name, answer)\n"
        f"scripted.main()\n",
        encoding="utf-8",
    )
    return shlex.join([PYTHON, str(program)])


def add(studio: Studio, name: str, line: str, *, agree: bool = True, **fields: Any) -> Any:
    """Add a server, agree to its command, and wait until it came to rest."""
    place = "url" if line.startswith("http") else "commandLine"
    made = studio.server.post("/api/servers", {"name": name, place: line, **fields}, 201)
    if agree and made["consent"]:
        studio.server.post(f"/api/servers/{made['id']}/consent", {"fingerprint": made["consent"]["fingerprint"]})
        until(lambda: server_of(studio, name)["state"] in {"connected", "error"}, f"{name} to rest", 30.0)
    return made


def calls(studio: Studio, server_id: str) -> None:
    """Call the tools often enough for a plot."""
    for number in range(60):
        name = ("search_notes", "read_note", "search_notes", "list_tags")[number % 4]
        arguments = {"search_notes": {"query": "tide " * (1 + number % 9)}, "read_note": {"title": "Tide tables"}}
        given = arguments.get(name, {})
        studio.server.post("/api/tools/try", {"serverId": server_id, "tool": name, "arguments": given})
        time.sleep(0.1)
    studio.server.post("/api/tools/try", {"serverId": server_id, "tool": "write_note", "arguments": {"title": "x"}})


async def take(chat: Chat, folder: Path, keep: Keep, phone: tuple[int, int]) -> None:
    """Add servers of every kind and take all pictures of them."""
    studio, rooms = chat.studio, Rooms(chat.page, chat.studio)
    notes = add(studio, "Notes", write_server(folder, "notes", NOTES, "--say", "Serving 128 notes."))
    weather = write_server(folder, "weather", (), "--start", "exit", "--code", "1", "--say", "WEATHER_KEY is not set")
    add(studio, "Weather", weather)
    add(studio, "Issues", "https://mcp.example.com/mcp", enabled=False)
    line = f"{write_server(folder, 'calendar', ())} --account ada@example.com --read-only"
    add(studio, "Calendar", line, agree=False, env={"CALENDAR_KEY": "x"}, cwd=str(folder))
    calls(studio, notes["id"])
    await rooms.settings()
    await (await rooms.select("Calendar")).get_by_role("button", name="Review and start").click()
    await expect(rooms.dialog).to_be_visible()
    await keep(chat, "consent")
    await rooms.dialog.get_by_role("button", name="Not now").click()
    await rooms.select("Notes")
    await rooms.toolbar.scroll_into_view_if_needed()
    await chat.page.evaluate("document.activeElement.blur()")
    await keep(chat, "servers")
    await status(rooms, chat, keep)
    await traffic(rooms, chat, keep, notes["id"])
    await tools(rooms, chat, keep)
    await chat.page.set_viewport_size({"width": phone[0], "height": phone[1]})
    await rooms.settings()
    await keep(chat, "servers-phone")
    for server in studio.server.get("/api/servers")["servers"]:
        studio.server.client.delete(f"/api/servers/{server['id']}")


async def status(rooms: Rooms, chat: Chat, keep: Keep) -> None:
    """Show the plot and the table of calls."""
    await chat.go("/status")
    await expect(rooms.page.locator("canvas").first).to_be_visible()
    await keep(chat, "status")


async def traffic(rooms: Rooms, chat: Chat, keep: Keep, server_id: str) -> None:
    """Show messages, one of them open."""
    await chat.go("/traffic")
    await switch(rooms.page.get_by_role("switch", name="Record messages"), True)
    until(lambda: chat.studio.server.get("/api/traffic")["recording"], "recording", 5.0)
    for query in ("tide", "mooring", "anchor"):
        body = {"serverId": server_id, "tool": "search_notes", "arguments": {"query": query}}
        chat.studio.server.post("/api/tools/try", body)
    messages = rooms.page.get_by_role("list", name="Messages, newest first").locator("> li")
    await expect(messages).to_have_count(6)
    await messages.nth(1).get_by_role("button").first.click()
    await chat.page.evaluate("document.activeElement.blur()")
    await keep(chat, "traffic")


async def tools(rooms: Rooms, chat: Chat, keep: Keep) -> None:
    """Show the tools, one of them tried."""
    await chat.go("/tools")
    found = rooms.page.get_by_role("listitem", name="notes.search_notes")
    await found.get_by_role("button", expanded=False).first.click()
    await found.get_by_role("button", name="Try it").click()
    form = found.get_by_role("region", name="Try notes.search_notes")
    await form.get_by_label("query").fill("tide")
    await form.get_by_role("button", name="Run").click()
    await expect(form.get_by_role("status")).to_contain_text("Completed")
    await chat.page.evaluate("document.activeElement.blur()")
    await form.evaluate("element => element.scrollIntoView({block: 'center'})")
    await keep(chat, "tools")
