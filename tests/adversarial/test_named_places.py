"""Everything else by which a project can name a place outside of it: a planted secret shows nowhere."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pilothouse.mcp.servers import importing
from pilothouse.permissions.policy import Policy
from pilothouse.types.access import Access
from pilothouse.types.authority import Pattern
from tests.support.authorizers import HeldRules, a_rule
from tests.support.repositories import open_git_tool
from tests.support.search_tool import open_search_tool, write_files

SECRET = "planted-0000"
# As a list of tasks, as text, and as patterns: whoever reads it and tells of it, tells this.
TEXTS = {
    "tasks.json": '{"tasks": [{"label": "planted-0000", "command": "true"}]}',
    "package.json": '{"scripts": {"planted-0000": "true"}}',
    "pyproject.toml": '[tool.poe.tasks]\nplanted-0000 = "true"\n',
    "Makefile": "planted-0000:\n\ttrue\n",
    "justfile": "planted-0000:\n    true\n",
}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    write_files(tmp_path, {f"outside/{name}": text for name, text in TEXTS.items()})
    return tmp_path / "outside"


@pytest.mark.case("FS-01", "SPAWN-08")
async def test_lists_of_tasks_are_not_read_elsewhere(home: Path, work: Path, outside: Path) -> None:
    """By a link in the place of a file or its folder, or by what such a file includes."""
    for name in ("package.json", "pyproject.toml"):
        (work / name).symlink_to(outside / name)
    (work / ".vscode").symlink_to(outside)
    (work / "Makefile").write_text(f"include {outside}/Makefile\nown:\n\ttrue\n")
    (work / "justfile").write_text(f"import '{outside}/justfile'\nours:\n    true\n")
    async with open_git_tool(home, work, "none") as builds:
        said = await builds.fails("run_task", label="none of them")
        assert "make: own" in said
        assert "just: ours" in said
        assert SECRET not in said


@pytest.mark.case("FS-04", "CMD-06")
async def test_a_folder_that_a_task_names_is_in_its_command_and_can_be_forbidden(
    home: Path, work: Path, outside: Path
) -> None:
    (work / ".vscode").mkdir()
    task = {"label": "away", "command": "ls", "options": {"cwd": "${workspaceFolder}/../outside"}}
    (work / ".vscode" / "tasks.json").write_text(json.dumps({"tasks": [task]}))
    rules = Policy(HeldRules(a_rule("deny", Pattern(paths=(f"{outside}/**",)))))
    async with open_git_tool(home, work, "none") as builds:
        access = await builds.touched("run_task", label="away")
        assert access.command is not None
        assert str(outside) in access.command.text
        ruling = rules.verdict(access, builds.tool, builds.context())
    assert ruling is not None
    assert ruling.verdict == "deny"


LINKS = ("link.txt", ".gitignore", ".ignore", "folder", "deep/link.py", ".git")


@pytest.mark.case("FS-01", "FS-03")
async def test_no_search_finds_anything_elsewhere(home: Path, work: Path, outside: Path) -> None:
    write_files(outside, {"code.py": f"def planted_0000(): return '{SECRET}'\n", "info/exclude": "seen.txt\n"})
    write_files(work, {"seen.txt": "an honest planted line\n", "deep/own.py": "def own(): pass\n"})
    targets = {".gitignore": "Makefile", ".ignore": "Makefile", "link.txt": "Makefile", "deep/link.py": "code.py"}
    for name in LINKS:
        (work / name).symlink_to(outside / targets.get(name, ""))
    searches: list[tuple[str, dict[str, Any]]] = [
        ("grep_search", {"query": "planted"}),
        ("semantic_search", {"query": "planted"}),
        ("search_index", {"query": "planted"}),
        ("list_usages", {"symbolName": "planted_0000"}),
        ("file_search", {"query": "*"}),
    ]
    async with open_search_tool(home, work) as search:
        for operation, arguments in searches:
            output = await search.call(operation, **arguments)
            assert SECRET not in output.text, operation
            assert "planted_0000():" not in output.text, operation
        # What an ignore file elsewhere leaves out is not left out here.
        assert "seen.txt" in (await search.call("grep_search", query="planted")).text


@pytest.mark.case("CMD-06", "SPAWN-01")
@pytest.mark.parametrize("name", ["ruff.toml", "mypy.ini", "tsconfig.json", "eslint.config.js", "pyproject.toml"])
async def test_a_checker_that_a_project_sets_up_is_a_command_whatever_it_extends(
    home: Path, work: Path, outside: Path, name: str
) -> None:
    """Its settings may name files and programs anywhere: nothing of it runs on the permission to read."""
    texts = {
        "ruff.toml": f'extend = "{outside}/pyproject.toml"\n',
        "mypy.ini": f"[mypy]\nplugins = {outside}/plugin.py\n",
        "tsconfig.json": json.dumps({"extends": f"{outside}/package.json"}),
        "eslint.config.js": f"export default [...require('{outside}/plugin.js')]",
        "pyproject.toml": f'[tool.ruff]\nextend = "{outside}/pyproject.toml"\n',
    }
    (work / name).write_text(texts[name])
    programs = work / "node_modules" / ".bin"
    programs.mkdir(parents=True)
    for program in ("ruff", "mypy", "tsc", "eslint"):
        (programs / program).write_text("#!/bin/sh\n")
        (programs / program).chmod(0o755)
    async with open_search_tool(home, work) as search:
        access = await search.tool.access({"operation": "get_errors"}, search.context())
        assert isinstance(access, Access), access
        assert access.command is not None
        assert "runs" in access.effects


@pytest.mark.case("SECRET-03", "SPAWN-01")
@pytest.mark.parametrize("way", ["straight", "link"])
def test_an_import_takes_no_variables_out_of_a_place_of_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write_files(tmp_path, {".aws/credentials": f"KEY={SECRET}\n", "project/.env": "PORT=80\n"})
    named = tmp_path / ".aws" / "credentials"
    if way == "link":
        os.symlink(named, tmp_path / "project" / "more.env")
        named = tmp_path / "project" / "more.env"
    entries = {"bad": named, "good": tmp_path / "project" / ".env"}
    text = json.dumps({"mcpServers": {name: {"command": "x", "envFile": str(path)} for name, path in entries.items()}})
    bad, good = importing.taken(importing.read(text), {}, {})
    assert bad.body is not None
    assert bad.body.env == {}
    assert "are missing: it holds" in " ".join(bad.notes)
    assert good.body is not None
    assert good.body.env == {"PORT": "80"}
