"""Who may do what: modes of a conversation, rules and permissions in the settings, the record."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Locator, expect

from tests.browser.answering import agree, allow_for_longer, button, create, run
from tests.browser.approving import Reviewer, open_reviewer
from tests.browser.axe import serious_problems
from tests.browser.console import Console
from tests.browser.kept import KeptTab, keeping
from tests.browser.menus import close_menu
from tests.browser.studio import Studio
from tests.browser.width import fits
from tests.support.waiting import eventually, until

PHONE = {"width": 360, "height": 740}
ANY: dict[str, Any] = {"definition": "", "paths": [], "command": [], "destination": "", "folder": ""}


def rule(name: str, verdict: str, tool: str, **pattern: Any) -> dict[str, Any]:
    """A rule as the page sends it."""
    return {"id": name, "verdict": verdict, "pattern": {**ANY, "tool": tool, **pattern}}


def keep(studio: Studio, *rules: dict[str, Any]) -> None:
    """Make these the rules."""
    studio.server.client.put("/api/policy", json={"rules": list(rules)}).raise_for_status()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One server for all tests that leave it running."""
    with Studio(tmp_path_factory.mktemp("policy") / "home") as studio:
        yield studio


@pytest.fixture
def ship(tmp_path: Path) -> Path:
    """A working directory."""
    folder = tmp_path / "ship"
    folder.mkdir()
    return folder


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def kept_tab(chromium: Browser, served: Studio) -> AsyncIterator[KeptTab]:
    """One tab for all of them."""
    async with keeping(chromium) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def reviewer(served: Studio, kept_tab: KeptTab, profile: BrowserContext, ship: Path) -> Reviewer:
    """The tab in a new conversation that works in that folder."""
    keep(served)
    return await kept_tab.reviewer(served, "The ship", workingDirectory=str(ship))


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


class Permissions:
    """The tab of the settings."""

    def __init__(self, reviewer: Reviewer) -> None:
        self.page = reviewer.page
        self.rules = reviewer.page.get_by_role("region", name="Rules")
        self.grants = reviewer.page.get_by_role("region", name="Permissions in conversations")
        self.record = reviewer.page.get_by_role("region", name="Record")
        self.form = reviewer.page.get_by_role("dialog")

    @classmethod
    async def of(cls, reviewer: Reviewer) -> Permissions:
        await reviewer.chat.go("/settings/permissions")
        made = cls(reviewer)
        await expect(button(made.rules, "Add a rule")).to_be_visible()
        return made


async def choose(reviewer: Reviewer, mode: str) -> None:
    """Choose a mode by its name."""
    await reviewer.page.get_by_role("button", name="Mode: ").click()
    await reviewer.page.get_by_role("menuitemradio", name=mode).click()


def banner(reviewer: Reviewer) -> Locator:
    """What says that nothing is asked."""
    return reviewer.page.get_by_role("status").filter(has_text="Auto-approve is on.")


async def test_modes_say_what_they_mean_and_do_it(reviewer: Reviewer, ship: Path) -> None:
    mode = reviewer.page.get_by_role("button", name="Mode: ")
    await expect(mode).to_have_text("Ask")
    await mode.click()
    items = reviewer.page.get_by_role("menuitemradio")
    await expect(items).to_have_count(6)
    assert all(text.rstrip().endswith(".") for text in await items.all_inner_texts()), "each is explained"
    assert await serious_problems(reviewer.page) == []
    await items.filter(has_text="Auto-edit").click()
    await expect(mode).to_have_text("Auto-edit")
    await reviewer.say("Write", [create("log.txt")], "Done.", allow=())
    await reviewer.chat.finished()
    assert (ship / "log.txt").exists()
    card = await reviewer.opened("log.txt")
    await expect(card).to_contain_text("Allowed by the mode Auto-edit.")
    await choose(reviewer, "Read-only")
    await expect(mode).to_have_text("Read-only")
    await reviewer.say("Write again", [create("more.txt")], "Done.", allow=())
    await reviewer.chat.finished()
    assert not (ship / "more.txt").exists()
    await expect(reviewer.approval).to_have_count(0)
    await reviewer.page.reload()
    await expect(mode).to_have_text("Read-only")


async def test_where_no_mode_was_chosen_a_folder_is_sandboxed_and_the_menu_and_the_settings_say_so(
    reviewer: Reviewer, ship: Path
) -> None:
    mode = reviewer.page.get_by_role("button", name="Mode: ")
    await choose(reviewer, "Default")
    await expect(mode).to_have_accessible_name("Mode: Sandboxed (default)")
    await reviewer.say("Write and run", [create("log.txt")], [run("cp log.txt copy.txt")], "Done.", allow=())
    await reviewer.chat.finished()
    await expect(reviewer.approval).to_have_count(0)
    assert (ship / "copy.txt").exists()
    await mode.click()
    chosen = reviewer.page.get_by_role("menuitemradio", name="Default")
    await expect(chosen).to_be_checked()
    await expect(chosen).to_contain_text("Here Sandboxed, as your settings say under Permissions.")
    assert await serious_problems(reviewer.page) == []
    await close_menu(reviewer.page)
    conversation = reviewer.chat.conversation
    await reviewer.chat.go("/settings/permissions")
    default = reviewer.page.get_by_role("combobox", name="Default mode")
    await expect(default).to_have_value("Automatic")
    assert await serious_problems(reviewer.page) == []
    await default.click()
    await reviewer.page.get_by_role("option", name="Ask", exact=True).click()
    # Whoever leaves the page by its address leaves behind what it has not sent yet.
    until(lambda: reviewer.studio.server.get("/api/config")["defaultMode"] == "ask", "the choice to be kept")
    await reviewer.chat.go(f"/c/{conversation}")
    await expect(mode).to_have_accessible_name("Mode: Ask (default)")
    await reviewer.say("Write again", [create("more.txt")], "Done.", allow=())
    await expect(reviewer.approval).to_contain_text("more.txt")
    await button(reviewer.approval, "Deny").click()
    await reviewer.chat.finished()
    reviewer.studio.server.client.patch("/api/config", json={"defaultMode": None}).raise_for_status()


@pytest.mark.case("AUTHZ-14")
async def test_auto_approve_is_confirmed_in_sight_all_the_time_and_over_when_stopped(
    reviewer: Reviewer, served: Studio, profile: BrowserContext, ship: Path
) -> None:
    await choose(reviewer, "Auto-approve")
    dialog = reviewer.page.get_by_role("dialog")
    await expect(button(dialog, "Keep asking")).to_be_focused()
    assert await serious_problems(reviewer.page) == []
    await button(dialog, "Keep asking").click()
    await expect(banner(reviewer)).to_have_count(0)
    await choose(reviewer, "Auto-approve")
    await button(dialog, "Switch on Auto-approve").click()
    await expect(banner(reviewer)).to_contain_text("it ends at")
    await reviewer.say("Run", [create("free.txt")], "Done.", allow=())
    await reviewer.chat.finished()
    assert (ship / "free.txt").exists()
    # Never what is dangerous; and shown after a reload, in another tab, and on a telephone.
    await reviewer.say("Danger", [run("sudo id")], "Done.", allow=())
    await expect(reviewer.approval).to_contain_text("Dangerous.")
    await button(reviewer.approval, "Deny").click()
    await reviewer.chat.finished()
    await reviewer.page.reload()
    await expect(banner(reviewer)).to_be_visible()
    await reviewer.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await expect(banner(reviewer)).to_be_visible()
    await fits(reviewer.page)
    assert await serious_problems(reviewer.page) == []
    other = Reviewer(served, await served.open(profile, f"/c/{reviewer.chat.conversation}"))
    await button(banner(other), "Switch off").click()
    await expect(banner(other)).to_have_count(0)
    await expect(banner(reviewer)).to_have_count(0)
    await reviewer.say("Ask again", [create("asked.txt")], "Done.", allow=())
    await expect(reviewer.approval).to_contain_text("asked.txt")
    await button(reviewer.approval, "Deny").click()
    await reviewer.chat.finished()


@pytest.mark.case("AUTHZ-14")
async def test_auto_approve_comes_from_no_file_and_ends_with_the_program(
    tmp_path: Path, browser_context: BrowserContext, console: Console
) -> None:
    profile = {"id": "p", "name": "Bold", "settings": {"mode": "auto_approve", "modeSince": 9e12}}
    studio = Studio(tmp_path / "home", {"profiles": [profile], "active_profile": "p"})
    try:
        reviewer = await open_reviewer(studio, browser_context)
        await expect(reviewer.page.get_by_role("button", name="Mode: ")).to_have_text("Ask")
        await reviewer.begin("Not from a file")
        await expect(reviewer.page.get_by_role("button", name="Mode: ")).to_have_text("Ask")
        await choose(reviewer, "Auto-approve")
        await button(reviewer.page.get_by_role("dialog"), "Switch on Auto-approve").click()
        await expect(banner(reviewer)).to_be_visible()
        console.expect_restart()
        studio.restart()
        await expect(reviewer.chat.connection).to_have_text("connected", timeout=20_000)
        await expect(banner(reviewer)).to_have_count(0)
        await expect(reviewer.page.get_by_role("button", name="Mode: ")).to_have_text("Ask")
    finally:
        studio.server.close()


async def test_a_rule_that_cannot_be_says_so_at_its_command_however_long_the_form(
    reviewer: Reviewer, console: Console
) -> None:
    console.expect("400")
    tab = await Permissions.of(reviewer)
    await button(tab.rules, "Add a rule").click()
    await expect(tab.form).not_to_contain_text("Covers")
    await tab.form.get_by_label("Tool").fill("terminal_operations.run_command")
    command = tab.form.get_by_label("Command")
    await command.fill("git *")
    await expect(tab.form).to_contain_text("Covers terminal_operations.run_command")
    await button(tab.form, "Save").click()
    await expect(command).to_be_focused()
    await expect(command).to_be_in_viewport()
    await expect(tab.form).to_contain_text("allow its exact words")


async def test_a_rule_is_tried_on_its_examples_and_on_the_past_before_it_is_kept(
    reviewer: Reviewer, served: Studio, console: Console
) -> None:
    console.expect("400")
    await reviewer.say("Before", [create("notes.txt")], "Done.", allow=())
    await button(reviewer.approval, "Deny").click()
    await reviewer.chat.finished()
    tab = await Permissions.of(reviewer)
    await expect(tab.rules).to_contain_text("No rules yet.")
    assert await serious_problems(reviewer.page) == []
    await button(tab.rules, "Add a rule").click()
    await tab.form.get_by_label("Tool").fill("file_operations.create_file")
    await tab.form.get_by_label("Paths").fill("**/*.txt")
    await tab.form.get_by_label("Note").fill("Notes are fine")
    await tab.form.get_by_label("It is about").fill("letters/a.md")
    assert await serious_problems(reviewer.page) == []
    await button(tab.form, "Save").click()
    await expect(tab.form.get_by_label("It is about")).to_have_attribute("aria-invalid", "true")
    await expect(tab.form).to_contain_text("It should be about its example 1")
    await expect(tab.form.get_by_label("It is about")).to_be_focused()
    await tab.form.get_by_label("It is about").fill("letters/a.txt")
    await tab.form.get_by_label("It is not about").fill("letters/a.md")
    await button(tab.form, "What would this policy have done?").click()
    await expect(tab.form).to_contain_text("would have gone otherwise:")
    await expect(tab.form.get_by_role("listitem").first).to_contain_text("notes.txt")
    await expect(tab.form.get_by_role("listitem").first).to_contain_text("allowed with this")
    await button(tab.form, "Save").click()
    row = tab.rules.get_by_role("listitem")
    await expect(row).to_contain_text("file_operations.create_file, only on **/*.txt")
    await expect(row).to_contain_text("Notes are fine")
    await expect(row).to_contain_text("never used")
    kept = served.server.get("/api/policy")["rules"]
    assert [(one["verdict"], one["pattern"]["paths"]) for one in kept] == [("allow", ["**/*.txt"])]
    await row.get_by_role("button", name="Edit").click()
    await tab.form.get_by_text("Deny", exact=True).click()
    await button(tab.form, "Save").click()
    await expect(row).to_contain_text("Deny")
    await row.get_by_role("button", name="Delete").click()
    await button(reviewer.page.get_by_role("dialog"), "Delete").click()
    await expect(tab.rules).to_contain_text("No rules yet.")


async def test_a_rule_decides_and_says_so_and_its_use_is_counted(
    reviewer: Reviewer, served: Studio, ship: Path
) -> None:
    keep(served, {**rule("notes", "allow", "file_operations.create_file", paths=["*.txt"]), "note": "Notes are fine"})
    await reviewer.say("Write", [create("free.txt"), create("asked.md")], "Done.", allow=())
    await expect(reviewer.approval).to_have_count(1)
    await expect(reviewer.approval).to_contain_text("asked.md")
    await button(reviewer.approval, "Deny").click()
    await reviewer.chat.finished()
    assert (ship / "free.txt").exists()
    await reviewer.chat.open_steps()
    card = await reviewer.opened("free.txt")
    await expect(card).to_contain_text("Allowed by a rule. A rule of yours allows it: Notes are fine.")
    tab = await Permissions.of(reviewer)
    await expect(tab.rules.get_by_role("listitem")).to_contain_text("used once")


async def test_a_permission_for_a_while_ticks_and_is_revoked_at_once(reviewer: Reviewer, ship: Path) -> None:
    place = f"/c/{reviewer.chat.conversation}"
    await reviewer.say("First", [create("one.txt")], "Done.", allow=())
    await allow_for_longer(reviewer.approval, "For 30 minutes")
    await reviewer.chat.finished()
    tab = await Permissions.of(reviewer)
    row = tab.grants.get_by_role("listitem").filter(has_text="The ship")
    await expect(row).to_contain_text(re.compile(r"29 min \d"))
    before = await row.inner_text()

    async def ticked() -> bool:
        return await row.inner_text() != before

    await eventually(ticked, "the time to go down")
    assert await serious_problems(reviewer.page) == []
    await button(row, "Revoke").click()
    await expect(tab.grants).to_contain_text("None at the moment.")
    await reviewer.chat.go(place)
    await reviewer.say("Second", [create("two.txt")], "Done.", allow=())
    await expect(reviewer.approval).to_contain_text("two.txt")
    await button(reviewer.approval, "Deny").click()
    await reviewer.chat.finished()


@pytest.mark.case("AUTHZ-08")
async def test_a_broken_file_of_rules_is_told_and_allows_nothing(
    own: Studio, browser_context: BrowserContext, ship: Path
) -> None:
    keep(own, rule("all", "allow", "file_operations.create_file", paths=["*.txt"]))
    reviewer = await open_reviewer(own, browser_context)
    tab = await Permissions.of(reviewer)
    await expect(tab.rules.get_by_role("listitem")).to_have_count(1)
    path = own.home / "policy.json"
    good = path.read_text(encoding="utf-8")
    path.write_text(good[:-2], encoding="utf-8")
    until(lambda: own.server.get("/api/policy")["problem"], "the problem to be noticed")
    warning = reviewer.page.get_by_role("alert").filter(has_text="The file of your rules cannot be read")
    await expect(warning).to_contain_text("policy.json")
    assert await serious_problems(reviewer.page) == []
    await reviewer.begin("Nothing by rule", workingDirectory=str(ship))
    bar = reviewer.page.get_by_role("status").filter(has_text="Nothing is allowed by rule")
    await expect(bar).to_contain_text("policy.json")
    # A page that was not open when it happened tells it too.
    await reviewer.page.reload()
    await expect(bar).to_contain_text("policy.json")
    await reviewer.say("Write", [create("a.txt")], "Done.", allow=())
    await expect(reviewer.approval).to_contain_text("a.txt")
    await button(reviewer.approval, "Deny").click()
    path.write_text(good, encoding="utf-8")
    await expect(bar).to_have_count(0)


async def test_the_record_is_checked_and_exported(reviewer: Reviewer) -> None:
    await reviewer.say("Write", [create("kept.txt")], "Done.", allow=())
    await agree(button(reviewer.approval, "Allow"))
    await reviewer.chat.finished()
    tab = await Permissions.of(reviewer)
    await button(tab.record, "Check the record").click()
    await expect(tab.record).to_contain_text("are as they were written.")
    async with reviewer.page.expect_download() as started:
        await tab.record.get_by_role("link", name="Export").click()
    download = await started.value
    assert download.suggested_filename == "pilothouse-record.json"
    report = _read(await download.path())
    mine = [entry for entry in report["entries"] if "kept.txt" in json.dumps(entry["arguments"])]
    assert [(entry["status"], entry["decision"]["authority"]) for entry in mine] == [("completed", "person")]


async def test_the_permissions_are_usable_on_a_telephone(reviewer: Reviewer, served: Studio) -> None:
    long = rule("long", "ask", "terminal_operations.run_command", command=["git", "x" * 200])
    keep(served, long, rule("two", "deny", "*", paths=["/etc/**"]))
    await reviewer.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    tab = await Permissions.of(reviewer)
    await expect(tab.rules.get_by_role("listitem")).to_have_count(2)
    await fits(reviewer.page)
    assert await serious_problems(reviewer.page) == []
    await tab.rules.get_by_role("button", name="Edit").first.click()
    await expect(tab.form).to_be_visible()
    assert await serious_problems(reviewer.page) == []
    keep(served)
