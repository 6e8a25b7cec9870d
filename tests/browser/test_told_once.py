"""One failure is one message, with a way on; that the server is gone, and that something waits, can be seen."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Page, expect

from tests.browser.approving import add_server, wait_until_connected
from tests.browser.rooms import Rooms, mortal, start_server
from tests.browser.studio import Chat, Studio
from tests.support.console import Console

NOWHERE = {"name": "Nowhere", "provider": "openai-compatible", "model": "x", "baseUrl": "http://127.0.0.1:9/v1"}
# Three restarts with the waits between them.
RESTARTS_MS = 25_000
ASKS = [{"call": "harbour__echo", "arguments": {"text": "hello"}}]


async def times(page: Page, words: str) -> int:
    """Count how often words stand on the page."""
    return str(await page.locator("body").inner_text()).count(words)


async def test_a_model_that_fails_again_and_again_is_told_of_once(chat: Chat, studio: Studio) -> None:
    studio.script([{"fault": 503, "message": "overloaded", "retryAfter": 0, "times": 9}])
    await chat.send("Are you there?")
    await expect(chat.page.get_by_role("button", name="Try again")).to_be_visible(timeout=60_000)
    assert await times(chat.page, "is overloaded or limits your requests") == 1


async def test_an_answer_that_broke_off_says_why_once(chat: Chat, studio: Studio) -> None:
    studio.script(["Half an answ", {"fault": "cut", "times": 9}], loop=True)
    await chat.send("Tell me everything")
    await expect(chat.page.get_by_role("button", name="Try again")).to_be_visible(timeout=60_000)
    assert await times(chat.page, "broke off its answer") == 1
    await chat.fold("An attempt broke off").first.click()
    await expect(chat.page.get_by_text("broke off its answer")).to_have_count(2)


async def test_the_place_that_an_error_names_is_a_link_to_it(chat: Chat, studio: Studio) -> None:
    studio.script([{"fault": 401, "message": "wrong key"}])
    await chat.send("Hello?")
    failed = chat.timeline.get_by_role("alert")
    await expect(failed).to_contain_text("Check the key in Settings, Models.")
    await failed.get_by_role("link", name="Settings, Models").click()
    await expect(chat.page).to_have_url(f"{studio.url}/settings/models")


async def test_a_server_that_fails_its_test_says_so_once(own: Studio, browser_context: BrowserContext) -> None:
    own.server.post("/api/servers", {"name": "nowhere", "commandLine": "http://127.0.0.1:9/mcp"}, 201)
    chat = await own.open(browser_context, "/settings/mcp")
    row = chat.page.get_by_role("listitem", name="nowhere", exact=True)
    await row.get_by_role("button", expanded=False).click()
    await row.get_by_role("button", name="Test").click()
    await expect(row.get_by_text("It failed, as said above.")).to_be_visible(timeout=30_000)
    assert await times(chat.page, "No connection to 127.0.0.1 on port 9") == 1


async def test_a_banner_says_that_the_server_is_gone_and_goes_by_itself(
    own: Studio, browser_context: BrowserContext, console: Console
) -> None:
    console.expect_restart()
    chat = await own.open(browser_context)
    await chat.ask("Hello")
    own.server.close()
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
    own.restart()
    # The page may have found it by itself meanwhile.
    await chat.page.evaluate(
        "() => [...document.querySelectorAll('button')].find((one) => one.textContent === 'Try now')?.click()"
    )
    await expect(banner).to_have_count(0)
    await expect(chat.box).to_have_value("Are you there?")


@pytest_asyncio.fixture(loop_scope="session")
async def asking(own: Studio, tools: Path, browser_context: BrowserContext) -> Chat:
    """A conversation in which a call waits for the person."""
    add_server(own, "harbour", ("--tools", tools))
    wait_until_connected(own, "harbour")
    own.script(ASKS, "Done.")
    chat = await own.open(browser_context)
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
    rooms: Rooms, own: Studio, tools: Path, tmp_path: Path
) -> None:
    grave = tmp_path / "grave"
    pid = start_server(own, "Mortal", ["--tools", tools], starter=mortal(tmp_path / "mortal.py", grave))["process"][
        "pid"
    ]
    await rooms.connected("Mortal", 2)
    # Where the servers are not listed: there their rows say it.
    await rooms.page.goto(own.url)
    await expect(rooms.page.get_by_role("banner").get_by_role("status")).to_have_text("connected")
    grave.touch()
    os.kill(pid, signal.SIGKILL)
    await expect(rooms.page.get_by_text("Mortal disconnected. Reconnecting...", exact=True)).to_be_visible()
    ending = rooms.page.get_by_text("Mortal failed to restart. Check settings.", exact=True)
    await expect(ending).to_be_visible(timeout=RESTARTS_MS)
    await rooms.settings()
    await expect(rooms.chip("Mortal")).to_have_attribute("data-state", "error")
    grave.unlink()
    row = await rooms.select("Mortal")
    await row.get_by_role("button", name="Retry").click()
    await rooms.connected("Mortal", 2)
