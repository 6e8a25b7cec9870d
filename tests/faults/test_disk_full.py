"""The disk is full: runs pause, reading goes on, nothing is half-written, and all goes on once there is space."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import aclosing, closing, suppress
from pathlib import Path

import pytest

from pilothouse.store import database, opening, upgrade
from pilothouse.types import limits
from pilothouse.types.api import NoticeFrame
from pilothouse.types.errors import PilothouseError
from pilothouse.web.run import ServerOptions
from pilothouse.wiring import open_host
from tests.support import invariants
from tests.support.chats import ME, PATIENCE, Chat, open_chat
from tests.support.databases import PageLimit
from tests.support.in_process_server import BEARER, TOKEN, serve_host
from tests.support.servers import Server
from tests.support.small_disks import mount_small_disk
from tests.support.waiting import until

TEXT = " ".join(f"word{number}" for number in range(4_000))
STREAM = [[{"text": TEXT, "pieces": 200, "every": 0.01}]]


async def notice(chat: Chat, level: str) -> NoticeFrame:
    """Wait until everyone is told about the store."""
    async with asyncio.timeout(PATIENCE), aclosing(chat.api.list_changes(ME)) as changes:
        async for change in changes:
            if isinstance(change, NoticeFrame) and change.level == level:
                return change
    raise AssertionError


@pytest.mark.case("F-42")
async def test_a_full_disk_pauses_the_run_and_freeing_space_lets_it_finish(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STORE_RETRY", 0.05)
    async with open_chat(home, STREAM) as chat:
        pages = PageLimit(monkeypatch)
        sent = await chat.send()
        await chat.until_streaming("word100")
        pages.fill()
        told = await notice(chat, "error")
        assert told.message.startswith("The disk is full, so nothing new can be saved. Everything is paused.")
        assert (await chat.api.runs.get(ME, sent.run_id)).status == "running"
        assert (await chat.texts("user_message")) == ["Hello"]
        async with serve_host(chat.api, ServerOptions(token=TOKEN)) as server:
            path = f"/api/conversations/{chat.id}/messages"
            refused = await server.http.post(path, json={"text": "More " * 10_000}, headers=BEARER)
            assert refused.status_code == 507
            assert refused.json()["message"] == "The disk is full, so nothing new can be saved."
            assert (await server.http.get(f"/api/conversations/{chat.id}", headers=BEARER)).status_code == 200
            assert (await server.http.get("/api/health")).json() == {"status": "up"}
            unready = await server.http.get("/api/ready")
            assert (unready.status_code, unready.json()["message"]) == (
                503,
                "The disk is full, so nothing new can be saved.",
            )
        well = asyncio.ensure_future(notice(chat, "info"))
        pages.free()
        assert (await chat.settled(sent.run_id)).status == "completed"
        assert (await well).message == "Saving works again."
        assert await chat.texts("response") == [TEXT]
        assert len(await chat.items("user_message")) == 1


@pytest.mark.case("F-42")
async def test_a_run_that_waits_for_space_can_be_left_behind_and_is_taken_up_by_the_next_start(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STORE_RETRY", 0.05)
    monkeypatch.setattr(limits, "SHUTDOWN_GRACE", 0.2)
    pages = PageLimit(monkeypatch)
    async with open_chat(home, STREAM, at_rest=False) as chat:
        sent = await chat.send()
        await chat.until_streaming("word100")
        pages.fill()
        await notice(chat, "error")
    pages.free()
    async with open_chat(home, [["Whole."]]) as again:
        before = Chat(again.host, chat.id, chat.script)
        assert (await before.settled(sent.run_id)).status == "completed"
        assert (await before.texts("response"))[-1] == "Whole."


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with little room, where this account may make one."""
    folder = tmp_path / "small"
    folder.mkdir()
    with mount_small_disk(folder, "1500k"):
        yield folder


@pytest.mark.case("F-42")
async def test_on_a_file_system_that_is_really_full_the_answer_waits_and_then_is_whole(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STORE_RETRY", 0.05)
    ballast = small_disk / "ballast"
    async with open_chat(small_disk / "home", STREAM) as chat:
        sent = await chat.send()
        await chat.until_streaming("word100")
        await asyncio.to_thread(fill, ballast)
        told = await notice(chat, "error")
        assert "disk is full" in told.message
        with pytest.raises(PilothouseError) as refused:
            await chat.send("More")
        assert refused.value.http_status == 507
        ballast.unlink()
        assert (await chat.settled(sent.run_id)).status == "completed"
        assert await chat.texts("response") == [TEXT]


@pytest.mark.case("F-42")
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_a_server_that_starts_on_a_full_disk_shows_everything_and_goes_on_when_there_is_room(
    small_disk: Path, end: signal.Signals, tmp_path: Path
) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("turns: [[The harbour is open.], [It still is.]]", encoding="utf-8")
    asked = {"text": "Is the harbour open?", "modelId": f"scripted:{script}"}
    with Server(small_disk) as server:
        place = f"/api/conversations/{server.post('/api/conversations', {'title': 'Ships'}, 201)['id']}"
        server.wait_for_run(server.post(f"{place}/messages", asked, 202)["runId"], "completed")
        server.process.send_signal(end)
        server.process.wait(20)
    ballast = small_disk / "ballast"
    fill(ballast)
    with Server(small_disk) as server:
        until(lambda: "Pilothouse is at" in server.log.read_text(), "the server to say where it is")
        said = server.log.read_text()
        assert said.startswith("The disk is full: everything can be read, and nothing can be kept until there is room.")
        assert "Traceback" not in said
        assert [item["text"] for item in server.get(place)["items"]] == [asked["text"], "The harbour is open."]
        assert server.get("/api/conversations")["conversations"][0]["title"] == "Ships"
        assert server.get("/api/search?q=harbour")["hits"]
        assert server.get("/api/approvals")["pending"] == []
        refused = server.client.post(f"{place}/messages", json=asked)
        assert (refused.status_code, refused.json()["code"]) == (507, "disk_full")
        ballast.unlink()
        again = server.post(f"{place}/messages", asked, 202)
        server.wait_for_run(again["runId"], "completed")
        assert [item["text"] for item in server.get(place)["items"]][2:] == [asked["text"], "It still is."]
        until((small_disk / "server.json").exists, "the server to write down where it is")
    invariants.check(f"sqlite:///{small_disk / 'pilothouse.db'}")


@pytest.mark.case("F-42")
async def test_without_room_at_the_start_people_read_and_sign_in_and_are_told(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STORE_RETRY", 0.05)
    async with open_chat(home, [["Whole."], ["Again."]]) as chat:
        await chat.say("Hello")
    full = [True]
    monkeypatch.setattr(opening, "has_room", lambda _folder: False)
    monkeypatch.setattr(database, "has_room", lambda _folder: not full)
    async with open_host(home, role="server") as host:
        again = Chat(host, chat.id, chat.script)
        assert host.note == "The disk is full: everything can be read, and nothing can be kept until there is room."
        told = await notice(again, "error")
        assert told.message.startswith("The disk is full, so nothing new can be saved.")
        assert await again.texts("response") == ["Whole."]
        assert (await host.api.conversations.search(ME, "whole", limit=5)).hits
        token = await host.api.sessions.create(ME)
        assert await host.api.sessions.owner_of(token) == ME
        async with asyncio.TaskGroup() as many:
            for _ in range(20):
                many.create_task(again.texts("response"))
        with pytest.raises(PilothouseError) as refused:
            await again.send("More")
        assert refused.value.code == "disk_full"
        well = asyncio.ensure_future(notice(again, "info"))
        full.clear()
        assert (await well).message == "Saving works again."
        assert await host.api.sessions.owner_of(token) == ME
        assert (await again.settled((await again.send("More")).run_id)).status == "completed"


async def test_a_database_of_an_earlier_version_is_not_opened_on_a_full_disk(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_chat(home, [["Whole."]]) as chat:
        await chat.say("Hello")
    monkeypatch.setattr(opening, "has_room", lambda _folder: False)
    monkeypatch.setattr(upgrade, "HEAD", "9000")
    with pytest.raises(PilothouseError) as refused:
        async with open_host(home):
            pass
    assert refused.value.message.startswith("The disk is full, and the database has to be brought up to date")


async def test_an_upgrade_without_room_for_its_copy_leaves_the_room_there_is_and_says_so(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, ballast = small_disk / "home", small_disk / "ballast"
    async with open_chat(home, [["Whole."]]) as chat:
        await chat.say("Hello")
    with closing(sqlite3.connect(home / "pilothouse.db")) as held:
        held.execute(f"CREATE TABLE more AS SELECT zeroblob({2 * limits.ROOM_TO_WRITE}) AS more")
        held.commit()
    (small_disk / "room").write_bytes(bytes(limits.ROOM_TO_WRITE + 16 * 1024))
    await asyncio.to_thread(fill, ballast)
    (small_disk / "room").unlink()
    with monkeypatch.context() as newer:
        newer.setattr(upgrade, "HEAD", "9000")
        for _ in range(2):
            with pytest.raises(PilothouseError) as refused:
                async with open_host(home):
                    pass
            assert refused.value.message.startswith("The disk is full, and the database has to be brought up to date")
            assert not list((home / "backups").iterdir())
    async with open_host(home) as host:
        assert len((await host.api.conversations.list(ME, limit=5, cursor=None)).conversations) == 1


def fill(path: Path) -> None:
    """Write until there is no room."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
