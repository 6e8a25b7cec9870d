"""A conversation with branches, as a person sees it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, expect

from tests.browser.studio import Chat
from tests.support.waiting import eventually

OTHER = "Another voice."
# What was said, without what can be done about it.
SAID = """rows => rows.map(row => {
    const copy = row.cloneNode(true)
    for (const one of copy.querySelectorAll("h2, [data-quiet]")) one.remove()
    return copy.textContent.trim()
})"""


def another_model(folder: Path) -> dict[str, Any]:
    """A second model beside the usual one; it always says the same."""
    path = folder / "other.json"
    path.write_text(json.dumps({"turns": [OTHER], "loop": True}), encoding="utf-8")
    return {"other": {"name": "Other model", "provider": "scripted", "model": str(path)}}


def mine(chat: Chat, text: str) -> Locator:
    """An own message by its words."""
    return chat.rows("user_message").filter(has_text=text)


async def shows(chat: Chat, *words: str) -> None:
    """Wait until this is what was said, and nothing else."""
    rows = chat.timeline.locator("[data-kind=user_message], [data-kind=response]")

    async def look() -> bool:
        return list(await rows.evaluate_all(SAID)) == list(words)

    await eventually(look, f"{words} in the timeline")


async def edit(chat: Chat, text: str, instead: str, send: str = "Control+Enter") -> None:
    """Say something else in the place of a message."""
    await mine(chat, text).hover()
    await mine(chat, text).get_by_role("button", name="Edit").click()
    box = chat.page.get_by_role("textbox", name="Message, edited")
    await expect(box).to_be_focused()
    await box.fill(instead)
    await box.press(send)


async def more(chat: Chat, text: str, choice: str) -> None:
    """Choose something from the menu under an own message."""
    await mine(chat, text).hover()
    await mine(chat, text).get_by_role("button", name="More about this message").click()
    await chat.page.get_by_role("menuitem", name=choice).click()
