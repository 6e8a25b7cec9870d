"""What is at work where, in the settings: the processes, and the answers at work and waiting, each with a stop."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Locator, expect

from tests.browser.axe import serious_problems
from tests.browser.comparing import LOOKS, look
from tests.browser.console import Console
from tests.browser.kept import go
from tests.browser.studio import Chat, Studio
from tests.browser.width import fits


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Studio]:
    """A server that works on one conversation at a time."""
    with Studio(tmp_path / "home", {"runs_at_once": 1}) as studio:
        yield studio


@pytest_asyncio.fixture(loop_scope="session")
async def busy(served: Studio, browser_context: BrowserContext) -> Chat:
    """A tab at the operation, while one answer is held and another waits for its slot."""
    hold = served.hold()
    served.script([{"text": "An answer that takes its time.", **hold.after_each(3)}], loop=True)
    for text in ("The first question of all", "Another one that has to wait"):
        conversation = served.server.post("/api/conversations", {}, 201)["id"]
        served.server.post(f"/api/conversations/{conversation}/messages", {"text": text}, 202)
    return await served.open(browser_context, "/settings/operation")


def rows(chat: Chat) -> Locator:
    return chat.page.get_by_role("region", name="Your answers at work and waiting").get_by_role("listitem")


async def test_processes_and_answers_are_shown_with_who_works_on_what_in_every_window_and_colour(busy: Chat) -> None:
    page = busy.page
    await expect(page.get_by_role("tab", name="Operation", selected=True)).to_be_visible()
    await expect(page.get_by_text("1 answer at work, 1 waiting for a slot.")).to_be_visible()
    process = page.get_by_role("region", name="Table of processes").get_by_role("row").nth(1)
    await expect(process).to_contain_text("Page and work")
    await expect(process).to_contain_text("1 of 1")
    await expect(process).to_contain_text("0.1.0")
    await expect(rows(busy)).to_have_count(2)
    await expect(rows(busy).nth(0)).to_contain_text(re.compile(r"The first question of all.*At work · for .* on "))
    await expect(rows(busy).nth(1)).to_contain_text(re.compile("Another one that has to wait.*Waiting for a slot"))
    for window, colours in LOOKS:
        await look(busy, window, colours)
        await expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", colours)
        await fits(page)
        assert not await serious_problems(page)


async def test_a_server_that_is_away_is_told_and_a_row_leads_to_its_conversation_and_stops_its_answer(
    busy: Chat, console: Console
) -> None:
    page = busy.page
    console.expect("ERR_FAILED")
    await expect(rows(busy)).to_have_count(2)
    await page.route("**/api/processes", lambda route: route.abort())
    away = page.get_by_role("alert").filter(has_text="cannot be reached")
    await expect(away).to_be_visible()
    # What was known stays in sight.
    await expect(rows(busy)).to_have_count(2)
    await page.unroute("**/api/processes")
    await expect(away).to_have_count(0)
    await rows(busy).nth(0).get_by_role("link", name="The first question of all").click()
    await expect(page).to_have_url(re.compile("/c/"))
    await expect(page.get_by_text("The first question of all").first).to_be_visible()
    await go(page, "/settings/operation")
    await rows(busy).nth(0).get_by_role("button", name="Stop The first question of all").click()
    await expect(rows(busy)).to_have_count(1)
    # The next one begins.
    await expect(rows(busy).nth(0)).to_contain_text(re.compile("Another one that has to wait.*At work"))
    await rows(busy).nth(0).get_by_role("button", name=re.compile("Stop")).click()
    await expect(page.get_by_text("Nothing is at work, and nothing waits.")).to_be_visible()
    await expect(page.get_by_text("0 answers at work, 0 waiting for a slot.")).to_be_visible()
