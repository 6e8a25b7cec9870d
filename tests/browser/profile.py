"""The browser profile that tests share one after the other: what the page's programs compile to stays in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, BrowserContext, CDPSession, Frame, Page

# An empty page of the servers' site, that no server has to serve.
KEEPER = "http://127.0.0.1:9/keeper"
LASTING = "cookies,local_storage,indexeddb,cache_storage,service_workers,websql,file_systems"


def tabs(context: BrowserContext) -> list[Page]:
    """Return the pages that a test has opened, or that were opened without its doing."""
    return [page for page in context.pages if page.url != KEEPER]


class Profile:
    """A browser profile which is put back after each test as a new one would be.

    A page in it stays open, and with it the process that draws all pages of its site (`--process-per-site`): what that
    process has read and compiled of the page, each test after the first one need not read and compile again.
    """

    def __init__(self, browser: Browser, settings: Mapping[str, Any]) -> None:
        self._browser = browser
        self._settings = settings
        self._context: BrowserContext | None = None
        self._keeper: Page | None = None
        self._session: CDPSession | None = None
        self._origins: set[str] = set()

    async def take(self) -> BrowserContext:
        """Return the profile, with no page open in it but the one that keeps it warm."""
        if self._context is None:
            self._context = await self._browser.new_context(**self._settings)
            self._keeper = await self._context.new_page()
            await self._keeper.route(KEEPER, lambda route: route.fulfill(body="", content_type="text/html"))
            await self._keeper.goto(KEEPER)
            await self._keeper.unroute_all()
            self._session = await self._context.new_cdp_session(self._keeper)
            self._context.on("page", lambda page: page.on("framenavigated", self._visited))
        return self._context

    def _visited(self, frame: Frame) -> None:
        parts = urlsplit(frame.url)
        if parts.netloc:
            self._origins.add(f"{parts.scheme}://{parts.netloc}")

    async def put_back(self) -> None:
        """Close the pages of a test and forget what they have kept."""
        assert self._context is not None
        assert self._session is not None
        for page in self._context.pages:
            if page != self._keeper:
                await page.close()
        await self._context.set_offline(False)
        await self._context.unroute_all()
        await self._context.clear_permissions()
        await self._context.clear_cookies()
        for origin in self._origins:
            await self._session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": LASTING})
        self._origins.clear()

    async def close(self) -> None:
        """Forget the profile; the next one is new."""
        if self._context is not None:
            await self._context.close()
        self._context = None
