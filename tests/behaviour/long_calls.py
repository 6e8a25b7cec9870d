"""A tool of a server that works until a test says so, in a chat whose model has just called it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

from pilothouse.types.events import Event, event_decoder
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, CallFeedback, CallTimes, ToolOutput
from tests.support.chats import ME, PATIENCE, Chat, open_chat
from tests.support.tools import ToolOf, give_tools

DIG: list[Any] = [[{"call": "mine__dig", "arguments": {"depth": 3}}], "Dug."]
ALLOWED = ("mine.*",)


class Mine:
    """A server's tool that works until it is told to stop, and remembers how it ended."""

    def __init__(
        self, *, total: float = 600.0, quiet: float | None = 30.0, stubborn: bool = False, server: str = "Mine"
    ) -> None:
        self.begun, self.go, self.told = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.feedback: CallFeedback | None = None
        self.tool = ToolOf("mine__dig", server=server)
        self.tool.times = CallTimes(total, quiet)
        self.tool.reporting = self.dig
        self.stubborn = stubborn

    async def dig(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        self.feedback = feedback
        self.begun.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.told.set()
            if not self.stubborn:
                raise
            await self.go.wait()
        return ToolOutput(text="coal")


@asynccontextmanager
async def open_chat_in_call(home: Path, mine: Mine, turns: list[Any] | None = None) -> AsyncIterator[tuple[Chat, str]]:
    """Open a chat whose model has just called the tool, and give the run."""
    async with open_chat(home, turns or DIG) as chat:
        give_tools(chat.host, mine.tool)
        sent = await chat.send(allow=ALLOWED)
        async with asyncio.timeout(PATIENCE):
            await mine.begun.wait()
        try:
            yield chat, sent.run_id
        finally:
            mine.go.set()


async def the_call(chat: Chat) -> Item:
    return (await chat.items("tool_call"))[0]


async def wait_for_event(chat: Chat, wanted: Callable[[Event], bool], after: int = 0) -> Event:
    """Read the feed until an event is the wanted one."""
    async with asyncio.timeout(PATIENCE), aclosing(await chat.api.conversations.events(ME, chat.id, after)) as feed:
        async for batch in feed:
            for sent in batch:
                event: Event = event_decoder.decode(sent.json)
                if wanted(event):
                    return event
    raise AssertionError("the feed ended")
