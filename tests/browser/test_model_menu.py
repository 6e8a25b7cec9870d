"""Choosing a model: what it reads and what it costs is seen before it answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.support.axe import serious_problems
from tests.support.live_server import LiveServer, live_server


@pytest.fixture
def server(home: Path) -> Iterator[LiveServer]:
    """A server with a model of which much is known."""
    claude = {"name": "Claude", "provider": "anthropic-compatible", "model": "claude-opus-4-5"}
    with live_server(home, models={"defaultModelId": "claude", "models": {"claude": claude}}) as running:
        yield running


@pytest.mark.case("MOD-20")
async def test_the_window_and_the_prices_are_shown_where_a_model_is_chosen(server: LiveServer, page: Page) -> None:
    window, prices = "200K context", "$5 in, $25 out per 1M tokens"
    await server.open(page, "/")
    await page.get_by_role("button", name="Model: Claude").click()
    await expect(page.get_by_role("menuitemradio", name="Claude")).to_contain_text(f"{window} · {prices}")
    await server.open(page, "/settings/models")
    card = page.get_by_role("listitem", name="Claude", exact=True)
    await expect(card).to_contain_text(f"{window} • Thinking ✓ • Images ✓ • {prices}")


@pytest.mark.parametrize("size", [(1280, 640), (390, 844)], ids=str)
async def test_however_many_models_there_are_and_however_they_are_called_each_can_be_chosen(
    home: Path, page: Page, size: tuple[int, int]
) -> None:
    names = [f"Model {number}" for number in range(20)] + ["A" * 120]
    models = {
        f"m{place}": {"name": name, "provider": "anthropic-compatible", "model": "m"}
        for place, name in enumerate(names)
    }
    await page.set_viewport_size({"width": size[0], "height": size[1]})
    with live_server(home, models={"defaultModelId": "m0", "models": models}) as server:
        await server.open(page, "/")
        await page.get_by_role("button", name="Model: Model 0").click()
        await expect(page.get_by_role("menuitem", name="Manage Models")).to_be_in_viewport(ratio=1)
        last = page.get_by_role("menuitemradio", name=names[-1])
        await last.scroll_into_view_if_needed()
        await expect(last).to_be_in_viewport(ratio=1)
        assert await last.evaluate("item => item.scrollWidth <= item.clientWidth")
        await last.click()
        await expect(last).to_have_count(0)
        await page.get_by_role("button", name=f"Model: {names[-1]}").click()
        await expect(page.get_by_role("menu")).to_have_css("opacity", "1")
        assert await serious_problems(page) == []
        await page.close()
