"""The open indexes: one for each working directory that someone asked about."""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from pilothouse.tools.search.grammars import Grammars
from pilothouse.tools.search.index import Index, IndexProgress
from pilothouse.tools.search.index_file import reading
from pilothouse.tools.search.indexing import IndexParts
from pilothouse.tools.search.queries import count_symbols
from pilothouse.types import limits
from pilothouse.types.ports import PathGuard
from pilothouse.types.searching import IndexState, IndexView


class Indexes:
    """Opens indexes when they are asked for and closes them at the end. Used from one event loop."""

    def __init__(
        self, folder: Path, guard: PathGuard, holds_secret: Callable[[str], bool] = lambda _text: False
    ) -> None:
        self._folder = folder
        self._guard = guard
        self._holds_secret = holds_secret
        self.grammars = Grammars()
        self._open: OrderedDict[str, Index] = OrderedDict()
        self._closing: set[asyncio.Future[None]] = set()

    def get(self, root: str) -> Index:
        """Return the index of a folder; it is begun when there is none."""
        index = self._open.get(root)
        if index is not None and index.progress.problem:
            self._close(root)
            index = None
        if index is None:
            guard = self._guard

            def protects(path: str, identity: tuple[int, int]) -> str:
                return guard.protects(os.path.join(root, path), identity, "reads")

            index = Index(root, self._file(root), IndexParts(protects, self.grammars, self._holds_secret))
            index.begin()
            self._open[root] = index
        self._open.move_to_end(root)
        while len(self._open) > limits.INDEXES_OPEN:
            self._close(next(iter(self._open)))
        return index

    def peek(self, root: str) -> Index | None:
        """Return the index of a folder if it is open."""
        return self._open.get(root)

    async def view(self, root: str) -> IndexView:
        """Return how the index of a folder stands; it is not begun for that."""
        index = self._open.get(root)
        if index is None:
            return IndexView(working_directory=root, state="none")
        progress = index.progress
        symbols = await asyncio.to_thread(_symbols, index)
        return IndexView(
            working_directory=root,
            state=_state(progress),
            files=progress.files,
            symbols=symbols,
            done=progress.done,
            total=progress.total,
            watched=progress.watched,
            problem=progress.problem,
        )

    async def close(self) -> None:
        """Close them all; nothing of them runs afterwards."""
        for root in list(self._open):
            self._close(root)
        if self._closing:
            await asyncio.wait(self._closing)
        await asyncio.to_thread(self.grammars.close)

    def _close(self, root: str) -> None:
        index = self._open.pop(root)
        closing = asyncio.ensure_future(asyncio.to_thread(index.close))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def _file(self, root: str) -> Path:
        return self._folder / f"{sha256(os.fsencode(root)).hexdigest()[:24]}.sqlite"


def _state(progress: IndexProgress) -> IndexState:
    if progress.problem:
        return "failed"
    return "fresh" if progress.fresh else "building"


def _symbols(index: Index) -> int:
    if not index.file.exists():
        return 0
    with reading(index.file) as connection:
        return count_symbols(connection)
