"""What needs a word of its own: by name in any spelling, whether or not it is there, and under a second name."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse.mcp.servers import other_files
from pilothouse.permissions import protected
from pilothouse.permissions.protected import Protected
from pilothouse.types import limits
from pilothouse.types.guarded_places import ANYWHERE, FILES, HOME, Place

PERSON = Path("/nonexistent/person")
GUARD = Protected(Path("/nonexistent/data"), PERSON)


def identity(path: Path) -> tuple[int, int]:
    facts = path.lstat()
    return facts.st_dev, facts.st_ino


@pytest.mark.case("FS-11")
@pytest.mark.parametrize("place", [*HOME], ids=lambda place: "/".join(place.parts))
def test_places_in_the_persons_home_are_protected_although_they_do_not_exist(place: Place) -> None:
    there = PERSON.joinpath(*place.parts)
    assert GUARD.protects(str(there), None)
    assert GUARD.protects(str(there / "new"), None)


@pytest.mark.case("FS-11")
@pytest.mark.parametrize("place", [*ANYWHERE, *FILES], ids=lambda place: place.path)
def test_places_of_projects_are_protected_wherever_the_project_is(place: Place) -> None:
    for root in ("/srv/project", "/srv/project/vendor/inner"):
        assert GUARD.protects(f"{root}/{place.path.replace('*', 'x')}", None) == place.why


@pytest.mark.case("FS-11", "SPAWN-06")
@pytest.mark.parametrize(
    "path",
    [
        "/nonexistent/data",
        "/nonexistent/data/config.json",
        "/nonexistent/data/policy.json",
        "/nonexistent/data/secrets/new",
        "/srv/project/.ssh/authorized_keys",
        "/etc/cron.d/mine",
        "/var/spool/cron/me",
        # Folders that would bring such a place along.
        "/srv/project/.github",
        str(PERSON / ".config"),
        "/nonexistent/person",
        "/nonexistent",
        "/etc",
    ],
)
def test_what_is_protected_is_so_before_it_is_there(path: str) -> None:
    assert GUARD.protects(path, None)


@pytest.mark.parametrize(
    "path",
    [
        "/srv/project/src/a.py",
        "/srv/project/git/config",
        "/srv/project/x.git/hooks",
        "/srv/project/.gitignore",
        "/srv/project/.github/ISSUE_TEMPLATE.md",
        "/srv/project/github/workflows/ci.yml",
        "/nonexistent/data-of-mine/config.json",
        "/srv/.bashrc",
        "/etc/hosts",
        "/",
        "",
    ],
)
def test_neighbours_are_not_protected(path: str) -> None:
    assert GUARD.protects(path, None) == ""
    assert GUARD.forbids(path, None) == ""


def test_what_starts_by_itself_may_be_read_and_secrets_may_not() -> None:
    for path in ("/srv/project/.git/config", "/srv/project/.github/workflows/ci.yml", str(PERSON / ".bashrc")):
        assert GUARD.protects(path, None, "reads") == ""
    for secret in (PERSON / ".ssh" / "id_rsa", PERSON / ".aws" / "credentials", Path("/proc/self/environ")):
        assert GUARD.protects(str(secret), None, "reads")


def test_only_the_data_folder_is_forbidden_altogether() -> None:
    assert GUARD.forbids("/nonexistent/data/secrets/x", None)
    assert GUARD.forbids(str(PERSON / ".ssh" / "id_rsa"), None) == ""


@pytest.mark.case("FS-11", "CMD-06")
def test_where_programs_are_found_is_not_written_to_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    programs = project / ".venv" / "bin"
    programs.mkdir(parents=True)
    (tmp_path / "tools").symlink_to(programs)
    monkeypatch.setenv("PATH", f"{tmp_path}/tools:/usr/bin:relative:")
    guard = Protected(tmp_path / "data", PERSON)
    for path in (programs / "git", programs, "/usr/bin/git"):
        assert guard.protects(str(path), None) == "It is where programs are found."
    for path in (programs / "deeper" / "file", project / "src" / "git", project / "relative" / "x"):
        assert guard.protects(str(path), None) == ""
    assert guard.protects(str(programs / "git"), None, "reads") == ""


@pytest.mark.case("FS-11", "SPAWN-06")
def test_what_pilothouse_runs_from_is_not_written_to_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "project" / ".venv"))
    guard = Protected(tmp_path / "data", PERSON)
    inside = tmp_path / "project" / ".venv" / "lib" / "site-packages" / "starlette" / "routing.py"
    for path in (inside, Path(protected.__file__)):
        assert guard.protects(str(path), None) == "It is what Pilothouse runs from."
        assert guard.protects(str(path), None, "reads") == ""
    assert guard.protects(str(tmp_path / "project" / "routing.py"), None) == ""


@pytest.mark.case("FS-09")
@pytest.mark.parametrize("name", [".GIT", ".Git", ".git.", ".git ", ".g\u200cit", ".\uff47it", "GIT~1"])
def test_another_spelling_of_a_protected_name_is_the_same_name(name: str) -> None:
    assert GUARD.protects(f"/srv/project/{name}/hooks/pre-commit", None)


@pytest.mark.case("FS-09")
@given(st.data())
def test_no_mixture_of_letter_cases_gets_by(data: st.DataObject) -> None:
    place = data.draw(st.sampled_from(ANYWHERE))
    path = "/srv/project/" + "/".join(place.parts)
    upper = data.draw(st.lists(st.booleans(), min_size=len(path), max_size=len(path)))
    mixed = "".join(char.upper() if up else char for char, up in zip(path, upper, strict=True))
    assert GUARD.protects(mixed, None)


@pytest.mark.case("FS-04")
def test_a_second_name_for_a_protected_file_is_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "GUARD_FRESH", 0.0)
    monkeypatch.setattr(limits, "GUARD_REST", 0.0)
    person, data, project = tmp_path / "person", tmp_path / "data", tmp_path / "project"
    for folder in (person / ".ssh", data / "secrets", project):
        folder.mkdir(parents=True)
    guard = Protected(data, person)
    for file in (person / ".ssh" / "id_rsa", data / "secrets" / "key", person / ".bashrc"):
        file.write_text("mine")
        link = project / f"innocent-{file.name}"
        os.link(file, link)
        assert guard.protects(str(link), identity(link))
    assert guard.forbids(str(project / "innocent-key"), identity(project / "innocent-key"))
    assert guard.protects(str(project / "innocent-id_rsa"), identity(project / "innocent-id_rsa"), "reads")
    honest = project / "honest"
    honest.write_text("mine")
    os.link(honest, project / "honest-too")
    assert guard.protects(str(honest), identity(honest)) == ""


@pytest.mark.case("FS-04")
def test_a_second_name_for_a_hook_of_the_project_is_recognised(tmp_path: Path) -> None:
    hooks = tmp_path / ".git" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "pre-commit").write_text("#!/bin/sh\n")
    link = tmp_path / "src" / "notes.txt"
    link.parent.mkdir()
    os.link(hooks / "pre-commit", link)
    assert GUARD.protects(str(link), identity(link))
    assert GUARD.protects(str(link), identity(link), "reads") == ""


@pytest.mark.case("FS-04")
def test_a_new_file_in_a_protected_folder_with_a_second_name_is_recognised(tmp_path: Path) -> None:
    person, project = tmp_path / "person", tmp_path / "project"
    (person / ".ssh").mkdir(parents=True)
    (project / "honest").mkdir(parents=True)
    (project / "second").symlink_to(person / ".ssh")
    guard = Protected(tmp_path / "data", person)
    assert guard.protects(str(project / "second" / "new"), None)
    assert guard.protects(str(project / "honest" / "new"), None) == ""


def test_a_large_folder_does_not_hold_anyone_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "GUARD_FILES", 3)
    data = tmp_path / "data"
    data.mkdir()
    for number in range(10):
        (data / str(number)).write_text("")
    guard = Protected(data, tmp_path / "person")
    for number in range(10):
        os.link(data / str(number), tmp_path / f"second-{number}")
    names = [tmp_path / f"second-{number}" for number in range(10)]
    assert len([name for name in names if guard.protects(str(name), identity(name))]) == 2


@pytest.mark.case("SPAWN-06", "FS-11")
def test_what_an_import_reads_is_not_written_to_unasked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    guard = Protected(tmp_path / "data", tmp_path / "person")
    assert [path for _, path in other_files.candidates(tmp_path) if not guard.protects(str(path), None)] == []


def test_a_link_of_a_guarded_name_is_found_in_a_very_full_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "GUARD_FILES", 5)
    for number in range(20):
        (tmp_path / f"{number}.txt").write_text("")
    (tmp_path / "AGENTS.md").symlink_to("7.txt")
    assert GUARD.protects(str(tmp_path / "7.txt"), None)
    assert GUARD.protects(str(tmp_path / "8.txt"), None) == ""


def test_a_very_deep_path_is_judged_at_once() -> None:
    path = "/srv" + "/d" * 2_000 + "/AGENTS.md"
    started = time.thread_time()
    assert GUARD.protects(path, None)
    assert GUARD.protects(path.replace("AGENTS", "notes"), None) == ""
    assert time.thread_time() - started < 0.1
