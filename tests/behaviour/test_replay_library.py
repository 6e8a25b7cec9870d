"""A set of runs as a test of another model, as the guide shows it."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pilothouse import Host, PilothouseError
from tests.support.commands import environment, server
from tests.support.source import ROOT

PATIENCE = 30.0
EXAMPLE = re.compile(r"<!-- replay example: tested from here -->\n```python\n(.*?)```", re.DOTALL)
THINK = {"call": "think", "arguments": {"thoughts": "Hm."}}
OTHER = {"call": "think", "arguments": {"thoughts": "Ah."}}


def script(folder: Path, name: str, turns: object) -> str:
    path = folder / f"{name}.json"
    path.write_text(json.dumps(turns))
    return f"scripted:{path}"


def _executed(home: Path, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=environment(home),
        check=False,
    )


async def recorded(host: Host, model: str) -> str:
    chat = await host.start(model=model)
    answer = await chat.send("Why?")
    await answer.text()
    return answer.run_id


async def test_a_set_of_runs_is_a_test_of_another_model_as_the_guide_shows(home: Path, tmp_path: Path) -> None:
    async with Host(home) as host:
        runs = [
            await recorded(host, script(tmp_path, "one", [[THINK], "Because."])),
            await recorded(host, script(tmp_path, "two", [[THINK], [THINK], "So."])),
            await recorded(host, script(tmp_path, "three", [[OTHER], "Never."])),
        ]
    found = EXAMPLE.search((ROOT / "docs" / "guide" / "replay.md").read_text(encoding="utf-8"))
    assert found is not None
    model = script(tmp_path, "next", [[THINK], "Because."])
    done = await asyncio.to_thread(_executed, home, found[1], model, *runs)
    assert done.returncode == 0, done.stderr
    stopped = 'The model called think with {"thoughts":"Hm."}. That was not recorded, so the replay stops here.'
    assert done.stdout.splitlines() == [
        f"{runs[0]}: same calls: Because.",
        "  1 same",
        "  2 same",
        f"{runs[1]}: other calls: Because.",
        "  1 same",
        "  2 calls, text",
        "  3 only_before",
        f"{runs[2]}: other calls: {stopped}",
        "  1 arguments",
        "  2 only_before",
    ]


@pytest.mark.parametrize("beside_a_server", [False, True])
async def test_a_replay_is_had_from_a_program(home: Path, tmp_path: Path, beside_a_server: bool) -> None:
    if not beside_a_server:
        await _replay(home, tmp_path)
        return
    with server(home):
        await _replay(home, tmp_path)


async def _replay(home: Path, folder: Path) -> None:
    async with Host(home) as host:
        chat = await host.start(model=script(folder, "one", [[THINK], "Because."]))
        await (await chat.send("Why?")).text()
        replay = await host.replay(chat.id, model=script(folder, "next", [[THINK], "Just so."]), temperature=0.1)
        assert (replay.run.status, replay.answer, replay.stopped) == ("completed", "Just so.", "")
        assert (replay.difference.same_calls, replay.difference.same_answer) == (True, False)
        assert replay.run.options.temperature == 0.1
        with pytest.raises(PilothouseError, match="There is no run and no conversation nobody"):
            await host.replay("nobody")
