"""What is promised is on disk before anyone hears of it, and one fsync is enough for all who wait."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types import limits
from tests.faults.unsynced_disk import Disk
from tests.support import forked
from tests.support.servers import Server

AT_ONCE = 50
# A generous timeout: only a hang exceeds it.
AMPLE = 60.0
PIECES = 2_000


@pytest.fixture
def disk(synced_library: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    """The disk of the servers that this test starts."""
    disk = Disk(synced_library, home, tmp_path / "disk")
    for name, value in disk.environment.items():
        monkeypatch.setenv(name, value)
    return disk


@pytest.fixture
def server(disk: Disk, home: Path) -> Iterator[Server]:
    with Server(home) as server:
        yield server


def scripted(folder: Path, *turns: Any) -> str:
    """Write a script and return its model."""
    path = folder / "script.json"
    path.write_text(json.dumps({"turns": turns}))
    return f"scripted:{path}"


def begin(server: Server, **settings: Any) -> str:
    return str(server.post("/api/conversations", {"settings": settings}, 201)["id"])


def send(server: Server, conversation: str, model: str, **more: Any) -> str:
    body = {"text": "Go", "modelId": model, **more}
    return str(server.post(f"/api/conversations/{conversation}/messages", body, 202)["runId"])


def synced_by_run(disk: Disk, server: Server, conversation: str, model: str) -> int:
    """Return how often a run had the log synced, besides what is done now and then however little is promised."""
    before, began = disk.log_syncs, time.monotonic()
    server.wait_for_run(send(server, conversation, model), "completed", within=60)
    now_and_then = 1 + int((time.monotonic() - began) / limits.UNSYNCED_SECONDS)
    return disk.log_syncs - before - now_and_then


@pytest.mark.case("F-47")
def test_what_is_told_to_be_kept_was_synced_before(disk: Disk, server: Server, tmp_path: Path) -> None:
    # The model says nothing until the end of the test: only the promise itself can have been synced.
    held = scripted(tmp_path, [{"wait": 60, "until": str(tmp_path / "go")}, {"text": "Yes."}])
    before = disk.log_syncs
    conversation = begin(server)
    created = disk.log_syncs
    assert created > before
    send(server, conversation, held)
    accepted = disk.log_syncs
    assert accepted > created
    assert server.client.patch(f"/api/conversations/{conversation}", json={"title": "Mine"}).status_code == 200
    renamed = disk.log_syncs
    assert renamed > accepted
    other = begin(server)
    before = disk.log_syncs
    assert server.client.delete(f"/api/conversations/{other}").status_code in (200, 204)
    assert disk.log_syncs > before
    (tmp_path / "go").touch()


def test_fifty_messages_at_once_share_a_few_fsyncs(disk: Disk, home: Path, tmp_path: Path) -> None:
    module = ["tests.faults.messages_at_once", str(home), str(tmp_path / "disk"), str(AT_ONCE)]
    code, out, said = forked.run(module, b"", env=os.environ, timeout=AMPLE)
    assert code == 0, said.decode()
    # One for whoever came first, and one for all who came while the disk was busy with that; a third one may already
    # be over when the last message is counted.
    assert 1 <= int(out) <= 3, f"{int(out)} fsyncs for {AT_ONCE} messages"


def test_a_streamed_answer_costs_few_fsyncs_however_many_its_pieces(disk: Disk, server: Server, tmp_path: Path) -> None:
    model = scripted(tmp_path, [{"text": "word " * PIECES, "pieces": 5, "every": 0.001}])
    conversation = begin(server, modelId=model)
    taken = synced_by_run(disk, server, conversation, model)
    # The message and the end of the run; the text was saved four times a second.
    assert taken <= 2, f"{taken} fsyncs for {PIECES} pieces"
    items = server.get(f"/api/conversations/{conversation}")["items"]
    assert items[-1]["text"] == "word " * PIECES


@pytest.mark.parametrize("calls", [1, 8])
def test_a_round_waits_for_the_disk_before_its_calls_and_after_them(
    disk: Disk, server: Server, tmp_path: Path, calls: int
) -> None:
    rounds = 3
    asked = [{"call": "think", "arguments": {"thoughts": "hm"}} for _ in range(calls)]
    model = scripted(tmp_path, *([asked] * rounds), "Done.")
    conversation = begin(server, modelId=model)
    disk.slow_down(0.05)
    taken = synced_by_run(disk, server, conversation, model)
    # The message and the end; of each round the intents together, and the results together.
    assert taken <= 2 + rounds * 2, f"{taken} fsyncs for {rounds} rounds of {calls} calls"
