"""The agent's list beside the chat: how far it is, live, after a reload, and changed by the person."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, expect

from tests.browser.studio import Studio
from tests.browser.width import fits
from tests.browser.workshop import Workshop, open_workshop, todos
from tests.support.axe import serious_problems
from tests.support.waiting import until

PHONE = {"width": 360, "height": 740}
LIST: list[dict[str, Any]] = [
    {"id": 1, "title": "Read the notes", "description": "All of them.", "status": "completed"},
    {
        "id": 2,
        "title": "Mend the hull",
        "description": "Below the water line.",
        "status": "in-progress",
        "priority": "high",
        "subtasks": [{"title": "Sand it", "done": True}, {"title": "Paint it"}],
    },
    {
        "id": 3,
        "title": "Ask the harbour master",
        "description": "About the berth.",
        "status": "blocked",
        "blockedReason": "He is on leave.",
    },
    {"id": 4, "title": "Sail", "description": "At last.", "status": "not-started", "dependencies": [2]},
]


@pytest_asyncio.fixture(loop_scope="session")
async def workshop(studio: Studio, browser_context: BrowserContext, tmp_path: Path) -> Workshop:
    """A conversation that has a folder."""
    return await open_workshop(studio, browser_context, tmp_path / "boat")


def write() -> dict[str, Any]:
    return todos("write", todoList=LIST)


@pytest.mark.case("TOD-17")
async def test_the_list_beside_the_chat_is_the_progress_indicator(workshop: Workshop) -> None:
    panel = await workshop.show("Todos")
    await expect(panel).to_contain_text("Nothing is on the list.")
    await workshop.say("Plan", [write()], "Planned.")
    await expect(panel).to_contain_text("1 of 4 done")
    await expect(panel.get_by_role("progressbar", name="Progress of the todos")).to_be_visible()
    rows = panel.get_by_role("list", name="Todos").locator("> li")
    await expect(rows).to_have_count(4)
    await expect(rows.nth(1)).to_contain_text("In progress")
    await expect(rows.nth(1)).to_contain_text("High priority")
    await expect(panel.get_by_role("list", name="Steps of Mend the hull")).to_contain_text("Sand it (done)")
    await expect(rows.nth(2)).to_contain_text("He is on leave.")
    await expect(rows.nth(3)).to_contain_text("After: Mend the hull")
    await expect(panel.get_by_role("checkbox", name="Read the notes")).to_be_checked()
    assert await serious_problems(workshop.page) == []
    await workshop.page.reload()
    await expect(panel).to_contain_text("1 of 4 done")


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


async def test_the_person_ticks_what_is_done_and_clears_the_list(workshop: Workshop) -> None:
    await workshop.say("Plan", [write()], "Planned.")
    panel = await workshop.show("Todos")
    await panel.get_by_role("checkbox", name="Mend the hull").click()
    await expect(panel).to_contain_text("2 of 4 done")
    place = f"/api/conversations/{workshop.chat.conversation}/todos"
    until(lambda: workshop.studio.server.get(place)["todos"][1]["status"] == "completed", "the tick to be kept")
    await panel.get_by_role("button", name="Clear").click()
    await workshop.page.get_by_role("dialog").get_by_role("button", name="Clear").click()
    await expect(panel).to_contain_text("Nothing is on the list.")
    until(lambda: workshop.chat.snapshot()["todos"]["todos"] == [], "the list to be cleared")


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


async def test_a_reminder_is_one_quiet_line_that_opens(workshop: Workshop) -> None:
    await workshop.say("Plan", [write()], "Planned.")
    await workshop.say("Go on", "Yes.")
    reminder = workshop.chat.rows("reminder").last
    await expect(reminder).to_have_text("Reminder to the model")
    await reminder.get_by_role("button").click()
    await expect(reminder).to_contain_text("Mend the hull")


@pytest.mark.case("CHT-05")
async def test_what_was_ticked_elsewhere_is_seen_when_someone_comes_back(workshop: Workshop) -> None:
    await workshop.say("Plan", [write()], "Planned.")
    panel = await workshop.show("Todos")
    await expect(panel).to_contain_text("1 of 4 done")
    place = f"/api/conversations/{workshop.chat.conversation}/todos"
    listed = workshop.studio.server.get(place)["todos"]
    listed[1]["status"] = "completed"
    answer = workshop.studio.server.client.put(place, json={"todos": listed})
    assert answer.status_code == 200
    await workshop.page.evaluate("window.dispatchEvent(new Event('focus'))")
    await expect(panel).to_contain_text("2 of 4 done")
