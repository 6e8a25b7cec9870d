"""Power cuts and restarted databases: what was kept opens, is whole, and goes on."""

from __future__ import annotations

import asyncio
import random
import shutil
from pathlib import Path

import pytest

from pilothouse.types import limits
from tests.faults import chance
from tests.support import invariants
from tests.support.chats import Chat, database_of, open_chat
from tests.support.postgres import Postgres

STREAM = [
    [
        {"thinking": "hm " * 10, "pieces": 3, "every": 0.004},
        {"text": "one two three four five six seven eight", "pieces": 2, "every": 0.02},
        {"call": "think", "arguments": {"thoughts": "x"}},
    ],
    [{"text": "and that was all of it.", "pieces": 2, "every": 0.02}],
]


def cut(home: Path, target: Path, luck: random.Random) -> None:
    """Copy the database as a power cut leaves it: the end of the log may be missing."""
    target.mkdir()
    log = (home / "pilothouse.db-wal").read_bytes()
    shutil.copy(home / "pilothouse.db", target / "pilothouse.db")
    (target / "pilothouse.db-wal").write_bytes(log[: luck.randint(len(log) * 2 // 3, len(log))])


@pytest.mark.case("F-47")
async def test_a_copy_from_any_moment_opens_and_its_run_goes_on(home: Path, tmp_path: Path) -> None:
    chance.seeded(0)
    luck = random.Random(f"{chance.SEED} power")
    copies: list[Path] = []
    async with open_chat(home, STREAM) as chat:
        sent = await chat.send()
        # Kept before the first cut, as a message that was answered with "accepted" long ago is.
        for word in ("one", "two", "four", "seven", "and", "that", "all"):
            await chat.until_streaming(word)
            copies.append(tmp_path / f"cut-{word}" / "home")
            copies[-1].parent.mkdir()
            await asyncio.to_thread(cut, home, copies[-1], luck)
        assert (await chat.settled(sent.run_id)).status == "completed"
    for copy in copies:
        invariants.check(database_of(copy), at_rest=False)
        async with open_chat(copy, ["Whole."]) as again:
            before = Chat(again.host, chat.id, chat.script)
            if sent.run_id in {run.id for run in (await before.snapshot()).runs}:
                assert (await before.settled(sent.run_id)).status == "completed"


@pytest.mark.case("F-46")
async def test_a_restarted_postgresql_is_waited_for_and_the_answer_is_whole(
    home: Path, postgres: Postgres, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STORE_RETRY", 0.1)
    # The test server may forget what it confirmed; this database may not.
    postgres.execute(f'ALTER DATABASE "{postgres_url.rpartition("/")[2]}" SET synchronous_commit = on')
    async with open_chat(home, STREAM, database_url=postgres_url) as chat:
        sent = await chat.send()
        await chat.until_streaming("one")
        await asyncio.to_thread(postgres.interrupt)
        await asyncio.to_thread(postgres.resume)
        run = await chat.settled(sent.run_id)
        assert run.status == "completed", run.error
        assert (await chat.texts("response"))[0] == "one two three four five six seven eight"
        assert (await chat.say("Again")).status == "completed"
