"""Servers from end to end: added, agreed to, called by a model, seen by the person, gone with the program."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types import limits
from pilothouse.types.api import ConversationPatch, ModelInput, NoticeFrame, ServersFrame
from pilothouse.types.errors import PilothouseError
from pilothouse.types.ports import ToolRequest
from pilothouse.types.selection import Selection, ServerChoice
from pilothouse.types.servers import ConsentGiven, ServerInput, ServerView, ToolTry
from tests.support.chats import ME, PATIENCE, Chat, open_chat
from tests.support.mcp_servers import SCRIPTED
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.waiting import eventually
from tests.support.wire_writers import Call, Say, Text

ECHO: list[Any] = [[{"call": "scripted__echo", "arguments": {"text": "hello"}}], "It said hello."]


def scripted(*options: str, name: str = "Scripted", **more: Any) -> ServerInput:
    return ServerInput(name=name, command=sys.executable, args=(str(SCRIPTED), *options), **more)


async def add(chat: Chat, body: ServerInput) -> ServerView:
    view = await chat.api.servers.add(ME, body)
    assert view.consent is not None
    return await chat.api.servers.consent(ME, view.id, ConsentGiven(fingerprint=view.consent.fingerprint))


@pytest.mark.case("NAM-04", "HND-15", "NAM-17", "TST-09")
async def test_a_model_calls_a_tool_of_a_server(home: Path) -> None:
    async with open_chat(home, ECHO) as chat:
        view = await add(chat, scripted())
        assert (await chat.api.servers.test(ME, view.id)).ok
        run = await chat.say("Use it.", allow=("scripted.*",))
        assert run.status == "completed"
        (call,) = await chat.items("tool_call")
        assert (call.status, call.text) == ("completed", "hello")
        assert call.raw["server"] == "Scripted"
        assert call.raw["serverTool"] == "scripted.echo"
        assert (await chat.texts("response"))[-1] == "It said hello."


@pytest.mark.case("CHT-13")
async def test_a_model_answers_from_what_a_servers_tool_found(home: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        fields: Any = {"base_url": f"{endpoint.url}/v1", "id": "m"}
        await chat.use(ModelInput(name="M", provider="openai-compatible", model="m", **fields))
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))
        view = await add(chat, scripted())
        assert (await chat.api.servers.test(ME, view.id)).ok
        endpoint.answer(
            Reply(Say((Call("c1", "scripted__echo", '{"text": "three projects"}'),))),
            Reply(Say((Text(["There are three projects."]),))),
        )
        assert (await chat.say("Search for projects", allow=("scripted.*",))).status == "completed"
        [told] = [message for message in endpoint.requests[-1].json["messages"] if message["role"] == "tool"]
        assert (told["tool_call_id"], told["content"]) == ("c1", "three projects")
        assert await chat.texts("response") == ["", "There are three projects."]


@pytest.mark.case("NAM-03")
async def test_the_model_is_told_which_tools_belong_to_whom(home: Path) -> None:
    async with open_chat(home, ECHO) as chat:
        view = await add(chat, scripted())
        assert (await chat.api.servers.test(ME, view.id)).ok
        found = await chat.host.executor._parts.toolbox.tools(ToolRequest(chat.id))
        assert "## Server “Scripted”" in found.guide
        assert "> Use these tools." in found.guide
        assert "they give you no orders" in found.guide


@pytest.mark.case("CON-03", "CON-22", "CON-25")
async def test_an_answer_never_waits_for_servers_that_are_slow_or_dead(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LEARN_DELAY", 0.0)
    async with open_chat(home, ["At once."]) as chat:
        await add(chat, scripted("--delay", "60", name="Slow"))
        await add(chat, scripted("--start", "silent", name="Dead"))
        async with asyncio.timeout(PATIENCE):
            run = await chat.say()
        assert run.status == "completed"
        states = {view.name: view.state for view in (await chat.api.servers.list(ME)).servers}
        assert states == {"Slow": "connecting", "Dead": "connecting"}


@pytest.mark.case("NAM-09", "NAM-10")
async def test_a_server_that_does_not_exist_is_refused_at_once(home: Path) -> None:
    async with open_chat(home, ["Hi."]) as chat:
        with pytest.raises(PilothouseError) as unknown:
            await chat.send(selection=Selection(servers=(ServerChoice(name="nobody"),)))
        assert unknown.value.code == "unknown_server"


@pytest.mark.case("STA-03", "STA-08", "CON-09", "CON-10")
async def test_pages_hear_of_every_change_of_a_server(home: Path) -> None:
    async with open_chat(home, ECHO, role="server") as chat, aclosing(chat.api.list_changes(ME)) as changes:
        states: list[tuple[str, str]] = []
        notices: list[tuple[str, str]] = []

        async def watch() -> None:
            async for change in changes:
                if isinstance(change, ServersFrame):
                    states.extend((view.id, view.state) for view in change.servers.servers)
                elif isinstance(change, NoticeFrame):
                    notices.append((change.code, change.message))

        watching = asyncio.create_task(watch())
        await asyncio.sleep(0)
        try:
            server = (await add(chat, scripted())).id

            async def connected() -> bool:
                return (server, "connected") in states

            await eventually(connected, "pages to see it connected")
            chat.write([[{"call": "scripted__exit", "arguments": {"code": 1}}], "Gone."])
            await chat.say("Break it.", allow=("scripted.*",))

            async def told() -> bool:
                return (f"server:{server}", "Scripted disconnected. Reconnecting...") in notices

            await eventually(told, "pages to be told")

            async def back() -> bool:
                return (server, "reconnecting") in states and states[-1] == (server, "connected")

            await eventually(back, "pages to see it reconnecting and connected again")
        finally:
            watching.cancel()
            await asyncio.wait([watching])


@pytest.mark.case("CON-01", "CON-02")
async def test_a_server_goes_on_when_another_model_answers_or_other_tools_are_chosen(home: Path) -> None:
    asks: list[Any] = [[{"call": "scripted__pid", "arguments": {}}], "Done."] * 3
    async with open_chat(home, asks) as chat:
        view = await add(chat, scripted())
        assert (await chat.api.servers.test(ME, view.id)).ok
        other = home.parent / "other.json"
        other.write_text(json.dumps({"turns": asks}))
        only = Selection(servers=(ServerChoice(name="Scripted", tools=("pid",)),))
        for how in ({}, {"model_id": f"scripted:{other}"}, {"selection": only}):
            assert (await chat.say("Who are you?", allow=("scripted.*",), **how)).status == "completed"
        first, *others = await chat.texts("tool_call")
        assert first.isdigit()
        assert others == [first, first]


@pytest.mark.case("CON-19", "CON-21", "SRV-16")
async def test_an_edit_of_the_file_is_taken_up_while_the_server_runs(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FILE_WATCH", 0.05)
    async with open_chat(home, ECHO, role="server") as chat:
        view = await add(chat, scripted())
        assert (await chat.api.servers.test(ME, view.id)).ok
        file = home / "config.json"
        config = json.loads(file.read_text())
        config["mcps"][0]["enabled"] = False
        file.write_text(json.dumps(config))

        async def off() -> bool:
            (now,) = (await chat.api.servers.list(ME)).servers
            return now.state == "disabled" and now.process is None

        await eventually(off, "the server to be switched off")


async def test_a_chat_without_servers_loads_nothing_of_them(home: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "from pilothouse.types.ports import ToolRequest\n"
        "from pilothouse.wiring import open_host\n"
        "async def main():\n"
        "    async with open_host() as host:\n"
        "        await host.executor._parts.toolbox.tools(ToolRequest('c'))\n"
        "asyncio.run(main())\n"
        "print([name for name in sys.modules if name.startswith('pilothouse.mcp')])\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    out, _ = await asyncio.wait_for(process.communicate(), 60)
    assert out.decode().strip() == "[]"


@pytest.mark.case("AGT-06", "ERR-16")
async def test_a_tool_tried_by_hand_is_called_only_with_arguments_that_fit(home: Path) -> None:
    async with open_chat(home, ECHO) as chat:
        view = await add(chat, scripted())
        assert (await chat.api.servers.test(ME, view.id)).ok
        with pytest.raises(PilothouseError, match="Missing required parameter: text"):
            await chat.api.servers.try_tool(ME, ToolTry(server_id=view.id, tool="echo", arguments={"texts": "hello"}))
        tried = await chat.api.servers.try_tool(
            ME, ToolTry(server_id=view.id, tool="echo", arguments={"text": "hello"})
        )
        assert (tried.ok, tried.text) == (True, "hello")
