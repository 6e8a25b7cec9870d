"""A process that is killed in the middle of a summary leaves a call that was made once, and nothing is lost."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from pilothouse.wiring import open_host
from tests.support import forked
from tests.support.chats import Chat
from tests.support.summary_chats import SUMMARY, summary_turns

pytestmark = pytest.mark.slow


def killed(home: Path, calls: Path) -> tuple[str, str]:
    """Let a process die; return the conversation and the run that it worked on."""
    code, said, _ = forked.run(["tests.faults.dying_summary", str(home), str(calls)], b"", env=os.environ, timeout=60)
    assert code == -signal.SIGKILL
    conversation, run = said.decode().split()
    return conversation, run


@pytest.mark.case("RES-04")
async def test_whoever_goes_on_sums_up_what_was_kept_and_calls_nothing_again(home: Path) -> None:
    calls = home.parent / "calls"
    conversation, run = killed(home, calls)
    file = home.parent / "script.json"
    file.write_text(json.dumps({"turns": summary_turns(SUMMARY)}))
    async with open_host(home, role="server") as host:
        chat = Chat(host, conversation, file)
        assert (await chat.settled(run)).status == "completed"
        [call] = await chat.items("tool_call")
        assert (call.status, call.text.endswith(SUMMARY)) == ("completed", True)
        assert [item.status for item in await chat.items("tool_summary")] == ["failed", "completed"]
    assert calls.read_text() == "called\n"
