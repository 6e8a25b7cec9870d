"""Conversations as files, and how long they are kept, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.browser.console import Console
from tests.support.commands import pilothouse
from tests.support.servers import Server
from tests.support.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """A conversation of another installation, as a file."""
    script, elsewhere, file = tmp_path / "script.yaml", tmp_path / "elsewhere", tmp_path / "talk.jsonl"
    script.write_text("- Of course.\n")
    assert pilothouse(elsewhere, "run", "A talk from elsewhere", "--model", f"scripted:{script}").code == 0
    assert pilothouse(elsewhere, "conversations", "export", "--all", str(file)).code == 0
    return file


@pytest.fixture
def server(home: Path) -> Iterator[Server]:
    with Server(home) as serving:
        yield serving


async def test_a_conversation_is_imported_in_the_settings_and_exported_from_the_list(
    talk: Path, server: Server, page: Page, console: Console
) -> None:
    console.expect("400")
    await server.open(page, "/settings/general")
    async with page.expect_file_chooser() as choosing:
        await page.get_by_role("button", name="Import conversations…").click()
    await (await choosing.value).set_files({"name": talk.name, "mimeType": "application/jsonl", "buffer": b"{"})
    await expect(page.get_by_text("The file is damaged or cut short.")).to_be_visible()
    # A browser tells nothing of the file that is chosen already.
    assert await page.locator("input[type=file]").evaluate("input => input.files.length") == 0
    async with page.expect_file_chooser() as choosing:
        await page.get_by_role("button", name="Import conversations…").click()
    await (await choosing.value).set_files(talk)
    await expect(page.get_by_role("main").get_by_text("Of course.")).to_be_visible()
    row = page.get_by_role("listitem").filter(has_text="A talk from elsewhere")
    await row.hover()
    async with page.expect_download() as downloading:
        await row.get_by_role("button", name="Export A talk from elsewhere").click()
    saved = (await (await downloading.value).path()).read_bytes()
    assert b'"pilothouse":"conversations"' in saved
    assert b"Of course." in saved


async def test_how_long_conversations_are_kept_is_set_in_the_settings(
    server: Server, page: Page, console: Console
) -> None:
    console.expect("400")
    await server.open(page, "/settings/general")
    days = page.get_by_label("Days")
    for _ in range(2):
        # Whoever means "never" by it must not get one day.
        await days.fill("0")
        await days.press("Enter")
        await expect(page.get_by_text("How many days are kept is a number from 1 to 36,500.")).to_be_visible()
        await expect(days).to_have_value("0")
    await days.focus()
    await days.press("Enter")
    assert server.read("config.json").get("retention", {}).get("days") is None
    await days.fill("")
    await days.press("ArrowUp")
    await expect(days).to_have_value("")
    await days.fill("365")
    await days.press("Enter")
    wanted = {"days": 365, "megabytes": None}
    until(lambda: server.read("config.json").get("retention") == wanted, "the setting to be kept")
    await page.reload()
    await expect(page.get_by_label("Days")).to_have_value("365")
    assert json.loads((server.home / "config.json").read_bytes())["retention"] == wanted
