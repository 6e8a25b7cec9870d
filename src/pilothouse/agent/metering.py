"""What one request uses: as its provider counts it; where that broke off or told nothing, by length."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import msgspec

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event
from pilothouse.types.ports import Journal
from pilothouse.types.stream import (
    CallArguments,
    CallStart,
    Failed,
    NativeDelta,
    PictureDelta,
    Retrying,
    Stopped,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    Usage,
)


class Meter:
    """Counts along while an answer comes."""

    __slots__ = ("_asked_again", "_began", "_over", "_read", "_told", "_written")

    def __init__(self, characters: int) -> None:
        """Take how many characters the model reads."""
        self._read = characters
        self._written = 0
        self._told: Usage | None = None
        # Whether anything of an answer came, and whether its end did.
        self._began = False
        self._over = False
        # When the request is made again, after it failed.
        self._asked_again = 0.0

    def wrote(self, characters: int) -> None:
        """Count what the model wrote."""
        self._began = True
        self._written += characters

    def take(self, event: StreamEvent) -> None:
        """Take anything that a stream brings."""
        match event:
            case TextDelta() | ThinkingDelta() | CallArguments():
                self.wrote(len(event.text))
            case CallStart():
                self.wrote(len(event.name))
            case NativeDelta() | PictureDelta():
                self.wrote(0)
            case Usage():
                self._began = True
                self._told = event
            case Retrying():
                self._asked_again = time.monotonic() + event.wait
            case Failed() | Stopped():
                self._over = True
            case _:
                pass

    @property
    def usage(self) -> Usage | None:
        """What was used so far: the provider's last word, or its word for what was read and the length of the rest.

        None where it was refused before anything came, or waits to be asked again: nobody pays for that. Who is stopped
        before the first word has read all of it, as far as anyone knows.
        """
        told = self._told
        if told is not None and not told.estimated:
            return told
        if not self._began and (self._over or time.monotonic() < self._asked_again):
            return None
        told = told or Usage()
        return msgspec.structs.replace(
            told,
            input=told.input or _tokens(self._read),
            output=max(told.output, _tokens(self._written)),
            estimated=True,
        )


@asynccontextmanager
async def kept_when_stopped(journal: Journal, event: Callable[[], Event | None]) -> AsyncIterator[None]:
    """Write what an answer used that the person, or the program's end, stops; the end of the run ends it."""
    try:
        yield
    except asyncio.CancelledError:
        if (told := event()) is not None:
            # Another process may have the run: then it is that one's to tell.
            with suppress(PilothouseError):
                await journal.write(told, promised=False)
        raise


def _tokens(characters: int) -> int:
    """Return how many tokens so many characters are about, rounded up."""
    return -(-characters // limits.CHARS_PER_TOKEN)
