"""A conversation with branches, as a person sees it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, expect

from tests.browser.studio import Chat, Studio
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


def told(studio: Studio) -> str:
    """Hold a conversation of two messages while no page is open, and return its id."""
    studio.script("One.", "Two.", "Three.", "Four.")
    return studio.conversation("First question", "Second question")


def mine(chat: Chat, text: str) -> Locator:
    """An own message by its words, as it was sent: words that are still being written over it do not count."""
    editing = chat.page.get_by_role("textbox", name="Message, edited")
    return chat.rows("user_message").filter(has_text=text, has_not=editing)


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


async def edit_and_wait(chat: Chat, text: str, instead: str) -> None:
    """Edit a message and wait until it is answered."""
    await edit(chat, text, instead)
    # Until the message is there, the end of the previous run looks like the end of this one.
    await expect(mine(chat, instead)).to_be_visible()
    await chat.finished()


async def more(chat: Chat, text: str, choice: str) -> None:
    """Choose something from the menu under an own message."""
    await mine(chat, text).hover()
    await mine(chat, text).get_by_role("button", name="More about this message").click()
    await chat.page.get_by_role("menuitem", name=choice).click()


async def regenerate(row: Locator, choice: str) -> None:
    """Have a message, or the one that an answer is for, answered again."""
    await row.hover()
    await row.get_by_role("button", name="Regenerate").click()
    await row.page.get_by_role("menuitem", name=choice).click()


async def answered_in_every_way(chat: Chat, row: Locator) -> Any:
    """Have it answered by the same model, another one and at another temperature; return the last run's options."""
    answers = chat.timeline.get_by_role("group", name="Answers to this message")
    await regenerate(row, "With the same model")
    await expect(answers).to_have_text("2 of 2")
    await chat.finished()
    await regenerate(row, "Other model")
    await shows(chat, "First question", "One.", "Second question", OTHER)
    await chat.finished()
    await expect(answers).to_have_text("3 of 3")
    await regenerate(row, "At another temperature")
    field = chat.page.get_by_role("dialog").get_by_role("textbox", name="Temperature")
    await field.fill("0.3")
    await field.press("Enter")
    await expect(answers).to_have_text("4 of 4")
    await chat.finished()
    return chat.snapshot()["runs"][-1]["options"]
