"""Runs and their replays: a server that records its calls, further scripts, and what a replay wrote."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pilothouse.types.items import Item
from pilothouse.types.replays import ReplayWish, RunDifference
from pilothouse.types.runs import Run
from pilothouse.types.servers import ConsentGiven, ServerInput
from tests.support.chats import ME, Chat
from tests.support.mcp_servers import SCRIPTED


async def add_server(chat: Chat, record: Path, name: str = "Far") -> str:
    """Add a server that appends each message it gets to a file; return its id."""
    args = (str(SCRIPTED), "--record", str(record))
    added = await chat.api.servers.add(ME, ServerInput(name=name, command=sys.executable, args=args))
    assert added.consent is not None
    await chat.api.servers.consent(ME, added.id, ConsentGiven(fingerprint=added.consent.fingerprint))
    assert (await chat.api.servers.test(ME, added.id)).ok
    return added.id


def count_calls(record: Path) -> int:
    """Return how many calls a server got."""
    return sum('"tools/call"' in line for line in record.read_text().splitlines()) if record.exists() else 0


def echo(text: str) -> dict[str, Any]:
    """Return a step that calls the server's echo."""
    return {"call": "far__echo", "arguments": {"text": text}}


def add_script(chat: Chat, turns: Sequence[Any], name: str = "other") -> str:
    """Return the id of a further scripted model."""
    script = chat.script.parent / f"{name}.json"
    script.write_text(json.dumps({"turns": list(turns)}))
    return f"scripted:{script}"


async def replay_run(chat: Chat, run_id: str, **wish: Any) -> Run:
    """Replay a run to its end."""
    accepted = await chat.api.branches.replay(ME, run_id, ReplayWish(**wish))
    return await chat.settled(accepted.run_id)


async def run_items(chat: Chat, run: Run, *kinds: str) -> list[Item]:
    """Return what a run itself has in the timeline."""
    items = (await chat.api.conversations.get(ME, chat.id, 500, run.branch)).items
    return [item for item in items if item.run_id == run.id and (not kinds or item.kind in kinds)]


async def compare_runs(chat: Chat, before: Run, after: Run) -> RunDifference:
    """Return how two runs differ."""
    return await chat.api.branches.difference(ME, before.id, after.id)
