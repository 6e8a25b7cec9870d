"""Keys and checks of servers over HTTP, as the page asks for them."""

from __future__ import annotations

import asyncio
import json
import shlex
from typing import Any

import httpx2
import psutil
import pytest

from tests.support.in_process_server import BEARER, RunningServer
from tests.support.mcp_servers import scripted
from tests.support.waiting import eventually

KEY = "a-key-of-the-tests"


async def post(server: RunningServer, path: str, body: dict[str, Any], status: int = 200) -> dict[str, Any]:
    answer = await server.http.post(path, json=body, headers=BEARER, timeout=60)
    assert answer.status_code == status, answer.text
    return dict(answer.json())


def children() -> set[int]:
    return {each.pid for each in psutil.Process().children(recursive=True)}


@pytest.mark.case("AUT-06", "AUT-08", "AUT-09", "AUT-10", "AUT-11")
async def test_a_server_is_checked_kept_and_called_with_keys_that_nobody_named(
    server: RunningServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # Elsewhere than the data folder, whose files are nobody's keys.
    file = tmp_path_factory.mktemp("own") / "team"
    file.write_text(f"  {KEY}-of-a-file\n")
    file.chmod(0o600)
    typed: dict[str, Any] = {
        "name": "Slack",
        "commandLine": shlex.join(scripted("--wants", "SLACK_BOT_TOKEN,SLACK_TEAM_ID")),
    }
    asked = await post(server, "/api/servers/check", {"server": typed})
    fingerprint = asked["consent"]["fingerprint"]
    failed = await post(server, "/api/servers/check", {"server": typed, "fingerprint": fingerprint})
    assert (failed["ok"], failed["message"]) == (False, "“Slack” needs its Slack bot token and Slack team ID.")
    assert [(key["label"], key["source"]) for key in failed["keys"]] == [
        ("Slack bot token", "missing"),
        ("Slack team ID", "missing"),
    ]
    token, team = (key["id"] for key in failed["keys"])
    typed["keys"] = {token: {"value": KEY}, team: {"file": str(file)}}
    checked = await post(server, "/api/servers/check", {"server": typed, "fingerprint": fingerprint})
    assert (checked["ok"], checked["consent"]) == (True, None), checked
    assert "echo" in [tool["name"] for tool in checked["tools"]]
    assert (await server.http.get("/api/servers", headers=BEARER)).json()["servers"] == []
    kept = await post(server, "/api/servers", typed, 201)
    assert kept["consent"]["fingerprint"] == checked["fingerprint"]
    await post(server, f"/api/servers/{kept['id']}/consent", {"fingerprint": checked["fingerprint"]})
    assert (await post(server, f"/api/servers/{kept['id']}/test", {}))["ok"]
    tried = await post(server, "/api/tools/try", {"serverId": kept["id"], "tool": "env", "arguments": {}})
    # What a person is shown is masked; how long each is shows that it arrived.
    assert KEY not in tried["text"]
    seen = json.loads(tried["text"])
    assert (seen["SLACK_BOT_TOKEN"], seen["SLACK_TEAM_ID"]) == ("[redacted]", "[redacted]")
    shown = (await server.http.get("/api/servers", headers=BEARER)).json()["servers"][0]["keys"]
    assert {(key["label"], key["source"], key["path"]) for key in shown} == {
        ("Slack bot token", "pasted", ""),
        ("Slack team ID", "file", str(file)),
    }
    told = b"".join(path.read_bytes() for path in server.home.rglob("*") if path.is_file())
    assert KEY.encode() not in told


@pytest.mark.slow
async def test_a_check_ends_with_the_client_that_asked_for_it(server: RunningServer) -> None:
    typed = {"name": "Slow", "commandLine": shlex.join(scripted("--start", "silent", "--spawn", "--ignore-term"))}
    before = children()
    asked = await post(server, "/api/servers/check", {"server": typed})
    body = {"server": typed, "fingerprint": asked["consent"]["fingerprint"]}
    async with httpx2.AsyncClient(base_url=server.http.base_url, headers=BEARER, trust_env=False) as leaving:
        asking = asyncio.create_task(leaving.post("/api/servers/check", json=body, timeout=60))

        async def started() -> bool:
            return len(children() - before) > 1

        await eventually(started, "the server and what it starts")
        asking.cancel()
        await asyncio.wait([asking])

    async def ended() -> bool:
        return children() <= before

    await eventually(ended, "everything that the check started to end")
    assert (await server.http.get("/api/servers", headers=BEARER)).json()["servers"] == []
