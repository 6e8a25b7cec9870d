"""The part of the store that gives conversations away as files and takes them in.

How is imported by the first that does: most programs never do, and a command should start fast.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import sqlalchemy as sa

from pilothouse.store.database import Database
from pilothouse.store.writer import Publish
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.exchange import Imported, ImportedConversation
from pilothouse.types.items import Item
from pilothouse.types.records import Settle

if TYPE_CHECKING:
    from pilothouse.store.exchange import Put


class ExchangeStore:
    """Exports and imports; what passes through is in files of the data folder, never all of it in memory."""

    def __init__(self, database: Database, publish: Publish, folder: Path) -> None:
        self._exchanged = database
        self._tell = publish
        self._folder = folder

    async def export(self, owner: str, conversation_id: str) -> AsyncIterator[bytes]:
        """Return a conversation with everything in it as lines, as it is now."""
        from pilothouse.store import exchange  # noqa: PLC0415

        def write(sink: BinaryIO) -> None:
            self._exchanged.read_now(lambda connection: exchange.write(connection, owner, conversation_id, sink))

        file: BinaryIO = await asyncio.to_thread(tempfile.TemporaryFile, dir=self._folder)
        try:
            await asyncio.to_thread(write, file)
            file.seek(0)
        except BaseException:
            file.close()
            raise
        return _chunks(file)

    async def items_after(self, owner: str, conversation_id: str, after: int, limit: int) -> list[Item]:
        """Return items after a position, in order."""
        from pilothouse.store import exchange  # noqa: PLC0415

        return await self._exchanged.read(lambda c: exchange.items_after(c, owner, conversation_id, after, limit))

    async def import_conversations(self, owner: str, chunks: AsyncIterator[bytes], settle: Settle) -> Imported:
        """Take the conversations of a file over; what was at work in them is settled by this rule."""
        from pilothouse.store import exchange  # noqa: PLC0415

        loop = asyncio.get_running_loop()

        def put(work: Callable[[sa.Connection], Any]) -> Any:
            return asyncio.run_coroutine_threadsafe(self._exchanged.write(work), loop).result()

        folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix=".import-", dir=self._folder))
        try:
            total = await _received(chunks, folder / "file")
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        if not total:
            shutil.rmtree(folder, ignore_errors=True)
            return Imported(conversations=())
        # The thread goes on when nobody waits for it any more, and clears up after itself.
        taken = await asyncio.to_thread(_take_over, folder, owner, settle, put)
        for one in taken:
            if not one.already:
                self._tell(one.id, await self._exchanged.read(lambda c, one=one: exchange.newest(c, one.id)))  # type: ignore[misc]
        return Imported(conversations=tuple(taken))


def _take_over(folder: Path, owner: str, settle: Settle, put: Put) -> list[ImportedConversation]:
    from pilothouse.store import exchange  # noqa: PLC0415
    from pilothouse.store.portable import reading  # noqa: PLC0415

    try:
        with reading(folder / "file", "The file") as lines, closing(exchange.Staged(folder, lines)) as staged:
            return exchange.take_over(staged, staged.fill(owner, settle), owner, put)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _received(chunks: AsyncIterator[bytes], target: Path) -> int:
    """Write what comes into a file, up to a bound; return how much it was."""
    total = 0
    with await asyncio.to_thread(target.open, "wb") as file:
        async for chunk in chunks:
            total += len(chunk)
            if total > limits.CONVERSATIONS_FILE_BYTES:
                size = f"{limits.CONVERSATIONS_FILE_BYTES // 2**20} MiB"
                fix = "Export fewer conversations at once, or use a backup."
                raise PilothouseError("too_large", f"A file of conversations has at most {size}.", fix=fix)
            await asyncio.to_thread(file.write, chunk)
    return total


async def _chunks(file: BinaryIO) -> AsyncGenerator[bytes, None]:
    with file:
        while chunk := await asyncio.to_thread(file.read, limits.DOWNLOAD_BYTES):
            yield chunk
