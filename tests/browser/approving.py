"""Servers that do as a test says, a model that calls them, and the cards that show it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from playwright.async_api import BrowserContext, Locator, expect

from tests.browser.rooms import command, server_of
from tests.browser.studio import Chat, Studio, Turn
from tests.support.waiting import until

START = 30.0


def call(tool: str, server: str = "scripted", **arguments: Any) -> dict[str, Any]:
    """A step of a script: the model calls a tool of a server."""
    return {"call": f"{server}__{tool}", "arguments": arguments}


class Reviewer:
    """A studio with servers, and one tab of it."""

    def __init__(self, studio: Studio, chat: Chat) -> None:
        self.studio = studio
        self.chat = chat
        self.page = chat.page
        self.approval = chat.dock.get_by_role("region", name="Approval")
        self.question = chat.dock.get_by_role("region", name="Question from a server")

    async def begin(self, title: str, **settings: Any) -> None:
        """Open a new conversation, with settings of its own."""
        await self.chat.go(new_conversation(self.studio, title, settings))

    async def say(self, text: str, *turns: Turn, allow: Sequence[str] | None = None) -> str:
        """Send a message that the model answers like this, with these tools allowed or the usual; returns its run.

        What was asked before is answered first: it still needs its script.
        """
        await self.chat.finished()
        steps = [list(turn) if isinstance(turn, list) else [turn] for turn in turns]
        self.studio.script(*({"match": text, "steps": one} for one in steps))
        body = {"text": text, "allow": self._usual() if allow is None else list(allow)}
        sent = self.studio.server.post(f"/api/conversations/{self.chat.conversation}/messages", body, 202)
        await expect(self.chat.rows("user_message").filter(has_text=text)).to_be_visible()
        return str(sent["runId"])

    def _usual(self) -> list[str]:
        """Return permission for the tools of the servers that most tests are about, as far as they were added."""
        added = {server["slug"] for server in self.studio.server.get("/api/servers")["servers"]}
        return [f"{name}.*" for name in ("scripted", "quick", "modern") if name in added]

    async def rest(self) -> None:
        """Take the pointer and the cursor out of the way."""
        await self.page.mouse.move(0, 0)
        await self.page.evaluate("document.activeElement.blur()")

    def card(self, words: str) -> Locator:
        """The newest row of a call by its tool's name or some of its words."""
        return self.chat.step(words)

    async def opened(self, words: str) -> Locator:
        """That row, opened."""
        card = self.card(words)
        await card.get_by_role("button", expanded=False).first.click()
        return card


def add_server(studio: Studio, name: str, options: Sequence[str | Path] = (), **fields: Any) -> Any:
    """Add a scripted server and agree to its command."""
    return add_any(studio, {"name": name, "commandLine": command(*options), **fields})


def add_any(studio: Studio, body: dict[str, Any]) -> Any:
    """Add a server by what a form sends, and agree to its command where it has one."""
    made = studio.server.post("/api/servers", body, status=201)
    if made["consent"]:
        studio.server.post(f"/api/servers/{made['id']}/consent", {"fingerprint": made["consent"]["fingerprint"]})
    return made


def wait_until_connected(studio: Studio, *names: str) -> None:
    """Wait for servers that start beside each other."""
    for name in names:
        until(lambda name=name: server_of(studio, name)["state"] == "connected", f"{name} to be connected", START)  # type: ignore[misc]


async def open_reviewer(studio: Studio, context: BrowserContext, title: str | None = None, **settings: Any) -> Reviewer:
    """Open a tab of such a studio; with a title, at a new conversation with settings of its own."""
    return Reviewer(
        studio, await studio.open(context, "/" if title is None else new_conversation(studio, title, settings))
    )


def new_conversation(studio: Studio, title: str, settings: Mapping[str, Any]) -> str:
    """Make a conversation that asks, unless a test is about something else, and return where it is."""
    body = {"title": title, **({"settings": {"mode": "ask", **settings}} if settings else {})}
    return f"/c/{studio.server.post('/api/conversations', body, 201)['id']}"


def heard(record: Path, method: str) -> list[Any]:
    """Return the messages of this method that a server recorded."""
    lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
    return [message for message in map(json.loads, lines) if message.get("method") == method]


async def drawn(card: Locator) -> str:
    """Return a card as assistive technology reads it, without its exact times."""
    snapshot = re.sub(r"(?m)^( *- )'(.*)'$", r"\1\2", await card.aria_snapshot())
    return re.sub(r"\b\d+(\.\d)? m?s\b", "TIME", snapshot)
