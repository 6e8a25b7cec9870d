"""Starting fast: `run` reads its own arguments, help draws no boxes, nothing is imported in vain."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import ModuleType

import msgspec
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from pilothouse.cli.app import app
from pilothouse.cli.main import RUN_FLAGS, RUN_LISTS, RUN_VALUES, read_run
from pilothouse.cli.run import RunRequest
from pilothouse.models.wires import chat_reader
from pilothouse.types import (
    authority,
    conversations,
    embeddings,
    events,
    item_data,
    large_results,
    models,
    retention,
    runs,
    selection,
    settings,
    terminals,
    timeouts,
    todos,
    web,
)
from tests.cli.conftest import Script
from tests.support.commands import COMMAND, environment, pilothouse, server


def test_what_run_reads_by_itself_is_what_the_app_says() -> None:
    command = get_command(app).commands["run"]  # type: ignore[attr-defined]
    options = {name: one for one in command.params if one.param_type_name == "option" for name in one.opts}
    options = {name: one for name, one in options.items() if one.name != "help"}
    # Numbers are left to the app, which checks them.
    numbers = {"--temperature": "temperature", "--max-tokens": "max_tokens", "--branch": "branch"}
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


def started(home: Path, *arguments: str) -> dict[str, list[str]]:
    """Return the modules that a command imported, and how often it looked for garbage after it had begun."""
    code = f"import sys; sys.argv = {['pilothouse', *arguments]!r}\nimport atexit, gc, json\n"
    code += "looks = []\ngc.callbacks.append(lambda when, about: looks.append(f'{when} {about}'))\n"
    code += "told = lambda: json.dumps({'modules': list(sys.modules), 'looks': looks})\n"
    code += "atexit.register(lambda: print(told(), file=sys.stderr))\n"
    # What the interpreter itself does before that is nothing of ours.
    code += "from pilothouse.cli.main import main; looks.clear(); main()"
    done = subprocess.run(
        [COMMAND[0], "-c", code],
        capture_output=True,
        text=True,
        timeout=20,
        stdin=subprocess.DEVNULL,
        env=environment(home),
        check=False,
    )
    found: dict[str, list[str]] = json.loads(done.stderr.splitlines()[-1])
    return found


def imported(home: Path, *arguments: str) -> set[str]:
    """Return the modules that a command imported."""
    return set(started(home, *arguments)["modules"])


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
    # What can be asked about nouns that this command does not name is not even declared there.
    assert not beside & {f"pilothouse.types.{name}" for name in ("documents", "memories", "prompts", "host_finding")}


# What remembers, reads documents, finds by meaning and the like; and what of it every start has: what asks whether
# there is anything, and the tools that every model is offered.
LATE = (
    *("documents", "mcp", "meaning", "memory", "prompts"),
    *("store.documents", "store.memories", "store.vectors", "types.host_", "types.prompts", "types.vectors"),
    *("tools.finding", "tools.images", "tools.results", "tools.search.", "tools.web"),
)
EVERY_START = {"memory", "memory.recent", "memory.reminding", "prompts", "prompts.reminders", "tools.web"}
EVERY_START |= {"tools.web.operations", "tools.web_operations", "types.host_terminals", "types.host_topics"}
# One more takes a third of a millisecond, and there is always a reason for it: let it be imported late, or take another
# one's place.
MOST_MODULES = 365


@pytest.mark.slow
def test_a_start_imports_nothing_of_what_nobody_has_used_yet(home: Path, script: Script) -> None:
    model = script("- ok")
    for _ in range(2):
        found = imported(home, "run", "hi", "--model", model)
        ours = {name.removeprefix("pilothouse.") for name in found if name.startswith("pilothouse.")}
        assert {name for name in ours if name.startswith(LATE)} == EVERY_START
        assert len(ours) <= MOST_MODULES
        # Loaded by those who need a word of it now and then.
        assert not found & {"csv", "difflib", "pilothouse.models.constrained", "pilothouse.models.text_protocol"}


@pytest.mark.slow
def test_a_start_looks_for_no_garbage_before_there_is_any(home: Path, script: Script) -> None:
    model = script("- ok")
    for _ in range(2):
        assert started(home, "run", "hi", "--model", model)["looks"] == []


def test_what_a_start_has_made_is_not_looked_through_again() -> None:
    code = "import gc\nfrom pilothouse.cli import garbage\n"
    code += "usual = gc.get_threshold()\ngarbage.started()\nfrozen = [gc.get_freeze_count()]\n"
    code += "assert gc.get_threshold() == usual\ngarbage.begin()\nstarting = gc.get_threshold()\n"
    code += "garbage.started()\nfrozen.append(gc.get_freeze_count())\nworking = gc.get_threshold()\n"
    code += "garbage.started()\nprint(frozen[0], frozen[1] > 1_000, usual[0] < working[0] < starting[0])"
    done = subprocess.run([COMMAND[0], "-c", code], capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout == "0 True True\n"


# A start decodes these, and a type that is written as text is compiled each time: that is what
# `from __future__ import annotations` would make of it.
READ_AT_START = (
    *(authority, conversations, embeddings, events, item_data, large_results, models, retention, runs),
    *(selection, settings, terminals, timeouts, todos, web, chat_reader),
)


@pytest.mark.parametrize("module", READ_AT_START, ids=lambda module: str(module.__name__))
def test_the_records_that_a_start_reads_have_their_types_as_they_are(module: ModuleType) -> None:
    own = [each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__]
    records = [each for each in own if issubclass(each, msgspec.Struct)]
    assert records
    texts = [each.__name__ for each in records if any(isinstance(kind, str) for kind in each.__annotations__.values())]
    assert texts == []
