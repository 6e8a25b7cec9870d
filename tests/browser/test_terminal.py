"""The terminal beside the chat: one session for the person and the agent, and what goes on in the background."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Locator, expect

from tests.browser.answering import terminal
from tests.browser.axe import serious_problems
from tests.browser.console import Console
from tests.browser.kept import KeptTab, keeping
from tests.browser.rooms import switch
from tests.browser.studio import Studio
from tests.browser.workshop import Workshop, open_workshop
from tests.support.waiting import eventually

PHONE = {"width": 360, "height": 740}


async def until_so(check: Callable[[], bool], what: str) -> None:
    """Wait until something is so at the server."""

    async def look() -> bool:
        return await asyncio.to_thread(check)

    await eventually(look, what)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def kept_tab(chromium: Browser, studio: Studio) -> AsyncIterator[KeptTab]:
    """One tab for all tests of this file."""
    async with keeping(chromium) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def workshop(studio: Studio, kept_tab: KeptTab, profile: BrowserContext, tmp_path: Path) -> Workshop:
    """A conversation in which nothing is asked: what is asked is tried elsewhere."""
    return await kept_workshop(studio, kept_tab, tmp_path / "boat", mode="auto_approve")


async def kept_workshop(studio: Studio, kept_tab: KeptTab, folder: Path, **settings: str) -> Workshop:
    """Open a new conversation that works in a folder."""
    await asyncio.to_thread(folder.mkdir)
    body = {"title": "Workshop", "settings": {"workingDirectory": str(folder), "mode": "auto_edit", **settings}}
    made = studio.server.post("/api/conversations", body, 201)
    chat = await kept_tab.chat(studio, f"/c/{made['id']}")
    await expect(chat.page.get_by_role("banner")).to_contain_text(folder.name)
    return Workshop(studio, chat, folder)


@pytest.fixture
def restored(studio: Studio) -> Iterator[Studio]:
    """The server, whose settings of terminals are as they were once the test is over."""
    before = studio.server.get("/api/config")["terminal"]
    yield studio
    studio.server.client.patch("/api/config", json={"terminal": before}).raise_for_status()
    studio.server.client.put("/api/policy", json={"rules": []}).raise_for_status()


async def opened(workshop: Workshop) -> Locator:
    """Open the terminal, and return what it shows once its shell is ready."""
    panel = await workshop.show("Terminal")
    await panel.get_by_role("button", name="Open a terminal").click()
    screen = panel.locator(".xterm-rows")
    await expect(screen).to_contain_text(re.compile(r"[#$%>]"))
    return screen


async def typed(workshop: Workshop, line: str) -> None:
    """Type a line into the terminal."""
    await workshop.panel.get_by_role("textbox", name="Terminal input").focus()
    await workshop.page.keyboard.type(line)
    await workshop.page.keyboard.press("Enter")


async def test_without_a_folder_the_panel_says_what_to_do_and_with_one_there_is_a_shell(
    studio: Studio, kept_tab: KeptTab, profile: BrowserContext, tmp_path: Path
) -> None:
    made = studio.server.post("/api/conversations", {"title": "Without"}, 201)
    chat = await kept_tab.chat(studio, f"/c/{made['id']}")
    workshop = Workshop(studio, chat, tmp_path)
    panel = await workshop.show("Terminal")
    await expect(panel).to_contain_text("This conversation has no working directory.")
    assert await serious_problems(chat.page) == []
    await panel.get_by_role("textbox", name="Working directory").fill(str(tmp_path))
    await panel.get_by_role("button", name="Use this folder").click()
    screen = await opened(workshop)
    # Who opens it wants to type.
    await expect(panel.get_by_role("textbox", name="Terminal input")).to_be_focused()
    await chat.page.keyboard.type("echo $((40 + 2)) > answer && cat answer")
    await chat.page.keyboard.press("Enter")
    await expect(screen).to_contain_text("42")
    assert (tmp_path / "answer").read_text() == "42\n"
    assert await serious_problems(chat.page) == []
    await workshop.dark()
    assert await serious_problems(chat.page) == []


@pytest.mark.case("TRM-20")
async def test_what_is_typed_before_the_session_is_there_reaches_it(workshop: Workshop) -> None:
    panel = await workshop.show("Terminal")
    await panel.get_by_role("button", name="Open a terminal").click()
    await typed(workshop, "echo early-$((6 * 7))")
    await expect(panel.locator(".xterm-rows")).to_contain_text("early-42")


async def test_the_person_and_the_agent_sit_at_the_same_session(workshop: Workshop) -> None:
    screen = await opened(workshop)
    await typed(workshop, "hull=oak")
    await workshop.say("Type", [terminal("send_input", input="echo made-of-$hull\r\n")], "Typed.")
    await expect(screen).to_contain_text("made-of-oak")
    await expect(workshop.card("echo made-of-$hull")).to_contain_text("Completed")
    await typed(workshop, "echo from-$hull-to-you")
    await expect(screen).to_contain_text("from-oak-to-you")
    await workshop.say("Look", [terminal("get_history")], "Seen.")
    item = next(item for item in reversed(workshop.chat.snapshot()["items"]) if item["kind"] == "tool_call")
    assert "from-oak-to-you" in item["text"]


async def test_a_session_that_the_agent_opened_appears_by_itself(workshop: Workshop) -> None:
    panel = await workshop.show("Terminal")
    await expect(panel.get_by_role("button", name="Open a terminal")).to_be_visible()
    work = [terminal("create_session")], [terminal("send_input", input="echo ahoy-there-$((6 * 7))\r\n")], "Opened."
    await workshop.say("Open it", *work)
    await expect(panel.locator(".xterm-rows")).to_contain_text("ahoy-there-42")


@pytest.mark.case("TRM-12")
async def test_the_session_is_as_wide_as_the_panel(workshop: Workshop) -> None:
    screen = await opened(workshop)
    edge = workshop.page.get_by_role("separator", name="Width of the panel")
    for _ in range(4):
        before = _columns(workshop)
        await edge.press("ArrowLeft")
        await until_so(lambda before=before: _columns(workshop) > before, "the session to be told its width")  # type: ignore[misc]
    assert _columns(workshop) > 50
    await typed(workshop, "stty size")
    await expect(screen).to_contain_text(re.compile(rf"stty size\d+ {_columns(workshop)}/"))


def _columns(workshop: Workshop) -> int:
    listed = workshop.studio.server.get(f"/api/conversations/{workshop.chat.conversation}/terminal")
    return int(listed["sessions"][0]["columns"])


async def test_what_is_selected_is_known_to_the_agent_and_can_be_copied(workshop: Workshop) -> None:
    await workshop.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await opened(workshop)
    await typed(workshop, "clear; echo barnacle")
    word = workshop.panel.locator(".xterm-rows > div").filter(has_text=re.compile(r"^barnacle\s*$")).first
    await expect(word).to_be_visible()
    box = await word.bounding_box()
    assert box is not None
    await workshop.page.mouse.dblclick(box["x"] + 15, box["y"] + box["height"] / 2)
    await workshop.panel.get_by_role("button", name="Copy the selection").click()
    await expect(workshop.panel.get_by_role("button", name="Copied")).to_be_visible()
    assert await workshop.page.evaluate("navigator.clipboard.readText()") == "barnacle"

    def known() -> bool:
        workshop.let("What is it", [terminal("get_terminal_selection")], "Seen.")
        sent = workshop.studio.server.post(
            f"/api/conversations/{workshop.chat.conversation}/messages", {"text": "What is it"}, 202
        )
        workshop.studio.server.wait_for_run(sent["runId"], "completed")
        calls = [item for item in workshop.chat.snapshot()["items"] if item["kind"] == "tool_call"]
        return "barnacle" in calls[-1]["text"]

    await until_so(known, "the agent to know what is selected")


async def test_a_session_that_ended_says_so_and_its_words_are_there_again(workshop: Workshop) -> None:
    screen = await opened(workshop)
    await typed(workshop, "echo last-words; exit 3")
    await expect(workshop.panel).to_contain_text("The session has ended with exit code 3.")
    await expect(screen).to_contain_text("last-words")
    await workshop.panel.get_by_role("button", name="Start a new one").click()
    await expect(workshop.panel).to_contain_text("What earlier sessions wrote is restored above.")
    await expect(screen).to_contain_text("last-words")
    await typed(workshop, "echo again-$?")
    await expect(screen).to_contain_text("again-0")
    await workshop.panel.get_by_role("button", name="End the session").click()
    await workshop.page.get_by_role("dialog").get_by_role("button", name="End", exact=True).click()
    await expect(workshop.panel).to_contain_text("The session has ended")


async def test_a_server_that_comes_back_has_the_old_words_and_a_new_session(
    own: Studio, browser_context: BrowserContext, tmp_path: Path, console: Console
) -> None:
    console.expect("WebSocket")
    console.expect("Failed to load resource")
    workshop = await open_workshop(own, browser_context, tmp_path / "boat")
    screen = await opened(workshop)
    await typed(workshop, "echo before-the-storm")
    await expect(screen).to_contain_text("before-the-storm")
    own.restart()
    await expect(workshop.panel).to_contain_text("The session before has ended; this is a new one.", timeout=30_000)
    await expect(screen).to_contain_text("before-the-storm")
    await typed(workshop, "echo after-the-storm")
    await expect(screen).to_contain_text("after-the-storm")


async def test_background_commands_are_listed_with_their_output_and_can_be_stopped(workshop: Workshop) -> None:
    panel = await workshop.show("Terminal")
    command = "echo the kettle is on; sleep 600"
    await workshop.say("Cook", [terminal("run_command", command=command, is_background=True)], "Cooking.")
    listed = panel.get_by_role("region", name="Background commands")
    await expect(listed).to_contain_text(command)
    await expect(listed).to_contain_text("running")
    await listed.get_by_role("button", expanded=False).click()
    await expect(listed.get_by_label(f"Output of {command}", exact=True)).to_contain_text("the kettle is on")
    assert await serious_problems(workshop.page) == []
    await listed.get_by_role("button", name="Stop").click()
    await expect(listed).not_to_contain_text("running")
    await expect(listed.get_by_role("button", name="Stop")).to_have_count(0)


async def test_the_recording_can_be_downloaded(workshop: Workshop) -> None:
    screen = await opened(workshop)
    await typed(workshop, "echo on-the-record")
    await expect(screen).to_contain_text("on-the-record")
    async with workshop.page.expect_download() as download:
        await workshop.panel.get_by_role("link", name="Download the recording").click()
    path = await (await download.value).path()
    lines = Path(path).read_text(encoding="utf-8").splitlines()  # noqa: ASYNC240
    assert json.loads(lines[0])["version"] == 2
    assert "on-the-record" in "".join(json.loads(line)[2] for line in lines[1:])


async def test_a_flood_of_output_does_not_stop_the_page(workshop: Workshop) -> None:
    screen = await opened(workshop)
    await typed(workshop, "seq 1 400000; echo over-after-$((6 * 7))")
    await expect(screen).to_contain_text("over-after-42", timeout=60_000)
    await workshop.page.keyboard.press("Control+`")
    await expect(workshop.panel).to_have_count(0)


async def test_keys_reach_the_terminal_and_those_of_the_page_still_work(workshop: Workshop) -> None:
    screen = await opened(workshop)
    # What is typed before the program reads, the shell and the program may both show, in any order.
    await typed(workshop, "echo reads-$((6 * 7)); cat")
    await expect(screen).to_contain_text("reads-42")
    await workshop.page.keyboard.type("caught")
    await expect(screen).to_contain_text("caught")
    await workshop.page.keyboard.press("Control+c")
    await expect(screen).to_contain_text("^C")
    # Ctrl K is the shell's here; elsewhere it opens the list of commands.
    await workshop.page.keyboard.press("Control+k")
    await expect(workshop.page.get_by_role("dialog")).to_have_count(0)
    await workshop.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    sheet = workshop.page.get_by_role("dialog", name="Panel")
    await expect(sheet.locator(".xterm-rows")).to_contain_text("caught")
    assert await serious_problems(workshop.page) == []


async def test_a_terminal_that_nothing_holds_says_so(
    restored: Studio, kept_tab: KeptTab, profile: BrowserContext, tmp_path: Path
) -> None:
    off = {"shell": "bash", "sandbox": "off", "network": False, "timeout": 600}
    restored.server.client.patch("/api/config", json={"terminal": off}).raise_for_status()
    workshop = await kept_workshop(restored, kept_tab, tmp_path / "boat")
    panel = await workshop.show("Terminal")
    warning = restored.server.get("/api/config")["sandbox"]["warning"]
    await expect(panel).to_contain_text(warning)
    screen = await opened(workshop)
    await expect(panel).to_contain_text("bash · without a sandbox")
    await typed(workshop, "echo free-$((6 * 7))")
    await expect(screen).to_contain_text("free-42")
    assert await serious_problems(workshop.page) == []


@pytest.mark.case("TRM-28")
async def test_the_settings_of_terminals_are_kept_and_rules_are_tried_on_their_examples(
    restored: Studio, kept_tab: KeptTab, profile: BrowserContext, console: Console
) -> None:
    console.expect("400")
    page = await kept_tab.at(restored, "/settings/terminal")
    sandbox = page.get_by_role("region", name="Sandbox")
    await expect(sandbox).to_contain_text("on this machine")
    await page.get_by_role("combobox", name="Shell").click()
    await page.get_by_role("option", name="sh", exact=True).click()
    seconds = page.get_by_label("Seconds that a command may take")
    await seconds.fill("90")
    await seconds.blur()
    await switch(sandbox.get_by_role("switch", name="Let commands use the network unasked"), True)
    wanted = {"shell": "sh", "sandbox": "on", "network": True, "timeout": 90}
    await until_so(lambda: restored.server.get("/api/config")["terminal"] == wanted, "the settings to be kept")
    assert await serious_problems(page) == []
    await sandbox.get_by_role("radio", name="Run them without it").check()
    await expect(sandbox.get_by_role("alert")).to_contain_text("Commands run without a sandbox")
    rules = page.get_by_role("region", name="Rules for commands")
    await rules.get_by_role("button", name="Add a rule").click()
    form = page.get_by_role("dialog")
    await form.get_by_label("Command").fill("git status")
    await form.get_by_label("It is about").fill("git push")
    await form.get_by_role("button", name="Save").click()
    await expect(form).to_contain_text("should be about")
    await form.get_by_label("It is about").fill("git status")
    await form.get_by_role("button", name="Save").click()
    await expect(rules.get_by_role("listitem")).to_contain_text("git status")
