"""`pilothouse mcp add` and `update` with packages: shown first, and taken only with the fingerprint that was shown."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tests.support.commands import Outcome, pilothouse
from tests.support.package_indexes import indexes

pytestmark = pytest.mark.slow


async def run(home: Path, *arguments: str) -> Outcome:
    """Run a command while the index, which is ours, answers."""
    return await asyncio.to_thread(pilothouse, home, "mcp", *arguments)


def fingerprint(said: Outcome) -> str:
    found = re.search(r"--consent ([0-9a-f]{64})", said.err)
    assert found is not None, said
    return found[1]


async def test_a_package_is_added_updated_and_removed_from_a_terminal(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with indexes(monkeypatch) as index:
        index.node("tiny-server", "1.0.0")
        index.node("tiny-server", "1.1.0")
        asked = await run(home, "add", "npx", "-y", "tiny-server@1.0.0")
        assert asked.code == 3
        assert "tiny-server 1.0.0 of npm is installed into a folder of its own" in asked.err
        started = await run(home, "enable", "tiny-server", "--consent", fingerprint(asked))
        assert (started.code, "offers 1 tool" in started.out + started.err) == (0, True)
        newer = await run(home, "update", "tiny-server")
        assert newer.code == 3
        assert "tiny-server has version 1.1.0, instead of 1.0.0." in newer.out
        assert "changed since you agreed: Version: was 1.0.0, is 1.1.0." in newer.err
        taken = await run(home, "update", "tiny-server", "--consent", fingerprint(newer))
        assert taken.code == 0, taken
        again = await run(home, "update", "tiny-server")
        assert (again.code, again.out) == (0, "tiny-server: 1.1.0 is the newest version.\n")
        assert (await run(home, "remove", "tiny-server")).code == 0
        assert list((home / "servers").iterdir()) == []
        wrong = await run(home, "add", "npx", "-y", "no-such-server")
        assert (wrong.code, "There is no package no-such-server on npm." in wrong.err) == (2, True)
