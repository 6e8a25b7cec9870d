"""Bad input: one plain sentence, what to do, the right exit code, and never a traceback."""

from __future__ import annotations

import json
import os
import shlex
import socket
import sqlite3
import subprocess
from pathlib import Path

import pytest

from pilothouse.host.new_conversations import check_folder
from pilothouse.types.errors import PilothouseError
from tests.cli.conftest import Script
from tests.support import forked
from tests.support.commands import (
    COMMAND,
    PATIENCE,
    Outcome,
    environment,
    pilothouse,
    pilothouse_process,
    server,
)


def assert_told(done: Outcome, code: int, *parts: str) -> None:
    assert done.code == code, done
    assert done.out == ""
    assert 1 <= len(done.err.strip().splitlines()) <= 2, done.err
    assert "Traceback" not in done.err
    for part in parts:
        assert part in done.err, done.err


def test_a_wrong_word_on_the_command_line_is_told_with_the_right_one(home: Path) -> None:
    unknown = pilothouse(home, "rnu")
    assert unknown.code == 2
    assert "Did you mean 'run'?" in unknown.err
    option = pilothouse(home, "run", "hi", "--modle", "x")
    assert option.code == 2
    assert "--model" in option.err
    assert not home.exists()


def shell(home: Path, command: str) -> Outcome:
    done = subprocess.run(["sh", "-c", command], capture_output=True, env=environment(home), timeout=20, check=False)
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


NOWHERE = ("The folder that you are in has been deleted.", "Go to another one with `cd`")


@pytest.mark.parametrize("typed", [("run", "hi", "--folder", "."), ("policy", "check", "x", "--folder", ".")])
def test_a_command_in_a_folder_that_was_deleted_says_so(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: tuple[str, ...]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert_told(pilothouse(home, *typed), 2, *NOWHERE)


@pytest.mark.slow
def test_a_process_in_a_folder_that_was_deleted_says_so(home: Path, tmp_path: Path) -> None:
    gone = shlex.quote(str(tmp_path / "gone"))
    command = shlex.join((*COMMAND, "run", "hi", "--folder", "."))
    assert_told(shell(home, f"mkdir {gone} && cd {gone} && rmdir {gone} && exec {command}"), 2, *NOWHERE)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("policy", "add", "maybe"), "Invalid value for 'VERDICT': 'maybe' is not one of 'allow', 'ask', 'deny'."),
        (("conversations", "list", "--limit", "0"), "it should be greater than or equal to 1."),
        (("mcp", "edit", "x", "--timeout", "long"), "it should be a valid number"),
        (("policy", "check"), "Missing argument 'TOOL'."),
        (("run", "one", "two"), "unexpected extra argument"),
    ],
)
def test_what_the_command_line_cannot_read_is_told_in_a_sentence_with_the_way_to_its_help(
    home: Path, typed: tuple[str, ...], said: str
) -> None:
    command = " ".join(typed[:1] if typed[0] == "run" else typed[:2])
    assert_told(pilothouse(home, *typed), 2, said, f"See: pilothouse {command} --help")
    assert not home.exists()


def test_a_missing_value_is_told(home: Path) -> None:
    assert_told(pilothouse(home, "run", "--model"), 2, "'--model' requires an argument", "--help")


def test_words_that_are_no_text_are_refused_before_anything_happens(home: Path) -> None:
    for typed in (["run", os.fsdecode(b"Gr\xfc\xdfe")], ["conversations", "show", os.fsdecode(b"\xff")]):
        assert_told(pilothouse(home, *typed), 2, "not UTF-8")
    assert not home.exists()


def test_arguments_that_are_piped_in_and_are_no_text_are_refused(home: Path) -> None:
    assert_told(pilothouse(home, "mcp", "import", "-", stdin=b"\xff\xfe"), 2, "not UTF-8")


@pytest.mark.slow
@pytest.mark.parametrize("typed", [("models", "list"), ("run", "--help")])
def test_a_full_disk_under_the_output_is_told(home: Path, typed: tuple[str, ...]) -> None:
    with (
        Path("/dev/full").open("wb") as full,
        forked.start(
            ["pilothouse", *typed], env=environment(home), stdin=full, stdout=full, stderr=subprocess.PIPE
        ) as process,
    ):
        told = process.communicate(timeout=PATIENCE)[1]
    assert (process.returncode, told) == (1, b"The output cannot be written: no space left on device.\n")


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_failure(home: Path, script: Script, closed: str) -> None:
    done = shell(home, f"{shlex.join([*COMMAND, 'run', 'hi', '--model', script('- ok')])} {closed}")
    assert done == Outcome(0, "" if ">&-" in closed.split() else "ok\n", "")


def test_an_unknown_model_leaves_nothing_behind(home: Path) -> None:
    assert_told(pilothouse(home, "run", "hi", "--model", "nope"), 2, "no model “nope”", "There are: embedded")
    assert pilothouse(home, "audit", "verify").out.startswith("0 conversations")
    assert "no conversations" in pilothouse(home, "conversations", "list").err


@pytest.mark.parametrize("words", [("mcp", "edit", "x"), ("models", "edit", "embedded")])
def test_an_edit_of_nothing_says_so(home: Path, words: tuple[str, ...]) -> None:
    assert_told(pilothouse(home, *words), 2, "nothing to change", f"pilothouse {words[0]} edit --help")


def test_a_file_is_not_called_a_missing_folder(home: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("Notes.")
    asked = pilothouse(home, "run", "hi", "--folder", str(tmp_path / "notes.md"))
    assert_told(asked, 2, "notes.md is a file, not a folder.")
    assert_told(pilothouse(home, "run", "hi", "--folder", str(tmp_path / "none")), 2, "There is no folder")


def test_what_can_be_no_folder_is_told_in_one_sentence(tmp_path: Path) -> None:
    for given, words in (
        ("~nobody-of-that-name/x", "There is no folder ~nobody-of-that-name/x"),
        (str(tmp_path / ("x" * 300)), "cannot be used: File name too long. Give the whole path"),
        ("\0", "There is no folder"),
    ):
        with pytest.raises(PilothouseError) as refused:
            check_folder(given)
        assert words in str(refused.value)


def test_a_broken_script_is_told_with_its_line(home: Path, script: Script) -> None:
    assert_told(
        pilothouse(home, "run", "hi", "--model", script("- text: ok\n- {txet: oops}")), 2, "script.yaml, line 2"
    )
    assert_told(pilothouse(home, "run", "hi", "--model", "scripted:/nowhere.yaml"), 2, "/nowhere.yaml cannot be read")


def test_an_unknown_conversation_is_told(home: Path) -> None:
    assert_told(pilothouse(home, "run", "hi", "--conversation", "c_0"), 2)
    assert_told(pilothouse(home, "conversations", "show", "c_0"), 2)
    assert_told(pilothouse(home, "answer", "i_0", "yes"), 2, "pilothouse answer")


def test_an_empty_a_huge_and_a_binary_message_are_refused(home: Path, script: Script) -> None:
    model = script("- ok")
    assert_told(pilothouse(home, "run", "  ", "--model", model), 2, "empty")
    assert_told(pilothouse(home, "run", "--model", model, stdin="x" * 5_000_000), 2, "longer than 1,000,000")
    assert_told(pilothouse(home, "run", "--model", model, stdin=b"\xff\xfe\x00"), 2, "not UTF-8")
    assert "no conversations" in pilothouse(home, "conversations", "list").err


@pytest.mark.case("F-45")
def test_a_corrupt_and_a_newer_database_are_refused_and_kept(home: Path, script: Script) -> None:
    model = script("- ok")
    assert pilothouse(home, "run", "hi", "--model", model).code == 0
    database = home / "pilothouse.db"
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    assert_told(pilothouse(home, "run", "hi", "--model", model), 1, "newer")
    for name in ("pilothouse.db-wal", "pilothouse.db-shm"):
        (home / name).unlink(missing_ok=True)
    database.write_bytes(b"this is not a database" * 100)
    assert_told(pilothouse(home, "run", "hi", "--model", model), 1, "damaged", "backup")
    assert database.read_bytes().startswith(b"this is not")


@pytest.mark.slow
@pytest.mark.case("F-54")
def test_a_taken_port_is_told(home: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert_told(pilothouse_process(home, "serve", "--port", str(port)), 1, f"Port {port} is taken", "--port")
    assert_told(pilothouse_process(home, "serve", "--host", "0.0.0.0"), 2, "--expose-to-network")


def test_a_wrong_database_url_is_told_without_its_password(home: Path) -> None:
    for url in ("mysql://me:hunter2hunter2@nowhere/x", "postgresql://me:hunter2hunter2@127.0.0.1:1/x", "nonsense"):
        done = pilothouse(home, "run", "hi", PILOTHOUSE_DATABASE_URL=url)
        assert done.code == 1
        assert "PILOTHOUSE_DATABASE_URL" in done.err
        assert "hunter2" not in done.err
        assert "Traceback" not in done.err


def test_a_data_folder_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    assert_told(pilothouse(file, "run", "hi"), 1, "is not a folder", "PILOTHOUSE_HOME")
    if os.getuid() != 0:
        closed = tmp_path / "closed"
        closed.mkdir(mode=0o500)
        assert_told(pilothouse(closed / "home", "run", "hi"), 1, "cannot be used", "PILOTHOUSE_HOME")


def test_an_unreachable_model_and_a_missing_key_are_told(home: Path) -> None:
    add = ("models", "add", "--provider", "openai-compatible", "--model", "m")
    assert pilothouse(home, *add, "--id", "away", "--base-url", "http://127.0.0.1:9/v1").out == "away\n"
    assert_told(pilothouse(home, "run", "hi", "--model", "away"), 1, "127.0.0.1:9")
    made = pilothouse(home, *add, "--id", "far", "--key-source", "env:NO_SUCH_KEY")
    assert "NO_SUCH_KEY" in made.err
    assert_told(pilothouse(home, "run", "hi", "--model", "far"), 1, "NO_SUCH_KEY")


@pytest.mark.case("F-55")
def test_a_broken_models_file_is_told_with_its_line_and_the_rest_works(home: Path, script: Script) -> None:
    assert pilothouse(home, "models", "list").code == 0
    (home / "models.json").write_text('{\n  "models": oops\n}')
    listed = pilothouse(home, "models", "list")
    assert listed.code == 0
    assert "line 2" in listed.err
    assert pilothouse(home, "run", "hi", "--model", script("- ok")).out == "ok\n"
    told = pilothouse(home, "doctor")
    assert told.code == 1
    assert "line 2" in told.out


@pytest.mark.slow
@pytest.mark.case("F-44", "F-54")
def test_a_second_server_at_another_port_of_one_folder_is_refused_and_told_where_the_first_is(home: Path) -> None:
    with server(home) as line:
        address = line.split()[3]
        assert_told(pilothouse_process(home, "serve", "--port", "1"), 1, address, "pilothouse open")


def test_a_chat_needs_a_terminal(home: Path) -> None:
    assert_told(pilothouse(home, "chat"), 2, "needs a terminal", "pilothouse run")


def test_a_failure_that_nobody_foresaw_is_a_sentence_too(home: Path, script: Script) -> None:
    model = script("- ok")
    assert pilothouse(home, "run", "hi", "--model", model).code == 0
    # A folder where a file should be: nothing checks for that.
    (home / "server.json").mkdir()
    done = pilothouse(home, "run", "hi", "--model", model)
    assert done.code == 0, done.err
    assert json.loads(pilothouse(home, "models", "list", "--json").out)["defaultModelId"] == "embedded"
