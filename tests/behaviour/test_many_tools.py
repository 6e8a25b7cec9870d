"""More tools than a request may have: what goes out, what stays the same, and who is told what is missing."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types import limits
from pilothouse.types.api import ConfigPatch, ConversationPatch, ModelInput
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.selection import OnDemand, Selection, ServerChoice
from tests.behaviour.test_tools_on_demand import add_server
from tests.support.chats import ME, Chat, open_chat
from tests.support.request_prefix import check_extends
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.wire_writers import Call, Say, Text

BOUND = limits.TOOLS_PER_REQUEST["openai-compatible"]


async def add_many(chat: Chat, folder: Path, name: str, count: int, description: str = "Does it.") -> None:
    """Add a server with so many tools, and let its tools be learned."""
    tools = [
        {"name": f"tool{number:03}", "description": description, "inputSchema": {"type": "object"}}
        for number in range(count)
    ]
    await add_server(chat, folder, name, tools)


async def use(chat: Chat, endpoint: Endpoint, window: int = 1_000_000, *, on_demand: OnDemand = "never") -> None:
    """Have an endpoint answer; it is sent all the tools that fit, unless it is to look for them."""
    await chat.api.settings.update(ME, ConfigPatch(tools_on_demand=on_demand))
    model = ModelInput(
        name="m", id="m", provider="openai-compatible", model="m", base_url=endpoint.url, context_window=window
    )
    await chat.use(model)
    await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))


async def select(chat: Chat, selection: Selection) -> None:
    now: ConversationSettings = (await chat.snapshot()).conversation.settings
    changed = ConversationSettings(model_id=now.model_id, selection=selection)
    await chat.api.conversations.update(ME, chat.id, ConversationPatch(settings=changed))


def names(body: Any) -> list[str]:
    return [tool["function"]["name"] for tool in body["tools"]]


def said() -> Reply:
    return Reply(Say((Text(["Done."]),)))


async def notices(chat: Chat) -> list[str]:
    return [item.text for item in await chat.items("notice") if item.raw.get("code") == "tools_left_out"]


async def test_no_request_has_more_tools_than_the_provider_takes_and_everyone_is_told(
    home: Path, tmp_path: Path
) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        await add_many(chat, tmp_path, "alpha", 100)
        await add_many(chat, tmp_path, "beta", 100)
        await use(chat, endpoint)
        call = Say((Call("call_1", "beta__tool003", "{}"),), stop="tool")
        endpoint.answer(Reply(call), said(), said())
        assert (await chat.say("One", allow=("beta.*",))).status == "completed"
        assert (await chat.say("Two")).status == "completed"
        bodies = [json.loads(request.body) for request in endpoint.requests]
        offered = names(bodies[0])
        # One place is kept for looking back, once there is a summary.
        assert len(offered) == BOUND - 1
        assert "think" in offered
        # Both servers have their share.
        assert {name.partition("__")[0] for name in offered if "__" in name} == {"alpha", "beta"}
        assert "left out: " in bodies[0]["messages"][0]["content"]
        assert "of “beta”" in bodies[0]["messages"][0]["content"]
        for before, after in itertools.pairwise(endpoint.requests):
            check_extends(before.body, after.body)
        (told,) = await notices(chat)
        assert "of 200 tools of servers. Left out: " in told


async def test_pinned_and_named_tools_go_first_and_room_for_all_is_told(home: Path, tmp_path: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        await add_many(chat, tmp_path, "alpha", 200)
        await use(chat, endpoint)
        endpoint.answer(said(), said(), said())
        await select(chat, Selection(pinned=("alpha.tool199",)))
        await chat.say("One")
        offered = names(json.loads(endpoint.requests[-1].body))
        assert ("alpha__tool199" in offered, "alpha__tool198" in offered, len(offered)) == (True, False, BOUND - 1)
        assert len(await notices(chat)) == 1
        await select(chat, Selection(servers=(ServerChoice("alpha", ("tool198", "tool197")),)))
        await chat.say("Two")
        offered = names(json.loads(endpoint.requests[-1].body))
        assert [name for name in offered if "__" in name] == ["alpha__tool197", "alpha__tool198"]
        assert (await notices(chat))[-1] == "There is room for all tools of servers again."


async def test_tools_take_no_more_than_a_share_of_the_window(home: Path, tmp_path: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        await add_many(chat, tmp_path, "wordy", 60, description="word " * 200)
        window = 40_000
        await use(chat, endpoint, window)
        endpoint.answer(said())
        assert (await chat.say("One")).status == "completed"
        body = json.loads(endpoint.requests[-1].body)
        tokens = len(json.dumps(body["tools"])) / limits.CHARS_PER_TOKEN
        assert 0 < len([name for name in names(body) if "__" in name]) < 60
        assert tokens < limits.TOOLS_SHARE * window * 1.2
        assert "of “wordy”" in (await notices(chat))[0]


@pytest.mark.parametrize("count", [3, 100])
async def test_where_there_is_room_for_all_nothing_is_said(home: Path, tmp_path: Path, count: int) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        await add_many(chat, tmp_path, "alpha", count)
        await use(chat, endpoint)
        endpoint.answer(said())
        await chat.say("One")
        body = json.loads(endpoint.requests[-1].body)
        assert len([name for name in names(body) if "__" in name]) == count
        assert "left out" not in body["messages"][0]["content"]
        assert await notices(chat) == []
