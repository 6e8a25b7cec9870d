"""Whether a page fits into the width of its window."""

from __future__ import annotations

from playwright.async_api import Page

from tests.support.waiting import eventually

FITS = "document.documentElement.scrollWidth <= innerWidth"


async def fits(page: Page) -> None:
    """Wait until nothing sticks out sideways: a page hears of its new width a moment after its window has it.

    Asked again from here: a wait inside the page evaluates its words there, which the page's own policy forbids.
    """

    async def look() -> bool:
        return bool(await page.evaluate(FITS))

    await eventually(look, "a page that does not scroll sideways")
