"""Conversations given away as files and taken in: what passes through is in files, never all of it in memory."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO

import sqlalchemy as sa

from pilothouse.store import exchange
from pilothouse.store.database import Database
from pilothouse.store.portable import reading
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.exchange import ImportedConversation
from pilothouse.types.records import Settle


async def export(database: Database, folder: Path, owner: str, conversation_id: str) -> AsyncIterator[bytes]:
    """Return a conversation with everything in it as lines, as it is now."""

    def write(sink: BinaryIO) -> None:
        database.read_now(lambda connection: exchange.write(connection, owner, conversation_id, sink))

    file: BinaryIO = await asyncio.to_thread(tempfile.TemporaryFile, dir=folder)
    try:
        await asyncio.to_thread(write, file)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return _chunks(file)


async def taken_over(
    database: Database, folder: Path, owner: str, chunks: AsyncIterator[bytes], settle: Settle
) -> tuple[ImportedConversation, ...]:
    """Take the conversations of a file over; what was at work in them is settled by this rule."""
    loop = asyncio.get_running_loop()

    def put(work: Callable[[sa.Connection], Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(database.write(work), loop).result()

    room = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix=".import-", dir=folder))
    try:
        await _received(chunks, room / "file")
    except BaseException:
        shutil.rmtree(room, ignore_errors=True)
        raise
    # The thread goes on when nobody waits for it any more, and clears up after itself.
    return await asyncio.to_thread(_take_over, room, owner, settle, put)


def _take_over(folder: Path, owner: str, settle: Settle, put: exchange.Put) -> tuple[ImportedConversation, ...]:
    try:
        with reading(folder / "file", "The file") as lines, closing(exchange.Staged(folder, lines)) as staged:
            return tuple(exchange.take_over(staged, staged.fill(owner, settle), owner, put))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _received(chunks: AsyncIterator[bytes], target: Path) -> None:
    """Write what comes into a file, up to a bound."""
    total = 0
    with await asyncio.to_thread(target.open, "wb") as file:
        async for chunk in chunks:
            total += len(chunk)
            if total > limits.CONVERSATIONS_FILE_BYTES:
                size = f"{limits.CONVERSATIONS_FILE_BYTES // 2**20} MiB"
                fix = "Export fewer conversations at once, or use a backup."
                raise PilothouseError("too_large", f"A file of conversations has at most {size}.", fix=fix)
            await asyncio.to_thread(file.write, chunk)


async def _chunks(file: BinaryIO) -> AsyncGenerator[bytes, None]:
    with file:
        while chunk := await asyncio.to_thread(file.read, limits.DOWNLOAD_BYTES):
            yield chunk
