"""Menus of the page."""

from __future__ import annotations

from playwright.async_api import Page, expect


async def close_menu(page: Page) -> None:
    """Close the open menu with Escape, once it has taken the focus: before that the key does not reach it."""
    await expect(page.locator("[role=menu]:focus-within")).to_have_count(1)
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("menu")).to_have_count(0)
