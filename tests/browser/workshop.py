"""A conversation with a folder of its own, and what stands beside the chat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.async_api import BrowserContext, Locator, Page, expect

from tests.browser.studio import Chat, Studio, Turn


def files(operation: str, **arguments: Any) -> dict[str, Any]:
    """A step of a script: the model works on files."""
    return {"call": "file_operations", "arguments": {"operation": operation, **arguments}}


def todos(operation: str, **arguments: Any) -> dict[str, Any]:
    """A step of a script: the model keeps its list."""
    return {"call": "todo_operations", "arguments": {"operation": operation, **arguments}}


class Workshop:
    """One tab at a conversation that has a folder."""

    def __init__(self, studio: Studio, chat: Chat, folder: Path) -> None:
        self.studio = studio
        self.chat = chat
        self.page: Page = chat.page
        self.folder = folder
        self.panel = self.page.get_by_role("complementary", name="Panel")

    def card(self, words: str) -> Locator:
        """The newest row of a call by its tool's name or some of its words."""
        return self.chat.step(words)

    def let(self, text: str, *turns: Turn) -> None:
        """Let the model answer a message like this."""
        steps = [list(turn) if isinstance(turn, list) else [turn] for turn in turns]
        self.studio.script(*({"match": text, "steps": one} for one in steps))

    async def dark(self) -> None:
        """Turn the light off, and wait until it is."""
        await self.page.emulate_media(color_scheme="dark")
        await expect(self.page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")

    async def say(self, text: str, *turns: Turn) -> None:
        """Send a message that the model answers like this, and wait until all is said."""
        self.let(text, *turns)
        await self.chat.ask(text)

    async def show(self, tab: str) -> Locator:
        """Open the panel with one of its tabs."""
        if not await self.panel.count():
            await self.page.get_by_role("button", name="Panel", exact=True).click()
        await self.panel.get_by_role("tab", name=tab).click()
        return self.panel.get_by_role("tabpanel")


def _make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)


async def open_workshop(studio: Studio, context: BrowserContext, folder: Path, **settings: Any) -> Workshop:
    """Open a new conversation that works in this folder."""
    _make(folder)
    body = {"title": "Workshop", "settings": {"workingDirectory": str(folder), "mode": "auto_edit", **settings}}
    made = studio.server.post("/api/conversations", body, 201)
    chat = await studio.open(context, f"/c/{made['id']}")
    await expect(chat.page.get_by_role("banner")).to_contain_text(folder.name)
    return Workshop(studio, chat, folder)
