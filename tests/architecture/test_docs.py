"""What the documents say is what is there."""

from __future__ import annotations

import importlib
import importlib.util
import re

import typer

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
