"""Reloads, other tabs, other devices, killed servers and lost connections: the page ends up right by itself."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Route, WebSocketRoute, expect

from tests.browser.console import Console
from tests.browser.studio import Chat, Hold, Studio
from tests.faults.scenario import ANSWER, write_script
from tests.support.servers import wait_for_death
from tests.support.waiting import eventually

# Numbered, so that a word lost, doubled or out of place shows.
WORDS = " ".join(f"{number:04d}" for number in range(70))
BEGINNING, REST = WORDS[:125], WORDS[125:]
BACK_MS = 20_000


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Studio]:
    """A server of this test alone, which asks before it goes on after a restart."""
    with Studio(tmp_path / "home", {"resume_after_restart": "ask"}) as made:
        yield made


async def begun(chat: Chat, studio: Studio) -> Hold:
    """Send a message and wait until its answer is on its way; it ends when it is let go on."""
    hold = studio.hold()
    studio.script([BEGINNING, hold.step, {"text": REST, "pieces": 5, "every": 0.01}], "And more.")
    await chat.send("Count")
    await expect(chat.answers.last).to_contain_text("0020")
    return hold


async def whole(chat: Chat) -> None:
    """Wait until the answer has ended, with every word once."""
    await expect(chat.answers.last.locator("p").first).to_have_text(WORDS, timeout=BACK_MS)
    await expect(chat.send_button).to_be_visible(timeout=BACK_MS)


@pytest.mark.case("F-39")
async def test_a_reload_in_the_middle_of_an_answer_shows_every_word_once(chat: Chat, studio: Studio) -> None:
    hold = await begun(chat, studio)
    await chat.page.reload()
    await expect(chat.answers.last).to_have_attribute("aria-busy", "true")
    hold.release()
    await whole(chat)
    await expect(chat.rows("user_message")).to_have_count(1)


@pytest.mark.case("F-39")
async def test_another_tab_and_another_device_see_the_same_answer(
    chat: Chat, studio: Studio, chromium: Browser, console: Console, browser_context: BrowserContext
) -> None:
    hold = await begun(chat, studio)
    elsewhere = await chromium.new_context()
    elsewhere.on("page", console.watch)
    try:
        tab, device = await asyncio.gather(
            studio.open(browser_context, f"/c/{chat.conversation}"),
            studio.open(elsewhere, f"/c/{chat.conversation}"),
        )
        sessions = {
            cookie.get("value")
            for context in (browser_context, elsewhere)
            for cookie in await context.cookies(studio.url)
            if cookie.get("name") == f"pilothouse_{studio.server.port}"
        }
        assert len(sessions) == 2
        hold.release()
        for each in (chat, tab, device):
            await whole(each)
        studio.script("Understood.")
        await device.ask("From the other device")
        for each in (chat, tab):
            await expect(each.rows("user_message").last).to_contain_text("From the other device")
            await expect(each.answers.last).to_contain_text("Understood.")
    finally:
        await elsewhere.close()


@pytest.mark.case("F-39")
async def test_an_answer_goes_on_while_no_page_is_open(
    chat: Chat, studio: Studio, browser_context: BrowserContext
) -> None:
    hold = await begun(chat, studio)
    conversation = chat.conversation
    await chat.page.close()
    hold.release()
    run = studio.server.get(f"/api/conversations/{conversation}")["runs"][0]["id"]
    await asyncio.to_thread(studio.server.wait_for_run, run, "completed")
    await whole(await studio.open(browser_context, f"/c/{conversation}"))


@pytest.mark.case("F-36", "F-39")
async def test_a_killed_server_is_waited_for_and_its_answer_resumed_when_asked(watching: Chat, mortal: Studio) -> None:
    hold = await begun(watching, mortal)

    async def is_kept() -> bool:
        return any("0003" in item["text"] for item in watching.snapshot()["items"])

    await eventually(is_kept, "the beginning to be kept")
    mortal.server.kill()
    hold.release()
    await expect(watching.connection).to_have_text("reconnecting…")
    mortal.restart()
    await expect(watching.connection).to_have_text("connected", timeout=BACK_MS)
    end = watching.timeline.get_by_role("alert")
    await expect(end).to_contain_text("Nothing is lost.", timeout=BACK_MS)
    await expect(watching.timeline).to_contain_text("0003")
    await end.get_by_role("button", name="Resume").click()
    await whole(watching)
    await expect(end).to_have_count(0)


@pytest.mark.case("F-36", "F-39")
async def test_a_killed_server_goes_on_by_itself_when_it_may(watching: Chat, mortal: Studio) -> None:
    settings = {"version": "1.0", "resume_after_restart": "auto"}
    (mortal.home / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    hold = await begun(watching, mortal)
    mortal.server.kill()
    hold.release()
    mortal.restart()
    await whole(watching)
    await expect(watching.rows("user_message")).to_have_count(1)
    await expect(watching.timeline.get_by_role("alert")).to_have_count(0)


@pytest.mark.case("F-39")
async def test_a_message_written_while_the_server_is_away_stays_in_the_box_and_goes_through_once(
    watching: Chat, mortal: Studio
) -> None:
    await watching.ask("First")
    mortal.server.kill()
    await watching.box.fill("Second, while nobody listens")
    await watching.send_button.click()
    # Why is said once, by what stands above the box.
    await expect(watching.page.get_by_role("alert")).to_contain_text("Not sent; your message is still here.")
    away = watching.page.get_by_role("status").filter(has_text="Pilothouse cannot be reached.")
    await expect(away).to_be_visible()
    await expect(watching.box).to_have_value("Second, while nobody listens")
    mortal.restart()
    await expect(watching.connection).to_have_text("connected", timeout=BACK_MS)
    await watching.page.reload()
    await expect(watching.box).to_have_value("Second, while nobody listens")
    await watching.send_button.click()
    await expect(watching.answers).to_have_count(2)
    await watching.finished()
    await expect(watching.box).to_have_value("")
    sent = [item["text"] for item in watching.snapshot()["items"] if item["kind"] == "user_message"]
    assert sent == ["First", "Second, while nobody listens"]


@pytest.mark.case("F-39")
async def test_a_message_whose_acceptance_was_not_heard_is_not_sent_twice(
    chat: Chat, studio: Studio, console: Console
) -> None:
    console.expect("net::ERR_FAILED")
    studio.script("Heard you.")
    await chat.ask("First")

    async def deaf(route: Route) -> None:
        await route.fetch()
        await route.abort()

    await chat.page.route("**/messages", deaf, times=1)
    await chat.box.fill("Only once")
    await chat.send_button.click()
    await expect(chat.page.get_by_role("alert")).to_contain_text("Not sent; your message is still here.")
    await expect(chat.answers).to_have_count(2)
    await chat.send_button.click()
    await expect(chat.box).to_have_value("")
    await chat.finished()
    sent = [item["text"] for item in chat.snapshot()["items"] if item["kind"] == "user_message"]
    assert sent == ["First", "Only once"]
    await expect(chat.rows("user_message")).to_have_count(2)


async def test_a_first_message_whose_acceptance_was_not_heard_before_a_reload_is_told_and_can_be_sent(
    chat: Chat, studio: Studio, console: Console
) -> None:
    console.expect("net::ERR_FAILED")
    console.expect("409")
    studio.script("Heard you.")

    async def deaf(route: Route) -> None:
        await route.fetch()
        await route.abort()

    await chat.page.route("**/messages", deaf, times=1)
    await chat.box.fill("Once, or knowingly twice")
    await chat.send_button.click()
    await expect(chat.page.get_by_role("alert")).to_contain_text("Not sent; your message is still here.")
    await chat.page.reload()
    await expect(chat.box).to_have_value("Once, or knowingly twice")
    await chat.send_button.click()
    await expect(chat.page.get_by_role("alert")).to_contain_text("This was sent before")
    await expect(chat.box).to_have_value("Once, or knowingly twice")
    await chat.send_button.click()
    await expect(chat.rows("user_message")).to_have_count(1)
    await chat.finished()


async def test_what_is_chosen_after_a_first_message_was_not_sent_holds_for_it(
    chat: Chat, studio: Studio, console: Console
) -> None:
    console.expect("net::ERR_FAILED")
    studio.script("Heard you.")
    await chat.page.route("**/messages", lambda route: route.abort(), times=1)
    await chat.box.fill("Only reading")
    await chat.send_button.click()
    await expect(chat.page.get_by_role("alert")).to_contain_text("Not sent; your message is still here.")
    await chat.page.get_by_role("button", name="Mode: ").click()
    await chat.page.get_by_role("menuitemradio", name="Read-only").click()
    await chat.send_button.click()
    await expect(chat.rows("user_message")).to_have_count(1)
    await chat.finished()
    assert chat.snapshot()["conversation"]["settings"]["mode"] == "read_only"


@pytest.mark.case("F-39")
async def test_a_network_that_is_gone_is_named_and_what_was_missed_is_caught_up(
    chat: Chat, studio: Studio, browser_context: BrowserContext, console: Console
) -> None:
    console.expect("net::ERR_INTERNET_DISCONNECTED")
    hold = await begun(chat, studio)
    await browser_context.set_offline(True)
    await expect(chat.connection).to_have_text("offline")
    hold.release()
    await browser_context.set_offline(False)
    await expect(chat.connection).to_have_text("connected", timeout=BACK_MS)
    await whole(chat)


@pytest.mark.case("PLT-08")
@pytest.mark.own_profile
async def test_a_page_that_slept_in_the_background_catches_up_when_it_comes_back(
    studio: Studio, browser_context: BrowserContext
) -> None:
    lines = 0
    slept = False

    def between(page_side: WebSocketRoute) -> None:
        nonlocal lines
        lines += 1
        server_side = page_side.connect_to_server()
        is_first = lines == 1

        def pass_on(to: WebSocketRoute, message: str | bytes) -> None:
            # Nobody tells a sleeping page that its line died.
            if not (is_first and slept):
                to.send(message)

        page_side.on_message(partial(pass_on, server_side))
        server_side.on_message(partial(pass_on, page_side))

    await browser_context.route_web_socket("**/api/ws", between)
    await browser_context.clock.install()
    chat = await studio.open(browser_context)
    hold = await begun(chat, studio)
    slept = True
    hold.release()
    await eventually(chat.has_ended, "the end of the run")
    await expect(chat.answers.last).not_to_contain_text("0069")
    await browser_context.clock.fast_forward("10:00")
    await whole(chat)


@pytest.mark.case("F-39")
@pytest.mark.parametrize("trouble", ["lagged", "gap"])
@pytest.mark.own_profile
async def test_a_tab_that_missed_events_fetches_the_conversation_anew(
    studio: Studio, browser_context: BrowserContext, trouble: str
) -> None:
    lost = 0

    def between(page_side: WebSocketRoute) -> None:
        server_side = page_side.connect_to_server()

        def from_server(message: str | bytes) -> None:
            nonlocal lost
            frame: dict[str, Any] = json.loads(message)
            kinds = [event["type"] for event in frame.get("events", ())]
            if "item.completed" not in kinds or lost:
                page_side.send(message)
                return
            lost += 1
            if trouble == "lagged":
                page_side.send(json.dumps({"op": "lagged", "conversationId": frame["conversationId"]}))

        server_side.on_message(from_server)

    await browser_context.route_web_socket("**/api/ws", between)
    chat = await studio.open(browser_context)
    (await begun(chat, studio)).release()
    await whole(chat)
    await expect(chat.answers.last).to_have_attribute("aria-busy", "false")
    assert lost == 1


@pytest.mark.case("F-39")
async def test_a_question_survives_the_server_and_its_answer_reaches_every_tab(
    watching: Chat, mortal: Studio, browser_context: BrowserContext
) -> None:
    again = [{"call": "think", "arguments": {"thoughts": "again"}}]
    mortal.script(again, again, again, again, "Enough.")
    await watching.send("Loop")
    question = watching.dock.get_by_role("region", name="Question")
    await expect(question.get_by_role("button", name="Go on")).to_be_visible()
    await expect(watching.timeline).to_contain_text("Waiting for you")
    mortal.server.kill()
    mortal.restart()
    await expect(watching.connection).to_have_text("connected", timeout=BACK_MS)
    other = await mortal.open(browser_context, f"/c/{watching.conversation}")
    await other.dock.get_by_role("region", name="Question").get_by_role("button", name="Go on").click()
    for chat in (watching, other):
        await expect(chat.timeline.get_by_role("region", name="Question")).to_contain_text("You answered: Go on.")
        await expect(chat.answers.last).to_contain_text("Enough.")


async def shown(chat: Chat) -> list[list[str]]:
    """Return id, kind and, for answers, the text of every item on the page."""
    await chat.open_all_steps()
    return list(
        await chat.timeline.evaluate(
            """region => [...region.querySelectorAll("[data-kind]")].map(row => {
                const text = row.querySelector("article p")?.textContent.trim() ?? ""
                return [row.id.replace("item-", ""), row.dataset.kind, text] })"""
        )
    )


def kept(chat: Chat) -> list[list[str]]:
    """Return the same of every item in the server's snapshot; of an answer without words there is nothing to see."""
    return [
        [item["id"], item["kind"], item["text"].strip() if _is_answer(item) else ""]
        for item in chat.snapshot()["items"]
        if item["kind"] != "response" or item["text"].strip()
    ]


async def shows_what_is_kept(chat: Chat, when: str) -> None:
    """Wait until the page shows just what the server has."""

    async def look() -> bool:
        return await shown(chat) == kept(chat)

    try:
        await eventually(look, "the page to show what is kept")
    except AssertionError:
        assert await shown(chat) == kept(chat), when


def _is_answer(item: dict[str, Any]) -> bool:
    return item["kind"] == "response" and not item["data"].get("cutOff")


@pytest.mark.case("F-36")
@pytest.mark.timeout(240)
async def test_the_page_shows_the_right_state_wherever_in_a_run_the_server_is_killed(
    watching: Chat, mortal: Studio, tmp_path: Path
) -> None:
    points = [("before", 3), ("after", 8), ("before", 15), ("after", 22), ("before", 31), ("after", 40)]
    script = write_script(tmp_path)
    mortal.path.write_text(json.dumps({"turns": _turns(script)}), encoding="utf-8")
    mortal.restart(dying=points[0])
    for at, (_, number) in enumerate(points):
        made = mortal.server.post("/api/conversations", {"title": f"kill {number}"}, 201)
        await watching.go(f"/c/{made['id']}")
        await watching.box.fill("Go")
        await watching.box.press("Control+Enter")
        assert await asyncio.to_thread(wait_for_death, mortal.server, None)
        mortal.restart(dying=(points[at + 1 :] or [("before", 999)])[0])
        await expect(watching.connection).to_have_text("connected", timeout=BACK_MS)
        # Whether it was accepted is known once the box is empty, or says that it was not.
        refused = watching.page.get_by_role("alert").filter(has_text="Not sent")
        await expect(refused.or_(watching.rows("user_message")).first).to_be_visible(timeout=BACK_MS)
        if await refused.is_visible():
            await watching.send_button.click()
        resume = watching.timeline.get_by_role("button", name="Resume")
        finished = watching.answers.last.filter(has_text=ANSWER.strip())
        await expect(resume.or_(finished)).to_be_visible(timeout=BACK_MS)
        if await resume.is_visible():
            await expect(watching.timeline.get_by_role("alert")).to_contain_text("Nothing is lost.")
            await shows_what_is_kept(watching, f"killed at {number}, before going on")
            await resume.click()
        await expect(finished).to_be_visible(timeout=BACK_MS)
        await watching.finished()
        await shows_what_is_kept(watching, f"killed at {number}, at the end")
        await expect(watching.rows("user_message")).to_have_count(1)


def _turns(script: Path) -> Any:
    import yaml

    return yaml.safe_load(script.read_text(encoding="utf-8"))["turns"]


async def test_what_only_a_newer_server_knows_is_left_out_and_the_rest_is_shown(chat: Chat) -> None:
    chat.studio.script("The tide turns at noon.")
    await chat.ask("When does the tide turn?")

    async def newer(route: Route) -> None:
        """Answer as a server would that has kinds of items and of questions which this page does not know."""
        answer = await route.fetch()
        snapshot = await answer.json()
        strange = {"kind": "hologram", "data": {"light": 3}}
        asked = {
            "kind": "question",
            "status": "waiting",
            "text": "In which sea?",
            "data": {"kind": "chart", "choices": 3},
        }
        bare = {"kind": "tool_call", "status": "completed", "data": {}}
        for number, fields in enumerate((strange, asked, bare)):
            item = {**snapshot["items"][-1], "id": f"i_new{number}", "text": "", **fields}
            snapshot["items"].append(item | {"position": item["position"] + 1})
        await route.fulfill(response=answer, json=snapshot)

    await chat.page.route(re.compile(rf"/api/conversations/{chat.conversation}(\?.*)?$"), newer)
    await chat.go("/")
    await chat.page.get_by_role("link", name="When does the tide turn?").click()
    await expect(chat.answers).to_contain_text("The tide turns at noon.")
    await expect(chat.rows("question")).to_contain_text("In which sea?")
    await expect(chat.rows("tool_call")).to_contain_text("A tool Completed")
    await expect(chat.rows("hologram")).to_be_hidden()
    await expect(chat.timeline).not_to_contain_text("could not be drawn")
