"""Servers that people really use, each with its own idea of the protocol: found out, listed, called, closed."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from pilothouse import __version__
from pilothouse.mcp.client.channel import Channel
from pilothouse.mcp.client.session import InputRequired, RpcError, Session, SessionOptions, connect
from pilothouse.mcp.client.transports.detection import channel_to
from pilothouse.mcp.client.transports.remote import Target
from pilothouse.mcp.client.transports.stdio import Launch, Stdio
from pilothouse.mcp.servers.quarantine import reasons
from pilothouse.types.json import JsonObject
from pilothouse.types.servers import ServerInput
from tests.support import real_servers
from tests.support.mcp_hosting import open_mcp_host, text
from tests.support.tiny_http import site

MODERN = "2026-07-28"


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """A server, how to start it in a folder, what it speaks and has, and a call with what its answer says.

    No answer is named for servers whose tools need the network.
    """

    argv: Callable[[Path], list[str]]
    version: str
    tools: int
    tool: str
    arguments: Callable[[Path], JsonObject]
    answer: str = ""


SERVERS = {
    "everything": Known(
        argv=lambda folder: real_servers.everything(),
        version="2025-11-25",
        tools=14,
        tool="echo",
        arguments=lambda folder: {"message": "ahoy"},
        answer="ahoy",
    ),
    "filesystem": Known(
        argv=real_servers.filesystem,
        version="2025-11-25",
        tools=14,
        tool="list_directory",
        arguments=lambda folder: {"path": str(folder)},
        answer="note.txt",
    ),
    "memory": Known(
        argv=lambda folder: real_servers.memory(),
        version="2025-11-25",
        tools=9,
        tool="read_graph",
        arguments=lambda folder: {},
        answer="entities",
    ),
    "sequential-thinking": Known(
        argv=lambda folder: real_servers.sequential_thinking(),
        version="2025-11-25",
        tools=1,
        tool="sequentialthinking",
        arguments=lambda folder: {
            "thought": "one",
            "nextThoughtNeeded": False,
            "thoughtNumber": 1,
            "totalThoughts": 1,
        },
        answer="thoughtNumber",
    ),
    "github": Known(
        argv=lambda folder: real_servers.github(),
        version="2024-11-05",
        tools=26,
        tool="search_repositories",
        arguments=lambda folder: {"query": "x"},
    ),
    "context7": Known(
        argv=lambda folder: real_servers.context7(),
        version=MODERN,
        tools=2,
        tool="resolve-library-id",
        arguments=lambda folder: {"query": "x", "libraryName": "x"},
    ),
    "git": Known(
        argv=real_servers.git,
        version=MODERN,
        tools=12,
        tool="git_status",
        arguments=lambda folder: {"repo_path": str(folder)},
        answer="note.txt",
    ),
    "time": Known(
        argv=lambda folder: real_servers.time(),
        version=MODERN,
        tools=2,
        tool="get_current_time",
        arguments=lambda folder: {"timezone": "UTC"},
        answer="UTC",
    ),
}


@asynccontextmanager
async def connected(channel: Channel) -> AsyncIterator[Session]:
    session = await connect(channel, SessionOptions(client_version=__version__, probe_timeout=20.0))
    try:
        yield session
    finally:
        await session.close()


async def used(session: Session, tool: str, arguments: JsonObject) -> tuple[int, str]:
    """Return how many good tools it lists, and what a call gives as text."""
    listed = (await session.list_tools()).tools
    good = [one["name"] for one, reason in zip(listed, reasons(listed), strict=True) if not reason]
    assert tool in good
    try:
        result = await session.call_tool(tool, arguments)
    except RpcError as error:
        # What some say when the network behind them is away.
        return len(good), error.message
    assert not isinstance(result, InputRequired)
    return len(good), msgspec.json.encode(result).decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with a file in it."""
    place = tmp_path / "place"
    place.mkdir()
    (place / "note.txt").write_text("hello")
    subprocess.run(["git", "init", "-q", place], check=True)
    return place


@pytest.mark.parametrize("name", SERVERS)
async def test_a_server_over_standard_input_is_understood(name: str, folder: Path) -> None:
    known = SERVERS[name]
    async with connected(Stdio(Launch(argv=known.argv(folder), cwd=str(folder)))) as session:
        assert session.facts.protocol_version == known.version
        count, said = await used(session, known.tool, known.arguments(folder))
        assert count == known.tools
        assert known.answer in said


async def test_the_server_that_fetches_gets_what_is_on_this_machine(folder: Path) -> None:
    async with (
        site({"/page": (200, b"<html><body><p>a page of ours</p></body></html>")}) as page,
        connected(Stdio(Launch(argv=real_servers.fetch()))) as session,
    ):
        assert session.facts.protocol_version == MODERN
        count, said = await used(session, "fetch", {"url": f"{page.url}/page", "raw": True})
        assert count == 1
        assert "a page of ours" in said


@pytest.mark.parametrize(("wire", "tools"), [("streamable", 14), ("sse", 14)])
async def test_the_same_server_is_found_over_both_kinds_of_http(wire: str, tools: int) -> None:
    with real_servers.everything_over("sse" if wire == "sse" else "streamable") as url:
        channel = channel_to(Target(url=url))
        async with connected(channel) as session:
            assert channel.found.wire == wire
            count, said = await used(session, "echo", {"message": "ahoy"})
            assert count == tools
            assert "ahoy" in said


async def test_the_filesystem_server_works_in_the_conversations_folder_while_no_other_shares_it(
    home: Path, tmp_path: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    command, *args = real_servers.filesystem(tmp_path)
    async with open_mcp_host(home) as hosted:
        await hosted.add(ServerInput(name="Files", command=command, args=tuple(args)))
        await hosted.tools_when_known("files.list_allowed_directories")

        async def allowed(folder: Path, conversation: str = "c1") -> str:
            called = await hosted.call("files.list_allowed_directories", conversation=conversation, folder=str(folder))
            return text(called).removeprefix("Allowed directories:\n")

        assert [await allowed(one), await allowed(two)] == [str(one), str(two)]
        # Two conversations in different folders: what the person agreed to, for both.
        assert [await allowed(one, "c2"), await allowed(two)] == [str(tmp_path)] * 2
