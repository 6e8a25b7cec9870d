"""What `scripts/test` makes of a failure, and what it prints at its end."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from scripts import checks, stage_report
from scripts.stage_report import Outcome

pytestmark = pytest.mark.slow
# Fails the first time, as a test does that others are in the way of.
ONCE = """
from pathlib import Path

def test_once():
    seen = Path(__file__).with_suffix(".seen")
    before, _ = seen.exists(), seen.touch()
    assert before

def test_fine():
    pass
"""
ALWAYS = "def test_always():\n    assert False\n"


@pytest.fixture(autouse=True)
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "REPORTS", tmp_path / "reports")
    checks.REPORTS.mkdir()


def suite(folder: Path, text: str) -> bool:
    folder.mkdir(exist_ok=True)
    (folder / "test_it.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return checks.run_tests("tried", str(folder), "-c", str(folder / "pytest.ini"))


def test_who_fails_beside_others_and_passes_alone_is_named_and_has_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not suite(tmp_path / "once", ONCE)
    assert stage_report.counts(checks.reports()) == (1, 1, 0)
    assert checks.report([Outcome("tried", good=False, cases=2, seconds=1.0, processor=1.0)], 1.0, 1.0) == 1
    assert "unsteady, failed beside others and passed alone: test_it::test_once" in capsys.readouterr().out


def test_who_fails_alone_too_has_failed(tmp_path: Path) -> None:
    assert not suite(tmp_path / "always", ALWAYS)
    assert stage_report.counts(checks.reports()) == (0, 1, 0)
    assert checks.unsteady() == []


def test_an_unsteady_test_is_named_beside_one_that_always_fails(tmp_path: Path) -> None:
    assert not suite(tmp_path / "both", ONCE + ALWAYS)
    assert stage_report.counts(checks.reports()) == (1, 2, 0)
    assert checks.unsteady() == ["test_it::test_once"]


def test_many_failures_are_not_tried_again(tmp_path: Path) -> None:
    many = "\n".join(ONCE.replace("once", f"once_{number}").replace(".seen", f".{number}") for number in range(4))
    assert not suite(tmp_path / "many", many)
    assert checks.unsteady() == []


def test_the_table_has_cases_seconds_and_processor_seconds_of_each_stage_and_of_all() -> None:
    outcomes = [
        Outcome("lint", good=True, cases=0, seconds=2.0, processor=1.0),
        Outcome("unit", good=False, cases=7, seconds=3.0, processor=5.0),
    ]
    _, lint, unit, every = (line.split() for line in stage_report.table(outcomes, 4.0, 8.0))
    assert lint == ["ok", "2.0", "1.0", "0.5", "lint"]
    assert unit == ["FAIL", "7", "3.0", "5.0", "1.7", "unit"]
    assert every == ["FAIL", "7", "4.0", "8.0", "2.0", "in", "all"]


def test_the_processor_time_of_a_run_is_that_of_the_machine() -> None:
    before, own = stage_report.machine_time(), time.process_time()
    while time.process_time() - own < 0.3:
        pass
    # The kernel counts in hundredths of a second for each of its kinds of time.
    assert stage_report.machine_time() - before >= 0.25


def test_a_report_that_is_missing_or_cut_off_has_no_tests(tmp_path: Path) -> None:
    assert [*stage_report.cases(tmp_path / "missing.xml")] == []
    (tmp_path / "cut.xml").write_text('<testsuites><testsuite><testcase classname="a" name="b"')
    assert [*stage_report.cases(tmp_path / "cut.xml")] == []


def test_the_slowest_twenty_tests_are_named_with_the_slowest_first(tmp_path: Path) -> None:
    used = '<properties><property name="processor" value="0.5"/></properties>'
    cases = [f'<testcase classname="a.b" name="n{number}" time="{number}">{used}</testcase>' for number in range(30)]
    report = tmp_path / "unit.xml"
    report.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    lines = list(stage_report.slowest([report]))
    assert len(lines) == 20
    assert lines[0].split() == ["29.0", "s", "0.5", "processor", "s", "a.b::n29"]


def test_a_report_has_the_processor_time_of_a_test_and_of_the_processes_it_started(tmp_path: Path) -> None:
    """The process that is started here works; this one only waits for it."""
    test = tmp_path / "test_it.py"
    work = "import time\nwhile time.process_time() < 0.3: pass"
    test.write_text(
        f"import subprocess, sys\ndef test_it():\n    subprocess.run([sys.executable, '-c', {work!r}], check=True)\n"
    )
    (tmp_path / "conftest.py").write_text(
        "from tests.support.costs import pytest_runtest_makereport, pytest_runtest_protocol\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    assert checks.run_tests("tried", str(test), "-c", str(tmp_path / "pytest.ini"))
    [case] = stage_report.cases(checks.REPORTS / "tried.xml")
    assert case.processor >= 0.3
