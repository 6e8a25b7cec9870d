from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

from tests.support import leaks

pytestmark = pytest.mark.slow


def test_an_open_descriptor_is_seen_until_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaks, "GRACE", 0.05)
    before = leaks.snapshot()
    reading, writing = os.pipe()
    try:
        assert any("pipe" in line for line in leaks.left_since(before))
    finally:
        os.close(reading)
        os.close(writing)
    assert leaks.left_since(before) == []


def test_a_running_child_is_seen_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaks, "GRACE", 0.05)
    before = leaks.snapshot()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert f"process {child.pid}" in leaks.left_since(before)
    finally:
        child.communicate(b"\n", timeout=10)
    assert leaks.left_since(before) == []


async def test_a_running_task_is_seen_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaks, "GRACE", 0.05)
    before = leaks.tasks()
    gate = asyncio.Event()
    waiting = asyncio.create_task(gate.wait(), name="forgotten")
    assert "forgotten" in "".join(await leaks.tasks_left(before))
    gate.set()
    await waiting
    assert await leaks.tasks_left(before) == []
