"""Bytes on disk for each byte of text, after conversations whose answers were streamed, and what takes them."""

from __future__ import annotations

import argparse
import asyncio
import random
import sqlite3
import tempfile
from itertools import accumulate
from pathlib import Path

import msgspec

from bench.results import table, verdict
from bench.seeding import open_folder
from pilothouse.store.store import Store
from pilothouse.types.events import ItemCompleted, ItemCreated, ItemDelta, RunUpdated, utf16_length
from pilothouse.types.items import ItemKind
from pilothouse.types.json import JsonObject
from tests.support.records import a_conversation, a_posting, an_item

TARGET = 4.0
DOCS = Path(__file__).parents[1] / "docs"
# What a model writes in the quarter of a second between two durable pieces, at 50 tokens a second.
PIECE = 50
SENTENCE = 30
_USAGE: JsonObject = {"input": 2_140, "output": 380, "cacheRead": 1_900, "cacheWrite": 0, "reasoning": 0}


class Writer:
    """Writes conversations as people and models have them: a question, thoughts, a call now and then, an answer."""

    def __init__(self, store: Store, seed: int) -> None:
        self._store = store
        self._chance = random.Random(seed)
        self._words = [word for file in sorted(DOCS.rglob("*.md")) for word in file.read_text().split()]
        self.bytes = 0

    async def conversation(self, turns: int) -> None:
        """Write one."""
        made = msgspec.structs.replace(a_conversation(), title=self._text(5), title_source="person")
        conversation = await self._store.add_conversation(made)
        for turn in range(turns):
            posting = a_posting(conversation.id, self._text(25))
            accepted = await self._store.post_message(posting)
            run = await self._store.claim_next(conversation.id, "p_bench")
            assert run is not None
            if turn % 2:
                await self._said(conversation.id, accepted.run_id, "thinking", 120)
                await self._call(conversation.id, accepted.run_id)
            await self._said(conversation.id, accepted.run_id, "response", self._chance.choice((60, 180, 400)))
            ended = msgspec.structs.replace(run, status="completed", process=None)
            await self._store.append(conversation.id, [RunUpdated(run=ended)], None)

    async def _said(self, conversation_id: str, run_id: str, kind: ItemKind, words: int) -> None:
        item = an_item(conversation_id, kind, run_id=run_id)
        text = self._text(words)
        data = {"model": "bench/model", "usage": _USAGE, "firstTokenMs": 312, "durationMs": 7_400, "turn": 1}
        pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
        offsets = accumulate(map(utf16_length, pieces), initial=0)
        await self._store.append(conversation_id, [ItemCreated(item=item)], None)
        for piece, offset in zip(pieces, offsets, strict=False):
            delta = ItemDelta(item_id=item.id, offset=offset, text=piece)
            await self._store.append(conversation_id, [delta], None, promised=False)
        await self._store.append(conversation_id, [ItemCompleted(item_id=item.id, status="completed", data=data)], None)

    async def _call(self, conversation_id: str, run_id: str) -> None:
        data: JsonObject = {"callId": "call_1", "tool": "file_operations", "arguments": {"path": self._text(1)}}
        item = an_item(conversation_id, "tool_call", run_id=run_id, data=data)
        result = self._text(150)
        ended = ItemCompleted(item_id=item.id, status="completed", data={"phase": "completed", "durationMs": 12})
        await self._store.append(conversation_id, [ItemCreated(item=item)], None)
        await self._store.append(conversation_id, [ItemDelta(item_id=item.id, offset=0, text=result), ended], None)

    def _text(self, words: int) -> str:
        """Return a few sentences of our own documentation, from anywhere in it."""
        lines = []
        for left in range(words, 0, -SENTENCE):
            at = self._chance.randrange(len(self._words))
            lines.append(" ".join(self._words[at : at + min(left, SENTENCE)]))
        text = "\n".join(lines)
        self.bytes += len(text.encode())
        return text


async def fill(folder: Path, conversations: int, turns: int) -> int:
    """Write conversations into a data folder, finish what is done in the background, and return their text's bytes."""
    opened = open_folder(folder)
    try:
        writer = Writer(opened.store, 7)
        for first in range(0, conversations, 50):
            many = range(first, min(conversations, first + 50))
            await asyncio.gather(*(writer.conversation(turns) for _ in many))
        while await opened.store.pack():
            pass
        return writer.bytes
    finally:
        await opened.close()


def parts(file: Path) -> list[tuple[str, int]]:
    """Return what takes how many bytes in a database, largest first; all in one where SQLite cannot tell."""
    connection = sqlite3.connect(file)
    try:
        query = "SELECT name, sum(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC"
        found = [(str(name), int(size)) for name, size in connection.execute(query)]
        free = connection.execute("PRAGMA freelist_count").fetchone()[0] * 4096
        return [*found, ("free pages", free)]
    except sqlite3.OperationalError:
        return [("everything", file.stat().st_size)]
    finally:
        connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--turns", type=int, default=6)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        home = Path(folder) / "home"
        text = asyncio.run(fill(home, options.conversations, options.turns))
        file = home / "pilothouse.db"
        size = file.stat().st_size
        rows = [(name, f"{taken:,}", f"{taken / text:.2f}") for name, taken in parts(file) if taken / text >= 0.01]
    title = f"{options.conversations} conversations with {text:,} bytes of text"
    table(title, [("", "bytes", "for a byte of text"), *rows, ("the file", f"{size:,}", f"{size / text:.2f}")])
    verdict("bytes on disk for a byte of text", size / text, TARGET)


if __name__ == "__main__":
    main()
