"""What is at work where: runs by their state, and the processes that work on them."""

from __future__ import annotations

import json
import time
from pathlib import Path

import msgspec
import pytest

from pilothouse.types.api import NewConversation
from pilothouse.types.errors import PilothouseError
from pilothouse.types.paging import Page, whole
from pilothouse.wiring.host import open_host
from tests.support.chats import ME, open_chat
from tests.support.commands import pilothouse, server
from tests.support.replicas import set_master_key
from tests.support.waiting import eventually

# It goes on until it is stopped.
SLOW = [{"text": "word " * 200, "pieces": 5, "every": 600}]


async def test_runs_are_listed_by_their_state_with_where_they_are_and_who_works_on_them(home: Path) -> None:
    async with open_chat(home, [["Hello."], SLOW]) as chat:
        done = await chat.say("first words")
        working = await chat.send("second")
        await chat.until_streaming("word")
        behind = await chat.send("third")
        listed = await chat.api.operations.runs(ME)
        assert [(run.id, run.status) for run in listed.runs] == [(working.run_id, "running"), (behind.run_id, "queued")]
        first = listed.runs[0]
        assert (first.conversation_id, first.title) == (chat.id, "first words")
        assert first.process == chat.host.executor.process
        assert first.since >= first.created_at
        ended = await chat.api.operations.runs(ME, "completed,failed")
        assert [(run.id, run.process) for run in ended.runs] == [(done.id, None)]
        for run in listed.runs:
            await chat.api.runs.cancel(ME, run.id)
        await chat.settled(behind.run_id)


async def test_a_list_of_runs_comes_in_pages_and_nothing_is_left_out(home: Path) -> None:
    async with open_chat(home, ["Hello."]) as chat:
        made = [(await chat.say(f"message {n}")).id for n in range(5)]
        first = await chat.api.operations.runs(ME, "completed", Page(2))
        assert [run.id for run in first.runs] == [made[4], made[3]]
        assert first.next is not None
        found = await whole(lambda page: chat.api.operations.runs(ME, "completed", page), Page(2))
        assert [run.id for run in found.runs] == made[::-1]


async def test_nobody_is_told_of_the_runs_and_processes_of_another(home: Path) -> None:
    async with open_chat(home, ["Hello."]) as chat:
        await chat.say()
        assert (await chat.api.operations.runs("someone else", "completed")).runs == ()
        with pytest.raises(PilothouseError) as refused:
            await chat.api.operations.processes("someone else")
        assert refused.value.code == "forbidden"


async def test_runs_of_a_conversation_in_the_bin_are_not_listed(home: Path) -> None:
    async with open_chat(home, ["Hello."]) as chat:
        await chat.say()
        await chat.api.conversations.delete(ME, chat.id)
        assert (await chat.api.operations.runs(ME, "completed")).runs == ()


@pytest.mark.parametrize("status", ["", "asleep", "running,asleep", "running,,queued"])
async def test_a_state_that_there_is_not_is_told_with_those_that_there_are(home: Path, status: str) -> None:
    async with open_host(home) as host:
        with pytest.raises(PilothouseError, match="There is no state") as refused:
            await host.api.operations.runs(ME, status)
        assert "queued, running" in refused.value.fix


async def test_a_process_that_is_alone_tells_of_itself(home: Path) -> None:
    async with open_chat(home, [SLOW]) as chat:
        sent = await chat.send()
        await chat.until_streaming("word")
        found = await chat.api.operations.processes(ME)
        (own,) = found.processes
        assert (own.about.role, own.about.at_work, own.about.version) == ("server", 1, "0.1.0")
        assert own.about.slots > 1
        assert (found.queued, found.at_work) == (0, 1)
        await chat.api.runs.cancel(ME, sent.run_id)
        await chat.settled(sent.run_id)


async def test_several_processes_tell_of_each_other(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_master_key(monkeypatch, tmp_path)
    async with (
        open_host(tmp_path / "web", postgres_url, role="web") as web,
        open_host(tmp_path / "worker", postgres_url, role="worker", slots=3),
    ):

        async def all_there() -> bool:
            return len((await web.api.operations.processes(ME)).processes) == 2

        await eventually(all_there, "both to be told of")
        found = await web.api.operations.processes(ME)
        told = {each.about.role: each.about for each in found.processes}
        assert told.keys() == {"web", "worker"}
        assert (told["web"].slots, told["worker"].slots) == (0, 3)
        assert not told["web"].programs
        # A machine's own clock may be far off: what counts is the database's.
        ahead = time.time() + 5_000
        with monkeypatch.context() as patched:
            patched.setattr("time.time", lambda: ahead)
            shown = await web.api.operations.processes(ME)
            assert all(shown.now - one.seen_at < 60 for one in shown.processes)
        await web.api.conversations.create(ME, NewConversation())
        # What is written to try the database is no process.
        await web.api.ready()
        assert len((await web.api.operations.processes(ME)).processes) == 2


def test_the_command_line_lists_runs_and_processes(home: Path, tmp_path: Path) -> None:
    script = tmp_path / "s.yaml"
    script.write_text("- ok")
    none = pilothouse(home, "runs")
    assert (none.out.strip(), none.err.strip()) == ("There are none.", "")
    assert pilothouse(home, "run", "hi there", "--model", f"scripted:{script}").code == 0
    listed = pilothouse(home, "runs", "--status", "completed")
    assert "hi there" in listed.out
    assert "completed" in listed.out
    (run,) = json.loads(pilothouse(home, "runs", "--status", "completed", "--json").out)["runs"]
    assert run["status"] == "completed"
    wrong = pilothouse(home, "runs", "--status", "asleep")
    assert wrong.code == 2
    assert "There is no state “asleep”" in wrong.err
    with server(home):
        shown = pilothouse(home, "processes")
        (process,) = json.loads(pilothouse(home, "processes", "--json").out)["processes"]
    assert "0 runs waiting, 0 at work." in shown.out
    assert process["about"]["role"] == "server"


def test_entries_have_no_more_than_an_operator_needs() -> None:
    from pilothouse.types.operations import RunEntry

    named = {field.name for field in msgspec.structs.fields(RunEntry)}
    assert named == {
        *("id", "conversation_id", "title", "status", "created_at", "since", "process", "cancel_requested", "branch")
    }
