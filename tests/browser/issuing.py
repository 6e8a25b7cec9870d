"""A server that wants a sign-in, and its issuer with a page of its own at another site, as a person meets them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import escape
from typing import Any
from urllib.parse import urlencode

from playwright.async_api import BrowserContext, Page, expect

from tests.browser.approving import add_any
from tests.browser.studio import Studio
from tests.support.fake_issuer import Issuer, OneTool, start_protected_server
from tests.support.tiny_http import Answer, Request
from tests.support.waiting import eventually

HTML = {"content-type": "text/html; charset=utf-8"}


class Sites:
    """The server, and the issuer's page, where one allows or denies."""

    def __init__(self, server: OneTool, issuer: Issuer) -> None:
        self.server = server
        self.issuer = issuer
        # Another site than Pilothouse's: its redirect comes without our cookies.
        self.host = issuer.url.replace("http://127.0.0.1", "localhost")
        self.issuer.about = {"authorization_endpoint": f"http://{self.host}/authorize"}
        # What a person who denies is sent back with.
        self.denial = {"error": "access_denied"}
        issuer.instead["/authorize"] = self._authorize

    def _authorize(self, asked: Request) -> Answer:
        match asked.query.get("decision"):
            case "allow":
                return self.issuer.answer(asked)
            case "deny":
                back = {"state": asked.query["state"], **self.denial}
                return Answer(302, b"", {"location": f"{asked.query['redirect_uri']}?{urlencode(back)}"})
        links = [
            f'<a href="?{escape(urlencode({**asked.query, "decision": word.lower()}))}">{word}</a>'
            for word in ("Allow", "Deny")
        ]
        page = f"<!doctype html><html lang=en><title>Issuer</title><link rel=icon href=data:,>{' '.join(links)}"
        return Answer(200, page.encode(), HTML)

    async def add(self, studio: Studio) -> Any:
        """Add the server, and wait until it says that it wants a sign-in."""
        made = await asyncio.to_thread(add_any, studio, {"name": "One", "commandLine": self.server.mcp})
        await self.until(studio, "needs_sign_in")
        return made

    async def until(self, studio: Studio, state: str) -> None:
        """Wait until the server is so; the sites go on meanwhile."""

        async def there() -> bool:
            found = await asyncio.to_thread(studio.server.get, "/api/servers")
            return bool(found["servers"][0]["state"] == state)

        await eventually(there, f"the server to be {state}")

    def spoil(self) -> None:
        """Make every token worthless."""
        self.issuer.valid.clear()
        self.issuer.refreshable.clear()

    async def leave(self, page: Page, context: BrowserContext) -> Page:
        """Go on to the issuer, as the dialog offers it; return the new tab."""
        async with context.expect_page() as opening:
            await page.get_by_role("dialog").get_by_role("link", name=f"Continue to {self.host}").click()
        tab = await opening.value
        await expect(tab.get_by_role("link", name="Allow")).to_be_visible()
        return tab


@asynccontextmanager
async def sites() -> AsyncIterator[Sites]:
    """Both of them, on ports of their own."""
    async with start_protected_server(OneTool) as (server, issuer):
        assert isinstance(server, OneTool)
        yield Sites(server, issuer)
