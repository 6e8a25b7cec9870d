"""A chat in which a tool gives a large result, which the model is asked to sum up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

from pilothouse.types.access import Access
from pilothouse.types.api import ConfigPatch
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, Part, ToolError, ToolOutput
from tests.support.chats import ME, PATIENCE, Chat, open_chat
from tests.support.feed_reader import FeedReader
from tests.support.tools import ToolOf, add_tools

CALL = [{"call": "look", "arguments": {"what": "harbours"}}]
LARGE = "".join(f"{number}: a harbour with {number % 7} berths\n" for number in range(5_000))
SUMMARY = "There are 5,000 harbours, each with at most 6 berths."


class Tainted(ToolOf):
    """A tool whose results are the person's own data."""

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        return Access(operation="ports.look", brings=frozenset({"private", "untrusted"}), source="server:ports")


def look_tool(text: str = LARGE, calls: Path | None = None, error: str = "") -> ToolOf:
    """Return a tool of a server that gives this; each call is a line of a file, if one is given."""

    async def given(_arguments: JsonObject, _context: CallContext) -> ToolOutput:
        if calls is not None:
            with calls.open("a") as file:
                file.write("called\n")
        failed = ToolError("TOOL_ERROR", error) if error else None
        return ToolOutput(text=text, error=failed, parts=(Part(kind="text", text=text),))

    return Tainted("look", given, server="ports")


def summary_turns(*steps: Any, then: Sequence[Any] = (CALL, "Done.")) -> list[Any]:
    """Return the turns of a model that answers so when it is asked to sum up."""
    written = (step if isinstance(step, list) else [step] for step in steps)
    return [*({"match": "# The result of", "steps": each} for each in written), *then]


@asynccontextmanager
async def open_summary_chat(
    home: Path, turns: Sequence[Any], tool: ToolOf | None = None, **settings: Any
) -> AsyncIterator[Chat]:
    """Open a chat with such a tool and these settings about large results; summaries are on."""
    chosen = {"mode": "auto_approve", "working_directory": str(home.parent)}
    async with open_chat(home, turns, settings=chosen) as chat:
        await chat.api.settings.update(ME, ConfigPatch(large_results={"enter": "summary", **settings}))
        add_tools(chat.host, tool or look_tool())
        yield chat


async def wait_for_summary(chat: Chat, text: str = "") -> str:
    """Wait until a summary is on its way and has this text; return the id of its item."""
    folded = FeedReader()
    async with asyncio.timeout(PATIENCE), aclosing(await chat.api.conversations.events(ME, chat.id, 0)) as feed:
        async for batch in feed:
            folded.take(batch)
            for item in folded.list():
                if item.kind == "tool_summary" and item.status == "streaming" and text in item.text:
                    return item.id
    raise AssertionError("the feed ended")
