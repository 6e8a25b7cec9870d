"""Vectors for the texts that have none: newest first, a few at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from pilothouse.meaning.embedder import Embedder, NoVectors
from pilothouse.types import limits
from pilothouse.types.meaning import MeaningKind, Purpose
from pilothouse.types.vectors import Lacking, Look, Vectors

_KINDS: tuple[MeaningKind, ...] = ("memory", "passage", "message")
_Ask = Callable[[Embedder, Sequence[str], Purpose], Awaitable[Sequence[bytes]]]
# A text that any endpoint takes.
_HARMLESS = "test"


class Making:
    """Goes through the texts in the database; only one does so at a time, whoever waits for it."""

    def __init__(self, vectors: Vectors, ask: _Ask) -> None:
        self._vectors = vectors
        self._ask = ask
        self._turn = asyncio.Lock()
        # Kinds of which there may be texts without a vector.
        self._open = set(_KINDS)
        # Up to which text all have been gone through, by kind and model.
        self._upto: dict[tuple[MeaningKind, str], int] = {}
        # Texts that an endpoint did not take; they are found by their words.
        self._refused: set[tuple[str, str]] = set()

    def changed(self, kind: MeaningKind) -> None:
        """Say that texts of a kind were written or removed."""
        self._open.add(kind)

    def forget(self, model: str) -> None:
        """Go through everything again for a model."""
        self._open.update(_KINDS)
        self._upto = {place: upto for place, upto in self._upto.items() if place[1] != model}
        self._refused.clear()

    async def catch_up(self, embedder: Embedder, kind: MeaningKind) -> None:
        """Make the vectors of a kind that are missing, for someone who waits; of very many texts only the newest."""
        if not self._is_open(embedder, kind):
            return
        if kind == "memory":
            await self._go_through(embedder, kind, full=False, rest=0.0)
            return
        async with self._turn:
            await self._step(embedder, kind, None, self._above(embedder, kind))

    async def everything(self, embedder: Embedder, *, full: bool) -> Sequence[MeaningKind]:
        """Make all vectors that are missing, with rests in between; return of which kinds there were any."""
        made: list[MeaningKind] = []
        for kind in _KINDS:
            if (full or self._is_open(embedder, kind)) and await self._go_through(
                embedder, kind, full=full, rest=limits.MEANING_REST_SHARE
            ):
                made.append(kind)
        return made

    def _is_open(self, embedder: Embedder, kind: MeaningKind) -> bool:
        return kind in self._open or (kind, embedder.id) not in self._upto

    def _above(self, embedder: Embedder, kind: MeaningKind) -> int:
        """Return above which text all are new; a memory may change, whichever it is."""
        upto = 0 if kind == "memory" else self._upto.get((kind, embedder.id), 0)
        return max(0, upto - limits.MEANING_LOOK_AGAIN)

    async def _go_through(self, embedder: Embedder, kind: MeaningKind, *, full: bool, rest: float) -> bool:
        # What is written while this goes on is for the next time.
        self._open.discard(kind)
        above = 0 if full else self._above(embedder, kind)
        below: int | None = None
        top, made = 0, False
        try:
            while below != 0:
                begun = time.monotonic()
                async with self._turn:
                    look = await self._step(embedder, kind, below, above)
                top, below, made = max(top, look.top), look.below, made or bool(look.texts)
                await asyncio.sleep((time.monotonic() - begun) * rest)
        except BaseException:
            self._open.add(kind)
            raise
        self._upto[kind, embedder.id] = top
        return made

    async def _step(self, embedder: Embedder, kind: MeaningKind, below: int | None, above: int) -> Look:
        look = await self._vectors.lacking(kind, embedder.id, below, above, limits.MEANING_BATCH_TEXTS)
        ready = [text for text in look.texts if text.vector]
        if ready:
            await self._vectors.keep(kind, embedder.id, ready, [text.vector for text in ready])
        waiting = [text for text in look.texts if not text.vector and (embedder.id, text.key) not in self._refused]
        while waiting:
            some = _first(waiting)
            waiting = waiting[len(some) :]
            await self._make(embedder, kind, some)
        return look

    async def _make(self, embedder: Embedder, kind: MeaningKind, texts: Sequence[Lacking]) -> None:
        try:
            vectors = await self._ask(embedder, [text.text for text in texts], "passage")
        except NoVectors as error:
            if not error.refused:
                raise
            # Whoever refuses this, too, refuses everything.
            await self._ask(embedder, [_HARMLESS], "passage")
            if len(texts) == 1:
                self._refused.add((embedder.id, texts[0].key))
                return
            for text in texts:
                await self._make(embedder, kind, [text])
            return
        await self._vectors.keep(kind, embedder.id, texts, vectors)


def _first(texts: Sequence[Lacking]) -> Sequence[Lacking]:
    """Return as many of the texts as are computed in a moment, one at least."""
    size = 0
    for count, text in enumerate(texts):
        size += len(text.text)
        if count and size > limits.MEANING_BATCH_CHARS:
            return texts[:count]
    return texts
