"""From the empty page to a first call of a server that was found, pasted or dropped: clicks are counted."""

from __future__ import annotations

import json
import sys
import time
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, expect

from tests.browser.approving import call
from tests.browser.axe import serious_problems
from tests.browser.finding import Finder, Places, snippet
from tests.browser.kept import remove_servers
from tests.browser.newcomers import Hand, first_call
from tests.browser.registries import KEY, TIDES
from tests.browser.rooms import Rooms, server_of, stored_text
from tests.browser.studio import Studio
from tests.browser.test_drops import drop
from tests.support.mcp_servers import SCRIPTED


@pytest_asyncio.fixture(loop_scope="session")
async def found(places: Places) -> AsyncIterator[Studio]:
    """That server, without any MCP server before the test and after it."""
    yield places.studio
    await remove_servers(places.studio)


async def newcomer(found: Studio, browser_context: BrowserContext) -> tuple[Finder, Hand]:
    """Someone who comes to the empty page, and presses what it offers."""
    page = (await found.open(browser_context)).page
    hand, finder = Hand(), Finder(Rooms(page, found))
    await hand.click(page.get_by_role("link", name="Add an MCP server"))
    await expect(finder.box).to_be_focused()
    return finder, hand


@pytest.mark.case("REG-04", "REG-16", "AUT-01")
async def test_a_server_is_found_by_words_and_called_in_six_clicks(
    found: Studio, browser_context: BrowserContext
) -> None:
    began = time.monotonic()
    finder, hand = await newcomer(found, browser_context)
    await finder.box.fill("tide harbour")
    await hand.click(finder.option("Tide tables"))
    await finder.configuring("Tide tables")
    key = finder.field("Tides key")
    await expect(key).to_be_focused()
    await expect(finder.dialog).to_contain_text("A key of the harbour office.")
    assert await serious_problems(finder.page) == []
    await key.fill(KEY)
    assert "X-Tides-Key" not in await finder.dialog.inner_text()
    await hand.click(finder.dialog.get_by_role("button", name="Add", exact=True))
    await finder.rooms.connected("Tide tables", 1)
    await first_call(found, finder.page, hand, call("echo", "tide_tables"))
    print(f"found by words: {hand.clicks} clicks, {time.monotonic() - began:.1f} s")
    assert hand.clicks <= 6
    assert KEY not in stored_text(found)
    assert server_of(found, "Tide tables")["source"]["name"] == TIDES


@pytest.mark.case("REG-16", "AUT-03")
async def test_a_package_that_was_found_is_installed_and_called_in_six_clicks(
    found: Studio, browser_context: BrowserContext
) -> None:
    began = time.monotonic()
    finder, hand = await newcomer(found, browser_context)
    await finder.box.fill("tiny")
    await hand.click(finder.option("io.github.tiny/server"))
    await finder.configuring("Tiny")
    await expect(finder.dialog).to_contain_text("No authentication required.")
    await hand.click(finder.dialog.get_by_role("button", name="Add", exact=True))
    consent = finder.page.get_by_role("dialog", name="Start “Tiny”?")
    installs = consent.get_by_role("list", name="What is installed first")
    await expect(installs).to_contain_text("tiny-server 1.0.0 of npm is installed into a folder of its own")
    assert await serious_problems(finder.page) == []
    await hand.click(consent.get_by_role("button", name="Start this server"))
    await finder.rooms.connected("Tiny", 1)
    await first_call(found, finder.page, hand, call("where", "tiny"))
    print(f"a package found by words: {hand.clicks} clicks, {time.monotonic() - began:.1f} s")
    assert hand.clicks <= 6


async def test_a_pasted_snippet_is_called_in_six_clicks(found: Studio, browser_context: BrowserContext) -> None:
    began = time.monotonic()
    finder, hand = await newcomer(found, browser_context)
    harbour = {"command": sys.executable, "args": [str(SCRIPTED)], "env": {"HARBOUR_TOKEN": "${HARBOUR_TOKEN}"}}
    await finder.box.fill(snippet(harbour=harbour))
    await expect(finder.dialog.get_by_role("status").first).to_contain_text("A server in a snippet of settings.")
    await hand.click(finder.option("harbour"))
    await finder.configuring("harbour")
    await finder.field("Harbour token").fill(KEY)
    assert "HARBOUR_TOKEN" not in await finder.dialog.inner_text()
    await hand.click(finder.dialog.get_by_role("button", name="Add", exact=True))
    await hand.click(finder.dialog.get_by_role("button", name="Start this server"))
    await finder.rooms.connected("harbour", 16)
    await first_call(found, finder.page, hand, call("echo", "harbour", text="ahoy"))
    print(f"a pasted snippet: {hand.clicks} clicks, {time.monotonic() - began:.1f} s")
    assert hand.clicks <= 6
    assert KEY not in stored_text(found)


def bundle_of(folder: Path) -> Path:
    """Write a bundle with a server that wants a folder and a key."""
    manifest = {
        "manifest_version": "0.3",
        "name": "harbour-log",
        "display_name": "Harbour log",
        "version": "1.2.0",
        "description": "Writes down who came and went.",
        "author": {"name": "The harbour office"},
        "server": {
            "type": "python",
            "entry_point": "server/main.py",
            "mcp_config": {
                "command": "python3",
                "args": ["${__dirname}/server/main.py"],
                "env": {"LOG_KEY": "${user_config.key}", "LOG_FOLDER": "${user_config.folder}"},
            },
        },
        "user_config": {
            "key": {
                "type": "string",
                "title": "Log key",
                "description": "Of the office.",
                "sensitive": True,
                "required": True,
            },
            "folder": {"type": "directory", "title": "Where to write", "description": "", "required": True},
        },
    }
    path = folder / "harbour-log.mcpb"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
        archive.writestr("server/main.py", SCRIPTED.read_text(encoding="utf-8"))
    return path


@pytest.mark.case("SRV-26")
async def test_a_dropped_bundle_is_called_in_six_clicks(
    found: Studio, browser_context: BrowserContext, tmp_path: Path
) -> None:
    began = time.monotonic()
    finder, hand = await newcomer(found, browser_context)
    await drop(finder.page, finder.dialog, str(bundle_of(tmp_path)))
    # Whoever drops a file means it: its form comes at once.
    await finder.configuring("Harbour log")
    await expect(finder.dialog).to_contain_text("Writes down who came and went.")
    await finder.field("Log key").fill(KEY)
    await finder.dialog.get_by_label("Where to write").fill(str(tmp_path))
    assert await serious_problems(finder.page) == []
    await hand.click(finder.dialog.get_by_role("button", name="Add", exact=True))
    await hand.click(finder.dialog.get_by_role("button", name="Start this server"))
    await finder.rooms.connected("Harbour log", 16)
    await first_call(found, finder.page, hand, call("echo", "harbour_log", text="ahoy"))
    print(f"a dropped bundle: {hand.clicks} clicks, {time.monotonic() - began:.1f} s")
    assert hand.clicks <= 6
