"""Commands that try to leave something behind which others run: hooks, settings of git and editors, build servers."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pilothouse.tools.sandbox.runner import SandboxRunner
from pilothouse.tools.sandbox.sandbox import Sandbox
from pilothouse.tools.sandbox.standing import Standing, standing
from pilothouse.types.terminals import Ran
from tests.support.terminals import sandbox


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


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Sandbox]:
    data = tmp_path / "data"
    data.mkdir()
    made = sandbox(data, "bubblewrap")
    yield made
    made.close()


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

    def swapped(folder: str) -> Standing:
        found = standing(folder)
        os.rename(project / ".github", tmp_path / "aside")
        os.symlink(secret, project / ".github")
        return found

    monkeypatch.setattr("pilothouse.tools.sandbox.bubblewrap.standing", swapped)
    ran = await run(held, project, "cat .github/secret.txt; echo ran; touch .github/written")
    assert b"canary" not in ran.output
    assert b"ran" not in ran.output
    assert not (secret / "written").exists()
