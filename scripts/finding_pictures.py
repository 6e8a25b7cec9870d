"""The pictures of finding servers: the box, what a search found, what is filled in, and what other programs have."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import BrowserContext, expect

from tests.browser.finding import Finder
from tests.browser.rooms import Rooms
from tests.browser.studio import Chat, Studio
from tests.support.registry_server import (
    OfficialServer,
    SmitheryServer,
    npm,
    oci,
    official_entry,
    registry_addresses,
    remote,
    smithery_entry,
)

Keep = Callable[[Chat, str], Awaitable[None]]
Size = tuple[int, int]

FOLDERS = {
    "type": "positional",
    "valueHint": "folders",
    "description": "Folders with notes that it may read and write.",
    "format": "filepath",
    "isRequired": True,
    "isRepeated": True,
}
TOKEN = {"name": "NOTES_TOKEN", "description": "From your account page.", "isSecret": True, "isRequired": True}
NOTES = npm("@lighthouse/notes-mcp", "2.3.0", environmentVariables=[TOKEN], packageArguments=[FOLDERS])
OFFICIAL = (
    official_entry(
        "io.github.lighthouse/notes",
        "Search, read and write the notes of a folder, with tags and links.",
        title="Lighthouse Notes",
        version="2.3.0",
        packages=[NOTES, oci("ghcr.io/lighthouse/notes-mcp:2.3.0")],
    ),
    official_entry(
        "com.paperboat/account",
        "Read and write the notes of your Paperboat account.",
        title="Paperboat",
        version="1.0.4",
        remotes=[remote("https://mcp.paperboat.example/mcp")],
    ),
    official_entry(
        "io.github.oldquay/pinboard",
        "Write notes into a database of its own.",
        title="Pinboard",
        version="0.4.1",
        status="deprecated",
        meta={"statusMessage": "Use Lighthouse Notes."},
        packages=[npm("quay-pinboard", "0.4.1")],
    ),
)
SMITHERY = (
    smithery_entry(
        "@lighthouse/notes",
        "Search, read and write notes.",
        title="Lighthouse Notes",
        verified=True,
        uses=12_431,
    ),
    smithery_entry("@bosun/dictaphone", "Write notes by saying them.", title="Dictaphone", uses=842),
)
SETTINGS: dict[str, dict[str, Any]] = {
    ".cursor/mcp.json": {"notes": {"command": "npx"}, "charts": {"url": "https://charts.example/mcp"}},
    ".config/Claude/claude_desktop_config.json": {"tides": {"command": "uvx", "args": ["tides-mcp"]}},
}


@contextmanager
def _person(folder: Path, registries: str) -> Iterator[None]:
    """Someone with settings of other programs at home, and with these registries."""
    before = dict(os.environ)
    for name, servers in SETTINGS.items():
        path = folder / "ada" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    os.environ.update({"HOME": str(folder / "ada"), "PILOTHOUSE_REGISTRIES": registries})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@asynccontextmanager
async def studio_in(folder: Path) -> AsyncIterator[Studio]:
    """A product with registries that have something to show."""
    async with OfficialServer(OFFICIAL) as official, SmitheryServer(SMITHERY) as smithery:
        with _person(folder, registry_addresses(official=official, smithery=smithery)):
            studio = Studio(folder / "home")
        try:
            yield studio
        finally:
            studio.server.close()


async def take(studio: Studio, context: BrowserContext, keep: Keep, sizes: dict[str, Size]) -> None:
    """Take all pictures of finding servers."""
    chat = await studio.open(context, "/settings/mcp")
    finder = Finder(Rooms(chat.page, studio))
    await finder.open()
    await finder.ask("notes")
    # Who comes back later finds a copy that is whole.
    await expect(finder.options.filter(has_text="Official").first).to_be_visible()
    await finder.ask("write notes")
    await expect(finder.options).to_have_count(4)
    await expect(finder.dialog.get_by_text("being copied")).to_have_count(0)
    await chat.page.mouse.move(0, 0)
    await _everywhere(chat, keep, "finding", sizes)
    await finder.option("io.github.lighthouse/notes").click()
    await finder.configuring("Lighthouse Notes")
    await finder.dialog.get_by_role("group", name="Folders").get_by_role("textbox").fill("~/Documents/notes")
    await chat.page.evaluate("document.activeElement.blur()")
    await _everywhere(chat, keep, "finding-form", sizes)
    await finder.press("Back")
    await finder.box.fill("")
    await expect(finder.dialog.get_by_role("heading", name="More ways")).to_be_visible()
    await keep(chat, "finding-ways")
    await finder.dialog.get_by_role("button", name="Look on this machine").click()
    await expect(finder.dialog.get_by_role("listitem", name="Cursor")).to_be_visible()
    await finder.dialog.get_by_role("checkbox", name="tides").check()
    await chat.page.evaluate("document.activeElement.blur()")
    await keep(chat, "finding-machine")


async def _everywhere(chat: Chat, keep: Keep, name: str, sizes: dict[str, Size]) -> None:
    """Take a picture in the light, in the dark, and in windows of other sizes."""
    await keep(chat, name)
    await chat.page.emulate_media(color_scheme="dark")
    await keep(chat, f"{name}-dark")
    await chat.page.emulate_media(color_scheme="light")
    before = chat.page.viewport_size
    assert before is not None
    for each, size in sizes.items():
        await chat.page.set_viewport_size({"width": size[0], "height": size[1]})
        await keep(chat, f"{name}-{each}")
    await chat.page.set_viewport_size(before)
