"""Older turns are summed up from the page: asked for in the box, told in one line, with the original a click away."""

from __future__ import annotations

import pytest
from playwright.async_api import Locator, expect

from tests.browser.axe import serious_problems
from tests.browser.console import Console
from tests.browser.studio import Chat, Studio
from tests.browser.width import fits

SUMMARY = "They agreed on **port 8123** and on green doors."
SUMMED_UP = {"match": "Person: ", "steps": [SUMMARY]}
TALK = ["Port 8123, then.", "Green doors.\n\n" + "And more about doors.\n\n" * 60]
SIZES = ((1440, 900), (1280, 640), (390, 844))


def line(chat: Chat) -> Locator:
    return chat.page.get_by_role("button", name="Older turns summed up")


async def talked(chat: Chat, studio: Studio, *steps: object) -> None:
    """Open a conversation in which two things were said; the model knows how to sum them up."""
    studio.script({"match": "Person: ", "steps": list(steps)} if steps else SUMMED_UP, *TALK)
    await chat.go(f"/c/{studio.conversation('Which port shall we take?', 'And which doors?')}")
    await expect(chat.answers.last).to_contain_text("And more about doors.")


@pytest.mark.case("CHT-01")
async def test_a_summary_is_one_line_that_opens_and_leads_to_what_it_replaced(chat: Chat, studio: Studio) -> None:
    await talked(chat, studio)
    await chat.send("/compact the port numbers")
    await expect(line(chat)).to_have_text("Older turns summed up: 4 messages → 49 words")
    # What was said is still there, and so is what the person typed.
    await expect(chat.rows("user_message").last).to_contain_text("/compact the port numbers")
    await expect(chat.answers).to_have_count(2)
    await line(chat).click()
    opened = chat.page.locator("[data-kind=compaction]")
    await expect(opened.get_by_text("port 8123", exact=True)).to_be_visible()
    await expect(opened).to_contain_text("> Which port shall we take?")
    assert await serious_problems(chat.page) == []
    first = chat.rows("user_message").first
    await expect(first).not_to_be_in_viewport()
    await opened.get_by_role("link", name="Show what it replaced").click()
    await expect(first).to_be_in_viewport()
    # And once more, after looking elsewhere.
    await chat.page.get_by_role("button", name="Jump to latest").click()
    await expect(first).not_to_be_in_viewport()
    await opened.get_by_role("link", name="Show what it replaced").click()
    await expect(first).to_be_in_viewport()


async def test_the_command_is_offered_while_it_is_typed_and_completed_by_tab(chat: Chat, studio: Studio) -> None:
    box = chat.box
    hints = chat.page.get_by_role("list", name="Commands")
    await box.fill("/")
    # There is nothing to sum up in a conversation that has not begun; prompts can be put into the box.
    await expect(hints).to_contain_text("/teacher")
    await expect(hints).not_to_contain_text("/compact")
    await box.fill("")
    await talked(chat, studio)
    await box.fill("/c")
    await expect(hints).to_contain_text("/compact")
    assert await serious_problems(chat.page) == []
    await box.press("Tab")
    await expect(box).to_have_value("/compact ")
    await expect(hints).to_have_count(0)
    await box.fill("/")
    await hints.get_by_role("button", name="/compact").click()
    await expect(box).to_have_value("/compact ")
    await expect(box).to_be_focused()
    await box.fill("/etc/hosts")
    await expect(hints).to_have_count(0)


async def test_a_summary_says_that_it_is_being_written_and_can_be_stopped(chat: Chat, studio: Studio) -> None:
    hold = studio.hold()
    await talked(chat, studio, hold.step, SUMMARY)
    await chat.send("/compact")
    await expect(chat.page.get_by_text("Summing up older turns…")).to_be_visible()
    await chat.page.get_by_role("button", name="Stop", exact=True).click()
    await expect(chat.page.get_by_text("Stopped by you.")).to_be_visible()
    await expect(chat.page.get_by_text("Summing up older turns…")).to_have_count(0)
    await expect(line(chat)).to_have_count(0)
    hold.release()
    await chat.page.get_by_role("button", name="Go on").click()
    await expect(line(chat)).to_be_visible()


async def test_a_summary_that_is_asked_for_meanwhile_waits_for_the_answer(chat: Chat, studio: Studio) -> None:
    hold = studio.hold()
    studio.script(SUMMED_UP, ["Port 8123, ", hold.step, "then."])
    await chat.send("Which port shall we take?")
    await expect(chat.answers.last).to_contain_text("Port 8123,")
    await chat.box.fill("/compact")
    await expect(chat.page.get_by_text("Enter to sum up once this answer has ended")).to_be_visible()
    await chat.box.press("Enter")
    await expect(chat.box).to_have_value("")
    await expect(chat.rows("user_message").last).to_contain_text("/compact")
    hold.release()
    await expect(line(chat)).to_be_visible()
    await expect(chat.answers.last).to_contain_text("Port 8123, then.")


async def test_what_cannot_be_summed_up_is_said_where_it_was_asked_for(
    chat: Chat, studio: Studio, console: Console
) -> None:
    console.expect("409")
    await talked(chat, studio)
    await chat.send("/compact")
    await expect(line(chat)).to_be_visible()
    box = chat.box
    await box.fill("/compact")
    await box.press("Enter")
    await expect(chat.page.get_by_role("alert")).to_have_text("There is nothing to sum up yet.")
    await expect(box).to_have_value("/compact")


async def test_the_palette_has_it_summed_up(chat: Chat, studio: Studio) -> None:
    await talked(chat, studio)
    await chat.palette("sum up", "Sum up this conversation so far")
    await expect(chat.rows("user_message").last).to_contain_text("/compact")
    await expect(line(chat)).to_be_visible()


async def test_in_dark_colours_and_on_a_phone_the_line_and_what_it_opens_can_be_read(
    chat: Chat, studio: Studio
) -> None:
    await chat.page.emulate_media(color_scheme="dark")
    await talked(chat, studio)
    await chat.send("/compact the port numbers")
    await line(chat).click()
    link = chat.page.get_by_role("link", name="Show what it replaced")
    for width, height in SIZES:
        await chat.page.set_viewport_size({"width": width, "height": height})
        await link.scroll_into_view_if_needed()
        await expect(link).to_be_in_viewport()
        await fits(chat.page)
        assert await serious_problems(chat.page) == []
