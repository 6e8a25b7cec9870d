"""A command in this process says and does what it does in a process of its own, and leaves this one as it was."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from tests.support import in_process
from tests.support.commands import pilothouse, pilothouse_process

TYPED = {
    "the version": ["--version"],
    "help": ["conversations", "--help"],
    "what is no command": ["no", "command"],
    "a model that is not there": ["run", "-", "--json", "--model", "scripted:none.yaml"],
    "a table": ["policy", "list"],
    "JSON": ["settings", "--json"],
}


@pytest.mark.parametrize("typed", TYPED.values(), ids=TYPED)
def test_a_command_ends_and_says_what_it_does_in_a_process_of_its_own(tmp_path: Path, typed: list[str]) -> None:
    here = pilothouse(tmp_path / "here", *typed, stdin="Grüße")
    assert here == pilothouse_process(tmp_path / "there", *typed, stdin="Grüße")


def process_state() -> list[object]:
    """Return what a command must find again when it has ended."""
    names = ("pilothouse", "pilothouse.mcp", "httpx2", "")
    return [
        dict(os.environ),
        os.getcwd(),
        (sys.argv, sys.stdin, sys.stdout, sys.stderr, sys.excepthook),
        {number: signal.getsignal(number) for number in signal.valid_signals()},
        (gc.get_threshold(), gc.isenabled()),
        [(logging.getLogger(name).level, list(logging.getLogger(name).handlers)) for name in names],
        {each for each in threading.enumerate() if not each.daemon},
    ]


def test_a_command_leaves_this_process_as_it_was(home: Path, tmp_path: Path) -> None:
    (tmp_path / "script.yaml").write_text("- ok", encoding="utf-8")
    before, frozen = process_state(), gc.get_freeze_count()
    done = pilothouse(home, "run", "hi", "--model", f"scripted:{tmp_path / 'script.yaml'}", PILOTHOUSE_DEBUG="1")
    assert (done.code, done.out) == (0, "ok\n")
    assert process_state() == before
    # What it made can be found as garbage later.
    assert gc.get_freeze_count() <= frozen


async def test_a_command_runs_beside_a_loop(home: Path) -> None:
    before = process_state()[:3]
    blocking = pilothouse(home, "settings", "--json")
    beside = await asyncio.gather(*(asyncio.to_thread(pilothouse, home, "settings", "--json") for _ in range(3)))
    assert blocking.code == 0
    assert all(each == blocking for each in beside)
    assert process_state()[:3] == before


@pytest.mark.parametrize(
    ("raised", "code", "told"),
    [
        (SystemExit(259), 3, ""),
        (SystemExit(None), 0, ""),
        (SystemExit("a sentence"), 1, "a sentence\n"),
        (ValueError("in vain"), 1, "ValueError: in vain\n"),
    ],
)
def test_an_end_has_the_code_that_the_interpreter_would_give_it(
    home: Path, monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int, told: str
) -> None:
    def end() -> None:
        raise raised

    monkeypatch.setattr(in_process, "main", end)
    done = pilothouse(home, "usage")
    assert done.code == code
    assert done.err.endswith(told)
    assert bool(told) == bool(done.err)


def test_a_thread_that_a_command_leaves_behind_is_a_failure(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enough = threading.Event()
    left = threading.Thread(target=enough.wait, name="left behind")
    monkeypatch.setattr(in_process, "main", left.start)
    try:
        with pytest.raises(AssertionError, match="left behind"):
            pilothouse(home, "usage")
    finally:
        enough.set()
        left.join()


def test_what_only_a_process_can_have_is_refused(home: Path) -> None:
    with pytest.raises(AssertionError, match="when it starts"):
        pilothouse(home, "usage", TZ="Asia/Tokyo")
    with pytest.raises(AssertionError, match="process of its own"):
        pilothouse(home, "serve", "--port", "0")
