"""A process that is killed while older turns are summed up loses neither the wish nor what waits behind it."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from pilothouse.wiring import open_host
from tests.faults.dying_compaction import SUMMARY
from tests.support import forked
from tests.support.chats import Chat

pytestmark = pytest.mark.slow


def killed(home: Path) -> list[str]:
    """Let a process die; return the conversation, the run that it worked on and the one behind it."""
    code, said, _ = forked.run(["tests.faults.dying_compaction", str(home)], b"", env=os.environ, timeout=60)
    assert code == -signal.SIGKILL
    return said.decode().split()


@pytest.mark.case("CHT-01")
async def test_whoever_goes_on_sums_up_first_and_then_answers_what_waited(home: Path) -> None:
    conversation, asked, behind = killed(home)
    file = home.parent / "script.json"
    turns = [{"match": "Person: ", "steps": [SUMMARY]}, {"match": "which was it", "steps": ["8123."]}]
    file.write_text(json.dumps({"turns": turns}))
    async with open_host(home, role="server") as host:
        chat = Chat(host, conversation, file)
        assert (await chat.settled(asked)).status == "completed"
        assert (await chat.settled(behind)).status == "completed"
        told = [(item.status, item.text) for item in await chat.items("compaction", "response")]
        assert told == [
            ("completed", "Port 8123, then."),
            ("failed", ""),
            ("completed", SUMMARY),
            ("completed", "8123."),
        ]
        made = (await chat.items("compaction"))[-1]
        assert (made.raw["keep"], made.raw["messages"]) == ("the port", 2)
