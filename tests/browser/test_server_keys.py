"""Keys of servers as a person gives them: by what they are called, from a paste, a file or the environment."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Locator, expect

from tests.browser.approving import add_any, call, wait_until_connected
from tests.browser.axe import serious_problems
from tests.browser.issuing import Sites, sites
from tests.browser.kept import IN_THE_ENVIRONMENT, KeptTab
from tests.browser.newcomers import Hand, first_call
from tests.browser.rooms import Rooms, content_of, server_of, stored_text
from tests.browser.studio import Studio
from tests.browser.width import fits
from tests.support.mcp_gateway import Streamable
from tests.support.mcp_servers import SCRIPTED
from tests.support.processes import has_ended
from tests.support.tiny_http import Answer, Request, TinyHttp
from tests.support.waiting import until

PHONE = {"width": 390, "height": 844}
KEY = "ghp_a-key-of-the-tests"
(OURS,) = IN_THE_ENVIRONMENT.values()
WORDS = "Error: GITHUB_TOKEN is required"


class Wanting:
    """A program that ends without its variables, says which, and keeps what it was given."""

    def __init__(self, folder: Path, *names: str, options: tuple[str, ...] = ()) -> None:
        self._given = folder / "given.json"
        self._starts = folder / "starts"
        program = folder / "wanting.py"
        program.write_text(
            "import json, os, pathlib, runpy, sys\n"
            f"with open({str(self._starts)!r}, 'a') as file:\n    print(os.getpid(), file=file)\n"
            f"names = {names!r}\n"
            "for name in names:\n"
            "    if not os.environ.get(name):\n"
            "        sys.exit(f'Error: {name} is required')\n"
            f"given = pathlib.Path({str(self._given)!r})\n"
            "given.with_suffix('.new').write_text(json.dumps({name: os.environ[name] for name in names}))\n"
            "given.with_suffix('.new').rename(given)\n"
            f"sys.argv[1:] = {list(options)!r}\n"
            f"runpy.run_path({str(SCRIPTED)!r}, run_name='__main__')\n",
            encoding="utf-8",
        )
        self.line = shlex.join([sys.executable, str(program)])

    @property
    def given(self) -> dict[str, str]:
        """What it found in its environment when it last had all it wants."""
        return dict(json.loads(self._given.read_text())) if self._given.exists() else {}

    @property
    def starts(self) -> list[int]:
        """The process of each start."""
        return [int(each) for each in self._starts.read_text().split()] if self._starts.exists() else []


@pytest.fixture
def wanting(tmp_path: Path) -> Wanting:
    return Wanting(tmp_path, "GITHUB_TOKEN")


@pytest_asyncio.fixture(loop_scope="session")
async def place() -> AsyncIterator[Sites]:
    """A server that wants a sign-in, and where one signs in to it."""
    async with sites() as made:
        yield made


def key_file(folder: Path, text: str = f"  {KEY}\n") -> Path:
    """Write a key into a file that only its owner reads."""
    path = folder / "github_token"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


class Form:
    """The form of a server."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self.dialog = rooms.dialog

    async def begin(self, line: str, name: str = "Keyed") -> None:
        await self._rooms.by_hand()
        await self.dialog.get_by_label("Command or address").fill(line)
        await self.dialog.get_by_role("textbox", name="Name", exact=True).fill(name)

    async def recognised(self, text: str) -> None:
        """Paste something into the box and go on with what it is."""
        await self.dialog.get_by_role("textbox", name="Search, paste or drop a server").fill(text)
        await expect(self.dialog.get_by_role("option")).to_have_count(1)
        await self._rooms.page.keyboard.press("Enter")

    async def edit(self) -> None:
        await self._rooms.toolbar.get_by_role("button", name="Edit").click()
        await expect(self.dialog).to_be_visible()

    async def check(self, *, asks: bool = False) -> None:
        """Check; what would be started is shown before it is, the first time."""
        await self.dialog.get_by_role("button", name="Check", exact=True).click()
        if asks:
            await self.dialog.get_by_role("button", name="Start once").click()

    async def press(self, name: str) -> None:
        await self.dialog.get_by_role("button", name=name, exact=True).click()

    def key(self, label: str) -> Locator:
        """The field of a key."""
        return self.dialog.get_by_label(label, exact=True)

    async def source(self, label: str, source: str) -> None:
        """Choose where a key comes from."""
        group = self.dialog.get_by_role("radiogroup", name=f"Where {label} comes from")
        await group.get_by_text(source, exact=True).click()
        await expect(group.get_by_role("radio", name=source)).to_be_checked()


@pytest.fixture
def form(rooms: Rooms) -> Form:
    return Form(rooms)


def entry_of(studio: Studio) -> dict[str, Any]:
    """The one server as it is kept."""
    (entry,) = json.loads((studio.home / "config.json").read_text())["mcps"]
    return dict(entry)


def all_files(studio: Studio) -> dict[Path, bytes]:
    """Everything in the data folder, but for what changes by itself: the program's log, its database, what it
    learned from providers."""
    own = (path for path in studio.home.rglob("*") if "logs" not in path.parts)
    named = [path for path in own if ".db" not in path.name and "sqlite" not in path.name]
    kept = [path for path in named if path.parent != studio.home / "cache" or "models.json" not in path.name]
    return {path: content for path in kept if (content := content_of(path)) is not None}


@pytest.mark.case("AUT-06", "AUT-10")
async def test_a_newcomer_gives_a_key_by_its_label_and_makes_a_first_call(
    rooms: Rooms, shared: Studio, kept_tab: KeptTab, wanting: Wanting
) -> None:
    page = await kept_tab.at(shared)
    hand, began = Hand(), time.monotonic()
    await hand.click(page.get_by_role("link", name="Add an MCP server"))
    form = Form(rooms)
    await form.recognised(wanting.line)
    await hand.click(form.dialog.get_by_role("button", name="Check", exact=True))
    # The consent comes first, in full, and nothing has started.
    consent = form.dialog.get_by_role("region", name="What the check starts")
    await expect(consent.get_by_role("list", name="The whole command")).to_contain_text("wanting.py")
    await expect(consent.get_by_role("button", name="Back")).to_be_focused()
    assert await serious_problems(page) == []
    assert not wanting.starts
    await hand.click(consent.get_by_role("button", name="Start once"))
    field = form.key("GitHub token")
    await expect(field).to_be_focused()
    await expect(form.dialog.locator("[data-key]")).to_contain_text(WORDS)
    await expect(form.dialog).to_contain_text("needs its GitHub token")
    assert await serious_problems(page) == []
    await field.fill(KEY)
    # What was looked at is not shown again for the key that was asked for.
    await hand.click(form.dialog.get_by_role("button", name="Check", exact=True))
    await expect(form.dialog).to_contain_text("It works: 16 tools")
    await hand.click(form.dialog.get_by_role("button", name="Add", exact=True))
    await expect(form.dialog).to_have_count(0)
    await rooms.connected("wanting", 16)
    assert wanting.given == {"GITHUB_TOKEN": KEY}
    await first_call(shared, page, hand, call("echo", "wanting", text="ahoy"))
    print(f"{hand.clicks} clicks, {time.monotonic() - began:.1f} s")
    assert hand.clicks <= 7
    assert KEY not in stored_text(shared)


async def test_what_a_check_finds_is_shown_and_what_it_started_is_gone(
    rooms: Rooms, form: Form, shared: Studio, tools: Path, tmp_path: Path
) -> None:
    wanting = Wanting(tmp_path, options=("--tools", str(tools)))
    before = all_files(shared)
    await form.begin(wanting.line)
    await form.check()
    # Who only looked has started nothing, and has not lost what they typed.
    await form.press("Back")
    await expect(form.dialog.get_by_label("Command or address")).to_have_value(wanting.line)
    assert not wanting.starts
    await form.check(asks=True)
    await expect(form.dialog).to_contain_text("It works: 2 tools")
    found = form.dialog.get_by_role("region", name="Tools that it offers").get_by_role("listitem")
    await expect(found).to_have_text(["EchoGives back what it is given.", "failFails."])
    description = found.nth(0).get_by_text("Gives back")
    await expect(description).to_be_hidden()
    await found.nth(0).get_by_text("Echo").click()
    await expect(description).to_be_visible()
    assert await serious_problems(rooms.page) == []
    until(lambda: all(map(has_ended, wanting.starts)), "the process to end")
    await form.press("Cancel")
    await expect(form.dialog).to_have_count(0)
    assert shared.server.get("/api/servers")["servers"] == []
    until(lambda: all_files(shared) == before, "the folder to be as it was")


async def test_a_check_is_stopped_or_left_and_leaves_nothing(
    rooms: Rooms, form: Form, shared: Studio, tmp_path: Path
) -> None:
    wanting = Wanting(tmp_path, options=("--start", "silent"))
    before = all_files(shared)
    await form.begin(wanting.line)
    await form.check(asks=True)
    await expect(form.dialog.get_by_text("Trying it once…")).to_be_visible()
    until(lambda: wanting.starts, "the first start")
    await form.press("Stop")
    await expect(form.dialog.get_by_text("Trying it once…")).to_have_count(0)
    until(lambda: all(map(has_ended, wanting.starts)), "the process to end")
    await form.check()
    until(lambda: len(wanting.starts) == 2, "the second start")
    await form.press("Cancel")
    until(lambda: all(map(has_ended, wanting.starts)), "the process to end")
    assert shared.server.get("/api/servers")["servers"] == []
    # A process is struck off the list of those that run a moment after its end.
    until(lambda: all_files(shared) == before, "the folder to be as it was")


@pytest.mark.case("AUT-10")
async def test_a_server_that_lacks_a_key_leads_to_its_field_and_starts_once_it_has_it(
    rooms: Rooms, form: Form, shared: Studio, wanting: Wanting
) -> None:
    add_any(shared, {"name": "Keyed", "commandLine": wanting.line})
    chip = rooms.row("Keyed").get_by_role("button", name="Needs a key for Keyed: GitHub token")
    await expect(chip).to_have_text("Needs a key")
    row = await rooms.select("Keyed")
    await expect(row).to_contain_text("“Keyed” needs its GitHub token.")
    assert await serious_problems(rooms.page) == []
    await chip.click()
    await expect(form.dialog).to_have_accessible_name("Configure: Keyed")
    await expect(form.key("GitHub token")).to_be_focused()
    await form.key("GitHub token").fill(KEY)
    # The command was agreed to, and the key is one that it asked for: nobody is asked again.
    await form.check()
    await expect(form.dialog).to_contain_text("It works: 16 tools")
    await form.press("Save")
    await rooms.connected("Keyed", 16)
    await expect(row).to_contain_text("GitHub token: kept as a secret")
    # What waited for a person is past once they have done it.
    await expect(row).not_to_contain_text("needs its GitHub token")
    assert wanting.given == {"GITHUB_TOKEN": KEY}
    assert KEY not in stored_text(shared) + await rooms.page.content()
    await form.edit()
    await expect(form.key("GitHub token")).to_have_value("")
    await expect(form.key("GitHub token")).to_have_attribute("placeholder", "Kept. Paste to replace.")
    await form.dialog.get_by_role("button", name="Remove GitHub token").click()
    await expect(form.key("GitHub token")).to_have_attribute("placeholder", "")
    await form.press("Save")
    until(lambda: not entry_of(shared)["config"].get("env"), "the key to be gone")


@pytest.mark.case("AUT-06", "AUT-08", "AUT-10")
async def test_a_key_lies_in_a_file_or_in_the_environment_and_only_the_way_to_it_is_kept(
    rooms: Rooms, form: Form, shared: Studio, tmp_path: Path
) -> None:
    wanting = Wanting(tmp_path, "GITHUB_TOKEN", "NOTES_API_KEY")
    file = key_file(tmp_path)
    await form.begin(wanting.line)
    await form.check(asks=True)
    await form.source("GitHub token", "File")
    await expect(form.key("GitHub token")).to_have_attribute("placeholder", "~/.github_token")
    await form.key("GitHub token").fill("github_token")
    await form.press("Check")
    await expect(form.dialog.get_by_role("alert")).to_contain_text("Write the whole path of the file")
    await expect(form.key("GitHub token")).to_be_focused()
    await form.key("GitHub token").fill(str(file))
    await form.check()
    # One key after the other, as the server asks for them.
    await expect(form.key("Notes API key")).to_be_focused()
    await form.source("Notes API key", "Environment")
    await form.key("Notes API key").fill("NOTES_OF_MINE")
    assert await serious_problems(rooms.page) == []
    await form.check()
    await expect(form.dialog).to_contain_text("It works: 16 tools")
    await form.press("Add")
    await rooms.connected("Keyed", 16)
    assert wanting.given == {"GITHUB_TOKEN": KEY, "NOTES_API_KEY": OURS}
    told = entry_of(shared)["config"]["keys"]
    assert told["env:GITHUB_TOKEN"]["file"] == str(file)
    assert told["env:NOTES_API_KEY"]["environment"] == "NOTES_OF_MINE"
    assert KEY not in stored_text(shared)
    assert OURS not in stored_text(shared)
    row = await rooms.select("Keyed")
    await expect(row).to_contain_text(f"GitHub token: from the file {file}")
    await expect(row).to_contain_text("Notes API key: from the variable NOTES_OF_MINE")
    # What is in the file counts at the next start.
    key_file(tmp_path, "another\n")
    await row.get_by_role("button", name="Stop", exact=True).click()
    await row.get_by_role("button", name="Start", exact=True).click()
    until(lambda: wanting.given["GITHUB_TOKEN"] == "another", "the new key")
    await form.edit()
    await expect(form.key("GitHub token")).to_have_value(str(file))
    await expect(form.key("Notes API key")).to_have_value("NOTES_OF_MINE")
    await form.press("Save")
    await expect(form.dialog).to_have_count(0)
    assert entry_of(shared)["config"]["keys"] == told


@pytest.mark.case("AUT-08")
async def test_a_file_that_holds_no_key_is_told_in_one_sentence_with_the_way_back(
    rooms: Rooms, form: Form, wanting: Wanting, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    empty = tmp_path / "empty"
    empty.touch(0o600)
    everybodys = tmp_path / "everybodys"
    everybodys.write_text(KEY, encoding="utf-8")
    everybodys.chmod(0o644)
    await form.begin(wanting.line)
    await form.check(asks=True)
    await form.source("GitHub token", "File")
    begun = len(wanting.starts)
    sentences = {
        tmp_path / "nowhere": "which is not there.",
        empty: "which is empty. Put the key into it.",
        folder: "which is a folder. Give the path of the file in it.",
        everybodys: f"which can be read by everybody on this machine. Close it: chmod 600 {everybodys}",
    }
    for path, sentence in sentences.items():
        await form.key("GitHub token").fill(str(path))
        await form.check()
        await expect(form.dialog.get_by_role("alert")).to_contain_text(f"is to come from {path}, {sentence}")
    assert len(wanting.starts) == begun
    everybodys.chmod(0o600)
    await form.check()
    await expect(form.dialog).to_contain_text("It works: 16 tools")


async def test_a_key_can_still_be_named_and_a_secret_among_readable_values_is_made_one(
    rooms: Rooms, form: Form, shared: Studio, tmp_path: Path
) -> None:
    wanting = Wanting(tmp_path, "NOTES_API_KEY", "WIKI_TOKEN")
    await form.begin(wanting.line)
    await form.press("Add a key…")
    await form.dialog.get_by_role("textbox", name="Name of the variable").fill("NOTES_API_KEY")
    await form.key("Value of NOTES_API_KEY").fill(KEY)
    await form.press("Environment, folder, sandbox, times")
    await form.press("Add a variable")
    await form.dialog.get_by_role("textbox", name="Name of the variable").nth(1).fill("WIKI_TOKEN")
    await form.key("Value of WIKI_TOKEN").fill("wiki-key")
    assert await serious_problems(rooms.page) == []
    await form.press("Keep it as a key")
    await expect(form.key("Value of WIKI_TOKEN")).to_have_attribute("type", "password")
    await form.press("Add")
    await form.press("Start this server")
    await rooms.connected("Keyed", 16)
    assert wanting.given == {"NOTES_API_KEY": KEY, "WIKI_TOKEN": "wiki-key"}
    assert {key["label"]: key["source"] for key in server_of(shared, "Keyed")["keys"]} == {
        "Notes API key": "pasted",
        "Wiki token": "pasted",
    }
    assert KEY not in stored_text(shared)
    assert "wiki-key" not in stored_text(shared)


@pytest.mark.case("AUT-06", "AUT-08")
async def test_the_token_of_an_address_comes_from_a_file_too(
    rooms: Rooms, form: Form, shared: Studio, tmp_path: Path
) -> None:
    gateway, file = Streamable(), key_file(tmp_path)

    def door(request: Request) -> Answer:
        return gateway(request) if request.headers.get("authorization") == f"Bearer {KEY}" else Answer(401)

    async with TinyHttp(door) as served:
        await form.begin(f"{served.url}/mcp")
        await form.source("Token", "File")
        await form.key("Token").fill(str(file))
        await form.check()
        await expect(form.dialog).to_contain_text("It works: 1 tool,")
        await form.press("Add")
        await rooms.connected("Keyed", 1)
        assert KEY not in stored_text(shared)
        shared.server.client.delete(f"/api/servers/{server_of(shared, 'Keyed')['id']}")
        await expect(rooms.row("Keyed")).to_have_count(0)


@pytest.mark.case("AUT-17")
async def test_a_newcomer_is_led_to_a_sign_in_that_a_check_found_and_makes_a_first_call(
    place: Sites, rooms: Rooms, form: Form, shared: Studio, kept_tab: KeptTab, profile: BrowserContext
) -> None:
    page = await kept_tab.at(shared)
    hand, began = Hand(), time.monotonic()
    await hand.click(page.get_by_role("link", name="Add an MCP server"))
    await form.recognised(place.server.mcp)
    await form.dialog.get_by_role("textbox", name="Name", exact=True).fill("One")
    await hand.click(form.dialog.get_by_role("button", name="Check", exact=True))
    await expect(form.dialog.get_by_role("status").filter(has_text="You are led there")).to_be_visible()
    await expect(form.dialog.get_by_role("radio", name="Sign in")).to_be_checked()
    assert await serious_problems(page) == []
    await hand.click(form.dialog.get_by_role("button", name="Add and sign in"))
    await expect(rooms.dialog).to_have_accessible_name("Sign in to “One”")
    hand.clicks += 1
    issuer = await place.leave(page, profile)
    await hand.click(issuer.get_by_role("link", name="Allow"))
    await expect(issuer.get_by_role("heading", name="You are signed in to One.")).to_be_visible()
    await issuer.close()
    await expect(rooms.dialog).to_have_count(0)
    await rooms.connected("One", 1)
    row = await rooms.select("One")
    await expect(row).to_contain_text("Signed in at")
    # What waited for a person is past once they have done it.
    await expect(row).not_to_contain_text("asks you to sign in")
    await first_call(shared, page, hand, call("look", "one"))
    print(f"{hand.clicks} clicks, {time.monotonic() - began:.1f} s")
    assert hand.clicks <= 7
    assert place.server.calls == 1
    await kept_tab.rooms(shared)
    await rooms.select("One")
    await form.edit()
    await expect(form.dialog.get_by_role("radio", name="Sign in")).to_be_checked()
    await expect(form.dialog.get_by_role("button", name="Save", exact=True)).to_be_visible()


async def test_a_call_that_failed_for_want_of_a_key_leads_to_its_field(
    rooms: Rooms, shared: Studio, kept_tab: KeptTab, wanting: Wanting
) -> None:
    made = add_any(shared, {"name": "Keyed", "commandLine": wanting.line, "keys": {"env:GITHUB_TOKEN": {"value": KEY}}})
    wait_until_connected(shared, "Keyed")
    shared.server.client.put(f"/api/servers/{made['id']}", json={"name": "Keyed", "commandLine": wanting.line})
    assert server_of(shared, "Keyed")["consent"] is None, "what is taken away needs no consent"
    reviewer = await kept_tab.reviewer(shared, "First")
    await reviewer.say("Say ahoy", [call("echo", "keyed", text="ahoy")], "It did not work.", allow=["keyed.*"])
    await reviewer.page.get_by_role("link", name="Give Keyed its key: GitHub token").click()
    dialog = reviewer.page.get_by_role("dialog", name="Configure: Keyed")
    await expect(dialog.get_by_label("GitHub token", exact=True)).to_be_focused()


async def test_the_form_fits_a_telephone(rooms: Rooms, form: Form, wanting: Wanting) -> None:
    page = rooms.page
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await form.begin(wanting.line)
    await form.check()
    await expect(form.dialog.get_by_role("button", name="Start once")).to_be_in_viewport()
    await fits(page)
    await form.press("Start once")
    await expect(form.key("GitHub token")).to_be_in_viewport()
    await fits(page)
    for source in ("File", "Environment", "Paste"):
        await form.source("GitHub token", source)
        await fits(page)
    await form.dialog.get_by_label("Command or address").fill("https://mcp.example.com/mcp")
    await expect(form.dialog.get_by_text("Sign in", exact=True)).to_be_in_viewport()
    await fits(page)
    assert await serious_problems(page) == []
