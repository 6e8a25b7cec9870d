"""The small changes that tests must notice, kept in tests/mutants, a file for each of the rows' letters.

Those of `page.toml` are of no row: a file of component tests, `page/tests/components/todos.test.tsx`, must notice
`page:todos`, `page:todos-2` and so on, so that every such file is known to notice something.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from scripts import checklist

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "mutants"
# What a change begins with that is of no row, and the tests that must notice it.
PAGE = "page:"
COMPONENTS = "page/tests/components"
HEADER = (
    "# What the tests of these rows must notice; scripts/mutants reads it, and CONTRIBUTING.md says how to add one.\n"
)


@dataclass(frozen=True)
class Mutant:
    """One small change of one file, and the test that must fail with it: of its row, or of the page's own."""

    # The row, or `page:` with the name of the component tests.
    row: str
    file: str
    # A text that stands in the file exactly once.
    before: str
    after: str
    test: str
    # With the change, the test takes long to fail: too long for the sample.
    slow: bool = False

    @property
    def component(self) -> bool:
        """Return whether its test is one of the page's own, which needs neither a built page nor a browser."""
        return self.test.startswith("page/")

    @property
    def judge(self) -> str:
        """Return the file of component tests that it is for; nothing where it is for a row."""
        name = self.row.removeprefix(PAGE)
        return "" if name == self.row else f"{COMPONENTS}/{re.sub(r'-[0-9]+$', '', name)}.test.tsx"

    @property
    def page(self) -> bool:
        """Return whether the page must be built with the change."""
        return self.file.startswith("page/") and not self.component

    @property
    def browser(self) -> bool:
        """Return whether it is about the page, or its test uses it."""
        return self.page or self.test.startswith("tests/browser/")

    @property
    def quick(self) -> bool:
        """Return whether it may be in the sample: it needs neither a browser nor patience."""
        return not (self.slow or self.browser)

    def applied(self, text: str) -> str:
        """Return the file's text with the change."""
        return text.replace(self.before, self.after)


def load(folder: Path = FOLDER) -> dict[str, Mutant]:
    """Read every change, by its row."""
    found: dict[str, Mutant] = {}
    for path in sorted(folder.glob("*.toml")):
        given = tomllib.loads(path.read_text(encoding="utf-8"))
        found |= {row: Mutant(row, **fields) for row, fields in given.items()}
    return found


def proven(rows: checklist.Rows) -> list[str]:
    """Return the rows that a test proves."""
    return [key for key, row in rows.all.items() if row.state == checklist.PROVEN]


def keep(mutant: Mutant, folder: Path = FOLDER) -> None:
    """Write a change beside the others of its letters."""
    path = folder / f"{_letters(mutant.row)}.toml"
    others = {row: each for row, each in load(folder).items() if _letters(row) == _letters(mutant.row)}
    listed = sorted((others | {mutant.row: mutant}).values(), key=lambda each: each.row)
    path.write_text(HEADER + "".join(map(_table, listed)), encoding="utf-8")


def _letters(row: str) -> str:
    return PAGE[:-1] if row.startswith(PAGE) else row.rpartition(":")[2].rpartition("-")[0]


def _table(mutant: Mutant) -> str:
    given = {name: value for name, value in asdict(mutant).items() if name != "row" and value is not False}
    name = mutant.row if ":" not in mutant.row else json.dumps(mutant.row)
    return f"\n[{name}]\n" + "".join(f"{key} = {_value(value)}\n" for key, value in given.items())


def _value(value: str | bool) -> str:
    """Return a value as TOML, text as it stands in the file wherever that can be read."""
    if isinstance(value, bool):
        return json.dumps(value)
    if "\n" in value and "'''" not in value and not value.endswith("'"):
        return f"'''\n{value}'''"
    if "\n" not in value and "'" not in value and ("\\" in value or '"' in value):
        return f"'{value}'"
    return json.dumps(value, ensure_ascii=False)


def problems(
    mutants: Mapping[str, Mutant], rows: checklist.Rows, tests: Mapping[str, list[str]], root: Path = ROOT
) -> list[str]:
    """Return what is not true of the changes that are kept, a sentence for each."""
    wanted = proven(rows)
    judges = {mutant.test.partition("::")[0] for mutant in mutants.values()}
    said = [
        f"{row} has no small change that its test must notice: scripts/mutants find {row}"
        for row in wanted
        if row not in mutants
    ]
    of_rows = {row for row, mutant in mutants.items() if not mutant.judge}
    said += [f"{row} is not proven: take it out of tests/mutants" for row in of_rows - set(wanted)]
    said += [
        f"{COMPONENTS}/{path.name} has no small change that it must notice: add one to tests/mutants/page.toml"
        for path in sorted((root / COMPONENTS).glob("*.test.tsx"))
        if f"{COMPONENTS}/{path.name}" not in judges
    ]
    for row, mutant in mutants.items():
        said += [f"{row}: {wrong}" for wrong in faults(mutant, tests.get(row, []), root)]
    return sorted(said)


def faults(mutant: Mutant, tests: Iterable[str], root: Path = ROOT) -> list[str]:
    """Return why a change cannot be tried any more."""
    path = root / mutant.file
    times = path.read_text(encoding="utf-8").count(mutant.before) if path.is_file() else 0
    again = f"scripts/mutants moved, or scripts/mutants find {mutant.row} for another"
    said = []
    if times != 1:
        said.append(f"the text to change stands {times} times in {mutant.file}: {again}")
    if mutant.before == mutant.after:
        said.append("the change changes nothing")
    if mutant.component and not mutant.file.startswith("page/"):
        said.append(f"{mutant.test} is about the page alone, and the change is not in it")
    own = mutant.test.partition("[")[0]
    if mutant.judge:
        said += _no_judge(mutant, root)
    elif not any(own == test or own.startswith(f"{test}::") for test in tests):
        said.append(f"{mutant.test} does not name the row: {again}")
    return said


def _no_judge(mutant: Mutant, root: Path) -> list[str]:
    """Return why the test of a change that is of no row cannot be asked."""
    file, _, name = mutant.test.partition("::")
    if file != mutant.judge:
        return [f"its test is not in {mutant.judge}"]
    text = (root / file).read_text(encoding="utf-8") if (root / file).is_file() else ""
    return [] if f"test({json.dumps(name, ensure_ascii=False)}, " in text else [f"{mutant.test} is not there"]


def moved(mutant: Mutant, tests: Iterable[str], root: Path = ROOT) -> Mutant:
    """Return a change whose text, or whose test, stands in one other file now with that file in it."""
    if not (root / mutant.file).is_file() or mutant.before not in (root / mutant.file).read_text(encoding="utf-8"):
        folder, ending = root / Path(mutant.file).parts[0], Path(mutant.file).suffix
        files = (path for path in folder.rglob(f"*{ending}") if "node_modules" not in path.parts)
        found = [path for path in files if path.read_text(encoding="utf-8").count(mutant.before) == 1]
        if len(found) == 1:
            mutant = replace(mutant, file=found[0].relative_to(root).as_posix())
    name = mutant.test.partition("::")[2]
    there = [test for test in tests if test.partition("::")[2] == name.partition("[")[0]]
    if mutant.test.partition("[")[0] not in there and len(there) == 1:
        mutant = replace(mutant, test=f"{there[0].partition('::')[0]}::{name}")
    return mutant
