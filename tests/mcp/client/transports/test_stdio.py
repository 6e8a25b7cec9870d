"""A server as a process: what it may write, how it may die, and that nothing of it stays."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from pilothouse.mcp.client.channel import ChannelError, Outgoing
from pilothouse.mcp.client.processes import Ledger, environment, marked, memory_of, start_time
from pilothouse.mcp.client.session import BadAnswer, ConnectionLost, SessionOptions, connect
from pilothouse.mcp.client.transports.stdio import Launch, Stdio
from pilothouse.types import limits
from tests.mcp.client.scripted_sessions import open_session, text_of, unsent
from tests.support.limits_in_hand import in_hand
from tests.support.mcp_servers import scripted
from tests.support.waiting import AT_ONCE, PATIENCE, eventually


def alive(pid: int) -> bool:
    return bool(start_time(pid))


@pytest.mark.case("TRN-04", "PRC-05", "PRC-06", "HND-01", "HND-03", "HND-04", "HND-15", "F-05", "PLT-07")
async def test_a_server_is_started_shaken_hands_with_listed_and_called(tmp_path: Path) -> None:
    record = tmp_path / "record"
    async with open_session("--record", record, "--say", "On standard error.") as talked:
        assert (talked.session.facts.name, talked.session.facts.era) == ("scripted", "handshake")
        assert (await talked.session.list_tools()).tools
        assert await talked.say("hello") == "hello"
        assert talked.log == ["On standard error."]
    methods = [json.loads(line).get("method") for line in record.read_text().splitlines()]
    assert methods == ["server/discover", "initialize", "notifications/initialized", "tools/list", "tools/call"]


@pytest.mark.case("F-01", "F-50")
async def test_a_server_that_is_killed_in_a_call_fails_the_call_at_once() -> None:
    async with open_session() as talked:
        with pytest.raises(ConnectionLost, match="signal 9") as lost:
            async with asyncio.timeout(AT_ONCE):
                await talked.session.call_tool("exit", {"code": -1})
        assert lost.value.sent
        assert talked.channel.exit_code == -signal.SIGKILL


@pytest.mark.case("F-02", "PRC-07")
async def test_a_server_that_exits_at_once_says_with_which_code() -> None:
    with pytest.raises(ChannelError, match="exit code 3"):
        async with open_session("--start", "exit", "--code", 3):
            raise AssertionError("it was never there")


@pytest.mark.case("F-02")
async def test_what_is_sent_to_a_server_that_just_ended_says_with_which_code_it_did() -> None:
    channel = Stdio(Launch(argv=["/bin/false"]))
    await channel.open(lambda _: None)
    pipe = channel._transport.get_pipe_transport(0)  # type: ignore[union-attr]
    try:
        pipe.close()  # type: ignore[union-attr]
        with pytest.raises(ChannelError, match="exit code 1") as error:
            await channel.send(Outgoing(body=b"{}"))
        assert not error.value.sent
    finally:
        await channel.close()


@pytest.mark.case("F-11")
@pytest.mark.slow
async def test_a_server_that_closes_its_input_is_given_up() -> None:
    closing = "import os, time; os.close(0); time.sleep(30)"
    channel = Stdio(Launch(argv=[sys.executable, "-c", closing]))
    await channel.open(lambda _: None)
    try:
        error = await asyncio.wait_for(asyncio.shield(channel.closed), AT_ONCE)
        assert error is not None
        assert error.message == "The server closed its input."
    finally:
        await channel.close()


@pytest.mark.case("F-03")
async def test_a_server_that_never_answers_is_given_up() -> None:
    with pytest.raises(ChannelError, match=r"did not answer within 0\.3 s"):
        async with open_session("--start", "silent", connect_timeout=0.3, probe_timeout=0.1):
            raise AssertionError("it never answered")


@pytest.mark.case("F-05", "OBS-09")
@pytest.mark.parametrize("line", ["", "   ", "Listening on port 3000", "\ufeff", '{"half": ', "[]", "42", '"text"'])
async def test_what_is_no_message_is_noted_and_disturbs_nobody(line: str) -> None:
    async with open_session() as talked:
        waiting = asyncio.ensure_future(talked.session.call_tool("sleep", {"seconds": 0.05}))
        talked.channel.pipe_data_received(1, line.encode() + b"\n")
        assert text_of(await waiting) == "awake"
        assert bool(talked.garbage) == bool(line.strip().strip("\ufeff"))


@pytest.mark.case("F-05", "F-12")
@pytest.mark.slow
async def test_a_server_that_never_stops_writing_rubbish_holds_nobody_up() -> None:
    heard: list[float] = []
    channel = Stdio(Launch(argv=["/usr/bin/yes", "rubbish"]))
    await channel.open(lambda _: heard.append(time.monotonic()))
    turns = 10
    try:
        await eventually(lambda: _true(len(heard) >= turns * limits.STDIO_LINES_AT_ONCE), "the rubbish")
        # Between two turns others have theirs.
        assert heard[-1] - heard[0] >= (turns - 2) * limits.STDIO_NOISE_REST
    finally:
        await channel.close()


@pytest.mark.case("F-05")
async def test_a_mark_of_the_byte_order_before_a_message_is_passed_over() -> None:
    async with open_session() as talked:
        line = '\ufeff{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"ok"}]}}'
        assert text_of(await talked.session.call_tool("raw", {"line": line})) == "ok"


@pytest.mark.case("F-06", "TEXT-06")
async def test_bytes_that_are_no_text_cost_only_their_line() -> None:
    async with open_session() as talked:
        waiting = asyncio.ensure_future(talked.session.call_tool("sleep", {"seconds": 0.05}))
        talked.channel.pipe_data_received(1, b"\xff\xfe\x00rubbish\n")
        assert text_of(await waiting) == "awake"
        assert talked.garbage


@pytest.mark.case("F-07", "TOOL-11")
@pytest.mark.slow
async def test_a_long_line_is_one_message_and_a_longer_one_ends_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_session() as talked:
        assert len(text_of(await talked.session.call_tool("big", {"bytes": 16 * 1024 * 1024}))) == 16 * 1024 * 1024
    monkeypatch.setattr(limits, "STDIO_LINE_BYTES", 1024 * 1024)
    async with open_session() as talked:
        with pytest.raises(ConnectionLost, match="more than 1 MB"):
            await talked.session.call_tool("big", {"bytes": 4 * 1024 * 1024})


@pytest.mark.case("F-08")
@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc":"2.0","id":$ID,"result":{"text":"\\ud800"}}',
        '{"jsonrpc":"2.0","id":$ID,"result":' + "[" * 5000 + "]" * 5000 + "}",
        '{"jsonrpc":"2.0","id":$ID,"result":"text"}',
        '{"jsonrpc":"2.0","id":$ID,"error":[]}',
        '{"jsonrpc":"2.0","id":$ID,"result":{"half":',
    ],
)
async def test_an_answer_that_cannot_be_read_fails_its_call_at_once(line: str) -> None:
    async with open_session() as talked:
        async with asyncio.timeout(5):
            with pytest.raises(BadAnswer):
                await talked.session.call_tool("raw", {"line": line})
        assert await talked.say("still there") == "still there"


@pytest.mark.case("F-09", "PROTO-01")
async def test_answers_that_nobody_asked_for_are_counted_and_dropped() -> None:
    async with open_session() as talked:
        right = '{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"first"}]}}'
        wrong = right.replace("first", "second")
        strays = [wrong.replace("$ID", other) for other in ("999", "true", '"1"', "1.5", "null")]
        assert text_of(await talked.session.call_tool("raw", {"line": "\n".join([*strays, right, wrong])})) == "first"
        assert await talked.say() == "hi"
        assert talked.session.strays == 6
        # For a request that is the first one, `true` and 1.0 are nearly its number.
        talked.session._rpc._last_id = 0
        strays = [wrong.replace("$ID", other) for other in ("true", "1.0", '"1"')]
        assert text_of(await talked.session.call_tool("raw", {"line": "\n".join([*strays, right])})) == "first"
        assert talked.session.strays == 9


@pytest.mark.case("F-10", "PROTO-05")
async def test_an_answer_that_comes_too_late_is_nobodys() -> None:
    async with open_session() as talked:
        heard: list[object] = []
        asked = talked.session.call_tool("sleep", {"seconds": 30}, on_progress=lambda *step: heard.append(step))
        call = asyncio.ensure_future(asked)
        await eventually(lambda: _true(talked.session._running), "the call")
        number = next(iter(talked.session._running))
        call.cancel()
        await asyncio.wait([call])
        late = {"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": "late"}]}}
        told = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": number}}
        for message in (told, late, told):
            talked.channel.pipe_data_received(1, json.dumps(message).encode() + b"\n")
        assert await talked.say("mine") == "mine"
        assert talked.session.strays == 3
        assert not heard


async def _true(value: object) -> bool:
    return bool(value)


@pytest.mark.case("F-11")
@pytest.mark.slow
async def test_a_server_that_does_not_read_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STDIO_WRITE", 0.2)
    monkeypatch.setattr(limits, "PROCESS_GRACE", 0.2)
    async with open_session() as talked:
        await talked.session.call_tool("deaf", {})
        with pytest.raises(ChannelError, match="read nothing"):
            await talked.session.call_tool("echo", {"text": "x" * 4_000_000})
        assert talked.session.closed.done()


# Reads calls as slowly as it was told to, and holds itself up with each until it may go on.
_HELD = """
import json, os, sys, time
def say(number):
    print(json.dumps({"jsonrpc": "2.0", "id": number, "result": {}}), flush=True)
say(0)
come = b""
while True:
    while b"\\n" not in come:
        come += os.read(0, 32_768)
        time.sleep(float(sys.argv[2]))
    line, come = come.split(b"\\n", 1)
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.02)
    say(json.loads(line)["id"])
"""


def _call(number: int, size: int) -> Outgoing:
    body = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"x": "x" * size}}
    return Outgoing(body=json.dumps(body).encode(), id=number, method="tools/call")


@pytest.mark.case("F-11", "TMO-11")
@pytest.mark.slow
async def test_a_server_that_works_on_one_long_call_keeps_it_while_the_next_waits_in_its_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing = in_hand(monkeypatch, "STDIO_WRITE")
    arrived: asyncio.Queue[object] = asyncio.Queue()
    channel = Stdio(Launch(argv=[sys.executable, "-c", _HELD, str(tmp_path / "go"), "0"]))
    await channel.open(arrived.put_nowait)
    try:
        await arrived.get()
        calls = [asyncio.create_task(channel.send(_call(number, 200_000))) for number in (1, 2)]
        await eventually(lambda: _true(calls[0].done() and unsent(channel) > 0), "the first call to be on its way")
        for _ in range(5):
            await writing.run_out_again()
            assert not channel.closed.done(), channel.closed
        assert [call.done() for call in calls] == [True, False]
        (tmp_path / "go").touch()
        async with asyncio.timeout(AT_ONCE):
            await asyncio.gather(*calls)
            assert [await arrived.get(), await arrived.get()]
    finally:
        await channel.close()


@pytest.mark.case("F-11")
@pytest.mark.slow
async def test_a_server_that_reads_slowly_is_not_one_that_reads_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing = in_hand(monkeypatch, "STDIO_WRITE")
    (tmp_path / "go").touch()
    arrived: asyncio.Queue[object] = asyncio.Queue()
    channel = Stdio(Launch(argv=[sys.executable, "-c", _HELD, str(tmp_path / "go"), "0.01"]))
    await channel.open(arrived.put_nowait)
    try:
        await arrived.get()
        # Half a second of reading, in which a little of it is read before each time that the limit is over.
        sending, limits_over = asyncio.create_task(channel.send(_call(1, 1_500_000))), 0
        await writing.met()
        while writing.running:
            left = unsent(channel)
            await eventually(lambda left=left: _true(unsent(channel) < left or not writing.running), "it to be read")  # type: ignore[misc]
            if writing.running:
                await writing.run_out_again()
                limits_over += 1
        await sending
        assert limits_over > 2
        async with asyncio.timeout(AT_ONCE):
            await arrived.get()
    finally:
        await channel.close()


@pytest.mark.case("F-12", "SPAWN-10")
async def test_a_flood_on_standard_error_is_drained_line_by_line() -> None:
    async with open_session() as talked:
        talked.log.clear()
        assert text_of(await talked.session.call_tool("flood", {"megabytes": 8})) == "flooded"
        await eventually(lambda: _true(len(talked.log) >= 8 * 1024), "the flood")
        assert {len(line) for line in talked.log} == {1023}


@pytest.mark.case("F-12")
async def test_a_line_of_the_log_without_an_end_is_cut() -> None:
    async with open_session() as talked:
        talked.log.clear()
        talked.channel.pipe_data_received(2, b"x" * 100_000)
        talked.channel.pipe_data_received(2, b"y\nnext\n")
        assert [len(line) for line in talked.log] == [limits.STDERR_LINE_BYTES, 4]


@pytest.mark.case("F-13", "SPAWN-11")
@pytest.mark.slow
async def test_a_server_that_ignores_everything_is_gone_with_its_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PROCESS_GRACE", 0.3)
    async with open_session("--ignore-term", "--spawn") as talked:
        await talked.say()
        child = int(next(line for line in talked.log if line.startswith("child")).split()[1])
        server = talked.channel.pid
        assert alive(child)
        assert os.getpgid(child) != os.getpgid(server)
    # What is killed is gone when the system comes to it.
    await eventually(lambda: _true(not alive(server) and not alive(child)), "the end of both")


STUBBORN = """
import pathlib, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (pathlib.Path(sys.argv[1]).write_text("asked"), sys.exit(0)))
print("ready", flush=True)
while True:
    time.sleep(0.01)
"""


@pytest.mark.case("CON-30", "SPAWN-11")
async def test_a_server_that_does_not_end_with_its_input_is_asked_to_before_it_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert limits.PROCESS_GRACE == 2.0
    monkeypatch.setattr(limits, "PROCESS_GRACE", 0.3)
    told = tmp_path / "told"
    ready = asyncio.Event()
    channel = Stdio(Launch(argv=[sys.executable, "-c", STUBBORN, str(told)]))
    await channel.open(lambda _: ready.set())
    await asyncio.wait_for(ready.wait(), 10)
    closing = asyncio.create_task(channel.close())
    await asyncio.sleep(0)
    assert channel._ending
    # It waits for the closed input now, and that is in vain. What follows takes as long as the server needs.
    monkeypatch.setattr(limits, "PROCESS_GRACE", PATIENCE)
    await closing
    assert told.read_text() == "asked"
    assert channel.exit_code == 0


@pytest.mark.case("SPAWN-09", "PRC-04")
async def test_a_server_sees_its_own_variables_and_no_key_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "NPM_CONFIG__AUTH", "GITHUB_TOKEN", "PGPASSWORD"):
        monkeypatch.setenv(name, "hidden")
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", "/certificates.pem")
    async with open_session(launch={"env": {"MY_SETTING": "mine"}}) as talked:
        seen = json.loads(text_of(await talked.session.call_tool("env", {})))
    assert seen["MY_SETTING"] == "mine"
    assert seen["PATH"] == os.environ["PATH"]
    assert seen["NODE_EXTRA_CA_CERTS"] == "/certificates.pem"
    assert "hidden" not in seen.values()


@pytest.mark.case("SPAWN-09", "PRC-04")
def test_what_a_package_runner_needs_is_handed_on_but_not_its_passwords() -> None:
    ours = {"UV_INDEX_URL": "a", "npm_config_cache": "b", "UV_PUBLISH_TOKEN": "c", "NPM_CONFIG_PASSWORD": "d", "X": "e"}
    assert environment({}, "m", ours) == {"UV_INDEX_URL": "a", "npm_config_cache": "b", "PILOTHOUSE_SERVER": "m"}


@pytest.mark.case("SPAWN-09")
@pytest.mark.parametrize(
    "name",
    [
        *("AWS_PROFILE", "AWS_SESSION_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_CLIENT_SECRET", "KUBECONFIG"),
        *("OPENAI_API_KEY", "PILOTHOUSE_HOME", "SSH_AUTH_SOCK", "DATABASE_URL", "LD_PRELOAD", "PYTHONPATH"),
    ],
)
def test_what_nobody_declared_is_not_handed_on(name: str) -> None:
    assert environment({}, "m", {name: "x"}) == {"PILOTHOUSE_SERVER": "m"}
    assert environment({name: "own"}, "m", {name: "x"})[name] == "own"


@pytest.mark.case("F-02")
@pytest.mark.parametrize(
    ("mode", "said"), [(None, "There is no program"), (0o600, "may not be started"), (0o700, "could not be started")]
)
async def test_a_program_that_cannot_be_started_is_named(
    mode: int | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pilothouse.mcp.client.transports.stdio.with_us", list)
    program = tmp_path / "program"
    if mode is not None:
        program.write_bytes(b"\x7fELF")
        program.chmod(mode)
    with pytest.raises(ChannelError, match=said) as error:
        await connect(Stdio(Launch(argv=[str(program)])), SessionOptions(client_version="1"))
    assert not error.value.sent


@pytest.mark.case("SPAWN-02")
async def test_no_shell_reads_the_arguments() -> None:
    hostile = "; touch /tmp/pilothouse-was-here; $(id) `id` | cat\n&"
    async with open_session("--say", hostile) as talked:
        assert await talked.say() == "hi"
        assert "\n".join(talked.log) == hostile


@pytest.mark.case("CON-29", "PRC-05")
async def test_a_running_server_has_a_pid_a_memory_and_a_line_in_the_ledger(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "processes")
    async with open_session(launch={"ledger": ledger}) as talked:
        assert text_of(await talked.session.call_tool("pid", {})) == str(talked.channel.pid)
        assert (memory_of(talked.channel.pid) or 0) > 1_000_000
        assert [path.stem for path in (tmp_path / "processes").iterdir()] == [str(talked.channel.pid)]
        # We are alive, so nothing of ours is an orphan.
        assert ledger.reap() == 0
        assert await talked.say() == "hi"
    assert not list((tmp_path / "processes").iterdir())


HOST = """
import asyncio, sys
from pathlib import Path
from pilothouse.mcp.client.processes import Ledger
from pilothouse.mcp.client.session import SessionOptions, connect
from pilothouse.mcp.client.transports.stdio import Launch, Stdio
import pilothouse.mcp.client.transports.stdio as stdio

async def main():
    if sys.argv[2] == "alone":
        stdio.with_us = list
    launch = Launch(argv=sys.argv[3:], ledger=Ledger(Path(sys.argv[1])), on_stderr=lambda line: print(line, flush=True))
    channel = Stdio(launch)
    await connect(channel, SessionOptions(client_version="1"))
    print("server", channel.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def host_with(folder: Path, *options: str) -> tuple[asyncio.subprocess.Process, dict[str, int]]:
    """Start a program with a server of its own; return the pids of the server and of its child."""
    server = scripted("--ignore-term", "--spawn")
    host = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOST, str(folder), *options, *server, stdout=asyncio.subprocess.PIPE
    )
    assert host.stdout is not None
    pids: dict[str, int] = {}
    async with asyncio.timeout(10):
        while len(pids) < 2:
            name, pid = (await host.stdout.readline()).split()
            pids[name.decode()] = int(pid)
    return host, pids


@pytest.mark.case("F-38")
@pytest.mark.parametrize("how", ["kept", "alone"])
@pytest.mark.slow
async def test_servers_of_a_host_that_was_killed_are_gone_at_the_latest_when_the_next_one_starts(
    tmp_path: Path, how: str
) -> None:
    host, pids = await host_with(tmp_path / "ledger", how)
    host.kill()
    await host.wait()
    if how == "kept":
        # The system itself ends the server together with its host.
        await eventually(lambda: _true(not alive(pids["server"])), "the server's end")
    else:
        assert alive(pids["server"])
    assert alive(pids["child"])
    assert Ledger(tmp_path / "ledger").reap() == 1
    await eventually(lambda: _true(not alive(pids["server"]) and not alive(pids["child"])), "the end of all")
    assert not marked("nobody")


@pytest.mark.case("F-51", "F-61")
async def test_a_call_that_is_said_not_to_have_arrived_is_not_read_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that hangs until its pipe is full, and goes on when it is told to end."""
    monkeypatch.setattr(limits, "STDIO_WRITE", 0.3)
    record = tmp_path / "record"
    async with open_session("--record", record) as talked:
        os.kill(talked.channel.pid, signal.SIGSTOP)
        sizes = (300_000, 10, 10)
        calls = [talked.session.call_tool("echo", {"text": f"call{n}" + "x" * size}) for n, size in enumerate(sizes)]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(outcome, ChannelError) for outcome in outcomes), outcomes
        unsent = [n for n, outcome in enumerate(outcomes) if isinstance(outcome, ChannelError) and not outcome.sent]
        assert unsent
        os.kill(talked.channel.pid, signal.SIGCONT)
    heard = record.read_text(encoding="utf-8")
    assert not [n for n in unsent if f"call{n}" in heard]
