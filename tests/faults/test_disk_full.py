"""The disk is full: runs pause, reading goes on, nothing is half-written, and all goes on once there is space."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import aclosing, suppress
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import event as sa_event

from pilothouse.server.run import ServerOptions
from pilothouse.types import limits
from pilothouse.types.api import NoticeFrame
from pilothouse.types.errors import PilothouseError
from tests.server.running import BEARER, TOKEN, reach
from tests.support.chatting import ME, PATIENCE, Chat, chatting

TEXT = " ".join(f"word{number}" for number in range(4_000))
STREAM = [[{"text": TEXT, "pieces": 200, "every": 0.01}]]
UNLIMITED = 4_294_967_294


class Pages:
    """A limit on the pages of the database, which SQLite itself keeps to."""

    def __init__(self, chat: Chat) -> None:
        self._engine = chat.api._records._database.engine  # type: ignore[attr-defined]
        self._limit = UNLIMITED
        sa_event.listen(self._engine, "begin", self._apply, insert=True)

    def _apply(self, connection: sa.Connection) -> None:
        connection.connection.cursor().execute(f"PRAGMA max_page_count={self._limit}")

    def fill(self) -> None:
        """Allow no more pages than there are."""
        self._limit = 1

    def free(self) -> None:
        """Allow as many as there may be."""
        self._limit = UNLIMITED


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
    async with chatting(home, STREAM) as chat:
        pages = Pages(chat)
        sent = await chat.send()
        await chat.until_streaming("word100")
        pages.fill()
        told = await notice(chat, "error")
        assert told.message.startswith("The disk is full, so nothing new can be saved. Everything is paused.")
        assert (await chat.api.run(ME, sent.run_id)).status == "running"
        assert (await chat.texts("user_message")) == ["Hello"]
        async with reach(chat.api, ServerOptions(token=TOKEN)) as server:
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
    async with chatting(home, STREAM, at_rest=False) as chat:
        sent = await chat.send()
        await chat.until_streaming("word100")
        Pages(chat).fill()
        await notice(chat, "error")
    async with chatting(home, [["Whole."]]) as again:
        before = Chat(again.host, chat.id, chat.script)
        assert (await before.settled(sent.run_id)).status == "completed"
        assert (await before.texts("response"))[-1] == "Whole."


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with little room, where this account may make one."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1500k", "tmpfs", folder], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("only root may make a file system; the page limit shows the same")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.case("F-42")
async def test_on_a_file_system_that_is_really_full_the_answer_waits_and_then_is_whole(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STORE_RETRY", 0.05)
    ballast = small_disk / "ballast"
    async with chatting(small_disk / "home", STREAM) as chat:
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


def fill(path: Path) -> None:
    """Write until there is no room."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
