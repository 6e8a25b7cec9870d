"""The web in the settings, and a picture that was made: in a real browser, with services on loopback."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, expect

from tests.browser.axe import serious_problems
from tests.browser.console import Console
from tests.browser.studio import Studio
from tests.browser.width import fits
from tests.support.pictures import a_png
from tests.support.tiny_http import Answer, Request, TinyHttp

KEY = "very-secret-key"
PNG = a_png(4_000, width=1_024, height=768)
SIZES = ({"width": 1_440, "height": 900}, {"width": 390, "height": 844})


def serving(request: Request) -> Answer:
    """Search as Brave does for whoever has the key, and make pictures as OpenAI does for anyone."""
    if request.target.startswith("/images"):
        made = {"data": [{"b64_json": base64.b64encode(PNG).decode()}]}
        return Answer(200, json.dumps(made).encode())
    if request.headers.get("x-subscription-token") != KEY:
        return Answer(401, b"{}")
    found = {"web": {"results": [{"title": "Weather", "url": "https://weather.example/"}]}}
    return Answer(200, json.dumps(found).encode())


@pytest_asyncio.fixture(loop_scope="session")
async def service() -> AsyncIterator[TinyHttp]:
    async with TinyHttp(serving) as server:
        yield server


@pytest.fixture
def painting(tmp_path: Path, service: TinyHttp) -> Iterator[Studio]:
    """A server that makes pictures."""
    with Studio(tmp_path / "home", {"web": {"pictures": "openai", "pictures_address": service.url}}) as made:
        yield made


@pytest.mark.case("UTL-15")
async def test_a_search_service_is_set_up_and_tried_in_the_settings(
    own: Studio, browser_context: BrowserContext, service: TinyHttp, console: Console
) -> None:
    console.expect("400")
    chat = await own.open(browser_context, "/settings/web")
    page = chat.page
    searching = page.get_by_role("region", name="Searching the web")
    await expect(searching.get_by_role("textbox", name="Address of the search service")).to_have_count(0)
    await searching.get_by_role("combobox", name="Search with").click()
    await page.get_by_role("option", name="Brave Search").click()
    await expect(searching.get_by_text("Not offered to the agent: Brave Search wants a key.")).to_be_visible()
    address = searching.get_by_role("textbox", name="Address of the search service")
    await address.fill("nonsense")
    await address.press("Enter")
    await expect(searching.get_by_text("“nonsense” is no web address")).to_be_visible()
    await address.fill(service.url)
    await address.press("Enter")
    trying = searching.get_by_role("button", name="Test Brave Search")
    await expect(searching.get_by_text(f"sent only to 127.0.0.1:{service.port}.")).to_be_visible()
    await trying.click()
    refused = f"Not offered to the agent: Brave Search at 127.0.0.1:{service.port} wants a key, or refuses programs"
    await expect(searching.get_by_text(refused)).to_be_visible()
    key = searching.get_by_label("Key for Brave Search", exact=True)
    await key.fill(KEY)
    await key.press("Enter")
    await expect(searching.get_by_text("The agent can use Brave Search.")).to_be_visible()
    await trying.click()
    answered = f"Brave Search at 127.0.0.1:{service.port} answered and found something."
    await expect(searching.get_by_text(answered)).to_be_visible()
    assert KEY not in await page.content()
    for size in SIZES:
        await page.set_viewport_size(size)  # type: ignore[arg-type]
        assert await serious_problems(page) == []
        await fits(page)
    await searching.get_by_role("button", name="Forget the key").click()
    await expect(searching.get_by_role("button", name="Forget the key")).to_have_count(0)


@pytest.mark.case("UTL-17")
async def test_a_picture_that_was_made_stands_in_the_flow_at_its_width(
    painting: Studio, browser_context: BrowserContext
) -> None:
    painting.script([{"call": "image_generation", "arguments": {"prompt": "A boat at sea"}}], "There it is.")
    chat = await painting.open(browser_context)
    await chat.send("Draw a boat.")
    await chat.dock.get_by_role("button", name="Allow", exact=True).click()
    await chat.finished()
    picture = chat.timeline.get_by_role("img", name="picture-1.png")
    await expect(picture).to_be_visible()
    box = await picture.bounding_box()
    assert box is not None
    assert box["width"] > 640
    await expect(chat.timeline.get_by_text("Made a picture: A boat at sea")).to_be_visible()
    assert await serious_problems(chat.page) == []
    await chat.page.set_viewport_size(SIZES[1])  # type: ignore[arg-type]
    await fits(chat.page)
