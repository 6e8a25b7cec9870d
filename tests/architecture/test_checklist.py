"""The checklist tells the truth about the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import checklist


@pytest.fixture(scope="module")
def proofs() -> dict[str, list[str]]:
    return checklist.proofs()


def test_every_row_that_a_test_names_exists_and_the_checklist_is_up_to_date(proofs: dict[str, list[str]]) -> None:
    text = checklist.render(checklist.load(), proofs)
    assert checklist.CHECKLIST.read_text(encoding="utf-8") == text, "run scripts/checklist"


def test_every_row_of_this_release_has_a_test_or_a_reason(proofs: dict[str, list[str]]) -> None:
    assert checklist.missing(checklist.load(), proofs) == []


def test_a_row_is_not_both_proven_and_deferred(proofs: dict[str, list[str]]) -> None:
    both = checklist.load().deferred.keys() & proofs.keys()
    assert not both, f"remove from docs/deferred.toml: {sorted(both)}"


def test_there_are_as_many_rows_as_were_promised() -> None:
    counts = {"feature": 0, "attack": 0, "fault": 0}
    for group in checklist.load().groups:
        counts[group.section] += group.count
    assert counts == {"feature": 532, "attack": 169, "fault": 62}


def test_an_attack_that_shares_its_letters_with_a_feature_is_named_with_its_section() -> None:
    keys = checklist.load().keys
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


def test_an_unknown_row_is_refused_with_the_test_that_names_it() -> None:
    with pytest.raises(checklist.ChecklistError, match="MOD-99 in tests/test_x"):
        checklist.render(checklist.load(), {"MOD-99": ["tests/test_x.py::test_it"]})
