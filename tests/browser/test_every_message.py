"""What can be done under every message, own or answer, by mouse and by keyboard; and where a draft begins a branch."""

from __future__ import annotations

import base64
import re

import pytest
from playwright.async_api import BrowserContext, FilePayload, Locator, expect

from tests.browser.axe import serious_problems
from tests.browser.branching import OTHER, answered_in_every_way, edit_and_wait, mine, more, shows
from tests.browser.menus import close_menu
from tests.browser.studio import Chat, Studio

# Two pixels, blue.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADklEQVR4nGNgYPgPRAwADf4B/z0ZtYIAAAAASUVORK5CYII="
)
FIRST = ("First question", "One.", "Second question", "Two.")


def bar(chat: Chat) -> Locator:
    """What stands above the message box where the next message begins a branch."""
    return chat.page.get_by_role("status").filter(has=chat.page.get_by_role("button", name="Cancel", exact=True))


async def branch_from(chat: Chat, text: str) -> None:
    """Press what stands for that below an own message."""
    await mine(chat, text).hover()
    await mine(chat, text).get_by_role("button", name="Branch from here").click()


async def names(row: Locator) -> list[str]:
    """The buttons under a message, without the arrows."""
    found = row.locator("[data-quiet] button:not([data-direction])")
    return [str(await one.get_attribute("aria-label")) for one in await found.all()]


@pytest.mark.case("CHT-02")
async def test_every_message_and_every_answer_has_the_same_row_and_the_rest_in_a_menu(talk: Chat) -> None:
    for text in ("First question", "Second question"):
        own = ["Copy message", "Edit", "Regenerate", "Branch from here", "More about this message"]
        assert await names(mine(talk, text)) == own
    for at in (0, 1):
        answer = ["Copy answer", "Regenerate", "Branch from here", "More about this answer"]
        assert await names(talk.answers.nth(at)) == answer
    menus = {"More about this message": mine(talk, "Second question"), "More about this answer": talk.answers.last}
    items = {}
    for name, row in menus.items():
        await row.hover()
        await row.get_by_role("button", name=name).click()
        await expect(talk.page.get_by_role("menu")).to_be_visible()
        assert await serious_problems(talk.page) == []
        items[name] = [words.split("\n")[0] for words in await talk.page.get_by_role("menuitem").all_inner_texts()]
        await close_menu(talk.page)
    new, hide = "Branch into a new conversation", "Hide from models"
    assert items == {
        "More about this message": [new, hide],
        "More about this answer": ["Replay with…", new, hide],
    }


@pytest.mark.case("CHT-02")
async def test_an_own_message_is_answered_again_by_the_same_model_another_one_and_at_another_temperature(
    talk: Chat,
) -> None:
    options = await answered_in_every_way(talk, mine(talk, "Second question"))
    assert (options["temperature"], options["modelId"]) == (0.3, "other")


async def test_by_keyboard_an_own_message_is_answered_again_and_branched_from(talk: Chat) -> None:
    page = talk.page
    await mine(talk, "Second question").get_by_role("button", name="Edit").focus()
    await page.keyboard.press("Tab")
    await expect(mine(talk, "Second question").get_by_role("button", name="Regenerate")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("menuitem", name="With the same model")).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowDown")
    await expect(page.get_by_role("menuitem", name="Other model")).to_be_focused()
    await page.keyboard.press("Enter")
    await shows(talk, "First question", "One.", "Second question", OTHER)
    await talk.finished()
    await mine(talk, "Second question").get_by_role("button", name="Regenerate").focus()
    await page.keyboard.press("Tab")
    await expect(mine(talk, "Second question").get_by_role("button", name="Branch from here")).to_be_focused()
    await page.keyboard.press("Enter")
    await shows(talk, "First question", "One.")
    await expect(talk.box).to_be_focused()
    await page.keyboard.type("Something else")
    await page.keyboard.press("Control+Enter")
    await shows(talk, "First question", "One.", "Something else", "Two.")
    await expect(talk.timeline.get_by_role("group", name="Versions of this message")).to_have_text("2 of 2")


@pytest.mark.case("CHT-02")
async def test_a_branch_from_an_own_message_stands_in_its_place_also_of_the_first(talk: Chat) -> None:
    await branch_from(talk, "Second question")
    await shows(talk, "First question", "One.")
    await expect(bar(talk)).to_contain_text("New branch from here. What followed stays as it is.")
    await expect(talk.box).to_be_focused()
    await talk.send("Something else")
    await shows(talk, "First question", "One.", "Something else", "Two.")
    await talk.finished()
    await branch_from(talk, "First question")
    await shows(talk)
    await expect(bar(talk)).to_contain_text("another beginning")
    await talk.page.keyboard.press("Escape")
    await shows(talk, "First question", "One.", "Something else", "Two.")
    await branch_from(talk, "First question")
    await talk.box.fill("Another beginning")
    # Its place is kept like any.
    await talk.page.reload()
    await expect(bar(talk)).to_contain_text("another beginning")
    await talk.box.press("Control+Enter")
    await shows(talk, "Another beginning", "One.")
    await expect(bar(talk)).to_have_count(0)
    await expect(talk.timeline.get_by_role("group", name="Versions of this message")).to_have_text("2 of 2")


async def test_from_the_last_answer_the_next_message_goes_on_also_if_another_tab_was_faster(
    talk: Chat, two: Studio, browser_context: BrowserContext
) -> None:
    await talk.answers.last.hover()
    await talk.answers.last.get_by_role("button", name="Branch from here").click()
    await expect(bar(talk)).to_contain_text("Your next message goes on from here")
    await expect(talk.box).to_be_focused()
    await talk.send("Third question")
    await shows(talk, *FIRST, "Third question", "Three.")
    await expect(bar(talk)).to_have_count(0)
    assert talk.snapshot()["branches"] == []
    await talk.finished()
    await talk.answers.last.hover()
    await talk.answers.last.get_by_role("button", name="Branch from here").click()
    await talk.box.fill("From the first tab")
    second = await two.open(browser_context, f"/c/{talk.conversation}")
    # That tab has no draft of its own: what the first one keeps is shown there, too, until it is given up.
    await second.box.fill("")
    await second.page.keyboard.press("Escape")
    await second.ask("From the second tab")
    await expect(bar(talk)).to_contain_text("New branch from here. What followed stays as it is.")
    await shows(talk, *FIRST, "Third question", "Three.")
    await talk.box.press("Control+Enter")
    await shows(talk, *FIRST, "Third question", "Three.", "From the first tab", "Four.")
    await expect(talk.timeline.get_by_role("group", name="Versions of this message")).to_have_text("2 of 2")


async def test_an_own_message_becomes_the_end_of_a_conversation_of_its_own_with_its_answer(talk: Chat) -> None:
    before = talk.conversation
    await more(talk, "First question", "Branch into a new conversation")
    await talk.page.wait_for_url(lambda url: before not in url)
    await shows(talk, "First question", "One.")


async def test_arrows_keep_the_place_of_a_draft_and_say_where_it_is(talk: Chat) -> None:
    await edit_and_wait(talk, "First question", "A better question")
    versions = talk.timeline.get_by_role("group", name="Versions of this message")
    await versions.get_by_role("button", name="Previous version").click()
    await shows(talk, *FIRST)
    await talk.answers.first.hover()
    await talk.answers.first.get_by_role("button", name="Branch from here").click()
    await talk.box.fill("Another way on")
    await versions.get_by_role("button", name="Next version").click()
    await shows(talk, "A better question", "One.")
    await expect(bar(talk)).to_contain_text(
        "New branch from another place: after the answer to “First question”. That is not in the branch shown now."
    )
    await expect(talk.box).to_have_value("Another way on")
    await bar(talk).get_by_role("button", name="Show the place").click()
    await shows(talk, "First question", "One.")
    await expect(bar(talk)).to_contain_text("New branch from here. What followed stays as it is.")
    await versions.get_by_role("button", name="Next version").click()
    await shows(talk, "A better question", "One.")
    # It goes where the bar says, whatever is shown.
    await talk.box.press("Control+Enter")
    await shows(talk, "First question", "One.", "Another way on", "Two.")
    await expect(bar(talk)).to_have_count(0)


async def test_edit_and_regenerate_keep_the_place_of_a_draft(talk: Chat) -> None:
    await talk.answers.first.hover()
    await talk.answers.first.get_by_role("button", name="Branch from here").click()
    await talk.box.fill("Another way on")
    await mine(talk, "First question").hover()
    await mine(talk, "First question").get_by_role("button", name="Edit").click()
    await expect(talk.page.get_by_role("textbox", name="Message, edited")).to_be_focused()
    await expect(bar(talk)).to_contain_text("New branch from here.")
    # That leaves the edit, and not the place.
    await talk.page.keyboard.press("Escape")
    await expect(bar(talk)).to_contain_text("New branch from here.")
    await talk.answers.first.hover()
    await talk.answers.first.get_by_role("button", name="Regenerate").click()
    await talk.page.get_by_role("menuitem", name="Other model").click()
    await shows(talk, "First question", OTHER)
    await expect(bar(talk)).to_contain_text("New branch from another place")
    await expect(talk.box).to_have_value("Another way on")
    await talk.finished()
    await talk.page.reload()
    await shows(talk, "First question", "One.")
    await expect(bar(talk)).to_contain_text("New branch from here.")
    await bar(talk).get_by_role("button", name="Cancel").click()
    await expect(talk.box).to_have_value("Another way on")
    await shows(talk, *FIRST)


async def test_each_attachment_is_left_out_or_kept_by_itself_by_mouse_and_by_keyboard(talk: Chat, two: Studio) -> None:
    two.script("One.", "Two.", "Three.", "Four.")
    page = talk.page
    files: list[FilePayload] = [
        {"name": "chart.png", "mimeType": "image/png", "buffer": PNG},
        {"name": "map.png", "mimeType": "image/png", "buffer": PNG},
        {"name": "tides.txt", "mimeType": "text/plain", "buffer": b"Ebb at noon."},
        {"name": "crew.csv", "mimeType": "text/csv", "buffer": b"name,role\nAnn,mate\n"},
    ]
    await page.locator("input[type=file]").first.set_input_files(files)
    await expect(page.get_by_role("button", name="Remove crew.csv")).to_be_visible()
    await expect(page.get_by_role("button", name="Remove map.png")).to_be_visible()
    await talk.send("Look at this")
    await talk.finished()
    await mine(talk, "Look at this").hover()
    await mine(talk, "Look at this").get_by_role("button", name="Edit").click()
    chips = page.get_by_role("list", name="Attachments").get_by_role("listitem")
    await expect(chips).to_have_count(4)
    await page.get_by_role("button", name="Leave out chart.png").click()
    await page.get_by_role("button", name="Leave out tides.txt").focus()
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Leave out crew.csv").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Keep crew.csv after all")).to_be_focused()
    await page.keyboard.press("Enter")
    assert await serious_problems(page) == []
    # It is kept through a reload with what was typed.
    await page.reload()
    await expect(page.get_by_role("button", name="Keep tides.txt after all")).to_be_visible()
    box = page.get_by_role("textbox", name="Message, edited")
    await box.fill("Look again")
    await box.press("Control+Enter")
    await expect(mine(talk, "Look again")).to_be_visible()
    await talk.finished()
    (item,) = (one for one in talk.snapshot()["items"] if one["text"] == "Look again")
    assert [part["name"] for part in item["data"]["content"]] == ["map.png"]
    assert [document["name"] for document in item["data"]["documents"]] == ["crew.csv"]
    await expect(mine(talk, "Look again").get_by_role("img", name="map.png")).to_be_visible()
    # All but one left out, and no words: that one is the message.
    await mine(talk, "Look again").hover()
    await mine(talk, "Look again").get_by_role("button", name="Edit").click()
    await page.get_by_role("button", name="Leave out map.png").click()
    await box.fill("")
    await page.get_by_role("button", name="Send the edited message").click()
    await expect(talk.timeline.get_by_role("group", name="Versions of this message")).to_have_text("3 of 3")
    await talk.finished()
    assert "content" not in talk.snapshot()["items"][-2]["data"]


async def test_the_tree_says_and_draws_where_each_branch_leaves(talk: Chat) -> None:
    await edit_and_wait(talk, "Second question", "Another second")
    await talk.answers.last.hover()
    await talk.answers.last.get_by_role("button", name="Regenerate").click()
    await talk.page.get_by_role("menuitem", name="Other model").click()
    await shows(talk, "First question", "One.", "Another second", OTHER)
    await talk.finished()
    await edit_and_wait(talk, "First question", "A better question")
    await talk.page.keyboard.press("Alt+b")
    rows = talk.page.get_by_role("tree", name="Branches").get_by_role("treeitem")
    await expect(rows).to_have_count(4)
    await expect(rows.nth(0)).not_to_contain_text("from:")
    await expect(rows.nth(1)).to_contain_text("from: the beginning")
    await expect(rows.nth(2)).to_contain_text("from: “First question”")
    await expect(rows.nth(3)).to_contain_text("from: “First question”")
    # The time as everywhere in the page.
    await expect(rows.nth(0)).to_contain_text(re.compile(r" \d\d:\d\d · "))
    left = [await rows.nth(at).locator("> :last-child").bounding_box() for at in (0, 1)]
    assert left[0] is not None
    assert left[1] is not None
    assert left[1]["x"] > left[0]["x"]


async def test_a_search_calls_other_what_this_tab_does_not_show(
    talk: Chat, two: Studio, browser_context: BrowserContext
) -> None:
    await edit_and_wait(talk, "Second question", "About buoys")
    second = await two.open(browser_context, f"/c/{talk.conversation}")
    await second.timeline.get_by_role("button", name="Previous version").click()
    await shows(second, *FIRST)
    # Chosen last: the first branch, in the other tab. This one still shows its own.
    hits = talk.page.get_by_role("navigation", name="Search results")
    await talk.page.keyboard.press("Control+/")
    await talk.page.keyboard.type("buoys")
    hit = hits.get_by_role("link", name="About buoys")
    await expect(hit).to_be_visible()
    await expect(hit).not_to_contain_text("other branch")
    await talk.timeline.get_by_role("button", name="Previous version").click()
    await shows(talk, *FIRST)
    await expect(hit).to_contain_text("other branch")
    await hit.click()
    await shows(talk, "First question", "One.", "About buoys", "Two.")
