"""Taking a port, saying where the server is, and stopping when asked."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import stat
import sys
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from pilothouse.host.address import read_address, remove_address, write_address
from pilothouse.types import limits
from pilothouse.types.address import ADDRESS_FILE, ServerAddress
from pilothouse.types.errors import PilothouseError
from pilothouse.web import listening
from pilothouse.web.listening import listen
from pilothouse.web.sessions import Access
from tests.support.in_process_server import BEARER, PATIENCE, RunningServer, run_server


@contextlib.contextmanager
def taken_port() -> Iterator[int]:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


@pytest.mark.case("F-54")
def test_a_port_that_was_asked_for_and_is_taken_is_a_sentence() -> None:
    with taken_port() as port, pytest.raises(PilothouseError, match=f"Port {port} is taken") as refused:
        listen(port=port)
    assert refused.value.code == "port_taken"
    assert "--port" in refused.value.fix


@pytest.mark.case("F-54")
def test_the_default_port_moves_on_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with taken_port() as port:
        monkeypatch.setattr(limits, "DEFAULT_PORT", port)
        with contextlib.closing(listen()) as listener:
            assert port < listener.port <= port + limits.PORT_TRIES
            assert str(port) in listener.note
            assert str(listener.port) in listener.note


@pytest.mark.case("F-54")
def test_no_free_port_at_all_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "_bind", lambda host, port: None)
    with pytest.raises(PilothouseError, match="are all taken"):
        listen()


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 99_999), ("127.0.0.1", -1)])
def test_a_port_that_cannot_be_is_a_sentence(host: str, port: int) -> None:
    with pytest.raises(PilothouseError, match="cannot listen"):
        listen(host, port)


def test_an_address_of_the_other_family_works_too() -> None:
    with contextlib.closing(listen("::1", 0)) as listener:
        assert listener.url == f"http://[::1]:{listener.port}"


async def test_the_address_file_is_there_while_the_server_is(tmp_path: Path) -> None:
    async with run_server(tmp_path) as server:
        address = read_address(tmp_path)
        assert address is not None
        assert address.url == server.listener.url
    assert not (tmp_path / ADDRESS_FILE).exists()


def test_an_address_of_a_process_that_is_gone_is_no_address(tmp_path: Path) -> None:
    write_address(tmp_path, ServerAddress(url="http://127.0.0.1:1", pid=2**22 + 1, token="t"))
    assert stat.S_IMODE((tmp_path / ADDRESS_FILE).stat().st_mode) == 0o600
    assert read_address(tmp_path) is None
    (tmp_path / ADDRESS_FILE).write_text("{")
    assert read_address(tmp_path) is None


def test_another_servers_address_is_left_alone(tmp_path: Path) -> None:
    write_address(tmp_path, ServerAddress(url="http://127.0.0.1:1", pid=os.getppid(), token="t"))
    remove_address(tmp_path)
    assert (tmp_path / ADDRESS_FILE).exists()


async def test_a_code_is_good_for_a_while_only(server: RunningServer) -> None:
    now = 0.0
    access = Access(server.host.api.sessions, port=1, clock=lambda: now)
    late, early = await access.new_code(), await access.new_code()
    assert await access.redeem(early, "", "")
    now = limits.ONE_TIME_CODE_SECONDS
    with pytest.raises(PilothouseError, match="expired"):
        await access.redeem(late, "", "")


async def test_old_links_make_room_for_new_ones(server: RunningServer) -> None:
    access = Access(server.host.api.sessions, port=1)
    first, *_, last = [await access.new_code() for _ in range(limits.OPEN_CODES + 1)]
    assert await access.redeem(last, "", "")
    with pytest.raises(PilothouseError):
        await access.redeem(first, "", "")


@pytest.mark.case("F-40")
@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only this kernel can drop a reader by itself")
@pytest.mark.slow
async def test_a_connection_that_reads_nothing_is_dropped_and_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "WRITE_TIMEOUT", 1.0)
    async with run_server(tmp_path) as server:
        conversation = await server.new_conversation()
        with socket.socket() as silent:
            silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            silent.connect(("127.0.0.1", server.listener.port))
            silent.sendall(
                f"GET /api/conversations/{conversation}/events HTTP/1.1\r\nHost: localhost\r\n"
                f"Authorization: {BEARER['authorization']}\r\n\r\n".encode()
            )
            await server.host.until_read(conversation)
            await server.host.say(conversation, "x" * 8_000_000)
            await server.host.say(conversation, "y")
            assert (await server.http.get("/api/health")).status_code == 200
            await server.host.until_left(conversation)


PROGRAM = """
import asyncio, sys
from pathlib import Path
from pilothouse.web.listening import listen
from pilothouse.web.run import ServerOptions, serve
from pilothouse.web.signals import stop_on_signals
from pilothouse.wiring import open_host

async def main():
    listener = listen(port=0)
    with stop_on_signals() as stop:
        options = ServerOptions(home=Path(sys.argv[1]), on_ready=lambda ready: print(ready.url, flush=True))
        async with open_host(options.home, brief=True) as host:
            await serve(host.api, listener, options, stop)
        print("closing", flush=True)
        if "--hang" in sys.argv:
            await asyncio.sleep(60)
    print("done", flush=True)

asyncio.run(main())
"""


@contextlib.asynccontextmanager
async def program(
    home: Path, *arguments: str
) -> AsyncIterator[tuple[asyncio.subprocess.Process, asyncio.StreamReader]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, str(home), *arguments, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE * 2):
            yield process, process.stdout
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.mark.case("F-37")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.slow
async def test_a_signal_stops_the_server_cleanly_while_a_stream_is_open(tmp_path: Path, number: signal.Signals) -> None:
    async with program(tmp_path) as (process, output):
        url = (await output.readline()).decode().strip()
        address = read_address(tmp_path)
        assert address is not None
        request = urllib.request.Request(
            f"{url}/api/conversations",
            b"{}",
            {"Authorization": f"Bearer {address.token}", "Content-Type": "application/json"},
        )
        made = json.loads(await asyncio.to_thread(lambda: urllib.request.urlopen(request, timeout=PATIENCE).read()))
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(
            f"GET /api/conversations/{made['id']}/events HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {address.token}\r\n\r\n".encode()
        )
        await reader.readuntil(b"retry")
        process.send_signal(number)
        assert (await reader.read()).endswith(b"0\r\n\r\n")
        writer.close()
        assert await output.read() == b"closing\ndone\n"
        assert await process.wait() == 0
    assert not (tmp_path / ADDRESS_FILE).exists()


@pytest.mark.case("F-37")
@pytest.mark.slow
async def test_a_second_signal_ends_the_server_at_once(tmp_path: Path) -> None:
    async with program(tmp_path, "--hang") as (process, output):
        await output.readline()
        process.send_signal(signal.SIGINT)
        assert await output.readline() == b"closing\n"
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 130


@pytest.mark.slow
async def test_a_stopped_server_lets_its_port_go(server: RunningServer) -> None:
    assert (await server.http.get("/api/health")).status_code == 200
    server.stop.set()
    async with asyncio.timeout(PATIENCE):
        await server.serving
    with contextlib.closing(listen(port=server.listener.port)) as again:
        assert again.port == server.listener.port
