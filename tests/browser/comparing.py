"""Several models that each answer from a script of their own, and the columns that show them side by side."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.async_api import Locator, expect

from tests.browser.menus import close_menu
from tests.browser.studio import Chat, Studio, Turn

NAMES = {"alpha": "Alpha", "beta": "Beta", "gamma": "Gamma"}
# Light on a desk, light on a low laptop, dark on both, and a phone: its window, and its colours.
LOOKS = (
    ((1440, 900), "light"),
    ((1440, 900), "dark"),
    ((1280, 640), "light"),
    ((1280, 640), "dark"),
    ((390, 780), "light"),
    ((390, 780), "dark"),
)


class Models:
    """A studio with three more models, each with its own script."""

    def __init__(self, home: Path) -> None:
        self._folder = home.parent
        self._folder.mkdir(parents=True, exist_ok=True)
        for model, name in NAMES.items():
            self.script(model, f"{name} says hello.")
        models = {
            model: {"name": name, "provider": "scripted", "model": str(self._path(model))}
            for model, name in NAMES.items()
        }
        self.studio = Studio(home, models=models)

    def _path(self, model: str) -> Path:
        return self._folder / f"{model}.json"

    def script(self, model: str, *turns: Turn) -> None:
        """Let a model answer like this in conversations that begin from now on."""
        self._path(model).write_text(json.dumps({"turns": list(turns)}), encoding="utf-8")

    def conversation(self, **settings: object) -> str:
        """Make a conversation and return its address."""
        made = self.studio.server.post("/api/conversations", {"title": "The passage", "settings": settings}, 201)
        return f"/c/{made['id']}"


def columns(chat: Chat) -> Locator:
    """The answers side by side."""
    return chat.page.get_by_role("group", name="Answers side by side")


def column(chat: Chat, model: str) -> Locator:
    """The column of a model, by its name."""
    return columns(chat).get_by_role("region", name=model, exact=True)


async def choose(chat: Chat, *names: str) -> None:
    """Choose the models for the next message, by mouse."""
    page = chat.page
    await page.get_by_role("button", name="Model: ").click()
    await page.get_by_role("menuitem", name="Compare models").click()
    for box in await _choices(chat):
        wanted = (await box.inner_text()).split("\n")[0] in names
        if (await box.get_attribute("aria-checked") == "true") != wanted:
            await box.click()
    await close_menu(page)


async def _choices(chat: Chat) -> list[Locator]:
    """What is chosen comes first: what goes makes room for what comes."""
    boxes = chat.page.get_by_role("menuitemcheckbox")
    await expect(boxes.first).to_be_visible()
    found = await boxes.all()
    checked = [await box.get_attribute("aria-checked") == "true" for box in found]
    return [box for _, box in sorted(zip(checked, found, strict=True), key=lambda pair: not pair[0])]


async def compare(chat: Chat, text: str, *names: str) -> None:
    """Send a message to these models and wait for their columns."""
    await choose(chat, *names)
    await chat.box.fill(text)
    await expect(chat.send_button).to_be_enabled()
    await chat.box.press("Control+Enter")
    for name in names:
        await expect(column(chat, name)).to_be_attached()


async def look(chat: Chat, window: tuple[int, int], colours: str) -> None:
    """Give the tab another window and other colours."""
    await chat.page.emulate_media(color_scheme="dark" if colours == "dark" else "light")
    await chat.page.set_viewport_size({"width": window[0], "height": window[1]})
