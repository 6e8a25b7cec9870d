"""The conversation's folder is told to a local server whose consent names it, and only while all share that folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pilothouse.mcp.servers.roots import roots_of
from pilothouse.types.servers import ServerInput
from tests.mcp.conftest import Scripted
from tests.support.mcp_gateway import Brain, Streamable
from tests.support.mcp_hosting import McpHost
from tests.support.tiny_http import TinyHttp
from tests.support.waiting import eventually

ASKS = '{"jsonrpc":"2.0","id":"$N","method":"roots/list"}'


class Told:
    """What a server was told, by its record; `ask` lets it ask for its roots."""

    def __init__(self, hosted: McpHost, record: Path) -> None:
        self.hosted, self.record, self._asked = hosted, record, 0

    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.record.read_text().splitlines()]

    def _count(self, method: str) -> int:
        return sum(each.get("method") == method for each in self.messages())

    @property
    def changes(self) -> int:
        return self._count("notifications/roots/list_changed")

    @property
    def starts(self) -> int:
        return self._count("initialize")

    async def roots(self, folder: str | None, conversation: str = "c1") -> list[str]:
        """Call from a conversation in this folder, and let the server ask for its roots."""
        self._asked += 1
        name = f"r{self._asked}"
        line = ASKS.replace("$N", name) + '\n{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}'
        await self.hosted.call("scripted.raw", {"line": line}, conversation=conversation, folder=folder)

        async def answer() -> dict[str, Any] | None:
            return next((each for each in self.messages() if each.get("id") == name), None)

        answered = await eventually(answer, "the answer to roots/list")
        return [root["uri"] for root in answered["result"]["roots"]] if "result" in answered else ["not offered"]


async def add_recording_server(hosted: McpHost, scripted: Scripted, tmp_path: Path, **more: Any) -> Told:
    record = tmp_path / "record"
    await hosted.add(scripted("--record", str(record), **more))
    await hosted.tools_when_known("scripted.raw")
    return Told(hosted, record)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    for name in ("one", "two"):
        (folder / name).mkdir(parents=True)
    return folder


async def test_a_folder_that_the_consent_names_is_a_root_while_all_conversations_share_it(
    hosted: McpHost, scripted: Scripted, tmp_path: Path, work: Path
) -> None:
    server = await add_recording_server(hosted, scripted, tmp_path, cwd=str(work))
    one, two = str(work / "one"), str(work / "two")
    assert await server.roots(one) == [(work / "one").as_uri()]
    assert await server.roots(one, "c2") == [(work / "one").as_uri()]
    # What was told cannot be taken back from every server: it begins anew, once.
    before = server.starts
    assert await server.roots(two, "c3") == []
    assert await server.roots(one) == []
    assert server.starts == before + 1
    capabilities = next(each for each in server.messages() if each.get("method") == "initialize")["params"]
    assert capabilities["capabilities"]["roots"] == {"listChanged": True}


@pytest.mark.slow
async def test_a_server_is_told_when_the_folder_is_another(
    hosted: McpHost, scripted: Scripted, tmp_path: Path, work: Path
) -> None:
    server = await add_recording_server(hosted, scripted, tmp_path, cwd=str(work))
    assert await server.roots(str(work / "one")) == [(work / "one").as_uri()]
    before = server.changes
    assert await server.roots(str(work / "two")) == [(work / "two").as_uri()]
    assert await server.roots(str(work / "two")) == [(work / "two").as_uri()]
    assert (server.changes, server.starts) == (before + 1, 1)


async def test_a_conversation_without_a_folder_shares_none(
    hosted: McpHost, scripted: Scripted, tmp_path: Path, work: Path
) -> None:
    server = await add_recording_server(hosted, scripted, tmp_path, cwd=str(work))
    assert await server.roots(str(work)) == [work.as_uri()]
    assert await server.roots(None, "c2") == []


async def test_each_conversation_has_its_own_where_each_has_a_process(
    hosted: McpHost, scripted: Scripted, tmp_path: Path, work: Path
) -> None:
    server = await add_recording_server(hosted, scripted, tmp_path, cwd=str(work), per_conversation=True)
    for name, conversation in (("one", "c1"), ("two", "c2"), ("one", "c1")):
        assert await server.roots(str(work / name), conversation) == [(work / name).as_uri()]


async def test_a_folder_that_the_consent_does_not_name_is_not_told(
    hosted: McpHost, scripted: Scripted, tmp_path: Path, work: Path
) -> None:
    server = await add_recording_server(hosted, scripted, tmp_path)
    assert await server.roots(str(work)) == ["not offered"]


def test_what_names_a_folder(scripted: Scripted, work: Path) -> None:
    def roots_for(*args: str, folder: Path = work / "one", **more: Any) -> tuple[str, ...]:
        from pilothouse.mcp.servers.forms import drafted

        return roots_of(drafted(ServerInput(command="server", args=args, **more), "one").entry, str(folder))

    uri = ((work / "one").as_uri(),)
    for args in (str(work), f"--root={work}/", str(work / "one")):
        assert roots_for(args) == uri
    assert roots_for(cwd=str(work)) == uri
    assert roots_for() == roots_for(str(work / "two")) == roots_for(f"{work}/one/x") == roots_for("work") == ()
    # The person named another one for it: both are told.
    assert roots_for(str(work), roots=("/srv/data",)) == ("file:///srv/data", *uri)


async def test_a_server_elsewhere_is_told_of_no_folder_of_a_conversation(hosted: McpHost, work: Path) -> None:
    async with TinyHttp(Streamable(Brain())) as gateway:
        await hosted.add(ServerInput(name="Far", url=gateway.url))
        assert roots_of(hosted.server("Far").entry, str(work)) == ()
