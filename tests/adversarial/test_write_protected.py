"""Commands that try to leave something behind which others run: hooks, settings of git and editors, build servers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pilothouse.tools.sandbox.environment import system_program
from pilothouse.tools.sandbox.runner import SandboxRunner
from pilothouse.tools.sandbox.sandbox import Sandbox
from pilothouse.tools.sandbox.write_protected import WriteProtected, write_protected
from pilothouse.types.terminals import Ran
from tests.support.chats import open_chat
from tests.support.repositories import git


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".github" / "workflows").mkdir(parents=True)
    (folder / ".github" / "workflows" / "ci.yml").write_text("on: push\n")
    (folder / ".vscode").mkdir()
    (folder / ".vscode" / "tasks.json").write_text("{}\n")
    (folder / ".mcp.json").write_text("{}\n")
    for command in (["init", "-q"], ["config", "user.name", "Ada"], ["config", "user.email", "ada@example.com"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


async def run(held: Sandbox, folder: Path, script: str) -> Ran:
    return await SandboxRunner(held).run(["bash", "-c", script], str(folder), 20.0)


def everything(folder: Path) -> dict[str, bytes]:
    """Return the files that others would run, as they are."""
    kept = [folder / ".git" / "hooks", folder / ".git" / "config", folder / ".github", folder / ".vscode"]
    files = [path for place in kept for path in ([place] if place.is_file() else place.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in [*files, folder / ".mcp.json"]}


@pytest.mark.case("FS-11", "SPAWN-06")
@pytest.mark.parametrize(
    "script",
    [
        "echo evil > .git/hooks/pre-commit",
        "git config core.fsmonitor /bin/evil",
        "echo evil >> .git/config",
        "echo evil >> .github/workflows/ci.yml",
        "echo evil > .github/workflows/more.yml",
        "rm -rf .vscode",
        "echo '{}' > .vscode/tasks.json.new && mv .vscode/tasks.json.new .vscode/tasks.json",
        "rm .mcp.json; echo evil > .mcp.json",
        "mv .git moved && mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit",
        "mv .github moved; mkdir -p .github/workflows; echo evil > .github/workflows/ci.yml",
        "ln -sf /bin/true .git/hooks/pre-commit",
        "umount .git/hooks; mount -o remount,rw .git/hooks; echo evil > .git/hooks/pre-commit",
    ],
)
async def test_a_command_cannot_change_what_others_run(held: Sandbox, project: Path, script: str) -> None:
    before = everything(project)
    await run(held, project, f"exec 2>&1; {script}; true")
    assert everything(project) == before


GIT = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "protocol.file.allow=always"]


@pytest.fixture
def with_submodule(project: Path, tmp_path: Path) -> Path:
    """The project with a library in it, which has a repository of its own."""
    library = tmp_path / "library"
    library.mkdir()
    subprocess.run([*GIT, "init", "-q"], cwd=library, check=True)
    subprocess.run([*GIT, "commit", "-q", "--allow-empty", "-m", "First"], cwd=library, check=True)
    subprocess.run([*GIT, "submodule", "--quiet", "add", str(library), "libs/one"], cwd=project, check=True)
    return project


@pytest.mark.case("FS-11", "SPAWN-06")
@pytest.mark.parametrize(
    "script",
    [
        "echo evil > .git/modules/libs/one/hooks/pre-commit",
        "mv .git/modules/libs/one/hooks aside; cp -r aside .git/modules/libs/one/hooks; "
        "echo evil > .git/modules/libs/one/hooks/pre-commit",
        "ln -sf /bin/true .git/modules/libs/one/hooks/pre-commit",
    ],
)
async def test_a_command_cannot_change_the_hooks_of_a_submodule(
    held: Sandbox, with_submodule: Path, script: str
) -> None:
    own = with_submodule / ".git" / "modules" / "libs" / "one"
    before = sorted(os.listdir(own / "hooks"))
    await run(held, with_submodule, f"exec 2>&1; {script}; true")
    assert sorted(os.listdir(own / "hooks")) == before


@pytest.mark.case("FS-11")
async def test_honest_work_goes_on_in_a_submodule(held: Sandbox, with_submodule: Path) -> None:
    script = "cd libs/one && git -c user.name=A -c user.email=a@example.com commit -q --allow-empty -m More && cd ../.."
    ran = await run(
        held, with_submodule, f"{script} && git add libs/one && git commit -q -m Newer && git submodule update"
    )
    assert ran.exit_code == 0, ran.errors


@pytest.mark.case("FS-11", "SPAWN-06")
async def test_a_command_cannot_change_what_git_runs_where_its_folder_has_another_name(
    held: Sandbox, project: Path
) -> None:
    (project / ".git").rename(project / "data")
    (project / ".git").write_text("gitdir: data\n")
    before = (project / "data" / "config").read_text()
    script = "exec 2>&1; git config core.fsmonitor /bin/evil; echo evil > data/hooks/pre-commit; echo x >> .git; true"
    await run(held, project, script)
    assert (project / "data" / "config").read_text() == before
    assert not (project / "data" / "hooks" / "pre-commit").exists()
    ran = await run(held, project, "echo hello > a.txt && git add a.txt && git commit -q -m First")
    assert ran.exit_code == 0, ran.errors


@pytest.mark.case("FS-11", "SPAWN-06")
@pytest.mark.parametrize("where", [".git", ".git/modules/libs/one"])
async def test_a_command_does_not_leave_git_with_the_settings_of_another_folder(
    held: Sandbox, with_submodule: Path, tmp_path: Path, where: str
) -> None:
    mark, inside = tmp_path / "it-ran", with_submodule / ("." if where == ".git" else "libs/one")
    script = (
        f"cp -r {where} evil && git config -f evil/config core.fsmonitor 'touch {mark}; false' "
        f"&& echo $PWD/evil > {where}/commondir"
    )
    assert (await run(held, with_submodule, script)).exit_code == 0
    git(inside, "status")
    assert not mark.exists()
    assert not (with_submodule / where / "commondir").exists()


@pytest.mark.case("FS-11", "SPAWN-06")
async def test_a_command_cannot_change_what_pilothouse_runs_from(
    held: Sandbox, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = project / ".venv" / "lib" / "pilothouse.py"
    installed.parent.mkdir(parents=True)
    installed.write_text("honest\n")
    monkeypatch.setattr(sys, "prefix", str(project / ".venv"))
    for script in (
        "echo evil > .venv/lib/pilothouse.py",
        "mv .venv x; mkdir -p .venv/lib; cp x .venv/lib/pilothouse.py",
    ):
        await run(held, project, f"exec 2>&1; {script}; true")
        assert installed.read_text() == "honest\n"
    assert (await run(held, project, "cat .venv/lib/pilothouse.py && mkdir venv && echo x > venv/x")).exit_code == 0


@pytest.mark.case("CMD-06")
def test_what_holds_commands_is_a_program_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = tmp_path / "bin" / "sh"
    planted.parent.mkdir()
    planted.write_text("#!/bin/sh\n")
    planted.chmod(0o755)
    monkeypatch.setenv("PATH", f"{planted.parent}:{os.environ['PATH']}")
    if os.getuid() == 0:
        os.chown(planted, 65_534, 65_534)
    honest = system_program("sh")
    assert honest not in ("", str(planted))
    monkeypatch.setenv("PATH", str(planted.parent))
    assert system_program("sh") == ""


@pytest.mark.case("FS-11")
async def test_honest_work_goes_on_around_it(held: Sandbox, project: Path) -> None:
    ran = await run(held, project, "echo hello > a.txt && git add a.txt && git commit -q -m First && git log --oneline")
    assert ran.exit_code == 0, ran.errors
    assert b"First" in ran.output
    assert (await run(held, project, "echo x > .github/README.md")).exit_code == 0


@pytest.mark.case("FS-05", "FS-11")
async def test_what_was_swapped_for_a_link_before_it_is_mounted_runs_nothing(
    held: Sandbox, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "elsewhere"
    (secret / "workflows").mkdir(parents=True)
    (secret / "secret.txt").write_text("canary")

    def swapped(folder: str, hidden: tuple[str, ...]) -> WriteProtected:
        found = write_protected(folder)
        os.rename(project / ".github", tmp_path / "aside")
        os.symlink(secret, project / ".github")
        return found

    monkeypatch.setattr("pilothouse.tools.sandbox.bubblewrap.write_protected", swapped)
    ran = await run(held, project, "cat .github/secret.txt; echo ran; touch .github/written")
    assert b"canary" not in ran.output
    assert b"ran" not in ran.output
    assert not (secret / "written").exists()


# --- the home folder, and a second working tree --------------------------------------------------

START_FILES = (
    ".bashrc",
    ".config/fish/config.fish",
    ".local/share/systemd/user/a.service",
    ".claude/settings.json",
)


@pytest.fixture
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with start files, settings and keys in it."""
    folder = tmp_path / "ada"
    for name in START_FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("honest\n")
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.mark.case("FS-11", "CMD-10")
@pytest.mark.parametrize("above", [False, True])
@pytest.mark.parametrize(
    "script",
    [
        "echo evil >> .bashrc",
        "rm .bashrc; echo evil > .bashrc",
        "mv .config moved; mkdir -p .config/fish; echo evil > .config/fish/config.fish",
        "mv .local/share moved; mkdir -p .local/share/systemd/user; echo evil > .local/share/systemd/user/a.service",
        "cat .claude/settings.json > copy",
    ],
)
async def test_start_files_stay_as_they_are_where_the_home_folder_is_worked_in(
    held: Sandbox, at_home: Path, script: str, above: bool
) -> None:
    where, way = (at_home.parent, at_home.name) if above else (at_home, ".")
    ran = await run(held, where, f"cd {way} || exit 9; {script}; echo done")
    assert b"done" in ran.output, ran.errors
    assert [(at_home / name).read_text() for name in START_FILES] == ["honest\n"] * len(START_FILES)
    assert "honest" not in ((at_home / "copy").read_text() if (at_home / "copy").exists() else "")


@pytest.mark.case("FS-11", "AUTHZ-14")
@pytest.mark.parametrize("mode", ["ask", "auto_approve"])
async def test_a_command_in_the_home_folder_stands_alone(home: Path, at_home: Path, mode: str) -> None:
    call = {"call": "terminal_operations", "arguments": {"operation": "run_command", "command": "true"}}
    for folder, stands_alone in ((at_home, True), (at_home / ".config" / "fish", False)):
        async with open_chat(
            home, [[call], "Done."], settings={"working_directory": str(folder), "mode": mode}
        ) as chat:
            await chat.say()
            asked = [item.raw["dangerous"] for item in await chat.items("question")]
            assert any("home folder" in why for why in asked) is stands_alone


@pytest.fixture
def second(project: Path, tmp_path: Path) -> Path:
    """A second working tree of the repository."""
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "First"], cwd=project, check=True)
    subprocess.run(["git", "worktree", "add", "-q", str(tmp_path / "second")], cwd=project, check=True)
    return tmp_path / "second"


@pytest.mark.case("FS-11")
async def test_a_second_working_tree_stays_one_of_its_repository(held: Sandbox, second: Path) -> None:
    before = (second / ".git").read_text()
    ran = await run(held, second, "echo 'gitdir: evil' > .git; rm .git; echo x > a.txt; echo done")
    assert b"done" in ran.output
    assert (second / ".git").read_text() == before
    assert (second / "a.txt").exists()
