"""What commands do to a folder is shown and put back, exactly where edits are."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilothouse.tools.snapshots.covering import Snapshots
from pilothouse.tools.snapshots.mirror import Difference, Mirror
from pilothouse.types import limits
from pilothouse.types.api import Answer, ConversationPatch
from pilothouse.types.authority import ChosenMode
from pilothouse.types.items import Item
from pilothouse.types.ports import CallContext
from pilothouse.types.runs import Run
from tests.support.chats import ME, Chat, open_chat
from tests.support.commands import pilothouse
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow


def command(text: str, **arguments: Any) -> list[dict[str, Any]]:
    return [{"call": "terminal_operations", "arguments": {"operation": "run_command", "command": text, **arguments}}]


@pytest.fixture
def work(work: Path) -> Path:
    (work / "src").mkdir()
    (work / "a.txt").write_text("one\ntwo\n")
    (work / "src" / "b.py").write_text("b = 1\n")
    (work / "run.sh").write_text("echo\n")
    (work / "run.sh").chmod(0o755)
    (work / "link").symlink_to("a.txt")
    return work


def unasked(work: Path) -> dict[str, Any]:
    return {"working_directory": str(work)}


async def freely(chat: Chat, mode: ChosenMode = "sandboxed") -> None:
    """Let the conversation run unasked what the sandbox holds."""
    now = (await chat.snapshot()).conversation.settings
    chosen = msgspec.structs.replace(now, mode=mode)
    await chat.api.conversations.update(ME, chat.id, ConversationPatch(settings=chosen))


async def ran_freely(chat: Chat) -> tuple[Run, Item]:
    """Have the script run unasked; return the run and its call."""
    await freely(chat)
    run = await chat.say()
    (call,) = await chat.items("tool_call")
    return run, call


def git(folder: Path, words: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    return subprocess.run(["git", "-C", folder, *who, *words.split()], check=True, stdout=-1, text=True).stdout


def state(folder: Path) -> dict[str, tuple[int, str]]:
    """Return everything in a folder: its rights, and its content or where it leads."""
    found = {}
    for path in sorted(folder.rglob("*")):
        content = os.readlink(path) if path.is_symlink() else path.read_text() if path.is_file() else "/"
        found[str(path.relative_to(folder))] = (path.lstat().st_mode, content)
    return found


async def test_what_a_command_changed_is_listed_at_its_call_and_undone_with_the_run(home: Path, work: Path) -> None:
    does = (
        "sed -i s/one/1/ a.txt; unlink src/b.py; rmdir src; mkdir -p new/inner; echo d > new/inner/d.txt; "
        "chmod 600 run.sh; ln -sfn src link; ln -s a.txt other; mv run.sh go.sh"
    )
    before = state(work)
    async with open_chat(home, [command(does), "Done."], settings=unasked(work)) as chat:
        await freely(chat)
        run = await chat.say()
        assert run.status == "completed"
        (call,) = await chat.items("tool_call")
        shown = {change["path"]: change["kind"] for change in call.raw["changes"]}
        assert shown["a.txt"] == "modified"
        assert shown["src/"] == shown["src/b.py"] == shown["run.sh"] == "deleted"
        assert shown["new/inner/d.txt"] == shown["go.sh"] == shown["other"] == "created"
        diff = next(change["diff"] for change in call.raw["changes"] if change["path"] == "a.txt")
        assert diff.endswith("-one\n+1\n two\n")
        report = await chat.api.changes.undo_run(ME, run.id)
        assert report.conflicts == ()
        assert state(work) == before
        assert (await chat.texts("notice"))[-1].startswith("Undone: ")


async def test_each_command_is_undone_by_itself_and_what_the_person_did_between_them_is_theirs(
    home: Path, work: Path
) -> None:
    second = command("echo 2 > second; echo more >> src/b.py")
    turns = [command("echo 1 > first"), "Done.", second, "Done."]
    async with open_chat(home, turns, settings=unasked(work)) as chat:
        await freely(chat)
        await chat.say()
        (work / "a.txt").write_text("mine\n")
        run = await chat.say()
        calls = await chat.items("tool_call")
        assert [change["path"] for change in calls[1].raw["changes"]] == ["src/b.py", "second"]
        (work / "src" / "b.py").write_text("mine, too\n")
        report = await chat.api.changes.undo_run(ME, run.id)
        assert report.undone == (str(work / "second"),)
        assert report.conflicts[0].why == f"{work / 'src' / 'b.py'} was changed since."
        assert (work / "first").exists()
        assert (work / "a.txt").read_text() == "mine\n"
        assert (await chat.api.changes.undo_call(ME, calls[0].id)).undone == (str(work / "first"),)


async def test_a_command_that_is_stopped_has_its_changes_listed_and_undone(home: Path, work: Path) -> None:
    does = command("unlink src/b.py; rmdir src; touch begun; sleep 60")
    async with open_chat(home, [does, "Done."], settings=unasked(work)) as chat:
        await freely(chat)
        sent = await chat.send()

        async def begun() -> bool:
            return (work / "begun").exists()

        await eventually(begun, "the command to be at work")
        await chat.api.runs.cancel(ME, sent.run_id)
        await chat.settled(sent.run_id)
        (call,) = await chat.items("tool_call")
        assert {change["path"] for change in call.raw["changes"]} == {"src/", "src/b.py", "begun"}
        await chat.api.changes.undo_run(ME, sent.run_id)
        assert (work / "src" / "b.py").read_text() == "b = 1\n"
        assert not (work / "begun").exists()


@pytest.mark.parametrize("mode", ["sandboxed", "default"])
async def test_what_is_not_covered_is_named_once_before_the_first_command(
    home: Path, work: Path, mode: ChosenMode
) -> None:
    with (work / "data.bin").open("wb") as file:
        file.truncate(limits.FILE_EDIT_BYTES + 1)
    turns = [command("unlink data.bin"), "Done.", command("true"), "Done."]
    async with open_chat(home, turns, settings=unasked(work)) as chat:
        await freely(chat, mode)
        run = await chat.say()
        items = [item for item in await chat.items() if item.kind in ("notice", "tool_call")]
        notices = [item for item in items if item.raw.get("code") == "not_covered"]
        told = "What commands change here can be undone, but not in data.bin (16.0 MB)."
        assert [item.text for item in notices] == [told]
        assert (await chat.api.changes.list(ME, run.id)).changes == ()
        await chat.say()
        assert len(await chat.items("tool_call")) == 2
        assert len([item for item in await chat.items("notice") if item.raw.get("code") == "not_covered"]) == 1


async def test_where_nothing_can_be_kept_that_is_said_once_and_commands_run(home: Path, work: Path) -> None:
    turns = [command("echo 1 > first"), "Done.", command("echo 2 > second"), "Done."]
    async with open_chat(home, turns, settings=unasked(work)) as chat:
        await freely(chat, "auto_approve")
        (home / "cache" / "snapshots").write_text("in the way")
        await chat.say()
        await chat.say()
        assert (work / "second").exists()
        told = [item.text for item in await chat.items("notice") if item.raw.get("code") == "not_covered"]
        assert told == ["What commands change here cannot be undone now: file exists."]


@pytest.mark.parametrize("mode", ["sandboxed", "default"])
async def test_where_nothing_can_be_kept_a_sandboxed_conversation_asks_until_it_can(
    home: Path, work: Path, mode: ChosenMode
) -> None:
    turns = [command("rm -rf src"), "Done.", command("unlink a.txt"), "Done."]
    async with open_chat(home, turns, settings=unasked(work)) as chat:
        await freely(chat, mode)
        in_the_way = home / "cache" / "snapshots"
        in_the_way.write_text("in the way")
        run = await chat.say()
        (question,) = await chat.items("question")
        await chat.api.questions.answer(ME, question.id, Answer(choice="deny"))
        await chat.settled(run.id)
        assert (work / "src").exists()
        in_the_way.unlink()
        assert (await chat.say()).status == "completed"
        assert len(await chat.items("question")) == 1
        assert not (work / "a.txt").exists()


async def test_where_too_much_is_there_a_sandboxed_conversation_asks(
    home: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SNAPSHOT_ENTRIES", 1)
    async with open_chat(home, [command("rm -rf src"), "Done."], settings=unasked(work)) as chat:
        await freely(chat)
        assert (await chat.say()).status == "waiting"
        assert (work / "src").exists()


async def test_a_command_is_refused_that_was_allowed_because_undo_covers_it_and_it_does_no_longer(
    home: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Snapshots._before

    async def spoiled(self: Snapshots, known: Any, context: CallContext) -> None:
        known.mirror.close()
        monkeypatch.setattr(limits, "SNAPSHOT_ENTRIES", 1)
        await before(self, known, context)

    async with open_chat(home, [command("rm -rf src"), command("true"), "Done."], settings=unasked(work)) as chat:
        await freely(chat)
        monkeypatch.setattr(Snapshots, "_before", spoiled)
        assert (await chat.say()).status == "waiting"
        refused, _ = await chat.items("tool_call")
        assert refused.raw["error"]["code"] == "CONFLICT"
        assert (work / "src").exists()


async def test_nobody_looks_at_the_folder_once_more_to_know_whether_undo_covers_a_command(
    home: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Mirror] = []
    look = Mirror.look

    def counted(self: Mirror, *, of_command: bool = True) -> list[Difference]:
        looks.append(self)
        return look(self, of_command=of_command)

    turns = [command("true"), command("true"), "Done."]
    async with open_chat(home, turns, settings=unasked(work)) as chat:
        await freely(chat)
        monkeypatch.setattr(Mirror, "look", counted)
        assert (await chat.say()).status == "completed"
        # The very first one, and before and after each command.
        assert len(looks) == 5


async def test_a_folder_deeper_than_anyone_looks_is_left_alone_by_undo(home: Path, work: Path) -> None:
    (work / "deeper.py").write_text("import os\nfor _ in range(1500):\n    os.mkdir('deep'); os.chdir('deep')\n")
    async with open_chat(home, [command("python3 deeper.py"), "Done."], settings=unasked(work)) as chat:
        run, call = await ran_freely(chat)
        assert (call.status, [change["path"] for change in call.raw["changes"]]) == ("completed", ["deep/"])
        report = await chat.api.changes.undo_run(ME, run.id)
        assert report.conflicts[0].why == f"{work / 'deep'} was changed since."
    while (work / "deep" / "deep").exists():
        (work / "deep" / "deep").rename(work / "out")
        (work / "deep").rmdir()
        (work / "out").rename(work / "deep")


async def test_a_new_folder_with_much_in_it_goes_as_a_whole_or_stays(home: Path, work: Path) -> None:
    does = f"mkdir many; for n in $(seq {limits.NEW_FOLDER_ENTRIES + 1}); do echo $n > many/$n; done"
    turns = [command(does), "Done.", command(does.replace("many", "more")), "Done."]
    async with open_chat(home, turns, settings=unasked(work)) as chat:
        await freely(chat)
        first = await chat.say()
        (call,) = await chat.items("tool_call")
        assert [change["path"] for change in call.raw["changes"]] == ["many/"]
        (work / "many" / "7").write_text("mine")
        report = await chat.api.changes.undo_run(ME, first.id)
        assert report.conflicts[0].why == f"{work / 'many'} was changed since."
        assert (work / "many" / "1").exists()
        second = await chat.say()
        await chat.api.changes.undo_run(ME, second.id)
        assert not (work / "more").exists()


async def test_a_commit_of_a_command_is_undone_and_no_object_of_git_goes(home: Path, work: Path) -> None:
    for words in ("init -q", "add .", "commit -qm first"):
        git(work, words)
    head = git(work, "rev-parse HEAD")
    does = "git -c user.name=B -c user.email=b@example.com commit -qm second --allow-empty; git rev-parse HEAD"
    async with open_chat(home, [command(does), "Done."], settings=unasked(work)) as chat:
        run, call = await ran_freely(chat)
        assert [change["path"] for change in call.raw["changes"]] == [".git/"]
        second = call.text.split()[-1]
        assert (await chat.api.changes.undo_run(ME, run.id)).conflicts == ()
        assert git(work, "rev-parse HEAD") == head
        assert git(work, f"cat-file -t {second}") == "commit\n"


async def test_the_content_of_a_file_of_secrets_stands_in_no_timeline(home: Path, work: Path) -> None:
    (work / ".env").write_text("TOKEN=canary-before\n")
    async with open_chat(home, [command("echo TOKEN=canary-after > .env"), "Done."], settings=unasked(work)) as chat:
        run, call = await ran_freely(chat)
        assert [(change["path"], change["diff"]) for change in call.raw["changes"]] == [(".env", "")]
        await chat.api.changes.undo_run(ME, run.id)
        assert (work / ".env").read_text() == "TOKEN=canary-before\n"


async def test_the_command_line_puts_back_what_a_command_changed(home: Path, work: Path) -> None:
    async with open_chat(home, [command("unlink a.txt"), "Done."], settings=unasked(work)) as chat:
        await freely(chat)
        run = await chat.say()
    assert not (work / "a.txt").exists()
    listed = pilothouse(home, "changes", run.id)
    assert "deleted" in listed.out
    undone = pilothouse(home, "undo", run.id)
    assert (undone.code, (work / "a.txt").read_text()) == (0, "one\ntwo\n")


async def test_a_file_too_large_to_be_kept_that_was_moved_goes_back_with_undo(home: Path, work: Path) -> None:
    for name in ("data.bin", "other.bin"):
        with (work / name).open("wb") as file:
            file.truncate(limits.FILE_EDIT_BYTES + 1)
    does = "mv data.bin moved.bin; mkdir new; mv other.bin new"
    async with open_chat(home, [command(does), "Done."], settings=unasked(work)) as chat:
        await freely(chat)
        run = await chat.say()
        assert (await chat.api.changes.undo_run(ME, run.id)).conflicts == ()
    assert [name for name in os.listdir(work) if name in ("moved.bin", "new")] == []
    assert {(work / name).stat().st_size for name in ("data.bin", "other.bin")} == {limits.FILE_EDIT_BYTES + 1}


async def test_what_had_a_name_that_is_not_text_is_never_deleted_by_undo(home: Path, work: Path) -> None:
    odd = os.fsdecode(b"caf\xe9")
    (work / odd).mkdir()
    for name in (f"{odd}/x", f"{odd}.txt", f"src/{odd}"):
        (work / name).write_text("precious")
    does = (
        "mv caf?.txt cafe.txt; mv caf?/ cafe; mv src lib; echo z > z; "
        f"for n in $(seq {limits.NEW_FOLDER_ENTRIES + 1}); do echo $n > lib/$n; done; "
        "made=made/$(printf 'b\\351'); mkdir -p $made; echo in > $made/in"
    )
    async with open_chat(home, [command(does), "Done."], settings=unasked(work)) as chat:
        run, call = await ran_freely(chat)
        assert call.status == "completed"
        await chat.api.changes.undo_run(ME, run.id)
    assert not (work / "z").exists()
    assert (work / "src" / "b.py").read_text() == "b = 1\n"
    assert [content for _, content in state(work).values()].count("precious") == 3


async def test_a_file_that_became_too_large_is_put_back(home: Path, work: Path) -> None:
    does = command(f"head -c {limits.FILE_EDIT_BYTES + 1} /dev/zero > a.txt")
    async with open_chat(home, [does, "Done."], settings=unasked(work)) as chat:
        await freely(chat)
        run = await chat.say()
        assert (await chat.api.changes.undo_run(ME, run.id)).conflicts == ()
    assert (work / "a.txt").read_text() == "one\ntwo\n"
