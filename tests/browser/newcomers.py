"""Someone who uses the page for the first time, and counts."""

from __future__ import annotations

from typing import Any

from playwright.async_api import Locator, Page, expect

from tests.browser.studio import Studio


class Hand:
    """Clicks and counts."""

    def __init__(self) -> None:
        self.clicks = 0

    async def click(self, what: Locator) -> None:
        self.clicks += 1
        await what.click()


async def first_call(studio: Studio, page: Page, hand: Hand, step: dict[str, Any]) -> None:
    """Have a model call a tool in a new conversation, and allow it."""
    await hand.click(page.get_by_role("button", name="New", exact=True))
    studio.script([step], "It was done.")
    await page.get_by_role("textbox", name="Message").fill("Do it")
    await page.keyboard.press("Control+Enter")
    await hand.click(page.locator("[data-dock]").get_by_role("button", name="Allow", exact=True))
    await expect(page.get_by_role("region", name="Conversation")).to_contain_text("It was done.")
