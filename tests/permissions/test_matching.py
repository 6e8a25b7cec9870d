"""Patterns against calls: whole components at a time, and never a neighbour."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as some

from pilothouse.permissions.globs import glob, split
from pilothouse.permissions.matching import concerns, covers_all, host_matches, tool_matches
from pilothouse.types.authority import Pattern
from tests.permissions.accesses import FOLDER, TERMINAL, a_command, a_subject, an_access, grants

# Few letters, so that neighbours are found often.
NAMES = some.text("ab.-_", min_size=1, max_size=4).filter(lambda name: name.strip("."))
PATHS = some.lists(NAMES, min_size=1, max_size=4)
ADDED = some.sampled_from(["-other", "x", ".bak", "a", "_", " ", "~", "é"])


def allows(pattern: Pattern, *paths: str, operation: str = "file_operations.create_file") -> bool:
    return covers_all(pattern, a_subject(an_access(operation, paths=paths)))


@pytest.mark.case("AUTHZ-05", "ATZ-05")
@given(PATHS, PATHS, ADDED)
def test_a_folders_neighbour_is_never_in_the_folder(folder: list[str], below: list[str], added: str) -> None:
    whole = "/" + "/".join(folder)
    inner = f"{whole}/{'/'.join(below)}"
    pattern = Pattern(paths=(f"{whole}/**",))
    assert allows(pattern, inner)
    assert not allows(pattern, f"{whole}{added}/{'/'.join(below)}")
    assert not allows(pattern, f"{whole}{added}")
    assert not allows(pattern, whole)
    assert not allows(pattern, "/" + "/".join([*folder[:-1], "other", *below]))


@pytest.mark.case("AUTHZ-05")
@given(some.lists(some.text("ab-", min_size=1, max_size=3), min_size=1, max_size=4), ADDED)
def test_a_hosts_neighbour_is_never_under_the_host(labels: list[str], added: str) -> None:
    host = ".".join(labels)
    assert host_matches(f"*.{host}", f"api.{host}")
    assert host_matches(host, host.upper())
    assert not host_matches(f"*.{host}", host)
    assert not host_matches(f"*.{host}", f"api{host}")
    assert not host_matches(f"*.{host}", f"api.{host}{added}")
    assert not host_matches(f"*.{host}", f"api.{host}.example")
    assert not host_matches(host, f"{host}{added}")
    assert not host_matches(host, f"api.{host}")
    assert not host_matches(host, "")


@pytest.mark.case("AUTHZ-05")
@given(some.lists(some.text("ab", min_size=1, max_size=3), min_size=1, max_size=3), ADDED.filter(str.strip))
def test_a_commands_neighbour_is_never_the_command(words: list[str], added: str) -> None:
    words = ["tool", *words]
    text = " ".join(words)
    assert grants([*words, "*"], text)
    assert grants([*words, "*"], f"{text} more")
    assert not grants([*words, "*"], f"{text}{added}x")
    assert not grants([*words, "*"], f"{text} -x")
    assert not grants([*words, "*"], " ".join(words[:-1]))
    assert not grants(words, f"{text} more")
    assert not grants([*words, "*"], f"x{text}")


@pytest.mark.case("AUTHZ-05")
@pytest.mark.parametrize(
    ("name", "operation", "meant"),
    [
        ("*", "file_operations.create_file", True),
        ("file_operations.*", "file_operations.create_file", True),
        ("file_operations.create_file", "file_operations.create_file", True),
        ("github.issues.*", "github.issues.create", True),
        ("github.*", "github.issues.create", True),
        ("file_operations.*", "file_operations", False),
        ("file_operations.*", "file_operations.", False),
        ("file_operations.*", "file_operations_other.create_file", False),
        ("file_operations.create", "file_operations.create_file", False),
        ("file_operations", "file_operations.create_file", False),
        ("github.*", "github2.read_file", False),
        ("git.*", "github.read_file", False),
    ],
)
def test_a_dot_is_the_boundary_of_a_tools_name(name: str, operation: str, meant: bool) -> None:
    assert tool_matches(name, operation) is meant


@pytest.mark.parametrize(
    ("pattern", "path", "meant"),
    [
        ("src/**", "src/a.py", True),
        ("src/**", "src/a/b/c.py", True),
        ("src/**", "src", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/a/b.py", False),
        ("src/**/*.py", "src/b.py", True),
        ("src/**/*.py", "src/a/b.py", True),
        ("**/*.py", "b.py", True),
        ("**/test/**", "a/test/b", True),
        ("**/test/**", "a/tests/b", False),
        ("src/?.py", "src/a.py", True),
        ("src/?.py", "src/ab.py", False),
        ("pages/[id].tsx", "pages/[id].tsx", True),
        ("pages/[id].tsx", "pages/i.tsx", False),
        ("a", "a", True),
        ("a", "a/b", False),
        ("./a", "a", True),
        ("**", "anything/at/all", True),
        ("*", ".hidden", True),
        ("a.b", "axb", False),
    ],
)
def test_patterns_of_paths_mean_whole_components(pattern: str, path: str, meant: bool) -> None:
    assert glob(pattern).covers(split(path)) is meant


def test_a_pattern_that_is_made_to_be_slow_is_not() -> None:
    slow = "/".join(["**"] * 40) + "/x"
    assert not glob(slow).covers(["a"] * 60)
    assert not glob("*a" * 30 + "b").covers(["a" * 200])


def test_a_relative_pattern_begins_at_the_working_directory_and_ends_there() -> None:
    pattern = Pattern(paths=("src/**",))
    assert allows(pattern, f"{FOLDER}/src/a.py")
    assert not allows(pattern, "/elsewhere/src/a.py")
    assert not covers_all(pattern, a_subject(an_access(paths=[f"{FOLDER}/src/a.py"]), folder="/srv/other"))
    assert not covers_all(pattern, a_subject(an_access(paths=["/src/a.py"]), folder=""))
    assert allows(Pattern(paths=("**",)), f"{FOLDER}/a")
    assert not allows(Pattern(paths=("**",)), f"{FOLDER}-2/a")
    assert not allows(Pattern(paths=("**",)), f"{FOLDER}2/a")


def test_a_permission_covers_all_paths_of_a_call_and_a_refusal_any() -> None:
    pattern = Pattern(paths=("src/**",))
    both = a_subject(an_access(paths=[f"{FOLDER}/src/a.py", f"{FOLDER}/secret"]))
    assert not covers_all(pattern, both)
    assert concerns(Pattern(paths=("secret",)), both)
    assert not concerns(Pattern(paths=("docs/**",)), both)
    assert not covers_all(pattern, a_subject(an_access(paths=[])))


def test_a_refusal_of_what_is_in_a_folder_holds_for_moving_the_folder_or_one_above() -> None:
    pattern = Pattern(paths=("a/secret/**",))
    for path in (f"{FOLDER}/a/secret/x", f"{FOLDER}/a/secret", f"{FOLDER}/a"):
        assert concerns(pattern, a_subject(an_access(paths=[path])))
    assert not concerns(pattern, a_subject(an_access(paths=[f"{FOLDER}/a"], effect="reads")))
    assert not concerns(pattern, a_subject(an_access(paths=[f"{FOLDER}/a/secrets/x"])))
    assert not concerns(pattern, a_subject(an_access(paths=[f"{FOLDER}/a/b"])))


@pytest.mark.case("AUTHZ-05")
def test_a_refusal_follows_a_link_and_a_permission_does_not(tmp_path: Path) -> None:
    work, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    work.mkdir()
    elsewhere.mkdir()
    (work / "data").symlink_to(elsewhere)
    # Paths of calls have their links resolved.
    there = a_subject(an_access(paths=[str(elsewhere / "x")]), folder=str(work))
    assert concerns(Pattern(paths=("data/**",)), there)
    assert concerns(Pattern(paths=(f"{work}/data/**",)), there)
    assert not covers_all(Pattern(paths=("data/**",)), there)
    assert covers_all(Pattern(paths=(f"{elsewhere}/**",)), there)


def test_the_working_directory_is_compared_as_it_really_is(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    subject = a_subject(an_access(), folder=str(tmp_path / "link"))
    assert covers_all(Pattern(folder=str(tmp_path / "real")), subject)
    assert covers_all(Pattern(folder=str(tmp_path / "link")), subject)
    assert not covers_all(Pattern(folder=str(tmp_path)), subject)
    assert not covers_all(Pattern(folder=str(tmp_path / "real2")), subject)


@pytest.mark.case("AUTHZ-04")
def test_a_permission_for_one_definition_is_none_for_another() -> None:
    pattern = Pattern(tool="github.read_file", definition="s1:read_file:abc")
    access = an_access("github.read_file")
    assert covers_all(pattern, a_subject(access, "s1:read_file:abc"))
    assert not covers_all(pattern, a_subject(access, "s1:read_file:abd"))
    assert not covers_all(pattern, a_subject(access, "s2:read_file:abc"))


@pytest.mark.case("CMD-01")
def test_a_permission_that_names_no_command_is_none_for_any() -> None:
    assert not covers_all(Pattern(tool=TERMINAL), a_command("ls"))
    assert not covers_all(Pattern(), a_command("ls"))
    assert not grants(["*"], "ls")
    assert concerns(Pattern(tool=TERMINAL), a_command("ls"))
    assert concerns(Pattern(command=("*",)), a_command("a; b"))


def test_a_permission_for_a_command_holds_in_the_working_directory_only() -> None:
    pattern = Pattern(command=("make",))
    assert covers_all(pattern, a_command("make"))
    assert not covers_all(pattern, a_subject(an_access(TERMINAL, command="make"), folder="/srv/other"))


def test_a_refusal_of_paths_or_hosts_holds_for_commands_that_name_them() -> None:
    secret = Pattern(paths=("secret/**", "~/.ssh/**"))
    home = os.path.expanduser("~")
    for text in ("cat secret/key", "cat ./secret/key", "cat src/../secret/key", "cat 'secret/key' | base64"):
        assert concerns(secret, a_command(text)), text
    for text in ("cat ~/.ssh/id", f"cat {home}/.ssh/id"):
        assert concerns(secret, a_command(text)), text
    assert not concerns(secret, a_command("cat src/secrets.py"))
    host = Pattern(destination="*.example.com")
    assert concerns(host, a_command("curl https://api.example.com/x", network=True))
    assert not concerns(host, a_command("curl https://example.org/x", network=True))
    assert not concerns(host, a_command("cat api.example.com", network=False))


@pytest.mark.parametrize(
    "text", ["git push", "git push origin main", "git -C x push", "git push --force", "/usr/bin/git push"]
)
def test_a_refusal_of_a_command_holds_with_options_and_further_words(text: str) -> None:
    assert concerns(Pattern(command=("git", "push")), a_command(text))
    assert not concerns(Pattern(command=("git", "push")), a_command("git status"))
    assert not concerns(Pattern(command=("git", "push")), a_command("gitk push"))


@pytest.mark.case("CMD-01", "CMD-04")
def test_what_is_typed_at_a_shell_is_covered_by_no_permission_and_still_refused() -> None:
    access = an_access(TERMINAL, command="git status")
    assert access.command is not None
    typed = msgspec.structs.replace(access, command=msgspec.structs.replace(access.command, typed=True))
    pattern = Pattern(command=("git", "status"))
    assert covers_all(pattern, a_subject(access))
    assert not covers_all(pattern, a_subject(typed))
    assert concerns(pattern, a_subject(typed))
