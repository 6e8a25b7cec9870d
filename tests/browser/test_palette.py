"""The command palette and the list of keys, by keyboard alone."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from tests.browser.axe import serious_problems
from tests.browser.studio import Chat, Studio


@pytest.mark.case("CHT-04")
async def test_the_palette_is_driven_by_keys_and_says_which_choice_is_active(chat: Chat) -> None:
    field = await chat.open_palette()
    options = chat.page.get_by_role("listbox").get_by_role("option")
    await expect(options.first).to_have_attribute("aria-selected", "true")
    await field.press("ArrowDown")
    await expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    active = await options.nth(1).get_attribute("id") or ""
    await expect(field).to_have_attribute("aria-activedescendant", active)
    await field.press("ArrowUp")
    await field.press("ArrowUp")
    await expect(options.last).to_have_attribute("aria-selected", "true")
    await expect(options.last).to_be_in_viewport()
    assert await serious_problems(chat.page) == []
    await field.fill("no such thing at all")
    await expect(chat.page.get_by_text("Nothing fits.")).to_be_visible()
    await field.press("Escape")
    await expect(chat.page.get_by_role("dialog")).to_have_count(0)
    await expect(chat.box).to_be_focused()


async def test_a_few_letters_go_to_a_tab_of_the_settings_and_back_to_the_chat(chat: Chat) -> None:
    await chat.palette("setmod", "Settings: Models")
    await expect(chat.page.get_by_role("tab", name="Models")).to_have_attribute("aria-selected", "true")
    await chat.palette("new conv", "New conversation")
    await expect(chat.box).to_be_focused()


async def test_a_conversation_is_found_renamed_and_deleted_from_the_palette(chat: Chat, studio: Studio) -> None:
    studio.script("Aye.")
    await chat.ask("About the harbour pilots of Rotterdam")
    path = chat.page.url
    await chat.palette("rename", "Rename this conversation")
    title = chat.page.get_by_role("dialog").get_by_role("textbox", name="New title")
    await expect(title).to_be_focused()
    await title.fill("Pilots of the Maas")
    await title.press("Enter")
    await expect(chat.page.get_by_role("link", name="Pilots of the Maas")).to_be_visible()
    await chat.palette("new conv", "New conversation")
    await expect(chat.page).to_have_url(f"{studio.url}/")
    await chat.palette("pilots maas", "Pilots of the Maas")
    await expect(chat.page).to_have_url(path)
    await expect(chat.page.get_by_text("Aye.")).to_be_visible()
    await chat.palette("delete this", "Delete this conversation")
    await expect(chat.page.get_by_text("Deleted “Pilots of the Maas”.")).to_be_visible()
    await expect(chat.page.get_by_role("link", name="Pilots of the Maas")).to_have_count(0)


async def test_stop_is_offered_while_an_answer_runs_and_escape_in_the_palette_does_not_stop_it(
    chat: Chat, studio: Studio
) -> None:
    studio.script(["word " * 10, studio.hold().step])
    await chat.send("Talk on")
    await expect(chat.stop).to_be_visible()
    field = await chat.open_palette()
    await field.press("Escape")
    await expect(chat.page.get_by_role("dialog")).to_have_count(0)
    await expect(chat.stop).to_be_enabled()
    await chat.palette("stop", "Stop the answer")
    await chat.finished()
    assert [run["status"] for run in chat.snapshot()["runs"]] in ([], ["cancelled"])


async def test_escape_closes_the_settings_and_never_the_answer_behind_them(chat: Chat, studio: Studio) -> None:
    studio.script(["word " * 10, studio.hold().step])
    await chat.send("Talk on, please")
    await expect(chat.stop).to_be_visible()
    place = chat.page.url
    await chat.palette("settings general", "Settings: General")
    await expect(chat.page.get_by_role("heading", name="Settings", level=1)).to_be_focused()
    await chat.page.keyboard.press("Escape")
    await expect(chat.page).to_have_url(place)
    await expect(chat.stop).to_be_visible()
    await chat.page.keyboard.press("Escape")
    await chat.finished()


async def test_the_palette_switches_the_colours(chat: Chat) -> None:
    root = chat.page.locator("html")
    await expect(root).to_have_attribute("data-mantine-color-scheme", re.compile("light|dark"))
    before = await root.get_attribute("data-mantine-color-scheme")
    other = "dark" if before == "light" else "light"
    await chat.palette(f"{other} colours", f"Switch to {other} colours")
    await expect(root).to_have_attribute("data-mantine-color-scheme", other)


@pytest.mark.case("CHT-04")
async def test_a_question_mark_lists_every_key_and_is_text_while_one_types(chat: Chat) -> None:
    await chat.box.press("?")
    await expect(chat.page.get_by_role("dialog")).to_have_count(0)
    await expect(chat.box).to_have_value("?")
    await chat.box.fill("")
    await chat.page.get_by_role("button", name="Settings", exact=True).focus()
    await chat.page.keyboard.press("?")
    keys = chat.page.get_by_role("dialog", name="Keyboard shortcuts")
    for words in ("Send the message", "Stop the answer", "New conversation", "Search conversations", "All commands"):
        await expect(keys).to_contain_text(words)
    for combination in ("Enter", "Ctrl Enter", "Shift Enter", "Esc", "Ctrl N", "Ctrl /", "Ctrl K", "?"):
        await expect(keys.get_by_text(combination, exact=True).first).to_be_visible()
    assert await serious_problems(chat.page) == []
    await chat.page.keyboard.press("Escape")
    await expect(keys).to_have_count(0)
    await expect(chat.page.get_by_role("button", name="Settings", exact=True)).to_be_focused()
