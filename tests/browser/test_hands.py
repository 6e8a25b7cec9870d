"""A whole task in a real repository: searched, read, edited, tested, mended, committed, and undone by one click."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Locator, expect

from tests.browser.studio import Studio
from tests.support.repository import COMMAND, PRICES, REPORT, git, make_repository, mending


async def allow(card: Locator, label: str = "Allow once") -> None:
    """Press a choice once it can be pressed."""
    button = card.get_by_role("button", name=label)
    await expect(button).to_be_enabled()
    await button.click()


@pytest.mark.timeout(180)
async def test_an_agent_mends_a_repository_in_sight_and_with_leave_and_one_click_undoes_it(
    own: Studio, context: BrowserContext, tmp_path: Path
) -> None:
    folder = await asyncio.to_thread(make_repository, tmp_path / "shop")
    own.script(*mending())
    settings = {"workingDirectory": str(folder)}
    made = own.server.post("/api/conversations", {"title": "The shop", "settings": settings}, 201)
    chat = await own.open(context, f"/c/{made['id']}")
    await chat.send("The total is wrong. Mend it, test it and commit it.")
    waiting = chat.timeline.get_by_role("region", name="Approval")
    # Reading and searching asked nothing; the two edits do, with their diffs.
    await expect(waiting.first).to_contain_text("shop/prices.py")
    await expect(waiting.first).to_contain_text("price + count")
    assert (folder / "shop/prices.py").read_text() == PRICES, "nothing happens before the answer"
    while await waiting.count():
        before = await waiting.count()
        await allow(waiting.first)
        await expect(waiting).not_to_have_count(before)
        if await waiting.filter(has_text=COMMAND).count():
            break
    await expect(waiting.first).to_contain_text(COMMAND)
    await allow(waiting.first)
    # The tests failed, so there is another edit, the tests again, and the commit with what it contains.
    await expect(waiting.first).to_contain_text("price * count")
    await allow(waiting.first)
    await expect(waiting.first).to_contain_text(COMMAND)
    await allow(waiting.first)
    await expect(waiting.first).to_contain_text("Counts matter")
    await expect(waiting.first).to_contain_text("shop/report.py")
    await allow(waiting.first)
    await expect(chat.answers.last).to_contain_text("it is committed")
    await chat.finished()
    assert git(folder, "log", "--format=%s").splitlines() == ["Counts matter", "A shop"]
    assert git(folder, "status", "--porcelain") == ""
    assert "price * count" in (folder / "shop/prices.py").read_text()
    await chat.page.get_by_role("button", name="Undo all changes of this run").click()
    confirm = chat.page.get_by_role("button", name="Undo", exact=True)
    if await confirm.count():
        await confirm.click()
    await expect(chat.timeline.get_by_text("Undone", exact=False).first).to_be_visible()
    assert (folder / "shop/prices.py").read_text() == PRICES
    assert (folder / "shop/report.py").read_text() == REPORT
