"""Faults of servers: hundreds of them, killed hosts, no descriptors left."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from pilothouse.mcp.servers.consent import look
from pilothouse.mcp.servers.entries import written
from pilothouse.mcp.servers.forms import drafted
from pilothouse.types import limits
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.ports import ToolOutput
from pilothouse.types.servers import ServerInput
from pilothouse.wiring import open_host
from tests.support import forked
from tests.support.leaks import children
from tests.support.mcp_hosting import McpHost, open_mcp_host
from tests.support.mcp_servers import SCRIPTED
from tests.support.waiting import eventually, until

ROOT = Path(__file__).parents[2]
# Local servers that run side by side, here.
ROOM = 10


def scripted(name: str, *options: str) -> ServerInput:
    return ServerInput(name=name, command=sys.executable, args=(str(SCRIPTED), *options))


@pytest_asyncio.fixture
async def hosted(home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[McpHost]:
    monkeypatch.setattr(limits, "LOCAL_BACKOFF", (0.05,))
    async with open_mcp_host(home) as opened:
        yield opened


@pytest.fixture
def orphan(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that a host wrote down which is not there any more."""
    left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    stat = Path(f"/proc/{left.pid}/stat").read_text().rpartition(")")[2].split()
    folder = home / "cache" / "processes"
    folder.mkdir(parents=True)
    record = {"pid": left.pid, "started": stat[19], "mark": "m", "host_pid": 2**22 + 1, "host_started": "1"}
    (folder / f"{left.pid}.json").write_text(json.dumps(record))
    yield left
    left.kill()
    left.wait(10)


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.slow
@pytest.mark.case("F-15", "CON-03", "CON-04", "CON-22")
async def test_two_hundred_servers_half_of_them_broken_delay_nothing(home: Path, hosted: McpHost) -> None:
    bodies = [scripted(f"good{number}") for number in range(100)]
    bodies += [ServerInput(name=f"missing{number}", command=f"no-such-program-{number}") for number in range(50)]
    bodies += [ServerInput(name=f"dead{number}", command="/bin/false", args=(str(number),)) for number in range(50)]
    entries = [drafted(body, f"s{number}").entry for number, body in enumerate(bodies)]
    config = json.loads((home / "config.json").read_text())
    config["mcps"] = [written(entry) for entry in entries]
    config["local_servers"] = ROOM
    (home / "config.json").write_text(json.dumps(config))
    for entry in entries:
        if not entry.name.startswith("missing"):
            hosted.supervisor.parts.consents().give(entry.id, look(entry))
    began = time.process_time()
    async with open_host(home, role="server") as host:
        state = await host.api.conversations.page_state("local", None)
        assert time.process_time() - began < 3
        assert len(state.servers.servers) == 200
        # Nobody waited for them: those that cannot run are not even found out yet.
        assert sum(view.state == "error" for view in state.servers.servers) < 100
        most = 0

        async def settled() -> bool:
            nonlocal most
            most = max(most, len(children()))
            states = [view.state for view in (await host.api.servers.list("local")).servers]
            return "connecting" not in states and "reconnecting" not in states and states.count("error") == 100

        await eventually(settled, "all servers to be seen once", 100)
        views = (await host.api.servers.list("local")).servers
        assert sum(view.tool_count == 16 for view in views) == 100
        assert all(view.last_error for view in views if view.state == "error")
        # Whoever gives its place to another has ended before that one starts.
        assert most <= ROOM


@pytest.mark.case("F-38")
def test_servers_die_with_a_host_that_was_killed(home: Path) -> None:
    async def prepare() -> None:
        async with open_mcp_host(home) as hosted:
            for number in range(2):
                await hosted.add(scripted(f"s{number}"))

    asyncio.run(prepare())
    module = ["tests.faults.hosting_process", str(home)]
    program = forked.start(module, cwd=ROOT, env=os.environ, stdout=subprocess.PIPE)
    try:
        assert program.stdout is not None
        pids = [int(program.stdout.readline()) for _ in range(2)]
        program.kill()
        program.wait(10)
        for pid in pids:
            until(lambda pid=pid: gone(pid), f"server {pid} to die with its host")  # type: ignore[misc]
    finally:
        program.kill()
        program.wait(10)
        program.stdout.close()  # type: ignore[union-attr]


@pytest.mark.case("F-38")
async def test_servers_that_outlived_their_host_are_ended_at_the_next_start(
    orphan: subprocess.Popen[bytes], hosted: McpHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LEARN_DELAY", 0.01)
    hosted.supervisor.begin()
    assert await asyncio.to_thread(orphan.wait, 10) == -signal.SIGKILL

    async def forgotten() -> bool:
        return not list((hosted.home / "cache" / "processes").glob("*.json"))

    await eventually(forgotten, "the record to be struck")


@pytest.mark.case("F-49")
async def test_without_descriptors_a_start_is_refused_clearly_and_what_runs_goes_on(hosted: McpHost) -> None:
    await hosted.add(scripted("first"))
    assert (await hosted.admin.test(ME, "first")).ok
    await hosted.add(scripted("second"), agree=False)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    consent = (await hosted.view("second")).consent
    assert consent is not None
    await hosted.server("second").agree(consent.fingerprint)
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(200)]
    top = max(held)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (top + 1, hard))
        tested = await hosted.admin.test(ME, "second")
        assert not tested.ok
        assert tested.message == "What you agreed to cannot be read: too many open files."
        assert (await hosted.view("second")).state == "error"
        output = await hosted.call("first.echo", {"text": "still here"})
        assert isinstance(output, ToolOutput)
        assert output.text == "still here"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in held:
            os.close(descriptor)
    assert (await hosted.admin.test(ME, "second")).ok
