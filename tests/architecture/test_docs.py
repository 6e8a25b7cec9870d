"""What the documents say is what is there."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path
from typing import get_args

import msgspec
import typer

from pilothouse.authz.policy_file import parse_policy
from pilothouse.tools.consolidated import Consolidated
from pilothouse.types.authority import Mode
from pilothouse.types.ports import ToolRequest
from pilothouse.wiring import open_host
from scripts import command_docs
from tests.support.source import ROOT, everything_of_ours

LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


def test_every_command_and_option_is_documented_in_its_own_words() -> None:
    if importlib.util.find_spec("pilothouse.cli") is None:
        return
    app = importlib.import_module("pilothouse.cli.main").app
    assert isinstance(app, typer.Typer)
    assert command_docs.TARGET.read_text(encoding="utf-8") == command_docs.render(app), "run scripts/help"


def test_no_document_links_to_a_file_that_is_not_there() -> None:
    broken = [
        f"{path.relative_to(ROOT)}: {target}"
        for path in everything_of_ours()
        if path.suffix == ".md" and "src" not in path.relative_to(ROOT).parts
        for target in LINK.findall(path.read_text(encoding="utf-8"))
        if not (path.parent / target).exists()
    ]
    assert not broken, "\n".join(broken)


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


async def test_every_built_in_tool_and_operation_is_in_the_guide(home: Path, tmp_path: Path) -> None:
    guide = (ROOT / "docs/guide/tools.md").read_text(encoding="utf-8")
    async with open_host(home) as host:
        request = ToolRequest("c", working_directory=str(tmp_path), context_window=100_000)
        tools = (await host.executor._parts.toolbox.tools(request)).tools
    names = [tool.spec.name for tool in tools]
    for tool in tools:
        if isinstance(tool, Consolidated):
            names += [operation.partition(".")[2] for operation in tool.operation_effects]
    assert len(names) == 7 + 16 + 11 + 5 + 4
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
