"""The dialog that finds servers, as a person uses it, and what there is to be found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Locator, expect

from tests.browser.rooms import Rooms
from tests.browser.studio import Studio

Json = dict[str, Any]


class Finder:
    """The dialog "Add a server"."""

    def __init__(self, rooms: Rooms) -> None:
        self.rooms = rooms
        self.page = rooms.page
        self.dialog = rooms.dialog
        self.box = self.dialog.get_by_role("textbox", name="Search, paste or drop a server")
        self.options = self.dialog.get_by_role("option")

    async def open(self) -> None:
        """Open it from the list of servers."""
        await self.rooms.toolbar.get_by_role("button", name="Add a server").click()
        await expect(self.box).to_be_focused()

    async def ask(self, text: str) -> None:
        """Put something into the box, and wait until it is known what that is."""
        await self.box.fill(text)
        await expect(self.options.first).to_be_visible()

    def option(self, text: str) -> Locator:
        return self.options.filter(has_text=text)

    async def press(self, name: str) -> None:
        await self.dialog.get_by_role("button", name=name, exact=True).click()

    def field(self, label: str) -> Locator:
        return self.dialog.get_by_label(label, exact=True)

    async def configuring(self, title: str) -> None:
        """Wait for the form of what was chosen."""
        await expect(self.dialog).to_have_accessible_name(f"Configure: {title}")


def snippet(**servers: Json) -> str:
    """Return servers as other programs' settings list them."""
    return json.dumps({"mcpServers": servers}, indent=2)


@dataclass
class Places:
    """The product of a person, who finds servers in registries and nowhere else."""

    # The home of the person, where other programs keep their settings.
    home: Path
    studio: Studio


@contextmanager
def product(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Places]:
    """Start the product of a person with an empty home, which looks where the environment leads."""
    home = folder / "person"
    home.mkdir()
    patch.setenv("HOME", str(home))
    with Studio(folder / "home") as studio:
        yield Places(home, studio)
