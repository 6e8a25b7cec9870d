"""Tests of the page prove rows, too: they are found by their tags, and changes of the page are tried with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts import checklist, page_build
from scripts.mutation import data, page_tests, tree
from scripts.mutation.data import Mutant
from tests.harness.planting import copy_with

FILE, TEST = "page/src/planted.ts", "page/tests/planted.test.ts::three are too many"
PRODUCT = """\
const MOST = 3;

// Fewer than three.
export const allowed = (count: number) => count < MOST;
"""
ITS_TEST = """\
import { describe, expect, test } from "vitest";
import { allowed } from "../src/planted";

describe("a crew", () => {
  test("three are too many", { tags: ["MOD-01", "MOD-02"] }, () => {
    expect(allowed(2)).toBe(true);
    expect(allowed(3)).toBe(false);
  });

  test("not three are too many or so", () => expect.unreachable());
});
"""


def in_page(folder: Path, text: str) -> Path:
    """Keep a test of the page in a repository of its own; return where that has its other tests."""
    (folder / "page" / "tests" / "components").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "page" / "tests" / "components" / "crew.test.tsx").write_text(text)
    return folder / "tests"


def test_tags_are_read_from_tests_of_the_page(tmp_path: Path) -> None:
    found = "page/tests/components/crew.test.tsx::three are too many"
    assert checklist.proofs(in_page(tmp_path, ITS_TEST)) == {"MOD-01": [found], "MOD-02": [found]}


@pytest.mark.parametrize(
    "line",
    [
        'test.each([1, 2])("three are too many", { tags: ["MOD-01"] }, () => undefined);',
        "test(name, { tags: ['MOD-01'] }, () => undefined);",
        'test("three | four", { tags: ["MOD-01"] }, () => undefined);',
        'describe("a crew", { tags: ["MOD-01"] }, () => undefined);',
    ],
)
def test_a_tag_that_cannot_be_read_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(checklist.ChecklistError, match=r"crew\.test\.tsx: "):
        checklist.proofs(in_page(tmp_path, line))


@pytest.fixture(scope="module")
def copy() -> Iterator[tree.Copy]:
    """A copy of the repository, with a small piece of the page and its test in it."""
    with copy_with({FILE: PRODUCT, TEST.partition("::")[0]: ITS_TEST}) as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "test", "verdict"),
    [
        ("count < MOST", "count <= MOST", TEST, ""),
        ("Fewer than", "Less than", TEST, "its test passes all the same"),
        ("=> count", "=> (count", TEST, "its test broke instead of noticing (collect: Error)"),
        ("< MOST", "< LEAST", TEST, "its test broke instead of noticing (call: ReferenceError)"),
        ("< MOST", "<= MOST", "page/tests/planted.test.ts::nobody wrote", "its test was not found"),
    ],
)
def test_a_change_of_the_page_is_tried_without_building_it(
    copy: tree.Copy, monkeypatch: pytest.MonkeyPatch, before: str, after: str, test: str, verdict: str
) -> None:
    installed: list[bool] = []
    monkeypatch.setattr(page_build, "install", lambda: installed.append(True))
    monkeypatch.setattr(copy, "_built", lambda: pytest.fail("the page was built"))
    change = Mutant("MOD-01", FILE, before, after, test)
    assert tree.tried(copy, change).verdict.removesuffix(": the change is a bad one") == verdict
    assert (copy.folder / FILE).read_text() == PRODUCT
    # The packages that the copy uses are ours: they are brought up to date before npm could do that in the copy.
    assert installed == [True]


def test_what_comes_after_a_failure_is_not_what_was_noticed() -> None:
    messages = ["TypeError: Cannot read properties of undefined", "AssertionError: expected 1 to be 2"]
    failed = {"status": "failed", "failureMessages": messages}
    report = {"testResults": [{"status": "failed", "assertionResults": [failed, {"status": "passed"}]}]}
    assert page_tests.read_failures(report) == ([("call", ["TypeError"])], 1)


def test_a_test_of_the_page_needs_no_browser_and_is_told_about_the_page_alone(tmp_path: Path) -> None:
    change = Mutant("MOD-01", FILE, "count < MOST", "count <= MOST", TEST)
    assert (change.page, change.browser, change.quick) == (False, False, True)
    elsewhere = Mutant("MOD-01", "src/a.py", "one", "two", TEST)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("one\n")
    told = f"{TEST} is about the page alone, and the change is not in it"
    assert data.faults(elsewhere, [TEST], tmp_path) == [told]
