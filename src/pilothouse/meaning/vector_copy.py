"""The files of vectors, kept in step with the table and asked: for databases that compare no vectors themselves."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path

from pilothouse.meaning.computing import add, drop, find
from pilothouse.meaning.process import Computing
from pilothouse.meaning.rows import Added, Dropped, Place, Row, Standing, Wanted
from pilothouse.types import limits
from pilothouse.types.meaning import MeaningKind
from pilothouse.types.vectors import Asked, KeptVector, Vectors


class VectorCopy:
    """A file for each kind of text."""

    def __init__(self, vectors: Vectors, computing: Computing, folder: Path) -> None:
        self._vectors = vectors
        self._computing = computing
        self._folder = folder
        # Up to which vector each file has the table's.
        self._upto: dict[Place, int] = {}

    def place(self, kind: MeaningKind, model: str, dimension: int) -> Place:
        """Return the file of a kind of text."""
        return Place(str(self._folder / f"{kind}.vectors"), model, dimension)

    async def follow(self, kind: MeaningKind, place: Place, until: float = math.inf) -> None:
        """Copy what the table has and the file has not, as far as the time allows."""
        if place not in self._upto:
            self._upto = {each: upto for each, upto in self._upto.items() if each.path != place.path}
            self._upto[place] = await self._looked_at(kind, place)
        while rows := await self._vectors.after(kind, place.model, self._upto[place], limits.VECTOR_FOLLOW_ROWS):
            standing = await self._add(place, rows)
            if standing.last < rows[-1].id and self._upto[place] > standing.last:
                # Someone began the file anew meanwhile.
                self._upto[place] = standing.last
                continue
            self._upto[place] = rows[-1].id
            if time.monotonic() > until:
                return

    async def _looked_at(self, kind: MeaningKind, place: Place) -> int:
        """Return up to where a file is good: nowhere if it has other rows than the table up to its last."""
        standing = await self._add(place, ())
        if standing.live != await self._vectors.count(kind, place.model, standing.last):
            standing = await self._computing.ask(add, Added(place, [], anew=True), limits.VECTOR_TIME)
        return standing.last

    async def _add(self, place: Place, rows: Sequence[KeptVector]) -> Standing:
        new = [Row(row.id, row.owner, row.scope_kind, row.scope, row.vector) for row in rows]
        return await self._computing.ask(add, Added(place, new), limits.VECTOR_TIME)

    async def nearest(self, asked: Asked, most: int) -> Sequence[int]:
        """Return the numbers of the nearest vectors as far as the file knows, nearest first."""
        place = self.place(asked.kind, asked.model, len(asked.query) // 2)
        wanted = Wanted(place, asked.query, asked.owner, _scopes(asked), most)
        until = time.monotonic() + limits.MEANING_MOMENT
        await self.follow(asked.kind, place, until)
        found = await self._computing.ask(find, wanted, limits.VECTOR_TIME)
        if found.damaged:
            self._upto.pop(place, None)
            await self.follow(asked.kind, place, until)
            found = await self._computing.ask(find, wanted, limits.VECTOR_TIME)
        return [number for number, _likeness in found.rows]

    async def drop(self, ids: Sequence[int]) -> None:
        """Take vectors out of the files that are in use."""
        for place in list(self._upto) if ids else ():
            await self._computing.ask(drop, Dropped(place, list(ids)), limits.VECTOR_TIME)


def _scopes(asked: Asked) -> list[tuple[str, str]] | None:
    return None if asked.scopes is None else [(scope.kind, scope.id) for scope in asked.scopes]
