"""What changed, and commits that contain exactly what was shown."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from pilothouse.tools.builds.status import parse
from pilothouse.types.access import Access
from tests.support.repositories import git, make_repository, open_git_tool
from tests.support.terminals import TerminalCalls

pytestmark = pytest.mark.slow

COMMIT = "git_commit"


async def refused(builds: TerminalCalls, operation: str, **arguments: object) -> str:
    """Return the sentence with which a call is refused."""
    return (await builds.fails(operation, **arguments)).partition(": ")[2]


@pytest.mark.case("BLD-05")
async def test_changed_files_are_listed_with_what_happened_to_them(builds: TerminalCalls, work: Path) -> None:
    assert (await builds.does("get_changed_files")).text == "On branch main: nothing changed."
    (work / "readme.md").write_text("Hello\nWorld\n")
    (work / "old.txt").unlink()
    (work / "new file.txt").write_text("new\n")
    (work / "staged.txt").write_text("staged\n")
    git(work, "add", "staged.txt")
    output = await builds.does("get_changed_files")
    assert output.text.splitlines() == [
        "On branch main: 4 changed files.",
        "old.txt: deleted",
        "readme.md: modified",
        "staged.txt: added, staged",
        "new file.txt: untracked",
    ]
    assert output.data["status"]["files"][2] == {
        "path": "staged.txt",
        "staged": "A",
        "unstaged": "",
        "conflict": False,
        "source": "",
    }
    with_diff = await builds.does("get_changed_files", include_diff=True)
    assert "+World" in with_diff.text


async def test_only_reading_is_needed_to_look_at_changes(builds: TerminalCalls, work: Path) -> None:
    access = await builds.touched("get_changed_files")
    assert (access.effects, access.command) == (frozenset({"reads"}), None)
    assert [(use.path, use.inside) for use in access.paths] == [(str(work), True)]
    limited = builds.tool.limited(frozenset({"reads"}))
    assert limited is not None
    assert limited.supported_operations == ("get_task_output", "get_changed_files")


async def test_a_repository_that_begins_further_up_is_outside(builds: TerminalCalls, work: Path) -> None:
    inner = work / "inner"
    inner.mkdir()
    (inner / "a.txt").write_text("a\n")
    (work / "b.txt").write_text("b\n")
    builds.folder = inner
    access = await builds.touched("get_changed_files")
    assert [(use.path, use.inside) for use in access.paths] == [(str(inner), True), (str(work / ".git"), False)]
    assert f"The repository begins at {work}" in await refused(builds, COMMIT, message="x", files=["a.txt"])


async def test_only_what_is_in_the_folder_is_listed_of_a_larger_repository(home: Path, work: Path) -> None:
    inner = work / "inner"
    inner.mkdir()
    (inner / "a.txt").write_text("a\n")
    (work / "b.txt").write_text("b\n")
    async with open_git_tool(home, inner, "none") as builds:
        assert (await builds.does("get_changed_files")).text.splitlines()[1:] == ["inner/a.txt: untracked"]


async def test_without_a_repository_there_is_one_sentence(builds: TerminalCalls, tmp_path: Path) -> None:
    builds.folder = tmp_path / "empty"
    builds.folder.mkdir()
    assert await refused(builds, "get_changed_files") == f"{builds.folder} is not in a git repository."


@pytest.mark.case("BLD-04")
async def test_a_commit_has_the_named_files_and_what_was_staged_and_nothing_else(
    builds: TerminalCalls, work: Path
) -> None:
    (work / "readme.md").write_text("Hello\nWorld\n")
    (work / "old.txt").unlink()
    (work / "new.txt").write_text("new\n")
    (work / "staged.txt").write_text("staged\n")
    (work / "mine.txt").write_text("not yet\n")
    git(work, "add", "staged.txt")
    output = await builds.does(COMMIT, message="feat: say more\n\nAnd why.", files=["readme.md", "new.txt", "old.txt"])
    assert output.text.startswith(f"Committed 4 files as {git(work, 'rev-parse', 'HEAD')[:12]} on main.")
    assert output.data["commit"] == git(work, "rev-parse", "HEAD")
    assert git(work, "show", "--name-status", "--format=%B").splitlines() == [
        "feat: say more",
        "",
        "And why.",
        "",
        "",
        "A\tnew.txt",
        "D\told.txt",
        "M\treadme.md",
        "A\tstaged.txt",
    ]
    assert git(work, "status", "--porcelain") == "?? mine.txt"


@pytest.mark.case("BLD-04")
async def test_what_a_commit_contains_is_shown_first(builds: TerminalCalls, work: Path) -> None:
    (work / "readme.md").write_text("Hello\nWorld\n")
    (work / "new.txt").write_text("new\n")
    (work / "picture.bin").write_bytes(b"\0\1\2")
    (work / "staged.txt").write_text("staged\n")
    (work / "mine.txt").write_text("not yet\n")
    git(work, "add", "staged.txt")
    hook = work / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\nexit 0\n")
    hook.chmod(0o755)
    access = await builds.touched(COMMIT, message="feat", files=["readme.md", "new.txt", "picture.bin"])
    assert access.effects == {"writes", "runs"}
    assert access.command is not None
    assert access.command.argv == ("git", "commit", "--message=feat", "--", "readme.md", "new.txt", "picture.bin")
    assert (access.command.network, access.lane) == (False, "files")
    shown = {change["path"]: change for change in access.preview["changes"]}
    assert list(shown) == ["staged.txt", "readme.md", "new.txt", "picture.bin"]
    assert (shown["readme.md"]["kind"], shown["readme.md"]["added"], shown["readme.md"]["removed"]) == (
        "modified",
        1,
        0,
    )
    assert shown["readme.md"]["diff"].startswith("--- a/readme.md\n+++ b/readme.md\n@@ -1 +1,2 @@\n Hello\n+World")
    assert (shown["new.txt"]["kind"], shown["staged.txt"]["kind"]) == ("created", "created")
    assert "+new" in shown["new.txt"]["diff"]
    assert access.preview["commit"] == {"branch": "main", "hooks": ["pre-commit"]}
    # Looking changed nothing.
    assert git(work, "status", "--porcelain").splitlines() == [
        "M readme.md",
        "A  staged.txt",
        "?? mine.txt",
        "?? new.txt",
        "?? picture.bin",
    ]


@pytest.mark.case("BLD-04", "AUTHZ-01")
@pytest.mark.parametrize("name", ["readme.md", "new.txt", "staged.txt"])
async def test_a_file_that_changed_after_it_was_shown_is_not_committed(
    builds: TerminalCalls, work: Path, name: str
) -> None:
    (work / "readme.md").write_text("Hello\nWorld\n")
    (work / "new.txt").write_text("new\n")
    (work / "staged.txt").write_text("staged\n")
    git(work, "add", "staged.txt")
    given: dict[str, object] = {"operation": COMMIT, "message": "feat", "files": ["readme.md", "new.txt"]}
    context = builds.context()
    access = await builds.tool.access(given, context)
    assert isinstance(access, Access)
    (work / name).write_text("something else\n")
    git(work, "add", "staged.txt")
    output = await builds.execute(given, context, access)
    assert output.text == "What would be committed is not what was shown any more; ask again."
    again = await builds.tool.access(given, context)
    assert isinstance(again, Access)
    assert again.content != access.content
    assert git(work, "log", "--format=%s") == "First"


@pytest.mark.case("BLD-04")
async def test_a_commit_that_fails_leaves_what_was_staged_as_it_was(builds: TerminalCalls, work: Path) -> None:
    hook = work / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\necho 'the linter says no' >&2\necho line 7 is too long\nexit 1\n")
    hook.chmod(0o755)
    (work / "readme.md").write_text("Hello\nWorld\n")
    (work / "staged.txt").write_text("staged\n")
    git(work, "add", "staged.txt")
    output = await builds.call(COMMIT, message="feat", files=["readme.md"])
    assert output.error is not None
    assert output.error.message == "Nothing was committed: the linter says no."
    assert "line 7 is too long" in output.text
    assert git(work, "status", "--porcelain").splitlines() == ["M readme.md", "A  staged.txt"]
    assert git(work, "log", "--format=%s") == "First"


async def test_names_are_names_and_no_patterns(builds: TerminalCalls, work: Path) -> None:
    (work / "*.txt").write_text("star\n")
    (work / "a.txt").write_text("a\n")
    (work / ":(top)b.txt").write_text("b\n")
    await builds.does(COMMIT, message="-n --amend", files=["*.txt", ":(top)b.txt"])
    assert git(work, "show", "--name-only", "--format=%s").splitlines() == ["-n --amend", "", "*.txt", ":(top)b.txt"]


async def test_the_first_commit_of_all_works_too(builds: TerminalCalls, tmp_path: Path) -> None:
    builds.folder = tmp_path / "fresh"
    builds.folder.mkdir()
    git(builds.folder, "init", "-q", "-b", "trunk")
    git(builds.folder, "config", "user.name", "Someone")
    git(builds.folder, "config", "user.email", "someone@example.test")
    (builds.folder / "a.txt").write_text("a\n")
    assert (await builds.does("get_changed_files")).text.startswith("On branch trunk, without a commit yet: 1 changed")
    await builds.does(COMMIT, message="Begin", files=["."])
    assert git(builds.folder, "log", "--format=%s") == "Begin"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"message": "x"}, "Nothing is staged; name the `files` to commit. Changed are new.txt."),
        ({"message": "x", "files": ["readme.md"]}, "Nothing has changed in readme.md; changed are new.txt."),
        ({"message": " ", "files": ["new.txt"]}, "`message` is empty; say what the commit is for."),
        ({"files": ["new.txt"]}, "`message` is missing; it must be a text."),
        ({"message": "x", "files": "new.txt"}, "`files` must be a list of paths."),
        (
            {"message": "x", "files": ["../x"]},
            "../x leaves the working directory; give an absolute path if that is meant.",
        ),
        (
            {"message": "x", "files": ["/etc/hosts"]},
            "/etc/hosts cannot be committed: it is not one of the repository's files.",
        ),
    ],
)
async def test_what_cannot_be_committed_is_one_sentence(
    builds: TerminalCalls, work: Path, arguments: dict[str, object], sentence: str
) -> None:
    (work / "new.txt").write_text("new\n")
    assert await refused(builds, COMMIT, **arguments) == sentence


async def test_conflicts_are_resolved_first(builds: TerminalCalls, work: Path) -> None:
    git(work, "checkout", "-q", "-b", "side")
    (work / "readme.md").write_text("side\n")
    git(work, "commit", "-qam", "side")
    git(work, "checkout", "-q", "main")
    (work / "readme.md").write_text("main\n")
    git(work, "commit", "-qam", "main")
    with pytest.raises(Exception, match="returned non-zero"):
        git(work, "merge", "side")
    assert "readme.md: conflict" in (await builds.does("get_changed_files")).text
    assert await refused(builds, COMMIT, message="x", files=["readme.md"]) == "Resolve the conflicts first: readme.md."


async def test_another_folder_in_place_of_the_one_that_was_allowed_is_refused(
    builds: TerminalCalls, work: Path, tmp_path: Path
) -> None:
    (work / "new.txt").write_text("new\n")
    given: dict[str, object] = {"operation": COMMIT, "message": "feat", "files": ["new.txt"]}
    context = builds.context()
    access = await builds.tool.access(given, context)
    assert isinstance(access, Access)
    os.rename(work, tmp_path / "moved")
    make_repository(work, readme__md="Hello\n", old__txt="old\n")
    (work / "new.txt").write_text("new\n")
    output = await builds.execute(given, context, access)
    assert output.text == "work is another folder now than when the call was allowed."


def test_every_kind_of_line_that_git_writes_is_read() -> None:
    lines = [
        "# branch.oid 1234",
        "# branch.head (detached)",
        "# branch.upstream origin/main",
        "# branch.ab +2 -3",
        "1 MM N... 100644 100644 100644 aaa bbb with space.txt",
        "2 R. N... 100644 100644 100644 aaa bbb R100 new name.txt",
        "old name.txt",
        "u UU N... 100644 100644 100644 100644 aaa bbb ccc both.txt",
        "? odd\nname.txt",
        "",
    ]
    status = parse("\0".join(lines).encode())
    assert (status.branch, status.commit, status.ahead, status.behind) == ("(detached)", "1234", 2, 3)
    assert [msgspec.structs.astuple(file) for file in status.files] == [
        ("with space.txt", "M", "M", False, ""),
        ("new name.txt", "R", "", False, "old name.txt"),
        ("both.txt", "", "", True, ""),
        ("odd\nname.txt", "", "?", False, ""),
    ]
    assert status.files[0].words == "modified, staged; modified"
