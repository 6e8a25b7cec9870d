"""The log has one record per line, no secrets, and only its owner reads it."""

from __future__ import annotations

import json
import logging
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pilothouse.secrets.redaction import Redactor
from pilothouse.settings.logs import LOG_NAME, logging_to
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.runs import working_on

CANARY = "sk-canary-5up3r/s3cr3t+value"


@pytest.fixture
def redactor() -> Redactor:
    redactor = Redactor()
    redactor.learn(CANARY)
    return redactor


@pytest.fixture
def log(tmp_path: Path, redactor: Redactor) -> Iterator[Path]:
    with logging_to(tmp_path, redactor.redact):
        yield tmp_path / LOG_NAME


@pytest.mark.case("TEXT-07")
def test_a_line_break_in_a_logged_text_cannot_fake_a_record(log: Path) -> None:
    logging.getLogger("pilothouse.x").info("tool %s", 'evil\n{"level":"info","message":"fake"}\r\u2028\u0085more')
    lines = log.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1
    record = json.loads(lines[0])
    assert record["message"].startswith("tool evil\n{")
    assert (record["level"], record["logger"]) == ("info", "pilothouse.x")


def test_what_the_databases_driver_warns_of_is_in_the_log_and_not_on_the_terminal(tmp_path: Path) -> None:
    script = """
import logging, sys
from pathlib import Path
from pilothouse.settings.logs import logging_to
with logging_to(Path(sys.argv[1]), str):
    logging.getLogger("psycopg").warning("error ignored: the connection is lost")
"""
    # In a process of its own: where tests run, every logger has a handler.
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
    assert "the connection is lost" in (tmp_path / LOG_NAME).read_text(encoding="utf-8")


@pytest.mark.case("SECRET-02", "AUT-28")
def test_a_secret_never_reaches_the_log_not_even_in_an_exception(log: Path) -> None:
    try:
        raise RuntimeError(f"GET https://x/?key={CANARY} with Authorization: Bearer {CANARY}")
    except RuntimeError:
        logging.getLogger("pilothouse.x").exception("failed with %s", CANARY)
    text = log.read_text()
    assert CANARY not in text
    assert text.count("[redacted]") == 3
    assert "GET https://x/?key=" in json.loads(text)["error"]


@pytest.mark.case("WEB-15")
def test_only_the_owner_can_read_the_log(log: Path) -> None:
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_a_log_that_is_full_makes_room_and_forgets_the_oldest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LOG_BYTES", 2_000)
    with logging_to(tmp_path, str):
        for number in range(100):
            logging.getLogger("pilothouse.x").info("record %d of many", number)
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == [LOG_NAME, *(f"{LOG_NAME}.{number}" for number in range(1, limits.LOG_FILES + 1))]
    assert all(path.stat().st_size < 2_200 for path in tmp_path.iterdir())
    assert "record 99 of many" in (tmp_path / LOG_NAME).read_text()


def test_lines_say_which_process_wrote_them_and_which_run_they_are_about(tmp_path: Path) -> None:
    log = logging.getLogger("pilothouse.somewhere")
    with logging_to(tmp_path, lambda text: text, process="p_1"):
        log.info("outside")
        with working_on("c_1", "r_1"):
            log.info("inside")
        log.info("outside again")
    outside, inside, after = map(json.loads, (tmp_path / "pilothouse.log").read_text().splitlines())
    assert outside["process"] == inside["process"] == "p_1"
    assert (inside["conversation"], inside["run"]) == ("c_1", "r_1")
    assert "run" not in outside
    assert "run" not in after


def test_the_console_gets_the_same_lines_without_secrets_where_that_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = logging.getLogger("pilothouse.somewhere")
    monkeypatch.setenv("PILOTHOUSE_LOG", "json")
    with logging_to(tmp_path, lambda text: text.replace("hunter2", "••••"), process="p_1"):
        log.warning("the key is %s\nand that is all", "hunter2")
    said = capsys.readouterr().err
    assert said == (tmp_path / "pilothouse.log").read_text()
    (line,) = said.splitlines()
    assert json.loads(line)["message"] == "the key is ••••\nand that is all"


def test_without_that_wish_the_console_stays_quiet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PILOTHOUSE_LOG", raising=False)
    with logging_to(tmp_path, lambda text: text):
        logging.getLogger("pilothouse.somewhere").warning("something")
    assert capsys.readouterr().err == ""


def test_a_way_to_log_that_there_is_not_is_told_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILOTHOUSE_LOG", "xml")
    with pytest.raises(PilothouseError, match="PILOTHOUSE_LOG is “xml”"), logging_to(tmp_path, lambda text: text):
        pass
