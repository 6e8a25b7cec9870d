"""The tool that changes the code in small ways tells a test that notices from one that does not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from scripts import checklist, mutants, page_build
from scripts.mutation import data, tree
from scripts.mutation.changes import Source
from scripts.mutation.data import Mutant
from tests.harness.planting import copy_with

pytestmark = pytest.mark.slow
FILE, TEST = "src/pilothouse/planted.py", "tests/test_planted.py::test_three_are_too_many"
PRODUCT = """\
MOST = 3


def allowed(count: int) -> bool:
    # Fewer than three.
    return count < MOST
"""
ITS_TEST = """\
from pilothouse.planted import allowed


def test_three_are_too_many():
    assert allowed(2)
    assert not allowed(3)
"""


@pytest.fixture(scope="module")
def copy() -> Iterator[tree.Copy]:
    """A copy of the repository, with a small product and its test in it."""
    with copy_with({FILE: PRODUCT, TEST.partition("::")[0]: ITS_TEST}) as made:
        yield made


def mutant(before: str, after: str, test: str = TEST) -> Mutant:
    return Mutant("MOD-01", FILE, before, after, test)


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (mutant("count < MOST", "count <= MOST"), ""),
        (mutant("Fewer than", "Less than"), "its test passes all the same"),
        (mutant("def allowed", "def (allowed"), "its test broke instead of noticing (collect: SyntaxError)"),
        (mutant("def allowed", "def forbidden"), "its test broke instead of noticing (collect: ImportError)"),
        (mutant("< MOST", "< LEAST"), "its test broke instead of noticing (call: NameError)"),
        (mutant("< MOST", "<= MOST", "tests/test_planted.py::test_nobody_wrote"), "its test was not found"),
    ],
)
def test_a_change_counts_as_noticed_only_if_the_test_itself_fails(
    copy: tree.Copy, change: Mutant, verdict: str
) -> None:
    assert tree.tried(copy, change).verdict.removesuffix(": the change is a bad one") == verdict
    assert (copy.folder / FILE).read_text() == PRODUCT


# In place of all of the page's source, which takes long to build.
PAGE, PAGES_SOURCE = "page/src/main.tsx", 'document.title = "servers in the settings file cannot be read";\n'
PAGE_TEST = "tests/test_planted_page.py::test_the_words_are_in_the_page"
PAGES_TEST = """\
from pathlib import Path

import pilothouse.web


def test_the_words_are_in_the_page():
    built = Path(pilothouse.web.__file__).parent / "page"
    assert any("servers in the settings file cannot be read" in path.read_text() for path in built.rglob("*.js"))
"""


def _page(root: Path) -> dict[str, bytes]:
    built = root / tree.BUILT
    return {str(path.relative_to(built)): path.read_bytes() for path in built.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("after", "verdict"),
    [
        ("servers in the settings file are odd", ""),
        ('" +', "its test broke instead of noticing (build: NotBuilt)"),
    ],
)
def test_the_page_is_built_with_a_change_of_its_source_and_is_as_it_was_afterwards(
    copy: tree.Copy, after: str, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed: list[bool] = []
    monkeypatch.setattr(page_build, "install", lambda: installed.append(True))
    (copy.folder / PAGE).write_text(PAGES_SOURCE)
    (copy.folder / PAGE_TEST.partition("::")[0]).write_text(PAGES_TEST)
    before, ours = _page(copy.folder), _page(data.ROOT)
    change = Mutant("MOD-01", PAGE, "servers in the settings file cannot be read", after, PAGE_TEST)
    assert tree.tried(copy, change).verdict.removesuffix(": the change is a bad one") == verdict
    assert _page(copy.folder) == before
    assert _page(data.ROOT) == ours
    # The packages that the copy uses are ours: they are brought up to date before npm could do that in the copy.
    assert installed == [True]


def test_a_test_that_hangs_with_a_change_did_not_notice_it(copy: tree.Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "PATIENCE", 2.0)
    ended = tree.tried(copy, mutant("return count", "while True: pass\n    return count"))
    assert ended.verdict == "its test did not end within 2 seconds"


def test_what_was_not_noticed_is_told_by_row_and_the_end_is_bad(
    copy: tree.Copy, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def copied() -> Iterator[tree.Copy]:
        yield copy

    monkeypatch.setattr(tree, "copied", copied)
    # There is one copy here.
    monkeypatch.setattr(mutants, "AT_ONCE", 1)
    monkeypatch.setattr(data, "faults", lambda *_: [])
    assert mutants.check([mutant("count < MOST", "count <= MOST")]) == 0
    assert capsys.readouterr().out == "1 of 1 changes were tried; 1 of these were noticed.\n"
    assert mutants.check([mutant("Fewer", "Less"), mutant("count <", "count >=")]) == 1
    told, counted = capsys.readouterr().out.splitlines()
    assert told == f"MOD-01: its test passes all the same. {FILE}, test {TEST}."
    assert counted == "2 of 2 changes were tried; 1 of these were noticed."


def test_a_seed_chooses_the_same_rows_again_and_none_that_needs_a_browser(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = {f"MOD-{number:02}": Mutant(f"MOD-{number:02}", FILE, "a", "b", TEST) for number in range(20)}
    kept["UI-01"] = Mutant("UI-01", FILE, "a", "b", "tests/browser/test_chat.py::test_x")
    kept["UI-02"] = Mutant("UI-02", "page/src/app.tsx", "a", "b", TEST)
    kept["UI-03"] = Mutant("UI-03", FILE, "a", "b", TEST, slow=True)
    chosen: list[list[str]] = []

    def check(listed: list[Mutant], seconds: float, least: int) -> int:
        chosen.append([each.row for each in listed])
        return 0

    monkeypatch.setattr(mutants, "check", check)
    for seed in (8, 8, 9):
        assert mutants.sample(kept, 5, seed) == 0
    first, again, other = chosen
    assert first == again != other
    mutants.sample(kept, 30, 8)
    assert sorted(chosen[-1]) == sorted(kept.keys() - {"UI-01", "UI-02", "UI-03"})
    assert "`scripts/mutants --sample 5 --seed 8` tries the same again" in capsys.readouterr().out


def test_some_of_every_sample_are_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {f"MOD-{number:02}": Mutant(f"MOD-{number:02}", FILE, "a", "b", TEST) for number in range(50)}
    judge = "page/tests/components/todos.test.tsx::a sentence"
    kept |= {f"page:todos-{number}": Mutant(f"page:todos-{number}", PAGE, "a", "b", judge) for number in range(3)}
    chosen: list[Mutant] = []

    def check(listed: list[Mutant], seconds: float, least: int) -> int:
        chosen[:] = listed
        return 0

    monkeypatch.setattr(mutants, "check", check)
    for seed in range(10):
        assert mutants.sample(kept, 5, seed) == 0
        assert len({each.row for each in chosen}) == 5
        assert sum(each.component for each in chosen) >= mutants.OF_THE_PAGE


@pytest.mark.parametrize(("seconds", "tried", "code"), [(9.5, 9, 1), (10.5, 10, 0)])
def test_a_sample_of_which_too_few_were_tried_fails_and_says_how_many(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], seconds: float, tried: int, code: int
) -> None:
    moments = count()
    monkeypatch.setattr(mutants, "time", SimpleNamespace(monotonic=lambda: float(next(moments))))
    monkeypatch.setattr(mutants, "SAMPLE_SECONDS", seconds)
    monkeypatch.setattr(mutants, "AT_ONCE", 1)
    monkeypatch.setattr(mutants, "problem", lambda *_, **__: "")
    monkeypatch.setattr(tree, "copied", nullcontext)
    kept = {f"MOD-{number:02}": Mutant(f"MOD-{number:02}", FILE, "a", "b", TEST) for number in range(30)}
    assert mutants.sample(kept, 20, 8) == code
    _, counted, *more = capsys.readouterr().out.splitlines()
    assert counted == f"{tried} of 20 changes were tried; {tried} of these were noticed."
    assert more == ["At least 10 must be tried: run it again when this machine has less to do."][:code]


def test_a_seed_that_is_no_whole_number_is_told_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds: list[int] = []

    def sample(kept: dict[str, Mutant], size: int, seed: int) -> int:
        seeds.append(seed)
        return 0

    monkeypatch.setattr(mutants, "sample", sample)
    assert mutants.main(["--seed", "abc"]) == 1
    assert capsys.readouterr().out == "The seed is a whole number; 'abc' is none.\n"
    assert [mutants.main(["--seed", given]) for given in ("8", "-8")] == [0, 0]
    assert seeds == [8, -8]


@pytest.mark.parametrize(
    "text", ["plain", "with \"both\" of 'them'", "C:\\folder", "two\n    lines\n", "ä\n'''\n", "it's"]
)
def test_a_change_is_kept_as_it_was(tmp_path: Path, text: str) -> None:
    first = Mutant("MOD-01", FILE, text, text + "x", TEST)
    attack = Mutant("attack:REG-01", FILE, text, text + "x", TEST, slow=True)
    data.keep(first, tmp_path)
    data.keep(attack, tmp_path)
    assert data.load(tmp_path) == {"MOD-01": first, "attack:REG-01": attack}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["MOD.toml", "REG.toml"]


def test_only_lines_that_ran_are_changed_and_each_text_stands_in_the_file_once() -> None:
    text = PRODUCT + (
        "\n\ndef told(count: int) -> str:\n"
        '    """Say it."""\n'
        "    if count < MOST:\n"
        "        return count < MOST\n"
        "    raise ValueError(f'there are {count} people')\n"
    )
    assert not list(Source(text).changes({9, 10}))
    made = {(change.kind, change.before, change.after) for change in Source(text).changes({6, 11, 13})}
    assert ("number", "MOST = 3", "MOST = 4") in made
    assert (
        "compare",
        "# Fewer than three.\n    return count < MOST",
        "# Fewer than three.\n    return count >= MOST",
    ) in made
    assert ("negate", "if count < MOST:", "if not (count < MOST):") in made
    assert ("unraised", "raise ValueError(f'there are {count} people')", "pass") in made
    assert (
        "words",
        "raise ValueError(f'there are {count} people')",
        "raise ValueError(f'something are {count} people')",
    ) in made
    assert all(text.count(before) == 1 for _, before, _ in made)


def test_a_change_that_can_no_longer_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\ntwo\ntwo\n")

    def told(before: str, after: str, test: str = TEST) -> list[str]:
        return data.faults(Mutant("MOD-01", "a.py", before, after, test), [TEST], tmp_path)

    again = "scripts/mutants moved, or scripts/mutants find MOD-01 for another"
    assert told("one", "three") == []
    assert told("one", "three", f"{TEST}[a]") == []
    assert told("four", "five") == [f"the text to change stands 0 times in a.py: {again}"]
    assert told("two", "three") == [f"the text to change stands 2 times in a.py: {again}"]
    assert told("one", "one") == ["the change changes nothing"]
    assert told("one", "three", "tests/a.py::test_b") == [f"tests/a.py::test_b does not name the row: {again}"]


def test_a_change_follows_its_text_and_its_test_to_where_they_were_moved(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "old.py").write_text("nothing\n")
    (tmp_path / "src" / "new.py").write_text("one\n")
    before = Mutant("MOD-01", "src/old.py", "one", "two", "tests/old.py::test_it[a]")
    after = data.moved(before, ["tests/new.py::test_it", "tests/new.py::test_other"], tmp_path)
    assert (after.file, after.test) == ("src/new.py", "tests/new.py::test_it[a]")
    assert data.moved(after, ["tests/new.py::test_it"], tmp_path) == after
    (tmp_path / "src" / "twin.py").write_text("one\n")
    assert data.moved(before, [], tmp_path) == before


def test_every_file_of_component_tests_must_notice_a_change(tmp_path: Path) -> None:
    components = tmp_path / data.COMPONENTS
    components.mkdir(parents=True)
    (components / "crew.test.tsx").write_text('test("three are too many", async () => {});\n')
    (tmp_path / PAGE).parent.mkdir(parents=True)
    (tmp_path / PAGE).write_text("one\n")

    def told(*kept: Mutant) -> list[str]:
        return data.problems({each.row: each for each in kept}, checklist.Rows(()), {}, tmp_path)

    named = "page/tests/components/crew.test.tsx"
    assert told() == [f"{named} has no small change that it must notice: add one to tests/mutants/page.toml"]
    first = Mutant("page:crew", PAGE, "one", "two", f"{named}::three are too many")
    assert (first.judge, first.component, first.quick) == (named, True, True)
    assert told(first, replace(first, row="page:crew-2")) == []
    [gone] = told(replace(first, test=f"{named}::nobody wrote"))
    assert gone == f"page:crew: {named}::nobody wrote is not there"
    [elsewhere] = told(first, replace(first, row="page:other"))
    assert elsewhere == "page:other: its test is not in page/tests/components/other.test.tsx"
    data.keep(first, tmp_path)
    assert data.load(tmp_path) == {"page:crew": first}
    assert (tmp_path / "page.toml").is_file()
