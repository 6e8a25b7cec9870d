"""Everything by keyboard: the shortcuts, the search, the way by Tab."""

from __future__ import annotations

import json
import re

import pytest
from playwright.async_api import Browser, BrowserContext, expect

from tests.browser.console import Console
from tests.browser.studio import Chat, Studio
from tests.support.waiting import until

FOCUS = """() => {
    const element = document.activeElement
    const box = element.closest("[class*=box]") ?? element
    const ring = [element, box].some(one => {
        const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(one)
        return (outlineStyle !== "none" && parseFloat(outlineWidth) >= 1) || boxShadow !== "none"
    })
    const name = element.getAttribute("aria-label") ?? element.innerText ?? ""
    return [`${element.tagName.toLowerCase()} ${name.trim().slice(0, 40)}`, ring]
}"""


@pytest.mark.case("CHT-04")
async def test_enter_sends_and_shift_enter_breaks_the_line(chat: Chat, studio: Studio) -> None:
    studio.script("Done.", "Done again.")
    await expect(chat.box).to_be_focused()
    await chat.page.keyboard.press("Enter")
    await chat.page.keyboard.type("One")
    await chat.page.keyboard.press("Shift+Enter")
    await chat.page.keyboard.type("Two")
    await expect(chat.box).to_have_value("One\nTwo")
    await chat.page.keyboard.press("Enter")
    await expect(chat.rows("user_message")).to_contain_text("One\nTwo")
    await chat.finished()
    await expect(chat.box).to_be_focused()
    await expect(chat.box).to_have_value("")
    # What fingers have learned elsewhere works as well.
    await chat.page.keyboard.type("Three")
    await chat.page.keyboard.press("Control+Enter")
    await expect(chat.rows("user_message").last).to_contain_text("Three")
    await chat.finished()


@pytest.mark.case("CHT-04")
async def test_enter_that_chooses_letters_of_an_input_method_sends_nothing(chat: Chat) -> None:
    await chat.box.fill("にほん")
    for init in ({"isComposing": True}, {"keyCode": 229}):
        await chat.box.evaluate(
            "(box, init) => box.dispatchEvent(new KeyboardEvent('keydown', init))",
            {"bubbles": True, "cancelable": True, "key": "Enter", **init},
        )
    await expect(chat.box).to_have_value("にほん")
    await expect(chat.send_button).to_be_enabled()
    await expect(chat.page).to_have_url(f"{chat.studio.url}/")
    await chat.box.fill("")


@pytest.mark.case("CHT-04")
async def test_a_setting_lets_enter_break_the_line_and_the_list_of_keys_says_so(
    own: Studio, browser_context: BrowserContext
) -> None:
    chat = await own.open(browser_context, "/settings/general")
    page = chat.page
    await page.get_by_role("radio", name="Ctrl Enter sends, Enter breaks the line").check()
    until(lambda: json.loads((own.home / "config.json").read_text())["enter_sends"] is False, "the choice to be kept")
    await page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    await expect(keys.locator("dt", has_text="Break the line").locator("+ dd")).to_have_text("Enter")
    await expect(keys.locator("dt", has_text="Send the message").locator("+ dd")).to_have_text("Ctrl Enter")
    await chat.go("/")
    await chat.box.press("A")
    await page.keyboard.press("Enter")
    await page.keyboard.type("B")
    await expect(chat.box).to_have_value("A\nB")
    await page.keyboard.press("Control+Enter")
    await expect(chat.rows("user_message")).to_contain_text("A\nB")
    await chat.finished()


@pytest.mark.case("CHT-04")
async def test_on_a_touch_screen_enter_breaks_the_line_and_the_button_sends(
    studio: Studio, chromium: Browser, console: Console
) -> None:
    phone = await chromium.new_context(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    try:
        phone.on("page", console.watch)
        studio.script("Done.")
        chat = await studio.open(phone)
        await chat.box.tap()
        await chat.page.keyboard.type("One")
        await chat.page.keyboard.press("Enter")
        await chat.page.keyboard.type("Two")
        await expect(chat.box).to_have_value("One\nTwo")
        await chat.send_button.tap()
        await expect(chat.rows("user_message")).to_contain_text("One\nTwo")
        await chat.finished()
    finally:
        await phone.close()


@pytest.mark.case("CHT-04")
async def test_escape_stops_the_answer_and_closes_only_the_dialog_when_one_is_open(chat: Chat, studio: Studio) -> None:
    studio.script(["word " * 10, studio.hold().step])
    await chat.send("Talk")
    await expect(chat.answers.last).to_contain_text("word word")
    field = await chat.open_palette()
    await field.press("Escape")
    await expect(chat.page.get_by_role("dialog")).to_have_count(0)
    await expect(chat.stop).to_be_enabled()
    await chat.page.keyboard.press("Escape")
    await chat.finished()
    await expect(chat.timeline).to_contain_text("Stopped by you.")


@pytest.mark.case("CHT-04")
async def test_new_chat_by_key_gives_an_empty_box_to_type_in(chat: Chat, studio: Studio) -> None:
    studio.script("Done.")
    await chat.ask("Something")
    await chat.timeline.focus()
    await chat.page.keyboard.press("Alt+n")
    await expect(chat.page).to_have_url(f"{studio.url}/")
    await expect(chat.box).to_be_focused()
    await expect(chat.box).to_have_value("")


@pytest.mark.case("CHT-03", "CHT-04")
async def test_search_marks_its_hits_and_leads_to_the_message(chat: Chat, studio: Studio) -> None:
    filler = "\n\n".join(f"Paragraph {number} about nothing at all." for number in range(40))
    studio.script(f"The lighthouse keeper 🗼 kept a zanzibar diary.\n\n{filler}", filler, filler)
    await chat.ask("Who kept a diary?")
    await chat.ask("And then?")
    await chat.ask("And after that?")
    first = chat.answers.first
    await expect(first).not_to_be_in_viewport()
    await chat.page.keyboard.press("Alt+n")
    await expect(chat.box).to_be_focused()
    await chat.page.keyboard.press("Control+/")
    search = chat.page.get_by_role("searchbox", name="Search conversations")
    await expect(search).to_be_focused()
    await chat.page.keyboard.type("zanzibar diary")
    results = chat.page.get_by_role("navigation", name="Search results")
    await expect(results.locator("mark").first).to_have_text("zanzibar")
    await expect(results.get_by_role("link")).to_have_count(2)
    # Past the way to empty the box and the conversation's title.
    for _ in range(3):
        await chat.page.keyboard.press("Tab")
    await expect(results.get_by_role("link").last).to_be_focused()
    await chat.page.keyboard.press("Enter")
    await expect(chat.page).to_have_url(re.compile(r"/c/.*\?item="))
    await expect(chat.page.locator("[data-target]")).to_contain_text("zanzibar diary")
    await expect(chat.page.get_by_text("zanzibar diary").last).to_be_in_viewport()
    await search.press("Escape")
    await expect(search).to_have_value("")


async def test_search_names_a_conversation_once_in_plain_words_and_finds_what_tools_gave(
    chat: Chat, studio: Studio
) -> None:
    studio.script(
        [{"call": "think", "arguments": {"thoughts": "a quincunx of buoys"}}],
        "The **quincunx** is `there`, says [the chart](https://example.com/chart).",
    )
    await chat.ask("Where is the quincunx?")
    await chat.page.get_by_role("searchbox", name="Search conversations").fill("quincunx")
    results = chat.page.get_by_role("navigation", name="Search results")
    await expect(results.get_by_role("listitem")).to_have_count(1)
    await expect(results.get_by_role("link")).to_have_text(
        [
            "Where is the quincunx?",
            re.compile("Where is the quincunx|The quincunx is there, says the chart."),
            re.compile("Where is the quincunx|The quincunx is there, says the chart."),
        ]
    )
    await expect(results.locator("mark")).to_have_text(["quincunx"] * 3)
    await chat.page.get_by_role("searchbox", name="Search conversations").fill("of buoys")
    await results.get_by_role("link", name="a quincunx of buoys").click()
    await expect(chat.page.locator("[data-target]")).to_contain_text("Thought: a quincunx of buoys")
    await chat.page.get_by_role("searchbox", name="Search conversations").fill("")


@pytest.mark.case("CHT-03")
async def test_a_search_without_a_hit_says_so(chat: Chat) -> None:
    await chat.page.keyboard.press("Control+/")
    await expect(chat.page.get_by_role("searchbox")).to_be_focused()
    await chat.page.keyboard.type("xyzzy<b>plugh")
    await expect(chat.page.get_by_text("Nothing found for “xyzzy<b>plugh”.")).to_be_visible()


@pytest.mark.case("CHT-04")
async def test_everything_is_reached_by_tab_and_shows_that_it_has_the_focus(
    studio: Studio, browser_context: BrowserContext
) -> None:
    studio.script([{"thinking": "Hm."}, "Look:\n\n```sh\nls -l\n```\n\nand [there](https://example.com)."])
    chat = await studio.open(browser_context)
    answer = await chat.ask("Tab through me")
    await expect(answer.get_by_role("button", name="Copy answer")).to_be_visible()
    reached: list[str] = []
    unseen: set[str] = set()
    for _ in range(500):
        await chat.page.keyboard.press("Tab")
        name, ring = await chat.page.evaluate(FOCUS)
        if not ring and not name.startswith("body"):
            unseen.add(name)
        reached.append(name)
        if name == "textarea Message":
            break
    wanted = ["Skip to", "New", "Search conversations", "Rename", "Delete", "Model", "Chat settings", "Colours"]
    wanted += ["Settings", "Conversation", "Thought", "Copy code", "Code, sh", "there", "Copy answer", "Message"]
    missing = [words for words in wanted if not any(words in name for name in reached)]
    assert not missing, f"not reached by Tab: {missing} among {reached}"
    assert not unseen, f"the focus does not show on: {unseen}"
