"""A conversation far beyond its window: 300 rounds with a result of 1 MB each, and every one can be read again."""

from __future__ import annotations

import gc
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types.api import ConversationPatch, ModelInput
from pilothouse.types.item_data import ResponseData
from pilothouse.types.items import is_a
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, Part, ToolOutput
from pilothouse.types.tool_names import READ_RESULT, RECALL
from tests.support.chats import ME, Chat, open_chat
from tests.support.tools import ToolOf, add_tools

WINDOW = 32_000
MESSAGES, ROUNDS = 15, 20
SIZE = 1024 * 1024
# What may be left of 240 MB that went through after the first 60: caches, and the allocator's own.
GROWN_MB = 48.0
LINE = "lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor\n"


def result(number: int) -> str:
    """Return a megabyte with a line in its midst that no other has."""
    half = LINE * (SIZE // 2 // len(LINE))
    return f"{half}needle {number} is here\n{half}"


async def large(arguments: JsonObject, _context: CallContext) -> ToolOutput:
    text = result(arguments["number"])
    return ToolOutput(text=text, parts=(Part(kind="text", text=text),))


def resident_mb() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024 / 1024


def write(chat: Chat, *calls: dict[str, Any]) -> None:
    """Have the model make these calls one after the other for the next message, and sum up when it is asked to."""
    summary = {"match": "Person: ", "steps": ["They looked at large results."]}
    turns = [*([call] for call in calls), ["Done."]]
    chat.write([summary, *({"match": "Look", "steps": steps} for steps in turns)])


async def called(chat: Chat, tool: str, **arguments: Any) -> str:
    """Have the model make one call, and return what it got."""
    write(chat, {"call": tool, "arguments": arguments})
    assert (await chat.say("Look")).status == "completed"
    return (await chat.items("tool_call"))[-1].text


async def check_reachable(chat: Chat, number: int) -> None:
    """Find a call by its arguments, and the one line of its result, as a model does."""
    found = await called(chat, RECALL, pattern=rf'\{{"number":{number}\}}')
    kept = re.findall(rf'\[call (r\d+) of look with {{"number":{number}}}\]', found)
    assert len(kept) == 1, found
    await check_read(chat, number, kept[0])


async def check_read(chat: Chat, number: int, kept: str) -> None:
    matching = await called(chat, READ_RESULT, id=kept, pattern="^needle ")
    assert f": needle {number} is here" in matching
    assert "1 match, " in matching


@pytest.mark.case("RES-15", "RES-16", "RES-18", "UTL-13", "UTL-14")
@pytest.mark.slow
async def test_300_results_of_a_megabyte_fit_a_window_of_32_000_tokens_and_stay_reachable(home: Path) -> None:
    settings = {"mode": "auto_approve", "working_directory": str(home.parent)}
    async with open_chat(home, settings=settings) as chat:
        add_tools(chat.host, ToolOf("look", large, server="large"))
        script = str(chat.script)
        await chat.use(ModelInput(name="m", id="m", provider="scripted", model=script, context_window=WINDOW))
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Large"))
        memory: list[float] = []
        for message in range(MESSAGES):
            numbers = range(message * ROUNDS, (message + 1) * ROUNDS)
            write(chat, *({"call": "look", "arguments": {"number": number}} for number in numbers))
            run = await chat.say("Look", allow=("large.*",))
            assert run.status == "completed", run.error
            memory.append(resident_mb())
        snapshot = await chat.snapshot()
        usages = [item.data.usage for item in snapshot.items if is_a(item, ResponseData)]
        assert max(usage.input for usage in usages if usage is not None) < WINDOW
        assert any(item.kind == "compaction" for item in snapshot.items)
        assert max(memory[3:]) - memory[2] < GROWN_MB, json.dumps(memory)
        newest = (await chat.items("tool_call"))[-1].raw["keptAs"]
        for number in (0, 77, 137):
            await check_reachable(chat, number)
        # This one the model still has before it.
        await check_read(chat, MESSAGES * ROUNDS - 1, newest)
