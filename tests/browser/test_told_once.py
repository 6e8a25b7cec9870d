"""One failure is one message, with a way on; that the server is gone, and that something waits, can be seen."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Page, expect

from tests.browser.approving import add_server, wait_until_connected
from tests.browser.console import Console
from tests.browser.kept import KeptTab
from tests.browser.rooms import Rooms, mortal, start_mcp_server
from tests.browser.studio import Chat, Studio

# Three restarts with the waits between them.
RESTARTS_MS = 25_000
ASKS = [{"call": "harbour__echo", "arguments": {"text": "hello"}}]


async def times(page: Page, words: str) -> int:
    """Count how often words stand on the page."""
    return str(await page.locator("body").inner_text()).count(words)


async def test_a_server_that_fails_its_test_says_so_once(rooms: Rooms, shared: Studio) -> None:
    shared.server.post("/api/servers", {"name": "nowhere", "commandLine": "http://127.0.0.1:9/mcp"}, 201)
    row = rooms.page.get_by_role("listitem", name="nowhere", exact=True)
    await row.get_by_role("button", expanded=False).click()
    await row.get_by_role("button", name="Test").click()
    await expect(row.get_by_text("It failed, as said above.")).to_be_visible(timeout=30_000)
    assert await times(rooms.page, "No connection to 127.0.0.1 on port 9") == 1


async def test_a_banner_says_that_the_server_is_gone_and_goes_by_itself(
    mortal: Studio, browser_context: BrowserContext, console: Console
) -> None:
    console.expect_restart()
    chat = await mortal.open(browser_context)
    await chat.ask("Hello")
    mortal.server.close()
    banner = chat.page.get_by_text("Pilothouse cannot be reached.")
    await expect(banner).to_be_visible()
    box, place = await chat.box.bounding_box(), await banner.bounding_box()
    assert box is not None
    assert place is not None
    assert place["y"] < box["y"] < place["y"] + 200, "it stands right above the message box"
    await chat.box.fill("Are you there?")
    await chat.send_button.click()
    await expect(chat.page.get_by_text("Not sent; your message is still here.")).to_be_visible()
    assert await times(chat.page, "cannot be reached") == 1
    mortal.restart()
    # The page may have found it by itself meanwhile.
    await chat.page.evaluate(
        "() => [...document.querySelectorAll('button')].find((one) => one.textContent === 'Try now')?.click()"
    )
    await expect(banner).to_have_count(0)
    await expect(chat.box).to_have_value("Are you there?")


@pytest_asyncio.fixture(loop_scope="session")
async def asking(rooms: Rooms, shared: Studio, tools: Path, kept_tab: KeptTab) -> Chat:
    """A conversation in which a call waits for the person."""
    add_server(shared, "harbour", ("--tools", tools))
    wait_until_connected(shared, "harbour")
    shared.script(ASKS, "Done.")
    chat = await kept_tab.chat(shared)
    await chat.send("Echo something")
    await expect(chat.dock.get_by_role("region", name="Approval")).to_be_visible()
    return chat


async def test_what_waits_shows_in_the_tabs_title_and_icon(asking: Chat) -> None:
    page = asking.page
    icon = page.locator("link[rel=icon]")
    await expect(page).to_have_title("(1) Echo something · Pilothouse")
    await expect(icon).to_have_attribute("href", "/icon-waiting.svg")
    assert await page.evaluate("fetch('/icon-waiting.svg').then(answer => answer.headers.get('content-type'))") == (
        "image/svg+xml"
    )
    await asking.dock.get_by_role("region", name="Approval").get_by_role("button", name="Deny").first.click()
    await expect(page).to_have_title("Echo something · Pilothouse")
    await expect(icon).to_have_attribute("href", "/icon.svg")


@pytest.mark.case("ERR-07", "ERR-08", "CON-08", "CON-10", "CON-32")
async def test_a_server_that_dies_is_told_at_the_edge_of_the_page_and_tried_again_by_hand(
    rooms: Rooms, shared: Studio, kept_tab: KeptTab, tools: Path, tmp_path: Path
) -> None:
    grave = tmp_path / "grave"
    starter = mortal(tmp_path / "mortal.py", grave)
    pid = start_mcp_server(shared, "Mortal", ["--tools", tools], starter=starter)["process"]["pid"]
    await rooms.connected("Mortal", 2)
    # Where the servers are not listed: there their rows say it.
    await kept_tab.at(shared)
    grave.touch()
    os.kill(pid, signal.SIGKILL)
    await expect(rooms.page.get_by_text("Mortal disconnected. Reconnecting...", exact=True)).to_be_visible()
    ending = rooms.page.get_by_text("Mortal failed to restart. Check settings.", exact=True)
    await expect(ending).to_be_visible(timeout=RESTARTS_MS)
    await kept_tab.rooms(shared)
    await expect(rooms.chip("Mortal")).to_have_attribute("data-state", "error")
    grave.unlink()
    row = await rooms.select("Mortal")
    await row.get_by_role("button", name="Retry").click()
    await rooms.connected("Mortal", 2)
