"""A tool for files makes no hook unasked, wherever the repository's settings say that its hooks are."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from pilothouse.permissions.protected import Protected
from pilothouse.types.authority import ChosenMode
from tests.support.chats import open_chat
from tests.support.repositories import make_repository

HOOK = "It is a hook, which git runs."
SETTINGS = "It is settings of git, which can have programs run."


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", folder, *words], check=True, stdout=subprocess.DEVNULL)


@pytest.fixture
def person(tmp_path: Path) -> Path:
    (folder := tmp_path / "person").mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project")


def guard(person: Path, **environ: str) -> Protected:
    return Protected(person / "data", person, environ)


WAYS: list[dict[str, str]] = [
    {".git/config": "[core]\n\thooksPath = tools/hooks\n"},
    {".git/config": '[CORE]HooksPath="tools/hooks"; ours\n'},
    {".git/config": "[core]\n\thooksPath = tools\\\n/hooks\n"},
    {".git/config": "[core]\n\thooksPath = ./src/../tools//hooks/\n"},
    {".git/config": "[core]\n\thooksPath = {project}/tools/hooks\n"},
    {".git/config": "[include]\n\tpath = more\n", ".git/more": "[core]\n\thooksPath = tools/hooks\n"},
    {
        ".git/config": '[includeIf "onbranch:main"]\n\tpath = ../shared.ini\n',
        "shared.ini": "[include]\n\tpath = {project}/deep.ini\n",
        "deep.ini": "[core]\n\thooksPath = tools/hooks\n",
    },
    {".git/config.worktree": "[core]\n\thooksPath = tools/hooks\n"},
    {"../person/.gitconfig": "[core]\n\thooksPath = tools/hooks\n"},
    {"../person/.config/git/config": "[core]\n\thooksPath = tools/hooks\n"},
    {
        "../person/.gitconfig": '[includeIf "gitdir:~/"]\n\tpath = ~/work.ini\n',
        "../person/work.ini": "[core]\n\thooksPath = tools/hooks\n",
    },
]


@pytest.mark.case("FS-11")
@pytest.mark.parametrize("files", WAYS, ids="+".join)
def test_a_folder_that_settings_name_for_hooks_is_guarded_like_gits_own(
    person: Path, project: Path, files: dict[str, str]
) -> None:
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text.replace("{project}", str(project)))
    guarded = guard(person)
    # Whether it is there or not, in any letter case, deeper, and with a folder that brings it along.
    for name in ("tools/hooks/pre-commit", "tools/hooks/lib/x.sh", "Tools/Hooks/post-merge", "tools/hooks", "tools"):
        assert guarded.protects(str(project / name), None) == HOOK, name
        assert guarded.protects(str(project / name), None, "reads") == ""
    for name in ("tools/plain", "tools/hooks2/pre-commit", "hooks/use.ts", "a.txt", "tools/hooks/pre-commit.sample"):
        assert guarded.protects(str(project / name), None) == "", name


@pytest.mark.case("FS-11")
def test_hooks_of_a_second_working_tree_and_of_a_submodule_are_guarded_by_their_own_settings(
    person: Path, project: Path, tmp_path: Path
) -> None:
    git(project, "config", "extensions.worktreeConfig", "true")
    git(project, "worktree", "add", "-q", str(tmp_path / "tree"))
    git(tmp_path / "tree", "config", "--worktree", "core.hooksPath", "mine")
    (project / ".git" / "modules").mkdir()
    git(project, "init", "-q", "--separate-git-dir", str(project / ".git" / "modules" / "sub"), str(project / "sub"))
    git(project / "sub", "config", "core.hooksPath", "ours")
    guarded = guard(person)
    assert guarded.protects(str(tmp_path / "tree" / "mine" / "pre-commit"), None) == HOOK
    assert guarded.protects(str(project / "sub" / "ours" / "pre-commit"), None) == HOOK
    for other in (project / "mine" / "x", project / "ours" / "x", tmp_path / "tree" / "ours" / "x"):
        assert guarded.protects(str(other), None) == ""


@pytest.mark.case("FS-11")
def test_a_folder_of_hooks_behind_a_link_is_guarded_where_it_is(person: Path, project: Path) -> None:
    (project / "real").mkdir()
    (project / "hooks").symlink_to("real")
    git(project, "config", "core.hooksPath", "hooks")
    assert guard(person).protects(str(project / "real" / "pre-commit"), None) == HOOK


@pytest.mark.case("FS-11")
def test_of_a_whole_tree_of_hooks_only_what_can_be_one_is_guarded(person: Path, project: Path) -> None:
    git(project, "config", "core.hooksPath", ".")
    guarded = guard(person)
    assert guarded.protects(str(project / "pre-commit"), None) == HOOK
    assert [name for name in ("main.py", "src/pre-commit") if guarded.protects(str(project / name), None)] == []


@pytest.mark.case("FS-11")
def test_settings_that_a_repository_includes_are_guarded_there_or_not(person: Path, project: Path) -> None:
    git(project, "config", "include.path", "../shared.ini")
    assert guard(person).protects(str(project / "shared.ini"), None) == SETTINGS
    (project / "shared.ini").write_text("[include]\n\tpath = other.ini\n")
    assert guard(person).protects(str(project / "other.ini"), None) == SETTINGS
    assert guard(person).protects(str(project / "plain.ini"), None) == ""


@pytest.mark.case("FS-11")
def test_settings_that_include_each_other_and_a_pipe_hold_up_nobody(person: Path, project: Path) -> None:
    (project / ".git" / "config").write_text("[include]\n\tpath = config\n\tpath = a\n\tpath = /dev/zero\n")
    (project / ".git" / "a").write_text("[include]\n\tpath = config\n[core]\n\thooksPath = tools\n")
    assert guard(person).protects(str(project / "tools" / "x"), None) == HOOK


def writing(path: str) -> list[dict[str, Any]]:
    arguments = {"operation": "create_file", "filePath": path, "content": "#!/bin/sh\n"}
    return [{"call": "file_operations", "arguments": arguments}]


@pytest.mark.case("FS-11")
@pytest.mark.parametrize("mode", ["auto_edit", "sandboxed", "auto_approve"])
async def test_a_hook_in_the_repositorys_own_folder_is_asked_about_in_every_mode(
    home: Path, project: Path, mode: ChosenMode
) -> None:
    git(project, "config", "core.hooksPath", "tools/hooks")
    settings = {"working_directory": str(project), "mode": mode}
    async with open_chat(home, [writing("tools/plain"), writing("tools/hooks/pre-commit")], settings=settings) as chat:
        assert (await chat.say()).status == "waiting"
        (question,) = await chat.items("question")
        assert HOOK in question.text
        assert [choice["id"] for choice in question.raw["choices"]] == ["allow", "deny"]
        assert (project / "tools" / "plain").exists()
        assert not (project / "tools" / "hooks").exists()
