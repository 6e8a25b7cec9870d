"""The dialog that finds servers, as a person uses it, and what there is to be found."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Locator, expect

from tests.browser.rooms import Rooms
from tests.browser.studio import Studio
from tests.support.mcp_gateway import Streamable, serving
from tests.support.package_indexes import Indexes, indexes
from tests.support.registry_server import (
    OfficialServer,
    SmitheryServer,
    official_entry,
    pointing,
    remote,
    smithery_entry,
)
from tests.support.tiny_http import Answer, Request

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


TIDES = "io.github.harbour/tides"


def tides(url: str, **more: Any) -> Json:
    """Return a server at an address that wants a key, as the official registry lists it."""
    header = {
        "name": "X-Tides-Key",
        "description": "A key of the harbour office. Get one at https://harbour.example/keys",
        "isSecret": True,
        "isRequired": True,
    }
    given = {"title": "Tide tables", "remotes": [remote(url, headers=[header])], **more}
    return official_entry(TIDES, "High and low water for every harbour.", version="2.1.0", **given)


MOORING = smithery_entry("@quay/mooring", "Finds a berth for the night.", title="Mooring", verified=True, uses=12_431)


def snippet(**servers: Json) -> str:
    """Return servers as other programs' settings list them."""
    return json.dumps({"mcpServers": servers}, indent=2)


KEY = "a-key-of-the-harbour-office"


@dataclass
class Places:
    """Where servers are found, and the product that looks there and nowhere else."""

    official: OfficialServer
    smithery: SmitheryServer
    index: Indexes
    studio: Studio


def _guarded(behind: Streamable) -> Callable[[Request], Answer]:
    """Answer to the key only."""
    return lambda request: behind(request) if request.headers.get("x-tides-key") == KEY else Answer(401)


@asynccontextmanager
async def opened(folder: Path, patch: pytest.MonkeyPatch) -> AsyncIterator[Places]:
    """Registries with a server each, an empty index of packages, and the product of a person with an empty home."""
    home = folder / "person"
    home.mkdir()
    patch.setenv("HOME", str(home))
    async with (
        serving(_guarded(Streamable())) as gateway,
        OfficialServer([tides(f"{gateway.url}/mcp")]) as official,
        SmitheryServer([MOORING]) as smithery,
        indexes(patch) as index,
    ):
        patch.setenv("PILOTHOUSE_REGISTRIES", pointing(official=official, smithery=smithery))
        places = Places(official, smithery, index, Studio(folder / "home"))
        try:
            yield places
        finally:
            places.studio.server.close()
