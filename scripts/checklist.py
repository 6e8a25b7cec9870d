"""Writes docs/checklist.md: every row, and the tests that prove it, read from the tests without running them."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
CHECKLIST = DOCS / "checklist.md"
SECTIONS = {"feature": "Features", "attack": "Attacks", "fault": "Faults"}
INTRO = """# Checklist

Every row the product is held to, and the tests that prove it. Made by `scripts/checklist` from `rows.toml`,
`deferred.toml` and the tests' own `@pytest.mark.case` marks; a test fails when this file is out of date.

- **proven**: the tests named check it, and `scripts/test` runs them all.
- **deferred**: promised for this release and not there; the reason stands beside it.
- **missing**: promised for this release, with neither a test nor a reason. There must be none.
- **open**: belongs to a later release.
"""


class ChecklistError(Exception):
    """The rows or the marks contradict each other, and how."""


@dataclass(frozen=True)
class Group:
    """Rows that share a prefix."""

    section: str
    prefix: str
    count: int
    about: str

    @property
    def rows(self) -> list[str]:
        """Return the ids as the tables show them."""
        return [f"{self.prefix}-{number:02}" for number in range(1, self.count + 1)]


@dataclass(frozen=True)
class Rows:
    """All rows; a key is what a test writes in its mark."""

    groups: tuple[Group, ...]
    release: frozenset[str]
    deferred: Mapping[str, str]

    def key(self, group: Group, row: str) -> str:
        """Return how a test names the row: with its section where a feature has the same id."""
        shared = any(other.prefix == group.prefix for other in self.groups if other.section == "feature")
        return f"{group.section}:{row}" if shared and group.section != "feature" else row

    @property
    def keys(self) -> frozenset[str]:
        """Return every name that a test may use."""
        return frozenset(self.key(group, row) for group in self.groups for row in group.rows)


def expand(span: str) -> Iterator[str]:
    """Yield the ids of `MOD-01..MOD-27`, or of a single id."""
    first, _, last = span.partition("..")
    prefix, _, start = first.rpartition("-")
    end = last.rpartition("-")[2] or start
    for number in range(int(start), int(end) + 1):
        yield f"{prefix}-{number:02}"


def load(docs: Path = DOCS) -> Rows:
    """Read the rows and the deferred ones, and check that they fit together."""
    data = tomllib.loads((docs / "rows.toml").read_text(encoding="utf-8"))
    deferred = tomllib.loads((docs / "deferred.toml").read_text(encoding="utf-8"))
    groups = tuple(
        Group(section, prefix, count, about) for section in SECTIONS for prefix, (count, about) in data[section].items()
    )
    rows = Rows(groups, frozenset(row for span in data["release"] for row in expand(span)), deferred)
    unknown = sorted((rows.release | deferred.keys()) - rows.keys)
    if unknown:
        raise ChecklistError(f"rows.toml or deferred.toml names rows that do not exist: {', '.join(unknown)}")
    return rows


def is_case(node: ast.AST) -> bool:
    """Return whether a node is a call of `pytest.mark.case`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="case", value=ast.Attribute(attr="mark"))):
            return True
    return False


def marks(node: ast.AST, where: str) -> Iterator[str]:
    """Yield the ids of every case mark under a node."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and is_case(inner):
            for argument in inner.args:
                if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                    raise ChecklistError(f"{where}: a case mark takes row ids as plain strings")
                yield argument.value


def marked_tests(body: Iterable[ast.stmt], name: str, inherited: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield (row, test) for the tests in a module's or class's body."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            own = tuple(row for decorator in node.decorator_list for row in marks(decorator, name))
            yield from marked_tests(node.body, f"{name}::{node.name}", inherited + own)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            own = tuple(row for decorator in node.decorator_list for row in marks(decorator, name))
            yield from ((row, f"{name}::{node.name}") for row in inherited + own)


def proofs(tests: Path = ROOT / "tests") -> dict[str, list[str]]:
    """Return the tests that name each row, read from the syntax tree."""
    found: dict[str, list[str]] = {}
    for path in sorted(tests.rglob("test_*.py")):
        name = path.relative_to(tests.parent).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"), name)
        whole = [row for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign) for row in marks(node, name)]
        for row, test in [*((row, name) for row in whole), *marked_tests(tree.body, name)]:
            listed = found.setdefault(row, [])
            if test not in listed:
                listed.append(test)
    return found


def state(rows: Rows, key: str, tests: list[str]) -> tuple[str, str]:
    """Return a row's state and what stands beside it."""
    if tests:
        return "proven", "<br>".join(f"`{test}`" for test in tests)
    if key in rows.deferred:
        return "deferred", rows.deferred[key]
    return ("missing" if key in rows.release else "open"), ""


def missing(rows: Rows, proven: Mapping[str, list[str]]) -> list[str]:
    """Return the rows of this release with neither a test nor a reason."""
    return sorted(rows.release - proven.keys() - rows.deferred.keys())


def render(rows: Rows, proven: Mapping[str, list[str]]) -> str:
    """Return the whole document."""
    unknown = sorted(proven.keys() - rows.keys)
    if unknown:
        places = "; ".join(f"{row} in {proven[row][0]}" for row in unknown)
        raise ChecklistError(f"tests name rows that do not exist: {places}")
    parts = [INTRO]
    for section, title in SECTIONS.items():
        groups = [group for group in rows.groups if group.section == section]
        keys = [rows.key(group, row) for group in groups for row in group.rows]
        parts.append(f"\n## {title}\n\n{sum(key in proven for key in keys)} of {len(keys)} rows proven.\n")
        for group in groups:
            parts.append(f"\n### {group.prefix}: {group.about}\n\n| ID | state | test |\n| --- | --- | --- |\n")
            for row in group.rows:
                key = rows.key(group, row)
                parts.append("| {} | {} | {} |\n".format(row, *state(rows, key, proven.get(key, []))))
    return "".join(parts)


def main() -> int:
    """Write the document and say what it holds."""
    try:
        rows, proven = load(), proofs()
        CHECKLIST.write_text(render(rows, proven), encoding="utf-8")
    except ChecklistError as error:
        print(f"checklist: {error}", file=sys.stderr)
        return 1
    without = missing(rows, proven)
    print(f"docs/checklist.md: {len(proven)} of {len(rows.keys)} rows proven, {len(without)} of this release missing")
    if without:
        print("missing: " + " ".join(without))
    return 0


if __name__ == "__main__":
    sys.exit(main())
