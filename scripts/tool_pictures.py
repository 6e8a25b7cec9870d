"""The pictures of the built-in tools: what was done, diffs, undoing, a conflict, todos, the terminal, a question."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, expect

from tests.browser.answering import terminal
from tests.browser.studio import Chat, Turn
from tests.browser.workshop import Workshop, files, todos

Keep = Callable[[Chat, str], Awaitable[None]]

NOTES = """# The log of the Havsule

The hull is 11 metres long and draws 1.8 metres.
She was built in 1974, of oak on larch.

## Speeds

- under sail, close to the wind: 5 knots
- under sail, with the wind from aft: 7 knots
- under engine: 6 knots

## Distances

From Bergen to Haugesund it is 60 nautical miles.
"""
SPEED = '''"""How long a passage takes."""


def hours(miles: float, knots: float, current: float = 0.0) -> float:
    """Return the hours over ground; a current from ahead is negative."""
    over_ground = knots + current
    if over_ground <= 0:
        raise ValueError("the current is stronger than the boat")
    return miles / over_ground
'''
ANSWER = """`hours` returns one digit after the point now, so a passage of 66 miles at 6 knots takes **11.0** hours.

- `passage.py` can be imported.
- `check.sh` still finds a line without a test; I left that to you."""
CHECK = """sleep 4
echo "passage.py:9: not covered by a test"
exit 1
"""
LIST: list[dict[str, Any]] = [
    {"id": 1, "title": "Read the log of the last year", "description": "All entries.", "status": "completed"},
    {"id": 2, "title": "Correct the distances", "description": "Three are in the wrong unit.", "status": "completed"},
    {
        "id": 3,
        "title": "Calculate the passage to Haugesund",
        "description": "With the current of Saturday.",
        "status": "in-progress",
        "priority": "high",
        "subtasks": [{"title": "tides of both harbours", "done": True}, {"title": "speed over ground"}],
    },
    {
        "id": 4,
        "title": "Reserve a berth",
        "description": "North quay, two nights.",
        "status": "blocked",
        "blockedReason": "The harbour office opens on Monday.",
    },
    {"id": 5, "title": "Write the plan", "description": "On one page.", "status": "not-started", "dependencies": [3]},
]


def workshop_in(chat: Chat, folder: Path) -> Workshop:
    """A folder with a log in it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "log.md").write_text(NOTES, encoding="utf-8")
    (folder / "passage.py").write_text(SPEED, encoding="utf-8")
    return Workshop(chat.studio, chat, folder)


async def begin(workshop: Workshop, title: str, mode: str = "auto_edit") -> None:
    """Open a new conversation that works there."""
    settings = {"workingDirectory": str(workshop.folder), "mode": mode}
    made = workshop.studio.server.post("/api/conversations", {"title": title, "settings": settings}, 201)
    await workshop.chat.go(f"/c/{made['id']}")


async def end(workshop: Workshop) -> None:
    """Let nothing of a conversation stay in the list."""
    workshop.studio.server.client.delete(f"/api/conversations/{workshop.chat.conversation}")


async def in_every_light(workshop: Workshop, keep: Keep, name: str, phone: tuple[int, int], shows: str = "") -> None:
    """Take a picture, the same in the dark, and the same on a telephone, once that `shows` a text too."""
    page, wide = workshop.page, workshop.page.viewport_size
    assert wide is not None
    await page.mouse.move(0, 0)
    await page.evaluate("document.activeElement.blur()")
    await keep(workshop.chat, name)
    await workshop.dark()
    await keep(workshop.chat, f"{name}-dark")
    await page.emulate_media(color_scheme="light")
    await page.set_viewport_size({"width": phone[0], "height": phone[1]})
    # A sheet opens its own line to the terminal.
    if shows:
        await expect(page.get_by_role("dialog").get_by_text(shows)).to_be_visible()
    await page.evaluate("document.activeElement.blur()")
    await keep(workshop.chat, f"{name}-phone")
    await page.set_viewport_size(wide)


async def take(chat: Chat, folder: Path, keep: Keep, phone: tuple[int, int]) -> None:
    """Let the agent work and take all pictures of it."""
    workshop = workshop_in(chat, folder)
    await activity(workshop, keep, phone)
    await edits(workshop, keep, phone)
    await progress(workshop, keep, phone)
    await shell(workshop, keep, phone)
    await question(workshop, keep, phone)


async def activity(workshop: Workshop, keep: Keep, phone: tuple[int, int]) -> None:
    """What a run does: one line while it works, one line after, and its rows."""
    page = workshop.page
    (workshop.folder / "check.sh").write_text(CHECK, encoding="utf-8")
    passage = str(workshop.folder / "passage.py")
    old, new = "    return miles / over_ground\n", "    return round(miles / over_ground, 1)\n"
    steps: list[Turn] = [
        [{"call": "think", "arguments": {"thoughts": "Rounding belongs where the hours are returned."}}],
        [files("read_file", filePath=passage), files("read_file", filePath=str(workshop.folder / "log.md"))],
        [files("replace_string", filePath=passage, oldString=old, newString=new)],
        [terminal("run_command", command="python3 -B -c 'import passage'")],
        [terminal("run_command", command="sh check.sh passage.py")],
        [ANSWER],
    ]
    await begin(workshop, "Hours with one digit", mode="sandboxed")
    workshop.let("Round the hours to one digit, and check it.", *steps)
    await workshop.chat.send("Round the hours to one digit, and check it.")
    await expect(workshop.chat.doings).to_contain_text(re.compile(r"check\.sh.*Executing.*1\.\d s"), timeout=20_000)
    await page.evaluate("document.activeElement.blur()")
    await keep(workshop.chat, "activity-working")
    await workshop.chat.finished()
    await page.evaluate("document.activeElement.blur()")
    await keep(workshop.chat, "activity")
    await workshop.chat.open_steps()
    await workshop.chat.timeline.evaluate("element => element.scrollTo(0, 0)")
    await in_every_light(workshop, keep, "activity-open", phone)
    await page.set_viewport_size({"width": 1280, "height": 640})
    await keep(workshop.chat, "activity-open-laptop")
    await page.set_viewport_size({"width": 1440, "height": 900})
    (workshop.folder / "check.sh").unlink()
    (workshop.folder / "passage.py").write_text(SPEED, encoding="utf-8")
    await end(workshop)


async def edited(workshop: Workshop) -> Locator:
    """Let the agent change two files, and return what the end of its run says."""
    log = workshop.folder / "log.md"
    old, new = "it is 60 nautical miles.", "it is 66 nautical miles.\nWith the current of spring tides: one hour less."
    plan = "# To Haugesund\n\n- 66 nautical miles\n- 11 hours under engine\n"
    edit = files("replace_string", filePath=str(log), oldString=old, newString=new)
    create = files("create_file", filePath=str(workshop.folder / "plan.md"), content=plan)
    await begin(workshop, "The distance to Haugesund")
    await workshop.say(
        "The distance to Haugesund is wrong. Correct it and plan the passage.",
        ["I will correct the log first.", edit],
        [create],
        "The log says 66 nautical miles now, and there is a plan for the passage.",
    )
    return workshop.chat.timeline.get_by_role("region", name="Changed files")


async def edits(workshop: Workshop, keep: Keep, phone: tuple[int, int]) -> None:
    """A diff in its card, everything undone, and a conflict."""
    run = await edited(workshop)
    await in_every_light(workshop, keep, "diff", phone)
    await run.get_by_role("button", name="Undo all changes of this run").click()
    await expect(run).to_contain_text("All changes of this run are undone")
    await in_every_light(workshop, keep, "undo", phone)
    await end(workshop)
    run = await edited(workshop)
    by_hand(workshop.folder / "log.md")
    await run.get_by_role("button", name="Undo all changes of this run").click()
    await expect(run.get_by_role("alert")).to_contain_text("was left as it is")
    await in_every_light(workshop, keep, "conflict", phone)
    await end(workshop)


def by_hand(log: Path) -> None:
    """Change the log as its owner does."""
    log.write_text(log.read_text(encoding="utf-8").replace("of oak on larch", "of larch on oak"), encoding="utf-8")


async def progress(workshop: Workshop, keep: Keep, phone: tuple[int, int]) -> None:
    """The todos while the agent works."""
    await begin(workshop, "Saturday's passage")
    slow = {"text": "The tide turns at 09:40 in Bergen and an hour later in Haugesund. ", "pieces": 9, "every": 0.4}
    workshop.studio.script([todos("write", todoList=LIST)], [slow, {"wait": 20}])
    await workshop.chat.send("Prepare Saturday's passage to Haugesund.")
    await workshop.show("Todos")
    await expect(workshop.panel).to_contain_text("2 of 5 done")
    await expect(workshop.chat.answers.last).to_contain_text("The tide turns")
    await in_every_light(workshop, keep, "todos", phone)
    await workshop.chat.stop.click()
    await workshop.chat.finished()
    await end(workshop)


async def shell(workshop: Workshop, keep: Keep, phone: tuple[int, int]) -> None:
    """The terminal that both use, with a command in the background."""
    await begin(workshop, "How long does it take", "auto_approve")
    served = {"operation": "run_command", "command": "python3 -m http.server 8123", "is_background": True}
    asked = "python3 -Bc 'import passage; print(passage.hours(66, 6, -1.5))'"
    await workshop.say(
        "How long does the passage take against 1.5 knots?",
        [{"call": "terminal_operations", "arguments": {"operation": "create_session"}}],
        [{"call": "terminal_operations", "arguments": {"operation": "send_input", "input": f"{asked}\r\n"}}],
        [{"call": "terminal_operations", "arguments": served}],
        "Fourteen hours and forty minutes. The charts are served for your tablet meanwhile.",
    )
    panel = await workshop.show("Terminal")
    await expect(panel.locator(".xterm-rows")).to_contain_text("14.66")
    await panel.get_by_role("textbox", name="Terminal input").focus()
    await workshop.page.keyboard.type("ls -l --color\n")
    await expect(panel.locator(".xterm-rows")).to_contain_text("passage.py")
    await expect(panel.get_by_role("region", name="Background commands")).to_contain_text("running")
    await in_every_light(workshop, keep, "terminal", phone, shows="14.6666")
    await panel.get_by_role("button", name="Stop python3").click()
    await workshop.page.get_by_role("button", name="Close the panel").click()
    await end(workshop)


async def question(workshop: Workshop, keep: Keep, phone: tuple[int, int]) -> None:
    """What the agent asks by itself."""
    await begin(workshop, "Units of the log", "ask")
    text = "Make the units of the log consistent."
    arguments = {
        "prompt": "Which unit shall the log use for distances?",
        "context": "Most entries are in nautical miles; those of last summer are in kilometres.",
        "choices": ["Nautical miles", "Kilometres", "Both, side by side"],
    }
    workshop.let(
        text, ["I need to know one thing first.", {"call": "user_collaboration", "arguments": arguments}], "Good."
    )
    await workshop.chat.send(text)
    asked = workshop.chat.dock.get_by_role("region", name="Question from the agent")
    await expect(asked).to_be_visible()
    await in_every_light(workshop, keep, "agent-question", phone)
    await asked.get_by_role("button", name="Nautical miles").click()
    await workshop.chat.finished()
    await end(workshop)
