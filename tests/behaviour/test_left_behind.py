"""A branch that lies before file changes: what can be put back is, on demand, and what cannot is named."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types.branch_views import FilesBack
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, ToolOutput
from tests.support.branch_chats import all_items, refusal_of
from tests.support.chats import ME, Chat, open_chat, wait_for_runs
from tests.support.databases import SQLITE_AND_POSTGRESQL
from tests.support.tools import ToolOf, add_tools


def files(operation: str, **arguments: Any) -> dict[str, Any]:
    return {"call": "file_operations", "arguments": {"operation": operation, **arguments}}


def writes(name: str, text: str) -> list[dict[str, Any]]:
    return [files("create_file", filePath=name, content=text)]


def changes(old: str, new: str) -> list[list[dict[str, Any]]]:
    replace = files("replace_string", filePath="a.txt", oldString=old, newString=new)
    return [[files("read_file", filePath="a.txt")], [replace]]


@pytest.fixture
def work(work: Path) -> Path:
    (work / "a.txt").write_text("zero\n")
    return work


@pytest.fixture(params=SQLITE_AND_POSTGRESQL)
async def chat(request: pytest.FixtureRequest, home: Path, work: Path) -> AsyncIterator[Chat]:
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    settings = {"working_directory": str(work), "mode": "auto_edit"}
    async with open_chat(home, ["One."], settings=settings, database_url=url) as chat:
        yield chat
        await wait_for_runs(chat)


def on_path(*turns: Any, after: int) -> list[Any]:
    """Return a script in which so many turns were said before these."""
    return [*["-"] * after, *turns]


def state(work: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(work.iterdir())}


async def test_files_that_several_branches_changed_are_put_back_to_a_place(chat: Chat, work: Path) -> None:
    first = await chat.say("Talk")
    chat.write(on_path(*changes("zero", "one"), "Done.", after=1))
    second = await chat.say("Change it")
    chat.write(on_path(writes("b.txt", "b\n"), "Done.", after=4))
    await chat.say("Add one")
    chat.write(on_path(*changes("one", "two"), writes("c.txt", "c\n"), "Done.", after=1))
    other = await chat.say("Instead", instead_of=second.message_item_id)
    assert (other.branch, state(work)) == (1, {"a.txt": "two\n", "b.txt": "b\n", "c.txt": "c\n"})
    left = await chat.api.branches.left_behind(ME, second.id)
    assert left.runs_count == 3, "in whichever branch it was done"
    assert (left.at_work, left.files_count, left.lasting_count) == ((), 3, 0)
    assert [Path(name).name for name in left.files] == ["a.txt", "b.txt", "c.txt"]
    after = await chat.api.branches.left_behind(ME, second.id, itself=False)
    assert after.runs_count == 2
    # Right after the second: the third and the other branch are taken back, the newest first.
    report = await chat.api.branches.put_files_back(ME, second.id, FilesBack(itself=False))
    assert (len(report.undone), report.conflicts) == (3, ())
    assert state(work) == {"a.txt": "one\n"}
    report = await chat.api.branches.put_files_back(ME, second.id, FilesBack())
    assert state(work) == {"a.txt": "zero\n"}
    assert not (await chat.api.branches.left_behind(ME, first.id)).files_count
    report = await chat.api.branches.put_files_back(ME, first.id, FilesBack())
    assert (report.undone, report.conflicts) == ((), ())


async def test_what_the_person_changed_since_stays_and_is_named(chat: Chat, work: Path) -> None:
    chat.write([*changes("zero", "one"), "Done."])
    first = await chat.say("Change it")
    chat.write(on_path(writes("b.txt", "b\n"), "Done.", after=3))
    await chat.say("Add one")
    (work / "a.txt").write_text("mine\n")
    report = await chat.api.branches.put_files_back(ME, first.id, FilesBack())
    assert [Path(each.path).name for each in report.conflicts] == ["a.txt"]
    assert [Path(each).name for each in report.undone] == ["b.txt"]
    assert state(work) == {"a.txt": "mine\n"}


async def test_what_cannot_be_put_back_is_told_and_nothing_is_done_unasked(chat: Chat, work: Path) -> None:
    async def sends(_arguments: JsonObject, _context: CallContext) -> ToolOutput:
        return ToolOutput(text="Sent.")

    add_tools(chat.host, ToolOf("mail__send", sends, server="Mail", effects=frozenset({"sends"})))
    await chat.say("Talk")
    send = [{"call": "mail__send", "arguments": {}}]
    chat.write(on_path(writes("b.txt", "b\n"), send, "Done.", after=1))
    second = await chat.say("Write and send", allow=("mail.send",))
    left = await chat.api.branches.left_behind(ME, second.id)
    assert (left.files_count, left.lasting) == (1, ("Using mail__send",))
    await chat.say("Instead", instead_of=second.message_item_id)
    assert "b.txt" in state(work), "an edit puts nothing back by itself"
    await chat.api.branches.put_files_back(ME, second.id, FilesBack())
    assert "b.txt" not in state(work)


async def test_files_of_an_answer_at_work_are_not_put_back_under_it(chat: Chat, work: Path, tmp_path: Path) -> None:
    await chat.say("Talk")
    hold = [{"text": "Well,"}, {"wait": 30, "until": str(tmp_path / "go")}, *writes("c.txt", "c\n")]
    chat.write(on_path(writes("b.txt", "b\n"), hold, "Done.", after=1))
    sent = await chat.send("Write")
    await chat.until_streaming("Well,")
    left = await chat.api.branches.left_behind(ME, sent.run_id)
    assert left.at_work == (sent.run_id,)
    error = await refusal_of(chat.api.branches.put_files_back(ME, sent.run_id, FilesBack()))
    assert (error.code, error.fix) == ("conflict", "Stop it first, or wait until it has ended.")
    assert "b.txt" in state(work)
    (tmp_path / "go").touch()
    await chat.settled(sent.run_id)
    await chat.api.branches.put_files_back(ME, sent.run_id, FilesBack())
    assert state(work) == {"a.txt": "zero\n"}


async def test_the_model_is_told_on_the_branch_where_the_person_put_a_shared_change_back(
    chat: Chat, work: Path
) -> None:
    chat.write([*changes("zero", "one"), "Done."])
    first = await chat.say("Change it")
    second = await chat.say("Talk")
    await chat.say("Talk differently", instead_of=second.message_item_id)
    await chat.api.changes.undo_run(ME, first.id)
    assert state(work) == {"a.txt": "zero\n"}
    told = [item for item in await all_items(chat) if item.kind == "reminder"]
    assert [item.branch for item in told if "undid" in item.text] == [0, 1]
    for branch in (0, 1):
        snapshot = await chat.api.conversations.get(ME, chat.id, 500, branch)
        undone = [item for item in snapshot.items if item.kind in ("notice", "reminder") and item.run_id == first.id]
        assert len(undone) == 2


async def test_a_long_conversation_is_looked_through_in_few_steps(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [await chat.say(f"Talk {number}") for number in range(8)]
    database = type(chat.host.executor._parts.records._database)  # type: ignore[attr-defined]
    asked: list[str] = []
    for name in ("read", "look"):
        real = getattr(database, name)

        async def noted(self: Any, work: Any, _real: Any = real, _name: str = name) -> Any:
            asked.append(_name)
            return await _real(self, work)

        monkeypatch.setattr(database, name, noted)
    left = await chat.api.branches.left_behind(ME, runs[0].id)
    assert (left.runs_count, len(asked) <= 2) == (8, True), asked
