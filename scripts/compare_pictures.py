"""The pictures of answers side by side and of replays: choosing models, columns, and what differs step by step."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from playwright.async_api import BrowserContext, expect

from scripts.key_pictures import Size, dark, resized
from tests.browser.answering import files
from tests.browser.comparing import choose, column
from tests.browser.studio import Chat, Studio, Turn

Keep = Callable[[Chat, str], Awaitable[None]]

NAMES = {"large": "Large model", "small": "Small model", "local": "Local model"}
PRICES = {"large": (3.0, 15.0), "small": (0.25, 1.25), "local": (0.0, 0.0)}
KNOTS = "Which knot for a mooring line that lies for weeks?"
LARGE = """A **bowline**, or better a **water bowline** where it chafes.

- It holds under any load and does not slip.
- After weeks under strain it can still be untied.
- A second half hitch before the loop keeps it from capsizing when the line shakes.

| knot | holds | comes undone |
|---|---|---|
| bowline | yes | easily |
| reef knot | no | by itself |
| round turn, two half hitches | yes | with patience |

Put a piece of hose over the loop: lines that lie for weeks fail by chafe and not by their knot."""
SMALL = """Use a **round turn and two half hitches**. It holds, and it can be cast off under load.

Look at it every week."""
TIDES = files("read_file", filePath="tides.md")
SOUND = files("read_file", filePath="sound.md")
PASSAGE = "When do we leave Bergen for Haugesund on Saturday?"
PROMPT = "You are the mate of a small yacht. Answer in two sentences."
FIRST = (
    "High water in Haugesund is at 16:40, so leave Bergen at 05:30. You have the current with you for the first four "
    "hours and come in with the last of the flood."
)
SECOND = "High water in Haugesund is at 16:40, so leave Bergen at 06:10. You come in with the last of the flood."


class Models:
    """A server whose three models have scripts of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True)
        models: dict[str, Any] = {}
        for model, name in NAMES.items():
            self.script(model, "Aye.")
            prices = {"input": PRICES[model][0], "output": PRICES[model][1]}
            models[model] = {"name": name, "provider": "scripted", "model": str(self._path(model)), "prices": prices}
        self.studio = Studio(folder / "home", models=models)
        (folder / "boat").mkdir()
        (folder / "boat" / "tides.md").write_text("Haugesund, Saturday: high water 16:40\n", encoding="utf-8")
        (folder / "boat" / "sound.md").write_text("The current turns at 09:30.\n", encoding="utf-8")

    def _path(self, model: str) -> Path:
        return self._folder / f"{model}.json"

    def script(self, model: str, *turns: Turn) -> None:
        self._path(model).write_text(json.dumps({"turns": list(turns)}), encoding="utf-8")

    def conversation(self, title: str, **settings: Any) -> str:
        made = self.studio.server.post("/api/conversations", {"title": title, "settings": settings}, 201)
        return f"/c/{made['id']}"

    @property
    def boat(self) -> str:
        return str(self._folder / "boat")


async def everywhere(chat: Chat, keep: Keep, name: str, sizes: dict[str, Size]) -> None:
    """Take a picture in every size, and in the dark."""
    await keep(chat, name)
    await dark(chat, keep, f"{name}-dark")
    for size, room in sizes.items():
        await resized(chat, keep, f"{name}-{size}", room)


async def take(folder: Path, context: BrowserContext, keep: Keep, sizes: dict[str, Size]) -> None:
    """Take all pictures of answers side by side and of replays."""
    models = Models(folder)
    try:
        chat = await models.studio.open(context, models.conversation("Mooring lines", modelId="large"))
        await side_by_side(models, chat, keep, sizes)
        there = models.conversation("To Haugesund", modelId="large", systemPrompt=PROMPT, workingDirectory=models.boat)
        await chat.go(there)
        await replays(models, chat, keep, sizes)
    finally:
        models.studio.server.close()


async def side_by_side(models: Models, chat: Chat, keep: Keep, sizes: dict[str, Size]) -> None:
    """The box with three models, and their columns: one done, one at work, one that asks."""
    models.script("large", LARGE)
    models.script("small", SMALL)
    question = {"prompt": "How heavy is the boat?", "choices": ["Under 3 tonnes", "3 to 8 tonnes", "More"]}
    models.script("local", ["That depends on the boat.", {"call": "user_collaboration", "arguments": question}], "Aye.")
    await choose(chat, "Large model", "Small model", "Local model")
    await chat.box.fill(KNOTS)
    await everywhere(chat, keep, "compare-box", sizes)
    await chat.box.press("Control+Enter")
    await expect(column(chat, "Local model")).to_contain_text("waits for you")
    await expect(column(chat, "Large model")).to_contain_text("Put a piece of hose")
    await expect(column(chat, "Small model")).to_contain_text("Look at it every week")
    await chat.page.evaluate("document.activeElement.blur()")
    await everywhere(chat, keep, "compare-columns", sizes)


async def replays(models: Models, chat: Chat, keep: Keep, sizes: dict[str, Size]) -> None:
    """The form, a replay at work beside its original, what differs, and one that stopped."""
    page, hold = chat.page, models.studio.hold()
    models.script("large", ["I look at the tides.", TIDES], [SOUND], FIRST)
    models.script("small", ["I look at the tides.", TIDES], [SOUND], [{"text": SECOND, **hold.after_each(64)}])
    models.script("local", ["I look at the log.", files("read_file", filePath="log.md")], "Aye.")
    await chat.ask(PASSAGE)
    await chat.answers.last.hover()
    await chat.answers.last.get_by_role("button", name="More about this answer").click()
    await page.get_by_role("menuitem", name="Replay with…").click()
    await _choose(chat, "Small model")
    await page.get_by_role("textbox", name="Temperature").fill("0.2")
    await page.evaluate("document.activeElement.blur()")
    await everywhere(chat, keep, "replays-form", sizes)
    await page.get_by_role("button", name="Start the replay").click()
    await expect(page.get_by_role("region", name="Replay: Small model", exact=True)).to_contain_text("so leave Bergen")
    await everywhere(chat, keep, "replays-live", sizes)
    hold.release()
    shown = page.get_by_role("region", name="Difference")
    await expect(shown).to_contain_text("came to another answer")
    await everywhere(chat, keep, "replays-difference", sizes)
    await page.get_by_role("button", name="New replay").click()
    await _choose(chat, "Local model")
    await page.get_by_role("button", name="Start the replay").click()
    await expect(shown).to_contain_text("It stopped at step 1")
    await everywhere(chat, keep, "replays-stopped", sizes)


async def _choose(chat: Chat, model: str) -> None:
    await chat.page.get_by_role("combobox", name="Model").click()
    await chat.page.get_by_role("option", name=model, exact=True).click()
