"""The pictures of a large result: its summary while it is written, and what stays to be read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from playwright.async_api import BrowserContext, expect

from scripts.context_pictures import HARBOUR
from scripts.server_pictures import add, write_server
from tests.browser.approving import call, open_reviewer
from tests.browser.studio import Chat, Studio

Keep = Callable[[Chat, str], Awaitable[None]]

_BERTH = "| North quay {} | {} m | {} | {} NOK |"
BERTHS = "\n".join(
    _BERTH.format(number, 8 + number % 7, "free" if number % 9 == 4 else "taken", 180 + number % 5 * 20)
    for number in range(1, 900)
)
SUMMARY = """The list has **899 berths** of the north quay, from 8 to 14 metres.

- 100 are free, 14 of them long enough for 11 metres and on the side away from the ferry.
- A night costs 180 to 260 NOK; the cheapest free one of 12 metres is **North quay 40**."""
ANSWER = "Take **North quay 40**: 12 metres, free, 180 NOK a night."


def studio_in(folder: Path) -> Studio:
    """Return a studio of its own in which large results are summed up."""
    model = {"provider": "scripted", "model": str(folder / "script.json"), "contextWindow": 200_000}
    models = {"script": {**model, "name": "Claude Sonnet"}}
    return Studio(folder / "home", models=models, config={"large_results": {"enter": "summary"}})


async def take(studio: Studio, context: BrowserContext, folder: Path, keep: Keep) -> None:
    """Take both pictures."""
    add(studio, "Harbour", write_server(folder, "harbour", HARBOUR, answers={"berths": BERTHS}))
    reviewer = await open_reviewer(studio, context, "A berth in Haugesund")
    hold = studio.hold()
    summary = {"match": "# The result of", "steps": [{"text": SUMMARY, **hold.after_each(120)}]}
    steps = (call("berths", "harbour", harbour="Haugesund"), ANSWER)
    studio.script(summary, *({"match": "berth", "steps": [step]} for step in steps))
    body = {"text": "Which berth should we take for the Havsule?", "allow": ["harbour.*"]}
    studio.server.post(f"/api/conversations/{reviewer.chat.conversation}/messages", body, 202)
    shown = reviewer.page.get_by_role("group", name="Summary of the result")
    await expect(shown).to_contain_text("from 8 to 14 metres")
    await keep(reviewer.chat, "summary-streaming")
    hold.release()
    await reviewer.chat.finished()
    opened = await reviewer.opened("berths")
    await opened.get_by_role("button", name="Show the full result").click()
    await expect(opened).to_contain_text("North quay 30")
    await reviewer.page.mouse.move(0, 0)
    await reviewer.page.evaluate("document.activeElement.blur()")
    await keep(reviewer.chat, "summary")
