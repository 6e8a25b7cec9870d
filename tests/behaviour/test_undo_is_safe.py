"""Undo says what it does not cover, and loses nothing: not with two tabs, a full disk, or a folder that is odd."""

from __future__ import annotations

import asyncio
import json
import os
import re
from pathlib import Path

import msgspec
import pytest

from pilothouse.store.store import Store
from pilothouse.types import limits
from pilothouse.types.api import ConversationPatch, NewConversation
from pilothouse.types.errors import PilothouseError
from tests.behaviour.test_command_changes import command, freely, unasked
from tests.behaviour.test_set_aside import TASKS, ran
from tests.support.chats import ME, Chat, open_chat

pytestmark = pytest.mark.slow


@pytest.fixture
def work(work: Path) -> Path:
    (work / "a.txt").write_text("one\n")
    return work


async def test_what_nobody_looks_into_is_named_before_the_first_command_and_after_the_one_that_made_it(
    home: Path, work: Path
) -> None:
    os.mkdir(os.fsencode(work) + b"/caf\xe9")
    (work / os.fsdecode(b"caf\xe9") / "x").write_text("x")
    deep = "python3 -c \"import os\nfor _ in range(110): os.mkdir('d'); os.chdir('d')\""
    async with open_chat(home, [command("true"), command(deep), "Done."], settings=unasked(work)) as chat:
        await freely(chat)
        await chat.say()
        items = [item for item in await chat.items() if item.kind in ("notice", "tool_call")]
        assert [item.kind for item in items] == ["tool_call", "notice"] * 2
        end = "what commands change there cannot be undone, and what starts by itself is not set aside."
        first, second = (item.text for item in items if item.kind == "notice")
        assert first == f"Nobody looks into caf\\xe9/ (its name is not UTF-8): {end}"
        assert second == f"Nobody looks into {'d/' * 40}… (too many folders deep): {end}"


async def test_a_command_that_leaves_more_than_is_looked_at_is_undone_where_something_was(
    home: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SNAPSHOT_ENTRIES", 300)
    (work / "src").mkdir()
    (work / "src" / "b.py").write_text("b = 1\n")
    does = "mkdir junk; touch $(seq -f junk/%g 400); rm -r src a.txt; echo obey > AGENTS.md"
    async with open_chat(home, [command(does), "Done.", command("true"), "Done."], settings=unasked(work)) as chat:
        await freely(chat)
        run = await chat.say()
        assert not (work / "AGENTS.md").exists()
        told = [item.text for item in await chat.items("notice") if item.raw.get("code") == "not_covered"]
        assert [text.partition(":")[0] for text in told] == ["The command left more than 100,000 files"]
        await chat.api.changes.undo_run(ME, run.id)
        assert (work / "src" / "b.py").read_text() == "b = 1\n"
        assert (work / "a.txt").read_text() == "one\n"
        # What undo cannot cover is asked about.
        assert (await chat.say()).status == "waiting"


async def test_what_two_conversations_do_to_one_folder_is_undone_by_each_for_itself(home: Path, work: Path) -> None:
    turns = [command("echo 1 >> a.txt; echo 1 > first"), "Done.", command("mv first moved; echo 3 > third"), "Done."]
    async with open_chat(home, turns, settings=unasked(work)) as chat:
        await freely(chat)
        first = await chat.say()
        settings = (await chat.snapshot()).conversation.settings
        other = await chat.api.conversations.create(ME, NewConversation(settings=settings))
        script = work.parent / "other.json"
        script.write_text(json.dumps({"turns": [command("echo 2 >> a.txt; echo 2 > second"), "Done."]}))
        chosen = msgspec.structs.replace(settings, model_id=f"scripted:{script}", mode="sandboxed")
        await chat.api.conversations.update(ME, other.id, ConversationPatch(settings=chosen))
        beside = Chat(chat.host, other.id, script)
        second, third = await beside.say(), await chat.say()
        report = await chat.api.changes.undo_run(ME, first.id)
        # The other one wrote to the file since, and this one moved what it had made.
        assert [os.path.basename(each.path) for each in report.conflicts] == ["a.txt"]
        assert (work / "moved").read_text() == "1\n"
        assert (await chat.api.changes.undo_run(ME, second.id)).conflicts == ()
        assert (await chat.api.changes.undo_run(ME, third.id)).conflicts == ()
        assert (await chat.api.changes.undo_run(ME, first.id)).conflicts == ()
        assert (work / "a.txt").read_text() == "one\n"
        assert sorted(os.listdir(work)) == ["a.txt", "first"]


async def test_put_back_and_dropped_from_two_tabs_only_the_first_counts(home: Path, work: Path) -> None:
    async with open_chat(home, [command(TASKS), "Done."], settings=unasked(work)) as chat:
        changes = chat.api.changes
        (notice,) = await ran(chat)
        tabs = (changes.undo_call(ME, notice.id), changes.drop(ME, notice.id), changes.undo_call(ME, notice.id))
        done = [each for each in await asyncio.gather(*tabs, return_exceptions=True) if not isinstance(each, Exception)]
        assert len(done) == 1
        (notice,) = [item for item in await chat.items("notice") if item.raw.get("code") == "set_aside"]
        was_put_back = done[0] is not None
        assert (work / "AGENTS.md").exists() == was_put_back
        assert len(notice.raw.get("undone", ())) == (2 if was_put_back else 0)
        assert bool(notice.raw.get("dropped")) != was_put_back
        with pytest.raises(PilothouseError, match="There is nothing to"):
            await changes.drop(ME, notice.id)


async def test_what_cannot_be_kept_is_not_set_aside_but_told(
    home: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_chat(home, [command("echo obey > AGENTS.md"), "Done."], settings=unasked(work)) as chat:

        async def full(*_: object) -> None:
            raise PilothouseError("disk_full", "The disk is full.")

        monkeypatch.setattr(Store, "keep_changes", full)
        await freely(chat)
        run = await chat.say()
        (call,) = await chat.items("tool_call")
        assert (run.status, call.status) == ("completed", "completed")
        assert (work / "AGENTS.md").read_text() == "obey\n"
        told = [item.text for item in await chat.items("notice") if item.raw.get("code") == "not_covered"]
        assert told[0] == (
            "The command left behind what starts by itself, and it could not be set aside: AGENTS.md. The disk is full."
        )


async def test_many_commands_leave_no_file_and_no_descriptor_behind(home: Path, work: Path) -> None:
    turns = [*(command(f"echo {number} > a.txt; echo x > new{number % 7}") for number in range(40)), "Done."]
    async with open_chat(home, [*turns[:3], "Done.", *turns], settings=unasked(work)) as chat:
        await freely(chat)
        await chat.say()
        before = held_open()
        await chat.say()
        assert len(await chat.items("tool_call")) == 43
        assert os.listdir(home / "cache" / "snapshots") == []
        assert held_open() == before


def held_open() -> list[str]:
    """Return what this process holds open of files without names and of the system's word about folders."""
    found = (f"/proc/self/fd/{each}" for each in os.listdir("/proc/self/fd"))
    leads = (os.readlink(each) for each in found if os.path.lexists(each))
    return sorted(re.sub(r"\d+", "", each) for each in leads if "inotify" in each or "deleted" in each)
