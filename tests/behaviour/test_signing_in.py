"""A call that meets a server which wants a sign-in waits for the person, and goes on by itself once they have."""

from __future__ import annotations

from pathlib import Path

import pytest

from pilothouse.net.client import fetch
from pilothouse.types.host import ClientApi
from pilothouse.types.item_data import ElicitationData, QuestionData
from pilothouse.types.items import is_a
from pilothouse.types.servers import ServerInput, ServerView
from pilothouse.types.sign_ins import SignInAnswer, SignInStart
from tests.support.chats import ME, PATIENCE, Chat, open_chat
from tests.support.fake_issuer import OneTool
from tests.support.sign_ins import SignInSetting, open_sign_in
from tests.support.waiting import eventually

BACK = "http://127.0.0.1:41999/oauth/callback"
LOOK = {"call": "one__look", "arguments": {}}
TURNS = [[LOOK], "It was seen."]
MODE = {"mode": "auto_approve"}


async def sign_in(api: ClientApi) -> ServerView:
    begun = await api.servers.begin_sign_in(ME, "One", SignInStart(redirect_uri=BACK))
    reply = await fetch(begun.url, timeout=PATIENCE, limit=1024)
    return await api.servers.finish_sign_in(ME, SignInAnswer(address=reply.headers["location"]))


async def connected(api: ClientApi, setting: SignInSetting) -> None:
    """Add the server and sign in, so that its tool is known."""
    await api.servers.add(ME, ServerInput(name="One", command_line=setting.resource.mcp))
    await sign_in(api)

    async def up() -> bool:
        return (await api.servers.list(ME)).servers[0].state == "connected"

    await eventually(up, "the server to be connected")


def spoil(setting: SignInSetting) -> None:
    """Make every token worthless."""
    setting.issuer.valid.clear()
    setting.issuer.refreshable.clear()


async def ended(chat: Chat, run_id: str) -> None:
    async def look() -> bool:
        return (await chat.api.runs.get(ME, run_id)).status == "completed"

    await eventually(look, "the run to go on by itself")


@pytest.mark.case("AUT-16", "F-25")
async def test_a_call_waits_for_a_sign_in_and_goes_on_by_itself(home: Path) -> None:
    async with open_sign_in(OneTool) as setting, open_chat(home, TURNS, settings=MODE) as chat:
        await connected(chat.api, setting)
        spoil(setting)
        run = await chat.say()
        assert run.status == "waiting"
        [question] = await chat.items("question")
        assert is_a(question, QuestionData)
        assert isinstance(question.data, ElicitationData)
        assert (question.data.mode, question.data.server) == ("sign_in", "One")
        assert "asks you to sign in again" in question.text
        await sign_in(chat.api)
        await ended(chat, run.id)
        assert (await chat.texts("response"))[-1] == "It was seen."
        assert isinstance(setting.resource, OneTool)
        assert setting.resource.calls == 1


@pytest.mark.case("AUT-16")
async def test_it_goes_on_by_itself_also_after_a_restart(home: Path) -> None:
    async with open_sign_in(OneTool) as setting:
        async with open_chat(home, TURNS, settings=MODE, at_rest=False) as chat:
            await connected(chat.api, setting)
            spoil(setting)
            run = await chat.say()
            assert run.status == "waiting"
        async with open_chat(home, TURNS) as again:
            await sign_in(again.api)
            await ended(Chat(again.host, run.conversation_id, again.script), run.id)
        assert isinstance(setting.resource, OneTool)
        assert setting.resource.calls == 1
