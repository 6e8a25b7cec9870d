"""A server is checked before it is kept: consent first, one start, its tools, and nothing left."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import psutil
import pytest

from pilothouse.tools.sandbox.sandbox import Sandbox
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.server_checks import ServerCheck, ServerChecked
from pilothouse.types.server_keys import KeyInput
from pilothouse.types.servers import ServerInput
from pilothouse.types.terminals import TerminalSettings
from tests.mcp.conftest import Scripted
from tests.support.mcp_gateway import Streamable
from tests.support.mcp_hosting import McpHost, open_mcp_host
from tests.support.tiny_http import Answer, Request, TinyHttp
from tests.support.waiting import eventually

KEY = "a-key-that-was-only-typed"


def tree(home: Path) -> dict[str, bytes]:
    """Everything in a data folder; the empty folder of processes that run is nobody's trace."""
    files = {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}
    folders = {str(path.relative_to(home)): b"" for path in (home / "servers").rglob("*")}
    return {**files, **folders}


def without_log(files: dict[str, bytes], server_id: str) -> dict[str, bytes]:
    """The same without the log of a server that runs, which is written when there is time."""
    return {name: content for name, content in files.items() if name != f"logs/mcp/{server_id}.log"}


def children() -> set[int]:
    return {each.pid for each in psutil.Process().children(recursive=True)}


async def agreed(hosted: McpHost, body: ServerInput) -> ServerChecked:
    """Check a local server as a person does: agree to what is shown."""
    asked = await hosted.admin.check(ME, ServerCheck(server=body))
    assert asked.consent is not None
    return await hosted.admin.check(ME, ServerCheck(server=body, fingerprint=asked.consent.fingerprint))


async def test_a_check_shows_the_consent_first_then_the_tools_and_leaves_nothing(
    home: Path, hosted: McpHost, scripted: Scripted, tmp_path: Path
) -> None:
    before, running = tree(home), children()
    record = tmp_path / "record"
    body = scripted("--record", str(record), "--spawn", keys={"env:A_TOKEN": KeyInput(value=KEY)})
    asked = await hosted.admin.check(ME, ServerCheck(server=body))
    assert (asked.ok, asked.message) == (False, "“Scripted” is started once you agree to its command.")
    assert asked.consent is not None
    assert asked.consent.environment == ("A_TOKEN",)
    assert not record.exists(), "nothing is started before"
    checked = await hosted.admin.check(ME, ServerCheck(server=body, fingerprint=asked.consent.fingerprint))
    assert (checked.ok, checked.tool_count, checked.consent) == (True, len(checked.tools), None)
    assert checked.message == f"“Scripted” answers and offers {checked.tool_count} tools."
    assert ("echo", "Gives back what it is given.") in [(each.name, each.description) for each in checked.tools]
    assert [(key.label, key.source) for key in checked.keys] == [("A token", "pasted")]
    assert checked.fingerprint == asked.consent.fingerprint
    assert record.exists()
    assert children() <= running, "what it started has ended with it"
    assert (tree(home), hosted.supervisor.servers) == (before, {})


@pytest.mark.case("AUT-10")
async def test_what_a_checked_server_lacks_becomes_a_field_and_the_key_needs_no_second_consent(
    home: Path, hosted: McpHost, scripted: Scripted
) -> None:
    before = tree(home)
    body = scripted("--wants", "GITHUB_TOKEN", name="GitHub")
    asked = await hosted.admin.check(ME, ServerCheck(server=body))
    assert asked.consent is not None
    fingerprint = asked.consent.fingerprint
    failed = await hosted.admin.check(ME, ServerCheck(server=body, fingerprint=fingerprint))
    assert (failed.ok, failed.message) == (False, "“GitHub” needs its GitHub token.")
    assert failed.fix == "Give it, and check again."
    [key] = failed.keys
    assert (key.label, key.source) == ("GitHub token", "missing")
    typed = scripted("--wants", "GITHUB_TOKEN", name="GitHub", keys={key.id: KeyInput(value=KEY)})
    checked = await hosted.admin.check(ME, ServerCheck(server=typed, fingerprint=fingerprint))
    assert checked.ok
    assert tree(home) == before
    # Kept as it was checked, it is the command that was agreed to.
    kept = await hosted.admin.add(ME, typed)
    assert kept.consent is not None
    assert kept.consent.fingerprint == checked.fingerprint != fingerprint


@pytest.mark.case("AUT-10")
async def test_a_key_that_a_kept_server_asked_for_needs_no_second_consent_to_be_checked_and_any_other_does(
    home: Path, hosted: McpHost, scripted: Scripted
) -> None:
    line = ("--wants", "GITHUB_TOKEN")
    view = await hosted.add(scripted(*line, name="GitHub"))
    assert (await hosted.until("GitHub", "error")).last_error == "“GitHub” needs its GitHub token."

    async def checked(*options: str, **keys: str) -> ServerChecked:
        given = {f"env:{name}": KeyInput(value=value) for name, value in keys.items()}
        body = scripted(*line, *options, name="GitHub", keys=given)
        return await hosted.admin.check(ME, ServerCheck(server=body, id=view.id))

    assert (await checked(GITHUB_TOKEN=KEY)).ok
    another = await checked(GITHUB_TOKEN=KEY, NODE_OPTIONS="--require=./mine.js")
    assert another.consent is not None
    assert another.consent.changes == ("Environment: GITHUB_TOKEN is new.", "Environment: NODE_OPTIONS is new.")
    assert (await checked("--spawn", GITHUB_TOKEN=KEY)).consent is not None, "it is another command"


async def test_the_way_back_from_a_check_names_no_server_that_is_not_kept(hosted: McpHost, tmp_path: Path) -> None:
    open_to_all = tmp_path / "my key"
    open_to_all.write_text(KEY)
    open_to_all.chmod(0o644)
    fixes = {
        KeyInput(file=str(tmp_path / "nowhere")): "Put it right, or give it in another way, and check again.",
        KeyInput(environment="NOT_SET_HERE"): (
            "Set it and start Pilothouse again, or give it in another way, and check again."
        ),
        # To be pasted into a shell.
        KeyInput(file=str(open_to_all)): f"Close it: chmod 600 '{open_to_all}'",
    }
    for key, fix in fixes.items():
        body = ServerInput(name="Far", url="http://127.0.0.1:9/mcp", keys={"header:Authorization": key})
        checked = await hosted.admin.check(ME, ServerCheck(server=body))
        assert (checked.ok, checked.fix) == (False, fix)


async def test_a_consent_to_one_command_starts_no_other(hosted: McpHost, scripted: Scripted, tmp_path: Path) -> None:
    asked = await hosted.admin.check(ME, ServerCheck(server=scripted()))
    assert asked.consent is not None
    record = tmp_path / "record"
    other = scripted("--record", str(record))
    for body in (other, scripted(plain_env={"A": "1"}), scripted(cwd=str(tmp_path))):
        checked = await hosted.admin.check(ME, ServerCheck(server=body, fingerprint=asked.consent.fingerprint))
        assert (checked.ok, checked.consent is not None) == (False, True)
    assert not record.exists()
    with pytest.raises(PilothouseError, match="Only the owner"):
        await hosted.admin.check("guest", ServerCheck(server=scripted(), fingerprint=asked.consent.fingerprint))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["cancelled", "timeout", "ends", "closed"])
async def test_a_check_that_comes_to_nothing_leaves_nothing(
    home: Path, scripted: Scripted, quick: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    record = tmp_path / "record"
    options = ("--start", "exit", "--code", "3") if how == "ends" else ("--start", "silent", "--ignore-term")
    body = scripted(*options, "--spawn", "--say", "I am here", keys={"env:A_TOKEN": KeyInput(value=KEY)})
    if how == "timeout":
        monkeypatch.setattr(limits, "TRY_TIMEOUT", 1.0)
    async with open_mcp_host(home) as hosted:
        before, running = tree(home), children()
        asked = await hosted.admin.check(ME, ServerCheck(server=body))
        assert asked.consent is not None
        wanted = ServerCheck(server=body, fingerprint=asked.consent.fingerprint)
        checking = asyncio.create_task(hosted.admin.check(ME, wanted))
        if how in ("cancelled", "closed"):
            await eventually(lambda: is_started(running), "the process")
            if how == "cancelled":
                checking.cancel()
            else:
                await hosted.supervisor.close()
            await asyncio.wait([checking])
            assert checking.cancelled()
        else:
            assert not (await checking).ok
        assert children() <= running
        assert tree(home) == before
        assert not record.exists()


async def is_started(before: set[int]) -> bool:
    return len(children() - before) > 1


async def test_kept_keys_are_used_by_a_check_of_the_same_server_only_at_their_address(hosted: McpHost) -> None:
    async with TinyHttp(Streamable()) as mine, TinyHttp(Streamable()) as other:
        view = await hosted.add(ServerInput(name="Far", url=f"{mine.url}/mcp", token="kept-for-mine"))

        def typed(url: str) -> ServerInput:
            return ServerInput(name="Far", url=f"{url}/mcp", keys={"header:Authorization": None})

        checked = await hosted.admin.check(ME, ServerCheck(server=typed(mine.url), id=view.id))
        assert checked.ok
        assert {request.headers["authorization"] for request in mine.requests} == {"Bearer kept-for-mine"}
        refused = await hosted.admin.check(ME, ServerCheck(server=typed(other.url), id=view.id))
        assert (refused.ok, "was given for another address" in refused.message) == (False, True)
        unknown = await hosted.admin.check(ME, ServerCheck(server=typed(other.url)))
        assert unknown.ok, "without an id nothing is taken from anyone"
        assert all("authorization" not in request.headers for request in other.requests)


async def test_a_check_does_not_disturb_the_server_that_runs(home: Path, hosted: McpHost, scripted: Scripted) -> None:
    view = await hosted.add(scripted(env={"A_TOKEN": "kept"}))
    await hosted.tools_when_known("scripted.env")
    running = await hosted.until("Scripted", "connected")
    before = without_log(tree(home), view.id)
    hosted.most = 1
    typed = scripted(keys={"env:A_TOKEN": KeyInput(value=KEY)}, always_on=True)
    checked = await hosted.admin.check(ME, ServerCheck(server=typed, id=view.id))
    assert checked.ok, "the person agreed to this command before"
    after = await hosted.view("Scripted")
    assert (after.state, after.process, after.keys) == ("connected", running.process, running.keys)
    assert without_log(tree(home), view.id) == before
    env = await hosted.call("scripted.env")
    assert json.loads(getattr(env, "text", "{}"))["A_TOKEN"] == "kept"


async def test_a_check_says_that_a_server_wants_a_key_or_cannot_be_started(hosted: McpHost) -> None:
    def closed(request: Request) -> Answer:
        return Answer(401, b"")

    async with TinyHttp(closed) as server:
        checked = await hosted.admin.check(ME, ServerCheck(server=ServerInput(url=f"{server.url}/mcp")))
    assert (checked.ok, checked.message) == (False, "Authentication failed. Check your API key.")
    assert [(key.label, key.source) for key in checked.keys] == [("Token", "missing")]
    nothing = await hosted.admin.check(ME, ServerCheck(server=ServerInput(command_line="no-such-program-here x")))
    assert (nothing.ok, nothing.consent) == (False, None)
    assert "no-such-program-here" in nothing.message
    with pytest.raises(PilothouseError, match="A command or a URL is missing"):
        await hosted.admin.check(ME, ServerCheck(server=ServerInput()))


async def test_many_checks_wait_for_each_other(
    hosted: McpHost, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with TinyHttp(Streamable()) as server:
        body = ServerCheck(server=ServerInput(url=f"{server.url}/mcp"))
        outcomes = await asyncio.gather(*(hosted.admin.check(ME, body) for _ in range(12)))
    assert all(each.ok for each in outcomes)


@pytest.mark.slow
async def test_a_sandboxed_check_leaves_no_folder(home: Path, scripted: Scripted, quick: None) -> None:
    sandbox = Sandbox(home, TerminalSettings)
    async with open_mcp_host(home, sandbox=sandbox) as hosted:
        before = tree(home)
        checked = await agreed(hosted, scripted("--spawn", sandbox=True))
        assert checked.ok, checked.message
        assert tree(home) == before
        assert not list(Path(sandbox.scratch.of("another")).parent.glob("check-*"))
