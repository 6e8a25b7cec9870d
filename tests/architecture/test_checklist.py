"""The checklist tells the truth about the tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts import checklist
from scripts.checklist import ChecklistError, Group, Row, Rows


def test_every_row_is_what_it_is_said_to_be(proofs: dict[str, list[str]]) -> None:
    """Proven ones have a test, open ones have none, decisions exist, and no test names a row that is not there."""
    assert checklist.problems(checklist.load(), proofs, checklist.decisions()) == []


def test_the_checklist_is_up_to_date(proofs: dict[str, list[str]]) -> None:
    text = checklist.render(checklist.load(), proofs, checklist.decisions())
    assert checklist.CHECKLIST.read_text(encoding="utf-8") == text, "run scripts/checklist"


def test_there_are_as_many_rows_as_were_promised() -> None:
    counts = {"feature": 0, "attack": 0, "fault": 0}
    for group in checklist.load().groups:
        counts[group.section] += len(group.rows)
    assert counts == {"feature": 532, "attack": 169, "fault": 62}


def test_every_row_has_a_sentence_of_its_own() -> None:
    sentences = [row.sentence for row in checklist.load().all.values()]
    assert len(sentences) == 763
    assert sorted({said for said in sentences if sentences.count(said) > 1}) == []


def test_an_attack_that_shares_its_letters_with_a_feature_is_named_with_its_section() -> None:
    keys = checklist.load().all.keys()
    assert {"REG-01", "attack:REG-01", "WEB-01", "F-62"} <= keys
    assert "attack:WEB-01" not in keys
    assert len(keys) == 763


def test_marks_are_read_from_functions_classes_and_parameters(tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_sample.py").write_text(
        "import pytest\n"
        "@pytest.mark.case('MOD-01', 'MOD-02')\n"
        "def test_one(): ...\n"
        "@pytest.mark.case('MOD-03')\n"
        "class TestMany:\n"
        "    @pytest.mark.parametrize('x', [pytest.param(1, marks=pytest.mark.case('MOD-04'))])\n"
        "    async def test_two(self, x): ...\n"
    )
    one, two = "tests/test_sample.py::test_one", "tests/test_sample.py::TestMany::test_two"
    assert checklist.proofs(folder) == {"MOD-01": [one], "MOD-02": [one], "MOD-03": [two], "MOD-04": [two]}


def test_a_state_is_given_with_what_belongs_to_it(tmp_path: Path) -> None:
    lines = """
        A-01 = "This is there."
        A-02 = { partly = "Half of this is there.", missing = "The other half." }
        A-03 = { otherwise = "This is not there.", decision = 17, instead = "That is." }
        A-04 = { open = "This is to come." }
    """
    (tmp_path / "rows.toml").write_text(f'[feature.A]\nabout = "a"\n{lines}\n[attack]\n[fault]\n', encoding="utf-8")
    rows = checklist.load(tmp_path)
    assert [row.state for row in rows.all.values()] == ["proven", "partly", "decided otherwise", "open"]
    text = checklist.render(rows, {"A-01": ["t::a"], "A-02": ["t::b"]}, {17: "0017-x.md"})
    assert [line for line in text.splitlines() if line.startswith("| A-")] == [
        "| A-01 | proven | This is there. | `t::a` |",
        "| A-02 | partly | Half of this is there. | **Missing:** The other half.<br>`t::b` |",
        "| A-03 | decided otherwise | This is not there. | [Decision 17](decisions/0017-x.md): That is. |",
        "| A-04 | open | This is to come. |  |",
    ]
    assert "1 of 4 rows proven, 1 partly, 1 decided otherwise, 1 open." in text


@pytest.mark.parametrize(
    "line",
    [
        'A-01 = ""',
        'A-02 = "Not the first."',
        'A-01 = { partly = "Without what is missing." }',
        'A-01 = { partly = "Without what is missing.", missing = "" }',
        'A-01 = { otherwise = "Without what there is.", decision = 17 }',
        'A-01 = { otherwise = "Without its decision.", instead = "That." }',
        'A-01 = { open = "Two.", partly = "States.", missing = "One." }',
        'A-01 = { missing = "A sentence." }',
        'A-01 = { open = "With a word too many.", reason = "None." }',
    ],
)
def test_a_row_that_says_too_little_or_too_much_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "rows.toml").write_text(f'[feature.A]\nabout = "a"\n{line}\n[attack]\n[fault]\n', encoding="utf-8")
    with pytest.raises(ChecklistError, match=r"^rows\.toml: "):
        checklist.load(tmp_path)


def row(sentence: str, *more: object) -> Row:
    return Row("A-01", "A-01", sentence, *more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "tests", "said"),
    [
        (row("It is there."), {}, "A-01 has no test"),
        (row("It is to come.", "open"), {"A-01": ["t::a"]}, "A-01 is open in rows.toml, and t::a proves it"),
        (row("No.", "decided otherwise", "Else.", 99), {}, "A-01 names decision 99, which does not exist"),
        (row("no full stop", "open"), {}, "A-01 needs a sentence"),
        (row("To come.", "open"), {"A-99": ["t::x"]}, "A-99 is not in rows.toml, and t::x names it"),
    ],
)
def test_what_is_not_true_is_told_and_nothing_is_written(row: Row, tests: dict[str, list[str]], said: str) -> None:
    rows = Rows((Group("feature", "A", "a", (row,)),))
    [problem] = checklist.problems(rows, tests, {17: "0017-x.md"})
    assert problem.startswith(said)
    with pytest.raises(ChecklistError, match=re.escape(said)):
        checklist.render(rows, tests, {17: "0017-x.md"})
