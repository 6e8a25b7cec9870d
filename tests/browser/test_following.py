"""What the person sends and what waits for them is in view, however far up they have read."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Locator, expect

from pilothouse.store.opening import open_store
from pilothouse.store.store import Store
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.events import ItemCreated
from tests.browser.answering import button, create
from tests.browser.approving import add_server, call, wait_until_connected
from tests.browser.axe import serious_problems
from tests.browser.resting import scrolled
from tests.browser.studio import Chat, Studio
from tests.browser.workshop import Workshop, open_workshop
from tests.support.records import a_conversation, an_item
from tests.support.waiting import eventually

LONG = "\n\n".join(f"Paragraph {number} of what was said before." for number in range(60))
# More lines than the page draws when it draws them all.
MANY = 260
# Each has a conversation of its own: what one leaves behind, another would take for its own.
TESTS = 9
SIZES = {"laptop": {"width": 1280, "height": 640}, "phone": {"width": 390, "height": 640}}
THINK = {"call": "think", "arguments": {"thoughts": "\n".join(f"Thought {number}" for number in range(40))}}
TO_END = "element => element.scrollHeight - element.scrollTop - element.clientHeight"
ASK = {"call": "user_collaboration", "arguments": {"prompt": "Which unit?", "choices": ["Metres", "Feet"]}}
NAME = {"type": "object", "properties": {"name": {"type": "string", "title": "Your name"}}, "required": ["name"]}
# How each kind of question is asked, what it says, and the button that answers it.
QUESTIONS: dict[str, tuple[dict[str, Any], str, str]] = {
    "approval": (create("hull.txt", "\n".join(f"plank {number}" for number in range(20))), "hull.txt", "Deny"),
    "question of the agent": (ASK, "Which unit?", "Feet"),
    "question of a server": (call("ask", schema=NAME), "What is your name?", "Decline"),
}


async def _seed(home: Path, folder: Path) -> list[str]:
    """Write conversations that are long from the start, one for each test; return their ids."""
    opened = open_store(home, None, lambda conversation_id, events: None)
    try:
        return [await _write(opened.store, folder) for _ in range(TESTS)]
    finally:
        await opened.close()


async def _write(store: Store, folder: Path) -> str:
    settings = ConversationSettings(working_directory=str(folder), mode="ask")
    made = msgspec.structs.replace(a_conversation(), title="Long", title_source="person", settings=settings)
    conversation = await store.add_conversation(made)
    kinds: tuple[Any, Any] = ("user_message", "response")
    items = [
        an_item(conversation.id, kinds[number % 2], "completed", f"What was said as number {number}. " * 8)
        for number in range(MANY)
    ]
    await store.append(conversation.id, [ItemCreated(item=item) for item in items], None)
    return conversation.id


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the model works."""
    return tmp_path_factory.mktemp("boat")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One server for all of these."""
    with Studio(tmp_path_factory.mktemp("following") / "home") as studio:
        yield studio


@pytest.fixture(scope="module")
def long_ones(served: Studio, folder: Path) -> Iterator[str]:
    """Ids of conversations of which only what is in view is drawn; a server of MCP is there as well."""
    served.server.close()
    with asyncio.Runner() as runner:
        made = runner.run(_seed(served.home, folder))
    served.restart()
    add_server(served, "Scripted")
    wait_until_connected(served, "Scripted")
    return iter(made)


@pytest_asyncio.fixture(loop_scope="session", params=["all is drawn", "only what is in view is drawn"])
async def workshop(
    request: pytest.FixtureRequest,
    served: Studio,
    long_ones: Iterator[str],
    browser_context: BrowserContext,
    folder: Path,
) -> Workshop:
    """A conversation with much to read."""
    if request.param == "all is drawn":
        made = await open_workshop(served, browser_context, folder, mode="ask")
        await made.say("Tell me much", LONG)
        return made
    made = Workshop(served, await served.open(browser_context, f"/c/{next(long_ones)}"), folder)
    await expect(made.chat.timeline).to_have_attribute("data-virtual", "true")
    await at_end(made.chat)
    return made


def jump(chat: Chat) -> Locator:
    """The way to the end, for who has left it."""
    return chat.page.get_by_role("button", name="Jump to latest")


async def at_end(chat: Chat) -> None:
    """Wait until the end is in view, and is followed."""

    async def look() -> bool:
        return float(await chat.timeline.evaluate(TO_END)) < 40

    await eventually(look, "the end in view")
    await expect(jump(chat)).to_have_count(0)


async def read_above(chat: Chat) -> float:
    """Scroll far up as with a wheel; return where that is."""
    await chat.timeline.hover(position={"x": 60, "y": 60})
    await chat.page.mouse.wheel(0, -1_500)
    await expect(jump(chat)).to_be_visible()
    return await scrolled(chat.timeline)


async def test_the_page_follows_again_after_a_call_was_opened_and_closed(workshop: Workshop, served: Studio) -> None:
    chat, hold = workshop.chat, served.hold()
    workshop.let("Think first", [THINK], ["Beginning.\n\n", hold.step, LONG])
    await chat.send("Think first")
    await expect(chat.answers.last).to_contain_text("Beginning.")
    await at_end(chat)
    line = workshop.card("Thought 0").get_by_role("button").first
    await line.click()
    await expect(line).to_have_attribute("aria-expanded", "true")
    await expect(jump(chat)).to_be_visible()
    await line.click()
    await at_end(chat)
    hold.release()
    await chat.finished()
    await at_end(chat)
    await expect(chat.answers.last.get_by_text("Paragraph 59")).to_be_in_viewport()


async def test_what_came_while_a_call_was_open_is_followed_once_it_is_closed(
    workshop: Workshop, served: Studio
) -> None:
    chat, hold, rest = workshop.chat, served.hold(), served.hold()
    workshop.let("Think first", [THINK], ["Beginning.\n\n", hold.step, LONG, rest.step, "\n\nThe end."])
    await chat.send("Think first")
    await expect(chat.answers.last).to_contain_text("Beginning.")
    line = workshop.card("Thought 0").get_by_role("button").first
    await line.click()
    await expect(jump(chat)).to_be_visible()
    before = await scrolled(chat.timeline)
    hold.release()
    await expect(chat.answers.last).to_contain_text("Paragraph 59")
    assert abs(await scrolled(chat.timeline) - before) <= 1, "nothing moves while the call is read"
    await line.click()
    await at_end(chat)
    rest.release()
    await chat.finished()
    await expect(chat.answers.last.get_by_text("The end.")).to_be_in_viewport()


async def test_what_is_sent_from_far_above_is_in_view(workshop: Workshop, served: Studio) -> None:
    chat, hold = workshop.chat, served.hold()
    await read_above(chat)
    workshop.let("From above", [hold.step, "Heard."])
    await chat.box.fill("From above")
    await chat.box.press("Enter")
    await expect(chat.rows("user_message").filter(has_text="From above").last).to_be_in_viewport()
    await at_end(chat)
    hold.release()
    await chat.finished()
    await expect(chat.answers.last.get_by_text("Heard.")).to_be_in_viewport()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", QUESTIONS)
async def test_a_question_is_in_view_for_who_follows_and_for_who_reads_above(
    workshop: Workshop, served: Studio, kind: str, size: str
) -> None:
    chat, (step, words, answer) = workshop.chat, QUESTIONS[kind]
    await chat.page.set_viewport_size(SIZES[size])  # type: ignore[arg-type]
    allow = {"allow": ["scripted.*"]}
    for reads_above in (False, True):
        hold, text = served.hold(), f"{kind} on a {size}, {'above' if reads_above else 'below'}"
        workshop.let(text, [hold.step, step], "Well.")
        served.server.post(f"/api/conversations/{chat.conversation}/messages", {"text": text, **allow}, 202)
        await expect(chat.stop).to_be_visible()
        before = await read_above(chat) if reads_above else 0.0
        hold.release()
        choice = button(chat.dock.get_by_role("region").filter(has_text=words), answer)
        await expect(choice).to_be_in_viewport(ratio=1)
        if reads_above:
            assert await scrolled(chat.timeline) == before, "nobody is torn away from what they read"
            assert await serious_problems(chat.page) == []
        await choice.click()
        await chat.finished()
        if reads_above:
            await jump(chat).click()
        await at_end(chat)
