"""Of sampled tests a share runs, which one is known by its seed, and every worker takes the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import sampling

ROOT = Path(__file__).parents[2]
SAMPLED = """
import pytest

pytest_plugins = ["tests.support.sampling"]
"""
TESTS = """
import pytest

@pytest.mark.sampled(always=("7",))
@pytest.mark.case("A-1")
@pytest.mark.parametrize("number", range(100))
def test_number(number: int) -> None:
    pass

def test_another() -> None:
    pass

@pytest.mark.case("A-2")
@pytest.mark.parametrize("kind", ["plain", pytest.param("other", marks=pytest.mark.sampled(share=0.0))])
def test_kind(kind: str) -> None:
    pass
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A hundred cases of one kind, and another test."""
    (tmp_path / "conftest.py").write_text(SAMPLED)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = \n  sampled\n  case\n")
    (tmp_path / "test_numbers.py").write_text(TESTS)
    return tmp_path


def ran(project: Path, *arguments: str, good: bool = True, **variables: str) -> tuple[set[str], str]:
    """Return which tests a run of pytest passed, and all that it said."""
    clean = {name: value for name, value in os.environ.items() if name not in (sampling.SEED, sampling.LONG)}
    # A run without the plugins that are installed starts much faster.
    clean |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *(arguments or ("test_numbers.py",))],
        cwd=project,
        env=clean | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) is good, done.stdout + done.stderr
    return set(re.findall(r"test_\w+(?:\[\w+\])?(?= PASSED)", done.stdout)), done.stdout + done.stderr


@pytest.mark.slow
def test_a_share_runs_with_a_seed_that_repeats_it_and_with_those_that_always_run(project: Path) -> None:
    first, words = ran(project)
    assert len(first) in (12, 13)
    assert {"test_number[7]", "test_another", "test_kind[plain]"} <= first
    assert "test_kind[other]" not in first
    told = re.search(r"SAMPLE_SEED=(\d+)", words)
    assert told
    assert ran(project, SAMPLE_SEED=told[1])[0] == first
    assert ran(project, SAMPLE_SEED=f"{told[1]}1")[0] != first


EXAMPLES = """
import tests.conftest
from hypothesis import given, strategies as st

@given(st.integers())
def test_examples(number: int) -> None:
    print(f"example {number};")
"""


@pytest.mark.slow
def test_the_seed_repeats_the_examples_of_hypothesis(project: Path) -> None:
    (project / "test_examples.py").write_text(EXAMPLES)

    def examples(seed: str, **variables: str) -> list[str]:
        plugin = ("-p", "_hypothesis_pytestplugin", "-s", "test_examples.py")
        return re.findall(r"example (-?\d+);", ran(project, *plugin, good=True, SAMPLE_SEED=seed, **variables)[1])

    first = examples("5")
    assert len(first) > 50
    assert examples("5") == first
    assert examples("6") != first
    # There Hypothesis's own choice would be the same examples in each run.
    assert examples("6", CI="true") != examples("5", CI="true")


@pytest.mark.slow
def test_a_seed_that_is_no_number_is_refused_in_one_sentence(project: Path) -> None:
    said = ran(project, SAMPLE_SEED="abc", good=False)[1]
    assert "SAMPLE_SEED must be a whole number of at most 18 digits, not 'abc'." in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_all_workers_take_the_same_share(project: Path) -> None:
    said = ran(project, "-p", "xdist.plugin", "-n", "2", "test_numbers.py", SAMPLE_SEED="5")[1]
    assert f"{len(ran(project, SAMPLE_SEED='5')[0])} passed" in said


@pytest.mark.slow
def test_all_cases_run_when_they_are_asked_for(project: Path) -> None:
    assert len(ran(project, TEST_LONG="1")[0]) == 103
    assert len(ran(project, "test_numbers.py::test_number")[0]) == 100


@pytest.mark.slow
@pytest.mark.parametrize(("always", "words"), [("", "a case that always runs"), ('always=("x",)', "no such cases: x")])
def test_a_row_needs_a_case_that_always_runs(project: Path, always: str, words: str) -> None:
    (project / "test_numbers.py").write_text(TESTS.replace('always=("7",)', always))
    assert words in ran(project, good=False)[1]


def test_a_choice_keeps_the_order_and_is_of_its_own_for_each_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sampling.SEED, "5")
    monkeypatch.delenv(sampling.LONG, raising=False)
    cases = list(range(200))
    one = sampling.choose(cases, "one")
    assert len(one) == 20
    assert one == sorted(one) == sampling.choose(cases, "one")
    assert one != sampling.choose(cases, "two")
    assert sampling.choose(cases[:3], "few") != []
    assert sampling.choose([], "none") == []
    assert {len(sampling.choose(cases[:3], str(name), 0.5, 0)) for name in range(40)} == {1, 2}
    assert {len(sampling.choose(cases[:3], str(name), 0.1, 0)) for name in range(40)} == {0, 1}
    table = {str(number): number for number in cases}
    some = sampling.some_of(table, "table", ("7", "3"))
    assert len(some) in (21, 22)
    assert [*some.values()] == sorted(some.values())
    assert {3, 7} <= {*some.values()}
    with pytest.raises(AssertionError, match="no such cases: x"):
        sampling.some_of(table, "table", ("x",))
    pairs = sampling.pairs(cases, "abc", "pairs")
    assert ({one for one, _ in pairs}, {other for _, other in pairs}, len(pairs)) == ({*cases}, {*"abc"}, 203)
    assert pairs == sampling.pairs(cases, "abc", "pairs")
    monkeypatch.setenv(sampling.LONG, "1")
    assert len(sampling.pairs(cases, "abc", "pairs")) == 600
    assert sampling.some_of(table, "table", ("7",)) == table
    assert sampling.choose(cases, "one") == cases
