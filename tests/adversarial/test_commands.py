"""Commands that ride on a permission for another: none gets through, and a real shell is the judge of our reading."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
import tomllib
from pathlib import Path

import pytest

from pilothouse.permissions.commands import Certain, Uncertain, read
from pilothouse.permissions.danger import danger_of
from pilothouse.permissions.policy import RuleSet
from pilothouse.types import limits
from pilothouse.types.access import Access, CommandUse
from tests.permissions.accesses import a_command, a_rule, grants

CORPUS = tomllib.loads((Path(__file__).parent / "shell_corpus.toml").read_text())
# What bash and dash have built in and we read: as programs they are told apart by being found.
BUILT_IN = ("echo", "pwd", "true", "false")
# Instead of any program, bash writes down how it would have been called.
RECORDER = """
enable -n echo pwd true false
command_not_found_handle() { printf '%s\\0' "$#" "$@" >>"$RECORD"; }
"""


def words_of(text: str) -> tuple[str, ...] | None:
    found = read(text)
    return found.words if isinstance(found, Certain) else None


def as_bash_calls(text: str, folder: Path) -> list[tuple[str, ...]]:
    """Run a command in bash with no program in reach, and return every call it would have made."""
    record, prelude, empty = folder / "record", folder / "prelude", folder / "empty"
    record.write_bytes(b"")
    prelude.write_text(RECORDER)
    empty.mkdir(exist_ok=True)
    environment = {"PATH": "/nowhere", "BASH_ENV": str(prelude), "RECORD": str(record), "LC_ALL": "C.UTF-8"}
    # A pattern would stay as it is where nothing fits it: so it becomes nothing.
    subprocess.run(
        ["/bin/bash", "--norc", "--noprofile", "-O", "nullglob", "-c", text],
        cwd=empty,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=10,
        check=False,
    )
    assert os.listdir(empty) == [], text
    fields = record.read_bytes().decode().split("\0")[:-1]
    calls = []
    while fields:
        count = int(fields[0])
        calls.append(tuple(fields[1 : count + 1]))
        fields = fields[count + 1 :]
    return calls


def agrees(text: str, words: tuple[str, ...], folder: Path) -> bool:
    if "/" in words[0]:
        # A path would be run itself; behind another word it is read in the same way.
        return as_bash_calls(f"recorded {text}", folder) == [("recorded", *words)]
    return as_bash_calls(text, folder) == [words]


@pytest.mark.case("CMD-01", "CMD-04")
def test_every_plain_command_is_certain_and_bash_calls_exactly_those_words(tmp_path: Path) -> None:
    for text in CORPUS["plain"]:
        words = words_of(text)
        assert words is not None, (text, read(text))
        assert agrees(text, words, tmp_path), (text, words)


def test_the_corpus_is_large_and_half_of_it_is_hostile() -> None:
    honest, hostile = [*CORPUS["plain"], *CORPUS["asks"]], CORPUS["hostile"]
    # An honest command may be hostile under a grant it was not given.
    assert len({*honest, *hostile}) >= 300
    assert len(set(hostile)) >= 150
    assert len(set(hostile)) >= len({*honest, *hostile}) / 2


@pytest.mark.case("CMD-01", "CMD-02", "CMD-03", "CMD-04", "CMD-06")
def test_no_hostile_command_is_covered_by_any_grant() -> None:
    wrong = [(text, pattern) for text in CORPUS["hostile"] for pattern in CORPUS["grants"] if grants(pattern, text)]
    assert wrong == []


@pytest.mark.case("CMD-04")
def test_whatever_of_the_corpus_is_certain_is_so_for_bash_too(tmp_path: Path) -> None:
    for text in [*CORPUS["hostile"], *CORPUS["asks"]]:
        words = words_of(text)
        if words is not None:
            assert agrees(text, words, tmp_path), (text, words)


@pytest.mark.case("CMD-01", "CMD-04")
def test_an_honest_command_that_cannot_be_promised_is_asked_about_with_a_reason() -> None:
    for text in CORPUS["asks"]:
        found = read(text)
        assert isinstance(found, Uncertain), text
        assert found.why
        assert not any(grants(pattern, text) for pattern in CORPUS["grants"])


# What is put into commands at random places: what shells treat specially, beside what they do not.
PIECES = [
    *("git", "ls", "echo", "a", "b.txt", "-l", "--x=y", "x=y", "HEAD~1", "a:b", "@", "%", "+", ",", "1", "é", "*", "?"),
    *(" ", " ", " ", " ", " ", "  ", "'", "'", '"', '"', "''", '""', "' '", '" "', "'a b'", '"a b"', "'$x'", '"$x"'),
    *("$", "`", "\\", "!", "#", "^", "{", "}", "[", "]", "(", ")", "<", ">", "|", "&", ";", "~", "=", "\t", "\n", "\r"),
    *("$'a'", '$"a"', "{a,b}", "a=b", "\\ ", "\\\n", "'\\'", "'\\\\'", '"\\a"', "\u00a0", "\u3000", "if", "do", "[["),
]


@pytest.mark.case("CMD-04")
def test_plain_commands_with_anything_put_into_them_are_read_as_bash_reads_them_or_not_at_all(tmp_path: Path) -> None:
    rng = random.Random(20)
    certain: dict[str, tuple[str, ...]] = {}
    for _ in range(20_000):
        text = rng.choice(CORPUS["plain"])
        for _ in range(rng.randint(1, 4)):
            place = rng.randint(0, len(text))
            text = text[:place] + rng.choice(PIECES) + text[place:]
        words = words_of(text)
        if words is not None:
            certain[text] = words
    assert len(certain) > 1_000
    for text in rng.sample(sorted(certain), 400):
        assert agrees(text, certain[text], tmp_path), (text, certain[text])


@pytest.mark.case("CMD-04")
def test_a_second_shell_reads_the_plain_commands_in_the_same_way(tmp_path: Path) -> None:
    dash = shutil.which("dash")
    assert dash, "dash is not installed; it is a package of most systems"
    record, programs = tmp_path / "record", tmp_path / "programs"
    programs.mkdir()
    recorder = tmp_path / "recorder"
    recorder.write_text('#!/bin/sh\n{ printf "%s\\0" "$#"; printf "%s\\0" "${0##*/}" "$@"; } >>"$RECORD"\n')
    recorder.chmod(0o700)
    for text in CORPUS["plain"]:
        words = words_of(text)
        assert words is not None
        if words[0] in BUILT_IN or "/" in words[0]:
            continue
        program = programs / words[0]
        program.unlink(missing_ok=True)
        program.symlink_to(recorder)
        record.write_bytes(b"")
        subprocess.run(
            [dash, "-c", text],
            env={"PATH": f"{programs}:{os.path.dirname(dash)}", "RECORD": str(record)},
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            timeout=10,
            check=True,
        )
        count, *called = record.read_bytes().decode().split("\0")[:-1]
        assert (int(count) + 1, tuple(called)) == (len(words), words), text


@pytest.mark.case("CMD-01")
@pytest.mark.parametrize("joint", [";", "&&", "|", "&", "\n", "\r", "$(x)", "`x`", "<(x)", " <<E\nE\n", "\u2028", "||"])
def test_a_grant_ends_where_a_second_command_begins(joint: str) -> None:
    assert grants(["git", "status"], "git status")
    assert not grants(["git", "status"], f"git status{joint}")
    assert not grants(["git", "status", "*"], f"git status {joint}x")


@pytest.mark.case("CMD-02")
def test_a_grant_for_a_command_is_none_for_writing_what_it_prints() -> None:
    assert grants(["echo", "*"], "echo x file")
    for text in ("echo x > file", "echo x >> file", "echo x 2> file", "echo x | tee file", "echo x>file"):
        assert not grants(["echo", "*"], text)
    for text in ("tee file", "dd of=file"):
        assert not grants([text.split()[0], "*"], text)


@pytest.mark.case("CMD-03")
def test_a_star_never_stands_for_options_nor_for_what_an_executor_executes() -> None:
    assert grants(["grep", "*"], "grep word file")
    assert not grants(["grep", "*"], "grep -f file word")
    for text in ("env ls", "find src", "xargs ls", "awk 1", "python3.12 x.py", "/usr/bin/env ls", "git bisect run x"):
        assert not grants([text.split()[0], "*"], text), text
        assert grants(text.split(), text), text


@pytest.mark.case("CMD-06")
def test_a_variable_in_front_is_part_of_the_command() -> None:
    assert grants(["ls"], "ls")
    for text in ("LD_PRELOAD=./x.so ls", "PATH=. ls", "A= ls", "A+=b ls", "'A'=b ls"):
        assert not grants(["ls"], text)
        assert not grants(["ls", "*"], text)
        assert read(text) == Uncertain("it sets a variable for the command")


LONG = {
    "5,000 chained": "; ".join(["true"] * 5_000 + ["rm -rf build"]),
    "1 MB of one": "echo " + "x " * 500_000 + "; rm -rf build",
    "1 MB of different words": "echo " + " ".join(f"w{number}" for number in range(150_000)) + " | rm -rf build",
    "1 MB of quotes": "echo " + "'\"" * 500_000 + "; rm -rf build",
    "1 MB of backslashes": "echo " + "\\" * 1_000_000 + "; rm -rf build",
}


@pytest.mark.case("CMD-05")
@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_command_too_long_to_read_is_never_allowed_and_still_denied(text: str) -> None:
    rules = RuleSet([a_rule("no-rm", "deny", command=("rm", "*")), a_rule("echo", "allow", command=("echo", "*"))])
    begun = time.process_time()
    decided = rules.strictest(a_command(text))
    took = time.process_time() - begun
    assert decided is not None
    assert decided.id == "no-rm"
    assert took < 3
    assert not grants(["echo", "*"], text)


@pytest.mark.case("CMD-05")
def test_even_a_plain_command_is_not_certain_beyond_what_a_person_reads() -> None:
    longest = "echo " + "x" * (limits.COMMAND_CERTAIN_CHARS - 5)
    assert grants(["echo", "*"], longest)
    assert not grants(["echo", "*"], longest + "x")


@pytest.mark.case("CMD-05")
def test_a_long_command_without_a_denied_word_is_only_asked_about() -> None:
    rules = RuleSet([a_rule("no-rm", "deny", command=("rm", "*"))])
    assert rules.strictest(a_command("; ".join(["true"] * 5_000))) is None


@pytest.mark.case("CMD-05")
@pytest.mark.parametrize(
    "text",
    [
        "rm -rf x", "/bin/rm x", "true; rm x", "true && r''m x", 'r"m" x', "r\\m x", "$'\\x72\\x6d' x", "$'\\162m' x",
        "sudo rm x", "env rm x", "xargs rm", "find . -exec rm {} +", "sh -c 'rm x'", "A=b rm x", "(rm x)", "`rm x`",
        "echo $(rm x)", "if true; then rm x; fi", "true\nrm x", "true;/usr/bin/rm x", "r\\\nm x", "x=rm; $x y",
    ],
)  # fmt: skip
def test_a_denied_program_is_found_wherever_it_stands(text: str) -> None:
    rules = RuleSet([a_rule("no-rm", "deny", command=("rm", "*"))])
    found = rules.strictest(a_command(text))
    assert found is not None, text


@pytest.mark.parametrize("text", ["echo rm", "ls rmdir", "git status", "grep 'rm -rf' notes.md", "trim x; ls"])
def test_a_command_that_only_mentions_a_denied_program_is_not_denied(text: str) -> None:
    rules = RuleSet([a_rule("no-rm", "deny", command=("rm", "*"))])
    assert rules.strictest(a_command(text)) is None


@pytest.mark.case("CMD-05")
@pytest.mark.parametrize(
    "piece", ["; a=b", "a/", "curl |", "; git push ", "sh $(", "env -a ", "'", " -c", "find -exec "]
)
def test_no_command_keeps_whoever_looks_for_danger_busy(piece: str) -> None:
    text = (piece * limits.COMMAND_READ_CHARS)[: limits.COMMAND_READ_CHARS]
    began = time.process_time()
    danger_of(Access(operation="x", command=CommandUse(text=text)))
    danger_of(Access(operation="x", command=CommandUse(text=f"{text[:-10]}; rm -r x")))
    assert time.process_time() - began < 1


@pytest.mark.case("CMD-05")
@pytest.mark.parametrize("piece", ["../", "a/", "a.", "a/b ", "~/", "\\x61", "a="])
def test_no_command_keeps_whoever_looks_at_the_rules_busy(piece: str) -> None:
    rules = RuleSet(
        [a_rule("there", "deny", destination="*.evil.example"), a_rule("files", "deny", paths=("private/**",))]
    )
    text = (piece * limits.COMMAND_CHARS)[: limits.COMMAND_CHARS]
    began = time.process_time()
    rules.strictest(a_command(text, network=True))
    assert time.process_time() - began < 2
    assert rules.strictest(a_command(f"{text[:1000]} cat private/x", network=True)) is not None


@pytest.mark.case("NET-06")
@pytest.mark.parametrize(
    "address",
    [
        "https://x.evil.example/a", "https://x.evil.example?a=b", "https://u:p@x.evil.example:80#a", "x.EVIL.example.",
        "--url=https://x.evil.example?a", "https://x.evil.example%2f", "//x.evil.example/*", "a@x.evil.example:b",
    ],
)  # fmt: skip
def test_a_denied_host_is_found_in_whatever_form_a_command_names_it(address: str) -> None:
    rules = RuleSet([a_rule("there", "deny", destination="*.evil.example")])
    assert rules.strictest(a_command(f"curl {address}", network=True)) is not None
    assert rules.strictest(a_command("curl https://evil.example.org?x.evil.examples", network=True)) is None
