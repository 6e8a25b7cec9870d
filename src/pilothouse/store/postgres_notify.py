"""Tells other processes on the same PostgreSQL which conversations changed, and hears the same from them.

Of what is kept only names travel; whoever is woken reads the store. A lost message heals at the reader's next look.
Text that streams travels itself, before it is kept, to processes that said that someone there reads the conversation,
and so does that it is kept: who has had it need not read it. What is lost or too long of it comes from the store.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import psycopg

from pilothouse.store.connections import Connections
from pilothouse.store.postgres import line_to, set_up
from pilothouse.types import limits
from pilothouse.types.events import ItemDelta, event_decoder, without_text
from pilothouse.types.feed import FeedEvent
from pilothouse.types.json import encode

_log = logging.getLogger(__name__)
_CHANNEL = "pilothouse"
# One of its own: an earlier version, which knows nothing of it, may be at work beside this one.
_LIVE_CHANNEL = "pilothouse_live"
# The text itself has another one: where nobody reads, hundreds of pieces a second are not even looked at.
_TEXT_CHANNEL = "pilothouse_text"
# Sessions that ended, by what is kept of their tokens.
_SESSIONS_CHANNEL = "pilothouse_sessions"
# PostgreSQL takes 8,000 bytes in one notification; an id has 28, and what is kept of a token 64.
_IDS_PER_NOTE = 200
_SESSIONS_PER_NOTE = 100
_NOTE_BYTES = 7_900
# What stands around and between pieces.
_AROUND = 80
_TEXT = "item.delta"
_TELL = "SELECT pg_notify(n.channel, n.payload) FROM unnest(%s::text[], %s::text[]) AS n(channel, payload)"


class _Piece(msgspec.Struct, array_like=True):
    """A piece of text on its way to readers, as it is sent to them."""

    conversation_id: str
    kind: str
    json: msgspec.Raw
    # Of what is kept: that it is, without its text.
    seq: int = 0


class _LiveNote(msgspec.Struct, omit_defaults=True):
    """What processes tell each other of text that streams."""

    # Conversations that someone reads there.
    reading: tuple[str, ...] = ()
    pieces: tuple[_Piece, ...] = ()


_ids = msgspec.json.Decoder(list[str])
_live = msgspec.json.Decoder(_LiveNote)


class Hearing(NamedTuple):
    """What is done with what others tell."""

    # A conversation changed, and: so may any have done.
    woken: Callable[[str], None]
    missed: Callable[[], None]
    # A piece of text that is not kept yet; and that text is kept.
    live: Callable[[str, FeedEvent], None]
    kept: Callable[[str, FeedEvent], None]
    # Which conversations are read here.
    read_here: Callable[[], Iterable[str]]
    # A session ended.
    signed_out: Callable[[str], None]


class Wakeups:
    """One connection that listens, and one that tells."""

    def __init__(self, url: str, connections: Connections, hearing: Hearing) -> None:
        self._line = line_to(url)
        self._connections = connections
        self._hearing = hearing
        self._changed: set[str] = set()
        self._signed_out: set[str] = set()
        # What is read here and others have not been told of.
        self._reading: set[str] = set()
        # Until when others want the text of a conversation, by our own clock.
        self._wanted: dict[str, float] = {}
        self._pieces: deque[_Piece] = deque()
        self._bytes = 0
        self._sent_live = 0.0
        # The server's number of the connection that tells: what it said is no news here.
        self._own = 0
        self._kick = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def begin(self) -> None:
        """Listen and tell from now on."""
        self._tasks = [
            asyncio.create_task(self._listen(), name="wakeups-listen"),
            asyncio.create_task(self._tell(), name="wakeups-tell"),
            asyncio.create_task(self._remind(), name="wakeups-remind"),
        ]

    async def end(self) -> None:
        """Stop."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def heard(self, conversation_id: str, events: Sequence[FeedEvent]) -> None:
        """Note what happened in a conversation here; others hear of it within moments.

        That more of a text is kept is of use only to readers, and these have had most of it.
        """
        if any(event.kind != _TEXT for event in events):
            if any(event.seq for event in events):
                self._change(conversation_id)
        elif conversation_id in self._wanted:
            for event in events:
                self._share(conversation_id, event)

    def read(self, conversation_id: str) -> None:
        """Note that someone begins to read a conversation here, and wants its text as it comes."""
        self._reading.add(conversation_id)
        self._kick.set()

    def signed_out(self, token_hash: str) -> None:
        """Note that a session ended here: what was opened with it elsewhere must end, too."""
        self._signed_out.add(token_hash)
        self._kick.set()

    def _change(self, conversation_id: str) -> None:
        self._changed.add(conversation_id)
        self._kick.set()

    def _share(self, conversation_id: str, event: FeedEvent) -> None:
        said = _only_how_far(event.json) if event.seq else event.json
        size = len(said) + _AROUND
        # No process holds more for others than this: what is left out comes with what is kept, which they read then.
        if size <= _NOTE_BYTES and self._bytes + size <= limits.LIVE_SHARED_BYTES:
            self._pieces.append(_Piece(conversation_id, event.kind, msgspec.Raw(said), event.seq))
            self._bytes += size
            self._kick.set()
        elif event.seq:
            self._change(conversation_id)

    async def _connect(self) -> psycopg.AsyncConnection[tuple[object, ...]]:
        connection = await psycopg.AsyncConnection.connect(self._line, autocommit=True)
        await set_up(connection, self._connections)
        return connection

    # --- listening ---

    async def _listen(self) -> None:
        while True:
            try:
                async with await self._connect() as connection:
                    await connection.execute(f"LISTEN {_CHANNEL}")
                    await connection.execute(f"LISTEN {_LIVE_CHANNEL}")
                    await connection.execute(f"LISTEN {_TEXT_CHANNEL}")
                    await connection.execute(f"LISTEN {_SESSIONS_CHANNEL}")
                    self._hearing.missed()
                    async for note in connection.notifies():
                        if note.pid != self._own:
                            self._hear(note)
            except psycopg.Error as error:
                _log.warning("listening for changes failed: %s", type(error).__name__)
                await asyncio.sleep(limits.STORE_RETRY)

    def _hear(self, note: psycopg.Notify) -> None:
        try:
            if note.channel == _CHANNEL:
                for conversation_id in _ids.decode(note.payload):
                    self._hearing.woken(conversation_id)
            elif note.channel == _SESSIONS_CHANNEL:
                for token_hash in _ids.decode(note.payload):
                    self._hearing.signed_out(token_hash)
            elif note.channel == _LIVE_CHANNEL or any(True for _ in self._hearing.read_here()):
                self._hear_live(_live.decode(note.payload))
        except msgspec.MsgspecError:
            # Of a version that says it in another way, or from someone else.
            _log.debug("a note on %s could not be read", note.channel)

    def _hear_live(self, said: _LiveNote) -> None:
        now = time.monotonic()
        if said.reading:
            self._wanted = {key: end for key, end in self._wanted.items() if end > now}
            self._wanted |= dict.fromkeys(said.reading, now + limits.LIVE_WANTED)
        for piece in said.pieces:
            hear = self._hearing.kept if piece.seq else self._hearing.live
            hear(piece.conversation_id, FeedEvent(piece.seq, piece.kind, bytes(piece.json)))

    # --- telling ---

    async def _remind(self) -> None:
        """Say again and again what is read here, so that who comes later knows, and who died is forgotten."""
        while True:
            await asyncio.sleep(limits.LIVE_REMIND)
            self._reading.update(self._hearing.read_here())
            if self._reading:
                self._kick.set()

    async def _tell(self) -> None:
        while True:
            try:
                async with await self._connect() as connection:
                    self._own = connection.info.backend_pid
                    await self._tell_on(connection)
            except psycopg.Error as error:
                _log.warning("telling others of changes failed: %s", type(error).__name__)
                await asyncio.sleep(limits.STORE_RETRY)

    async def _tell_on(self, connection: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
        while True:
            await self._kick.wait()
            # Gathered for a moment: one note can name many conversations.
            await asyncio.sleep(limits.WAKEUP_GATHER)
            self._kick.clear()
            notes = [*self._notes()]
            if notes:
                await connection.execute(_TELL, ([channel for channel, _ in notes], [said for _, said in notes]))

    def _notes(self) -> Iterator[tuple[str, str]]:
        """Take what is to be told, in notes that PostgreSQL takes."""
        for ids in _parts(self._signed_out, _SESSIONS_PER_NOTE):
            yield _SESSIONS_CHANNEL, msgspec.json.encode(ids).decode()
        for ids in _parts(self._changed):
            yield _CHANNEL, msgspec.json.encode(ids).decode()
        for ids in _parts(self._reading):
            yield _LIVE_CHANNEL, msgspec.json.encode(_LiveNote(reading=ids)).decode()
        if not self._pieces:
            return
        left = self._sent_live + limits.LIVE_GATHER - time.monotonic()
        if left > 0:
            asyncio.get_running_loop().call_later(left, self._kick.set)
            return
        self._sent_live = time.monotonic()
        while self._pieces:
            yield _TEXT_CHANNEL, msgspec.json.encode(_LiveNote(pieces=self._next_pieces())).decode()

    def _next_pieces(self) -> tuple[_Piece, ...]:
        pieces: list[_Piece] = []
        room = _NOTE_BYTES
        while self._pieces and (not pieces or _size(self._pieces[0]) <= room):
            pieces.append(self._pieces.popleft())
            room -= _size(pieces[-1])
            self._bytes -= _size(pieces[-1])
        return tuple(pieces)


def _only_how_far(json: bytes) -> bytes:
    delta = event_decoder.decode(json)
    return encode(without_text(delta)) if isinstance(delta, ItemDelta) else json


def _size(piece: _Piece) -> int:
    return len(bytes(piece.json)) + _AROUND


def _parts(names: set[str], most: int = _IDS_PER_NOTE) -> Iterator[tuple[str, ...]]:
    """Take names out of a set, as many at a time as one note can have."""
    while names:
        yield tuple(names.pop() for _ in range(min(len(names), most)))
