"""What commands make takes no room from the person's own files; where these need more than there is, it asks once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pilothouse.tools.snapshots.made import MadeRecord
from pilothouse.tools.snapshots.mirror import Mirror
from pilothouse.types import limits
from pilothouse.types.api import Answer
from tests.behaviour.test_command_changes import command, freely, unasked
from tests.support.chats import ME, Chat, open_chat

JUNK = "mkdir a; for n in $(seq 9); do head -c 3000 /dev/urandom > a/$n; done"
GROW = "for f in one two three; do head -c 9000 /dev/urandom > $f; done"


@pytest.fixture(autouse=True)
def room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SNAPSHOT_BYTES", 20_000)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (folder := tmp_path / "project").mkdir()
    (folder / "own").write_bytes(os.urandom(8_000))
    for name in ("one", "two", "three"):
        (folder / name).write_text(name)
    return folder


async def calls_of(chat: Chat, work: Path) -> list[str]:
    await freely(chat)
    await chat.say()
    return [item.id for item in await chat.items("tool_call")]


HIDING: list[list[str]] = [
    [JUNK, "echo more >> own", "rm own"],
    [f"{JUNK}; echo more >> own", "rm own"],
    [JUNK, "mv own b; echo more >> b", "rm b"],
    ["mv own b", JUNK, "echo more >> b", "rm b"],
    [JUNK, "ln own b; rm own", "echo more >> b", "rm b"],
    # So much that all of it is looked at anew.
    [*[f"head -c 15000 /dev/urandom > junk{n}" for n in range(6)], "echo more >> own", "rm own"],
]


@pytest.mark.slow
@pytest.mark.parametrize("commands", HIDING, ids=lambda commands: " | ".join(commands)[-60:])
async def test_junk_that_commands_make_takes_no_room_from_the_persons_files(
    home: Path, work: Path, monkeypatch: pytest.MonkeyPatch, commands: list[str]
) -> None:
    monkeypatch.setattr(limits, "SNAPSHOT_PACK_BYTES", 40_000)
    own = (work / "own").read_bytes()
    turns: list[Any] = [*(command(text) for text in commands), "Done."]
    async with open_chat(home, turns, settings=unasked(work)) as chat:
        calls = await calls_of(chat, work)
        assert await chat.items("question") == []
        assert (await chat.api.changes.undo_call(ME, calls[-1])).conflicts == ()
        name = "own" if commands[-1] == "rm own" else "b"
        assert (work / name).read_bytes() == own + b"more\n"


@pytest.mark.slow
async def test_where_the_persons_own_files_have_no_more_room_the_next_command_asks_once(home: Path, work: Path) -> None:
    turns = [command(GROW), command("rm two"), command("true"), command("true"), "Done."]
    async with open_chat(home, turns, settings=unasked(work)) as chat:
        await freely(chat)
        run = await chat.say()
        (question,) = await chat.items("question")
        assert "Undo has no more room here and would not bring back" in question.text
        assert "task" in [choice["id"] for choice in question.raw["choices"]]
        assert (work / "two").exists()
        await chat.api.questions.answer(ME, question.id, Answer(choice="allow"))
        assert (await chat.settled(run.id)).status == "completed"
        assert len(await chat.items("question")) == 1
    async with open_chat(home, [command("true"), "Done."], settings=unasked(work)) as chat:
        # A new process takes the folder as it is: what it cannot keep it names before the first command.
        await freely(chat)
        assert (await chat.say()).status == "completed"
        assert any("can be undone, but not in" in item.text for item in await chat.items("notice"))


@pytest.mark.slow
async def test_a_folder_with_more_than_there_is_room_for_is_named_and_not_asked_about(home: Path, work: Path) -> None:
    for number in range(9):
        (work / f"large{number}").write_bytes(os.urandom(5_000))
    turns = [command("echo x >> large0"), command("echo x > new"), command("true"), "Done."]
    async with open_chat(home, turns, settings=unasked(work)) as chat:
        await freely(chat)
        assert (await chat.say()).status == "completed"
        assert await chat.items("question") == []


def test_what_the_person_adds_between_commands_is_theirs_and_comes_before_junk(work: Path, tmp_path: Path) -> None:
    mirror = Mirror(str(work), tmp_path / "cache")
    mirror.refresh()
    for number in range(9):
        (work / f"junk{number}").write_bytes(os.urandom(3_000))
    mirror.look()
    assert mirror.lost() == {}
    (work / "added").write_bytes(added := os.urandom(9_000))
    mirror.refresh()
    entry = mirror.at("added")
    assert entry is not None
    assert mirror.content(entry) == added
    for name in ("more", "most"):
        (work / name).write_bytes(os.urandom(9_000))
        mirror.refresh()
    assert mirror.lost() == {"most": 9_000}
    (work / "added").unlink()
    (work / "more").unlink()
    mirror.refresh()
    assert mirror.lost() == {}
    mirror.close()


def test_a_folder_that_is_looked_at_anew_is_still_known_for_what_commands_made(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = Mirror(str(work), tmp_path / "cache")
    mirror.refresh()
    for number in range(12):
        (work / f"junk{number}").write_bytes(os.urandom(2_000))
    mirror.look()
    monkeypatch.setattr(limits, "SNAPSHOT_PACK_BYTES", 0)
    mirror.refresh()
    own = mirror.at("own")
    assert own is not None
    assert mirror.content(own) == (work / "own").read_bytes()
    assert mirror.lost() == {}
    mirror.close()


def made_before(work: Path, tmp_path: Path) -> MadeRecord:
    """Let a process that is gone have seen commands make junk; return what it wrote down."""
    record = MadeRecord(tmp_path / "made", str(work))
    mirror = Mirror(str(work), tmp_path / "cache", made=record)
    mirror.refresh()
    for number in range(12):
        (work / f"junk{number}").write_bytes(os.urandom(2_000))
    mirror.look()
    mirror.close()
    return record


def test_after_a_restart_what_commands_made_takes_no_room_from_the_persons_files(work: Path, tmp_path: Path) -> None:
    mirror = Mirror(str(work), tmp_path / "cache", made=made_before(work, tmp_path))
    mirror.refresh()
    own = mirror.at("own")
    assert own is not None
    assert own.at >= 0
    assert mirror.content(own) == (work / "own").read_bytes()
    assert all(path.startswith("junk") for path in mirror.left_out())
    mirror.close()


def test_what_the_person_put_in_the_place_of_junk_is_theirs_after_a_restart(work: Path, tmp_path: Path) -> None:
    record = made_before(work, tmp_path)
    (work / "mine").write_bytes(mine := os.urandom(9_000))
    (work / "mine").replace(work / "junk3")
    mirror = Mirror(str(work), tmp_path / "cache", made=record)
    mirror.refresh()
    entry = mirror.at("junk3")
    assert entry is not None
    assert entry.at >= 0
    assert mirror.content(entry) == mine
    mirror.close()


def test_what_is_gone_is_forgotten_and_a_broken_record_is_none(work: Path, tmp_path: Path) -> None:
    record = made_before(work, tmp_path)
    [file] = (tmp_path / "made").iterdir()
    assert len(record.read()) == 12
    mirror = Mirror(str(work), tmp_path / "cache", made=record)
    mirror.refresh()
    for number in range(12):
        (work / f"junk{number}").unlink()
    mirror.look()
    mirror.close()
    assert not file.exists()
    file.write_text("{")
    assert record.read() == {}
