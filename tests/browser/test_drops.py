"""Files that are dropped on the page: they are attached, what cannot be read is told, and nothing leads away."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from tests.browser.axe import serious_problems
from tests.browser.console import Console
from tests.browser.profile import tabs
from tests.browser.resting import stop_clock
from tests.browser.studio import Chat, Studio

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADklEQVR4nGNgYPgPRAwADf4B/z0ZtYIAAAAASUVORK5CYII="
)
# As long as the page waits for another word of what is dragged.
SILENCE_MS = 600
BROKEN = "paper.pdf is broken: it is no whole PDF. Get the file once more and try again."


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Files of several kinds, by their names."""
    contents = {"blue.png": PNG, "notes.txt": b"words", "table.csv": b"a,b\n1,2\n", "paper.pdf": b"%PDF-1.4\n"}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    return {name: str(tmp_path / name) for name in contents}


async def drag(page: Page, over: Locator, data: dict[str, Any], *events: str) -> None:
    """Drag something over an element as from another program."""
    box = await over.bounding_box()
    assert box is not None
    place = {"x": box["x"] + min(box["width"] / 2, 60), "y": box["y"] + min(box["height"] / 2, 30)}
    session = await page.context.new_cdp_session(page)
    whole = {"items": [], "dragOperationsMask": 1, **data}
    for event in events:
        await session.send("Input.dispatchDragEvent", {"type": event, "data": whole, **place})
    await session.detach()


async def drop(page: Page, over: Locator, *paths: str) -> None:
    """Drop files on an element."""
    await drag(page, over, {"files": list(paths)}, "dragEnter", "dragOver", "drop")


@pytest.mark.case("CHT-11")
async def test_an_image_dropped_anywhere_is_attached(chat: Chat, studio: Studio, files: dict[str, str]) -> None:
    page = chat.page
    attached = page.get_by_role("list", name="Attached images").get_by_role("listitem")
    places = [chat.box, page.get_by_role("main"), page.get_by_role("banner"), page.get_by_role("complementary").first]
    for count, place in enumerate(places, 1):
        await drop(page, place, files["blue.png"])
        await expect(attached).to_have_count(count)
    await page.keyboard.press("Control+k")
    await drop(page, page.get_by_role("dialog"), files["blue.png"])
    await expect(attached).to_have_count(len(places) + 1)
    await page.keyboard.press("Escape")
    studio.script("Five blue pictures.")
    await chat.ask("What are these?")
    await expect(chat.rows("user_message").get_by_role("img")).to_have_count(len(places) + 1)
    assert len(tabs(page.context)) == 1, "nothing opens in a tab of its own"


async def test_a_file_that_cannot_be_read_is_told_about_in_one_sentence_and_nothing_leads_away(
    chat: Chat, files: dict[str, str], console: Console
) -> None:
    page, url = chat.page, chat.page.url
    console.expect("400")
    await chat.box.fill("half a thought")
    for place in (chat.box, page.get_by_role("main"), page.get_by_role("complementary").first):
        await drop(page, place, files["paper.pdf"])
        await expect(page.get_by_role("main").get_by_role("alert")).to_have_text(BROKEN)
    await drop(page, page.get_by_role("main"), files["blue.png"], files["notes.txt"], files["paper.pdf"])
    await expect(page.get_by_role("list", name="Attached images").get_by_role("img")).to_have_count(1)
    await expect(page.get_by_role("list", name="Attached documents").get_by_role("listitem")).to_have_count(1)
    await expect(page.get_by_role("main").get_by_role("alert")).to_have_text(BROKEN)
    await expect(chat.box).to_have_value("half a thought")
    assert (page.url, len(tabs(page.context))) == (url, 1)
    await chat.box.fill("")


async def test_an_image_that_cannot_be_read_keeps_no_other_from_being_attached(
    chat: Chat, files: dict[str, str], tmp_path: Path
) -> None:
    broken = [tmp_path / "torn.png", tmp_path / "drawn.svg"]
    for path in broken:
        path.write_text("<svg/>", encoding="utf-8")
    page = chat.page
    await drop(page, page.get_by_role("main"), *map(str, broken), files["blue.png"], files["notes.txt"])
    await expect(page.get_by_role("list", name="Attached images").get_by_role("img")).to_have_count(1)
    said = [f"{path.name} is not a PNG, JPEG, GIF or WebP image that can be shown." for path in broken]
    alert = page.get_by_role("main").get_by_role("alert")
    await expect(alert).to_have_text(" ".join(said))
    # Each is on its own line.
    assert (await alert.inner_text()).split("\n") == said
    await page.get_by_role("button", name="Remove notes.txt").click()
    await page.get_by_role("button", name="Remove blue.png").click()


async def test_a_drop_in_the_settings_says_where_files_go(chat: Chat, files: dict[str, str]) -> None:
    page = chat.page
    await chat.go("/settings/models")
    await page.get_by_role("button", name="Add Model").click()
    for place in (page.get_by_role("banner").first, page.get_by_role("dialog")):
        await drop(page, place, files["paper.pdf"])
        await expect(page.get_by_text("Files are attached in a conversation. Open one").last).to_be_visible()
    assert (page.url.partition("#")[0], len(tabs(page.context))) == (f"{chat.studio.url}/settings/models", 1)


@pytest.mark.own_profile
async def test_what_is_dragged_shows_where_it_goes_until_it_is_gone(chat: Chat, files: dict[str, str]) -> None:
    page = chat.page
    hint = page.get_by_text("Drop files to attach them to your message.")
    await stop_clock(page)
    await drag(page, page.get_by_role("main"), {"files": [files["blue.png"]]}, "dragEnter", "dragOver")
    await expect(hint).to_be_visible()
    # Nothing more is heard of it.
    await page.clock.run_for(SILENCE_MS)
    await expect(hint).to_have_count(0)
    await page.clock.resume()
    await drag(page, page.get_by_role("main"), {"files": [files["blue.png"]]}, "dragEnter", "dragOver")
    assert await serious_problems(page) == []


async def test_text_and_addresses_are_text_in_the_box_and_nothing_elsewhere(chat: Chat) -> None:
    page, url = chat.page, chat.page.url
    data = {"items": [{"mimeType": "text/plain", "data": "https://example.com/x"}]}
    address = {"items": [*data["items"], {"mimeType": "text/uri-list", "data": "https://example.com/x"}]}
    for dragged in (data, address):
        await chat.box.fill("")
        await drag(page, chat.box, dragged, "dragEnter", "dragOver", "drop")
        await expect(chat.box).to_have_value("https://example.com/x")
        await drag(page, page.get_by_role("banner"), dragged, "dragEnter", "dragOver", "drop")
        await expect(chat.box).to_have_value("https://example.com/x")
    assert (page.url, len(tabs(page.context))) == (url, 1)
    await chat.box.fill("")
