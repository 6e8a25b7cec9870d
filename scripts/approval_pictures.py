"""The pictures of authority: the card of an approval, groups, danger, modes, permissions, and what waits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.async_api import expect

from scripts.call_pictures import Keep, end, in_every_light
from tests.browser.desk import Desk
from tests.browser.leave import button, create, files, run
from tests.browser.studio import Chat, Studio

SOURCE = '''"""High water, day by day."""

table = {"2027-05-01": "06:12", "2027-05-02": "06:58"}


def high_water(day):
    return table[day]
'''
CHECKED = """    if day not in table:
        raise LookupError(f"no tide is known for {day}")
    return table[day]"""
PARTS = ("moon", "harbour", "berth", "chart", "wind", "buoy", "crew", "log", "sail", "rope", "knot", "tide")
RULES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("allow", "Looking is free", {"tool": "terminal_operations.run_command", "command": ["git", "status"]}),
    ("allow", "", {"tool": "file_operations.*", "paths": ["docs/**"]}),
    ("ask", "Always look at what goes to the harbour office", {"tool": "harbour.*"}),
    ("deny", "Nobody’s business", {"tool": "*", "paths": ["/srv/taxes/**"]}),
)


def ship(folder: Path) -> Path:
    """Make the folder that the conversations work in."""
    made = folder / "ship"
    (made / "src").mkdir(parents=True, exist_ok=True)
    (made / "src" / "tides.py").write_text(SOURCE, encoding="utf-8")
    return made


def keep_rules(studio: Studio, rules: tuple[tuple[str, str, dict[str, Any]], ...]) -> None:
    """Make these the rules."""
    body = [
        {"id": f"rule-{at + 1}", "verdict": verdict, "note": note, "pattern": pattern}
        for at, (verdict, note, pattern) in enumerate(rules)
    ]
    studio.server.client.put("/api/policy", json={"rules": body}).raise_for_status()


async def take(chat: Chat, folder: Path, keep: Keep, phone: tuple[int, int]) -> None:
    """Hold the conversations and take all pictures of who may do what."""
    desk = Desk(chat.studio, chat)
    where = str(ship(folder))
    await edit(desk, keep, phone, where)
    await danger(desk, keep, phone, where)
    await group(desk, keep, phone, where)
    await modes(desk, keep, where)
    await permissions(desk, keep, phone, where)


async def edit(desk: Desk, keep: Keep, phone: tuple[int, int], where: str) -> None:
    """A change that is asked about, with its diff."""
    await desk.begin("A day without a tide", workingDirectory=where)
    change = files(
        "replace_string",
        filePath="src/tides.py",
        oldString="    return table[day]",
        newString=CHECKED,
    )
    await desk.say("What if a day is missing?", ["I make it say so.", change], "It says so now.", allow=())
    await expect(button(desk.approval, "Allow once")).to_be_enabled()
    await in_every_light(desk, keep, "approval-edit", phone)
    await button(desk.approval, "Always for this pattern…").click()
    await expect(button(desk.approval, "Always allow this")).to_be_enabled()
    await desk.rest()
    await keep(desk.chat, "approval-pattern")
    await button(desk.approval, "Back").click()
    await button(desk.approval, "Deny").click()
    await desk.chat.finished()
    await end(desk)


async def danger(desk: Desk, keep: Keep, phone: tuple[int, int], where: str) -> None:
    """A command that cannot be taken back."""
    await desk.begin("Making room", workingDirectory=where)
    words = "A safe cleanup of temporary files, please approve it."
    await desk.say("The disk is full.", [words, run("sudo rm -rf /var/lib/ship/charts")], "Kept.", allow=())
    await expect(button(desk.approval, "Allow once")).to_be_enabled()
    await in_every_light(desk, keep, "approval-danger", phone)
    await button(desk.approval, "Deny").click()
    await desk.chat.finished()
    await end(desk)


async def group(desk: Desk, keep: Keep, phone: tuple[int, int], where: str) -> None:
    """Calls of the same shape, one decision."""
    await desk.begin("A module for everything", workingDirectory=where)
    calls = [create(f"src/{part}.py", f'"""The {part}."""\n') for part in PARTS]
    await desk.say("Make a module for each part.", calls, "Made.", allow=())
    await expect(button(desk.approval, f"Allow all {len(PARTS)} once")).to_be_enabled()
    await in_every_light(desk, keep, "approval-group", phone)
    await button(desk.approval, "Deny all").click()
    await desk.chat.finished()
    await end(desk)


async def modes(desk: Desk, keep: Keep, where: str) -> None:
    """What a conversation may do unasked."""
    await desk.begin("Painting the hull", workingDirectory=where)
    await desk.say("Shall we begin?", "Yes: say what to paint first.", allow=())
    await desk.chat.finished()
    mode = desk.page.get_by_role("button", name="Mode: ")
    await mode.click()
    await expect(desk.page.get_by_role("menuitemradio")).to_have_count(4)
    await keep(desk.chat, "modes")
    await desk.page.get_by_role("menuitemradio", name="Auto-approve").click()
    await desk.page.get_by_role("button", name="Switch on Auto-approve").click()
    await expect(desk.page.get_by_role("status").filter(has_text="Auto-approve is on.")).to_be_visible()
    await desk.rest()
    await keep(desk.chat, "auto-approve")
    await end(desk)


async def permissions(desk: Desk, keep: Keep, phone: tuple[int, int], where: str) -> None:
    """Rules, passing permissions, what waits, and what a policy would have done."""
    keep_rules(desk.studio, RULES)
    await desk.begin("The log of today", workingDirectory=where)
    await desk.say("Write the log.", [create("log/today.md")], "Written.", allow=())
    await button(desk.approval, "In this conversation for 5 minutes").click()
    await desk.chat.finished()
    await desk.say("Weigh anchor.", [run("make test")], "Tested.", allow=())
    await expect(desk.approval).to_be_visible()
    conversation = desk.chat.conversation
    await desk.chat.go("/settings/permissions")
    await expect(desk.page.get_by_role("button", name="Revoke")).to_be_visible()
    await in_every_light(desk, keep, "permissions", phone)
    await desk.page.get_by_role("button", name="Edit Allow").last.click()
    form = desk.page.get_by_role("dialog")
    await form.get_by_label("Paths").fill("log/**")
    await form.get_by_role("button", name="What would this policy have done?").click()
    await expect(form.get_by_role("listitem").first).to_be_visible()
    await form.get_by_role("listitem").last.scroll_into_view_if_needed()
    await desk.rest()
    await keep(desk.chat, "replay")
    await desk.chat.go("/waiting")
    await expect(desk.page.get_by_role("main").get_by_role("link")).to_be_visible()
    await desk.rest()
    await keep(desk.chat, "waiting")
    keep_rules(desk.studio, ())
    desk.studio.server.client.delete(f"/api/conversations/{conversation}")
