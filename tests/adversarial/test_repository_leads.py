"""A repository that names places outside of the working directory: they are found first, and are accesses outside."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types.access import Access
from pilothouse.types.api import Answer, ConfigPatch
from pilothouse.types.items import Item
from pilothouse.types.ports import ToolOutput
from pilothouse.types.terminals import TerminalSettings
from tests.adversarial.test_exfil import a_call
from tests.support.chats import ME, Chat, open_chat
from tests.support.repositories import git, make_repository, open_git_tool

CODE = "the launch code is 0000"
LOOK = a_call("build_and_version_control", operation="get_changed_files", include_diff=True)


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """Somebody's other repository, beside the working directory."""
    folder = make_repository(tmp_path / "victim", secret__txt=f"{CODE}\n")
    git(folder, "pack-refs", "--all")
    git(folder, "update-ref", "refs/heads/main", "HEAD")
    (folder / ".git" / "refs" / "heads" / "main").write_text(git(folder, "rev-parse", "HEAD") + "\n")
    return folder


@asynccontextmanager
async def looking(home: Path, work: Path, *rules: dict[str, Any], turns: int = 1) -> AsyncIterator[Chat]:
    """Open a conversation that looks at what changed, where nothing holds git but what this program does."""
    script = [[LOOK], "Done."] * turns
    async with open_chat(home, script, settings={"working_directory": str(work)}, at_rest=False) as chat:
        await chat.api.settings.update(ME, ConfigPatch(terminal=TerminalSettings(sandbox="off")))
        (home / "policy.json").write_text(json.dumps({"version": "1.0", "rules": rules}))
        yield chat


async def asked(chat: Chat) -> list[Item]:
    return [item for item in await chat.items("question") if item.status == "waiting"]


# --- ways to name another repository -------------------------------------------------------------


def by_file(work: Path, victim: Path) -> None:
    (work / ".git").write_text(f"gitdir: {victim}/.git\n")


def by_relative_file(work: Path, victim: Path) -> None:
    (work / ".git").write_text("gitdir: ../victim/.git\n")


def by_link(work: Path, victim: Path) -> None:
    (work / ".git").symlink_to(victim / ".git")


def by_common_folder(work: Path, victim: Path) -> None:
    (work / ".git").mkdir()
    (work / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (work / ".git" / "commondir").write_text(f"{victim}/.git\n")


def by_forged_worktree(work: Path, victim: Path) -> None:
    """All of it says that it is a second working tree, but for the repository."""
    inner = work / "trees" / "worktrees" / "one"
    inner.mkdir(parents=True)
    (work / ".git").write_text(f"gitdir: {inner}\n")
    (inner / "HEAD").write_text("ref: refs/heads/main\n")
    (inner / "commondir").write_text(f"{victim}/.git\n")
    (inner / "gitdir").write_text(f"{work}/.git\n")


def _own(work: Path, victim: Path) -> Path:
    make_repository(work)
    (work / ".git" / "objects" / "info" / "alternates").write_text(f"{victim}/.git/objects\n")
    return work / ".git"


def by_linked_reference(work: Path, victim: Path) -> None:
    own = _own(work, victim)
    (own / "refs" / "heads" / "main").unlink()
    (own / "refs" / "heads" / "main").symlink_to(victim / ".git" / "refs" / "heads" / "main")


def by_linked_references(work: Path, victim: Path) -> None:
    own = _own(work, victim)
    shutil.rmtree(own / "refs")
    (own / "refs").symlink_to(victim / ".git" / "refs")


def by_link_behind_a_link(work: Path, victim: Path) -> None:
    own = _own(work, victim)
    shutil.rmtree(own / "refs")
    (work / "inner").mkdir()
    (work / "inner" / "heads").symlink_to(victim / ".git" / "refs" / "heads")
    (own / "refs").symlink_to("../inner")


def by_packed_references(work: Path, victim: Path) -> None:
    own = _own(work, victim)
    (own / "refs" / "heads" / "main").unlink()
    (own / "packed-refs").symlink_to(victim / ".git" / "packed-refs")


def by_linked_objects(work: Path, victim: Path) -> None:
    make_repository(work)
    own = work / ".git"
    shutil.rmtree(own / "objects")
    (own / "objects").symlink_to(victim / ".git" / "objects")
    (own / "refs" / "heads" / "main").write_text(git(victim, "rev-parse", "HEAD") + "\n")


def by_folder_beside(work: Path, victim: Path) -> None:
    """A folder beside the working directory came with it, names it, and leads on."""
    beside = work.parent / "beside"
    make_repository(work)
    (work / ".git").rename(beside)
    (work / ".git").write_text("gitdir: ../beside\n")
    git(work, "config", "core.worktree", str(work))
    (beside / "objects" / "info" / "alternates").write_text(f"{victim}/.git/objects\n")
    (beside / "refs" / "heads" / "main").unlink()
    (beside / "refs" / "heads" / "main").symlink_to(victim / ".git" / "refs" / "heads" / "main")


WAYS: list[Callable[[Path, Path], None]] = [
    by_file,
    by_relative_file,
    by_link,
    by_common_folder,
    by_forged_worktree,
    by_linked_reference,
    by_linked_references,
    by_link_behind_a_link,
    by_packed_references,
    by_linked_objects,
    by_folder_beside,
]


@pytest.mark.parametrize("way", WAYS)
async def test_each_of_these_would_show_the_other_repository_to_anyone_else(
    work: Path, victim: Path, way: Callable[[Path, Path], None]
) -> None:
    way(work, victim)
    assert CODE in git(work, "diff", "HEAD")


@pytest.mark.case("FS-01", "FS-04", "SPAWN-08")
@pytest.mark.parametrize("way", WAYS)
async def test_a_repository_that_leads_to_another_one_is_asked_about(
    home: Path, work: Path, victim: Path, way: Callable[[Path, Path], None]
) -> None:
    way(work, victim)
    async with looking(home, work) as chat:
        assert (await chat.say()).status == "waiting"
        [question] = await asked(chat)
        assert question.raw["rule"] == "outside"
        assert str(victim) in question.text
        assert [use for use in question.raw["access"]["paths"] if use["path"].startswith(str(victim))]
        await chat.api.questions.answer(ME, question.id, Answer(choice="deny"))
        await chat.settled(question.run_id or "")
        [call] = await chat.items("tool_call")
        assert CODE not in call.text


@pytest.mark.case("FS-04", "AUTHZ-06")
@pytest.mark.parametrize("tool", ["*", "build_and_version_control.get_changed_files", "file_operations.read_file"])
@pytest.mark.parametrize("way", [by_file, by_common_folder, by_linked_reference, by_folder_beside])
async def test_a_rule_that_forbids_a_folder_forbids_a_repository_to_lead_there(
    home: Path, work: Path, victim: Path, way: Callable[[Path, Path], None], tool: str
) -> None:
    way(work, victim)
    rule = {"id": "no", "verdict": "deny", "pattern": {"tool": tool, "paths": [f"{victim}/**"]}}
    # Together with what the person allowed in advance.
    allow = {"id": "yes", "verdict": "allow", "pattern": {"tool": "build_and_version_control.get_changed_files"}}
    async with looking(home, work, rule, allow) as chat:
        assert (await chat.say()).status == "completed"
        [call] = await chat.items("tool_call")
        assert call.status == "failed"
        assert CODE not in call.text
        # The record says what it was about.
        assert [use for use in call.raw["access"]["paths"] if use["path"].startswith(str(victim))]


@pytest.mark.case("FS-04", "FS-01")
async def test_objects_of_another_repository_are_on_record_and_can_be_forbidden(
    home: Path, work: Path, victim: Path
) -> None:
    _own(work, victim)
    (work / ".git" / "refs" / "heads" / "main").write_text(git(victim, "rev-parse", "HEAD") + "\n")
    async with looking(home, work, turns=2) as chat:
        assert (await chat.say()).status == "completed"
        [call] = await chat.items("tool_call")
        [folder, objects] = call.raw["access"]["paths"]
        assert (folder["inside"], objects["path"]) == (True, f"{victim}/.git/objects")
        rule = {"id": "no", "verdict": "deny", "pattern": {"tool": "*", "paths": [f"{victim}/**"]}}
        (home / "policy.json").write_text(json.dumps({"version": "1.0", "rules": [rule]}))
        assert (await chat.say()).status == "completed"
        refused = (await chat.items("tool_call"))[-1]
        assert (refused.status, refused.raw["decision"]["rule"]) == ("failed", "no")


@pytest.mark.case("SECRET-03", "FS-11")
async def test_a_repository_cannot_lead_to_what_is_ours_or_holds_keys(home: Path, work: Path) -> None:
    make_repository(work)
    keys = work.parent / ".ssh"
    keys.mkdir()
    for name, place in (("mine", home), ("keys", keys)):
        (work / ".git" / name).symlink_to(place)
    async with looking(home, work, turns=2) as chat:
        await chat.say()
        [call] = await chat.items("tool_call")
        assert (call.status, call.raw["decision"]["verdict"]) == ("failed", "deny")
        (work / ".git" / "mine").unlink()
        assert (await chat.say()).status == "waiting"
        [question] = await asked(chat)
        assert question.raw["rule"] == "protected"


# --- settings ------------------------------------------------------------------------------------


@pytest.mark.case("SPAWN-08", "FS-01")
@pytest.mark.parametrize(
    ("settings", "asks"),
    [
        ("[include]\n\tpath = {place}\n", True),
        ("[include]\n\tpath = ../more.config\n", True),
        ('[includeIf "gitdir:/**"]\n\tpath = {place}\n', True),
        ("[core]\n\tattributesFile = {place}\n", True),
        ("[core]\n\tattributesFile = :(optional){place}\n", True),
        ("[core]\n\texcludesFile = {place}\n", False),
        ("[diff]\n\torderFile = {place}\n", False),
    ],
)
async def test_files_that_settings_name_are_found_first(
    home: Path, work: Path, tmp_path: Path, settings: str, asks: bool
) -> None:
    make_repository(work)
    place = tmp_path / "elsewhere"
    place.write_text("")
    with (work / ".git" / "config").open("a") as file:
        file.write(settings.format(place=place))
    (work / "more.config").write_text(f"[include]\n\tpath = {place}\n")
    async with open_git_tool(home, work, "none") as builds:
        access = await builds.touched("get_changed_files")
    assert [(use.path, use.belongs) for use in access.paths if not use.inside] == [(str(place), not asks)]


@pytest.mark.case("SPAWN-08")
async def test_words_of_a_file_that_settings_name_are_not_told_unasked(home: Path, work: Path, tmp_path: Path) -> None:
    make_repository(work)
    (tmp_path / "diary").write_text("dear diary !secretword\n")
    git(work, "config", "core.attributesFile", str(tmp_path / "diary"))
    (work / ".git" / "refs" / "heads" / "main").write_text("broken\n")
    async with looking(home, work) as chat:
        assert (await chat.say()).status == "waiting"


@pytest.mark.case("SPAWN-08", "FS-01")
@pytest.mark.parametrize("name", ["include.path", "core.attributesFile", "core.excludesFile"])
async def test_a_file_that_is_named_by_where_git_is_installed_is_none_of_a_repository(
    home: Path, work: Path, tmp_path: Path, name: str
) -> None:
    make_repository(work)
    (tmp_path / "elsewhere").write_text("[core]\n\teditor = from-elsewhere\n")
    git(work, "config", name, f"%(prefix)/..{tmp_path}/elsewhere")
    # From there git finds anything, whatever its own place is.
    if name == "include.path":
        assert git(work, "config", "core.editor") == "from-elsewhere"
    async with open_git_tool(home, work, "none") as builds:
        assert (await builds.fails("get_changed_files")).startswith("BAD_REPOSITORY: ")
        assert (await builds.fails("git_commit", message="x")).startswith("BAD_REPOSITORY: ")


@pytest.mark.case("FS-01", "FS-04")
@pytest.mark.parametrize("way", [by_file, by_link, by_common_folder])
async def test_why_nothing_can_be_committed_is_not_told_of_a_repository_elsewhere(
    home: Path, work: Path, victim: Path, way: Callable[[Path, Path], None]
) -> None:
    way(work, victim)
    script = [[a_call("build_and_version_control", operation="git_commit", message="x")], "Done."]
    async with open_chat(home, script, settings={"working_directory": str(work)}, at_rest=False) as chat:
        await chat.api.settings.update(ME, ConfigPatch(terminal=TerminalSettings(sandbox="off")))
        # Its files are missing here, which is a reason with their names in it.
        assert (await chat.say()).status == "waiting"
        [question] = await asked(chat)
        assert [use for use in question.raw["access"]["paths"] if use["path"].startswith(str(victim))]
        await chat.api.questions.answer(ME, question.id, Answer(choice="deny"))
        await chat.settled(question.run_id or "")
        [call] = await chat.items("tool_call")
        assert "secret.txt" not in call.text


async def test_why_nothing_can_be_committed_is_told_at_once_in_a_second_working_tree(
    home: Path, tmp_path: Path
) -> None:
    main = make_repository(tmp_path / "main")
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    (tmp_path / "tree" / "new.txt").write_text("new\n")
    async with open_git_tool(home, tmp_path / "tree", "none") as builds:
        told = await builds.access("git_commit", message="x")
    assert isinstance(told, ToolOutput)
    assert "Changed are new.txt." in told.text


@pytest.mark.case("SPAWN-08")
async def test_variables_of_the_host_lead_git_nowhere(
    home: Path, work: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_repository(work)
    (work / ".git" / "refs" / "heads" / "main").write_text(git(victim, "rev-parse", "HEAD") + "\n")
    monkeypatch.setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", f"{victim}/.git/objects")
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", f"{victim}/.git/objects")
    async with open_git_tool(home, work, "none") as builds:
        output = await builds.call("get_changed_files", include_diff=True)
    assert CODE not in output.text


@pytest.mark.case("SPAWN-08", "FS-01")
@pytest.mark.parametrize("name", ["../../victim/.git/HEAD", "refs/../../../victim/.git/HEAD", "/{victim}/.git/HEAD"])
async def test_a_reference_names_no_file_elsewhere(home: Path, work: Path, victim: Path, name: str) -> None:
    _own(work, victim)
    (work / ".git" / "HEAD").write_text(f"ref: {name.format(victim=victim)}\n")
    async with open_git_tool(home, work, "none") as builds:
        output = await builds.call("get_changed_files", include_diff=True)
    assert CODE not in output.text


# --- between looking and doing -------------------------------------------------------------------


@pytest.mark.case("AUTHZ-01", "FS-03")
@pytest.mark.parametrize("way", [by_linked_reference, by_linked_references, by_packed_references])
async def test_a_repository_that_was_led_elsewhere_after_it_was_allowed_is_refused(
    home: Path, work: Path, victim: Path, way: Callable[[Path, Path], None]
) -> None:
    make_repository(work)
    async with open_git_tool(home, work, "none") as builds:
        given: dict[str, object] = {"operation": "get_changed_files", "include_diff": True}
        context = builds.context()
        access = await builds.tool.access(given, context)
        assert isinstance(access, Access)
        shutil.rmtree(work / ".git")
        way(work, victim)
        output = await builds.execute(given, context, access)
    assert output.error is not None
    assert (output.error.code, CODE in output.text) == ("CONFLICT", False)


@pytest.mark.case("FS-01", "BLD-04")
async def test_a_repository_within_that_leads_elsewhere_is_told_before_a_commit(
    home: Path, work: Path, victim: Path
) -> None:
    make_repository(work)
    (work / "inner").mkdir()
    by_file(work / "inner", victim)
    async with open_git_tool(home, work, "none") as builds:
        access = await builds.touched("git_commit", message="x", files=["."])
    assert [(use.path, use.belongs) for use in access.paths] == [(f"{victim}/.git", False)]


# --- bounds --------------------------------------------------------------------------------------


@pytest.mark.case("SPAWN-08")
async def test_a_repository_that_leads_round_and_round_is_told_in_one_sentence(
    home: Path, work: Path, tmp_path: Path
) -> None:
    make_repository(work)
    objects = work / ".git" / "objects"
    (objects / "info" / "alternates").write_text("".join(f"{objects}/{number}\n" for number in range(1000)))
    (work / ".git" / "loop").symlink_to("loop")
    (work / ".git" / "up").symlink_to("..")
    async with open_git_tool(home, work, "none") as builds:
        said = await builds.fails("get_changed_files")
        assert said.startswith("BAD_REPOSITORY: ")
        (objects / "info" / "alternates").write_text(f"{objects}\n{work}/.git/../.git/objects\n")
        await builds.does("get_changed_files")
        (work / ".git" / "commondir").write_bytes(b"x" * 100_000)
        assert (await builds.fails("get_changed_files")).startswith("BAD_REPOSITORY: ")
        (work / ".git" / "commondir").unlink()
        (work / ".git" / "config").write_text("[include]\n\tpath = config\n")
        await builds.call("get_changed_files")


@pytest.mark.parametrize("name", ["commondir", "packed-refs", "refs/heads/other", "index"])
async def test_a_pipe_that_git_would_wait_for_is_told_at_once(home: Path, work: Path, name: str) -> None:
    make_repository(work)
    (work / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(work / ".git" / name)
    async with open_git_tool(home, work, "none") as builds:
        said = await builds.fails("get_changed_files")
    assert said.startswith(f"BAD_REPOSITORY: {work}/.git/{name} is a pipe")


# --- the honest ones -----------------------------------------------------------------------------


@pytest.mark.case("BLD-05")
@pytest.mark.parametrize("rebased", [False, True])
async def test_a_second_working_tree_is_looked_at_without_a_question(home: Path, tmp_path: Path, rebased: bool) -> None:
    main = make_repository(tmp_path / "main")
    tree = tmp_path / "tree"
    git(main, "worktree", "add", "-q", str(tree))
    if rebased:
        # As newer versions of git write it on request.
        (tree / ".git").write_text("gitdir: ../main/.git/worktrees/tree\n")
        (main / ".git" / "worktrees" / "tree" / "gitdir").write_text("../../../../tree/.git\n")
    (tree / "readme.md").write_text("Hello\nWorld\n")
    async with looking(home, tree) as chat:
        assert (await chat.say()).status == "completed"
        [call] = await chat.items("tool_call")
        assert "+World" in call.text
        outside = [use["path"] for use in call.raw["access"]["paths"] if not use["inside"]]
        assert outside == [f"{main}/.git"]


@pytest.mark.case("BLD-05")
async def test_a_submodule_is_looked_at_and_committed_to_without_more_ado(home: Path, tmp_path: Path) -> None:
    library = make_repository(tmp_path / "library")
    project = make_repository(tmp_path / "project", code__py="print(1)\n")
    git(project, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib")
    (project / "lib" / "readme.md").write_text("Hello\nWorld\n")
    async with looking(home, project / "lib") as chat:
        assert (await chat.say()).status == "completed"
        [call] = await chat.items("tool_call")
        assert "+World" in call.text
    git(project / "lib", "config", "user.name", "Someone")
    git(project / "lib", "config", "user.email", "someone@example.test")
    async with open_git_tool(home, project / "lib", "none") as builds:
        await builds.does("git_commit", message="More", files=["readme.md"])
    assert git(project / "lib", "log", "-1", "--format=%s") == "More"
    # Seen from above there is nothing outside at all.
    async with open_git_tool(home, project, "none") as builds:
        assert all(use.inside for use in (await builds.touched("get_changed_files")).paths)


@pytest.mark.case("BLD-05")
@pytest.mark.parametrize("how", ["--shared", "--reference"])
async def test_a_clone_that_shares_objects_is_looked_at_without_a_question(
    home: Path, tmp_path: Path, how: str
) -> None:
    main = make_repository(tmp_path / "main")
    clone = tmp_path / "clone"
    words = ["--reference", str(main)] if how == "--reference" else ["--shared"]
    git(tmp_path, "clone", "-q", *words, str(main), str(clone))
    (clone / "readme.md").write_text("Hello\nWorld\n")
    async with looking(home, clone) as chat:
        assert (await chat.say()).status == "completed"
        [call] = await chat.items("tool_call")
        assert "+World" in call.text


async def test_a_repository_with_its_folder_elsewhere_is_asked_about_once(home: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    git(tmp_path, "init", "-q", f"--separate-git-dir={tmp_path}/data", str(work))
    (work / "a.txt").write_text("a\n")
    async with looking(home, work, turns=2) as chat:
        run = await chat.say()
        [question] = await asked(chat)
        await chat.api.questions.answer(ME, question.id, Answer(choice="always"))
        assert (await chat.settled(run.id)).status == "completed"
        assert (await chat.say()).status == "completed"
        assert [call.status for call in await chat.items("tool_call")] == ["completed", "completed"]


async def test_links_among_hooks_are_the_persons_own(home: Path, work: Path, tmp_path: Path) -> None:
    make_repository(work)
    hook = tmp_path / "my-hook"
    hook.write_text("#!/bin/sh\n")
    (work / ".git" / "hooks" / "pre-commit").symlink_to(hook)
    hook.chmod(0o755)
    (work / "new.txt").write_text("new\n")
    async with open_git_tool(home, work, "none") as builds:
        assert [use.path for use in (await builds.touched("get_changed_files")).paths] == [str(work)]
        # A commit runs it, and says where it is.
        access = await builds.touched("git_commit", message="x", files=["new.txt"])
        assert [(use.path, use.belongs) for use in access.paths] == [(str(hook), True)]
