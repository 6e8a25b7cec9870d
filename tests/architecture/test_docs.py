"""What the documents say is what is there."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest
import typer

from pilothouse.permissions.policy_file import parse_policy
from pilothouse.store import upgrade
from pilothouse.tools.consolidated import Consolidated
from pilothouse.types.authority import Mode
from pilothouse.types.ports import ToolRequest
from pilothouse.types.tool_names import TOOLS, BuiltInTool
from pilothouse.wiring import open_host
from scripts import command_docs, schema_text, table_docs
from tests.support.source import ROOT, everything_of_ours

LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
NAMED = re.compile(r"`([\w.-]+/[\w./-]*)")
# What a recipe calls the files of, and what stands in the data folder under the name of a part.
PLACEHOLDER = re.compile(r"NAME|NOUN|^secrets/(bindings\.json|master\.key)$")
OUR_FOLDERS = {"bench", "docs", "judges", "page", "requirements", "scripts", "src", "tests"} | {
    path.name for path in (ROOT / "src/pilothouse").iterdir() if path.is_dir()
}


def test_every_command_and_option_is_documented_in_its_own_words() -> None:
    if importlib.util.find_spec("pilothouse.cli") is None:
        return
    app = importlib.import_module("pilothouse.cli.app").app
    assert isinstance(app, typer.Typer)
    assert command_docs.TARGET.read_text(encoding="utf-8") == command_docs.render(app), "run scripts/help"


@pytest.mark.parametrize("name", table_docs.TABLES)
def test_the_tables_of_the_guide_say_what_the_code_has(name: str) -> None:
    assert (table_docs.GUIDE / name).read_text(encoding="utf-8") == table_docs.renewed(name), "run scripts/tables"


def test_what_an_empty_database_file_is_given_is_what_the_tables_say() -> None:
    assert upgrade.SQLITE_SCHEMA.read_text(encoding="utf-8") == schema_text.text(), "run scripts/schema"


def test_no_document_links_to_a_file_that_is_not_there() -> None:
    broken = [
        f"{path.relative_to(ROOT)}: {target}"
        for path in everything_of_ours()
        if path.suffix == ".md" and "src" not in path.relative_to(ROOT).parts
        for target in LINK.findall(path.read_text(encoding="utf-8"))
        if not (path.parent / target).exists()
    ]
    assert not broken, "\n".join(broken)


def test_no_document_names_a_file_of_ours_that_is_not_there() -> None:
    """A part of the package may be named without its way there, and a module without its ending."""
    bases = ("", "src/pilothouse/", "page/", "tests/")
    gone = [
        f"{path.relative_to(ROOT)}: {named}"
        for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"))
        for named in NAMED.findall(path.read_text(encoding="utf-8"))
        if named.partition("/")[0] in OUR_FOLDERS and not PLACEHOLDER.search(named)
        if not any((ROOT / f"{base}{named}{ending}").exists() for base in bases for ending in ("", ".py"))
    ]
    assert not gone, "\n".join(gone)


def test_the_readme_shows_the_two_commands_first() -> None:
    first_block = (ROOT / "README.md").read_text(encoding="utf-8").split("```")[1]
    assert "scripts/serve" in first_block
    assert "scripts/test" in first_block


def test_every_script_says_what_it_does_and_can_be_run() -> None:
    for path in (ROOT / "scripts").iterdir():
        if path.is_file() and path.suffix == "":
            lines = path.read_text(encoding="utf-8").splitlines()
            assert lines[0].startswith("#!"), path
            assert lines[1].startswith("# "), path
            assert path.stat().st_mode & 0o111, f"{path} is not executable"


def test_every_script_sets_up_what_it_runs_on_first() -> None:
    for path in (ROOT / "scripts").iterdir():
        if path.is_file() and path.suffix == "" and path.name != "setup":
            setting_up, _, running = path.read_text(encoding="utf-8").partition(".venv/bin/python")
            assert not running or "scripts/setup" in setting_up, path


def test_what_tries_the_tests_has_what_the_tests_have() -> None:
    texts = [(ROOT / "scripts" / name).read_text(encoding="utf-8") for name in ("test", "mutants")]
    tests, mutants = (re.findall(r'scripts/setup"? (.+)', text) for text in texts)
    assert mutants == tests != []


def is_extra(tool: BuiltInTool) -> bool:
    """Return whether a tool is not offered to everyone."""
    return tool.for_finding or tool.needs_service


async def test_every_built_in_tool_and_operation_is_in_the_guide(home: Path, tmp_path: Path) -> None:
    guide = (ROOT / "docs/guide/tools.md").read_text(encoding="utf-8")
    async with open_host(home) as host:
        request = ToolRequest("c", working_directory=str(tmp_path), context_window=100_000)
        tools = (await host.executor._parts.toolbox.tools(request)).tools
    names = [tool.spec.name for tool in tools]
    for tool in tools:
        if isinstance(tool, Consolidated):
            names += [operation.partition(".")[2] for operation in tool.operation_effects]
    assert names[: len(tools)] == [tool.name for tool in TOOLS if tool.label and not is_extra(tool)]
    names += ["search", *(tool.name for tool in TOOLS if is_extra(tool))]
    assert len(names) == len(tools) + 16 + 11 + 5 + 5 + 4 + 4 + 1 + 1 + 3
    assert [name for name in names if f"`{name}`" not in guide] == []
    rows = set(re.findall(r"^\| `(\w+)` \|", guide, re.MULTILINE))
    assert rows <= set(names), "the guide has what is not there"


def test_every_mode_is_in_the_guide_by_the_name_that_the_page_gives_it() -> None:
    guide = (ROOT / "docs/guide/permissions.md").read_text(encoding="utf-8")
    page = (ROOT / "page/src/policy/modes.ts").read_text(encoding="utf-8")
    shown = dict(re.findall(r'^  (\w+): "([\w-]+)",$', page, re.MULTILINE))
    assert set(shown) == set(get_args(Mode))
    assert [mode for mode in shown if f"{shown[mode]} (`{mode}`)" not in guide] == []


def example_policy() -> bytes:
    guide = (ROOT / "docs/guide/permissions.md").read_text(encoding="utf-8")
    return guide.split("tested from here -->\n```json\n")[1].split("```\n<!-- end of policy example")[0].encode()


def test_the_example_of_a_policy_is_kept_as_it_stands_and_uses_everything_a_rule_has() -> None:
    rules = parse_policy(msgspec.json.decode(example_policy())).rules
    assert {rule.verdict for rule in rules} == {"allow", "ask", "deny"}
    for rule in rules:
        assert rule.match or rule.not_match, f"{rule.id} has no example"
    patterns = [msgspec.to_builtins(rule.pattern) for rule in rules]
    used = {part for pattern in patterns for part, value in pattern.items() if value and value != "*"}
    assert used == {"tool", "paths", "command", "destination", "folder"}
