"""What an agent does to files is shown as a diff and can be put back, by the run or by the call."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from pilothouse.agent.history import history
from pilothouse.types.api import Answer
from pilothouse.types.errors import PilothouseError
from pilothouse.types.messages import TextBlock
from tests.support.chats import ME, open_chat
from tests.support.commands import pilothouse


def files(operation: str, **arguments: Any) -> dict[str, Any]:
    return {"call": "file_operations", "arguments": {"operation": operation, **arguments}}


TURNS: list[Any] = [
    [files("read_file", filePath="a.txt")],
    [files("replace_string", filePath="a.txt", oldString="one", newString="1")],
    [files("create_file", filePath="new/b.txt", content="b\n"), files("create_file", filePath="c.txt", content="c\n")],
    "Done.",
]


@pytest.fixture
def work(work: Path) -> Path:
    (work / "a.txt").write_text("one\ntwo\n")
    return work


def editing(work: Path) -> dict[str, Any]:
    return {"working_directory": str(work), "mode": "auto_edit"}


@pytest.mark.case("ATZ-01", "FIL-10", "FIL-11")
async def test_a_run_edits_files_and_one_click_puts_everything_back(home: Path, work: Path) -> None:
    async with open_chat(home, TURNS, settings=editing(work)) as chat:
        run = await chat.say()
        assert run.status == "completed"
        assert (work / "a.txt").read_text() == "1\ntwo\n"
        calls = await chat.items("tool_call")
        assert [call.status for call in calls] == ["completed"] * 4
        assert calls[0].text == "one\ntwo"
        (change,) = calls[1].raw["changes"]
        assert change["diff"] == "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n"
        assert calls[1].raw["shown"]["summary"] == "Editing file: a.txt"
        listed = await chat.api.changes.list(ME, run.id)
        assert [Path(each.path).name for each in listed.changes] == ["a.txt", "new", "b.txt", "c.txt"]
        report = await chat.api.changes.undo_run(ME, run.id)
        assert (len(report.undone), report.conflicts) == (3, ())
        assert os.listdir(work) == ["a.txt"]
        assert (work / "a.txt").read_text() == "one\ntwo\n"
        calls = await chat.items("tool_call")
        assert calls[1].raw["undone"] == [change["changeId"]]
        assert (await chat.texts("notice"))[-1].startswith("Undone: ")
        assert str(work / "a.txt") in (await chat.texts("reminder"))[-1]
        with pytest.raises(PilothouseError, match="nothing to undo"):
            await chat.api.changes.undo_run(ME, run.id)
        told = history(await chat.items())[-1].content[-1]
        assert isinstance(told, TextBlock)
        assert told.text.startswith("The person undid changes of yours; these files are as they were before: ")


async def test_one_call_is_undone_and_what_the_person_changed_stays(home: Path, work: Path) -> None:
    async with open_chat(home, TURNS, settings=editing(work)) as chat:
        await chat.say()
        calls = await chat.items("tool_call")
        report = await chat.api.changes.undo_call(ME, calls[3].id)
        assert report.undone == (str(work / "c.txt"),)
        (work / "a.txt").write_text("1\nmine\n")
        report = await chat.api.changes.undo_call(ME, calls[1].id)
        assert report.undone == ()
        assert report.conflicts[0].why == f"{work / 'a.txt'} was changed since."
        assert "-one\n-two\n+1\n+mine\n" in report.conflicts[0].diff
        assert (work / "a.txt").read_text() == "1\nmine\n"


@pytest.mark.case("FIL-17", "ATZ-14")
async def test_reading_is_free_and_a_write_asks_with_its_diff(home: Path, work: Path) -> None:
    async with open_chat(home, TURNS, settings={"working_directory": str(work)}) as chat:
        run = await chat.say()
        assert run.status == "waiting"
        calls = await chat.items("tool_call")
        assert [call.status for call in calls] == ["completed", "waiting"]
        (question,) = await chat.items("question")
        assert question.raw["operation"] == "file_operations.replace_string"
        assert question.raw["preview"]["changes"][0]["diff"].endswith("-one\n+1\n two\n")
        assert question.raw["access"]["paths"][0]["path"] == str(work / "a.txt")
        assert (work / "a.txt").read_text() == "one\ntwo\n"
        await chat.api.questions.answer(ME, question.id, Answer(choice="allow"))
        await chat.settled(run.id)
        assert (work / "a.txt").read_text() == "1\ntwo\n"
        await chat.api.runs.cancel(ME, run.id)


@pytest.mark.case("FIL-18", "FS-07")
async def test_what_changed_while_the_person_thought_about_it_is_said_to_the_model(home: Path, work: Path) -> None:
    async with open_chat(home, [*TURNS[:2], "Done."], settings={"working_directory": str(work)}) as chat:
        run = await chat.say()
        (question,) = await chat.items("question")
        (work / "a.txt").write_text("one and more\n")
        await chat.api.questions.answer(ME, question.id, Answer(choice="allow"))
        assert (await chat.settled(run.id)).status == "completed"
        edit = (await chat.items("tool_call"))[1]
        assert (edit.status, edit.raw["error"]["code"]) == ("failed", "CONFLICT")
        assert (work / "a.txt").read_text() == "one and more\n"


async def test_strangers_and_wrong_ids_undo_nothing(home: Path, work: Path) -> None:
    async with open_chat(home, TURNS, settings=editing(work)) as chat:
        run = await chat.say()
        calls = await chat.items("tool_call", "user_message")
        for asked in (
            chat.api.changes.list("stranger", run.id),
            chat.api.changes.undo_run("stranger", run.id),
            chat.api.changes.undo_call("stranger", calls[2].id),
            chat.api.changes.undo_run(ME, "r_none"),
            chat.api.changes.undo_call(ME, "i_none"),
        ):
            with pytest.raises(PilothouseError) as refused:
                await asked
            assert refused.value.code == "not_found"
        with pytest.raises(PilothouseError, match="Only a tool call"):
            await chat.api.changes.undo_call(ME, calls[0].id)
        assert (work / "c.txt").exists()


async def test_changes_are_listed_and_undone_from_the_command_line(home: Path, work: Path) -> None:
    async with open_chat(home, TURNS, settings=editing(work)) as chat:
        run = await chat.say()
        calls = await chat.items("tool_call")
    (work / "a.txt").write_text("mine\n")
    listed = await asyncio.to_thread(pilothouse, home, "changes", run.id)
    assert (listed.code, f"{calls[3].id}  created   {work / 'c.txt'}" in listed.out) == (0, True)
    one = await asyncio.to_thread(pilothouse, home, "undo", calls[3].id)
    assert (one.code, one.out) == (0, f"put back  {work / 'c.txt'}\n")
    rest = await asyncio.to_thread(pilothouse, home, "undo", run.id)
    assert (rest.code, rest.out) == (1, f"put back  {work / 'new/b.txt'}\n")
    assert f"{work / 'a.txt'} was changed since." in rest.err
    assert "+mine" in rest.err
    wrong = await asyncio.to_thread(pilothouse, home, "undo", "something")
    assert (wrong.code, "neither a run nor a call" in wrong.err) == (2, True)
