"""The events of a range as one small record, from which each of them is rebuilt byte for byte.

Most events of an answer are pieces of its text, and of such a piece only its time and its length are news: its item,
its number and where it begins follow from the pieces before it. All others are kept as they are. What is kept this
way is read for as long as there are databases, so `_delta` writes the JSON of a piece out by itself and never changes.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from pilothouse.types import limits
from pilothouse.types.events import ItemDelta, event_decoder, utf16_length
from pilothouse.types.json import encode

# What stands in the place of the last event of a range, as its kind.
KIND = "packed"


class Kept(NamedTuple):
    """One event as its row has it."""

    seq: int
    kind: str
    item_id: str | None
    body: bytes


class NotPacked(Exception):
    """These bytes are no packed range, or not one of ours."""


class _Record(msgspec.Struct, frozen=True, array_like=True):
    """Parallel lists, so that like stands beside like."""

    first: int
    # The seal that the first event is sealed to.
    before: bytes
    # For each event: which of `others` it is about, or, below zero, of which of `texts` it is a piece.
    about: list[int]
    # How long each event's body is in `bodies`, or its text in `text`.
    lengths: list[int]
    # The kind and the item of events that are kept whole.
    others: list[tuple[str, str | None]]
    bodies: bytes
    # The items of pieces, and where the first piece of each begins.
    texts: list[tuple[str, int]]
    text: str
    # The pieces' times, each as its distance from the one before: of the bits of the floating point numbers.
    times: list[int]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Record)


def packed(events: Sequence[Kept], before: bytes) -> bytes:
    """Return events that follow each other without a gap as one record."""
    about: list[int] = []
    lengths: list[int] = []
    others: dict[tuple[str, str | None], int] = {}
    bodies: list[bytes] = []
    text: list[str] = []
    times: list[int] = []
    pieces = _Pieces()
    clock = 0
    for event in events:
        delta = pieces.taken(event)
        if delta is None:
            about.append(others.setdefault((event.kind, event.item_id), len(others)))
            lengths.append(len(event.body))
            bodies.append(event.body)
        else:
            about.append(-1 - pieces.places[delta.item_id])
            lengths.append(len(delta.text))
            text.append(delta.text)
            times.append(_bits(delta.at) - clock)
            clock = _bits(delta.at)
    record = _Record(
        first=events[0].seq,
        before=before,
        about=about,
        lengths=lengths,
        others=list(others),
        bodies=b"".join(bodies),
        texts=list(pieces.begun.items()),
        text="".join(text),
        times=times,
    )
    return zlib.compress(_encoder.encode(record), 9)


class _Pieces:
    """Tells which events are pieces of texts that can be rebuilt."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.begun: dict[str, int] = {}
        self._ends: dict[str, int] = {}

    def taken(self, event: Kept) -> ItemDelta | None:
        """Return the piece that an event is, if its bytes follow from what was before it."""
        if event.kind != "item.delta":
            return None
        try:
            delta = event_decoder.decode(event.body)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
        if not isinstance(delta, ItemDelta) or event.item_id != delta.item_id:
            return None
        place = self._ends.get(delta.item_id, delta.offset)
        if _delta(event.seq, delta.at, delta.item_id, place, delta.text) != event.body:
            return None
        self.begun.setdefault(delta.item_id, place)
        self.places.setdefault(delta.item_id, len(self.places))
        self._ends[delta.item_id] = place + utf16_length(delta.text)
        return delta


def unpacked(body: bytes) -> tuple[bytes, list[Kept]]:
    """Return the seal before a range, and its events; raise NotPacked for what is none."""
    try:
        record = _decoder.decode(inflated(body))
        return record.before, list(_events(record))
    except (msgspec.MsgspecError, ValueError, IndexError, struct.error, zlib.error) as error:
        raise NotPacked from error


def _events(record: _Record) -> Iterator[Kept]:
    ends = [begin for _, begin in record.texts]
    times = iter(record.times)
    clock = at_body = at_text = 0
    for seq, (about, length) in enumerate(zip(record.about, record.lengths, strict=True), record.first):
        if about >= 0:
            kind, item_id = record.others[about]
            yield Kept(seq, kind, item_id, record.bodies[at_body : at_body + length])
            at_body += length
            continue
        item_id = record.texts[-1 - about][0]
        text = record.text[at_text : at_text + length]
        at_text += length
        clock += next(times, 0)
        yield Kept(seq, "item.delta", item_id, _delta(seq, _float(clock), item_id, ends[-1 - about], text))
        ends[-1 - about] += utf16_length(text)


def inflated(body: bytes) -> bytes:
    """Return what was compressed; someone who edits the database cannot make it more than memory takes."""
    work = zlib.decompressobj()
    whole = work.decompress(body, limits.UNPACKED_BYTES)
    if not work.eof:
        raise NotPacked
    return whole


def _delta(seq: int, at: float, item_id: str, offset: int, text: str) -> bytes:
    return b'{"type":"item.delta","itemId":%b,"offset":%d,"text":%b,"seq":%d,"at":%b}' % (
        encode(item_id),
        offset,
        encode(text),
        seq,
        encode(at),
    )


def _bits(value: float) -> int:
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return int(bits)


def _float(bits: int) -> float:
    (value,) = struct.unpack("<d", struct.pack("<q", bits))
    return float(value)
