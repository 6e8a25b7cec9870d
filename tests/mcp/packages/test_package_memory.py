"""The memory of a server: measured with all that it started, and said where it is much."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from pilothouse.types.servers import ServerInput, ServerView
from tests.mcp.packages.tiny_server import where
from tests.support import real_servers
from tests.support.mcp_hosting import McpHost
from tests.support.package_indexes import NODE_SERVER
from tests.support.waiting import eventually

# Each installs a package.
pytestmark = pytest.mark.slow


@pytest.mark.case("PRF-02")
@pytest.mark.parametrize(
    ("name", "tools"), [(real_servers.memory, 9), (real_servers.sequential_thinking, 1), (real_servers.time, 2)]
)
async def test_a_real_server_of_node_and_of_python_takes_less_than_100_mb(
    hosted: McpHost, name: Callable[[], list[str]], tools: int
) -> None:
    program, *arguments = name()
    view = await hosted.add(ServerInput(name="Real", command=program, args=tuple(arguments)))
    view = await hosted.until(view.id, "connected")
    assert view.tool_count == tools
    assert view.process is not None
    assert view.process.memory_bytes is not None
    assert 10_000_000 < view.process.memory_bytes < 100_000_000


# It has a child that takes most of the memory, as a server that drives a browser has.
HEAVY_SERVER = NODE_SERVER.replace(
    "const lines =",
    """const child = require("child_process").spawn(process.execPath, ["-e",
  "global.kept = Buffer.alloc(150 * 1024 * 1024, 1); process.stdin.resume()"], { stdio: ["pipe", "ignore", "ignore"] });
const lines =""",
    1,
)


@pytest.mark.case("PRF-02")
async def test_a_server_that_takes_more_than_100_mb_with_all_it_started_is_said_to_in_words(
    hosted: McpHost, tmp_path: Path
) -> None:
    script = tmp_path / "server.js"
    script.write_text(HEAVY_SERVER)
    await hosted.add(ServerInput(name="tiny-server", command="node", args=(str(script),)))
    await where(hosted)

    async def heavy() -> ServerView | None:
        view = await hosted.view("tiny-server")
        return view if view.process and (view.process.memory_bytes or 0) > 180 * 1024**2 else None

    view = await eventually(heavy, "the memory of its child to count")
    assert view.process is not None
    one = psutil.Process(view.process.pid)
    assert one.memory_info().rss < 100 * 1024**2, "by itself it takes little"
    (said,) = view.warnings
    found = re.fullmatch(r"It takes (\d+) MB of memory; most servers take less than 100 MB\.", said)
    assert found is not None, said
    assert 180 <= int(found[1]) < 400
