"""What `scripts/test` makes of a failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import checks

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
    return checks.pytest("tried", str(folder), "-c", str(folder / "pytest.ini"))


def test_who_fails_beside_others_and_passes_alone_is_named_and_has_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not suite(tmp_path / "once", ONCE)
    assert checks.counts() == (1, 1, 0)
    assert checks.report([checks.Outcome("tried", 1.0, 1.0, False)]) == 1
    assert "unsteady, failed beside others and passed alone: test_it::test_once" in capsys.readouterr().out


def test_who_fails_alone_too_has_failed(tmp_path: Path) -> None:
    assert not suite(tmp_path / "always", ALWAYS)
    assert checks.counts() == (0, 1, 0)
    assert checks.unsteady() == []


def test_many_failures_are_not_tried_again(tmp_path: Path) -> None:
    many = "\n".join(ONCE.replace("once", f"once_{number}").replace(".seen", f".{number}") for number in range(4))
    assert not suite(tmp_path / "many", many)
    assert checks.unsteady() == []
