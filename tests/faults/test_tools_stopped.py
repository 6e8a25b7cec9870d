"""Stop, pressed at every event of a run that writes and runs commands: it ends, and nothing is half done."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pilothouse.types.api import NewConversation, NewMessage
from pilothouse.types.conversations import ConversationSettings
from pilothouse.wiring import open_host
from tests.faults.test_cancel_loop import CancelAt
from tests.faults.test_tools_killed import LEAVE, STEPS, lines_in, write_script

OWNER = "local"


@pytest.mark.case("F-52")
@pytest.mark.timeout(300)
async def test_stop_at_every_event_leaves_whole_files_and_no_process(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = write_script(tmp_path)
    stop = CancelAt(monkeypatch)
    async with open_host(home) as host:
        number, cancelled = 4, 0
        while True:
            folder = tmp_path / f"folder-{number}"
            await asyncio.to_thread(prepare, folder)
            settings = ConversationSettings(working_directory=str(folder), model_id=f"scripted:{script}")
            conversation = await host.api.conversations.create(OWNER, NewConversation(settings=settings))
            run = await stop.post(host, conversation.id, NewMessage(text="Go", allow=tuple(LEAVE)), number)
            if run is None:
                break
            cancelled += run.status == "cancelled"
            lines = await asyncio.to_thread(lines_in, folder)
            assert all(lines.count(str(step)) <= 1 for step in range(1, STEPS + 1))
            assert {path.name for path in folder.iterdir()} <= {"notes.txt", "ran.txt"}, "a temporary file was left"
            number += 2
        assert cancelled > 10


def prepare(folder: Path) -> None:
    folder.mkdir()
    (folder / "notes.txt").write_text("begin\n", encoding="utf-8")
