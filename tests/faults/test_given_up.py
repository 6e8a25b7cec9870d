"""A run that takes its process down again and again waits with its reason, and can be resumed, also after others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from pilothouse.agent.history import history
from pilothouse.store.opening import open_store
from pilothouse.types import limits
from pilothouse.types.runs import Run
from pilothouse.wiring.host import open_host
from tests.faults.scenario import begin_held, hold, let_go, write_held
from tests.support import invariants
from tests.support.chats import ME, Chat, database_of
from tests.support.commands import pilothouse
from tests.support.servers import Server

ANSWER = "".join(f"word{n} " for n in range(30))
REASON = "The program ended 5 times while it worked on this, so it does not begin again by itself."


async def died_often(home: Path, run_id: str) -> None:
    """Make a run that died once one that has died as often as may be, save once."""
    opened = open_store(home, None, lambda _id, _events: None)

    def change(run: Run) -> Run:
        assert (run.status, run.recoveries) == ("running", 0)
        return msgspec.structs.replace(run, recoveries=limits.MAX_RECOVERIES - 1)

    await opened.store.change_run(run_id, change)
    await opened.close()


@asynccontextmanager
async def given_up(tmp_path: Path) -> AsyncIterator[tuple[Chat, str]]:
    """Open a host on a folder whose server was killed in the middle of an answer, for the last time that may be."""
    home, script = tmp_path / "home", write_held(tmp_path, ANSWER)
    with Server(home) as server:
        conversation, run = begin_held(server, script, "The first.")
        server.kill()
    let_go(script)
    await died_often(home, run)
    async with open_host(home, role="server") as host:
        yield Chat(host, conversation, script), run
    invariants.check(database_of(home))


async def _standing(chat: Chat) -> list[str | None]:
    return [item.run_id for item in await chat.items("response") if not item.raw.get("cutOff")]


@pytest.mark.timeout(120)
async def test_it_waits_with_its_reason_and_holds_nobody_up(tmp_path: Path) -> None:
    async with given_up(tmp_path) as (chat, first):
        waiting = await chat.api.runs.get(ME, first)
        assert (waiting.status, waiting.recoveries) == ("interrupted", limits.MAX_RECOVERIES)
        assert waiting.error is not None
        assert (waiting.error.message, bool(waiting.error.fix)) == (REASON, True)
        second = await chat.say("The second.")
        assert second.status == "completed"
        assert (await chat.api.runs.get(ME, first)) == waiting


@pytest.mark.timeout(120)
async def test_it_can_be_resumed_after_the_conversation_went_on_as_the_next_thing(tmp_path: Path) -> None:
    async with given_up(tmp_path) as (chat, first):
        second = await chat.say("The second.")
        hold(chat.script)
        third = await chat.send("The third.")
        fourth = await chat.send("The fourth.")
        await chat.until_streaming("word1")
        resumed = await chat.api.runs.resume(ME, first)
        assert (resumed.status, resumed.error, resumed.recoveries) == ("queued", None, 0)
        let_go(chat.script)
        for run_id in (third.run_id, first, fourth.run_id):
            assert (await chat.settled(run_id)).status == "completed"
        assert await _standing(chat) == [second.id, third.run_id, first, fourth.run_id]
        (told,) = await chat.items("reminder")
        assert "The first." in told.text
        asked = [item for item in await chat.items() if item.position <= told.position and "fourth" not in item.text]
        last = history(asked)[-1]
        assert last.role == "user"
        before = history([item for item in asked if item is not told and item.position < told.position])
        assert history(asked)[: len(before)] == before


@pytest.mark.timeout(120)
async def test_it_can_be_resumed_at_once_and_is_said_anew(tmp_path: Path) -> None:
    async with given_up(tmp_path) as (chat, first):
        await chat.api.runs.resume(ME, first)
        assert (await chat.settled(first)).status == "completed"
        assert await _standing(chat) == [first]
        assert not await chat.items("reminder")


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_a_command_shows_why_it_waits_and_resumes_it(tmp_path: Path) -> None:
    async with given_up(tmp_path) as (chat, first):
        assert (await chat.say("The second.")).status == "completed"
    home = tmp_path / "home"
    shown = await asyncio.to_thread(pilothouse, home, "conversations", "show", chat.id)
    assert f"{REASON} Go on with it: pilothouse conversations resume {chat.id}" in " ".join(shown.err.split())
    resumed = await asyncio.to_thread(pilothouse, home, "conversations", "resume", chat.id)
    assert (resumed.code, resumed.out.strip()) == (0, ANSWER.strip())
    again = await asyncio.to_thread(pilothouse, home, "conversations", "resume", chat.id)
    assert (again.code, "No answer in this conversation waits to be resumed." in again.err) == (1, True)
    async with open_host(home, role="server") as host:
        assert (await host.api.runs.get(ME, first)).status == "completed"
    invariants.check(database_of(home))
