"""Ignore files: what is asked once for a whole folder is what each of its names would be told."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from pilothouse.tools.search.ignoring import Rules

LINES = [
    "*.pyc", "__pycache__/", "build/", "/dist", "node_modules", "*.log", "!keep.log", "docs/**/out", "a?c", "[ab]*.txt",
    "**/deep/x", "!b.txt", "\\#odd", "sp ace", "ä*", "/only/here", "*/two", "x/**", "$end", "(par)", "a|b", "", "# no",
]  # fmt: skip
NAMES = [
    "a.pyc", "__pycache__", "build", "dist", "node_modules", "x.log", "keep.log", "out", "abc", "a.txt", "b.txt", "x",
    "#odd", "sp ace", "äb", "here", "two", "$end", "(par)", "a|b", "a", "b", "plain.py", os.fsdecode(b"\xff\xfe.log"),
]  # fmt: skip


def rules_of(folder: Path, lines: list[str], prefix: str) -> Rules:
    (folder / ".gitignore").write_text("\n".join(lines))
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        return Rules().below(descriptor, prefix, {".gitignore"})
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("prefix", ["", "docs/", "docs/deep/", "only/", "x/y/"])
@pytest.mark.parametrize("end", ["", "/"])
def test_what_a_folder_is_left_with_is_what_each_name_is_told(tmp_path: Path, prefix: str, end: str) -> None:
    chance = random.Random(5)
    for _ in range(60):
        rules = rules_of(tmp_path, chance.sample(LINES, chance.randint(0, 5)), "")
        names = chance.sample(NAMES, chance.randint(0, 8))
        assert rules.left(prefix, names, end) == [name for name in names if not rules.ignores(f"{prefix}{name}{end}")]


def test_a_name_with_a_line_break_is_asked_about_by_itself(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, ["*.log", "b"], "")
    assert rules.left("", ["a\nb", "b", "x\n.log", "c"]) == ["a\nb", "c"]


def test_the_names_of_a_folder_are_asked_about_one_by_one_only_where_a_rule_speaks_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = rules_of(tmp_path, ["*.log", "build/"], "")
    asked: list[str] = []
    ignores = Rules.ignores

    def counted(self: Rules, path: str) -> bool:
        asked.append(path)
        return ignores(self, path)

    monkeypatch.setattr(Rules, "ignores", counted)
    assert len(rules.left("src/", [f"{number}.py" for number in range(500)])) == 500
    assert asked == []
    assert rules.left("src/", ["a.py", "b.log"]) == ["a.py"]
    assert asked == ["src/a.py", "src/b.log"]
