"""A tab that many tests use one after the other: loading the page costs more than most of what they do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser.approving import Reviewer, new_conversation
from tests.browser.console import Console
from tests.browser.rooms import Rooms
from tests.browser.studio import Chat, Studio
from tests.support.servers import Server

PATIENCE_MS = 20_000
VIEWPORT = {"width": 1280, "height": 800}
# As a link inside the page does it.
GO = "path => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')) }"
# Where nothing is that a test leaves open, and nothing that takes long to draw.
ELSEWHERE = "/topics"
# What the server of such a tab finds in its environment when it starts.
IN_THE_ENVIRONMENT = {"NOTES_OF_MINE": "pasted-by-nobody"}


async def go(page: Page, path: str) -> None:
    """Go to another place of the page without loading it anew."""
    await page.evaluate(GO, path)


class KeptTab:
    """A browser profile with one tab; whoever has it next finds nothing open in it."""

    def __init__(self, chromium: Browser) -> None:
        self._chromium = chromium
        self._context: BrowserContext | None = None
        self._page: Page | None = None

    async def close(self) -> None:
        """Forget the profile; the next one to ask gets a new one."""
        if self._context is not None:
            await self._context.close()
        self._context = self._page = None

    @asynccontextmanager
    async def lent(self, console: Console, session: pytest.Session) -> AsyncIterator[BrowserContext]:
        """The profile, for one test; what a test opens besides is closed, and after a failure all of it."""
        failed = session.testsfailed
        if self._context is None:
            self._context = await self._chromium.new_context(viewport=VIEWPORT, reduced_motion="reduce")  # type: ignore[arg-type]
            self._context.set_default_timeout(PATIENCE_MS)
        context = self._context
        for page in context.pages:
            console.watch(page)
        context.on("page", console.watch)
        yield context
        context.remove_listener("page", console.watch)
        if session.testsfailed != failed:
            await self.close()
        for page in [page for page in context.pages if page is not self._page]:
            await page.close()

    async def at(self, studio: Studio | Server, path: str = "/") -> Page:
        """Return the tab at a place, as one who comes there for the first time finds it."""
        assert self._context is not None, "it is lent to a test"
        if self._page is None or self._page.is_closed():
            self._page = await self._context.new_page()
            await self._page.goto(f"{studio.url}{path}#code={studio.code()}")
            await expect(_connection(self._page)).to_have_text("connected")
            return self._page
        page = self._page
        await page.set_viewport_size(VIEWPORT)  # type: ignore[arg-type]
        await page.emulate_media(color_scheme="light", reduced_motion="reduce")
        await page.mouse.move(0, 0)
        # The page remembers which conversation was open, and would lead back to it.
        await go(page, "/")
        await expect(page.locator("[data-kind]")).to_have_count(0)
        await go(page, ELSEWHERE)
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await go(page, path)
        await expect(_connection(page)).to_have_text("connected")
        return page

    async def chat(self, studio: Studio, path: str = "/") -> Chat:
        """Return the tab as one chats in it."""
        return Chat(await self.at(studio, path), studio)

    async def rooms(self, studio: Studio) -> Rooms:
        """Return the tab in the settings of the servers."""
        made = Rooms(await self.at(studio, "/settings/mcp"), studio)
        await made.toolbar.wait_for()
        count = len(studio.server.get("/api/servers")["servers"])
        await expect(made.section.get_by_role("listitem")).to_have_count(count)
        return made

    async def reviewer(self, studio: Studio, title: str | None = None, **settings: Any) -> Reviewer:
        """Return the tab at the start or, with a title, at a new conversation with settings of its own."""
        place = "/" if title is None else new_conversation(studio, title, settings)
        return Reviewer(studio, await self.chat(studio, place))


@asynccontextmanager
async def keeping(chromium: Browser) -> AsyncIterator[KeptTab]:
    """Such a tab, closed at the end."""
    tab = KeptTab(chromium)
    try:
        yield tab
    finally:
        await tab.close()


def _connection(page: Page) -> Locator:
    return page.get_by_role("banner").get_by_role("status")


async def remove_servers(studio: Studio) -> None:
    """Leave no MCP server behind; what they speak to goes on meanwhile."""

    def remove() -> None:
        for server in studio.server.get("/api/servers")["servers"]:
            studio.server.client.delete(f"/api/servers/{server['id']}").raise_for_status()

    await asyncio.to_thread(remove)
