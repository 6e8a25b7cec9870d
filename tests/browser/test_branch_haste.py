"""Branches in a hurry and on a telephone: every press counts once, and what one works on stays in view."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Route, expect

from tests.browser.branching import OTHER, mine, shows
from tests.browser.console import Console
from tests.browser.menus import close_menu
from tests.browser.studio import Chat, Studio
from tests.support.waiting import eventually

# What is seen of an element inside what scrolls, as a share of its height.
SEEN = """element => {
    const own = element.getBoundingClientRect()
    const view = element.closest("[data-scroller]").getBoundingClientRect()
    return (Math.min(own.bottom, view.bottom) - Math.max(own.top, view.top)) / own.height
}"""


@pytest_asyncio.fixture(loop_scope="session")
async def phone(chromium: Browser, two: Studio, console: Console) -> AsyncIterator[Chat]:
    """A tab on a telephone."""
    context = await chromium.new_context(
        viewport={"width": 390, "height": 844}, reduced_motion="reduce", has_touch=True, is_mobile=True
    )
    context.on("page", console.watch)
    yield await two.open(context)
    await context.close()


async def held(chat: Chat, path: str) -> asyncio.Event:
    """Let requests to a path reach the server only once the event is set."""
    go_on = asyncio.Event()

    async def later(route: Route) -> None:
        await go_on.wait()
        await route.continue_()

    await chat.page.route(path, later)
    return go_on


async def five_versions(chat: Chat) -> Locator:
    """Have five versions of the second message, and show the first of them; return its arrows."""
    (second,) = (item for item in chat.snapshot()["items"] if item["text"] == "Second question")
    server, path = chat.studio.server, f"/api/conversations/{chat.conversation}"
    for number in range(2, 6):
        body = {"text": f"Version {number}", "insteadOf": second["id"]}
        server.wait_for_run(server.post(f"{path}/messages", body, 202)["runId"], "completed")
    server.post(f"{path}/branch", {"branch": 0})
    await chat.page.reload()
    versions = chat.timeline.get_by_role("group", name="Versions of this message")
    await expect(versions).to_have_text("1 of 5")
    return versions


async def test_each_of_four_fast_presses_of_a_key_counts_and_the_last_one_wins(talk: Chat) -> None:
    versions = await five_versions(talk)
    go_on = await held(talk, "**/api/conversations/*/branch")
    await versions.get_by_role("button", name="Next version").focus()
    for _ in range(4):
        await talk.page.keyboard.press("ArrowRight")
    # Further than to the last one nothing leads.
    await talk.page.keyboard.press("ArrowRight")
    go_on.set()
    await expect(versions).to_have_text("5 of 5")
    await shows(talk, "First question", "One.", "Version 5", "Two.")
    assert talk.snapshot()["conversation"]["branch"] == 4
    await expect(versions.get_by_role("button", name="Next version")).to_be_focused()
    for _ in range(3):
        await talk.page.keyboard.press("ArrowLeft")
    await talk.page.keyboard.press("ArrowRight")
    await expect(versions).to_have_text("3 of 5")
    await shows(talk, "First question", "One.", "Version 3", "Two.")


async def test_fast_clicks_count_each_also_while_the_arrows_are_drawn_anew_under_the_pointer(talk: Chat) -> None:
    versions = await five_versions(talk)
    await versions.hover()
    box = await versions.get_by_role("button", name="Next version").bounding_box()
    assert box is not None
    mouse = talk.page.mouse
    await mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    # The first click leads on while the second one is down.
    go_on = await held(talk, "**/api/conversations/*/branch")
    await mouse.down()
    await mouse.up()
    await mouse.down()
    go_on.set()
    await expect(versions).to_have_text("2 of 5")
    await mouse.up()
    await expect(versions).to_have_text("3 of 5")
    for _ in range(2):
        await mouse.down()
        await mouse.up()
    await expect(versions).to_have_text("5 of 5")
    await shows(talk, "First question", "One.", "Version 5", "Two.")


def conversations(studio: Studio) -> set[str]:
    """The ids of the newest conversations."""
    return {one["id"] for one in studio.server.get("/api/conversations")["conversations"]}


async def test_a_double_click_makes_one_conversation_of_its_own(talk: Chat, two: Studio) -> None:
    before, there = talk.conversation, conversations(two)
    asked: list[str] = []
    talk.page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/copy") else None)
    go_on = await held(talk, "**/api/runs/*/copy")
    for _ in range(2):
        # Opened once more while it is under way, it makes no other either.
        await talk.answers.first.hover()
        await talk.answers.first.get_by_role("button", name="More about this answer").click()
        item = talk.page.get_by_role("menuitem", name="Branch into a new conversation")
        await expect(item).to_be_visible()
        await item.evaluate("element => { element.click(); element.click() }")
        await expect(talk.page.get_by_role("menu")).to_have_count(0)
    go_on.set()
    await talk.page.wait_for_url(lambda url: before not in url)
    await shows(talk, "First question", "One.")
    assert len(asked) == 1
    assert conversations(two) - there == {talk.conversation}


async def scrolled_to(chat: Chat, row: Locator, block: str) -> None:
    """Read further up, to a message."""
    await chat.timeline.press("PageUp")
    await row.evaluate(f"element => element.scrollIntoView({{ block: '{block}' }})")


async def in_view(chat: Chat) -> None:
    """Wait until the editor is in view whole, and see that it stays there."""
    form = chat.page.get_by_role("form", name="Edit the message")
    await expect(form.get_by_role("textbox")).to_be_focused()

    async def is_seen() -> bool:
        return float(await form.evaluate(SEEN)) > 0.99

    await eventually(is_seen, "the whole editor in view")
    # Some frames later everything has its height.
    await chat.page.evaluate(
        "() => new Promise(done => { let left = 12; const f = () => left-- ? requestAnimationFrame(f) : done(); f() })"
    )
    assert await is_seen()


@pytest.mark.parametrize("count", [14, 130], ids=["drawn whole", "drawn in part"])
async def test_on_a_telephone_an_earlier_message_is_edited_in_view(phone: Chat, two: Studio, count: int) -> None:
    two.script("\n\n".join(["A line of an answer."] * 12), loop=True)
    long = {0, count - 3}
    texts = [f"Question {number}: " + "long words " * (150 if number in long else 1) for number in range(count)]
    await phone.go(f"/c/{two.conversation(*texts)}")
    for number, block in ((count - 3, "end"), (count - 2, "end"), (count - 1, "start")):
        row = mine(phone, f"Question {number}:")
        await scrolled_to(phone, row, block)
        await row.get_by_role("button", name="Edit").tap()
        await in_view(phone)
        await phone.page.keyboard.type(" more\n\n\n\n")
        await in_view(phone)
        await phone.page.keyboard.press("Escape")
        await expect(phone.page.get_by_role("form", name="Edit the message")).to_have_count(0)


async def test_a_model_that_is_gone_is_not_offered_again_and_the_reason_stands_there(talk: Chat, two: Studio) -> None:
    model = {"name": "Passing model", "provider": "scripted", "model": str(two.path.with_name("other.json"))}
    gone = two.server.post("/api/models", model, 201)["id"]
    await talk.answers.last.hover()
    await talk.answers.last.get_by_role("button", name="Regenerate").click()
    await talk.page.get_by_role("menuitem", name="Passing model").click()
    await shows(talk, "First question", "One.", "Second question", OTHER)
    await talk.finished()
    two.server.client.delete(f"/api/models/{gone}").raise_for_status()
    await talk.page.reload()
    await talk.answers.last.hover()
    await talk.answers.last.get_by_role("button", name="Regenerate").click()
    same = talk.page.get_by_role("menuitem", name="With the same model")
    await expect(same).to_be_disabled()
    await expect(same).to_contain_text(f"“{gone}” is not among your models any more")
    await expect(talk.page.get_by_role("menuitem", name="At another temperature")).to_be_disabled()
    await expect(talk.page.get_by_role("menuitem", name="Script")).to_be_enabled()
    run = talk.snapshot()["runs"][-1]["id"]
    refused = two.server.post(f"/api/runs/{run}/retry", {"modelId": gone}, 400)
    there_are = "There are: script (Script), other (Other model)."
    assert (refused["message"], refused["fix"]) == (f"There is no model “{gone}”.", there_are)


async def test_a_tooltip_says_what_a_branch_means_there_and_goes_when_its_button_is_pressed(talk: Chat) -> None:
    tip = talk.page.get_by_role("tooltip")
    row = mine(talk, "Second question")
    await row.hover()
    cancel = talk.page.get_by_role("status").get_by_role("button", name="Cancel", exact=True)
    for name, words, is_menu in (
        ("Regenerate", "Regenerate", True),
        ("More about this message", "More", True),
        ("Branch from here", "Branch from here: write something else in its place", False),
    ):
        button = row.get_by_role("button", name=name)
        await button.hover()
        await expect(tip).to_have_text(words)
        await button.click()
        await expect(tip).to_have_count(0)
        if is_menu:
            await close_menu(talk.page)
            continue
        await expect(cancel).to_be_visible()
        await expect(talk.box).to_be_focused()
        await talk.page.keyboard.press("Escape")
        await expect(cancel).to_have_count(0)
    await shows(talk, "First question", "One.", "Second question", "Two.")
    await talk.answers.last.hover()
    await talk.answers.last.get_by_role("button", name="Branch from here").hover()
    await expect(tip).to_have_text("Branch from here: go on after this answer")
