"""Backups are made beside a server that goes on writing; whatever is killed meanwhile, nothing is half."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from pilothouse.wiring.backups import back_up
from tests.support import forked
from tests.support.chats import open_chat
from tests.support.commands import pilothouse
from tests.support.servers import Server
from tests.support.waiting import until

WRITERS = 3
# A generous timeout: only a hang exceeds it. Each server dies and is asked a dozen times.
AMPLE = 300.0


@pytest.fixture(params=["sqlite", "postgresql"])
def urls(request: pytest.FixtureRequest) -> Iterator[tuple[str | None, str | None]]:
    """Two databases: the one that is copied, and the one that the copy goes to."""
    if request.param == "sqlite":
        yield None, None
    else:
        postgres = request.getfixturevalue("postgres")
        with postgres.database() as first, postgres.database() as second:
            yield first, second


class Writing:
    """Conversations that are written to without a pause, and what was accepted in them."""

    def __init__(self, server: Server, script: Path) -> None:
        self._server = server
        self._model = f"scripted:{script}"
        self._over = threading.Event()
        self.accepted: list[tuple[str, str]] = []

    def write(self) -> None:
        conversation = self._server.post("/api/conversations", {}, 201)["id"]
        while not self._over.is_set():
            body = {"text": f"message {len(self.accepted)}", "modelId": self._model}
            taken = self._server.post(f"/api/conversations/{conversation}/messages", body, 202)
            self.accepted.append((conversation, taken["itemId"]))
            until(partial(self._is_answered, taken["runId"]), "an answer")

    def _is_answered(self, run_id: str) -> bool:
        return self._over.is_set() or self._server.run_status(run_id) == "completed"

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Write until the end of the block."""
        with ThreadPoolExecutor(WRITERS) as pool:
            writing = [pool.submit(self.write) for _ in range(WRITERS)]
            try:
                yield
            finally:
                self._over.set()
            for one in writing:
                one.result()


def environ(url: str | None) -> dict[str, str]:
    return {} if url is None else {"PILOTHOUSE_DATABASE_URL": url}


@pytest.mark.slow
@pytest.mark.timeout(AMPLE + 60)
def test_a_backup_beside_a_server_that_writes_holds_all_that_was_accepted_before(
    tmp_path: Path, urls: tuple[str | None, str | None]
) -> None:
    home, other, file = tmp_path / "home", tmp_path / "other", tmp_path / "copy.jsonl.gz"
    script = tmp_path / "script.yaml"
    script.write_text("- [Some words of an answer.]\n")
    home.mkdir()
    with Server(home, database_url=urls[0]) as server:
        writing = Writing(server, script)
        with writing.going_on():
            until(lambda: len(writing.accepted) > 9, "some messages")
            before = list(writing.accepted)
            made = pilothouse(home, "backup", str(file), "--json", **environ(urls[0]))
            after = len(writing.accepted)
        assert made.code == 0, made.err
        refused = pilothouse(home, "restore", "--replace", str(file), **environ(urls[0]))
        assert refused.code == 1
        assert "is running on" in refused.err
    assert file.stat().st_mode & 0o777 == 0o600
    back = pilothouse(other, "restore", str(file), "--json", **environ(urls[1]))
    assert back.code == 0, back.err
    assert json.loads(back.out)["unsound"] == []
    with Server(other, database_url=urls[1]) as server:
        there = {
            (conversation, item["id"])
            for conversation in {one for one, _ in before}
            for item in server.get(f"/api/conversations/{conversation}/items?limit=500")["items"]
        }
        lost = [one for one in before if one not in there]
        assert not lost, f"{len(lost)} of {len(before)} are not in the copy"
        # What was at work or waited goes on where the copy ends.
        until(lambda: not active(server), "every run to end", AMPLE)
        assert all(check["sound"] for check in server.get("/api/audit")["checks"])
    print(f"accepted before {len(before)}, while it was made {after - len(before)}, in the copy {made.out.strip()}")


def active(server: Server) -> list[str]:
    listed = server.get("/api/conversations")["conversations"]
    return [one["id"] for one in listed if one["activity"] in ("queued", "running", "waiting")]


async def a_home(home: Path, text: str) -> None:
    async with open_chat(home, ["Yes."]) as chat:
        await chat.say(text)


def died_at_each_step(what: str, home: Path, file: Path) -> list[dict[str, object]]:
    module = ["tests.faults.dying_copies", what, str(home), str(file)]
    code, out, said = forked.run(module, b"", env=os.environ, timeout=AMPLE)
    assert code == 0, said.decode()
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.slow
@pytest.mark.timeout(AMPLE + 60)
async def test_a_restore_that_is_killed_leaves_the_old_data_or_the_new_and_never_loses_the_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await a_home(tmp_path / "new", "New words")
    await a_home(tmp_path / "old", "Old words")
    monkeypatch.setenv("PILOTHOUSE_HOME", str(tmp_path / "new"))
    file = Path((await asyncio.to_thread(back_up, tmp_path / "copy.jsonl.gz", replace=False)).file)
    ends = await asyncio.to_thread(died_at_each_step, "restore", tmp_path / "old", file)
    assert len(ends) > 10
    for end in ends:
        assert end["titles"] in (["Old words"], ["New words"])
        assert end["titles"] == ["Old words"] or end["aside"] == [["Old words"]]
    assert ends[-1] == {"died": False, "titles": ["New words"], "aside": [["Old words"]], "copies": []}


@pytest.mark.slow
@pytest.mark.timeout(AMPLE + 60)
async def test_a_restore_into_postgresql_that_is_killed_leaves_the_old_data_and_the_next_one_ends_it(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await a_home(tmp_path / "new", "New words")
    monkeypatch.setenv("PILOTHOUSE_HOME", str(tmp_path / "new"))
    file = Path((await asyncio.to_thread(back_up, tmp_path / "copy.jsonl.gz", replace=False)).file)
    async with open_chat(tmp_path / "old", ["Yes."], database_url=postgres_url) as chat:
        await chat.say("Old words")
    environment = {**os.environ, "PILOTHOUSE_HOME": str(tmp_path / "old"), "PILOTHOUSE_DATABASE_URL": postgres_url}
    module = ["tests.faults.dying_restore", str(file)]
    code, out, said = await asyncio.to_thread(forked.run, module, b"", env=environment, timeout=AMPLE)
    assert code == 0, said.decode()
    ends = [json.loads(line) for line in out.splitlines()]
    assert len(ends) > 5
    for end in ends:
        assert end["titles"] in (["Old words"], ["New words"])
        # Where the new data stands, the old is beside it; and no copy of it is half.
        assert end["titles"] == ["Old words"] or end["aside"]
        assert all(end["aside"])
    assert ends[0]["titles"] == ["Old words"]
    assert (ends[-1]["died"], ends[-1]["titles"]) == (False, ["New words"])
    print(f"killed {len(ends) - 1} times, {sum(end['titles'] == ['Old words'] for end in ends)} times before the end")


@pytest.mark.slow
@pytest.mark.timeout(AMPLE + 60)
async def test_a_backup_that_is_killed_leaves_no_half_file_under_its_name(tmp_path: Path) -> None:
    await a_home(tmp_path / "home", "Words")
    ends = await asyncio.to_thread(died_at_each_step, "backup", tmp_path / "home", tmp_path / "none")
    assert len(ends) > 3
    assert all(end["titles"] == ["Words"] and end["copies"] in ([], [True]) for end in ends)
    assert (ends[-1]["died"], ends[-1]["copies"]) == (False, [True])
