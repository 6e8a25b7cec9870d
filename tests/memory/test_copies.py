"""A copy of a database has the memories, and they go on from there on either database."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pilothouse.store.opening import OpenStore, open_store
from tests.memory.services import MemoryServices
from tests.store.test_backup import copied, other_url, put_into
from tests.support.records import OWNER

__all__ = ["other_url"]


async def test_memories_come_back_are_found_and_new_ones_come_after_them(
    opened: OpenStore, other_url: str, tmp_path: Path
) -> None:
    before = MemoryServices(opened.store)
    for text in ("The boat is in the harbour.", "Bread is in the box.", "Grüße an Anna."):
        await before.say(text)
    gone = await before.say("Gone tomorrow.")
    await before.service.forget(OWNER, gone.memory.key)
    file = await asyncio.to_thread(copied, opened.database, tmp_path / "copy")
    await asyncio.to_thread(put_into, other_url, file, tmp_path)
    again = open_store(tmp_path / "other", None if "sqlite" in other_url else other_url, lambda *_: None)
    try:
        after = MemoryServices(again.store)
        assert await after.texts() == await before.texts()
        assert await after.found("grüße") == ["Grüße an Anna."]
        assert await after.found("tomorrow") == []
        for part in ("mast", "sail", "keel", "hull", "oar"):
            await after.say(f"The {part} has a mark of its own: {part * 3}.", title=part)
        assert len(await after.found("mast")) == 1
        assert (await after.service.restore(OWNER, gone.memory.key)).text == "Gone tomorrow."
        assert len(await after.texts()) == 9
    finally:
        await again.close()
