"""The rooms of the MCP servers as a person uses them, with servers that do as a test says."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.async_api import BrowserContext, Locator, Page, expect

from tests.browser.studio import Studio
from tests.support.mcp_servers import SCRIPTED
from tests.support.waiting import until

ECHO = {
    "name": "echo",
    "title": "Echo",
    "description": "Gives back what it is given.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "What to give back."},
            "times": {"type": "integer", "minimum": 1},
            "loud": {"type": "boolean"},
        },
        "required": ["text"],
    },
}
FAIL = {"name": "fail", "description": "Fails.", "inputSchema": {"type": "object"}}


def command(*options: str | Path, starter: Path = SCRIPTED) -> str:
    """Return the command line of a scripted server."""
    return shlex.join([sys.executable, str(starter), *map(str, options)])


def write_tools(path: Path, *tools: object) -> Path:
    """Write the tools that a scripted server offers from its next list on."""
    path.write_text(json.dumps(tools), encoding="utf-8")
    return path


async def switch(control: Locator, on: bool) -> None:
    """Turn a switch as a person does: once it can be turned. Its input lies hidden under what is drawn."""
    await expect(control).to_be_enabled()
    await control.set_checked(on, force=True)


class Rooms:
    """The settings and rooms of one tab."""

    def __init__(self, page: Page, studio: Studio) -> None:
        self.page = page
        self.studio = studio
        self.section = page.get_by_role("region", name="MCP servers")
        self.toolbar = page.get_by_role("toolbar", name="MCP servers")
        self.dialog = page.get_by_role("dialog")

    async def settings(self) -> None:
        """Go to the list of servers."""
        await self.page.goto(f"{self.studio.url}/settings/mcp")
        await self.toolbar.wait_for()

    def row(self, name: str) -> Locator:
        return self.section.get_by_role("listitem", name=name, exact=True)

    def chip(self, name: str) -> Locator:
        return self.row(name).locator("[data-state]")

    async def select(self, name: str) -> Locator:
        """Open a server's row; one that was just added is open."""
        row = self.row(name)
        await expect(self.dialog).to_have_count(0)
        await row.wait_for()
        if await row.get_by_role("button", expanded=True).count() == 0:
            await row.get_by_role("button", expanded=False).click()
        return row

    async def by_hand(self) -> None:
        """Open the form with all options."""
        await self.toolbar.get_by_role("button", name="Add a server").click()
        await self.dialog.get_by_role("button", name="Enter it by hand").click()

    async def add(self, line: str, name: str) -> None:
        """Fill the form and send it."""
        await self.by_hand()
        await self.dialog.get_by_label("Command or address").fill(line)
        await self.dialog.get_by_role("textbox", name="Name", exact=True).fill(name)
        await self.dialog.get_by_role("button", name="Add", exact=True).click()

    async def connected(self, name: str, tools: int) -> None:
        words = f"Connected ({tools} {'tool' if tools == 1 else 'tools'})"
        await expect(self.chip(name)).to_have_text(words)

    async def close_dialog(self) -> None:
        await self.dialog.get_by_role("button", name="Close").click()
        await expect(self.dialog).to_have_count(0)


async def open_rooms(studio: Studio, context: BrowserContext) -> Rooms:
    """Open another tab in the settings of the servers."""
    chat = await studio.open(context, "/settings/mcp")
    made = Rooms(chat.page, studio)
    await made.toolbar.wait_for()
    return made


def server_of(studio: Studio, name: str) -> Any:
    """Return a server as the API tells it."""
    servers = studio.server.get("/api/servers")["servers"]
    return next(server for server in servers if server["name"] == name)


def mortal(path: Path, grave: Path) -> Path:
    """Write a program that is a scripted server until there is a grave for it."""
    path.write_text(
        "import pathlib, runpy, sys\n"
        f"if pathlib.Path({str(grave)!r}).exists():\n    sys.exit(3)\n"
        f"runpy.run_path({str(SCRIPTED)!r}, run_name='__main__')\n",
        encoding="utf-8",
    )
    return path


def start_mcp_server(studio: Studio, name: str, options: Sequence[str | Path] = (), starter: Path = SCRIPTED) -> Any:
    """Add a server through the API, agree to its command, and wait until it is connected."""
    body = {"name": name, "commandLine": command(*options, starter=starter)}
    made = studio.server.post("/api/servers", body, status=201)
    studio.server.post(f"/api/servers/{made['id']}/consent", {"fingerprint": made["consent"]["fingerprint"]})

    def connected() -> Any:
        server = server_of(studio, name)
        return server if server["state"] == "connected" else None

    return until(connected, f"{name} to be connected", 20.0)


def content_of(path: Path) -> bytes | None:
    """The content of a file; nothing of a folder, nor of a file that went away meanwhile."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, IsADirectoryError):
        return None


def stored_text(studio: Studio) -> str:
    """Return the content of every file in the data folder."""
    found = map(content_of, list(studio.home.rglob("*")))
    return "\n".join(content.decode(errors="replace") for content in found if content is not None)
