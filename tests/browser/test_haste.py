"""A hasty person and a slow machine: what is typed, chosen or pressed meanwhile is neither lost nor led astray."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from playwright.async_api import BrowserContext, Page, Request, Route, WebSocketRoute, expect

from tests.browser.resting import stop_clock
from tests.browser.studio import Chat, Studio
from tests.support.waiting import eventually

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADklEQVR4nGNgYPgPRAwADf4B/z0ZtYIAAAAASUVORK5CYII="
)
# Files are read when the test says so.
SLOW_FILES = """() => {
    const read = File.prototype.arrayBuffer
    const isTime = new Promise(resolve => { window.__read = resolve })
    File.prototype.arrayBuffer = async function () { await isTime; return read.call(this) }
}"""
# Long enough to draw what has come.
SOME_FRAMES = """async () => {
    for (let frame = 0; frame < 10; frame++) await new Promise(requestAnimationFrame)
    return true
}"""
# What has the focus once the keys of the palette have been heard, before anything else happens.
AFTER_KEYS = """async () => {
    window.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true }))
    await Promise.resolve()
    return document.activeElement.getAttribute("role")
}"""


@asynccontextmanager
async def slow(page: Page, path: str, method: str) -> AsyncIterator[asyncio.Event]:
    """Let one request of the page be answered only after the block; the event tells that it was made."""
    made, is_time = asyncio.Event(), asyncio.Event()

    async def answer(route: Route) -> None:
        if route.request.method != method or made.is_set():
            await route.fallback()
            return
        made.set()
        await is_time.wait()
        await route.continue_()

    await page.route(path, answer)
    try:
        yield made
    finally:
        is_time.set()


async def test_what_is_typed_while_a_message_is_on_its_way_is_the_next_one(chat: Chat, studio: Studio) -> None:
    studio.script("Aye.")
    await chat.ask("Hard to port")
    async with slow(chat.page, "**/messages", "POST") as made:
        await chat.box.fill("Steady as she goes")
        await chat.box.press("Control+Enter")
        await made.wait()
        await chat.box.press_sequentially(", and")
    await expect(chat.rows("user_message")).to_have_count(2)
    await expect(chat.rows("user_message").last).not_to_contain_text("and")
    await chat.finished()
    await expect(chat.box).to_have_value("Steady as she goes, and")


async def test_what_is_typed_after_the_first_message_goes_along_to_its_conversation(chat: Chat, studio: Studio) -> None:
    studio.script("Aye.")
    async with slow(chat.page, "**/messages", "POST") as made:
        await chat.box.fill("Hard to port")
        await chat.box.press("Control+Enter")
        await made.wait()
        await chat.box.fill("And then")
    await expect(chat.rows("user_message")).to_contain_text("Hard to port")
    await expect(chat.box).to_have_value("And then")
    await chat.page.keyboard.press("Alt+n")
    await expect(chat.page).to_have_url(f"{studio.url}/")
    await expect(chat.box).to_have_value("")


async def test_a_message_takes_the_image_along_that_is_still_being_read(chat: Chat, studio: Studio) -> None:
    studio.script("A small blue picture.")
    await chat.page.evaluate(SLOW_FILES)
    image = {"name": "blue.png", "mimeType": "image/png", "buffer": PNG}
    await chat.page.locator("input[type=file]").set_input_files(image)  # type: ignore[arg-type]
    await chat.box.fill("What is this?")
    await chat.box.press("Control+Enter")
    await chat.page.evaluate("window.__read()")
    sent = chat.rows("user_message")
    await expect(sent).to_contain_text("What is this?")
    await expect(sent.get_by_role("img")).to_have_count(1)


async def test_settings_that_are_changed_in_one_go_are_all_kept_and_hold_for_the_next_message(
    chat: Chat, studio: Studio
) -> None:
    studio.script("Aye.")
    await chat.ask("Hard to port")
    await chat.page.get_by_role("button", name="Chat settings").click()
    dialog = chat.page.get_by_role("dialog", name="Chat settings")
    sent: list[str] = []

    def note(request: Request) -> None:
        if request.method in ("PATCH", "POST"):
            sent.append(request.method)

    async with slow(chat.page, f"**/api/conversations/{chat.conversation}", "PATCH") as made:
        chat.page.on("request", note)
        await dialog.get_by_label("System prompt").fill("Speak like a sailor.")
        await dialog.get_by_label("Temperature").fill("0.3")
        await dialog.get_by_label("Max tokens").fill("512")
        await chat.page.keyboard.press("Escape")
        await made.wait()
        await chat.box.fill("And now?")
        await chat.box.press("Control+Enter")
    await expect(chat.rows("user_message")).to_have_count(2)
    await chat.finished()
    kept = chat.snapshot()["conversation"]["settings"]
    assert (kept["systemPrompt"], kept["temperature"], kept["maxTokens"]) == ("Speak like a sailor.", 0.3, 512)
    assert sent == ["PATCH", "PATCH", "PATCH", "POST"]


async def test_a_choice_made_while_a_conversation_is_fetched_is_that_conversations(chat: Chat, studio: Studio) -> None:
    other = studio.server.post("/api/models", {"name": "Other", "provider": "scripted", "model": str(studio.path)}, 201)
    studio.script("Aye.")
    await chat.ask("The one with a model of its own")
    path, conversation = chat.page.url, chat.conversation
    await chat.palette("new conv", "New conversation")
    await expect(chat.page).to_have_url(f"{studio.url}/")
    async with slow(chat.page, f"**/api/conversations/{conversation}", "GET") as made:
        await chat.page.get_by_role("link", name="The one with a model of its own").click()
        await made.wait()
        await chat.page.get_by_role("button", name="Model: Script").click()
        await chat.page.get_by_role("menuitemradio", name="Other").click()

        async def chosen() -> bool:
            now = studio.server.get(f"/api/conversations/{conversation}")
            return bool(now["conversation"]["settings"]["modelId"] == other["id"])

        await eventually(chosen, "the choice to be kept")
    await expect(chat.page).to_have_url(path)
    await expect(chat.page.get_by_role("button", name="Model: Other")).to_be_visible()
    studio.server.client.delete(f"/api/models/{other['id']}")


async def test_who_types_elsewhere_while_a_conversation_is_fetched_goes_on_there(chat: Chat, studio: Studio) -> None:
    studio.script("Aye.")
    await chat.ask("The one that is fetched slowly")
    conversation = chat.conversation
    await chat.palette("new conv", "New conversation")
    search = chat.page.get_by_role("searchbox", name="Search conversations")
    async with slow(chat.page, f"**/api/conversations/{conversation}", "GET") as made:
        await chat.page.get_by_role("link", name="The one that is fetched slowly").click()
        await made.wait()
        await chat.page.keyboard.press("Control+/")
        await chat.page.keyboard.type("pil")
    await expect(chat.box).to_be_visible()
    await expect(search).to_be_focused()
    await chat.page.keyboard.type("ots")
    await expect(search).to_have_value("pilots")


async def test_the_letter_after_the_palettes_keys_is_its_own(chat: Chat) -> None:
    await chat.page.keyboard.press("Control+k")
    await expect(chat.page.get_by_role("dialog")).to_be_visible()
    await chat.page.keyboard.press("Escape")
    await expect(chat.page.get_by_role("dialog")).to_have_count(0)
    assert await chat.page.evaluate(AFTER_KEYS) == "combobox"


@pytest.mark.own_profile
async def test_an_answer_to_a_question_can_be_given_once_however_late_its_end_is_told(
    studio: Studio, browser_context: BrowserContext
) -> None:
    again = [{"call": "think", "arguments": {"thoughts": "again"}}]
    studio.script(again, again, again, again, "Enough.")
    heard: list[str | bytes] = []
    is_slow = False

    def between(page_side: WebSocketRoute) -> None:
        server_side = page_side.connect_to_server()
        server_side.on_message(lambda message: heard.append(message) if is_slow else page_side.send(message))
        lines.append(page_side)

    lines: list[WebSocketRoute] = []
    await browser_context.route_web_socket("**/api/ws", between)
    chat = await studio.open(browser_context)
    await chat.send("Loop")
    choice = chat.dock.get_by_role("region", name="Question").get_by_role("button", name="Go on")
    await expect(choice).to_be_enabled()
    is_slow = True
    async with chat.page.expect_response("**/api/questions/*/answer") as answered:
        await choice.click()
    await (await answered.value).finished()
    await expect(choice).to_be_disabled()
    is_slow = False
    for message in heard:
        lines[-1].send(message)
    await expect(chat.answers.last).to_contain_text("Enough.")


@pytest.mark.own_profile
async def test_who_signs_out_does_not_knock_again_while_the_answer_is_on_its_way(chat: Chat) -> None:
    left, is_time = asyncio.Event(), asyncio.Event()
    lines: list[str] = []

    async def late(route: Route) -> None:
        answer = await route.fetch()
        left.set()
        await is_time.wait()
        await route.fulfill(response=answer)

    await chat.page.route("**/api/session", late)
    # What is still asked for when one signs out is refused, and the browser says so.
    async with chat.page.expect_response("**/api/meaning"):
        await chat.go("/settings/general")
    await chat.page.wait_for_load_state("networkidle")
    chat.page.on("websocket", lambda line: lines.append(line.url))
    await stop_clock(chat.page)
    await chat.page.get_by_role("button", name="Sign out").click()
    await left.wait()
    # By then a line that broke would have been tried again.
    await chat.page.clock.run_for(1_000)
    is_time.set()
    await expect(chat.page.get_by_role("heading", name="Open the link from the terminal")).to_be_visible()
    assert lines == []


async def test_what_was_just_chosen_is_not_drawn_over_by_an_older_answer(chat: Chat, studio: Studio) -> None:
    read, changed = asyncio.Event(), asyncio.Event()

    async def late(route: Route) -> None:
        answer = await route.fetch()
        if route.request.method == "GET":
            read.set()
            # Behind the change, if that does not wait for its turn.
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), 1)
        await route.fulfill(response=answer)
        if route.request.method == "PATCH":
            changed.set()

    await chat.page.route("**/api/config", late)
    await chat.go("/settings/general")
    choice = chat.page.get_by_role("radio", name="Wait until you say so")
    await read.wait()
    async with (
        chat.page.expect_response(lambda answer: answer.request.method == "GET"),
        chat.page.expect_response(lambda answer: answer.request.method == "PATCH"),
    ):
        await choice.check()
    assert await chat.page.evaluate(SOME_FRAMES)
    await expect(choice).to_be_checked()
    studio.server.client.patch("/api/config", json={"resumeAfterRestart": "auto"}).raise_for_status()
