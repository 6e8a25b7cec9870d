"""Writes docs/checklist.md: every row, its state, and the tests that prove it, read without running them."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
CHECKLIST = DOCS / "checklist.md"
SECTIONS = {"feature": "Features", "attack": "Attacks", "fault": "Faults"}
# The words of rows.toml for the states, and those of the table; a row without such a word is proven.
STATES = {"partly": "partly", "otherwise": "decided otherwise", "open": "open"}
PROVEN = "proven"
TAG = r"tags: *\[[^\]]*?[\"'](?:[a-z]+:)?[A-Z]+-\d"
# How a test of the page names its rows: `test("A sentence", { tags: ["MOD-01"] }, …)`.
TAGGED = re.compile(r'\b(?:test|it)\(\s*"((?:[^"\\]|\\.)+)",\s*\{ tags: \[([^\]]*)\] \}')
# What stands beside the sentence of a row that is in such a state.
BESIDE = {"partly": {"missing"}, "otherwise": {"decision", "instead"}, "open": set[str]()}
INTRO = """# Checklist

Every row the product is held to, in a sentence, with its state and the tests that prove it. Made by `scripts/checklist`
from `rows.toml` and the tests' own marks (`@pytest.mark.case`, tags in `page/tests`); a test fails when this file is
out of date.

- **proven**: the named tests check it. `scripts/test` runs them all, of some with many cases a random share;
  `scripts/test long` runs every case.
- **partly**: some of it is there; what is missing stands beside it.
- **decided otherwise**: something else is better; the decision says why, and what there is instead stands beside it.
- **open**: not there yet.
"""


class ChecklistError(Exception):
    """The rows or the marks contradict each other, and how."""


@dataclass(frozen=True)
class Row:
    """One promise: its sentence, its state, and for some states what is missing or what there is instead."""

    id: str
    # How a test names it: with its section where a feature has the same id.
    key: str
    sentence: str
    state: str = PROVEN
    beside: str = ""
    decision: int = 0


@dataclass(frozen=True)
class Group:
    """Rows that share a prefix."""

    section: str
    prefix: str
    about: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Rows:
    """All rows; a key is what a test writes in its mark."""

    groups: tuple[Group, ...]

    @property
    def all(self) -> dict[str, Row]:
        """Return every row by the name that a test may use."""
        return {row.key: row for group in self.groups for row in group.rows}


def load(docs: Path = DOCS) -> Rows:
    """Read the rows, and check that each has an id, a sentence and a state."""
    data = tomllib.loads((docs / "rows.toml").read_text(encoding="utf-8"))
    return Rows(tuple(_group(data, section, prefix) for section in SECTIONS for prefix in data[section]))


def _group(data: Mapping[str, Any], section: str, prefix: str) -> Group:
    given = dict(data[section][prefix])
    about = given.pop("about")
    expected = [f"{prefix}-{number:02}" for number in range(1, len(given) + 1)]
    if list(given) != expected:
        raise ChecklistError(f"rows.toml: the rows of {prefix} are not {expected[0]} to {expected[-1]} in their order")
    within = f"{section}:" if section != "feature" and prefix in data["feature"] else ""
    return Group(section, prefix, about, tuple(_row(name, f"{within}{name}", said) for name, said in given.items()))


def _row(name: str, key: str, said: str | dict[str, Any]) -> Row:
    """Return a row from its line: a sentence, or a table whose state holds the sentence."""
    table: dict[str, Any] = {PROVEN: said} if isinstance(said, str) else said
    [state, *others] = [word for word in table if word in STATES or word == PROVEN] or [""]
    if others or table.keys() - {state} != BESIDE.get(state, set()) or not str(table.get(state, "")).strip():
        forms = ", ".join(" and ".join([word, *sorted(beside)]) for word, beside in BESIDE.items())
        raise ChecklistError(f"rows.toml: {key} is neither a sentence nor a table with one of: {forms}")
    beside = str(table.get("missing") or table.get("instead") or "")
    if BESIDE.get(state) and not beside.strip():
        raise ChecklistError(f"rows.toml: {key} does not say what is missing or what there is instead")
    return Row(name, key, table[state], STATES.get(state, state), beside, table.get("decision", 0))


def decisions(docs: Path = DOCS) -> dict[int, str]:
    """Return the files of the decisions by their numbers."""
    return {int(path.name[:4]): path.name for path in sorted((docs / "decisions").glob("[0-9]*.md"))}


def problems(rows: Rows, tests: Mapping[str, list[str]], decided: Mapping[int, str]) -> list[str]:
    """Return what is not true of the rows, a sentence for each."""
    known = rows.all
    said = [f"{key} is not in rows.toml, and {tests[key][0]} names it" for key in sorted(tests.keys() - known.keys())]
    for key, row in known.items():
        if row.state == PROVEN and key not in tests:
            said.append(f"{key} has no test: mark one, or say in rows.toml that it is open or what is missing")
        elif row.state == STATES["open"] and key in tests:
            said.append(f"{key} is open in rows.toml, and {tests[key][0]} proves it")
        elif row.state == STATES["otherwise"] and row.decision not in decided:
            said.append(f"{key} names decision {row.decision}, which does not exist")
        if not re.fullmatch(r"\S.*[.!?]", row.sentence) or "|" in row.sentence + row.beside:
            said.append(f"{key} needs a sentence that ends with a full stop and has no bar in it")
    return said


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


def tagged_tests(text: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield (row, test) for the tests of the page in a file's text."""
    found = list(TAGGED.finditer(text))
    if len(found) != len(re.findall(TAG, text)):
        raise ChecklistError(f'{name}: a row is named by `test("A sentence", {{ tags: ["MOD-01"] }}, …)`')
    for test in found:
        if wrong := re.search(r"[\\|`%$\[]", test[1]):
            raise ChecklistError(f"{name}: the name of a test that proves a row has no {wrong[0]} in it: {test[1]}")
        yield from ((row, f"{name}::{test[1]}") for row in re.findall(r'"([^"]+)"', test[2]))


def proofs(tests: Path = ROOT / "tests") -> dict[str, list[str]]:
    """Return the tests that name each row, read without running them; the page's own are in `page/tests`."""
    found: dict[str, list[str]] = {}
    for path in sorted([*tests.rglob("test_*.py"), *(tests.parent / "page" / "tests").rglob("*.test.ts*")]):
        name, text = path.relative_to(tests.parent).as_posix(), path.read_text(encoding="utf-8")
        for row, test in _tests_of_python(text, name) if path.suffix == ".py" else tagged_tests(text, name):
            listed = found.setdefault(row, [])
            if test not in listed:
                listed.append(test)
    return found


def _tests_of_python(text: str, name: str) -> Iterator[tuple[str, str]]:
    if ".case(" not in text:
        return
    tree = ast.parse(text, name)
    whole = [row for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign) for row in marks(node, name)]
    yield from [*((row, name) for row in whole), *marked_tests(tree.body, name)]


def beside(row: Row, tests: list[str], decided: Mapping[int, str]) -> str:
    """Return what stands in a row's last column."""
    words = {
        STATES["partly"]: f"**Missing:** {row.beside}",
        STATES["otherwise"]: f"[Decision {row.decision}](decisions/{decided.get(row.decision, '')}): {row.beside}",
    }
    return "<br>".join([*filter(None, [words.get(row.state)]), *(f"`{test}`" for test in tests)])


def render(rows: Rows, tests: Mapping[str, list[str]], decided: Mapping[int, str]) -> str:
    """Return the whole document."""
    wrong = problems(rows, tests, decided)
    if wrong:
        raise ChecklistError("; ".join(wrong))
    parts = [INTRO]
    for section, title in SECTIONS.items():
        groups = [group for group in rows.groups if group.section == section]
        parts.append(f"\n## {title}\n\n{counted([row for group in groups for row in group.rows])}\n")
        for group in groups:
            parts.append(f"\n### {group.prefix}: {group.about}\n\n| ID | state | what you get | tests |\n")
            parts.append("| --- | --- | --- | --- |\n")
            parts += [
                f"| {row.id} | {row.state} | {row.sentence} | {beside(row, tests.get(row.key, []), decided)} |\n"
                for row in group.rows
            ]
    return "".join(parts)


def counted(rows: Iterable[Row]) -> str:
    """Return how many rows are in which state, in words."""
    states = [row.state for row in rows]
    others = ", ".join(f"{states.count(state)} {state}" for state in STATES.values() if state in states)
    return f"{states.count(PROVEN)} of {len(states)} rows proven" + (f", {others}." if others else ".")


def main() -> int:
    """Write the document and say what it holds."""
    try:
        rows = load()
        CHECKLIST.write_text(render(rows, proofs(), decisions()), encoding="utf-8")
    except ChecklistError as error:
        print(f"checklist: {error}", file=sys.stderr)
        return 1
    print(f"docs/checklist.md: {counted(rows.all.values())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
