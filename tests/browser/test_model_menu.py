"""Choosing a model: what it reads and what it costs is seen before it answers."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import Page, expect

from tests.browser.axe import serious_problems
from tests.browser.menus import close_menu
from tests.support.servers import Server


async def test_however_many_models_there_are_and_however_they_are_called_each_can_be_chosen(
    home: Path, page: Page
) -> None:
    names = [f"Model {number}" for number in range(20)] + ["A" * 120]
    models = {
        f"m{place}": {"name": name, "provider": "anthropic-compatible", "model": "m"}
        for place, name in enumerate(names)
    }
    with Server(home, models={"defaultModelId": "m0", "models": models}) as server:
        await server.open(page, "/")
        chosen = names[0]
        for window in ({"width": 1280, "height": 640}, {"width": 390, "height": 844}):
            await page.set_viewport_size(window)  # type: ignore[arg-type]
            await page.get_by_role("button", name=f"Model: {chosen}").click()
            await expect(page.get_by_role("menuitem", name="Manage Models")).to_be_in_viewport(ratio=1)
            last = page.get_by_role("menuitemradio", name=names[-1])
            await last.scroll_into_view_if_needed()
            await expect(last).to_be_in_viewport(ratio=1)
            assert await last.evaluate("item => item.scrollWidth <= item.clientWidth")
            await last.click()
            await expect(last).to_have_count(0)
            chosen = names[-1]
            await page.get_by_role("button", name=f"Model: {chosen}").click()
            await expect(page.get_by_role("menu")).to_have_css("opacity", "1")
            assert await serious_problems(page) == []
            await close_menu(page)
        await page.close()
