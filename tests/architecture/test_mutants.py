"""Every proven row has a small change of the code that its test must notice; scripts/mutants tries them."""

from __future__ import annotations

from scripts import checklist
from scripts.mutation import data


def test_every_proven_row_has_a_small_change_that_its_test_must_notice(proofs: dict[str, list[str]]) -> None:
    wrong = data.problems(data.load(), checklist.load(), proofs)
    assert not wrong, "\n".join(wrong)
