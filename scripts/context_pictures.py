"""The pictures of the context and of use: what fills a window, what was used by day, and a budget's question."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from playwright.async_api import BrowserContext, expect

from scripts.key_pictures import Size, dark, resized
from scripts.server_pictures import NOTES, add, tool, write_server
from scripts.tool_pictures import NOTES as LOG
from scripts.tool_pictures import SPEED
from tests.browser.approving import Reviewer, call, open_reviewer
from tests.browser.spending import counted, day, used_before
from tests.browser.studio import Chat, Studio
from tests.browser.workshop import files

Keep = Callable[[Chat, str], Awaitable[None]]

HARBOUR = (
    tool("tides", "Returns high and low water of a harbour on a day.", {"harbour": {"type": "string"}}, ("harbour",)),
    tool("berths", "Lists the free berths of a harbour with their lengths.", {"harbour": {"type": "string"}}),
)
TOLD = {
    "tides": "\n".join(
        f"| {1 + hour % 28} Nov | {hour % 24:02}:40 | {1.2 + hour % 7 / 10:.1f} m |" for hour in range(400)
    ),
    "berths": "\n".join(f"North quay {number}, {8 + number % 7} metres, free" for number in range(120)),
}
ANSWER = """Leave Bergen at **05:30**: with the current it is about eleven hours, and you come in with the flood.

- High water in Haugesund is at 16:40.
- Two berths of 12 metres are free."""
THOUGHT = (
    "The log has the speed under engine, and the tides of both harbours are known. The current is what is missing. "
)
# What is used in a month, by model: how often, at most how many tokens a day, and what a million of them cost.
MONTH = (("script", 0.8, 900_000, 4.2), ("deepseek", 0.55, 520_000, 0.4), ("qwen", 0.45, 380_000, None))
BUDGET = 0.5


def studio_in(folder: Path) -> Studio:
    """Return a studio of its own: a model with a price, two others, and a month in which they were used."""
    model = {"provider": "scripted", "model": str(folder / "script.json"), "supportsThinking": True}
    prices = {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}
    models = {
        "script": {**model, "name": "Claude Sonnet", "contextWindow": 200_000, "prices": prices},
        "deepseek": {**model, "name": "DeepSeek Reasoner", "contextWindow": 128_000},
        "qwen": {**model, "name": "Qwen on this machine", "contextWindow": 32_000},
    }
    studio = Studio(folder / "home", models=models)
    chance = random.Random(7)
    rows = [
        (day(ago), name, tokens, price and tokens * price / 1_000_000)
        for ago in range(1, 90)
        for name, often, most, price in MONTH
        if chance.random() < often and (tokens := int(most * (0.15 + 0.85 * chance.random() ** 2)))
    ]
    used_before(studio, *rows)
    return studio


async def take(studio: Studio, context: BrowserContext, folder: Path, keep: Keep, sizes: dict[str, Size]) -> None:
    """Take all pictures of the context and of use."""
    ship = folder / "havsule"
    ship.mkdir(parents=True)
    (ship / "log.md").write_text(LOG * 60, encoding="utf-8")
    (ship / "passage.py").write_text(SPEED, encoding="utf-8")
    add(studio, "Notes", write_server(folder, "notes", NOTES))
    add(studio, "Harbour", write_server(folder, "harbour", HARBOUR, answers=TOLD))
    for title in ("Harbour fees compared", "Reading the tide tables"):
        studio.server.post("/api/conversations", {"title": title}, 201)
    reviewer = await open_reviewer(studio, context, "To Haugesund", workingDirectory=str(ship), mode="auto_edit")
    await talk(reviewer, ship)
    await window(reviewer, keep, sizes)
    await budget(reviewer, keep, sizes)
    await usage(reviewer, keep, sizes)


async def every_way(chat: Chat, keep: Keep, name: str, sizes: dict[str, Size]) -> None:
    """Take a picture, the same in the dark, and in windows of other sizes."""
    await chat.page.mouse.move(0, 0)
    await chat.page.evaluate("document.activeElement.blur()")
    await keep(chat, name)
    await dark(chat, keep, f"{name}-dark")
    for size, pixels in sizes.items():
        await resized(chat, keep, f"{name}-{size}", pixels)


async def say(reviewer: Reviewer, text: str, *turns: Any) -> None:
    """Have a message answered, and wait until all is said."""
    await reviewer.say(text, *turns, allow=["harbour.*", "notes.*"])
    await reviewer.chat.finished()
    await expect(reviewer.chat.answers.last).to_contain_text("tokens in")


async def talk(reviewer: Reviewer, ship: Path) -> None:
    """Hold a conversation that fills some of the window."""
    read = [files("read_file", filePath=str(ship / name)) for name in ("log.md", "passage.py")]
    await say(
        reviewer,
        "What do we know of the passage to Haugesund?",
        [{"thinking": THOUGHT * 30}, *read, counted(28_300, 1_210, 24_000)],
        ["She makes 6 knots under engine, and it is 60 nautical miles.", counted(58_100, 96, 28_300)],
    )
    await say(
        reviewer,
        "When should we leave on Saturday?",
        [
            call("tides", "harbour", harbour="Haugesund"),
            call("berths", "harbour", harbour="Haugesund"),
            call("search_notes", "notes", query="current"),
            counted(59_000, 180, 58_100),
        ],
        [ANSWER, counted(83_600, 420, 59_000)],
    )


async def window(reviewer: Reviewer, keep: Keep, sizes: dict[str, Size]) -> None:
    """What fills the window, beside the chat."""
    await reviewer.page.get_by_role("button", name="Context: ").click()
    await expect(reviewer.page.get_by_role("table", name="What fills the window")).to_be_visible()
    await every_way(reviewer.chat, keep, "context", sizes)
    await reviewer.page.get_by_role("button", name="Close the panel").click()


async def budget(reviewer: Reviewer, keep: Keep, sizes: dict[str, Size]) -> None:
    """A request that would pass the budget for one message."""
    reviewer.studio.server.client.patch("/api/config", json={"budgetPerRun": BUDGET}).raise_for_status()
    steps = [[call("tides", "harbour", harbour=name), counted(55_000, 2_400)] for name in ("Skudeneshavn", "Stavanger")]
    await reviewer.say("And if we go on to Stavanger?", *steps, "Then leave on Friday.", allow=["harbour.*"])
    question = reviewer.chat.dock.get_by_role("region", name="Question")
    await expect(question).to_contain_text("The budget for one message is $0.50")
    await every_way(reviewer.chat, keep, "budget", sizes)
    await question.get_by_role("button", name="Stop here").click()
    await reviewer.chat.finished()


async def usage(reviewer: Reviewer, keep: Keep, sizes: dict[str, Size]) -> None:
    """What was used in a month."""
    await reviewer.chat.go("/settings/usage")
    await expect(reviewer.page.get_by_role("region", name="Usage by model")).to_be_visible()
    await reviewer.page.evaluate("document.activeElement.blur()")
    chat = reviewer.chat
    await keep(chat, "usage")
    await dark(chat, keep, "usage-dark")
    for size, pixels in sizes.items():
        await chat.page.set_viewport_size({"width": pixels[0], "height": pixels[1]})
        # Where the tabs do not all fit, the one that is open is in sight from the beginning.
        await chat.go("/settings/usage")
        await expect(chat.page.get_by_role("region", name="Usage by model")).to_be_visible()
        await chat.page.evaluate("document.activeElement.blur()")
        await keep(chat, f"usage-{size}")
