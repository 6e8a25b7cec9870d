"""Questions of servers in the chat, calls that outlive pages and programs, and tools that come while one looks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, expect

from tests.browser.approving import Reviewer, add_server, call, heard, open_reviewer, wait_until_connected
from tests.browser.axe import serious_problems
from tests.browser.console import Console
from tests.browser.kept import KeptTab
from tests.browser.rooms import ECHO, write_tools
from tests.browser.studio import Studio
from tests.support.waiting import until

WHO = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name"},
        "berth": {"type": "integer", "minimum": 1, "title": "Berth"},
    },
    "required": ["name"],
}
RAW = {"name": "raw", "description": "Writes a line.", "inputSchema": {"type": "object"}}
LATER = {"name": "later", "description": "Comes later.", "inputSchema": {"type": "object"}}
CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
REPLY = '{"jsonrpc": "2.0", "id": $ID, "result": {"content": [{"type": "text", "text": "said"}]}}'


def _asked(record: Path, arguments: object) -> int:
    """Return how often a server was called with these arguments."""
    return [message["params"]["arguments"] for message in heard(record, "tools/call")].count(arguments)


async def _answer_form(reviewer: Reviewer) -> None:
    await expect(reviewer.question).to_contain_text("What is your name?")
    await reviewer.question.get_by_role("button", name="Answer").click()
    name = reviewer.question.get_by_label("Your name")
    await expect(name).to_be_focused()
    await name.fill("Ada")
    await reviewer.question.get_by_label("Berth").fill("7")
    await reviewer.question.get_by_role("button", name="Answer").click()


async def test_a_server_asks_by_a_form_and_by_a_link_and_the_answer_reaches_it(
    bare: Studio, kept_tab: KeptTab, profile: BrowserContext
) -> None:
    add_server(bare, "Scripted")
    wait_until_connected(bare, "Scripted")
    reviewer = await kept_tab.reviewer(bare, "Asked")
    await reviewer.say("By a form", [call("ask", schema=WHO)], "Thank you.")
    await expect(reviewer.card("scripted.ask")).to_contain_text("Waiting for your answer")
    await expect(reviewer.question).to_contain_text("Scripted asks: What is your name?")
    assert await serious_problems(reviewer.page) == []
    await _answer_form(reviewer)
    await expect(reviewer.chat.timeline).to_contain_text("You answered: name: Ada, berth: 7.")
    card = await reviewer.opened("scripted.ask")
    await expect(card.get_by_label("Result", exact=True)).to_contain_text('name:"Ada"')
    await reviewer.say("By a link", [call("ask", url="https://example.com/sign-in")], "Thank you.")
    await expect(reviewer.question).to_contain_text("https://example.com/sign-in")
    link = reviewer.question.get_by_role("link", name="Open example.com")
    await expect(link).to_have_attribute("rel", "noreferrer noopener")
    await reviewer.question.get_by_role("button", name="I have done it").click()
    await expect(reviewer.chat.timeline).to_contain_text("Please sign in. You said it is done.")
    await reviewer.say("By another", [call("ask", url="javascript:alert(1)")], "Thank you.")
    await expect(reviewer.question).to_contain_text("This address cannot be opened safely.")
    await expect(reviewer.question.get_by_role("link")).to_have_count(0)
    await reviewer.question.get_by_role("button", name="Decline").click()
    await expect(reviewer.chat.timeline).to_contain_text("Please sign in. You declined.")


@pytest.mark.case("TCL-22")
async def test_questions_calls_and_cards_outlive_the_page_and_the_program(
    mortal: Studio, browser_context: BrowserContext, console: Console, tmp_path: Path
) -> None:
    record = tmp_path / "record"
    add_server(mortal, "Scripted", ["--record", record], cannotSend=True)
    add_server(mortal, "Modern", ["--era", "modern"], cannotSend=True)
    wait_until_connected(mortal, "Scripted", "Modern")
    first = await open_reviewer(mortal, browser_context, "Outlived")
    place = f"/c/{first.chat.conversation}"
    go_on = tmp_path / "go-on"
    run = await first.say("Go on without me", [call("progress", steps=2, until=str(go_on))], "Done.")
    await expect(first.card("scripted.progress")).to_contain_text("Executing...")
    await first.page.close()
    go_on.touch()
    mortal.server.wait_for_run(run, "completed")
    assert heard(record, "notifications/cancelled") == []
    reviewer = await open_reviewer(mortal, browser_context)
    await reviewer.chat.go(place)
    await expect(reviewer.card("scripted.progress")).to_contain_text("Completed")
    await reviewer.say("Ask", [call("ask", "modern", schema=WHO)], "Thank you.")
    await expect(reviewer.question).to_be_visible()
    console.expect_restart()
    mortal.restart()
    await reviewer.chat.go(place)
    await _answer_form(reviewer)
    await expect(reviewer.card("modern.ask")).to_contain_text("Completed")
    await expect(reviewer.chat.answers.last).to_contain_text("Thank you.")
    await reviewer.say("Be killed", [call("sleep", seconds=50)], "I do not know.")
    await expect(reviewer.card("seconds: 50")).to_contain_text("Executing...")
    until(lambda: _asked(record, {"seconds": 50}), "the server to be asked")
    mortal.server.process.kill()
    mortal.restart()
    await expect(reviewer.chat.connection).to_have_text("connected", timeout=20_000)
    await expect(reviewer.card("seconds: 50")).to_contain_text("It is not known whether this happened")
    await expect(reviewer.card("seconds: 50")).to_contain_text("It was not repeated.")
    assert _asked(record, {"seconds": 50}) == 1


@pytest.mark.case("NAM-12")
async def test_a_tool_that_a_server_adds_can_be_chosen_and_called_without_a_reload(
    bare: Studio, kept_tab: KeptTab, profile: BrowserContext, tmp_path: Path
) -> None:
    tools = write_tools(tmp_path / "tools.json", ECHO, RAW)
    server = add_server(bare, "Scripted", ["--tools", tools])
    wait_until_connected(bare, "Scripted")
    reviewer = await kept_tab.reviewer(bare, "Live")
    await reviewer.page.get_by_role("button", name="Chat settings").click()
    settings = reviewer.page.get_by_role("dialog", name="Chat settings")
    await settings.get_by_role("button", name="Tools of Scripted").click()
    await expect(settings.get_by_role("checkbox", name="raw")).to_be_visible()
    write_tools(tools, ECHO, RAW, LATER)
    lines = f"{json.dumps(CHANGED)}\n{REPLY}"
    body = {"serverId": server["id"], "tool": "raw", "arguments": {"line": lines}}
    bare.server.post("/api/tools/try", body)
    await expect(settings.get_by_role("checkbox", name="later")).to_be_visible()
    await expect(settings.get_by_role("button", name="Tools of Scripted")).to_have_text("3 tools")
    await reviewer.page.keyboard.press("Escape")
    await reviewer.say("Later", [call("later")], "Done.")
    await expect(reviewer.card("scripted.later")).to_contain_text("Unknown tool: later")


async def test_a_server_that_dies_under_a_call_is_told_in_the_card_and_at_the_edge_of_the_page(
    bare: Studio, kept_tab: KeptTab, profile: BrowserContext
) -> None:
    add_server(bare, "Scripted")
    wait_until_connected(bare, "Scripted")
    reviewer = await kept_tab.reviewer(bare, "Dead")
    await reviewer.say("Die", [call("exit", code=3)], "It is gone.")
    await expect(
        reviewer.page.get_by_role("alert").filter(has_text="Scripted disconnected. Reconnecting...")
    ).to_be_visible()
    card = reviewer.card("scripted.exit")
    await expect(card).to_contain_text("Failed: The server ended with exit code 3.")
    await expect(card).to_contain_text("It may have been carried out; check before you repeat it.")
    until(lambda: bare.server.get("/api/servers")["servers"][0]["state"] == "connected", "its return", 20.0)
    await reviewer.say("Again", [call("echo", text="back")], "Done.")
    await expect(reviewer.card("back")).to_contain_text("Completed")


async def test_tools_without_room_are_named_and_a_pinned_one_goes_first(
    bare: Studio, kept_tab: KeptTab, profile: BrowserContext, tmp_path: Path
) -> None:
    wordy = [
        {"name": f"tool{number:02}", "description": "word " * 1_500, "inputSchema": {"type": "object"}}
        for number in range(60)
    ]
    # Else so many tools are found on demand, and none is left out.
    bare.server.client.patch("/api/config", json={"toolsOnDemand": "never"}).raise_for_status()
    add_server(bare, "Scripted", ["--tools", write_tools(tmp_path / "tools.json", *wordy)])
    wait_until_connected(bare, "Scripted")
    reviewer = await kept_tab.reviewer(bare, "Full")
    await reviewer.say("First", [call("tool59")], "Done.")
    await expect(reviewer.chat.timeline).to_contain_text("of 60 tools of servers. Left out: ")
    await expect(reviewer.card("scripted__tool59")).to_contain_text("There is no tool named scripted__tool59")
    await reviewer.page.get_by_role("button", name="Chat settings").click()
    settings = reviewer.page.get_by_role("dialog", name="Chat settings")
    await expect(settings).to_contain_text("Pin those you need, or use fewer servers.")
    await settings.get_by_role("button", name="Tools of Scripted").click()
    pin = settings.get_by_role("button", name="Pin tool59")
    await pin.click()
    await expect(pin).to_have_attribute("aria-pressed", "true")
    assert await serious_problems(reviewer.page) == []

    def pinned() -> bool:
        selection = reviewer.chat.snapshot()["conversation"]["settings"].get("selection") or {}
        return selection.get("pinned") == ["scripted.tool59"]

    until(pinned, "the pin to be kept")
    await reviewer.page.keyboard.press("Escape")
    await reviewer.say("Second", [call("tool59")], "Done.")
    await expect(reviewer.card("scripted.tool59")).to_contain_text("Unknown tool: tool59")
    bare.server.client.patch("/api/config", json={"toolsOnDemand": "auto"}).raise_for_status()
