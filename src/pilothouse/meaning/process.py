"""The process that computes: started when it is needed, ended when nobody has asked for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from pilothouse.helper.client import Helper, Room, Unreadable
from pilothouse.meaning.computing import embed
from pilothouse.meaning.embedder import NoVectors
from pilothouse.meaning.rows import Texts
from pilothouse.meaning.weights import MODEL
from pilothouse.types import limits
from pilothouse.types.meaning import Purpose

_Given = TypeVar("_Given")
_Returned = TypeVar("_Returned")
# One thread, and one heap: more threads only wait for each other beside everything else that runs here.
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}


class Computing:
    """Asks the process, one thing after the other in the order of asking."""

    def __init__(self) -> None:
        self._helper = Helper(Room(limits.MEANING_MEMORY, _ENVIRONMENT))
        self._turn = asyncio.Lock()
        self._idle: asyncio.TimerHandle | None = None
        self._ending: asyncio.Future[None] | None = None

    async def ask(self, function: Callable[[_Given], _Returned], given: _Given, seconds: float) -> _Returned:
        """Return what a function gives in the process; raise Unreadable when it broke or took too long."""
        async with self._turn:
            self._stay()
            if self._ending is not None:
                await self._ending
                self._ending = None
            try:
                return await asyncio.to_thread(self._helper.ask, function, given, seconds)
            finally:
                self._idle = asyncio.get_running_loop().call_later(limits.MEANING_IDLE, self._end)

    def _stay(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _end(self) -> None:
        self._idle = None
        self._ending = asyncio.get_running_loop().run_in_executor(None, self._helper.close)

    async def close(self) -> None:
        """End the process."""
        self._stay()
        if self._ending is not None:
            await self._ending
        await asyncio.to_thread(self._helper.close)


class BuiltIn:
    """The model that comes in a wheel; implements the port `Embedder`."""

    id = MODEL
    name = f"{MODEL}, built in"

    def __init__(self, computing: Computing, folder: Path) -> None:
        self._computing = computing
        self._folder = str(folder)

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[bytes]:
        try:
            return await self._computing.ask(embed, Texts(self._folder, list(texts)), limits.MEANING_TIME)
        except Unreadable as error:
            sentence = f"The built-in model for finding by meaning gave no answer: {error.why}."
            raise NoVectors(f"{sentence} Texts are searched by their words.") from None
