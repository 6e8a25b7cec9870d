"""What a run is offered: each conversation its own tools, also while others are at work beside it.

One has a folder, one has none, and one has neither a folder nor a server.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types.api import NewConversation
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.selection import Selection
from pilothouse.types.servers import ConsentGiven, ServerInput
from tests.support.chats import ME, Chat, open_chat
from tests.support.mcp_servers import SCRIPTED
from tests.support.waiting import eventually

WISHED = ["file_operations", "scripted__echo", "scripted.echo", "magic"]
NO_PERMISSION = "There is no operation file_operations.create_file that permission can be asked for."
LEAVE = {"prompt": "May I?", "authorize_operation": "file_operations.create_file"}


def thinking_then_asking(until: Path) -> list[Any]:
    """Wait for a file, think about tools, ask for permission."""
    thought = {"call": "think", "arguments": {"thoughts": "Hm.", "requested_tools": WISHED}}
    asking = {"call": "user_collaboration", "arguments": LEAVE}
    return [[{"text": "Let me see."}, {"wait": 15, "until": str(until)}, thought], [asking], "Done."]


async def another(chat: Chat, **settings: Any) -> Chat:
    """Return a further conversation of the same host, with the same script."""
    chosen = ConversationSettings(model_id=f"scripted:{chat.script}", **settings)
    conversation = await chat.api.conversations.create(ME, NewConversation(settings=chosen))
    return Chat(chat.host, conversation.id, chat.script)


async def has_begun(chat: Chat, run_id: str) -> bool:
    return any(item.run_id == run_id and item.kind != "user_message" for item in await chat.items())


@pytest.mark.case("UTL-01")
async def test_conversations_side_by_side_are_each_told_of_their_own_tools(home: Path, tmp_path: Path) -> None:
    go, folder = tmp_path / "go", tmp_path / "project"
    folder.mkdir()
    few = Selection(servers=(), built_in=("think", "user_collaboration"))
    async with open_chat(home, thinking_then_asking(go), settings={"working_directory": str(folder)}) as rich:
        added = await rich.api.servers.add(
            ME, ServerInput(name="Scripted", command=sys.executable, args=(str(SCRIPTED),))
        )
        assert added.consent is not None
        await rich.api.servers.consent(ME, added.id, ConsentGiven(fingerprint=added.consent.fingerprint))
        assert (await rich.api.servers.test(ME, added.id)).ok
        plain, poor = await another(rich), await another(rich, selection=few)
        chats = (rich, plain, poor)
        # All have their tools before any calls one; the poor one was the last to ask for them.
        begun = [await chat.send() for chat in chats]
        for chat, sent in zip(chats, begun, strict=True):
            await eventually(partial(has_begun, chat, sent.run_id), "a model at work")
        go.touch()
        runs = [await chat.settled(sent.run_id) for chat, sent in zip(chats, begun, strict=True)]
        thought, asked = await rich.items("tool_call")
        assert thought.text == (
            "Noted. Now act. Available: file_operations, scripted__echo, scripted.echo. Not available: magic."
        )
        assert (runs[0].status, asked.status) == ("waiting", "waiting")
        thought, asked = await plain.items("tool_call")
        assert thought.text == (
            "Noted. Now act. Available: scripted__echo, scripted.echo. Not available: file_operations, magic."
        )
        assert (runs[1].status, asked.text) == ("completed", NO_PERMISSION)
        thought, asked = await poor.items("tool_call")
        assert thought.text == f"Noted. Now act. Not available: {', '.join(WISHED)}."
        assert (runs[2].status, asked.text) == ("completed", NO_PERMISSION)
        await rich.api.runs.cancel(ME, runs[0].id)
        await rich.settled(runs[0].id)
