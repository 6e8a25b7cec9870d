"""Local servers in the sandbox of commands: what they reach, what they cannot, and that nothing of them stays."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import msgspec
import psutil
import pytest
import pytest_asyncio

from pilothouse.mcp.client.processes import start_time
from pilothouse.mcp.servers.consent import look, shown
from pilothouse.mcp.servers.forms import drafted
from pilothouse.tools.sandbox.sandbox import Sandbox
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.servers import ServerInput, ServerPatch, ServerView
from pilothouse.types.terminals import SandboxKind, TerminalSettings
from tests.mcp.programs import PRYING
from tests.support import real_servers
from tests.support.limits_in_hand import in_hand
from tests.support.mcp_hosting import McpHost, open_mcp_host, text
from tests.support.terminals import HOLDING, sandbox
from tests.support.waiting import AT_ONCE, eventually

pytestmark = pytest.mark.slow


@pytest.fixture(params=HOLDING)
def kind(request: pytest.FixtureRequest) -> SandboxKind:
    chosen: SandboxKind = request.param
    return chosen


@pytest_asyncio.fixture
async def held(home: Path, quick: None, kind: SandboxKind) -> AsyncIterator[McpHost]:
    """The servers of a fresh data folder, with a sandbox of each kind."""
    async with open_mcp_host(home, sandbox=sandbox(home, kind)) as opened:
        yield opened


@pytest.fixture
def listening() -> Iterator[int]:
    """A port of this machine that takes connections."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield int(server.getsockname()[1])


def prying(*options: str, **more: object) -> ServerInput:
    """Return a server that tries what it is told to, in a sandbox."""
    settings = {"sandbox": True, "args": (str(PRYING), *options), **more}
    return ServerInput(name="Prying", command=sys.executable, **settings)  # type: ignore[arg-type]


async def tries(hosted: McpHost, tool: str, **arguments: object) -> str:
    return text(await hosted.call_when_known(f"prying.{tool}", dict(arguments)))


async def running(hosted: McpHost) -> ServerView:
    await tries(hosted, "pid")
    return await hosted.until("Prying", "connected")


def family(view: ServerView) -> list[psutil.Process]:
    """The process that is shown and everything that descends from it."""
    assert view.process is not None
    holder = psutil.Process(view.process.pid)
    return [holder, *holder.children(recursive=True)]


async def all_gone(processes: list[psutil.Process]) -> None:
    async def look_again() -> bool:
        return not any(start_time(each.pid) for each in processes)

    await eventually(look_again, "the end of all")


# --- what it reaches -----------------------------------------------------------------------------


@pytest.mark.case("PRC-08")
async def test_a_sandboxed_server_changes_nothing_outside_of_its_folder(held: McpHost, work: Path) -> None:
    await held.add(prying(cwd=str(work)))
    outside = Path.home() / f".pried-{uuid4().hex}"
    beside = work.parent / "pried"
    try:
        assert (await tries(held, "write", path=str(outside))).startswith("refused")
        await tries(held, "write", path=str(beside))
        assert not outside.exists()
        assert not beside.exists()
        # The honest twin: its own folder is its own.
        assert await tries(held, "write", path=str(work / "mine")) == "done: 5"
        assert (work / "mine").read_text() == "pried"
        assert await tries(held, "where") == str(work)
    finally:
        outside.unlink(missing_ok=True)


@pytest.mark.case("PRC-08")
async def test_a_sandboxed_server_sees_nothing_of_the_data_folder(held: McpHost, tmp_path: Path) -> None:
    secret = held.home / "secrets" / "canary"
    secret.write_text("canary")
    (tmp_path / "notes").write_text("notes")
    assert held.home.is_relative_to(tmp_path)
    await held.add(prying(cwd=str(tmp_path)))
    assert (await tries(held, "read", path=str(secret))).startswith("refused")
    assert (await tries(held, "read", path=str(held.home / "config.json"))).startswith("refused")
    assert (await tries(held, "write", path=str(held.home / "policy.json"))).startswith("refused")
    assert await tries(held, "read", path=str(tmp_path / "notes")) == "done: notes"


@pytest.mark.case("PRC-08")
@pytest.mark.parametrize(("network", "outcome"), [(False, "refused"), (True, "done: connected")])
async def test_a_sandboxed_server_uses_the_network_only_if_it_may(
    held: McpHost, listening: int, network: bool, outcome: str
) -> None:
    await held.add(prying(network=network))
    assert (await tries(held, "connect", port=listening)).startswith(outcome)


@pytest.mark.case("PRC-08")
async def test_a_server_without_a_sandbox_is_what_it_always_was(held: McpHost, listening: int, tmp_path: Path) -> None:
    await held.add(prying(sandbox=False))
    assert (await tries(held, "write", path=str(tmp_path / "anywhere"))).startswith("done")
    assert await tries(held, "connect", port=listening) == "done: connected"
    assert await tries(held, "where") == str(Path.home())
    assert not (held.home / "servers").exists()


@pytest.mark.case("PRC-08")
async def test_a_server_without_a_folder_has_one_of_its_own_that_goes_with_it(held: McpHost, home: Path) -> None:
    view = await held.add(prying())
    room = home / "servers" / view.id
    assert await tries(held, "write", path="kept") == "done: 5"
    assert (room / "folder" / "kept").read_text() == "pried"
    for enabled in (False, True):
        await held.admin.patch(ME, view.id, ServerPatch(enabled=enabled))
    assert await tries(held, "read", path="kept") == "done: pried"
    await held.admin.delete(ME, view.id)
    assert not room.exists()


@pytest.mark.case("PRC-08")
async def test_what_a_sandboxed_server_would_keep_in_caches_outlives_it(held: McpHost, work: Path) -> None:
    view = await held.add(prying(cwd=str(work), plain_env={"OWN": "declared"}))
    given = json.loads(text(await held.call_when_known("prying.env")))
    assert given["OWN"] == "declared"
    assert given["npm_config_cache"] == f"{given['XDG_CACHE_HOME']}/npm"
    assert (await tries(held, "write", path=f"{given['XDG_CACHE_HOME']}/thing")).startswith("done")
    assert (held.home / "servers" / view.id / "cache" / "thing").exists()
    assert (await tries(held, "write", path=f"{given['TMPDIR']}/passing")).startswith("done")


@pytest.mark.case("PRC-08")
async def test_a_sandboxed_server_sees_what_its_command_names_in_tmp_and_nothing_beside_it(held: McpHost) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        place = Path(made)
        for name in ("own/prying.py", "notes/a", "papers/b", "c", "other/d"):
            (place / name).parent.mkdir(exist_ok=True)
            (place / name).write_text(f"text of {name}")
        (place / "own/prying.py").write_text(
            f"import neighbour, runpy, sys\ndel sys.argv[1:]\nrunpy.run_path({str(PRYING)!r}, None, '__main__')"
        )
        (place / "own/neighbour.py").touch()
        named = (str(place / "own/prying.py"), str(place / "notes"), f"--papers={place / 'papers'}")
        body = prying(args=named, plain_env={"PAPERS": str(place / "c")})
        await held.add(body)
        for name in ("notes/a", "papers/b", "c"):
            assert await tries(held, "read", path=str(place / name)) == f"done: text of {name}"
            assert (await tries(held, "write", path=str(place / name))).startswith("refused")
            assert (place / name).read_text() == f"text of {name}"
        assert (await tries(held, "read", path=str(place / "other/d"))).startswith("refused")


# --- how it ends ---------------------------------------------------------------------------------


@pytest.mark.case("PRC-08", "CON-29")
async def test_a_sandboxed_server_is_shown_with_a_pid_and_the_memory_of_all_of_it(held: McpHost) -> None:
    await held.add(prying())
    view = await running(held)
    assert view.process is not None
    everyone = family(view)
    assert any(str(PRYING) in " ".join(each.cmdline()) for each in everyone)
    assert (view.process.memory_bytes or 0) >= max(each.memory_info().rss for each in everyone) * 0.9


@pytest.mark.case("PRC-08", "F-13")
async def test_a_sandboxed_server_is_asked_to_go_before_it_is_ended(
    held: McpHost, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grace = in_hand(monkeypatch, "PROCESS_GRACE")
    await held.add(prying("--stays", cwd=str(work)))
    everyone = family(await running(held))
    stopping = asyncio.create_task(held.server("Prying").stop())
    # Its input was closed, which is in vain. What follows takes as long as the server needs.
    await grace.run_out_again()
    await stopping
    assert (work / "goodbye").read_text() == "asked to go"
    await all_gone(everyone)


@pytest.mark.case("PRC-08", "F-13", "SPAWN-11")
async def test_a_sandboxed_server_that_ignores_everything_is_gone_with_its_children(
    held: McpHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "PROCESS_GRACE", 0.3)
    await held.add(prying("--ignore-term", "--spawn"))
    everyone = family(await running(held))
    assert any(each.name() == "sleep" for each in everyone)
    async with asyncio.timeout(AT_ONCE):
        await held.server("Prying").stop()
    await all_gone(everyone)
    assert not list((held.home / "cache" / "processes").glob("*.json"))


@pytest.mark.case("PRC-08", "F-01")
async def test_a_sandboxed_server_that_dies_is_started_again(held: McpHost) -> None:
    await held.add(prying())
    view = await running(held)
    inner = family(view)[-1]
    os.kill(inner.pid, signal.SIGKILL)

    async def another() -> bool:
        now = await held.view("Prying")
        return now.process is None or (view.process is not None and now.process.pid != view.process.pid)

    await eventually(another, "the end to be noticed")
    assert (await tries(held, "pid")).isdigit()


HOST = """
import asyncio, sys
from pathlib import Path
from pilothouse.tools.sandbox.sandbox import Sandbox
from pilothouse.types.terminals import TerminalSettings
from tests.mcp.servers.test_sandboxed_servers import prying, running
from tests.support.mcp_hosting import open_mcp_host

async def main():
    home = Path(sys.argv[1])
    async with open_mcp_host(home, sandbox=Sandbox(home, TerminalSettings, only=sys.argv[2])) as hosted:
        await hosted.add(prying("--ignore-term", "--spawn"))
        print((await running(hosted)).process.pid, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.case("PRC-08", "F-38")
@pytest.mark.slow
async def test_a_sandboxed_server_ends_with_a_host_that_is_killed(home: Path, kind: SandboxKind) -> None:
    host = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOST, str(home), kind, stdout=asyncio.subprocess.PIPE, cwd=PRYING.parents[3]
    )
    assert host.stdout is not None
    async with asyncio.timeout(30):
        holder = psutil.Process(int(await host.stdout.readline()))
    everyone = [holder, *holder.children(recursive=True)]
    assert len(everyone) > 2
    host.kill()
    await host.wait()
    await all_gone(everyone)


# --- where it cannot be ----------------------------------------------------------------------------


@pytest.mark.case("PRC-08")
async def test_where_nothing_holds_a_sandboxed_server_does_not_start_and_says_what_to_do(
    home: Path, quick: None
) -> None:
    async with open_mcp_host(home, sandbox=Sandbox(home, TerminalSettings, only="none")) as hosted:
        await hosted.add(prying())
        view = await hosted.until("Prying", "error")
        assert view.last_error == "Nothing on this machine can hold a sandbox."
        assert "switch the sandbox off for this server" in view.fix
        assert view.restarts == 0
        await hosted.admin.update(ME, view.id, prying(sandbox=False))
        # Without a sandbox it is another thing to agree to.
        assert (await hosted.until("Prying", "needs_consent")).consent is not None


@pytest.mark.case("PRC-08")
async def test_a_server_is_held_although_commands_are_not(home: Path, quick: None) -> None:
    off = Sandbox(home, lambda: TerminalSettings(sandbox="off"))
    async with open_mcp_host(home, sandbox=off) as hosted:
        await hosted.add(prying())
        outside = Path.home() / f".pried-{uuid4().hex}"
        assert (await tries(hosted, "write", path=str(outside))).startswith("refused")
        assert not outside.exists()


@pytest.mark.case("PRC-08")
async def test_a_program_that_the_sandbox_does_not_show_is_named(held: McpHost) -> None:
    script = held.home / "server.py"
    script.write_text("print('never started')")
    body = ServerInput(name="Prying", command=sys.executable, args=(str(script),), sandbox=True)
    await held.add(body)
    view = await held.until("Prying", "error")
    assert view.last_error == f"The sandbox does not show {script}."
    assert view.fix == "Move it elsewhere, or switch the sandbox off for this server."


@pytest.mark.case("PRC-08")
@pytest.mark.parametrize("folder", ["/", "/tmp"])
async def test_a_folder_that_is_everything_is_none(held: McpHost, folder: str) -> None:
    await held.add(prying(cwd=folder))
    view = await held.until("Prying", "error")
    assert "holds nothing" in view.last_error
    assert view.fix == "Choose a smaller folder for the server."


@pytest.mark.case("PRC-08")
@pytest.mark.parametrize(
    ("body", "said"),
    [
        (ServerInput(url="https://example.com/mcp", sandbox=True), "started here"),
        (ServerInput(command_line="docker run -i --rm image", sandbox=True), "container"),
        (ServerInput(command_line="node server.js", network=False), "Only a server in a sandbox"),
    ],
)
def test_a_sandbox_that_would_hold_nothing_is_refused(body: ServerInput, said: str) -> None:
    with pytest.raises(PilothouseError, match=said):
        drafted(body, "s1")


# --- consent ---------------------------------------------------------------------------------------


@pytest.mark.case("PRC-08")
def test_consent_says_what_the_sandbox_allows_and_is_bound_to_it(tmp_path: Path) -> None:
    def asked(**more: object) -> tuple[str, str, tuple[str, ...]]:
        entry = drafted(prying(**more), "s1").entry
        now = look(entry)
        consent = shown(entry, now, look(drafted(prying(sandbox=False), "s1").entry))
        return consent.fingerprint, consent.sandbox, consent.changes

    kinds = [asked(sandbox=False), asked(), asked(network=False), asked(cwd=str(tmp_path))]
    assert len({fingerprint for fingerprint, _, _ in kinds}) == 4
    assert [said for _, said, _ in kinds] == [
        "",
        "Runs in a sandbox: only a folder of its own can be written to. It can use the network.",
        "Runs in a sandbox: only a folder of its own can be written to. It has no network.",
        f"Runs in a sandbox: only {tmp_path} can be written to. It can use the network.",
    ]
    assert [changes[0].startswith("Sandbox: was “none”, is “Runs") for _, _, changes in kinds[1:]] == [True] * 3


def test_what_was_agreed_to_without_a_sandbox_is_written_as_before() -> None:
    now = look(drafted(prying(sandbox=False), "s1").entry)
    plain = msgspec.structs.replace(now, kind=0, moving=(), places=())
    assert set(json.loads(msgspec.json.encode(plain))) == {"argv", "environment", "folder", "files"}
    files = [(file.path, file.owner, file.sha256) for file in plain.files]
    bound = msgspec.json.encode((plain.argv, plain.environment, plain.folder, files))
    assert plain.fingerprint() == hashlib.sha256(bound).hexdigest()


# --- servers of others -----------------------------------------------------------------------------


@pytest.mark.case("PRC-08")
@pytest.mark.slow
async def test_servers_of_others_work_in_a_sandbox(held: McpHost, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("A note.")
    folder, package = str(tmp_path), real_servers.FOLDER
    commands = {
        "files": (real_servers.filesystem(tmp_path), folder, False),
        "clock": (real_servers.time(), None, False),
    }
    # npm itself, with its cache and its log; what it starts is installed in the folder.
    npx = Path(real_servers.node()).parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npx-cli.js"
    everything = [real_servers.node(), str(npx), "-y", "@modelcontextprotocol/server-everything", "stdio"]
    commands["everything"] = (everything, str(package), True)
    for name, (argv, cwd, network) in commands.items():
        await held.add(
            ServerInput(name=name, command=argv[0], args=tuple(argv[1:]), cwd=cwd, sandbox=True, network=network)
        )
    note = await held.call_when_known("files.read_text_file", {"path": str(tmp_path / "notes.txt")})
    assert "A note." in text(note)
    assert "UTC" in text(await held.call_when_known("clock.get_current_time", {"timezone": "UTC"}))
    assert "hello" in text(await held.call_when_known("everything.echo", {"message": "hello"}))
