"""A repository that wants to be more than files: its settings run nothing, until the person agrees to a commit."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pilothouse.tools.builds.git import Repository
from pilothouse.tools.sandbox.runner import SandboxRunner
from pilothouse.types.terminals import Ran, SandboxKind
from tests.support.repositories import git, make_repository, open_git_tool
from tests.support.terminals import TerminalCalls

MARK = "it-ran"
PROGRAM = f"#!/bin/sh\necho x >> {MARK}\ncat\n"


# What git runs for most of what it does.
PROGRAMS = """
[core]
    fsmonitor = {program}
    pager = {program}
    editor = {program}
    sshCommand = {program}
    askPass = {program}
[diff]
    external = {program}
[diff "evil"]
    command = {program}
    textconv = {program}
"""


def hostile(folder: Path) -> Path:
    """Make a repository with every setting that makes git run something when it is looked at."""
    make_repository(folder, readme__md="Hello\n", code__py="print(1)\n")
    program = folder / "evil.sh"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    for name in ("post-index-change", "pre-commit", "post-checkout", "fsmonitor-watchman", "reference-transaction"):
        hook = folder / ".git" / "hooks" / name
        hook.write_text(PROGRAM)
        hook.chmod(0o755)
    (folder / ".gitattributes").write_text("*.md filter=evil diff=evil merge=evil\n*.py filter=odd=name\n")
    config = folder / ".git" / "config"
    with config.open("a") as file:
        file.write(
            PROGRAMS.format(program=program)
            + f"""
[core]
    alternateRefsCommand = {program}
[filter "evil"]
    clean = {program}
    smudge = {program}
    process = {program}
    required = true
[filter "odd=name"]
    clean = {program}
    required = true
[alias]
    status = !{program}
    diff = !{program}
[pager]
    status = {program}
[credential]
    helper = !{program}
[gpg]
    program = {program}
[log]
    showSignature = true
[include]
    path = {folder}/more.config
"""
        )
    (folder / "more.config").write_text(f'[filter "included"]\n\tclean = {program}\n\trequired = true\n')
    (folder / "changed.txt").write_text("changed\n")
    (folder / "readme.md").write_text("Hello\nWorld\n")
    (folder / "code.py").write_text("print(2)\n")
    return folder


async def look(builds: TerminalCalls) -> None:
    """Look at everything there is to look at."""
    output = await builds.does("get_changed_files", include_diff=True)
    assert "readme.md: modified" in output.text
    assert "+World" in output.text
    access = await builds.touched("git_commit", message="x", files=["readme.md", "code.py", "changed.txt"])
    assert {change["path"] for change in access.preview["changes"]} == {"readme.md", "code.py", "changed.txt"}


@pytest.mark.case("SPAWN-08", "BLD-05", "CMD-10")
@pytest.mark.parametrize("kind", ["bubblewrap", "none"])
async def test_looking_at_a_repository_runs_nothing_of_it(home: Path, tmp_path: Path, kind: str) -> None:
    work = hostile(tmp_path / "work")
    async with open_git_tool(home, work, kind) as builds:  # type: ignore[arg-type]
        await look(builds)
    assert not (work / MARK).exists()


@pytest.mark.case("SPAWN-08", "CMD-06")
@pytest.mark.parametrize("way", ["{work}/bin", "bin", "", "."])
@pytest.mark.parametrize("kind", ["bubblewrap", "none"])
async def test_a_project_does_not_say_which_program_git_is(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, kind: str
) -> None:
    work = make_repository(tmp_path / "work", readme__md="Hello\n")
    (work / "bin").mkdir()
    for place in (work, work / "bin"):
        (place / "git").write_text(f"#!/bin/sh\necho x > {work / MARK}\n")
        (place / "git").chmod(0o755)
    (work / "readme.md").write_text("Hello\nWorld\n")
    monkeypatch.setenv("PATH", f"{way.format(work=work)}:{os.environ['PATH']}")
    async with open_git_tool(home, work, kind) as builds:  # type: ignore[arg-type]
        output = await builds.does("get_changed_files", include_diff=True)
        committed = await builds.does("git_commit", message="More", files=["readme.md"])
    assert "+World" in output.text
    assert committed.text.startswith("Committed 1 file ")
    assert not (work / MARK).exists()


@pytest.mark.case("SPAWN-08")
async def test_the_same_settings_would_run_something_for_anyone_else(tmp_path: Path) -> None:
    work = hostile(tmp_path / "work")
    git(work, "status")
    assert (work / MARK).exists(), "the repository of this test is not as hostile as it should be"


@pytest.mark.case("SPAWN-08", "BLD-04")
async def test_hooks_run_with_a_commit_that_the_person_agreed_to_and_are_named(home: Path, tmp_path: Path) -> None:
    work = make_repository(tmp_path / "work")
    hook = work / ".git" / "hooks" / "pre-commit"
    hook.write_text(f"#!/bin/sh\necho ran >> {MARK}\n")
    hook.chmod(0o755)
    (work / "new.txt").write_text("new\n")
    async with open_git_tool(home, work) as builds:
        access = await builds.touched("git_commit", message="x", files=["new.txt"])
        assert access.preview["commit"]["hooks"] == ["pre-commit"]
        assert not (work / MARK).exists()
        await builds.does("git_commit", message="x", files=["new.txt"])
        assert (work / MARK).read_text() == "ran\n"


@pytest.mark.case("SPAWN-08")
async def test_a_folder_that_only_looks_like_a_repository_is_none(home: Path, tmp_path: Path) -> None:
    # git takes any folder with these names for a repository, with all its settings.
    work = make_repository(tmp_path / "work")
    bare = work / "inner"
    (bare / "objects").mkdir(parents=True)
    (bare / "refs").mkdir()
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    (bare / "config").write_text(f"[core]\n\tbare = false\n\tworktree = {bare}\n\tfsmonitor = touch {bare}/{MARK}\n")
    async with open_git_tool(home, bare, "none") as builds:
        await builds.does("get_changed_files")
    assert not (bare / MARK).exists()


@pytest.mark.case("SPAWN-08", "FS-01")
async def test_settings_cannot_move_the_files_of_a_repository_elsewhere(home: Path, tmp_path: Path) -> None:
    work = make_repository(tmp_path / "work")
    secret = tmp_path / "private"
    secret.mkdir()
    (secret / "diary.txt").write_text("dear diary\n")
    git(work, "config", "core.worktree", str(secret))
    (work / "new.txt").write_text("new\n")
    async with open_git_tool(home, work, "none") as builds:
        output = await builds.does("get_changed_files", include_diff=True)
        assert "diary" not in output.text
        assert "new.txt: untracked" in output.text
        said = await builds.fails("git_commit", message="x", files=["new.txt"])
        assert said == "OUTSIDE: The repository's settings place its files elsewhere; commit by hand."


@pytest.mark.case("SPAWN-08")
async def test_a_missing_object_is_not_fetched_from_anywhere(home: Path, tmp_path: Path) -> None:
    work = make_repository(tmp_path / "work")
    program = work / "evil.sh"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    blob = git(work, "rev-parse", "HEAD:readme.md")
    (work / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with (work / ".git" / "config").open("a") as file:
        file.write(
            f'[remote "far"]\n\turl = {work}\n\tuploadpack = {program}\n\tpromisor = true\n'
            "[extensions]\n\tpartialClone = far\n[protocol]\n\tallow = always\n"
        )
    git(work, "config", "core.repositoryformatversion", "1")
    (work / "readme.md").write_text("changed\n")
    async with open_git_tool(home, work, "none") as builds:
        await builds.call("get_changed_files", include_diff=True)
    assert not (work / MARK).exists()


SETTINGS_FOR_COMMITS = f"""{PROGRAMS}
[sequence]
    editor = {{program}}
[commit]
    verbose = true
[gpg]
    program = {{program}}
[gpg "ssh"]
    program = {{program}}
    defaultKeyCommand = {{program}}
[credential]
    helper = !{{program}}
[trailer "x"]
    command = {{program}}
    cmd = {{program}}
    ifmissing = add
[remote "far"]
    url = {{folder}}
    uploadpack = {{program}}
    promisor = true
"""


@pytest.mark.case("SPAWN-08", "BLD-04", "CMD-10")
@pytest.mark.parametrize("kind", ["bubblewrap", "none"])
@pytest.mark.parametrize("signed", [False, True])
async def test_a_commit_runs_no_program_that_only_settings_name(
    home: Path, tmp_path: Path, kind: str, signed: bool
) -> None:
    work = make_repository(tmp_path / "work")
    program = work / "evil.sh"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    (work / ".gitattributes").write_text("* diff=evil\n")
    with (work / ".git" / "config").open("a") as file:
        file.write(SETTINGS_FOR_COMMITS.format(program=program, folder=work))
    git(work, "config", "commit.gpgSign", str(signed).lower())
    (work / "readme.md").write_text("Hello\nWorld\n")
    async with open_git_tool(home, work, kind) as builds:  # type: ignore[arg-type]
        output = await builds.call("git_commit", message="x", files=["readme.md"])
        # It is signed by the usual program or not at all.
        assert (output.error is None) is not signed
    assert not (work / MARK).exists()


@pytest.mark.case("SPAWN-08", "BLD-04", "SPAWN-01")
async def test_filters_run_with_a_commit_that_the_person_agreed_to_and_are_named(home: Path, tmp_path: Path) -> None:
    work = make_repository(tmp_path / "work")
    git(work, "config", "filter.shout.clean", "tr a-z A-Z")
    (work / ".gitattributes").write_text("*.txt filter=shout\n")
    (work / "new.txt").write_text("new\n")
    async with open_git_tool(home, work) as builds:
        access = await builds.touched("git_commit", message="x", files=["new.txt"])
        assert access.preview["commit"]["filters"] == ["filter.shout.clean = tr a-z A-Z"]
        given: dict[str, object] = {"operation": "git_commit", "message": "x", "files": ["new.txt"]}
        git(work, "config", "filter.shout.clean", "tr a-z B")
        output = await builds.execute(given, builds.context(), access)
        assert output.text == "What would be committed is not what was shown any more; ask again."
        git(work, "config", "filter.shout.clean", "tr a-z A-Z")
        await builds.execute(given, builds.context(), access)
    assert git(work, "show", "HEAD:new.txt") == "NEW"


@pytest.mark.case("SPAWN-08", "BLD-04", "SPAWN-03")
async def test_a_hook_that_changed_after_it_was_shown_does_not_run(home: Path, tmp_path: Path) -> None:
    work = make_repository(tmp_path / "work")
    hook = work / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    (work / "new.txt").write_text("new\n")
    async with open_git_tool(home, work) as builds:
        access = await builds.touched("git_commit", message="x", files=["new.txt"])
        hook.write_text(f"#!/bin/sh\necho ran >> {MARK}\n")
        given: dict[str, object] = {"operation": "git_commit", "message": "x", "files": ["new.txt"]}
        output = await builds.execute(given, builds.context(), access)
    assert output.text == "What would be committed is not what was shown any more; ask again."
    assert not (work / MARK).exists()


@pytest.mark.case("SPAWN-08", "BLD-04")
async def test_what_goes_into_a_commit_by_a_repository_within_is_shown(home: Path, tmp_path: Path) -> None:
    work = make_repository(tmp_path / "work")
    inner = make_repository(work / "inner")
    git(work, "add", "inner")
    git(work, "commit", "-q", "-m", "With it")
    (inner / "readme.md").write_text("more\n")
    git(inner, "commit", "-qam", "More")
    (work / "new.txt").write_text("new\n")
    async with open_git_tool(home, work) as builds:
        access = await builds.touched("git_commit", message="x", files=["."])
        shown = {change["path"] for change in access.preview["changes"]}
        await builds.does("git_commit", message="x", files=["."])
    assert set(git(work, "show", "--name-only", "--format=").split()) == shown


@pytest.mark.case("SPAWN-08", "BLD-04")
@pytest.mark.parametrize("kind", ["bubblewrap", "none"])
async def test_a_commit_does_not_run_what_a_repository_within_names(home: Path, tmp_path: Path, kind: str) -> None:
    work = make_repository(tmp_path / "work")
    inner = make_repository(work / "inner")
    git(work, "add", "inner")
    git(work, "commit", "-q", "-m", "With it")
    (inner / "evil.sh").write_text(f"#!/bin/sh\necho x >> {work / MARK}\n")
    (inner / "evil.sh").chmod(0o755)
    git(inner, "config", "core.fsmonitor", str(inner / "evil.sh"))
    (work / "new.txt").write_text("new\n")
    async with open_git_tool(home, work, kind) as builds:  # type: ignore[arg-type]
        await builds.does("get_changed_files", include_diff=True)
        await builds.does("git_commit", message="x", files=["."])
    assert not (work / MARK).exists()
    git(work, "status")
    assert (work / MARK).exists(), "the repository of this test is not as hostile as it should be"


async def test_everything_that_can_happen_to_a_file_is_committed(home: Path, tmp_path: Path) -> None:
    work = make_repository(tmp_path / "work", gone__txt="x\n", a__txt="a\n", link="l\n", place="f\n")
    (work / "gone.txt").unlink()
    (work / "a.txt").rename(work / "b.txt")
    (work / "link").unlink()
    (work / "link").symlink_to("b.txt")
    (work / "place").unlink()
    (work / "place").mkdir()
    (work / "place" / "in it.txt").write_text("in it\n")
    (work / "readme.md").write_text("Hello\n")
    (work / "run.sh").write_text("x\n")
    (work / "run.sh").chmod(0o755)
    (work / os.fsdecode(b"latin-\xe9.txt")).write_text("x\n")
    async with open_git_tool(home, work) as builds:
        await builds.does("git_commit", message="x", files=["."])
    assert git(work, "status", "--porcelain") == ""


class Plainly(SandboxRunner):
    """Runs git without a sandbox, as a newer git would read its settings."""

    def __init__(self) -> None:
        """Need none."""

    async def run(
        self,
        argv: Sequence[str],
        folder: str,
        timeout: float,
        network: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> Ran:
        variables = {**os.environ, **(environment or {})}
        done = await asyncio.to_thread(
            lambda: subprocess.run(argv, cwd=folder, env=variables, capture_output=True, check=False, timeout=timeout)
        )
        return Ran(done.returncode, done.stdout, done.stderr, 0)

    def kind(self) -> SandboxKind:
        return "none"


async def test_hooks_that_settings_of_a_repository_name_are_switched_off(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "work")
    git(folder, "config", "hook.odd.name.command", "touch it-ran")
    git(folder, "config", "hook.odd.name.event", "post-index-change")
    repository = Repository(Plainly(), str(folder))
    assert await repository.line("config", "--get", "hook.odd.name.enabled") == "false", "when it is looked at"
    committing = await repository.run("config", "--get", "hook.odd.name.enabled")
    assert committing.output.strip() == b"false", "with a commit"
