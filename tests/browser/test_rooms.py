"""The rooms beside the list of MCP servers: tools, status, traffic; small screens, many servers, the palette."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import BrowserContext, Download, expect

from tests.browser.axe import serious_problems
from tests.browser.kept import KeptTab
from tests.browser.rooms import ECHO, FAIL, Rooms, start_mcp_server, switch, write_tools
from tests.browser.studio import Chat, Studio
from tests.browser.width import fits
from tests.support.waiting import until


@pytest.mark.case("STA-06", "AGT-07")
async def test_a_tool_is_found_its_schema_copied_and_it_is_tried_by_a_form(
    rooms: Rooms, shared: Studio, tools: Path, profile: BrowserContext
) -> None:
    start_mcp_server(shared, "First", ["--tools", tools])
    start_mcp_server(shared, "Second")
    await profile.grant_permissions(["clipboard-read", "clipboard-write"])
    await rooms.page.keyboard.press("Alt+t")
    await expect(rooms.page.get_by_role("heading", name="Available tools")).to_be_focused()
    await rooms.page.get_by_role("textbox", name="Search tools").fill("echo gives")
    await expect(rooms.page.get_by_role("listitem", name=".echo")).to_have_count(2)
    page = rooms.page
    await page.get_by_role("combobox", name="Server").or_(page.get_by_role("textbox", name="Server")).click()
    await rooms.page.get_by_role("option", name="First").click()
    echo = rooms.page.get_by_role("listitem", name="first.echo")
    await expect(rooms.page.get_by_role("listitem", name="second.echo")).to_have_count(0)
    await echo.get_by_role("button", expanded=False).first.click()
    await echo.get_by_role("button", name="Copy input schema").click()
    await expect(echo.get_by_role("button", name="Copied")).to_be_visible()
    assert json.loads(await rooms.page.evaluate("navigator.clipboard.readText()")) == ECHO["inputSchema"]
    await echo.get_by_role("button", name="Try it").press("Enter")
    await expect(echo.get_by_role("textbox", name="text")).to_be_focused()
    form = echo.get_by_role("region", name="Try first.echo")
    await form.get_by_role("button", name="Run").click()
    await expect(form).to_contain_text("This is needed.")
    await form.get_by_label("text").fill("tide")
    await form.get_by_label("times").fill("two")
    await form.get_by_role("button", name="Run").click()
    await expect(form).to_contain_text("Write a number.")
    await form.get_by_label("times").fill("2")
    await form.get_by_role("checkbox", name="loud").check()
    await expect(form.get_by_role("textbox")).to_have_count(2)
    await expect(form.get_by_text("What to give back.")).to_be_visible()
    assert await serious_problems(rooms.page) == []
    await form.get_by_role("button", name="Run").click()
    await expect(form.get_by_role("status")).to_contain_text("Completed in")
    await expect(form.get_by_label("Result", exact=True)).to_contain_text("tide")
    await form.get_by_role("button", name="Write JSON instead").click()
    await expect(form.get_by_label("Arguments as JSON")).to_have_value(
        '{\n  "text": "tide",\n  "times": 2,\n  "loud": true\n}'
    )


@pytest.mark.case("STA-07", "CON-24", "CON-29")
async def test_the_status_page_plots_latencies_and_tells_errors_and_past_states(
    rooms: Rooms, shared: Studio, tools: Path
) -> None:
    write_tools(tools, ECHO, FAIL, {"name": "exit", "description": "Ends.", "inputSchema": {"type": "object"}})
    server = start_mcp_server(shared, "Scripted", ["--tools", tools])
    tried: list[tuple[str, dict[str, Any]]] = [("echo", {"text": "a"}), ("echo", {"text": "b"})]
    for tool, arguments in [*tried, ("fail", {"message": "x"}), ("exit", {"code": 5})]:
        shared.server.post("/api/tools/try", {"serverId": server["id"], "tool": tool, "arguments": arguments})
    await rooms.page.get_by_role("link", name="Status").click()
    part = rooms.page.get_by_role("region", name="Scripted")
    await expect(part.locator("canvas")).to_be_visible()
    await expect(part.get_by_role("img", name="Latency of the calls to Scripted: echo")).to_be_visible()
    calls = part.get_by_role("region", name="Calls by tool")
    await expect(calls.get_by_role("row").filter(has_text="echo").get_by_role("cell").nth(1)).to_have_text("2")
    await expect(calls.get_by_role("row").filter(has_text="fail").get_by_role("cell").nth(2)).to_have_text("1")
    await expect(part.get_by_role("heading", level=3)).to_have_text(["Last errors", "History"])
    errors, past = (part.get_by_role("list").nth(place).get_by_role("listitem") for place in (0, 1))
    await expect(errors.first).to_contain_text("The server ended with exit code 5.")
    await expect(past.nth(0)).to_contain_text("Connected")
    await expect(past.nth(1)).to_contain_text("ReconnectingThe server ended with exit code 5.")
    await expect(past.nth(2)).to_contain_text("Connected")
    assert await serious_problems(rooms.page) == []
    await rooms.page.keyboard.press("Escape")
    await expect(rooms.page).to_have_url(f"{shared.url}/")


async def methods_saved(download: Download) -> list[str]:
    """Return the methods of an exported file."""
    path = await download.path()
    text = await asyncio.to_thread(path.read_text)
    return [message["method"] for message in json.loads(text)]


@pytest.mark.case("OBS-07")
async def test_traffic_is_recorded_when_switched_on_filtered_opened_and_exported(
    rooms: Rooms, shared: Studio, tools: Path
) -> None:
    server = start_mcp_server(shared, "Scripted", ["--tools", tools])
    await rooms.page.get_by_role("tab", name="General").click()
    await switch(rooms.page.get_by_role("switch", name="Record MCP messages"), True)
    await rooms.page.get_by_role("button", name="Open the traffic panel").click()
    await expect(rooms.page.get_by_role("status").filter(has_text="Waiting for messages")).to_be_visible()
    shared.server.post("/api/tools/try", {"serverId": server["id"], "tool": "echo", "arguments": {"text": "needle"}})
    messages = rooms.page.get_by_role("list", name="Messages, newest first").locator("> li")
    await expect(messages).to_have_count(2)
    await rooms.page.get_by_text("Sent", exact=True).click()
    await expect(messages).to_have_count(1)
    await messages.get_by_role("button", expanded=False).click()
    tree = messages.get_by_role("group", name="Message")
    await expect(tree).to_contain_text("needle")
    assert await serious_problems(rooms.page) == []
    async with rooms.page.expect_download() as saving:
        await rooms.page.get_by_role("button", name="Export 1 message").click()
    assert await methods_saved(await saving.value) == ["tools/call"]
    await switch(rooms.page.get_by_role("switch", name="Record messages"), False)
    await expect(messages).to_have_count(0)
    until(lambda: shared.server.get("/api/traffic")["messages"] == [], "the messages to be forgotten")


def many_servers(count: int) -> list[dict[str, Any]]:
    """Return entries of servers that are switched off, as config.json has them."""
    return [
        {
            "id": f"00000000-0000-4000-8000-{number:012d}",
            "name": f"Server number {number} with a rather long name",
            "enabled": False,
            "source": {"type": "manual"},
            "package": {"type": "command", "identifier": "/bin/false"},
            "transport": "stdio",
            "auth_type": "none",
            "config": {},
        }
        for number in range(count)
    ]


@pytest.mark.case("STA-03")
async def test_two_hundred_servers_are_listed_and_one_is_found(tmp_path: Path, browser_context: BrowserContext) -> None:
    studio = Studio(tmp_path / "home", {"mcps": many_servers(200)})
    try:
        chat = await studio.open(browser_context, "/settings/mcp")
        rooms = Rooms(chat.page, studio)
        await expect(rooms.section.get_by_role("listitem")).to_have_count(200)
        await expect(rooms.toolbar).to_be_in_viewport()
        rows = rooms.section.get_by_role("button", expanded=False)
        await rows.first.focus()
        await rooms.page.keyboard.press("ArrowDown")
        await expect(rows.nth(1)).to_be_focused()
        await rooms.page.get_by_role("textbox", name="Find a server").fill("number 137")
        await expect(rooms.section.get_by_role("listitem")).to_have_count(1)
        await rooms.page.close()
    finally:
        studio.server.close()


async def test_every_room_fits_a_phone_in_both_colours(
    rooms: Rooms, shared: Studio, kept_tab: KeptTab, tools: Path
) -> None:
    server = start_mcp_server(shared, "Scripted", ["--tools", tools])
    shared.server.post("/api/tools/try", {"serverId": server["id"], "tool": "echo", "arguments": {"text": "a"}})
    for path in ("/settings/mcp", "/tools", "/status", "/traffic"):
        page = await kept_tab.at(shared, path)
        await page.set_viewport_size({"width": 390, "height": 844})
        await page.get_by_role("heading", level=1).wait_for()
        await expect(page.get_by_text("Loading…")).to_have_count(0)
        await fits(page)
        assert await serious_problems(page) == [], path
        await page.emulate_media(color_scheme="dark")
        await expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
        assert await serious_problems(page) == [], path


async def test_the_palette_leads_to_every_room(rooms: Rooms, shared: Studio) -> None:
    chat = Chat(rooms.page, shared)
    places = (("Available tools", "/tools"), ("Status of the MCP servers", "/status"), ("MCP traffic", "/traffic"))
    for title, path in places:
        await chat.palette(title.lower(), title)
        await expect(rooms.page).to_have_url(shared.url + path)
    await chat.palette("add an mcp server", "Add an MCP server")
    await expect(rooms.page.get_by_role("dialog", name="Add a server")).to_be_visible()
    await expect(rooms.page).to_have_url(f"{shared.url}/settings/mcp")
