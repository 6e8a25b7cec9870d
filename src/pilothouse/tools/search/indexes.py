"""The open indexes: one for each working directory that someone asked about."""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

from pilothouse.tools.search.grammars import Grammars
from pilothouse.tools.search.index import Index, IndexProgress
from pilothouse.tools.search.index_file import reading
from pilothouse.tools.search.indexing import IndexParts
from pilothouse.tools.search.passage_meanings import Embedding
from pilothouse.tools.search.queries import count_symbols
from pilothouse.types import limits
from pilothouse.types.access import Access
from pilothouse.types.meaning import Meaning, WordsOnly
from pilothouse.types.ports import PathGuard, Withheld, nothing_withheld
from pilothouse.types.searching import IndexState, IndexView

SEMANTIC = "semantic_search"


class Indexes:
    """Opens indexes when they are asked for and closes them at the end. Used from one event loop."""

    def __init__(
        self,
        folder: Path,
        guard: PathGuard,
        holds_secret: Callable[[str], bool] = lambda _text: False,
        meaning: Meaning | None = None,
        withheld: Withheld = nothing_withheld,
    ) -> None:
        self._folder = folder
        self._guard = guard
        self._holds_secret = holds_secret
        self.meaning = meaning or WordsOnly()
        self._withheld = withheld
        self._embedding: set[asyncio.Future[Sequence[bytes]]] = set()
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

            parts = IndexParts(protects, self.grammars, self._holds_secret, self._embedding_of(root))
            index = Index(root, self._file(root), parts)
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
        if self._embedding:
            await asyncio.wait(self._embedding)
        await asyncio.to_thread(self.grammars.close)

    def _embedding_of(self, root: str) -> Embedding:
        """Return who makes the vectors of a folder's passages; what a rule denies is given to no model."""
        meaning, guard = self.meaning, self._guard
        loop = asyncio.get_running_loop()
        search = Access(operation=f"file_operations.{SEMANTIC}")

        def withheld(path: str, identity: tuple[int, int]) -> str:
            whole = os.path.join(root, path)
            why = guard.protects(whole, identity, "reads")
            return why or ("withheld" if self._withheld(search, root)(whole) else "")

        return Embedding(
            model=lambda: meaning.model if meaning.is_there else "",
            embed=lambda texts: asyncio.run_coroutine_threadsafe(self._embed(texts), loop),
            withheld=withheld,
            holds_secret=self._holds_secret,
        )

    async def _embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        task = asyncio.ensure_future(self.meaning.embed(texts))
        self._embedding.add(task)
        task.add_done_callback(self._embedding.discard)
        return await task

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
