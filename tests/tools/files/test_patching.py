"""Unified diffs: what applies is applied as a whole, what does not says which hunk and why."""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pilothouse.tools.files.contents import Text
from pilothouse.tools.files.diffs import diff
from pilothouse.tools.files.hunks import patched
from pilothouse.tools.files.patches import BadPatch, read_patch
from tests.support.files import FileCalls

FILE = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"


EVERYTHING = """\
diff --git a/a.txt b/a.txt
index 1234567..89abcde 100644
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@
 one
-two
+TWO
 three
@@ -8,3 +8,4 @@ context that git adds
 eight
 nine
 ten
+eleven
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-bye
diff --git a/old.txt b/deep/new.txt
similarity index 60%
rename from old.txt
rename to deep/new.txt
--- a/old.txt
+++ b/deep/new.txt
@@ -1,3 +1,3 @@
 1
-2
+zwei
 3
diff --git a/deep/run.sh b/deep/run.sh
new file mode 100755
--- /dev/null
+++ b/deep/run.sh
@@ -0,0 +1,2 @@
+#!/bin/sh
+true
"""


@pytest.mark.case("FIL-16", "FS-12")
async def test_a_patch_changes_creates_deletes_and_renames(at_work: FileCalls, work: Path) -> None:
    (work / "a.txt").write_text(FILE)
    (work / "gone.txt").write_text("bye\n")
    (work / "old.txt").write_text("1\n2\n3\n")
    access = await at_work.touched("apply_patch", patch=EVERYTHING)
    assert [use.path for use in access.paths] == [
        str(work / name) for name in ("a.txt", "gone.txt", "old.txt", "deep/new.txt", "deep/run.sh")
    ]
    output = await at_work.does("apply_patch", patch=EVERYTHING)
    assert output.text == "Applied the patch to a.txt, gone.txt, deep/new.txt, deep/run.sh (+5 −3)."
    assert (work / "a.txt").read_text() == FILE.replace("two", "TWO") + "eleven\n"
    assert not (work / "gone.txt").exists()
    assert not (work / "old.txt").exists()
    assert (work / "deep/new.txt").read_text() == "1\nzwei\n3\n"
    assert stat.S_IMODE((work / "deep/run.sh").stat().st_mode) == 0o755
    report = await at_work.undo()
    assert report.conflicts == ()
    assert (work / "a.txt").read_text() == FILE
    assert (work / "old.txt").read_text() == "1\n2\n3\n"
    assert (work / "gone.txt").read_text() == "bye\n"
    assert not (work / "deep").exists()


@pytest.mark.case("FIL-16", "FS-12")
async def test_a_hunk_that_does_not_apply_is_named_with_what_stands_there(at_work: FileCalls, work: Path) -> None:
    (work / "a.txt").write_text(FILE)
    (work / "b.txt").write_text("b\n")
    patch = (
        "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-b\n+B\n"
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n@@ -4,3 +4,3 @@\n four\n-fifth\n+5\n six\n"
    )
    assert await at_work.fails("apply_patch", patch=patch) == (
        "BAD_PATCH: Hunk 2 of 2 for a.txt (@@ -4,3 +4,3 @@) does not apply: "
        "line 5 is 'five' where the patch expects 'fifth'."
    )
    assert ((work / "a.txt").read_text(), (work / "b.txt").read_text()) == (FILE, "b\n")
    past = "--- a.txt\n+++ a.txt\n@@ -9,3 +9,2 @@\n nine\n ten\n-eleven\n"
    assert "the file ends at line 10, where the patch expects 'eleven'" in await at_work.fails(
        "apply_patch", patch=past
    )


@pytest.mark.case("FIL-16")
async def test_line_numbers_may_be_off_but_not_ambiguous(at_work: FileCalls, work: Path) -> None:
    (work / "a.txt").write_text("x\n" * 5 + "only\n" + "x\n" * 5)
    await at_work.does("apply_patch", patch="--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n-only\n+here\n x\n")
    assert "here" in (work / "a.txt").read_text()
    unclear = "--- a.txt\n+++ a.txt\n@@ -6,2 +6,2 @@\n-x\n+y\n x\n"
    assert "stand at several places (lines 1, 2, 3, 4, 7)" in await at_work.fails("apply_patch", patch=unclear)


@pytest.mark.case("FIL-16")
async def test_spaces_at_the_ends_of_lines_do_not_matter_and_stay_as_they_are(at_work: FileCalls, work: Path) -> None:
    (work / "a.txt").write_bytes(b"one  \r\ntwo\r\n\r\nthree\r\n")
    await at_work.does("apply_patch", patch="--- a.txt\n+++ a.txt\n@@ -1,4 +1,4 @@\n one\n-two\n+2\n\n three\n")
    assert (work / "a.txt").read_bytes() == b"one  \r\n2\r\n\r\nthree\r\n"


@pytest.mark.case("FIL-16")
@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ("", "`patch` is missing"),
        ("*** Begin Patch\n*** End Patch\n", "This is no unified diff"),
        ("@@ -1 +1 @@\n-a\n+b\n", "Line 1 of the patch begins a hunk"),
        ("--- a.txt\n+++ a.txt\n", "has no hunks for a.txt"),
        ("--- a.txt\n+++ a.txt\n@@ one @@\n-a\n", "it must be like `@@ -1,3 +1,4 @@`"),
        ("--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n one\n*two\n", "begins with '*'"),
        ("--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n", "Hunk 1 of a.txt is empty"),
        ("--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-one\n+1\n" * 2, "a.txt stands twice"),
        ("--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n", "a.txt exists already"),
        ("--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "lines of it would remain"),
        ("--- none.txt\n+++ none.txt\n@@ -1 +1 @@\n-a\n+b\n", "does not exist"),
    ],
)
async def test_a_patch_that_makes_no_sense_is_explained(at_work: FileCalls, work: Path, patch: str, why: str) -> None:
    (work / "a.txt").write_text(FILE)
    assert why in await at_work.fails("apply_patch", patch=patch)
    assert (work / "a.txt").read_text() == FILE


@pytest.mark.case("FS-12")
@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ("old mode 100644\nnew mode 100755\n", "changes the permissions of a.txt"),
        ("new file mode 120000\n", "no regular file (mode 120000)"),
        ("index 1..2\nGIT binary patch\nliteral 3\n", "as a binary file"),
        ("Binary files a/a.txt and b/a.txt differ\n", "as a binary file"),
        ("similarity index 100%\ncopy from a.txt\ncopy to b.txt\n", "copies a.txt"),
    ],
)
async def test_what_is_not_text_in_a_patch_is_refused(at_work: FileCalls, work: Path, facts: str, why: str) -> None:
    (work / "a.txt").write_text("one\n")
    head = f"diff --git a/a.txt b/a.txt\n{facts}"
    patch = head + "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n"
    assert why in await at_work.fails("apply_patch", patch=patch)
    assert (work / "a.txt").read_text() == "one\n"


def test_a_mere_rename_and_empty_files_need_no_hunks() -> None:
    text = (
        "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n"
        "diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n"
        'diff --git "a/\\303\\244" "b/\\303\\244"\ndeleted file mode 100644\nindex e69de29..0000000\n'
    )
    files = read_patch(text)
    assert [(file.old, file.new) for file in files] == [("x", "y"), (None, "e"), ("ä", None)]


_LINES = st.lists(st.sampled_from(["a", "b", "", "  c", "d  ", "-- x", "++ y", "@@", "\\", "é"]), max_size=30)
_ENDS = st.sampled_from(["", "\n"])


def _text(lines: list[str], end: str) -> str:
    return "\n".join(lines) + end if lines else ""


@given(_LINES, _ENDS, _LINES, _ENDS)
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.slow
def test_our_own_diffs_apply_and_give_the_other_text(first: list[str], one: str, second: list[str], two: str) -> None:
    before, after = _text(first, one), _text(second, two)
    shown = diff(before, after, "a/f", "b/f")
    if before == after:
        assert shown.text == ""
        return
    (patch,) = read_patch(shown.text)
    assert patched(Text(before), patch) == after


def test_the_system_patch_program_agrees_with_our_diffs(tmp_path: Path) -> None:
    lines = [f"line {number}" for number in range(400)]
    before = "\n".join(lines)
    changed = [*lines[:50], "new", *lines[60:300], "other", *lines[301:]]
    after = "\n".join(changed) + "\n"
    (tmp_path / "f").write_text(before)
    shown = diff(before, after, "a/f", "b/f").text
    assert shown.count("@@ -") == 3
    subprocess.run(["git", "apply", "-"], input=shown, text=True, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "f").read_text() == after


def test_a_diff_of_very_different_large_texts_is_bounded() -> None:
    before = "".join(f"{number}\n" for number in range(30_000))
    after = "".join(f"{number}x\n" for number in range(30_000))
    shown = diff(before, after, "a", "b", most=1_000)
    assert (shown.added, shown.removed) == (30_000, 30_000)
    assert len(shown.text) < 1_100
    assert shown.text.endswith("… the rest of this difference is left out\n")


def test_a_patch_of_nothing_is_no_patch() -> None:
    with pytest.raises(BadPatch):
        read_patch("\n\n")
