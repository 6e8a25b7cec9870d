"""A person at a conversation's terminal, over HTTP and a WebSocket, with the real core behind it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from pilothouse.types import limits
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.wiring import OpenHost
from tests.support.in_process_server import BEARER, PATIENCE, Reach, serve_folder
from tests.support.limits_in_hand import in_hand
from tests.support.processes import all_ended, processes_with
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow


@dataclass
class Window:
    """A window at a terminal: what it was told, and what it was shown."""

    socket: ClientConnection
    shown: bytearray = field(default_factory=bytearray)
    index: int = 0

    async def say(self, **command: Any) -> None:
        await self.socket.send(json.dumps(command))

    async def told(self) -> dict[str, Any]:
        """Return the next text frame; what is shown meanwhile is kept."""
        while True:
            frame = await self.socket.recv()
            if isinstance(frame, bytes):
                self.shown += frame
            else:
                return dict(json.loads(frame))

    async def sees(self, wanted: bytes) -> None:
        """Read until something is shown."""
        looked = 0
        while self.shown.find(wanted, looked) < 0:
            looked = max(len(self.shown) - len(wanted), 0)
            frame = await self.socket.recv()
            assert isinstance(frame, bytes), frame
            self.shown += frame

    async def open(self, start: int = 0) -> dict[str, Any]:
        await self.say(type="open", columns=90, rows=30, **{"from": start})
        told = await self.told()
        assert told["type"] == "opened", told
        self.index = told["index"]
        return dict(told["terminal"])


@dataclass
class Bench:
    """A server with one conversation that has a folder."""

    host: OpenHost
    server: Reach
    conversation: str
    folder: Path

    @property
    def path(self) -> str:
        return f"/api/conversations/{self.conversation}/terminal"

    @asynccontextmanager
    async def window(self, headers: dict[str, str] | None = None) -> AsyncIterator[Window]:
        address = f"ws://{self.server.authority}{self.path}/socket"
        async with (
            asyncio.timeout(PATIENCE),
            connect(address, additional_headers=headers or BEARER, proxy=None) as socket,
        ):
            yield Window(socket)


@asynccontextmanager
async def at_bench(home: Path, folder: Path) -> AsyncIterator[Bench]:
    async with serve_folder(home) as (host, server):
        body = {"settings": {"workingDirectory": str(folder)}}
        made = (await server.http.post("/api/conversations", json=body, headers=BEARER)).json()
        yield Bench(host, server, made["id"], folder)


@pytest_asyncio.fixture
async def bench(home: Path, tmp_path: Path) -> AsyncIterator[Bench]:
    folder = tmp_path / "work"
    folder.mkdir()
    async with at_bench(home, folder) as opened:
        yield opened


@pytest.mark.case("TRM-20", "TRM-12")
async def test_two_windows_share_one_terminal(bench: Bench) -> None:
    async with bench.window() as one, bench.window() as two:
        opened = await one.open()
        assert (opened["workingDirectory"], opened["sandbox"], opened["running"]) == (
            str(bench.folder),
            "bubblewrap",
            True,
        )
        assert (await two.open())["pid"] == opened["pid"]
        await one.say(type="input", data="echo from-o''ne\r")
        await two.sees(b"from-one")
        await two.say(type="resize", columns=101, rows=33)
        await two.say(type="input", data="stty size\r")
        await one.sees(b"33 101")


async def test_a_window_that_comes_back_goes_on_where_it_was(bench: Bench) -> None:
    async with bench.window() as first:
        await first.open()
        await first.say(type="input", data="echo be''fore\r")
        await first.sees(b"before")
    seen = len(first.shown)
    async with bench.window() as again:
        await again.open(seen)
        assert again.index == seen
        await again.say(type="input", data="echo af''ter\r")
        await again.sees(b"after")
        assert b"before" not in again.shown


async def test_a_window_from_nowhere_is_shown_the_newest_part(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TERMINAL_REPLAY", 1_000)
    async with bench.window() as first:
        await first.open()
        await first.say(type="input", data="seq 1 2000; echo do''ne\r")
        await first.sees(b"done")
    for start in (0, 10**12):
        async with bench.window() as later:
            terminal = await later.open(start)
            assert later.index == terminal["endIndex"] - 1_000


async def test_the_end_of_a_session_is_told_with_its_exit_code(bench: Bench) -> None:
    async with bench.window() as window:
        await window.open()
        await window.say(type="input", data="exit 9\r")
        assert await window.told() == {"type": "ended", "exitCode": 9}
        with pytest.raises(ConnectionClosed):
            await window.socket.recv()
    listed = (await bench.server.http.get(bench.path, headers=BEARER)).json()
    assert [(each["running"], each["exitCode"]) for each in listed["sessions"]] == [(False, 9)]


async def test_what_cannot_be_done_is_told_and_the_window_stays(bench: Bench) -> None:
    async with bench.window() as window:
        await window.say(type="input", data="too early\r")
        assert "no terminal session" in (await window.told())["message"]
        await window.socket.send("not json")
        assert "not understood" in (await window.told())["message"]
        await window.socket.send(json.dumps({"type": "fly"}))
        assert "not understood" in (await window.told())["message"]
        await window.open()
        await window.say(type="open", columns=1, rows=1)
        assert "already" in (await window.told())["message"]


async def test_a_long_paste_arrives_whole(bench: Bench) -> None:
    text = "".join(f"line {number} of what was pasted\r" for number in range(3_000))
    async with bench.window() as window:
        await window.open()
        await window.say(type="input", data="stty -echo; cat > pasted\r")
        await window.say(type="input", data=text)
        await window.say(type="input", data="\x04\x04")
        await window.say(type="input", data="stty echo; echo re''ady\r")
        await window.sees(b"ready")
        await window.say(type="input", data="x" * (limits.TERMINAL_INPUT_BYTES + 1))
        assert "too much input" in (await window.told())["message"]
    assert (bench.folder / "pasted").read_text() == text.replace("\r", "\n")


async def test_a_conversation_without_a_folder_has_no_terminal(bench: Bench) -> None:
    made = (await bench.server.http.post("/api/conversations", json={}, headers=BEARER)).json()
    path = f"/api/conversations/{made['id']}/terminal"
    answer = await bench.server.http.post(path, json={}, headers=BEARER)
    assert (answer.status_code, answer.json()["message"]) == (409, "This conversation has no working directory.")
    assert (await bench.server.http.get(path, headers=BEARER)).json()["sessions"] == []


@pytest.mark.case("WEB-06", "WEB-10")
async def test_strangers_and_other_sites_get_no_terminal(bench: Bench) -> None:
    stranger = await bench.server.stranger(bench.host.api.sessions)
    foreign = {**BEARER, "origin": "https://evil.example"}
    for headers, status in (({"authorization": "Bearer wrong"}, 401), (foreign, 403)):
        with pytest.raises(InvalidStatus) as refused:
            async with bench.window(headers):
                pass
        assert refused.value.response.status_code == status
    async with bench.window(stranger) as window:
        await window.say(type="open", columns=80, rows=24)
        assert (await window.told())["type"] == "problem"
    for method, rest in (("GET", ""), ("POST", ""), ("DELETE", ""), ("GET", "/recording")):
        body: dict[str, str] | None = {} if method == "POST" else None
        answer = await bench.server.http.request(method, bench.path + rest, headers=stranger, json=body)
        assert answer.status_code == 404, (method, rest)
    assert not (await bench.host.api.terminals.list(LOCAL_OWNER, bench.conversation)).sessions


@pytest.mark.case("AUTHZ-09")
async def test_signing_out_ends_the_window_but_not_the_terminal(bench: Bench) -> None:
    browser = await bench.server.sign_in()
    async with bench.window(browser) as window:
        await window.open()
        await bench.server.http.delete("/api/session", headers=browser)
        with pytest.raises(ConnectionClosed) as closed:
            await window.sees(b"never")
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4401
    (session,) = (await bench.host.api.terminals.list(LOCAL_OWNER, bench.conversation)).sessions
    assert session.running


@pytest.mark.case("F-40")
async def test_a_window_that_reads_nothing_slows_nobody_and_is_let_go(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing = in_hand(monkeypatch, "WRITE_TIMEOUT")
    async with bench.window() as quick:
        await quick.open()
        address = f"ws://{bench.server.authority}{bench.path}/socket"
        slow = await connect(address, additional_headers=BEARER, proxy=None, max_queue=1)
        await slow.send(json.dumps({"type": "open", "columns": 80, "rows": 24, "from": 0}))
        await quick.say(type="input", data="head -c 30000000 /dev/zero | tr '\\0' 'x'; echo; echo al''l\r")
        await quick.sees(b"\nall")

        # The quick one has all that there is: only the slow one can still be under the limit.
        async def readers() -> bool:
            writing.run_out()
            tasks = [task for task in asyncio.all_tasks() if getattr(task.get_coro(), "__name__", "") == "_show"]
            return len(tasks) == 1

        await eventually(readers, "the slow window to be let go")
        slow.transport.abort()


async def test_a_selection_reaches_the_agent(bench: Bench) -> None:
    answer = await bench.server.http.post(f"{bench.path}/selection", json={"text": "error 42"}, headers=BEARER)
    assert answer.status_code == 204
    async with bench.window() as window:
        await window.open()
        await window.say(type="select", text="error 43")
        await window.say(type="fly")
        await window.told()


@pytest.mark.case("TRM-29")
async def test_a_recording_is_downloaded_as_a_file(bench: Bench) -> None:
    assert (await bench.server.http.get(f"{bench.path}/recording", headers=BEARER)).status_code == 404
    async with bench.window() as window:
        await window.open()
        await window.say(type="input", data="echo kept-for-la''ter\r")
        await window.sees(b"kept-for-later")
    answer = await bench.server.http.get(f"{bench.path}/recording", headers=BEARER)
    assert answer.headers["content-type"] == "application/octet-stream"
    assert f"{bench.conversation}.cast" in answer.headers["content-disposition"]
    assert json.loads(answer.text.splitlines()[0])["version"] == 2
    assert "kept-for-later" in answer.text


@pytest.mark.case("TRM-29")
async def test_after_a_restart_the_terminal_is_shown_as_it_was(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    async with at_bench(home, folder) as first, first.window() as window:
        await window.open()
        await window.say(type="input", data="echo yester''day; sleep 90499101\r")
        await window.sees(b"yesterday")
        before = first
    assert all_ended("90499101")
    async with serve_folder(home) as (host, server):
        again = Bench(host, server, before.conversation, folder)
        (session,) = (await server.http.get(again.path, headers=BEARER)).json()["sessions"]
        assert (session["running"], session["workingDirectory"]) == (False, str(folder))
        async with again.window() as window:
            await window.open()
            await window.sees(b"yesterday")


async def test_deleting_a_conversation_ends_its_terminal(bench: Bench) -> None:
    async with bench.window() as window:
        await window.open()
        await window.say(type="input", data="sleep 90499201\r")

        async def begun() -> bool:
            return bool(processes_with("90499201"))

        await eventually(begun, "the command")
        await bench.server.http.delete(f"/api/conversations/{bench.conversation}", headers=BEARER)
    assert all_ended("90499201")


@pytest.mark.case("TRM-28")
async def test_what_is_set_about_terminals_is_kept_checked_and_used(bench: Bench, home: Path) -> None:
    http = bench.server.http
    shown = (await http.get("/api/config", headers=BEARER)).json()
    assert shown["terminal"] == {"shell": "bash", "sandbox": "on", "network": False, "timeout": 600.0}
    assert shown["sandbox"] == {"kind": "bubblewrap", "warning": "", "offline": True}
    wanted = {"shell": "sh", "sandbox": "off", "network": True, "timeout": 90}
    changed = (await http.patch("/api/config", json={"terminal": wanted}, headers=BEARER)).json()
    assert changed["terminal"] == {**wanted, "timeout": 90.0}
    assert changed["sandbox"]["kind"] == "none"
    assert "switched off" in changed["sandbox"]["warning"]
    assert json.loads((home / "config.json").read_text())["terminal"]["shell"] == "sh"
    async with bench.window() as window:
        assert (await window.open())["shell"] == "sh"
    for wrong, said in (({"shell": "csh"}, "bash, zsh, fish, sh"), ({"timeout": 0}, "from 1 second to 24 hours")):
        answer = await http.patch("/api/config", json={"terminal": {**wanted, **wrong}}, headers=BEARER)
        assert answer.status_code == 400
        assert said in answer.json()["message"]
