"""What a run is offered: each conversation its own tools, also while others are at work beside it."""

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
from tests.support.chatting import ME, Chat, chatting
from tests.support.waiting import eventually

SERVER = Path(__file__).parent.parent / "support" / "mcp_servers" / "scripted.py"
WISHED = ["file_operations", "scripted__echo", "scripted.echo", "magic"]
LEAVE = {"prompt": "May I?", "authorize_operation": "file_operations.create_file"}


def thinking_then_asking(until: Path) -> list[Any]:
    """Wait for a file, think about tools, ask for leave."""
    thought = {"call": "think", "arguments": {"thoughts": "Hm.", "requested_tools": WISHED}}
    asking = {"call": "user_collaboration", "arguments": LEAVE}
    return [[{"text": "Let me see."}, {"wait": 15, "until": str(until)}, thought], [asking], "Done."]


async def another(chat: Chat, **settings: Any) -> Chat:
    """Return a further conversation of the same host, with the same script."""
    chosen = ConversationSettings(model_id=f"scripted:{chat.script}", **settings)
    conversation = await chat.api.create_conversation(ME, NewConversation(settings=chosen))
    return Chat(chat.host, conversation.id, chat.script)


async def has_begun(chat: Chat, run_id: str) -> bool:
    return any(item.run_id == run_id and item.kind != "user_message" for item in await chat.items())


@pytest.mark.case("UTL-01")
async def test_conversations_side_by_side_are_each_told_of_their_own_tools(home: Path, tmp_path: Path) -> None:
    go, folder = tmp_path / "go", tmp_path / "project"
    folder.mkdir()
    few = Selection(servers=(), built_in=("think", "user_collaboration"))
    async with chatting(home, thinking_then_asking(go), settings={"working_directory": str(folder)}) as rich:
        added = await rich.api.add_server(ME, ServerInput(name="Scripted", command=sys.executable, args=(str(SERVER),)))
        assert added.consent is not None
        await rich.api.consent_server(ME, added.id, ConsentGiven(fingerprint=added.consent.fingerprint))
        assert (await rich.api.test_server(ME, added.id)).ok
        poor = await another(rich, selection=few)
        # Both have their tools before either calls one; the poor one was the last to ask for them.
        begun = [await chat.send() for chat in (rich, poor)]
        for chat, sent in zip((rich, poor), begun, strict=True):
            await eventually(partial(has_begun, chat, sent.run_id), "a model at work")
        go.touch()
        runs = [await chat.settled(sent.run_id) for chat, sent in zip((rich, poor), begun, strict=True)]
        thought, asked = await rich.items("tool_call")
        assert thought.text == (
            "Noted. Now act. Available: file_operations, scripted__echo, scripted.echo. Not available: magic."
        )
        assert (runs[0].status, asked.status) == ("waiting", "waiting")
        thought, asked = await poor.items("tool_call")
        assert thought.text == f"Noted. Now act. Not available: {', '.join(WISHED)}."
        assert asked.text == "There is no operation file_operations.create_file that leave can be asked for."
        assert runs[1].status == "completed"
        await rich.api.cancel_run(ME, runs[0].id)
        await rich.settled(runs[0].id)
