"""Another program takes the server's port while it is away: what it gets is worth nothing when the server is back."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.async_api import BrowserContext, expect

from tests.browser.console import Console
from tests.browser.squatter import start_squatter
from tests.browser.studio import Chat, Studio
from tests.support.waiting import eventually

BACK_MS = 20_000


def main_script(studio: Studio) -> str:
    """Return the address of the page's own script, which everyone can look up."""
    document = httpx2.get(studio.url, trust_env=False).text
    [found] = re.findall(r'src="(/assets/index-[^"]+\.js)"', document)
    return str(found)


def opened_by(studio: Studio, taken: list[dict[str, Any]]) -> list[int]:
    """Return what the server says to everything that was taken down, as it was and put together anew."""
    start = httpx2.get(f"{studio.url}/api/state", trust_env=False).headers["x-pilothouse-start"]
    cookies = {record["headers"]["cookie"] for record in taken if "cookie" in record["headers"]}
    halves = {record["headers"].get("x-pilothouse-half", "") for record in taken}
    halves |= {
        record["headers"].get("sec-websocket-protocol", "").partition(", ")[2]
        for record in taken
        if "sec-websocket-protocol" in record["headers"]
    }
    for told in (json.loads(record["body"]) for record in taken if record["path"] == "/api/told"):
        halves |= {told["storage"]["pilothouse.half"], f"of-the-squatter.{told['key']}.{told['signature']}"}
    halves.discard("")
    assert cookies
    assert halves
    halves |= {f"{start}.{half.partition('.')[2]}" for half in halves}
    with httpx2.Client(base_url=studio.url, trust_env=False) as http:
        return [
            http.get("/api/state", headers={"cookie": cookie, "x-pilothouse-half": half}).status_code
            for cookie in cookies
            for half in halves
        ]


@pytest.mark.case("WEB-15")
async def test_an_open_page_gives_a_squatter_nothing_that_works_later_and_stays_signed_in_itself(
    watching: Chat, mortal: Studio, tmp_path: Path
) -> None:
    await watching.box.fill("A draft that nobody may lose")
    mortal.server.kill()
    with start_squatter(mortal.server.port, tmp_path, "/assets/none.js") as squatter:

        async def was_asked() -> bool:
            return any("x-pilothouse-half" in record["headers"] for record in squatter.taken())

        await eventually(was_asked, "the page to ask whoever is there", timeout=60)
        await expect(watching.page.get_by_role("heading", name="Open the link")).to_be_visible(timeout=BACK_MS)
        squatter.end()
        mortal.restart()
        await expect(watching.connection).to_have_text("connected", timeout=BACK_MS)
        await expect(watching.box).to_have_value("A draft that nobody may lose")
        answers = opened_by(mortal, squatter.taken())
    assert set(answers) == {401}
    await watching.ask("Still here")


async def test_a_page_that_is_opened_after_a_restart_is_signed_in_without_being_refused_first(
    mortal: Studio, browser_context: BrowserContext
) -> None:
    chat = await mortal.open(browser_context)
    await chat.page.goto("about:blank")
    mortal.restart()
    refused: list[str] = []
    chat.page.on("response", lambda answer: refused.append(answer.url) if answer.status == 401 else None)
    await chat.go("/")
    assert not refused
    await chat.page.close()


@pytest.mark.case("WEB-12")
async def test_a_link_that_opens_nothing_does_not_cost_a_browser_its_session(
    mortal: Studio, browser_context: BrowserContext, console: Console
) -> None:
    console.expect("Failed to load resource")
    chat = await mortal.open(browser_context)
    # A used one, or one that another site made up.
    for code in ("used-before", "made-up"):
        await chat.page.goto("about:blank")
        await chat.go(f"/?in=x#code={code}")
        await expect(chat.connection).to_have_text("connected", timeout=BACK_MS)
    await chat.page.goto("about:blank")
    mortal.restart()
    await chat.go("/")
    await expect(chat.connection).to_have_text("connected", timeout=BACK_MS)
    await chat.ask("Still here")
    await chat.page.close()


async def test_two_links_that_are_opened_at_once_sign_one_browser_in(
    mortal: Studio, browser_context: BrowserContext, console: Console
) -> None:
    # What one tab asks while another signs in may be refused, and is asked again.
    for complaint in ("WebSocket connection to", "Failed to load resource"):
        console.expect(complaint)
    tabs = [await browser_context.new_page() for _ in range(3)]
    await asyncio.gather(*(tab.goto(f"{mortal.url}/#code={mortal.code()}") for tab in tabs))
    for tab in tabs:
        await expect(Chat(tab, mortal).connection).to_have_text("connected", timeout=BACK_MS)
        await tab.goto("about:blank")
    mortal.restart()
    chat = Chat(tabs[0], mortal)
    await chat.go("/")
    await chat.ask("Still here")
    for tab in tabs:
        await tab.close()


@pytest.mark.case("WEB-15")
async def test_a_look_alike_that_was_opened_leaves_nothing_behind_that_lasts(
    watching: Chat, mortal: Studio, browser_context: BrowserContext, tmp_path: Path
) -> None:
    asset = main_script(mortal)
    await watching.box.fill("A draft that nobody may lose")
    await watching.page.goto("about:blank")
    mortal.server.kill()
    with start_squatter(mortal.server.port, tmp_path, asset) as squatter:
        victim = await browser_context.new_page()
        await victim.goto(mortal.url)
        await expect(victim).to_have_title("done", timeout=BACK_MS)
        await victim.close()
        squatter.end()
        taken = squatter.taken()
        [told] = [json.loads(record["body"]) for record in taken if record["path"] == "/api/told"]
        assert (told["worker"], told["exported"]) == (True, "InvalidAccessError")
        mortal.restart()
        assert set(opened_by(mortal, taken)) == {401}
    # The browser looks whether the worker is still the same one, and is given one that ends itself.
    again = await browser_context.new_page()
    await again.goto(mortal.url)
    chat = Chat(again, mortal)
    await expect(chat.connection).to_have_text("connected", timeout=BACK_MS)
    await expect(chat.box).to_have_value("A draft that nobody may lose")

    async def no_worker() -> bool:
        left = await again.evaluate("navigator.serviceWorker.getRegistrations().then((all) => all.length)")
        return bool(left == 0)

    await eventually(no_worker, "the worker to end itself")
    assert set(opened_by(mortal, taken)) == {401}
    await chat.ask("Back again")
    await again.close()
