"""Other ways on, by mouse and by keyboard: edited messages, other answers, branches, hiding, and all in a tree."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, expect

from tests.browser.axe import serious_problems
from tests.browser.branching import answered_in_every_way, edit, edit_and_wait, mine, more, shows, told
from tests.browser.console import Console
from tests.browser.studio import Chat, Studio
from tests.browser.width import fits
from tests.support.waiting import eventually

# Two pixels, blue.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADklEQVR4nGNgYPgPRAwADf4B/z0ZtYIAAAAASUVORK5CYII="
)
SIZES = {"large": (1440, 900), "laptop": (1280, 640), "phone": (390, 780)}
# How much is seen of an element, with what it stands in.
OPACITY = """element => {
    let seen = 1
    for (let at = element; at; at = at.parentElement) seen *= getComputedStyle(at).opacity
    return seen
}"""
FIRST = ("First question", "One.", "Second question", "Two.")


@pytest_asyncio.fixture(loop_scope="session", params=["large light", "laptop dark", "phone light", "phone dark"])
async def anywhere(
    request: pytest.FixtureRequest, chromium: Browser, two: Studio, console: Console
) -> AsyncIterator[Chat]:
    """The same conversation in a window of some size, in one of the two colour schemes."""
    size, scheme = request.param.split()
    width, height = SIZES[size]
    context = await chromium.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        reduced_motion="reduce",
        has_touch=size == "phone",
    )
    context.on("page", console.watch)
    yield await two.open(context, f"/c/{told(two)}")
    await context.close()


@pytest.mark.case("CHT-02")
async def test_an_edited_message_stands_beside_the_old_one_and_arrows_lead_from_one_to_the_other(talk: Chat) -> None:
    await edit(talk, "First question", "A better question")
    await shows(talk, "A better question", "One.")
    versions = talk.timeline.get_by_role("group", name="Versions of this message")
    await expect(versions).to_have_text("2 of 2")
    await versions.get_by_role("button", name="Previous version").click()
    await shows(talk, *FIRST)
    await expect(versions).to_have_text("1 of 2")
    # What is written next is added to what is shown.
    await talk.ask("Third question")
    await shows(talk, *FIRST, "Third question", "Three.")
    await versions.get_by_role("button", name="Next version").click()
    await shows(talk, "A better question", "One.")
    # Another tab, and this one after a reload, open at what was chosen last.
    await talk.page.reload()
    await shows(talk, "A better question", "One.")
    await expect(versions).to_have_text("2 of 2")


@pytest.mark.case("CHT-02")
async def test_an_answer_is_made_again_by_the_same_model_another_one_and_at_another_temperature(talk: Chat) -> None:
    options = await answered_in_every_way(talk, talk.answers.last)
    # Another temperature, not another model: what answered last was the other one.
    assert (options["temperature"], options["modelId"]) == (0.3, "other")
    # The message stands there once, whatever answered it.
    await expect(talk.timeline.get_by_role("group", name="Versions of this message")).to_have_count(0)


async def test_by_keyboard_an_edit_is_sent_and_given_up_and_the_arrows_keep_the_focus(talk: Chat) -> None:
    page = talk.page
    pencil = mine(talk, "Second question").get_by_role("button", name="Edit")
    await pencil.focus()
    await page.keyboard.press("Enter")
    await page.keyboard.type(", changed")
    await page.keyboard.press("Escape")
    await shows(talk, *FIRST)
    await pencil.focus()
    await page.keyboard.press("Enter")
    box = page.get_by_role("textbox", name="Message, edited")
    await expect(box).to_have_value("Second question")
    await page.keyboard.type(" and more")
    await page.keyboard.press("Enter")
    await shows(talk, "First question", "One.", "Second question and more", "Two.")
    back = talk.timeline.get_by_role("button", name="Previous version")
    await back.focus()
    await page.keyboard.press("Enter")
    await shows(talk, *FIRST)
    await expect(back).to_be_focused()
    await page.keyboard.press("ArrowRight")
    await shows(talk, "First question", "One.", "Second question and more", "Two.")
    await expect(talk.timeline.get_by_role("button", name="Next version")).to_be_focused()


async def test_going_back_to_a_version_returns_to_where_one_was_below_it(talk: Chat) -> None:
    await edit_and_wait(talk, "Second question", "Another second")
    await edit_and_wait(talk, "First question", "A better question")
    first = talk.timeline.get_by_role("group", name="Versions of this message").first
    await first.get_by_role("button", name="Previous version").click()
    await shows(talk, "First question", "One.", "Another second", "Two.")


async def test_the_next_message_goes_on_from_an_earlier_answer_or_not_after_all(talk: Chat) -> None:
    bar = talk.page.get_by_text("New branch from here")
    from_here = talk.answers.first.get_by_role("button", name="Branch from here")
    for give_up in ("Escape", "Cancel"):
        await talk.answers.first.hover()
        await from_here.click()
        await shows(talk, "First question", "One.")
        await expect(bar).to_be_visible()
        await expect(talk.box).to_be_focused()
        if give_up == "Escape":
            await talk.page.keyboard.press("Escape")
        else:
            await talk.page.get_by_role("button", name="Cancel", exact=True).click()
        await shows(talk, *FIRST)
        await expect(bar).to_have_count(0)
    await talk.answers.first.hover()
    await from_here.click()
    await expect(talk.box).to_be_focused()
    await talk.send("Another way on")
    await shows(talk, "First question", "One.", "Another way on", "Two.")
    await expect(bar).to_have_count(0)
    await expect(talk.timeline.get_by_role("group", name="Versions of this message")).to_have_text("2 of 2")


async def test_what_is_hidden_is_one_line_and_comes_back_by_undo_or_by_its_line(talk: Chat) -> None:
    hidden = talk.timeline.get_by_text("is hidden")
    await more(talk, "First question", "Hide from models")
    await expect(hidden).to_have_text("A message of yours is hidden. Models are not sent it.")
    await shows(talk, *FIRST[1:])
    await talk.page.get_by_role("button", name="Undo").click()
    await shows(talk, *FIRST)
    await talk.answers.first.hover()
    await talk.answers.first.get_by_role("button", name="More about this answer").click()
    await talk.page.get_by_role("menuitem", name="Hide from models").click()
    await expect(hidden).to_have_text("An answer is hidden. Models are not sent it.")
    await talk.page.reload()
    await shows(talk, "First question", "Second question", "Two.")
    await talk.timeline.get_by_role("button", name="Show again").click()
    await shows(talk, *FIRST)


async def test_the_tree_has_every_branch_and_leads_to_it_by_mouse_and_by_keyboard(talk: Chat) -> None:
    await edit_and_wait(talk, "Second question", "Another second")
    await edit_and_wait(talk, "First question", "A better question")
    tree = talk.page.get_by_role("tree", name="Branches")
    rows = tree.get_by_role("treeitem")
    await talk.page.keyboard.press("Alt+b")
    await expect(rows).to_have_count(3)
    await expect(rows.nth(0)).to_contain_text("First branch · Script")
    await expect(rows.nth(0)).to_contain_text("2 messages")
    await expect(rows.nth(1)).to_contain_text("A better question")
    await expect(rows.nth(1)).to_have_attribute("aria-selected", "true")
    await expect(rows.nth(1)).to_be_focused()
    await talk.page.keyboard.press("ArrowDown")
    await talk.page.keyboard.press("Enter")
    await shows(talk, "First question", "One.", "Another second", "Two.")
    await expect(tree).to_have_count(0)
    await talk.page.get_by_role("button", name="Branches", exact=True).click()
    await rows.nth(0).click()
    await shows(talk, *FIRST)


async def test_a_branch_made_in_one_tab_is_counted_in_the_other_which_stays_where_it_is(
    talk: Chat, two: Studio, browser_context: BrowserContext
) -> None:
    second = await two.open(browser_context, f"/c/{talk.conversation}")
    await shows(second, *FIRST)
    await edit(talk, "Second question", "From the first tab")
    await shows(talk, "First question", "One.", "From the first tab", "Two.")
    await expect(second.timeline.get_by_role("group", name="Versions of this message")).to_have_text("1 of 2")
    await shows(second, *FIRST)
    # What is written there is added to what it shows, although another branch was chosen last.
    await second.ask("From the second tab")
    await shows(second, *FIRST, "From the second tab", "Three.")
    await shows(talk, "First question", "One.", "From the first tab", "Two.")


async def test_an_answer_at_work_is_finished_first_or_stopped_as_the_person_says(talk: Chat, two: Studio) -> None:
    page, hold = talk.page, two.hold()
    two.script(
        {"match": "Slow", "steps": ["Slowly ", hold.step, "done."]},
        {"match": "Quick", "steps": ["Quickly."]},
        "One.",
        "Two.",
    )
    await talk.send("Slow question")
    await expect(talk.answers.last).to_contain_text("Slowly")
    await edit(talk, "Second question", "Quick question")
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("is still at work")
    await dialog.get_by_role("button", name="Cancel").click()
    await expect(page.get_by_role("textbox", name="Message, edited")).to_have_value("Quick question")
    await page.get_by_role("button", name="Send the edited message").click()
    await dialog.get_by_role("button", name="Let it finish first").click()
    await shows(talk, "First question", "One.", "Quick question")
    await expect(talk.timeline).to_contain_text("Waiting until an answer in another branch has ended")
    hold.release()
    await shows(talk, "First question", "One.", "Quick question", "Quickly.")
    await talk.finished()
    again = two.hold()
    two.script({"match": "Slow", "steps": ["Slowly ", again.step, "done."]}, "One.", "Two.", "Three.")
    await talk.send("Slow again")
    await expect(talk.answers.last).to_contain_text("Slowly")
    await talk.answers.first.hover()
    await talk.answers.first.get_by_role("button", name="Regenerate").click()
    await page.get_by_role("menuitem", name="With the same model").click()
    await dialog.get_by_role("button", name="Stop it").click()
    await shows(talk, "First question", "One.")
    await talk.finished()
    again.release()
    stopped = two.server.get(f"/api/conversations/{talk.conversation}?branch=1&limit=200")["runs"]
    assert "cancelled" in {run["status"] for run in stopped}


async def test_everything_up_to_an_answer_becomes_a_conversation_of_its_own(talk: Chat) -> None:
    before = talk.conversation
    await talk.answers.first.hover()
    await talk.answers.first.get_by_role("button", name="More about this answer").click()
    await talk.page.get_by_role("menuitem", name="Branch into a new conversation").click()
    await shows(talk, "First question", "One.")
    assert talk.conversation != before
    await talk.ask("Something else")
    await shows(talk, "First question", "One.", "Something else", "Two.")
    await talk.go(f"/c/{before}")
    await shows(talk, *FIRST)


async def test_a_search_finds_what_stands_in_another_branch_and_leads_there(talk: Chat) -> None:
    await edit_and_wait(talk, "Second question", "About lighthouses")
    await talk.timeline.get_by_role("button", name="Previous version").click()
    await shows(talk, *FIRST)
    await talk.page.keyboard.press("Control+/")
    await talk.page.keyboard.type("lighthouses")
    hit = talk.page.get_by_role("navigation", name="Search results").get_by_role("link", name="About lighthouses")
    await expect(hit).to_contain_text("other branch")
    await hit.click()
    await shows(talk, "First question", "One.", "About lighthouses", "Two.")


async def test_a_link_to_an_item_of_another_branch_shows_its_path(talk: Chat) -> None:
    item = next(one["id"] for one in talk.snapshot()["items"] if one["text"] == "Two.")
    await edit_and_wait(talk, "First question", "A better question")
    for address in (f"?item={item}&branch=0", f"?item={item}"):
        await talk.go(f"/c/{talk.conversation}{address}")
        await shows(talk, *FIRST)
        await expect(talk.page.locator(f"#item-{item}")).to_have_attribute("data-target", "true")
        await talk.timeline.get_by_role("button", name="Next version").click()
        await shows(talk, "A better question", "One.")


@pytest.mark.case("CHT-02")
async def test_everything_is_there_in_every_window_and_keeps_nobody_out(anywhere: Chat) -> None:
    page = anywhere.page
    await edit_and_wait(anywhere, "Second question", "Another second")
    await fits(page)
    if page.viewport_size and page.viewport_size["width"] < 500:
        # No pointer hovers there: what can be done is in sight, and as large as a finger.
        for name in ("Edit", "Regenerate", "More about this message", "More about this answer", "Previous version"):
            button = anywhere.timeline.get_by_role("button", name=name).last
            assert await button.evaluate(OPACITY) == 1, name
            box = await button.bounding_box()
            assert box is not None
            assert min(box["width"], box["height"]) >= 40, (name, box)
    assert await serious_problems(page) == []
    await mine(anywhere, "Another second").get_by_role("button", name="Edit").click()
    assert await serious_problems(page) == []
    await fits(page)
    await page.keyboard.press("Escape")
    await anywhere.timeline.get_by_role("button", name="Show all branches").click()
    await expect(page.get_by_role("treeitem")).to_have_count(2)
    assert await serious_problems(page) == []
    await page.get_by_role("treeitem").first.click()
    await shows(anywhere, *FIRST)


async def test_what_was_attached_stays_with_an_edited_message_or_is_dropped(talk: Chat, two: Studio) -> None:
    two.script("One.", "Two.", "Three.")
    await talk.page.locator("input[type=file]").first.set_input_files(
        {"name": "chart.png", "mimeType": "image/png", "buffer": PNG}
    )
    await expect(talk.page.get_by_role("list", name="Attached images")).to_be_visible()
    await talk.send("Look at this")
    await talk.finished()
    pictures = talk.rows("user_message").get_by_role("img", name="chart.png")
    await edit(talk, "Look at this", "Look again")
    await expect(mine(talk, "Look again")).to_be_visible()
    await expect(pictures).to_have_count(1)
    await talk.finished()
    await mine(talk, "Look again").get_by_role("button", name="Edit").click()
    await talk.page.get_by_role("button", name="Leave out chart.png").click()
    await talk.page.get_by_role("textbox", name="Message, edited").fill("Without it")
    await talk.page.keyboard.press("Control+Enter")
    await expect(mine(talk, "Without it")).to_be_visible()
    await expect(pictures).to_have_count(0)
    await expect(talk.timeline.get_by_role("group", name="Versions of this message")).to_have_text("3 of 3")
    # A picture takes a moment to be seen; the server knows at once whether there is one.
    (kept,) = (item for item in talk.snapshot()["items"] if item["text"] == "Without it")
    assert not kept["data"].get("content")


async def test_a_long_conversation_is_read_back_to_its_beginning_along_the_path(chat: Chat, studio: Studio) -> None:
    studio.script("A short answer.", loop=True)
    conversation = studio.conversation("Question 0")
    await chat.go(f"/c/{conversation}")
    await edit_and_wait(chat, "Question 0", "Another beginning")
    # Nobody looks while it grows: to draw that sixty times took a third of this test.
    await chat.page.goto("about:blank")
    studio.say(conversation, *(f"Question {number}." for number in range(1, 60)))
    await chat.go(f"/c/{conversation}")
    await edit(chat, "Question 59.", "Another end")
    # Until it is sent, the last arrows are those of the first message.
    await expect(mine(chat, "Another end").get_by_role("group", name="Versions of this message")).to_be_visible()
    versions = chat.timeline.get_by_role("group", name="Versions of this message").last
    await expect(versions).to_have_text("2 of 2")
    await chat.finished()
    await versions.get_by_role("button", name="Previous version").click()
    await expect(mine(chat, "Question 59.")).to_be_visible()
    await versions.get_by_role("button", name="Next version").click()
    await expect(mine(chat, "Another end")).to_be_visible()
    await expect(mine(chat, "Question 59.")).to_have_count(0)
    await chat.timeline.focus()

    async def is_at_the_beginning() -> bool:
        await chat.page.keyboard.press("Home")
        return bool(await mine(chat, "Another beginning").count())

    await eventually(is_at_the_beginning, "the first message")
    await expect(mine(chat, "Another beginning")).to_be_visible()
    await expect(mine(chat, "Question 0")).to_have_count(0)


async def test_a_switch_leaves_the_arrows_under_the_pointer(chat: Chat, studio: Studio) -> None:
    long = "\n\n".join(["A line."] * 40)
    studio.script(f"First. {long}", f"Second. {long}", f"Third. {long}")
    await chat.go(f"/c/{studio.conversation('First question', 'Second question')}")
    await edit(chat, "Second question", "Another second")
    versions = chat.timeline.get_by_role("group", name="Versions of this message")
    await expect(versions).to_have_text("2 of 2")
    await chat.finished()
    await versions.evaluate("element => element.scrollIntoView({ block: 'center' })")
    # Once what came into view has its height.
    await versions.hover()
    before = await versions.bounding_box()
    for name, count in (("Previous version", "1 of 2"), ("Next version", "2 of 2")):
        await versions.get_by_role("button", name=name).click()
        await expect(versions).to_have_text(count)

        async def rests() -> bool:
            now = await versions.bounding_box()
            return now is not None and before is not None and abs(now["y"] - before["y"]) < 2

        await eventually(rests, "arrows where they were")
