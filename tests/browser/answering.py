"""Calls of built-in tools that a person is asked about, and the buttons that answer."""

from __future__ import annotations

import re
from typing import Any

from playwright.async_api import Error, Locator

# A card that moved under the pointer waits anew before it can be agreed to, so that a press may be in vain.
PRESSES = 8
TAKEN_MS = 2_000


def files(operation: str, **arguments: Any) -> dict[str, Any]:
    """A step of a script: the model works on files."""
    return {"call": "file_operations", "arguments": {"operation": operation, **arguments}}


def create(path: str, content: str = "new\n") -> dict[str, Any]:
    """A step of a script: the model creates a file."""
    return files("create_file", filePath=path, content=content)


def terminal(operation: str, **arguments: Any) -> dict[str, Any]:
    """A step of a script: the model works in the terminal."""
    return {"call": "terminal_operations", "arguments": {"operation": operation, **arguments}}


def run(command: str) -> dict[str, Any]:
    """A step of a script: the model runs a command."""
    return terminal("run_command", command=command)


def button(card: Locator, name: str) -> Locator:
    """A button of a card by its whole name."""
    return card.get_by_role("button", name=name, exact=True)


async def agree(choice: Locator, clicks: int = 1) -> None:
    """Press a choice once it can be pressed, and again if the card moved meanwhile; wait until it was taken."""
    pressed = await choice.element_handle()
    for _ in range(PRESSES):
        try:
            await pressed.click(timeout=TAKEN_MS, click_count=clicks)
            await pressed.wait_for_element_state("hidden", timeout=TAKEN_MS)
        except Error:
            if await pressed.is_visible():
                continue
        return
    raise AssertionError("the choice was not taken")


async def allow_for_longer(card: Locator, choice: str) -> None:
    """Choose from what allows more than the one call."""
    await button(card, "Allow for longer").click()
    await agree(card.page.get_by_role("menuitem", name=re.compile(f"^{re.escape(choice)}")))
