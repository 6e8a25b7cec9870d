"""Files that were made to hold us up: they are read in the helper process, and told in one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pilothouse.helper import client
from pilothouse.helper.client import Helper
from pilothouse.types import limits
from pilothouse.types.json import encode
from pilothouse.web.run import ServerOptions
from tests.adversarial.helper_work import double, endless, greedy
from tests.support.chats import open_chat
from tests.support.in_process_server import BEARER, TOKEN, serve_host
from tests.support.lag import HELD, least_hold
from tests.support.repositories import git, make_repository, open_git_tool
from tests.support.sampling import first_and_some
from tests.support.search_tool import open_search_tool
from tests.support.terminals import TerminalCalls

KB = 1024
MB = 1024 * KB
DEEP = 50_000


def chain(length: int) -> str:
    """Return tasks of an editor of which each needs the one before it."""
    tasks = [{"label": f"t{number}", "command": "x", "dependsOn": [f"t{number - 1}"]} for number in range(1, length)]
    return json.dumps({"tasks": [{"label": "t0", "command": "x"}, *tasks]})


# Each with what it is to its reader.
TASK_FILES = {
    "comments that never end": ("package.json", "{" + "/* " * (100 * KB // 3)),
    "quotes that never end": ("package.json", '{"a": ' + '"\\' * (500 * KB)),
    "commas before nothing": ("package.json", "{" + ", " * (500 * KB)),
    "nested objects": ("package.json", '{"a":' * DEEP),
    "nested lists": (".vscode/tasks.json", "[" * MB),
    "a digit after the other": ("package.json", '{"scripts": ' + "9" * (900 * KB) + "}"),
    "tasks that need each other": (".vscode/tasks.json", chain(30)),
    "far more tasks that do": (".vscode/tasks.json", chain(15_000)),
    "a target of many words": ("Makefile", "a " * (500 * KB)),
    "a target of blanks": ("Makefile", "a" + " " * (900 * KB) + "\n"),
    "colons": ("Makefile", "a:" * (500 * KB)),
    "a recipe that never comes": ("justfile", "a " * (500 * KB)),
    "nested arrays": ("pyproject.toml", "a = " + "[" * DEEP),
    "nested tables": ("pyproject.toml", "a = " + "{b=" * DEEP),
    "a dotted key": ("pyproject.toml", ".".join("a" * 250_000) + " = 1\n"),
    "tables of tables": ("pyproject.toml", "".join(f"[a{'.a' * number}]\n" for number in range(900))),
    "a number": ("pyproject.toml", "a = " + "9" * (900 * KB)),
}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long is given up sooner than for a person."""
    monkeypatch.setattr(limits, "HELPER_TIME", 0.25)


async def listed(builds: TerminalCalls) -> str:
    """Return what is said about all tasks: there is none of this name."""
    return await builds.fails("run_task", label="there is no such task")


@pytest.mark.case("FS-10")
@pytest.mark.sampled(always=("far more tasks that do", "nested tables"), share=0.2)
@pytest.mark.parametrize("kind", sorted(TASK_FILES))
async def test_a_file_of_tasks_holds_nobody_up(home: Path, tmp_path: Path, kind: str) -> None:
    name, text = TASK_FILES[kind]
    work = tmp_path / "work"
    path = work / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    beside = work / ("justfile" if name == "Makefile" else "Makefile")
    beside.write_text("honest:\n\ttrue\n")
    said: list[str] = []

    async def look() -> None:
        said.append(await listed(builds))

    async with open_git_tool(home, work) as builds:
        held = await least_hold(look)
        assert held < HELD, held
        sentence = said[-1]
        assert ": honest" in sentence
        assert "Traceback" not in sentence
        assert "helper" not in sentence
        # The next one is read as if nothing had been.
        path.unlink()
        assert "cannot be read" not in await listed(builds)


CHECKER_FILES = {
    "an ini file of continuations": ("setup.cfg", "[a]\nb = 1\n" + " \n" * (2 * MB // 2)),
    "an ini file of one option": ("setup.cfg", "[a]\n" + "b" * MB + "\n"),
    "an ini file of blanks": ("setup.cfg", "[a]\nb" + " " * (64 * KB) + "x\n"),
    "nested arrays": ("pyproject.toml", "a = " + "[" * DEEP),
    "dotted keys": ("pyproject.toml", "".join(f"{'a.' * 400}b{number} = 1\n" for number in range(2_000))),
}


@pytest.mark.case("FS-10")
@pytest.mark.sampled(always=("dotted keys",), share=0.2)
@pytest.mark.parametrize("kind", sorted(CHECKER_FILES))
async def test_a_settings_file_of_a_checker_holds_nobody_up(home: Path, tmp_path: Path, kind: str) -> None:
    name, text = CHECKER_FILES[kind]
    work = tmp_path / "work"
    work.mkdir()
    (work / name).write_text(text)
    said: list[str] = []

    async def look() -> None:
        said.append(await errors.fails("get_errors"))

    async with open_search_tool(home, work) as errors:
        held = await least_hold(look)
    assert held < HELD, held
    assert said[0].startswith("NO_CHECKER: No checker is set up here; known are ")


@pytest.mark.case("FS-10")
async def test_a_file_that_is_too_much_is_told_in_one_sentence(home: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "pyproject.toml").write_text("a = " + "[" * DEEP)
    async with open_git_tool(home, work) as builds:
        assert "pyproject.toml cannot be read: it is nested too deeply." in await listed(builds)
        (work / "pyproject.toml").write_text("".join(f"{'a.' * 400}b{number} = 1\n" for number in range(1_250)))
        assert "pyproject.toml cannot be read: it takes too long to read." in await listed(builds)
    async with open_search_tool(home, work) as errors:
        said = await errors.fails("get_errors")
        assert said.endswith("pyproject.toml cannot be read: it takes too long to read.")


async def test_a_helper_that_cannot_be_started_is_told(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "Makefile").write_text("all:\n\ttrue\n")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    async with open_git_tool(home, work) as builds:
        why = "Makefile cannot be read: the helper process that reads such files could not be started."
        assert why in await listed(builds)


async def test_adding_a_task_to_a_file_that_was_made_to_hold_us_up_is_refused(home: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / ".vscode").mkdir(parents=True)
    (work / ".vscode" / "tasks.json").write_text('{"a":' * DEEP)
    task = {"label": "new", "command": "true"}
    async with open_git_tool(home, work) as builds:
        refused = await builds.fails("create_and_run_task", task=task, save=True)
    assert refused == "BAD_FILE: .vscode/tasks.json cannot be read: it is nested too deeply."


IMPORTS = {
    "comments in trailing commas": '{"a": 1,' + "/**/" * 40 + "x",
    "many such": "{" + (",/**//**//**/ " * (60 * KB)),
    "comments that never end": "{" + "/* " * (300 * KB),
    "quotes that never end": '{"' + "\\" * (900 * KB),
    "nested objects": '{"mcpServers": {"a": ' + '{"b":' * 900 + "1" + "}" * 902,
    "nested lists": "[" * 900_000,
    "many empty lists": '{"mcpServers": {"a": [' + "[]," * 300_000 + "[]]}}",
    "many servers": encode({"mcpServers": {f"s{n}": {"command": "x"} for n in range(20_000)}}).decode(),
    "many arguments": encode({"mcpServers": {"a": {"command": "x", "args": ["${input:a}"] * 60_000}}}).decode(),
    "one argument of many openings": encode({"mcpServers": {"a": {"command": "x", "args": ["${" * 400_000]}}}).decode(),
    "many inputs": encode(
        {"mcpServers": {"a": {"command": "x"}}, "inputs": [{"id": str(n)} for n in range(50_000)]}
    ).decode(),
    "many variables": encode(
        {"mcpServers": {"a": {"command": "x", "env": {f"V{n}": f"${{env:A{n}}}" for n in range(4_000)}}}}
    ).decode(),
    "as many servers as are taken": encode(
        {"mcpServers": {f"s{n}": {"command": "x", "args": ["y"] * 40} for n in range(limits.IMPORT_SERVERS)}}
    ).decode(),
    "a number of many digits": '{"mcpServers": {"a": {"command": "x", "timeout": ' + "9" * 900_000 + "}}}",
    "a small one of too many digits": '{"mcpServers": {"a": {"command": "x", "timeout": ' + "9" * 400 + "}}}",
}


@pytest.mark.slow
@pytest.mark.case("FS-10")
@pytest.mark.sampled(always=("many servers", "nested lists"), share=0.2)
@pytest.mark.parametrize("kind", sorted(IMPORTS))
async def test_an_imported_file_holds_nobody_up(home: Path, kind: str) -> None:
    body = encode({"text": IMPORTS[kind], "answers": {}, "origin": "x"})
    async with open_chat(home) as chat, serve_host(chat.api, ServerOptions(home=home, token=TOKEN)) as server:
        headers = {**BEARER, "content-type": "application/json"}

        async def send() -> None:
            for path in ("/api/servers/import/questions", "/api/servers/import"):
                answer = await server.http.post(path, content=body, headers=headers)
                assert answer.status_code in (200, 400), answer.text
                assert len(answer.json().get("message", "")) < 500

        held = await least_hold(send)
        assert held < HELD, held


def test_the_helper_goes_on_after_anything_that_broke_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    helper = Helper()
    try:
        for work, given, why in (
            (endless, 1, "it takes too long to read"),
            (greedy, 2 * limits.HELPER_MEMORY, "there is too much in it"),
            (greedy, 2 * limits.HELPER_ANSWER_BYTES, "there is too much in it"),
            (greedy, -1, "reading it failed"),
        ):
            with pytest.raises(client.Unreadable, match=why):
                helper.ask(work, given, 0.2)
            assert helper.ask(double, 21) == 42
    finally:
        helper.close()


# --- ignore files ---


IGNORE_FILES = {
    "many names": "".join(f"{number:x}\n" for number in range(30_000)),
    "many stars": "".join(f"{'*a' * 10}*{number:x}b\n" for number in range(5_000)),
    "stars in one line": "*a" * (100 * KB),
    "folders in one line": "**/a/" * (50 * KB),
    "lines that are no patterns": "!\n///\n" * (30 * KB),
    "letters of several bytes": "".join(f"{'é?' * 20}{number:x}\n" for number in range(3_000)),
}


@pytest.mark.case("FS-10")
@pytest.mark.sampled(always=("many stars",), share=0.2)
@pytest.mark.parametrize("kind", sorted(IGNORE_FILES))
async def test_an_ignore_file_holds_nobody_up_and_ends_no_search(home: Path, tmp_path: Path, kind: str) -> None:
    work = tmp_path / "work"
    work.mkdir()
    # What stands first and last in it counts.
    (work / ".gitignore").write_text(f"first.txt\n{IGNORE_FILES[kind]}\nlast.txt\n!kept/last.txt\n")
    for name in ("first.txt", "last.txt", "kept/last.txt", "shown.txt", "a" * 200):
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text("hello\n")
    found: list[str] = []

    async def look() -> None:
        found.append((await files.does("grep_search", query="hello")).text)

    async with open_search_tool(home, work) as files:
        held = await least_hold(look)
    assert held < HELD, held
    assert "shown.txt" in found[0]
    assert "kept/last.txt" in found[0]
    assert "first.txt" not in found[0]
    assert "\nlast.txt" not in found[0]


# --- what git says of a repository ---


def much_is_set(work: Path) -> None:
    with (work / ".git" / "config").open("a") as file:
        file.write("[a]\n" + "b\n" * 500_000)


def much_is_gone(work: Path) -> None:
    blob = git(work, "hash-object", "-w", "readme.md")
    index = "".join(f"100644 {blob}\t{number}\n" for number in range(120_000))
    subprocess.run(["git", "update-index", "--index-info"], cwd=work, input=index.encode(), check=True, timeout=20)


def much_is_written(work: Path) -> None:
    (work / "readme.md").write_text("\u2028" * (5 * MB))
    (work / "new.md").write_text("diff --git a\n" * MB)


@pytest.mark.case("FS-10")
@pytest.mark.parametrize("make", first_and_some((much_is_written, much_is_set, much_is_gone)))
async def test_what_git_says_of_a_repository_holds_nobody_up(
    home: Path, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    work = make_repository(tmp_path / "work")
    make(work)

    async with open_git_tool(home, work) as builds:

        async def look() -> None:
            await builds.call("get_changed_files", include_diff=True)
            await builds.access("git_commit", message="x", files=["readme.md", "new.md"])

        held = await least_hold(look)
    assert held < HELD, held
