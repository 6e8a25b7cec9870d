"""Others on the same data: a second host is refused by name, a lock is waited for and then told about."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.wiring import open_host
from tests.support.chats import open_chat

HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held(database: Path) -> Iterator[None]:
    """Hold the database's lock in another process."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == b"held\n"
        try:
            yield
        finally:
            other.stdin.close()
            other.wait(10)


@pytest.mark.case("F-44")
async def test_a_second_host_on_the_same_folder_refuses_and_names_the_first(home: Path) -> None:
    async with open_chat(home) as chat:
        with pytest.raises(PilothouseError) as refused:
            async with open_host(home):
                pass
        assert refused.value.code == "data_locked"
        assert f"process {os.getpid()}" in refused.value.message
        assert (await chat.say()).status == "completed"
    async with open_host(home):
        pass


@pytest.mark.case("F-44")
async def test_a_held_database_is_waited_for_and_then_told_about(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert limits.BUSY_TIMEOUT == 5.0
    monkeypatch.setattr(limits, "BUSY_TIMEOUT", 0.4)
    monkeypatch.setattr(limits, "STORE_RETRY", 0.05)
    async with open_chat(home, [[{"text": "a b c d e f", "pieces": 1, "every": 0.05}]]) as chat:
        sent = await chat.send()
        await chat.until_streaming("a")
        with held(home / "pilothouse.db"):
            began = time.monotonic()
            with pytest.raises(PilothouseError) as refused:
                await chat.send("More")
            assert time.monotonic() - began > 0.3
            assert refused.value.code == "data_locked"
            assert refused.value.message == "Another program holds the database."
            assert len(await chat.items("user_message")) == 1
            with pytest.raises(PilothouseError, match="Another program holds the database"):
                await chat.api.ready()
        assert (await chat.settled(sent.run_id)).status == "completed"
        assert await chat.texts("response") == ["a b c d e f"]
        monkeypatch.setattr(limits, "READY_FRESH", 0.0)
        await chat.api.ready()


@pytest.mark.case("F-44")
async def test_a_start_on_a_held_database_says_so(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BUSY_TIMEOUT", 0.2)
    async with open_chat(home):
        pass
    with held(home / "pilothouse.db"), pytest.raises(PilothouseError) as refused:
        async with open_host(home):
            pass
    assert refused.value.code == "data_locked"
    async with open_host(home):
        pass
