"""The agent's list beside the chat: live, after a reload, by keys and on a phone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, expect

from tests.browser.axe import serious_problems
from tests.browser.studio import Studio
from tests.browser.width import fits
from tests.browser.workshop import Workshop, open_workshop, todos
from tests.web.scenes import TODOS

PHONE = {"width": 360, "height": 740}


@pytest_asyncio.fixture(loop_scope="session")
async def workshop(studio: Studio, browser_context: BrowserContext, tmp_path: Path) -> Workshop:
    """A conversation that has a folder."""
    return await open_workshop(studio, browser_context, tmp_path / "boat")


def write() -> dict[str, Any]:
    return todos("write", todoList=TODOS)


@pytest.mark.case("TOD-17")
async def test_while_a_run_works_a_chip_beside_the_box_says_how_far_it_is(workshop: Workshop) -> None:
    workshop.studio.script([write()], ["word " * 10, workshop.studio.hold().step])
    await workshop.chat.send("Plan and talk")
    chip = workshop.page.get_by_role("button", name="1 of 4 todos done, now: Mend the hull")
    await expect(chip).to_contain_text("1 of 4")
    await chip.click()
    await expect(workshop.panel).to_contain_text("1 of 4 done")
    await workshop.chat.stop.click()
    await workshop.chat.finished()
    await expect(chip).to_have_count(0)


async def test_the_panel_is_reached_by_keys_is_remembered_and_is_a_sheet_on_a_phone(workshop: Workshop) -> None:
    await workshop.say("Plan", [write()], "Planned.")
    page = workshop.page
    await page.keyboard.press("Alt+p")
    await expect(workshop.panel).to_be_visible()
    edge = page.get_by_role("separator", name="Width of the panel")
    await expect(edge).to_have_attribute("aria-valuenow", re.compile(r"\d+"))
    before = int(await edge.get_attribute("aria-valuenow") or 0)
    await edge.focus()
    await page.keyboard.press("ArrowLeft")
    await expect(edge).to_have_attribute("aria-valuenow", str(before + 24))
    await page.reload()
    await expect(workshop.panel).to_contain_text("1 of 4 done")
    await page.keyboard.press("Alt+p")
    await expect(workshop.panel).to_have_count(0)
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await page.get_by_role("button", name="Panel", exact=True).click()
    sheet = page.get_by_role("dialog", name="Panel")
    await expect(sheet).to_contain_text("1 of 4 done")
    assert await serious_problems(page) == []
    await fits(page)
    await page.keyboard.press("Escape")
    await expect(sheet).to_have_count(0)
