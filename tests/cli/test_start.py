"""Starting fast: `run` reads its own arguments, help draws no boxes, nothing is imported in vain."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from pilothouse.cli.app import app
from pilothouse.cli.main import RUN_FLAGS, RUN_LISTS, RUN_VALUES, read_run
from pilothouse.cli.run import RunRequest
from tests.cli.conftest import Script
from tests.support.commands import COMMAND, environment, pilothouse, server


def test_what_run_reads_by_itself_is_what_the_app_says() -> None:
    command = get_command(app).commands["run"]  # type: ignore[attr-defined]
    options = {name: one for one in command.params if one.param_type_name == "option" for name in one.opts}
    options = {name: one for name, one in options.items() if one.name != "help"}
    # Numbers are left to the app, which checks them.
    numbers = {"--temperature": "temperature", "--max-tokens": "max_tokens"}
    known = RUN_FLAGS | RUN_VALUES | RUN_LISTS | numbers
    assert options.keys() == known.keys()
    for name, one in options.items():
        assert one.name == known[name]
        assert one.is_flag == (name in RUN_FLAGS)
        assert one.multiple == (name in RUN_LISTS)
    assert {one.name for one in command.params} - {"help"} == set(RunRequest.__struct_fields__)


@pytest.mark.parametrize(
    ("typed", "request_"),
    [
        ("", RunRequest()),
        ("hi", RunRequest(message="hi")),
        ("- --json", RunRequest(message="-", json=True)),
        ("hi --thinking", RunRequest(message="hi", thinking=True)),
        ("hi -i a.png --image b.png", RunRequest(message="hi", image=("a.png", "b.png"))),
        ("hi -m a --system b -c c", RunRequest(message="hi", model="a", system="b", conversation="c")),
        (
            "hi --server a --allow a.* --server b:x,y",
            RunRequest(message="hi", server=("a", "b:x,y"), allow=("a.*",)),
        ),
    ],
)
def test_the_usual_forms_are_read_without_the_app(typed: str, request_: RunRequest) -> None:
    assert read_run(typed.split()) == request_


@pytest.mark.parametrize(
    "typed", ["--help", "hi --modle a", "hi --temperature 1", "hi --model", "a b", "--model=a hi", "-- -x", "hi -m -x"]
)
def test_unusual_forms_are_left_to_the_app(typed: str) -> None:
    assert read_run(typed.split()) is None


@pytest.mark.slow
def test_the_app_reads_the_other_forms_alike(home: Path, script: Script) -> None:
    model = script("- ok")
    assert pilothouse(home, "run", f"--model={model}", "--", "-x").out == "ok\n"
    assert pilothouse(home, "run", "a", "b").code == 2


@pytest.mark.parametrize("group", ["", "models", "mcp", "conversations", "terminal", "policy", "grants", "audit"])
def test_what_each_command_does_fits_its_line_in_the_help(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = CliRunner().invoke(app, [group, "--help"] if group else ["--help"]).output
    commands = shown[shown.index("Commands:") :]
    assert len(commands.splitlines()) > 2
    assert "..." not in commands


def imported(home: Path, *arguments: str) -> set[str]:
    """Return the modules that a command imported."""
    code = f"import sys; sys.argv = {['pilothouse', *arguments]!r}\nimport atexit, json\n"
    code += "atexit.register(lambda: print(json.dumps(list(sys.modules)), file=sys.stderr))\n"
    code += "from pilothouse.cli.main import main; main()"
    done = subprocess.run(
        [COMMAND[0], "-c", code],
        capture_output=True,
        text=True,
        timeout=20,
        stdin=subprocess.DEVNULL,
        env=environment(home),
        check=False,
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.slow
def test_each_command_imports_only_what_it_needs(home: Path, script: Script) -> None:
    heavy = {"typer", "pydantic", "rich", "prompt_toolkit", "uvicorn", "starlette", "alembic", "uvloop", "websockets"}
    heavy |= {"jsonschema_rs"}
    assert not imported(home, "--help") & (heavy - {"typer"} | {"sqlalchemy", "msgspec", "httpx2"})
    model = script("- ok")
    # The first run of all brings the database into being, also without any tool for that.
    for _ in range(2):
        assert not imported(home, "run", "hi", "--model", model) & (heavy | {"httpx2", "sqlalchemy", "email"})
    # FolderTools and what holds them are for conversations with a folder.
    assert not imported(home, "run", "hi", "--model", model) & {"pilothouse.tools.sandbox", "pilothouse.tools.terminal"}
    with server(home):
        beside = imported(home, "run", "hi", "--model", model)
    assert not beside & (heavy | {"sqlalchemy", "pilothouse.wiring", "httpx2"})
    assert "pilothouse.net.client" in beside
