"""An answer once more with what its tools gave then: side by side while it works, then step by step."""

from __future__ import annotations

from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Locator, expect

from tests.browser.answering import create, files
from tests.browser.axe import serious_problems
from tests.browser.comparing import LOOKS, Models, look
from tests.browser.studio import Chat
from tests.browser.width import fits

QUESTION = "When do we leave?"
TIDES = files("read_file", filePath="tides.txt")
ANSWER = "High water is at 14:20. Leave an hour before it."


@pytest.fixture
def boat(tmp_path: Path) -> Path:
    """A working directory with a table of tides."""
    folder = tmp_path / "boat"
    folder.mkdir()
    (folder / "tides.txt").write_text("high water 14:20\n", encoding="utf-8")
    return folder


@pytest_asyncio.fixture(loop_scope="session")
async def chat(models: Models, browser_context: BrowserContext, boat: Path) -> Chat:
    """A tab in a conversation in which alpha has looked at the tides and answered."""
    models.script("alpha", ["I look at the tides.", TIDES], ANSWER)
    path = models.conversation(modelId="alpha", systemPrompt="You are the mate.", workingDirectory=str(boat))
    made = await models.studio.open(browser_context, path)
    await expect(await made.ask(QUESTION)).to_contain_text(ANSWER)
    return made


def original(chat: Chat) -> Locator:
    return chat.page.get_by_role("region", name="Original: Alpha", exact=True)


def replay(chat: Chat, name: str) -> Locator:
    return chat.page.get_by_role("region", name=f"Replay: {name}", exact=True)


def difference(chat: Chat) -> Locator:
    return chat.page.get_by_role("region", name="Difference")


def step(chat: Chat, number: int) -> Locator:
    return difference(chat).locator("details").nth(number - 1)


async def open_form(chat: Chat) -> Locator:
    """Go from the last answer to a new replay, by mouse."""
    await chat.answers.last.hover()
    await chat.answers.last.get_by_role("button", name="More about this answer").click()
    await chat.page.get_by_role("menuitem", name="Replay with…").click()
    form = chat.page.get_by_role("form", name="New replay")
    await expect(form).to_be_visible()
    return form


async def start(chat: Chat, form: Locator, model: str) -> None:
    """Choose a model and start."""
    await form.get_by_role("combobox", name="Model").click()
    await chat.page.get_by_role("option", name=model, exact=True).click()
    await form.get_by_role("button", name="Start the replay").click()


async def test_it_is_seen_live_beside_the_original_and_then_step_by_step(
    models: Models, chat: Chat, boat: Path
) -> None:
    hold = models.studio.hold()
    said = "High water is at 14:20. Leave two hours before it, not later."
    models.script("beta", ["I look at the tides.", TIDES], [{"text": said, **hold.after_each(23)}])
    # What tools gave then is what it gets, whatever has become of the file.
    (boat / "tides.txt").write_text("something else entirely\n", encoding="utf-8")
    form = await open_form(chat)
    await expect(form.get_by_role("textbox", name="System prompt")).to_have_value("You are the mate.")
    await expect(form.get_by_role("combobox", name="Model")).to_have_value("Alpha (as then)")
    await form.get_by_role("textbox", name="Temperature").fill("0.2")
    await start(chat, form, "Beta")
    await expect(original(chat)).to_contain_text(ANSWER)
    await expect(replay(chat, "Beta")).to_contain_text("temperature 0.2")
    await expect(replay(chat, "Beta").get_by_role("article").last).to_contain_text("High water is at 14:20")
    await expect(replay(chat, "Beta").get_by_role("button", name="Stop Beta")).to_be_visible()
    hold.release()
    await expect(difference(chat)).to_contain_text("The replay made the same calls and came to another answer.")
    await expect(step(chat, 1)).to_have_attribute("data-differs", "same")
    await expect(step(chat, 1).get_by_role("group", name="Original")).to_have_count(0)
    last = step(chat, 2)
    await expect(last.get_by_role("group", name="Original").locator("del")).to_have_text(["an hour"])
    await expect(last.get_by_role("group", name="Replay").locator("ins")).to_have_text(["two hours", ", not later"])
    await step(chat, 1).locator("summary").click()
    await expect(step(chat, 1).get_by_role("group", name="Replay")).to_contain_text("filePath: tides.txt")
    row = difference(chat).get_by_role("row")
    await expect(row.filter(has_text="Calls")).to_contain_text("as before")
    await expect(row.filter(has_text="Tokens out")).to_contain_text("%")
    # Nothing of the conversation itself has changed.
    await chat.page.get_by_role("button", name="Close the replay").click()
    await expect(chat.answers.last).to_contain_text(ANSWER)
    assert chat.snapshot()["branch"] == 0
    await expect(chat.timeline.get_by_role("group", name="Answers to this message")).to_have_count(0)


async def test_a_call_that_was_not_recorded_stops_it_and_is_told_plainly(
    models: Models, chat: Chat, boat: Path
) -> None:
    models.script("beta", ["I look at the log.", files("read_file", filePath="log.txt")], "It was calm.")
    models.script("gamma", [create("made.txt")], "It is made.")
    await start(chat, await open_form(chat), "Beta")
    await expect(difference(chat)).to_contain_text("It stopped at step 1: the original never made this call")
    cell = step(chat, 1).get_by_role("group", name="Replay")
    await expect(cell).to_contain_text("Stopped here: this call was not recorded")
    await expect(cell.locator("pre ins")).to_have_text(["log"])
    await expect(step(chat, 1).get_by_role("group", name="Original").locator("pre del")).to_have_text(["tides"])
    await expect(step(chat, 2)).to_contain_text("only in the original")
    await chat.page.get_by_role("button", name="New replay").click()
    await start(chat, chat.page.get_by_role("form", name="New replay"), "Gamma")
    await expect(difference(chat)).to_contain_text("came to no answer")
    assert not (boat / "made.txt").exists()


async def test_it_is_stopped_and_earlier_ones_are_found_again(models: Models, chat: Chat) -> None:
    hold = models.studio.hold()
    models.script("beta", [{"text": "It takes its time, this one.", **hold.after_each(8)}])
    models.script("gamma", ["I look at the tides.", TIDES], ANSWER)
    await start(chat, await open_form(chat), "Beta")
    await replay(chat, "Beta").get_by_role("button", name="Stop Beta").click()
    await expect(difference(chat)).to_contain_text("You stopped it before its end.")
    await chat.page.get_by_role("button", name="New replay").click()
    await start(chat, chat.page.get_by_role("form", name="New replay"), "Gamma")
    await expect(difference(chat)).to_contain_text("made the same calls and came to the same answer.")
    await chat.page.reload()
    await expect(difference(chat)).to_contain_text("came to the same answer.")
    earlier = chat.page.get_by_role("navigation", name="Replays of this answer").get_by_role("button")
    await expect(earlier).to_have_count(2)
    await expect(earlier.first).to_have_attribute("aria-current", "true")
    await expect(earlier.nth(1)).to_contain_text("stopped by you")
    await earlier.nth(1).click()
    await expect(difference(chat)).to_contain_text("You stopped it before its end.")
    # Both views of it; and the way there from the tree of the conversation.
    await chat.page.get_by_text("Side by side", exact=True).click()
    await expect(original(chat)).to_contain_text(ANSWER)
    await chat.page.get_by_role("button", name="Close the replay").click()
    await chat.page.get_by_role("banner").get_by_role("button", name="Branches").click()
    await chat.page.get_by_role("treeitem").filter(has_text="Replay").filter(has_text="Gamma").click()
    await expect(difference(chat)).to_contain_text("came to the same answer.")


async def test_it_is_done_by_keyboard_alone(models: Models, chat: Chat) -> None:
    models.script("alpha", ["I look at the tides.", TIDES], "High water is at 14:20. Leave now.")
    page = chat.page
    await chat.answers.last.get_by_role("button", name="More about this answer").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("menuitem", name="Replay with…")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Replay")).to_be_focused()
    form = page.get_by_role("form", name="New replay")
    prompt = form.get_by_role("textbox", name="System prompt")
    for _ in range(8):
        await page.keyboard.press("Tab")
        if await prompt.evaluate("element => element === document.activeElement"):
            break
    await expect(prompt).to_be_focused()
    await page.keyboard.press("Control+a")
    await page.keyboard.type("Be bold.")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(difference(chat)).to_contain_text("came to another answer.")
    await expect(page.get_by_role("navigation", name="Replays of this answer")).to_contain_text("own system prompt")
    await page.keyboard.press("Escape")
    await expect(chat.answers.last).to_contain_text(ANSWER)


async def test_it_keeps_nobody_out_and_fits_every_window_in_both_colours(models: Models, chat: Chat) -> None:
    models.script("beta", ["I look at the log.", files("read_file", filePath="log.txt" * 12)], "It was calm.")
    form = await open_form(chat)
    for window, colours in LOOKS:
        await look(chat, window, colours)
        await fits(chat.page)
        assert await serious_problems(chat.page) == [], (window, colours)
    await start(chat, form, "Beta")
    await expect(difference(chat)).to_contain_text("It stopped at step 1")
    for view in ("Difference", "Side by side"):
        await chat.page.get_by_text(view, exact=True).click()
        for window, colours in LOOKS:
            await look(chat, window, colours)
            await fits(chat.page)
            for table in await difference(chat).get_by_role("table").all():
                # Its box scrolls where it must; no column is to be looked for there.
                assert await table.evaluate("one => one.scrollWidth <= one.parentElement.clientWidth"), window
            assert await serious_problems(chat.page) == [], (view, window, colours)
