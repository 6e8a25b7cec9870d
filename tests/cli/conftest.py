"""Scripts for the scripted model, a server, and what a failed command says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.commands import Outcome, Screen
from tests.support.mcp_servers import scripted

Script = Callable[[str], str]


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Write a script and return the model that speaks it."""

    def write(text: str) -> str:
        path = tmp_path / "script.yaml"
        path.write_text(text, encoding="utf-8")
        return f"scripted:{path}"

    return write


@pytest.fixture
def by_words(home: Path) -> Path:
    """A home where texts are found by their words alone: what compares meanings is a process for each command."""
    home.mkdir(mode=0o700)
    (home / "config.json").write_text('{"embeddings": {"source": "off"}}', encoding="utf-8")
    return home


class Echo:
    """The server's command, and what it was sent."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._record = folder / "record"
        self._options = options

    @property
    def command(self) -> list[str]:
        return scripted("--record", self._record, "--say", "A line in the log.", *self._options)

    @property
    def was_started(self) -> bool:
        return self._record.exists()

    def called(self) -> list[str]:
        """Return the tools that were called, in order."""
        return [str(params["name"]) for params in self._calls()]

    def arguments(self) -> list[object]:
        """Return what they were called with."""
        return [params.get("arguments") for params in self._calls()]

    def _calls(self) -> list[dict[str, object]]:
        lines = self._record.read_text().splitlines() if self._record.exists() else []
        messages = [json.loads(line) for line in lines]
        return [message["params"] for message in messages if message.get("method") == "tools/call"]


@pytest.fixture
def echo(tmp_path: Path) -> Echo:
    """A server that was never started."""
    return Echo(tmp_path)


def say(screen: Screen, line: str, *answers: str) -> None:
    """Type a line where a chat asks for one, and wait until the screen shows these patterns, in this order."""
    screen.until("›")
    screen.type(f"{line}\r")
    for answer in answers:
        screen.until(answer)


def leave(screen: Screen, keys: str = "/quit\r") -> None:
    """Leave a chat where it asks for a line."""
    screen.until("›")
    screen.type(keys)
    assert screen.ended() == 0


def assert_told(done: Outcome, code: int, *parts: str) -> None:
    assert done.code == code, done
    assert "Traceback" not in done.err
    for part in parts:
        assert part in done.err, done.err
