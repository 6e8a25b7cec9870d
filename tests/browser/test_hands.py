"""A whole task in a real repository: searched, read, edited, tested, mended, committed, and undone by one click."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Locator, expect

from tests.browser.answering import agree, button
from tests.browser.shop_repository import COMMAND, PRICES, REPORT, make_shop, mending
from tests.browser.studio import Studio
from tests.support.repositories import git


async def allow(card: Locator, label: str = "Allow") -> None:
    """Press a choice of a card."""
    await agree(button(card, label))


@pytest.mark.timeout(180)
async def test_an_agent_mends_a_repository_in_sight_and_with_leave_and_one_click_undoes_it(
    own: Studio, browser_context: BrowserContext, tmp_path: Path
) -> None:
    folder = await asyncio.to_thread(make_shop, tmp_path / "shop")
    own.script(*mending())
    settings = {"workingDirectory": str(folder), "mode": "ask"}
    made = own.server.post("/api/conversations", {"title": "The shop", "settings": settings}, 201)
    chat = await own.open(browser_context, f"/c/{made['id']}")
    await chat.send("The total is wrong. Mend it, test it and commit it.")
    waiting = chat.dock.get_by_role("region", name="Approval")
    # Reading and searching asked nothing. The two edits are of the same shape: one card, each with its diff.
    await expect(waiting).to_contain_text("Allow 2 calls of file_operations.replace_string")
    await waiting.get_by_role("button", name="shop/prices.py").click()
    await expect(waiting).to_contain_text("price + count")
    assert (folder / "shop/prices.py").read_text() == PRICES, "nothing happens before the answer"
    await allow(waiting, "Allow these 2")
    await expect(waiting).to_contain_text(COMMAND)
    await allow(waiting)
    # The tests failed, so there is another edit, the tests again, and the commit with what it contains.
    await expect(waiting).to_contain_text("price * count")
    await allow(waiting)
    await expect(waiting).to_contain_text(COMMAND)
    await allow(waiting)
    await expect(waiting).to_contain_text("Counts matter")
    await expect(waiting).to_contain_text("shop/report.py")
    await allow(waiting)
    await expect(chat.answers.last).to_contain_text("it is committed")
    await chat.finished()
    assert git(folder, "log", "--format=%s").splitlines() == ["Counts matter", "A shop"]
    assert git(folder, "status", "--porcelain") == ""
    assert "price * count" in (folder / "shop/prices.py").read_text()
    await chat.page.get_by_role("button", name="Undo all changes of this run").click()
    await expect(chat.timeline).to_contain_text("All changes of this run are undone")
    assert (folder / "shop/prices.py").read_text() == PRICES
    assert (folder / "shop/report.py").read_text() == REPORT
