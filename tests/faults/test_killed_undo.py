"""A process that is killed while it keeps, sets aside or puts back files loses none of them."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pilothouse.wiring import open_host
from tests.behaviour.test_command_changes import state
from tests.behaviour.test_set_aside import TASKS
from tests.support import forked
from tests.support.chats import ME, Chat

pytestmark = pytest.mark.slow
DOES = "rm a.txt link; mv src lib; mkdir new; echo n > new/n; echo more >> b.txt; chmod 700 run.sh; ln -s b.txt other"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "run.sh", "src/c.py"):
        (folder / name).write_text(f"{name}\n")
    (folder / "link").symlink_to("a.txt")
    return folder


def killed(point: str, home: Path, work: Path, text: str) -> tuple[str, str]:
    """Let a process die; return the conversation and the run that it worked on."""
    code, said, _ = forked.run(
        ["tests.faults.dying_undo", point, str(home), str(work), text], b"", env=os.environ, timeout=60
    )
    assert code == -signal.SIGKILL
    conversation, run = said.decode().split()
    return conversation, run


@asynccontextmanager
async def opened_again(home: Path, conversation: str) -> AsyncIterator[Chat]:
    async with open_host(home) as host:
        yield Chat(host, conversation, home.parent / "script.json")


async def test_an_undo_that_was_killed_half_way_is_finished_by_the_next(home: Path, work: Path) -> None:
    before = state(work)
    conversation, run = killed("undo", home, work, DOES)
    assert state(work) != before
    async with opened_again(home, conversation) as chat:
        assert (await chat.api.changes.undo_run(ME, run)).conflicts == ()
    assert state(work) == before


async def test_what_was_taken_away_before_the_process_was_killed_can_be_put_back(home: Path, work: Path) -> None:
    conversation, _run = killed("aside", home, work, TASKS)
    files = {".vscode/tasks.json", "AGENTS.md"}
    assert len([name for name in files if (work / name).exists()]) == 1
    async with opened_again(home, conversation) as chat:
        (notice,) = [item for item in await chat.items("notice") if item.raw.get("code") == "set_aside"]
        assert (await chat.api.changes.undo_call(ME, notice.id)).conflicts == ()
    assert all((work / name).exists() for name in files)


async def test_a_look_that_was_killed_leaves_nothing_behind(home: Path, work: Path) -> None:
    before = state(work)
    killed("snapshot", home, work, DOES)
    assert state(work) == before
    assert os.listdir(home / "cache" / "snapshots") == []
