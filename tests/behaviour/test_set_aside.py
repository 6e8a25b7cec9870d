"""What a command leaves behind that starts by itself is set aside until the person looked at it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types import limits
from pilothouse.types.api import Answer
from pilothouse.types.errors import PilothouseError
from pilothouse.types.items import Item
from tests.adversarial.test_call_secrets import SECRET, knows
from tests.behaviour.test_command_changes import command, freely, unasked
from tests.support.chats import ME, Chat, open_chat
from tests.support.commands import pilothouse

pytestmark = pytest.mark.slow
TASKS = "mkdir -p .vscode; echo '{}' > .vscode/tasks.json; echo obey > AGENTS.md; echo x > plain.txt"

COMMIT = "git -c user.name=A -c user.email=a@b commit -q --allow-empty -m x"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    (folder / "CLAUDE.md").write_text("honest\n")
    return folder


def there(folder: Path) -> set[str]:
    return {os.path.join(at, name).removeprefix(f"{folder}/") for at, _, files in os.walk(folder) for name in files}


async def ran(chat: Chat) -> list[Item]:
    """Run the script unasked; return the notices about what was set aside."""
    await freely(chat)
    await chat.say()
    return [item for item in await chat.items("notice") if item.raw.get("code") == "set_aside"]


async def test_new_tasks_and_words_for_agents_are_set_aside_and_told_to_the_person_and_the_model(
    home: Path, work: Path
) -> None:
    async with open_chat(home, [command(TASKS), "Done."], settings=unasked(work)) as chat:
        (notice,) = await ran(chat)
        assert not (work / ".vscode" / "tasks.json").exists()
        assert not (work / "AGENTS.md").exists()
        assert (work / "plain.txt").exists()
        assert {change["path"] for change in notice.raw["changes"]} == {".vscode/tasks.json", "AGENTS.md"}
        told = ".vscode/tasks.json (it decides what an editor runs); AGENTS.md (it tells assistants what to do)."
        assert notice.text.endswith(f"it was set aside until you looked at it: {told}")
        assert {change["diff"].splitlines()[-1] for change in notice.raw["changes"]} == {"+{}", "+obey"}
        (call,) = await chat.items("tool_call")
        assert "Set aside, because it starts by itself, until the person has looked at it: " in call.text
        assert [change["path"] for change in call.raw["changes"]] == ["plain.txt"]


async def test_a_secret_that_is_known_stands_in_no_notice(home: Path, work: Path) -> None:
    (work / "make.sh").write_text(f"echo {SECRET} > AGENTS.md\n")
    async with open_chat(home, [command("sh make.sh"), "Done."], settings=unasked(work)) as chat:
        await knows(chat)
        (notice,) = await ran(chat)
        assert "redacted" in notice.raw["changes"][0]["diff"]
        assert SECRET not in str(notice.raw)
        await chat.api.changes.undo_call(ME, notice.id)
        assert (work / "AGENTS.md").read_text() == f"{SECRET}\n"


async def test_one_action_puts_back_what_was_set_aside_and_undoing_the_run_does_not(home: Path, work: Path) -> None:
    async with open_chat(home, [command(TASKS), "Done."], settings=unasked(work)) as chat:
        (notice,) = await ran(chat)
        report = await chat.api.changes.undo_run(ME, (await chat.items("tool_call"))[0].run_id or "")
        assert report.undone == (str(work / "plain.txt"),)
        assert not (work / "AGENTS.md").exists()
        report = await chat.api.changes.undo_call(ME, notice.id)
        assert set(report.undone) == {str(work / ".vscode" / "tasks.json"), str(work / "AGENTS.md")}
        assert (work / "AGENTS.md").read_text() == "obey\n"
        (notice,) = [item for item in await chat.items("notice") if item.raw.get("code") == "set_aside"]
        assert len(notice.raw["undone"]) == 2
        assert (await chat.texts("reminder"))[-1].startswith("The person looked at what was set aside and put it back")


async def test_words_that_were_changed_are_as_they_were_until_the_person_takes_the_new_ones(
    home: Path, work: Path
) -> None:
    async with open_chat(home, [command("echo obey > CLAUDE.md"), "Done."], settings=unasked(work)) as chat:
        (notice,) = await ran(chat)
        assert (work / "CLAUDE.md").read_text() == "honest\n"
        await chat.api.changes.undo_call(ME, notice.id)
        assert (work / "CLAUDE.md").read_text() == "obey\n"


async def test_what_was_dropped_is_gone_for_good(home: Path, work: Path) -> None:
    async with open_chat(home, [command(TASKS), "Done."], settings=unasked(work)) as chat:
        (notice,) = await ran(chat)
        await chat.api.changes.drop(ME, notice.id)
        with pytest.raises(PilothouseError, match="nothing to undo"):
            await chat.api.changes.undo_call(ME, notice.id)
        with pytest.raises(PilothouseError, match="nothing to drop"):
            await chat.api.changes.drop(ME, notice.id)
        with pytest.raises(PilothouseError, match="nothing to drop"):
            await chat.api.changes.drop(ME, (await chat.items("tool_call"))[0].id)
        (notice,) = [item for item in await chat.items("notice") if item.raw.get("code") == "set_aside"]
        assert notice.raw["dropped"] is True


async def test_what_the_person_allowed_by_hand_stays(home: Path, work: Path) -> None:
    async with open_chat(home, [command(TASKS), "Done."], settings=unasked(work)) as chat:
        run = await chat.say()
        (question,) = await chat.items("question")
        await chat.api.questions.answer(ME, question.id, Answer(choice="allow"))
        await chat.settled(run.id)
        assert (work / ".vscode" / "tasks.json").exists()
        assert (work / "AGENTS.md").exists()


NESTED: list[tuple[str, set[str]]] = [
    ("git init -q sub", set()),
    ("git init -q .", set()),
    ("git init -q sub; echo 'echo hi' > sub/.git/hooks/post-checkout", {"sub/.git/hooks/post-checkout"}),
    ("git init -q sub; git -C sub config core.fsmonitor /bin/true", {"sub/.git/config"}),
    ("git init -q sub; git -C sub config alias.st '!sh'", {"sub/.git/config"}),
    ("git init -q sub; git -C sub remote add origin https://example.com/x; git -C sub config user.name A", set()),
    ("git init -q sub; echo ../../elsewhere > sub/.git/commondir", {"sub/.git/commondir"}),
    ("git init -q sub; echo x > sub/.git/config.worktree", {"sub/.git/config.worktree"}),
    ("mkdir sub; echo 'gitdir: /tmp/evil' > sub/.git", {"sub/.git"}),
    # Folders that are called as those of git are.
    ("git init -q logs/sub; git -C logs/sub config core.fsmonitor /bin/true", {"logs/sub/.git/config"}),
    ("git init -q refs; git -C refs config core.fsmonitor /bin/true", {"refs/.git/config"}),
    ("git init -q worktrees; echo ../../elsewhere > worktrees/.git/commondir", {"worktrees/.git/commondir"}),
    (f"git init -q .; {COMMIT}; git branch config; git worktree add -q ../project/tree; git -C tree status", set()),
    (
        f"git init -q .; {COMMIT}; git worktree add -q tree; echo ../../../evil > .git/worktrees/tree/commondir",
        {".git/worktrees/tree/commondir"},
    ),
    # A folder of hooks behind a link.
    ("git init -q sub; rm -r sub/.git/hooks; mkdir x; ln -s ../../x sub/.git/hooks", {"sub/.git/hooks"}),
    ("git init -q sub; rm -rf sub/.git/info; mkdir x; ln -s ../../x sub/.git/info", {"sub/.git/info"}),
    # What a rebase will run when the person goes on with it.
    (
        "git init -q sub; cd sub/.git; mkdir rebase-merge; printf 'pick 1\n x sh y\n' > rebase-merge/git-rebase-todo",
        {"sub/.git/rebase-merge/git-rebase-todo"},
    ),
    ("git init -q sub; cd sub/.git; mkdir rebase-merge; printf 'pick 1 exec\n' > rebase-merge/git-rebase-todo", set()),
    # A repository needs no .git: git takes any folder for one that has what a repository has.
    ("git init -q --bare bare; git -C bare config core.fsmonitor /bin/true", {"bare/HEAD"}),
    ("git init -q --bare bare; echo hi > bare/hooks/pre-commit", {"bare/HEAD"}),
    ("mkdir -p app/hooks; echo hi > app/hooks/use.ts; echo a=b > app/config", set()),
    ("mkdir -p node_modules/x/.vscode; echo 1 > node_modules/x/.vscode/tasks.json", set()),
    ("echo 'export X=1' > .envrc; echo 'repos: []' > .pre-commit-config.yaml", {".envrc", ".pre-commit-config.yaml"}),
    ("mkdir -p .github/workflows; echo on: push > .github/workflows/ci.yml", {".github/workflows/ci.yml"}),
    ("ln -s /etc/passwd .mcp.json", {".mcp.json"}),
    ("echo TOKEN=1 > .env", set()),
    ("head -c 17000000 /dev/zero > AGENTS.md", {"AGENTS.md"}),
    # The name that it would get is taken.
    ("head -c 17000000 /dev/zero > AGENTS.md; touch AGENTS.md.set-aside", {"AGENTS.md"}),
    # What whoever starts it would wait for, or be told by someone else.
    ("mkfifo .envrc AGENTS.md plain", {".envrc", "AGENTS.md"}),
    ("mkfifo .envrc; touch .envrc.set-aside", {".envrc"}),
    ("mkdir .vscode; mkfifo .vscode/tasks.json", {".vscode/tasks.json"}),
    ("python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\".envrc\")'", {".envrc"}),
    ("git init -q sub; mkfifo sub/.git/hooks/pre-commit sub/.git/x", {"sub/.git/hooks/pre-commit", "sub/.git/x"}),
    ("git init -q sub; rm sub/.git/config; mkfifo sub/.git/config", {"sub/.git/config"}),
    ("mkfifo plain; mkdir deep; mkfifo deep/pipe", set()),
]


@pytest.mark.parametrize(("does", "aside"), NESTED, ids=[each[0][:60] for each in NESTED])
async def test_what_starts_by_itself_is_told_from_what_does_not(
    home: Path, work: Path, does: str, aside: set[str]
) -> None:
    async with open_chat(home, [command(does), "Done."], settings=unasked(work)) as chat:
        notices = await ran(chat)
        assert {change["path"] for notice in notices for change in notice.raw["changes"]} == aside
        assert not (aside & there(work))
        (call,) = await chat.items("tool_call")
        assert call.status == "completed", call.text


@pytest.mark.parametrize(
    "does",
    [
        "rm CLAUDE.md; ln -s a.txt CLAUDE.md; rm AGENTS.md; echo obey > AGENTS.md",
        "head -c 17000000 /dev/zero > CLAUDE.md; rm AGENTS.md; ln -s a.txt AGENTS.md",
    ],
)
async def test_what_stood_in_the_place_of_something_set_aside_comes_back_with_undo(
    home: Path, work: Path, does: str
) -> None:
    (work / "AGENTS.md").symlink_to("CLAUDE.md")
    async with open_chat(home, [command(does), "Done."], settings=unasked(work)) as chat:
        (notice,) = await ran(chat)
        assert {change["path"] for change in notice.raw["changes"]} == {"CLAUDE.md", "AGENTS.md"}
        (call,) = await chat.items("tool_call")
        assert (await chat.api.changes.undo_call(ME, call.id)).conflicts == ()
        assert ((work / "CLAUDE.md").read_text(), os.readlink(work / "AGENTS.md")) == ("honest\n", "CLAUDE.md")


async def test_a_pipe_in_the_place_of_words_is_set_aside_and_they_come_back_with_undo(home: Path, work: Path) -> None:
    does = "rm CLAUDE.md; mkfifo CLAUDE.md plain"
    turns = [[command(does)[0]], [command("cat a.txt")[0]], "Done."]
    async with open_chat(home, turns, settings=unasked(work)) as chat:
        (notice,) = await ran(chat)
        assert [change["path"] for change in notice.raw["changes"]] == ["CLAUDE.md"]
        assert not (work / "CLAUDE.md").exists()
        first, second = await chat.items("tool_call")
        assert second.status == "completed", second.text
        report = await chat.api.changes.undo_call(ME, first.id)
        assert report.conflicts == ()
        assert (work / "CLAUDE.md").read_text() == "honest\n"
        assert not (work / "plain").exists()


async def test_a_pipe_of_the_persons_own_stays_where_it_is(home: Path, work: Path) -> None:
    os.mkfifo(work / ".envrc")
    does = "(sleep 0.1; echo x > .envrc) & cat .envrc; touch .envrc"
    async with open_chat(home, [command(does), "Done."], settings=unasked(work)) as chat:
        assert await ran(chat) == []
        assert (work / ".envrc").is_fifo()


@pytest.mark.parametrize("named", ["tools/hooks", '"./tools/hooks/"', "{}/tools/hooks"])
async def test_hooks_are_set_aside_also_where_the_repository_has_them_in_a_folder_of_its_own(
    home: Path, work: Path, named: str
) -> None:
    (work / "tools" / "hooks").mkdir(parents=True)
    (work / "tools" / "hooks" / "pre-commit").write_text("exit 0\n")
    (work / ".git").mkdir()
    (work / ".git" / "config").write_text(f"[core]\n\tbare = false\n\thooksPath = {named.format(work)}\n")
    does = "echo evil > tools/hooks/pre-commit; echo evil > tools/hooks/post-merge; echo x > tools/plain"
    async with open_chat(home, [command(does), "Done."], settings=unasked(work)) as chat:
        (notice,) = await ran(chat)
        changed = {change["path"] for change in notice.raw["changes"]}
        assert changed == {"tools/hooks/pre-commit", "tools/hooks/post-merge"}
        assert (work / "tools" / "hooks" / "pre-commit").read_text() == "exit 0\n"
        assert not (work / "tools" / "hooks" / "post-merge").exists()
        assert (work / "tools" / "plain").exists()


SETTINGS = {
    ".git/config": '[include]\n\tpath = more\n[includeIf "gitdir:/"]\n\tpath = ../shared.gitconfig\n',
    ".git/more": "[core] hooksPath = ../project/tools/hooks # ours\n",
    "shared.gitconfig": "[alias]\n\tst = status\n",
    "tools/hooks/pre-commit": "exit 0\n",
}


async def test_hooks_and_settings_are_set_aside_that_the_repository_includes(home: Path, work: Path) -> None:
    (work / "tools" / "hooks").mkdir(parents=True)
    (work / ".git").mkdir()
    for name, text in SETTINGS.items():
        (work / name).write_text(text)
    names = "tools/hooks/pre-commit tools/hooks/new .git/more shared.gitconfig tools/plain"
    does = f"for f in {names}; do echo evil > $f; done"
    async with open_chat(home, [command(does), "Done."], settings=unasked(work)) as chat:
        # The settings first: only with these back it is known which files are hooks.
        changed = {change["path"] for notice in await ran(chat) for change in notice.raw["changes"]}
        assert changed == {"tools/hooks/pre-commit", "tools/hooks/new", ".git/more", "shared.gitconfig"}
        assert {name: (work / name).read_text() for name in SETTINGS} == SETTINGS
        assert (work / "tools" / "plain").exists()


async def test_a_link_is_set_aside_also_where_there_is_no_room_to_keep_more(
    home: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SNAPSHOT_BYTES", 0)
    async with open_chat(home, [command("ln -s a.txt .mcp.json"), "Done."], settings=unasked(work)) as chat:
        (notice,) = await ran(chat)
        assert [change["path"] for change in notice.raw["changes"]] == [".mcp.json"]
        assert ".mcp.json" not in there(work)


@pytest.mark.parametrize("where", ["", "deep/", "tools/"])
async def test_a_flood_of_files_hides_nothing_that_starts_by_itself(
    home: Path, work: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(limits, "SNAPSHOT_ENTRIES", 200)
    (work / ".git").mkdir()
    (work / ".git" / "config").write_text("[core]\n\thooksPath = tools/hooks\n")
    does = (
        f"mkdir -p tools/hooks {where}.vscode; touch {where}j$(seq -s ' {where}j' 300);"
        f" echo x > {where}.vscode/tasks.json;"
        f" echo evil > tools/hooks/pre-commit; echo obey > {where}Agents.md; echo x > CLAUDE.md; echo x > plain"
    )
    async with open_chat(home, [command(does), "Done."], settings=unasked(work)) as chat:
        notices = await ran(chat)
        aside = {change["path"] for notice in notices for change in notice.raw["changes"]}
        assert aside == {f"{where}.vscode/tasks.json", "tools/hooks/pre-commit", f"{where}Agents.md", "CLAUDE.md"}
        assert (work / "CLAUDE.md").read_text() == "honest\n"
        assert not aside - {"CLAUDE.md"} & there(work)
        assert (work / "plain").exists()


async def test_what_starts_by_itself_under_a_name_that_is_no_text_gets_another(home: Path, work: Path) -> None:
    (work / "make.py").write_text(
        "import os\nfor folder in ('.cursor', 'plain'):\n    os.mkdir(folder)\n"
        "    open(os.fsencode(folder) + b'/\\xff.md', 'w').write('obey')\n"
    )
    turns = [command("python3 make.py"), command("true"), "Done."]
    async with open_chat(home, turns, settings=unasked(work)) as chat:
        await ran(chat)
        (name,) = os.listdir(work / ".cursor")
        assert name.startswith("%xff.md.set-aside-")
        assert os.listdir(os.fsencode(work / "plain")) == [b"\xff.md"]
        told = [item.text for item in await chat.items("notice") if "they were renamed" in item.text]
        assert len(told) == 1
        assert ".cursor/\\xff.md to %xff.md.set-aside-" in told[0]


async def test_a_large_new_folder_with_a_hook_in_it_is_undone_as_a_whole_without_it(home: Path, work: Path) -> None:
    does = "git init -q sub; for n in $(seq 200); do echo $n > sub/$n; done; echo hi > sub/.git/hooks/pre-commit"
    async with open_chat(home, [command(does), "Done."], settings=unasked(work)) as chat:
        (notice,) = await ran(chat)
        assert [change["path"] for change in notice.raw["changes"]] == ["sub/.git/hooks/pre-commit"]
        (call,) = await chat.items("tool_call")
        assert (await chat.api.changes.undo_call(ME, call.id)).conflicts == ()
        assert not (work / "sub").exists()


async def test_the_command_line_says_what_to_do_and_does_it(home: Path, work: Path) -> None:
    async with open_chat(home, [command(TASKS), "Done."], settings=unasked(work)) as chat:
        (notice,) = await ran(chat)
    shown = pilothouse(home, "conversations", "show", notice.conversation_id)
    assert f"Put back: pilothouse undo {notice.id}. Forget: pilothouse drop {notice.id}." in " ".join(shown.out.split())
    done: Any = pilothouse(home, "undo", notice.id)
    assert (done.code, (work / "AGENTS.md").read_text()) == (0, "obey\n")
    assert pilothouse(home, "drop", notice.id).code != 0
