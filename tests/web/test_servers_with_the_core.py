"""Servers over the real core: a real file, a real process behind it, real results."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pilothouse.host.following import Following
from pilothouse.host.service import HostService
from pilothouse.types.api import Answer
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.json import JsonObject
from tests.support.in_process_server import BEARER, PATIENCE, Reach, serve_folder
from tests.support.mcp_servers import scripted


async def ask(server: Reach, method: str, path: str, body: object = None, *, status: int = 200) -> Any:
    """Make a request and return what it answers."""
    sent = {} if body is None else {"json": body}
    answer = await server.http.request(method, path, headers=BEARER, **sent)  # type: ignore[arg-type]
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


async def add(server: Reach, *options: object, name: str = "Echo") -> str:
    """Add the scripted server, agree to its command and wait until its tools are known."""
    command, *args = scripted(*options)
    view = await ask(server, "POST", "/api/servers", {"name": name, "command": command, "args": args}, status=201)
    assert view["state"] == "needs_consent"
    given = {"fingerprint": view["consent"]["fingerprint"]}
    await ask(server, "POST", f"/api/servers/{view['id']}/consent", given)
    assert (await ask(server, "POST", f"/api/servers/{view['id']}/test"))["ok"]
    return str(view["id"])


async def run_call(api: HostService, server: Reach, folder: Path, call: JsonObject) -> JsonObject:
    """Let a scripted model make one call, allow it, and return its item."""
    script = folder / "script.json"
    script.write_text(json.dumps([[call], ["Done."]]))
    conversation = await server.new_conversation()
    body = {"text": "Go.", "modelId": f"scripted:{script}", "selection": {"servers": [{"name": "echo"}]}}
    sent = await ask(server, "POST", f"/api/conversations/{conversation}/messages", body, status=202)
    following = Following(api, await api.runs.get(LOCAL_OWNER, sent["runId"]), 0)
    async with asyncio.timeout(PATIENCE):
        async for _ in following.events():
            pass
        items = (await api.conversations.items(LOCAL_OWNER, conversation, before=None, limit=50)).items
        question = next(item for item in items if item.kind == "question")
        following.go_on(await api.questions.answer(LOCAL_OWNER, question.id, Answer(choice="allow")))
        async for _ in following.events():
            pass
    items = (await api.conversations.items(LOCAL_OWNER, conversation, before=None, limit=50)).items
    return next({"id": item.id, "status": item.status, "text": item.text} for item in items if item.kind == "tool_call")


async def path_beside_echo(server: Reach) -> str:
    """Add the server that echoes and a conversation; return the path of that."""
    await add(server)
    return f"/api/conversations/{await server.new_conversation()}"


@pytest.mark.case("NAM-09")
@pytest.mark.slow
async def test_a_selection_of_what_does_not_exist_is_refused_before_anything_is_kept(home: Path) -> None:
    async with serve_folder(home) as (_, server):
        path = await path_beside_echo(server)
        wrong = [[{"name": "nope"}], [{"name": "echo", "tools": ["nope"]}], [{"name": "echo"}, {"name": ""}]]
        for servers in wrong:
            body = {"text": "Hi", "selection": {"servers": servers}}
            problem = await ask(server, "POST", f"{path}/messages", body, status=400)
            assert (problem["code"], bool(problem["fix"])) == ("unknown_server", True)
            settings = {"settings": {"selection": {"servers": servers}}}
            await ask(server, "PATCH", path, settings, status=400)
            await ask(server, "POST", "/api/conversations", settings, status=400)
        assert (await ask(server, "GET", path))["items"] == []
        for servers in ([], [{"name": "Echo"}], [{"name": "echo", "tools": ["echo", "echo.fail", "echo__ask"]}]):
            settings = {"settings": {"selection": {"servers": servers}}}
            changed = await ask(server, "PATCH", path, settings)
            assert [one["name"] for one in changed["settings"]["selection"]["servers"]] == [
                one["name"] for one in servers
            ]


@pytest.mark.case("NAM-06")
@pytest.mark.slow
async def test_a_selection_has_two_names_that_must_not_disagree(home: Path) -> None:
    async with serve_folder(home) as (_, server):
        path = await path_beside_echo(server)
        echo: JsonObject = {"servers": [{"name": "echo"}]}
        none: JsonObject = {"servers": []}
        for where in ({"mcp_selection": echo}, {"mcp_selection": echo, "selection": echo}):
            changed = await ask(server, "PATCH", path, {"settings": where})
            assert [one["name"] for one in changed["settings"]["selection"]["servers"]] == ["echo"]
            assert "mcp_selection" not in changed["settings"]
            await ask(server, "PATCH", path, {"settings": {"selection": None}})
        both = {"selection": echo, "mcp_selection": none}
        nope = {"mcp_selection": {"servers": [{"name": "nope"}]}}
        assert (await ask(server, "POST", f"{path}/messages", {"text": "Hi", **nope}, status=400))["code"] == (
            "unknown_server"
        )
        for method, address, body in (
            ("POST", f"{path}/messages", {"text": "Hi", **both}),
            ("POST", "/api/conversations", {"settings": both}),
            ("PATCH", path, {"settings": both}),
        ):
            assert "two names for the same" in (await ask(server, method, address, body, status=400))["message"]


@pytest.mark.case("NAM-06", "NAM-07", "NAM-11")
@pytest.mark.slow
async def test_a_conversation_uses_what_is_chosen_for_it_and_a_message_what_it_chooses_itself(
    home: Path, tmp_path: Path
) -> None:
    async with serve_folder(home) as (host, server):
        await add(server)
        script = tmp_path / "script.json"
        script.write_text(json.dumps([[{"call": "echo__echo", "arguments": {"text": "hi"}}], ["Done."]]))
        only_fail, all_of_it = {"servers": [{"name": "echo", "tools": ["fail"]}]}, {"servers": [{"name": "echo"}]}
        none: JsonObject = {"servers": []}
        cases = [(None, None, True), (only_fail, None, False), (none, None, False), (only_fail, all_of_it, True)]
        for chosen, wanted, works in cases:
            settings = {"settings": {"selection": chosen}}
            made = await ask(server, "POST", "/api/conversations", settings, status=201)
            body = {"text": "Go.", "modelId": f"scripted:{script}", "selection": wanted, "allow": ["echo.*"]}
            sent = await ask(server, "POST", f"/api/conversations/{made['id']}/messages", body, status=202)
            async with asyncio.timeout(PATIENCE):
                async for _ in Following(host.api, await host.api.runs.get(LOCAL_OWNER, sent["runId"]), 0).events():
                    pass
            items = (await host.api.conversations.items(LOCAL_OWNER, made["id"], before=None, limit=50)).items
            call = next(item for item in items if item.kind == "tool_call")
            assert (call.status, call.text == "hi") == ("completed" if works else "failed", works), call.raw


@pytest.mark.case("SPAWN-07")
@pytest.mark.slow
async def test_only_the_owner_of_the_machine_defines_and_starts_commands(home: Path) -> None:
    async with serve_folder(home) as (host, server):
        stranger = await server.stranger(host.api.sessions)

        async def tried(method: str, path: str, body: object) -> int:
            return (await server.http.request(method, path, json=body, headers=stranger)).status_code

        command = {"name": "theirs", "commandLine": "touch /tmp/never"}
        assert await tried("POST", "/api/servers", command) == 403
        assert await tried("POST", "/api/servers", {"name": "theirs", "command": "touch"}) == 403
        assert await tried("POST", "/api/servers/import", {"text": '{"mcpServers": {"a": {"command": "x"}}}'}) == 403
        mine = await ask(server, "POST", "/api/servers", {**command, "name": "mine"}, status=201)
        given = {"fingerprint": mine["consent"]["fingerprint"] if mine["consent"] else ""}
        assert await tried("POST", f"/api/servers/{mine['id']}/consent", given) == 403
        assert await tried("PUT", f"/api/servers/{mine['id']}", command) == 403
        listed = (await ask(server, "GET", "/api/servers"))["servers"]
        assert [(one["name"], one["state"]) for one in listed] == [("mine", "needs_consent")]


@pytest.mark.slow
async def test_every_page_is_told_of_a_change_and_a_new_one_has_it_from_the_start(home: Path) -> None:
    async with serve_folder(home) as (_, server), server.socket() as socket, asyncio.timeout(PATIENCE):
        server_id = await add(server)
        states: list[str] = []
        while "connected" not in states:
            frame = json.loads(await socket.recv())
            if frame["op"] == "servers":
                states += [one["state"] for one in frame["servers"]["servers"] if one["id"] == server_id]
        state = await ask(server, "GET", "/api/state")
        offered = len((await ask(server, "GET", "/api/tools"))["tools"])
        assert [one["label"] for one in state["servers"]["servers"]] == [f"Connected ({offered} tools)"]
        await ask(server, "DELETE", f"/api/servers/{server_id}", status=204)
        frame = {"op": ""}
        while frame["op"] != "servers" or frame["servers"]["servers"]:
            frame = json.loads(await socket.recv())


@pytest.mark.case("CON-06")
@pytest.mark.slow
async def test_testing_a_server_connects_it_and_gives_its_tools_or_the_reason(home: Path) -> None:
    async with serve_folder(home) as (_, server):
        server_id = await add(server)
        well = await ask(server, "POST", f"/api/servers/{server_id}/test")
        offered = len((await ask(server, "GET", f"/api/servers/{server_id}/tools"))["tools"])
        assert (well["ok"], well["tools"]) == (True, offered)
        assert well["message"] == f"“Echo” answers and offers {offered} tools."
        far = await ask(server, "POST", "/api/servers", {"url": "http://127.0.0.1:9/mcp"}, status=201)
        ill = await ask(server, "POST", f"/api/servers/{far['id']}/test")
        assert (ill["ok"], ill["tools"], bool(ill["fix"])) == (False, 0, True)
        assert "127.0.0.1" in ill["message"]


@pytest.mark.case("UI-07")
@pytest.mark.slow
async def test_a_result_and_its_picture_are_fetched_by_their_owner_only(home: Path, tmp_path: Path) -> None:
    async with serve_folder(home) as (host, server):
        await add(server)
        call = await run_call(host.api, server, tmp_path, {"call": "echo__image", "arguments": {}})
        assert call["status"] == "completed"
        result = await ask(server, "GET", f"/api/calls/{call['id']}/result")
        image = next(part for part in result["parts"] if part["kind"] == "image")
        path = f"/api/items/{call['id']}/parts/{image['index']}"
        answer = await server.http.get(path, headers=BEARER)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
        assert answer.content.startswith(b"\x89PNG")
        assert len(answer.content) == image["bytes"]
        assert (await server.http.get(f"/api/items/{call['id']}/parts/99", headers=BEARER)).status_code == 404
        stranger = await server.stranger(host.api.sessions)
        assert (await server.http.get(path, headers=stranger)).status_code == 404


@pytest.mark.slow
async def test_messages_are_recorded_while_the_person_wants_it(home: Path) -> None:
    async with serve_folder(home) as (_, server):
        server_id = await add(server)
        assert not (await ask(server, "GET", "/api/traffic"))["recording"]
        assert (await ask(server, "PUT", "/api/traffic", {"recording": True}))["recording"]
        tried = {"serverId": server_id, "tool": "echo", "arguments": {"text": "over the wire"}}
        assert (await ask(server, "POST", "/api/tools/try", tried))["text"] == "over the wire"
        page = await ask(server, "GET", f"/api/traffic?server={server_id}")
        kinds = [(one["direction"], one["kind"], one["method"]) for one in page["messages"]]
        assert ("out", "request", "tools/call") in kinds
        assert any(direction == "in" and kind == "response" for direction, kind, _ in kinds)
        assert (await ask(server, "GET", f"/api/traffic?after={page['lastSeq']}"))["messages"] == []
        await ask(server, "PUT", "/api/traffic", {"recording": False})
