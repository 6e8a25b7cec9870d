"""The project's tasks: found without running anything, run like commands, kept where the person agrees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilothouse.helper.client import Helper
from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.builds import jsonc
from pilothouse.tools.builds.tasks import find_tasks
from pilothouse.tools.terminal.operation import TerminalOperation
from pilothouse.types.access import Access
from pilothouse.types.authority import Mode
from pilothouse.types.terminals import TerminalSettings
from tests.support.terminals import TerminalCalls
from tests.support.waiting import eventually

TASKS = """\
// Tasks of the project.
{
  "version": "2.0.0",
  "tasks": [
    { "label": "hello", "type": "shell", "command": "echo", "args": ["one two", "$HOME"] }, /* the first */
    { "label": "where", "command": "pwd", "options": { "cwd": "${workspaceFolder}/sub", "env": { "A": "b c" } } },
    { "label": "words", "type": "process", "command": "printf", "args": ["%s\\n", "*"] },
    { "label": "both", "dependsOn": ["hello", "words"], "command": "echo done" },
    { "label": "asks", "command": "echo ${input:name}" },
    { "label": "mine", "type": "gulp", "task": "x" },
    { "label": "round", "dependsOn": ["about"], "command": "true" },
    { "label": "about", "dependsOn": ["round"], "command": "true" },
    { "label": "elsewhere", "command": "dir", "linux": { "command": "ls" } },
  ],
}
"""
JUSTFILE = """\
set shell := ["bash", "-c"]
alias b := build
version := "1"

# Builds it.
build target='all': prepare
    echo {{target}}

@quiet:
    true

_hidden:
    true

test *args:
    pytest {{args}}
"""
MAKEFILE = """\
CC := gcc
OBJECTS = a.o
.PHONY: all clean
all: build.o
\techo all
%.o: %.c
\tcc $<
clean install:
\trm -f *.o
"""
PYPROJECT = """\
[tool.poe.tasks]
lint = "ruff check"
check = { cmd = "mypy ." }
_private = "no"
[tool.pdm.scripts]
start = "python -m app"
[tool.taskipy.tasks]
serve = "flask run"
[tool.hatch.envs.default.scripts]
cov = ["coverage run", "coverage report"]
"""


def put(work: Path, **files: str) -> None:
    for name, text in files.items():
        path = work / name.replace("__", ".").replace("--", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def vscode(work: Path, text: str = TASKS) -> None:
    (work / ".vscode").mkdir(exist_ok=True)
    (work / ".vscode" / "tasks.json").write_text(text)


@pytest.mark.case("BLD-02")
def test_tasks_are_found_in_every_file_that_has_them(tmp_path: Path, helper: Helper) -> None:
    vscode(tmp_path)
    scripts = {"scripts": {"build": "vite build", "test:unit": "vitest"}}
    put(tmp_path, justfile=JUSTFILE, Makefile=MAKEFILE, package__json=json.dumps(scripts), pyproject__toml=PYPROJECT)
    (tmp_path / "pnpm-lock.yaml").touch()
    found = find_tasks(str(tmp_path), helper)
    assert found.problems == ()
    by_source: dict[str, list[tuple[str, str]]] = {}
    for task in found.tasks:
        if task.source != "vscode":
            by_source.setdefault(task.source, []).append((task.label, task.said))
    assert by_source == {
        "just": [("build", "just build"), ("quiet", "just quiet"), ("test", "just test")],
        "make": [("all", "make all"), ("clean", "make clean"), ("install", "make install")],
        "npm": [("build", "pnpm run build"), ("test:unit", "pnpm run test:unit")],
        "poe": [("lint", "poe lint"), ("check", "poe check")],
        "pdm": [("start", "pdm run start")],
        "taskipy": [("serve", "task serve")],
        "hatch": [("cov", "hatch run cov")],
    }
    assert [task.means for task in found.tasks if task.source == "hatch"] == ["coverage run && coverage report"]


@pytest.mark.case("BLD-02")
def test_tasks_of_the_editor_are_put_together_as_it_would(tmp_path: Path, helper: Helper) -> None:
    vscode(tmp_path)
    found = {task.label: task for task in find_tasks(str(tmp_path), helper).tasks}
    assert found["hello"].text == "echo 'one two' '$HOME'"
    assert found["where"].text == f"(export A='b c' && cd {tmp_path}/sub && pwd)"
    assert found["words"].argv == ("printf", "%s\n", "*")
    assert found["both"].text == "echo 'one two' '$HOME' && printf '%s\n' '*' && echo done"
    assert found["elsewhere"].text == "ls"


@pytest.mark.parametrize(
    ("label", "why"),
    [
        ("asks", "only the editor knows ${input:name}."),
        ("mine", "tasks of the type gulp need the editor."),
        ("round", "it depends on itself, by the task round."),
    ],
)
async def test_a_task_that_cannot_be_run_here_says_why(builds: TerminalCalls, work: Path, label: str, why: str) -> None:
    vscode(work)
    assert await builds.fails("run_task", label=label) == f"UNSUPPORTED: The task {label} cannot be run here: {why}"


@pytest.mark.case("BLD-02", "BLD-03")
async def test_a_task_is_run_by_its_label_and_its_output_can_be_read_again(builds: TerminalCalls, work: Path) -> None:
    vscode(work)
    access = await builds.touched("run_task", label="hello")
    assert access.command is not None
    assert (access.command.text, access.operation) == (
        "echo 'one two' '$HOME'",
        "build_and_version_control.run_task",
    )
    output = await builds.does("run_task", label="hello")
    assert output.text == "The task hello ended with exit code 0.\none two $HOME\n"
    assert (output.data["exitCode"], output.data["running"]) == (0, False)
    again = await builds.does("get_task_output", label="hello")
    assert again.text == output.text
    assert (await builds.does("get_task_output")).data["processId"] == output.data["processId"]
    assert "was not run in this conversation yet" in await builds.fails("get_task_output", label="words")


async def test_a_task_that_fails_is_told_with_its_exit_code(builds: TerminalCalls, work: Path) -> None:
    vscode(work, json.dumps({"tasks": [{"label": "bad", "command": "echo oh no; exit 3"}]}))
    output = await builds.does("run_task", label="bad")
    assert output.text == "The task bad ended with exit code 3.\noh no\n"


@pytest.mark.parametrize(
    ("mode", "asked", "runs"), [("sandboxed", False, False), ("sandboxed", True, True), ("auto_approve", False, True)]
)
async def test_a_task_that_takes_long_is_left_running_unless_it_needed_nobodys_word_because_it_ends(
    builds: TerminalCalls, work: Path, monkeypatch: pytest.MonkeyPatch, mode: Mode, asked: bool, runs: bool
) -> None:
    builds.settings = TerminalSettings(timeout=0.3)
    vscode(work, json.dumps({"tasks": [{"label": "long", "command": "tail -f /dev/null"}]}))

    async def covered(*_given: object) -> tuple[bool, str]:
        return True, ""

    monkeypatch.setattr(TerminalOperation, "_coverage", covered)
    given: dict[str, object] = {"operation": "run_task", "label": "long"}
    context = msgspec.structs.replace(builds.context(), mode=mode, asked=asked)
    access = await builds.tool.access(given, context)
    assert isinstance(access, Access)
    output = await builds.execute(given, context, access)
    assert output.data["running"] is runs
    await builds.terminals.stop_process(builds.conversation_id, output.data["processId"])


@pytest.mark.case("BLD-03")
@pytest.mark.slow
async def test_a_task_in_the_background_is_left_running_and_looked_at(builds: TerminalCalls, work: Path) -> None:
    watching = {"label": "watch", "command": "echo started; tail -f /dev/null", "isBackground": True}
    vscode(work, json.dumps({"tasks": [watching]}))
    output = await builds.does("run_task", label="watch")
    assert output.text.startswith("The task watch is running; look at it with get_task_output.")

    async def started() -> bool:
        return "started" in (await builds.does("get_task_output", label="watch")).text

    await eventually(started, "the output of the task")
    assert [process.command for process in (await builds.terminals.terminals(builds.conversation_id)).processes] == [
        "echo started; tail -f /dev/null"
    ]
    await builds.terminals.stop_process(builds.conversation_id, output.data["processId"])


async def test_several_tasks_of_one_name_must_be_told_apart(builds: TerminalCalls, work: Path) -> None:
    put(work, justfile="build:\n    true\n", package__json='{"scripts": {"build": "vite"}}')
    said = await builds.fails("run_task", label="build")
    assert said == "AMBIGUOUS: Several tasks are called build; say which: “just: build”, “npm: build”."
    assert (await builds.touched("run_task", label="npm: build")).preview["task"] == {
        "label": "build",
        "source": "npm",
        "means": "vite",
    }


@pytest.mark.case("AUTHZ-01")
async def test_a_task_that_was_rewritten_after_it_was_allowed_is_not_run(builds: TerminalCalls, work: Path) -> None:
    put(work, Makefile="hello:\n\techo hello\n")
    given: dict[str, object] = {"operation": "run_task", "label": "hello"}
    context = builds.context()
    access = await builds.tool.access(given, context)
    assert isinstance(access, Access)
    put(work, Makefile="hello:\n\techo something else\n")
    output = await builds.execute(given, context, access)
    assert output.text == "What the task hello does has changed since it was allowed; ask again."
    again = await builds.tool.access(given, context)
    assert isinstance(again, Access)
    assert again.content != access.content


async def test_a_task_that_is_not_there_is_answered_with_those_that_are(builds: TerminalCalls, work: Path) -> None:
    assert await builds.fails("run_task", label="x") == "NOT_FOUND: There is no task x. The project has none."
    put(work, justfile="build:\n    true\n", package__json="{")
    said = await builds.fails("run_task", label="x")
    assert said.startswith("NOT_FOUND: There is no task x. There are just: build. package.json cannot be read: line 1:")


@pytest.mark.case("FS-02")
async def test_a_link_to_a_file_elsewhere_describes_no_tasks(builds: TerminalCalls, work: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("stolen:\n    true\n")
    (work / "justfile").symlink_to(tmp_path / "secret")
    said = await builds.fails("run_task", label="stolen")
    assert "There is no task stolen. The project has none." in said


# --- new tasks ---

NEW: dict[str, Any] = {"label": "count", "command": "wc", "args": ["-l", "readme.md"]}


@pytest.mark.case("BLD-01")
async def test_a_new_task_is_run_and_stays_with_the_conversation(builds: TerminalCalls, work: Path) -> None:
    access = await builds.touched("create_and_run_task", task=NEW)
    assert access.paths == ()
    output = await builds.does("create_and_run_task", task=NEW)
    assert output.text == "The task count ended with exit code 0.\n1 readme.md\n"
    (work / "readme.md").write_text("a\nb\n")
    assert (await builds.does("run_task", label="count")).text.endswith("2 readme.md\n")
    assert not (work / ".vscode").exists()
    builds.conversation_id = "c_other"
    assert "There is no task count" in await builds.fails("run_task", label="count")


@pytest.mark.case("BLD-01")
async def test_keeping_a_task_asks_for_the_file_itself(builds: TerminalCalls, work: Path) -> None:
    access = await builds.touched("create_and_run_task", task=NEW, save=True)
    [use] = access.paths
    assert (use.path, use.effect, bool(use.protected)) == (str(work / ".vscode" / "tasks.json"), "writes", True)
    assert access.preview["changes"][0]["kind"] == "created"
    output = await builds.does("create_and_run_task", task=NEW, save=True)
    assert output.data["changes"][0]["changeId"]
    kept = json.loads((work / ".vscode" / "tasks.json").read_text())
    assert kept == {"version": "2.0.0", "tasks": [{"label": "count", "type": "shell"} | NEW]}
    assert "has a task count already" in await builds.fails("create_and_run_task", task=NEW, save=True)
    assert str(work / ".vscode" / "tasks.json") in (await builds.undo()).undone
    assert not (work / ".vscode" / "tasks.json").exists()


async def test_a_kept_task_leaves_the_comments_of_others(builds: TerminalCalls, work: Path) -> None:
    vscode(work)
    await builds.does("create_and_run_task", task=NEW, save=True)
    text = (work / ".vscode" / "tasks.json").read_text()
    assert text.startswith("// Tasks of the project.\n")
    assert "/* the first */" in text
    assert [task["label"] for task in jsonc.read(text, "x")["tasks"]][-2:] == ["elsewhere", "count"]


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        (None, "`task` is missing; it needs a label and a command."),
        ({"command": "ls"}, "`label` is missing; it must be a text."),
        ({"label": "x"}, "`command` is missing; it must be a text."),
        ({"label": "a\nb", "command": "ls"}, "A task's label has 1 to 200 characters on one line."),
        ({"label": "x", "command": "ls", "type": "gulp"}, "tasks of the type gulp need the editor."),
        ({"label": "x", "command": "ls", "args": "-l"}, "its `args` are no list."),
    ],
)
async def test_a_task_that_makes_no_sense_is_one_sentence(builds: TerminalCalls, task: Any, sentence: str) -> None:
    given = {"task": task} if task is not None else {}
    assert (await builds.fails("create_and_run_task", **given)).partition(": ")[2] == sentence


@pytest.mark.parametrize(
    "text",
    [
        '{"tasks": []}',
        '{"tasks": [ // none yet\n]}',
        '{"tasks": [1, /* two ] */ 2 // three\n, ], "x": {"tasks": [3]}}',
        '{"x": "tasks", "y": ["]"], "tasks": ["a\\"]"]}',
        '{"version": "2.0.0"}',
        '{"tasks": [1], "tasks": [2]}',
    ],
)
def test_an_entry_is_added_to_whatever_list_there_is(text: str) -> None:
    before = jsonc.read(text, "x").get("tasks", [])
    after = jsonc.with_entry(text, "tasks", {"label": "new"}, "x")
    assert jsonc.read(after, "x")["tasks"] == [*before, {"label": "new"}]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": }', "[" * 100_000])
def test_a_file_that_cannot_be_read_is_one_sentence(text: str) -> None:
    with pytest.raises(BadArgument, match=r"^tasks.json cannot be read: .*\.$"):
        jsonc.read(text, "tasks.json")
