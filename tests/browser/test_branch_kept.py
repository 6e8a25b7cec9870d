"""What stays through a reload, a second press, and what happens elsewhere meanwhile."""

from __future__ import annotations

from playwright.async_api import expect

from tests.browser.branching import edit_and_wait, mine, shows
from tests.browser.studio import Chat, Studio

FIRST = ("First question", "One.", "Second question", "Two.")


async def test_a_draft_keeps_the_place_it_branches_from_through_a_reload_and_a_look_elsewhere(talk: Chat) -> None:
    page, here = talk.page, talk.conversation
    bar = page.get_by_text("New branch from here")
    await talk.answers.first.hover()
    await talk.answers.first.get_by_role("button", name="Branch from here").click()
    await talk.box.fill("Another way on")
    await page.reload()
    await expect(bar).to_be_visible()
    await shows(talk, "First question", "One.")
    await page.get_by_role("button", name="New", exact=True).click()
    await expect(bar).to_have_count(0)
    await page.locator(f'a[href="/c/{here}"]').first.click()
    await expect(bar).to_be_visible()
    await expect(talk.box).to_have_value("Another way on")
    await talk.box.press("Control+Enter")
    await shows(talk, "First question", "One.", "Another way on", "Two.")
    await page.reload()
    await shows(talk, "First question", "One.", "Another way on", "Two.")
    await expect(bar).to_have_count(0)


async def test_a_place_without_a_draft_is_forgotten(talk: Chat) -> None:
    await talk.answers.first.hover()
    await talk.answers.first.get_by_role("button", name="Branch from here").click()
    await shows(talk, "First question", "One.")
    await talk.page.reload()
    await shows(talk, *FIRST)


async def test_a_double_click_on_regenerate_makes_one_answer(talk: Chat) -> None:
    await talk.answers.last.hover()
    await talk.answers.last.get_by_role("button", name="Regenerate").click()
    # Both before the menu is gone, as while it fades.
    same = talk.page.get_by_role("menuitem", name="With the same model")
    await same.evaluate("one => { one.click(); one.click() }")
    answers = talk.timeline.get_by_role("group", name="Answers to this message")
    await expect(answers).to_have_text("2 of 2")
    await talk.finished()
    await expect(talk.page.get_by_role("menu")).to_have_count(0)
    assert len(talk.snapshot()["branches"]) == 1


async def test_a_message_that_is_hidden_elsewhere_while_it_is_edited_says_so_and_keeps_the_edit(
    talk: Chat, two: Studio
) -> None:
    item = next(one["id"] for one in talk.snapshot()["items"] if one["text"] == "Second question")
    await mine(talk, "Second question").hover()
    await mine(talk, "Second question").get_by_role("button", name="Edit").click()
    box = talk.page.get_by_role("textbox", name="Message, edited")
    await box.fill("Second, better")
    two.server.post(f"/api/items/{item}/hide", {})
    await expect(talk.timeline).to_contain_text("This message was hidden meanwhile. Show it again to edit it.")
    await talk.timeline.get_by_role("button", name="Show again").click()
    await expect(box).to_have_value("Second, better")


async def test_an_edit_that_is_typed_is_still_there_after_a_reload(talk: Chat) -> None:
    await mine(talk, "Second question").hover()
    await mine(talk, "Second question").get_by_role("button", name="Edit").click()
    box = talk.page.get_by_role("textbox", name="Message, edited")
    await box.fill("Second, better")
    await talk.page.reload()
    await expect(box).to_have_value("Second, better")
    await box.press("Escape")
    await talk.page.reload()
    await shows(talk, *FIRST)


async def test_an_answer_that_waits_for_the_person_is_not_called_at_work(talk: Chat, two: Studio) -> None:
    asks = {"call": "user_collaboration", "arguments": {"prompt": "Which sea?", "choices": ["North", "Baltic"]}}
    two.script({"match": "Third", "steps": [asks]}, {"match": "Another", "steps": ["At once."]}, "One.", "Two.")
    await talk.send("Third question")
    await expect(talk.page.get_by_role("button", name="North")).to_be_visible()
    await talk.answers.first.hover()
    await talk.answers.first.get_by_role("button", name="Branch from here").click()
    await talk.box.fill("Another way on")
    await talk.box.press("Control+Enter")
    dialog = talk.page.get_by_role("dialog")
    await expect(dialog).to_contain_text("waits for you")
    await expect(dialog).not_to_contain_text("at work")
    await dialog.get_by_role("button", name="Leave it waiting").click()
    await shows(talk, "First question", "One.", "Another way on", "At once.")
    first = two.server.get(f"/api/conversations/{talk.conversation}?branch=0")["runs"]
    assert "waiting" in {run["status"] for run in first}


async def test_on_a_telephone_the_menu_of_an_answer_leads_to_all_branches(talk: Chat) -> None:
    await edit_and_wait(talk, "Second question", "Another second")
    await talk.page.set_viewport_size({"width": 390, "height": 780})
    await talk.answers.last.get_by_role("button", name="More about this answer").click()
    await talk.page.get_by_role("menuitem", name="All branches").click()
    rows = talk.page.get_by_role("tree", name="Branches").get_by_role("treeitem")
    await expect(rows).to_have_count(2)
    await rows.first.click()
    await shows(talk, *FIRST)
