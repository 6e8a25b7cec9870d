"""Nothing moves under the pointer, dialogs keep their buttons in view, and a finger hits what it means."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.approving import add_server, wait_until_connected
from tests.browser.console import Console
from tests.browser.resting import comes_to, place_of
from tests.browser.rooms import ECHO, FAIL, command, write_tools
from tests.browser.studio import Chat, Studio

LOW = {"width": 1280, "height": 640}
PHONE = {"width": 390, "height": 844}
# The buttons of the bar that stand on every page.
ALWAYS = ("Settings", "Colours: as the system")
WIDE_TABLE = """| name | what it is for | where it stands | since when |
|---|---|---|---|
| berth | the place where a ship lies when it is in the harbour | along the northern quay, behind the old crane | 1904 |
"""
UNCOVERED = """button => {
    const {left, top, width, height} = button.getBoundingClientRect()
    return button.contains(document.elementFromPoint(left + width / 2, top + height / 2))
}"""
# A finger's size, in CSS pixels: what Apple's and the web's guides ask for.
FINGER = 44
# What can be pressed, with the box in which a press counts: a field with a label is pressed on either.
# A link in the middle of a sentence is as high as its line.
TARGETS = """() => {
    const found = []
    const pressed = "button, a[href], input, select, textarea, summary, [role=button], [role=tab], [role=option]"
        + ", [role=menuitem], [role=menuitemradio], [role=switch], [role=separator]"
    const dialog = [...document.querySelectorAll("[role=dialog]")].at(-1)
    for (const one of (dialog ?? document).querySelectorAll(pressed)) {
        const boxes = [one, ...(one.labels ?? [])].map(part => part.getBoundingClientRect())
        const style = getComputedStyle(one)
        if (!boxes[0].width || style.visibility === "hidden" || one.closest("[aria-hidden=true], .skip")) continue
        if (one.matches("a") && style.display === "inline" && one.closest("p, li, dd, td")) continue
        if (one.matches("[type=file], [role=separator]")) continue
        if (one.matches("[type=checkbox], [type=radio]")) {
            // What is around a small box may belong to it: press there.
            one.scrollIntoView({block: "center"})
            const {left, top, width, height} = one.getBoundingClientRect()
            const isHit = ([x, y]) => {
                const hit = document.elementFromPoint(left + width / 2 + x, top + height / 2 + y)
                return hit === one || one.parentElement.contains(hit) || [...one.labels].some(l => l.contains(hit))
            }
            const reach = FINGER / 2 - 1
            if ([[0, -reach], [0, reach], [-reach, 0]].every(isHit)) continue
        }
        const wide = Math.max(...boxes.map(box => box.right)) - Math.min(...boxes.map(box => box.left))
        const high = Math.max(...boxes.map(box => box.bottom)) - Math.min(...boxes.map(box => box.top))
        // Half a pixel is lost to rounding.
        if (wide < FINGER - 0.5 || high < FINGER - 0.5) {
            const said = one.labels?.[0]?.innerText ?? one.innerText ?? one.placeholder
            const name = one.getAttribute("aria-label") ?? said.trim().slice(0, 40)
            found.push(`${one.tagName} “${name}” ${Math.round(wide)}×${Math.round(high)}`)
        }
    }
    return found
}""".replace("FINGER", str(FINGER))


async def test_the_buttons_of_the_bar_stay_where_they_are_between_pages(chat: Chat) -> None:
    bar = chat.page.get_by_role("banner")
    before = {name: await place_of(bar.get_by_role("button", name=name, exact=True)) for name in ALWAYS}
    for path in ("/settings/general", "/tools", "/waiting"):
        await chat.go(path)
        for name, place in before.items():
            assert await place_of(bar.get_by_role("button", name=name, exact=True)) == place, f"{name} moved on {path}"


async def test_a_double_click_on_the_gear_opens_the_settings_and_changes_no_colours(chat: Chat) -> None:
    gear = await place_of(chat.page.get_by_role("button", name="Settings", exact=True))
    await chat.page.mouse.dblclick(gear["x"] + gear["width"] / 2, gear["y"] + gear["height"] / 2)
    await expect(chat.page.get_by_role("heading", name="Settings", level=1)).to_be_visible()
    await expect(chat.page.get_by_role("button", name="Colours: as the system")).to_be_visible()


async def test_the_button_of_the_panel_stays_under_the_pointer_that_pressed_it(chat: Chat) -> None:
    button = chat.page.get_by_role("button", name="Panel", exact=True)
    before = await place_of(button)
    await button.click()
    await expect(chat.page.get_by_role("complementary", name="Panel")).to_be_visible()
    assert await place_of(button) == before
    await button.click()


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One studio with a server for all tests that leave it running."""
    folder = tmp_path_factory.mktemp("harbour")
    with Studio(folder / "home") as studio:
        add_server(studio, "harbour", ("--tools", write_tools(folder / "tools.json", ECHO, FAIL)))
        wait_until_connected(studio, "harbour")
        yield studio


async def _low_page(chromium: Browser, console: Console, studio: Studio) -> Chat:
    context = await chromium.new_context(viewport=LOW, reduced_motion="reduce")  # type: ignore[arg-type]
    context.on("page", console.watch)
    return await studio.open(context)


async def _open_dialog(page: Page, path: str, *buttons: str) -> Locator:
    await page.goto(path)
    for name in buttons:
        await page.get_by_role("button", name=name, exact=True).first.click()
    dialog = page.get_by_role("dialog").last
    await expect(dialog).to_be_visible()
    return dialog


async def _all_in_view(dialog: Locator, name: str, *wanted: str) -> None:
    for label in wanted:
        button = dialog.get_by_role("button", name=label, exact=True)
        place = await place_of(button)
        assert 0 <= place["y"] <= LOW["height"] - place["height"], f"{name}: {label} is at {place}"
        await comes_to(button, UNCOVERED, True, f"{name}: {label} with nothing over it")


async def _server_dialogs(page: Page, row: Locator) -> AsyncIterator[tuple[str, Locator, tuple[str, ...]]]:
    """Open each dialog of a server's row, one after the other."""
    for button in ("View 2 tools", "Logs"):
        await row.get_by_role("button", name=button).click()
        yield button, page.get_by_role("dialog").last, ("Close",)
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_the_buttons_of_every_dialog_are_in_view_on_a_low_screen(
    harbour: Studio, tools: Path, chromium: Browser, console: Console
) -> None:
    values = {f"PLACE_{number}": "quay " * 12 for number in range(12)}
    body = {"name": "asks", "commandLine": command("--tools", tools), "plainEnv": values}
    added = harbour.server.post("/api/servers", body, 201)["id"]
    chat = await _low_page(chromium, console, harbour)
    page, url = chat.page, harbour.url
    forms: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
        "model": ("/settings/models", ("Add Model",), ("Close", "Test", "Cancel", "Add")),
        "finding": ("/settings/mcp", ("Add a server",), ("Close", "Cancel")),
        "server": ("/settings/mcp", ("Add a server", "Enter it by hand"), ("Close", "Cancel", "Add")),
        "import": ("/settings/mcp", ("Import…",), ("Close", "Choose a file…", "Cancel", "Import")),
        "profile": ("/settings/mcp", ("Add a profile",), ("Close", "Cancel", "Add")),
        "rule": ("/settings/permissions", ("Add a rule",), ("Close", "Cancel", "Save")),
    }
    for name, (path, buttons, wanted) in forms.items():
        await _all_in_view(await _open_dialog(page, url + path, *buttons), name, *wanted)
    await page.goto(f"{url}/settings/mcp")
    section = page.get_by_role("region", name="MCP servers")
    asks = section.get_by_role("listitem", name="asks", exact=True)
    await asks.get_by_role("button", expanded=False).click()
    await asks.get_by_role("button", name="Review and start…").first.click()
    await _all_in_view(page.get_by_role("dialog").last, "consent", "Close", "Not now", "Start this server")
    await page.get_by_role("button", name="Not now").click()
    await expect(page.get_by_role("dialog")).to_have_count(0)
    row = section.get_by_role("listitem", name="harbour", exact=True)
    await row.get_by_role("button", expanded=False).click()
    async for name, dialog, wanted in _server_dialogs(page, row):
        await _all_in_view(dialog, name, *wanted)
    await page.context.close()
    harbour.server.client.delete(f"/api/servers/{added}").raise_for_status()


async def test_what_is_wrong_with_a_form_is_in_view_beside_its_buttons(
    harbour: Studio, chromium: Browser, console: Console
) -> None:
    chat = await _low_page(chromium, console, harbour)
    dialog = await _open_dialog(chat.page, f"{harbour.url}/settings/models", "Add Model")
    await dialog.get_by_role("textbox", name="Name").fill("Nowhere")
    await dialog.get_by_role("combobox", name="Model").or_(dialog.get_by_role("textbox", name="Model")).first.fill("x")
    await dialog.get_by_label("Base URL").fill("http://127.0.0.1:9/v1")
    await dialog.get_by_role("radio", name="No key").check()
    await dialog.get_by_role("button", name="Test").click()
    await expect(dialog.get_by_text("Cannot reach 127.0.0.1:9")).to_be_in_viewport(ratio=0.9, timeout=30_000)
    await chat.page.context.close()


@asynccontextmanager
async def _on_a_phone(studio: Studio, chromium: Browser, console: Console) -> AsyncIterator[Chat]:
    """Open a tab on a phone."""
    size: Any = PHONE
    context = await chromium.new_context(viewport=size, has_touch=True, is_mobile=True, reduced_motion="reduce")
    context.on("page", console.watch)
    yield await studio.open(context)
    await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def phone(harbour: Studio, chromium: Browser, console: Console) -> AsyncIterator[Chat]:
    async with _on_a_phone(harbour, chromium, console) as chat:
        yield chat


async def test_a_table_scrolls_in_its_own_box_on_a_phone(phone: Chat, harbour: Studio) -> None:
    harbour.script(WIDE_TABLE)
    answer = await phone.ask("A table, please")
    table = answer.get_by_role("group", name="Table")
    wide, seen = await table.evaluate("box => [box.scrollWidth, box.clientWidth]")
    assert wide > seen
    # No column is squeezed to a word in a line to make room for the others.
    narrow = await table.evaluate(
        "box => Math.min(...[...box.querySelectorAll('td')].slice(1, 3).map(c => c.offsetWidth))"
    )
    assert narrow > 150
    await table.evaluate("box => box.scrollTo(1000, 0)")
    await comes_to(table, "box => box.scrollLeft", wide - seen, "its other end")
    assert await phone.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


async def test_what_a_finger_presses_is_large_enough_for_it(phone: Chat, harbour: Studio) -> None:
    harbour.script(
        [{"thinking": "Hm."}, {"call": "think", "arguments": {"thoughts": "so"}}],
        "Some `code`:\n\n```py\nprint(1)\n```\n",
        [{"call": "harbour__echo", "arguments": {"text": "hello"}}],
    )
    page = phone.page
    small: dict[str, list[str]] = {"empty": await page.evaluate(TARGETS)}
    await phone.ask("Everything")
    await phone.send("Ask me")
    await expect(phone.dock.get_by_role("region", name="Approval")).to_be_visible()
    small["chat"] = await page.evaluate(TARGETS)
    await page.get_by_role("button", name="Conversations").click()
    await expect(page.get_by_role("dialog")).to_be_visible()
    small["list"] = await page.evaluate(TARGETS)
    for tab in ("general", "models", "mcp", "permissions", "terminal"):
        await phone.go(f"/settings/{tab}")
        await expect(page.get_by_role("tabpanel")).not_to_be_empty()
        await expect(page.get_by_text("Loading…")).to_have_count(0)
        small[tab] = await page.evaluate(TARGETS)
    for room in ("tools", "status", "traffic", "waiting"):
        await phone.go(f"/{room}")
        await expect(page.get_by_text("Loading…")).to_have_count(0)
        small[room] = await page.evaluate(TARGETS)
    for path, button in (
        ("/settings/models", "Add Model"),
        ("/settings/mcp", "Add a server"),
        ("/settings/mcp", "Import…"),
        ("/settings/mcp", "Add a profile"),
        ("/settings/permissions", "Add a rule"),
    ):
        await _open_dialog(page, harbour.url + path, button)
        small[button] = await page.evaluate(TARGETS)
    assert not any(small.values()), "\n".join(f"{where}: {one}" for where, found in small.items() for one in found)


async def test_the_tools_and_pins_of_a_server_are_large_enough_for_a_finger(
    phone: Chat,
) -> None:
    await phone.page.get_by_role("button", name="Chat settings").click()
    await phone.page.get_by_role("button", name="Tools of harbour").click()
    pins = phone.page.get_by_role("button", name="Pin")
    await expect(pins).to_have_count(2)
    for scheme in ("light", "dark"):
        await phone.page.emulate_media(color_scheme=scheme)
        await pins.first.click()
        await expect(pins.first).to_have_attribute("aria-pressed", "true")
        # It can be seen which is pinned.
        await expect(pins.first).to_have_css("background-color", "rgb(12, 107, 125)")
        await pins.first.click()
        await expect(pins.first).to_have_attribute("aria-pressed", "false")
    small = await phone.page.evaluate(TARGETS)
    assert not small, "\n".join(small)


async def test_the_words_of_a_line_that_opens_stand_in_its_middle_on_a_phone(phone: Chat, harbour: Studio) -> None:
    harbour.script([{"call": "think", "arguments": {"thoughts": "so"}}], "Done.")
    await phone.ask("Think")
    line = phone.fold("Thought: so")
    words, around = await place_of(line.get_by_text("Thought: so").first), await place_of(line)
    assert abs(words["y"] + words["height"] / 2 - around["y"] - around["height"] / 2) < 2


async def _keeps_its_bar_when_the_server_is_gone(phone: Chat) -> None:
    bar = phone.page.get_by_role("banner")
    places = [bar.get_by_role("button", name="Script"), bar.get_by_role("button", name="Settings", exact=True)]
    before = [await place_of(place) for place in places]
    phone.studio.server.close()
    await expect(phone.page.get_by_text("Pilothouse cannot be reached.")).to_be_visible()
    assert [await place_of(place) for place in places] == before
    banner = await place_of(phone.page.locator("[data-gone]"))
    message = await place_of(phone.page.locator("form").filter(has=phone.box).locator("div").first)
    assert (banner["x"], banner["width"]) == (message["x"], message["width"]), "it is as wide as the box below it"
    assert 4 <= message["y"] - banner["y"] - banner["height"] <= 12, "and does not touch it"


async def test_the_bar_of_a_phone_has_room_for_its_buttons_when_the_server_is_gone(
    own: Studio, chromium: Browser, console: Console
) -> None:
    console.expect_restart()
    async with _on_a_phone(own, chromium, console) as phone:
        await _keeps_its_bar_when_the_server_is_gone(phone)
