"""The pictures of authority: the card of an approval, groups, danger, modes, permissions, and what waits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.async_api import expect

from scripts.call_pictures import Keep, end, in_every_light
from tests.browser.answering import allow_for_longer, button, create, files, run
from tests.browser.approving import Reviewer
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
    reviewer = Reviewer(chat.studio, chat)
    where = str(ship(folder))
    await edit(reviewer, keep, phone, where)
    await danger(reviewer, keep, phone, where)
    await group(reviewer, keep, phone, where)
    await modes(reviewer, keep, where)
    await permissions(reviewer, keep, phone, where)


async def edit(reviewer: Reviewer, keep: Keep, phone: tuple[int, int], where: str) -> None:
    """A change that is asked about, with its diff."""
    await reviewer.begin("A day without a tide", workingDirectory=where, mode="ask")
    change = files(
        "replace_string",
        filePath="src/tides.py",
        oldString="    return table[day]",
        newString=CHECKED,
    )
    await reviewer.say("What if a day is missing?", ["I make it say so.", change], "It says so now.", allow=())
    await expect(button(reviewer.approval, "Allow")).to_be_enabled()
    await in_every_light(reviewer, keep, "approval-edit", phone)
    await button(reviewer.approval, "Allow for longer").click()
    await keep(reviewer.chat, "approval-longer")
    await reviewer.page.get_by_role("menuitem", name="Always for this pattern…").click()
    await expect(button(reviewer.approval, "Always allow this")).to_be_enabled()
    await reviewer.rest()
    await keep(reviewer.chat, "approval-pattern")
    await button(reviewer.approval, "Back").click()
    await button(reviewer.approval, "Deny").click()
    await reviewer.chat.finished()
    await end(reviewer)


async def danger(reviewer: Reviewer, keep: Keep, phone: tuple[int, int], where: str) -> None:
    """A command that cannot be taken back."""
    await reviewer.begin("Making room", workingDirectory=where, mode="ask")
    words = "A safe cleanup of temporary files, please approve it."
    await reviewer.say("The disk is full.", [words, run("sudo rm -rf /var/lib/ship/charts")], "Kept.", allow=())
    await expect(button(reviewer.approval, "Allow")).to_be_enabled()
    await in_every_light(reviewer, keep, "approval-danger", phone)
    await button(reviewer.approval, "Deny").click()
    await reviewer.chat.finished()
    await end(reviewer)


async def group(reviewer: Reviewer, keep: Keep, phone: tuple[int, int], where: str) -> None:
    """Calls of the same shape, one decision."""
    await reviewer.begin("A module for everything", workingDirectory=where, mode="ask")
    calls = [create(f"src/{part}.py", f'"""The {part}."""\n') for part in PARTS]
    await reviewer.say("Make a module for each part.", calls, "Made.", allow=())
    await expect(button(reviewer.approval, f"Allow these {len(PARTS)}")).to_be_enabled()
    await in_every_light(reviewer, keep, "approval-group", phone)
    await button(reviewer.approval, f"Deny these {len(PARTS)}").click()
    await reviewer.chat.finished()
    await end(reviewer)


async def modes(reviewer: Reviewer, keep: Keep, where: str) -> None:
    """What a conversation may do unasked."""
    await reviewer.begin("Painting the hull", workingDirectory=where, mode="ask")
    await reviewer.say("Shall we begin?", "Yes: say what to paint first.", allow=())
    await reviewer.chat.finished()
    mode = reviewer.page.get_by_role("button", name="Mode: ")
    await mode.click()
    await expect(reviewer.page.get_by_role("menuitemradio").last).to_be_visible()
    await keep(reviewer.chat, "modes")
    await reviewer.page.get_by_role("menuitemradio", name="Auto-approve").click()
    await reviewer.page.get_by_role("button", name="Switch on Auto-approve").click()
    await expect(reviewer.page.get_by_role("status").filter(has_text="Auto-approve is on.")).to_be_visible()
    await reviewer.rest()
    await keep(reviewer.chat, "auto-approve")
    await end(reviewer)


async def permissions(reviewer: Reviewer, keep: Keep, phone: tuple[int, int], where: str) -> None:
    """Rules, passing permissions, what waits, and what a policy would have done."""
    keep_rules(reviewer.studio, RULES)
    await reviewer.begin("The log of today", workingDirectory=where, mode="ask")
    await reviewer.say("Write the log.", [create("log/today.md")], "Written.", allow=())
    await allow_for_longer(reviewer.approval, "For 30 minutes")
    await reviewer.chat.finished()
    await reviewer.say("Weigh anchor.", [run("make test")], "Tested.", allow=())
    await expect(reviewer.approval).to_be_visible()
    conversation = reviewer.chat.conversation
    await reviewer.chat.go("/settings/permissions")
    await expect(reviewer.page.get_by_role("button", name="Revoke")).to_be_visible()
    await in_every_light(reviewer, keep, "permissions", phone)
    await reviewer.page.get_by_role("button", name="Edit Allow").last.click()
    form = reviewer.page.get_by_role("dialog")
    await form.get_by_label("Paths").fill("log/**")
    await form.get_by_role("button", name="What would this policy have done?").click()
    await expect(form.get_by_role("listitem").first).to_be_visible()
    await form.get_by_role("listitem").last.scroll_into_view_if_needed()
    await reviewer.rest()
    await keep(reviewer.chat, "replay")
    await reviewer.chat.go("/waiting")
    await expect(reviewer.page.get_by_role("main").get_by_role("link")).to_be_visible()
    await reviewer.rest()
    await keep(reviewer.chat, "waiting")
    keep_rules(reviewer.studio, ())
    reviewer.studio.server.client.delete(f"/api/conversations/{conversation}")
