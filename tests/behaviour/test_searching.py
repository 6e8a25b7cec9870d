"""An agent finds its way in a project: what is found is asked for freely, and is there again after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pilothouse.types import limits
from tests.support.chats import ME, open_chat
from tests.support.search_tool import write_files


def files(operation: str, **arguments: Any) -> dict[str, Any]:
    return {"call": "file_operations", "arguments": {"operation": operation, **arguments}}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    write_files(
        folder, {"src/gate.py": "def open_gate(ship):\n    return ship\n", "README.md": "Opens gates for ships.\n"}
    )
    write_files(folder, {f"notes/{number:02}.txt": "a ship came\n" for number in range(60)})
    return folder


@pytest.mark.case("FIL-04", "FIL-05", "FIL-06", "FIL-07", "FIL-08", "FIL-09", "ATZ-02")
async def test_an_agent_searches_without_asking_and_sees_how_far_the_index_is(home: Path, work: Path) -> None:
    turns: list[Any] = [
        [files("file_search", query="**/*.py"), files("grep_search", query="ship", includePattern="*.txt")],
        [files("semantic_search", query="opening the gate"), files("list_usages", symbolName="open_gate")],
        [files("search_index", query="gates"), files("get_search_results", page=1)],
        "Done.",
    ]
    settings = {"working_directory": str(work)}
    async with open_chat(home, turns, settings=settings) as chat:
        assert (await chat.api.indexes.get(ME, chat.id)).state == "none"
        run = await chat.say()
        assert run.status == "completed"
        calls = await chat.items("tool_call")
        assert [call.status for call in calls] == ["completed"] * 6
        assert calls[0].text == "1 file for `**/*.py`:\nsrc/gate.py"
        assert calls[0].raw["shown"]["summary"] == "Finding files: **/*.py"
        assert calls[1].text.startswith("60 matches in 60 files for `ship` (page 1 of 2):")
        assert "src/gate.py\n  1-2: \n    def open_gate(ship):" in calls[2].text
        assert calls[3].text.endswith("src/gate.py\n  1: [definition] def open_gate(ship):")
        assert calls[3].raw["brings"] == {"private": True, "untrusted": False, "source": "files"}
        view = await chat.api.indexes.get(ME, chat.id)
        assert (view.state, view.files, view.symbols) == ("fresh", 62, 1)


@pytest.mark.slow
@pytest.mark.case("FIL-07")
async def test_an_agent_finds_a_passage_in_other_words_by_the_built_in_model(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Ample on a machine with other things to do.
    monkeypatch.setattr(limits, "MEANING_WAIT", 60.0)
    monkeypatch.setattr(limits, "MEANING_QUESTION_TIME", 60.0)
    folder = tmp_path / "office"
    write_files(
        folder,
        {
            "pay.md": "Wages are transferred to every employee on the last Friday of the month.\n",
            "dogs.md": "Pets must stay outside, except for guide dogs.\n",
            "lift.md": "The elevator is inspected twice a year.\n",
        },
    )
    turns: list[Any] = [[files("semantic_search", query="when do we get our salary")], "Done."]
    async with open_chat(home, turns, settings={"working_directory": str(folder)}) as chat:
        await chat.say()
        (call,) = await chat.items("tool_call")
        assert call.text.splitlines()[1] == "pay.md"
        assert "known so far" not in call.text


@pytest.mark.case("FIL-04")
async def test_the_other_pages_of_a_search_are_there_after_a_restart(home: Path, work: Path) -> None:
    settings = {"working_directory": str(work)}
    turns: list[Any] = [[files("grep_search", query="ship", includePattern="*.txt")], "Done."]
    async with open_chat(home, turns, settings=settings) as chat:
        await chat.say()
        first = chat.id
    again: list[Any] = [[files("get_search_results", page=2)], "Done."]
    async with open_chat(home, again, settings=settings) as chat:
        await chat.say()
        call = (await chat.items("tool_call"))[-1]
        assert call.text == "There was no search in this conversation yet."
        chat.id = first
        chat.write([*turns, *again])
        await chat.say()
        call = (await chat.items("tool_call"))[-1]
        assert call.text.startswith("60 matches in 60 files for `ship` (page 2 of 2):\nnotes/50.txt")
