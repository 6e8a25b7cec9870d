"""Servers are found by words, pasted or dropped, and filled in where something is open; and the other ways to them."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, expect

from tests.browser.axe import serious_problems
from tests.browser.console import Console
from tests.browser.finding import Finder, Places, product, snippet
from tests.browser.kept import remove_servers
from tests.browser.registries import LONG, Registries, registries
from tests.browser.resting import place_of
from tests.browser.rooms import open_rooms, stored_text
from tests.browser.test_drops import drop
from tests.browser.width import fits
from tests.support.mcp_gateway import Streamable
from tests.support.mcp_servers import SCRIPTED
from tests.support.registry_server import (
    OfficialServer,
    official_entry,
    remote,
)
from tests.support.tiny_http import TinyHttp
from tests.support.waiting import eventually


@pytest_asyncio.fixture(loop_scope="session")
async def finder(places: Places, browser_context: BrowserContext) -> AsyncIterator[Finder]:
    """The settings of the MCP servers of that server, of which there are none yet."""
    yield Finder(await open_rooms(places.studio, browser_context))
    await remove_servers(places.studio)


@pytest_asyncio.fixture(loop_scope="session")
async def changing(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Registries]:
    """Registries of this test's own, which it changes."""
    async with registries(monkeypatch) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def own_finder(
    changing: Registries, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, browser_context: BrowserContext
) -> AsyncIterator[Finder]:
    """The settings of the MCP servers of a server of this test's own, which looks in those registries."""
    with product(tmp_path, monkeypatch) as made:
        finder = Finder(await open_rooms(made.studio, browser_context))
        yield finder
        await finder.page.close()


# --- the box and what it finds --------------------------------------------------------------------


@pytest.mark.case("REG-06")
async def test_nothing_goes_on_before_something_is_typed_or_chosen(finder: Finder) -> None:
    await finder.open()
    await expect(finder.options).to_have_count(0)
    await expect(finder.dialog.get_by_role("button", name="Add", exact=True)).to_have_count(0)
    for key in ("Enter", "ArrowDown", "Enter"):
        await finder.page.keyboard.press(key)
    await expect(finder.dialog).to_have_accessible_name("Add a server")
    # Words alone choose nothing where several fit.
    await finder.ask("tide")
    await expect(finder.options).to_have_count(2)
    await finder.page.keyboard.press("Enter")
    await expect(finder.dialog).to_have_accessible_name("Add a server")
    await finder.box.fill("zzzz-nothing")
    await expect(finder.dialog.get_by_role("status").first).to_contain_text("Nothing found")
    await finder.page.keyboard.press("Enter")
    await expect(finder.dialog).to_have_accessible_name("Add a server")
    assert finder.rooms.studio.server.get("/api/servers")["servers"] == []


@pytest.mark.case("REG-04")
async def test_the_keys_go_into_the_results_and_enter_chooses(finder: Finder) -> None:
    await finder.open()
    await finder.ask("harbour")
    await finder.page.keyboard.press("ArrowDown")
    await expect(finder.options.first).to_have_attribute("aria-selected", "true")
    active = await finder.box.get_attribute("aria-activedescendant")
    assert active == await finder.options.first.get_attribute("id")
    await expect(finder.box).to_be_focused()
    await finder.page.keyboard.press("Enter")
    await finder.configuring("Tide tables")
    await finder.press("Back")
    # What was typed and found is still there.
    await expect(finder.box).to_have_value("harbour")
    await expect(finder.option("Tide tables")).to_be_visible()


async def test_the_only_thing_that_was_recognised_is_chosen_by_enter(finder: Finder) -> None:
    await finder.open()
    await finder.ask(f"{sys.executable} {SCRIPTED}")
    await finder.page.keyboard.press("Enter")
    await expect(finder.field("Name")).to_be_visible()
    await expect(finder.dialog).to_contain_text("Check finds out which keys it needs.")
    await finder.press("Check")
    await finder.press("Start once")
    await expect(finder.dialog).to_contain_text("It works: 16 tools")
    # What was looked at is not shown again.
    await finder.press("Add")
    await expect(finder.dialog).to_have_count(0)


async def test_what_is_broken_is_told_in_one_sentence_and_nothing_is_kept(
    finder: Finder, tmp_path: Path, console: Console
) -> None:
    console.expect("/api/proposals")
    await finder.open()
    await finder.box.fill('{"mcpServers": {')
    await expect(finder.dialog.get_by_role("alert")).to_contain_text("JSON")
    broken = tmp_path / "broken.mcpb"
    broken.write_bytes(b"no zip at all")
    await drop(finder.page, finder.dialog, str(broken))
    await expect(finder.dialog.get_by_role("alert")).not_to_contain_text("JSON")
    await expect(finder.dialog.get_by_role("alert")).to_be_visible()
    await finder.box.fill("harbour")
    await expect(finder.option("Tide tables")).to_be_visible()
    await expect(finder.dialog.get_by_role("alert")).to_have_count(0)


async def test_a_registry_that_is_down_or_wants_a_key_is_told_quietly_and_the_other_answers(
    own_finder: Finder, changing: Registries
) -> None:
    finder = own_finder
    changing.smithery.key = "a-key-of-smithery"
    await finder.open()
    await finder.ask("harbour")
    await expect(finder.option("Tide tables")).to_be_visible()
    await expect(finder.dialog).to_contain_text("Smithery")
    field = finder.field("Key for Smithery")
    await expect(field).to_be_visible()
    assert await serious_problems(finder.page) == []
    await field.fill("a-key-of-smithery")
    await finder.press("Keep the key")
    await expect(field).to_have_count(0)
    await finder.ask("berth")
    await expect(finder.option("Mooring")).to_be_visible()
    assert "a-key-of-smithery" not in stored_text(finder.rooms.studio)


@pytest.mark.case("SRV-26", "AUT-04")
async def test_the_settings_of_a_schema_are_fields_and_a_list_of_folders_has_rows(finder: Finder) -> None:
    await finder.open()
    await finder.ask("charts")
    await finder.option("Charts").click()
    await finder.configuring("Charts")
    await finder.press("Add")
    # What is needed is told where it is, and the first of it has the cursor.
    await expect(finder.field("Chart key")).to_be_focused()
    await expect(finder.field("Chart key")).to_have_attribute("type", "password")
    folders = finder.dialog.get_by_role("group", name="Chart folders")
    await folders.get_by_role("textbox").fill("/charts/north")
    await folders.get_by_role("button", name="Add to Chart folders").click()
    await folders.get_by_role("textbox").nth(1).fill("/charts/south")
    await folders.get_by_role("button", name="Add to Chart folders").click()
    await expect(folders.get_by_role("textbox")).to_have_count(3)
    await folders.get_by_role("button", name="Remove row 3").click()
    await expect(folders.get_by_role("textbox")).to_have_count(2)
    await expect(finder.dialog.get_by_role("combobox", name="Units")).to_have_value("metres")
    await finder.dialog.get_by_role("checkbox", name="Night colours").check()
    assert await serious_problems(finder.page) == []


# --- more ways ------------------------------------------------------------------------------------


async def test_a_registry_of_ones_own_is_added_searched_and_removed(finder: Finder) -> None:
    async with OfficialServer(
        [
            official_entry(
                "com.company/payroll", "Pays people.", title="Payroll", remotes=[remote("https://pay.example/mcp")]
            )
        ]
    ) as company:
        await finder.open()
        await finder.press("Registries…")
        await finder.field("Another registry").fill(company.url)
        await finder.press("Add it")
        rows = finder.dialog.get_by_role("listitem")
        await expect(rows).to_have_count(3)
        assert await serious_problems(finder.page) == []
        await finder.press("Done")
        await finder.ask("payroll")
        await expect(finder.option("Payroll")).to_contain_text("127.0.0.1")
        await finder.press("Registries…")
        await rows.nth(2).get_by_role("button").click()
        await expect(rows).to_have_count(2)


async def test_servers_of_other_programs_on_this_machine_are_chosen_and_taken_over(
    finder: Finder, places: Places
) -> None:
    settings = places.home / ".cursor" / "mcp.json"
    settings.parent.mkdir()
    one = {"command": sys.executable, "args": [str(SCRIPTED)]}
    settings.write_text(snippet(harbour=one, quay={"url": "https://quay.example/mcp"}), encoding="utf-8")
    await finder.open()
    await finder.dialog.get_by_role("button", name="Look on this machine").click()
    cursor = finder.dialog.get_by_role("listitem", name="Cursor")
    await expect(cursor).to_contain_text("mcp.json")
    await expect(cursor.get_by_role("checkbox", checked=True)).to_have_count(0)
    assert await serious_problems(finder.page) == []
    await cursor.get_by_role("checkbox", name="harbour").check()
    await finder.press("Import")
    await expect(finder.dialog).to_contain_text("One server was added.")
    await finder.press("Switch on the chosen one")
    await finder.press("Start this server")
    await finder.rooms.connected("harbour", 16)
    names = [server["name"] for server in finder.rooms.studio.server.get("/api/servers")["servers"]]
    assert names == ["harbour"]
    settings.unlink()


async def test_servers_on_a_machine_that_was_named_are_listed_unticked_and_added(finder: Finder) -> None:
    async with TinyHttp(Streamable()) as served:
        await finder.open()
        await finder.dialog.get_by_role("button", name="Look nearby").click()
        await expect(finder.dialog).to_have_accessible_name("Look nearby")
        await finder.field("Machines").fill(f"127.0.0.1:{served.port}")
        await finder.press("Look")
        found = finder.dialog.get_by_role("list", name="Servers nearby").get_by_role("checkbox")
        await expect(found).to_have_count(1)
        await expect(found).not_to_be_checked()
        assert await serious_problems(finder.page) == []
        assert finder.rooms.studio.server.get("/api/servers")["servers"] == []
        await found.check()
        await finder.press("Add the chosen one")
        await expect(finder.dialog).to_have_count(0)
        (server,) = finder.rooms.studio.server.get("/api/servers")["servers"]
        assert server["address"] == f"{served.url}/mcp"
        await eventually(lambda: finder.rooms.section.get_by_text("Connected").count(), "it to be connected")


async def test_the_form_is_still_there_and_a_server_is_copied_for_another_program(
    finder: Finder, browser_context: BrowserContext
) -> None:
    await browser_context.grant_permissions(["clipboard-read", "clipboard-write"])
    await finder.open()
    await finder.dialog.get_by_role("button", name="Enter it by hand").click()
    await finder.dialog.get_by_label("Command or address").fill(f"{sys.executable} {SCRIPTED}")
    await finder.dialog.get_by_role("textbox", name="Name", exact=True).fill("Harbour")
    await finder.press("Add")
    await finder.press("Start this server")
    await finder.rooms.connected("Harbour", 16)
    row = await finder.rooms.select("Harbour")
    await row.get_by_role("button", name="Copy for another program…").click()
    text = finder.dialog.get_by_label("Text for the other program")
    await expect(text).to_contain_text('"mcpServers"')
    assert await serious_problems(finder.page) == []
    await finder.dialog.get_by_role("combobox", name="For").click()
    await finder.page.get_by_role("option", name="VS Code").click()
    await expect(text).to_contain_text('"servers"')
    await finder.dialog.get_by_role("button", name="Copy the text").click()
    copied = await finder.page.evaluate("navigator.clipboard.readText()")
    assert str(SCRIPTED) in copied


async def test_a_file_dropped_on_the_list_opens_what_it_is(finder: Finder, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    two = snippet(harbour={"command": "harbour"}, quay={"url": "https://quay.example/mcp"})
    file.write_text(two, encoding="utf-8")
    await drop(finder.page, finder.rooms.section, str(file))
    await expect(finder.dialog).to_have_accessible_name("Add a server")
    await expect(finder.dialog.get_by_role("status").first).to_contain_text("settings.json")
    await expect(finder.options).to_have_count(2)
    await finder.option("quay").click()
    await finder.configuring("quay")


async def test_the_dialog_fits_a_telephone_and_a_low_screen(finder: Finder) -> None:
    page = finder.page
    await finder.open()
    for width, height in ((390, 844), (1280, 640)):
        await page.set_viewport_size({"width": width, "height": height})
        await finder.box.fill("")
        await expect(finder.options).to_have_count(0)
        await fits(page)
        # The box and the way out stay where they are while results come.
        before = await place_of(finder.box)
        await finder.box.fill("landing")
        await expect(finder.option(LONG)).to_be_visible()
        assert await place_of(finder.box) == before
        await fits(page)
        await finder.box.fill("harbour")
        await expect(finder.option("Tide tables")).to_be_visible()
        assert await place_of(finder.box) == before
        await fits(page)
        await expect(finder.dialog.get_by_role("button", name="Cancel")).to_be_in_viewport()
        await finder.option("Tide tables").click()
        await finder.configuring("Tide tables")
        await fits(page)
        await expect(finder.dialog.get_by_role("button", name="Add", exact=True)).to_be_in_viewport()
        assert await serious_problems(page) == []
        await finder.press("Back")


async def test_a_newer_version_is_looked_for_shown_and_taken(
    own_finder: Finder, changing: Registries, console: Console
) -> None:
    finder = own_finder
    console.expect_restart()
    await finder.open()
    await finder.ask("npx -y tiny-server@1.0.0")
    await finder.page.keyboard.press("Enter")
    await finder.configuring("tiny-server")
    await finder.press("Add")
    await finder.press("Start this server")
    await finder.rooms.connected("tiny-server", 1)
    row = await finder.rooms.select("tiny-server")
    await expect(row).to_contain_text("1.0.0, pinned")
    await row.get_by_role("button", name="Look for a newer version").click()
    await expect(finder.dialog.get_by_role("status")).to_contain_text("1.0.0")
    await expect(finder.dialog.get_by_role("button", name="Update")).to_have_count(0)
    await finder.dialog.get_by_role("button", name="Close").last.click()
    changing.index.node("tiny-server", "1.1.0")
    finder.rooms.studio.restart()
    await finder.rooms.settings()
    row = await finder.rooms.select("tiny-server")
    await row.get_by_role("button", name="Look for a newer version").click()
    await expect(finder.dialog).to_contain_text("Version: was 1.0.0, is 1.1.0.")
    assert await serious_problems(finder.page) == []
    await expect(finder.dialog.get_by_role("button", name="Not now")).to_be_focused()
    await finder.press("Update to 1.1.0")
    await expect(finder.dialog).to_have_count(0)
    await expect(row).to_contain_text("1.1.0, pinned")
