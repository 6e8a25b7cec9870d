"""Reads a file through a helper process of its own, portion by portion, and makes passages of it."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Event

import msgspec

from pilothouse.documents.passages import Splitter
from pilothouse.documents.reading import Asked, read
from pilothouse.helper.client import Helper, Unreadable
from pilothouse.types import limits
from pilothouse.types.attached import DocumentKind
from pilothouse.types.documents import Passage
from pilothouse.types.errors import PilothouseError

_NO_TEXT = "No text was found in it."
# Of the kinds that may be nothing but pictures.
_PICTURES = "No text was found in it: its pages may be pictures, which are not read."
_PICTURED: frozenset[DocumentKind] = frozenset({"pdf", "word", "slides"})


class ReadDocument(msgspec.Struct, frozen=True):
    """What was read of a file."""

    kind: DocumentKind
    passages: list[Passage]
    pages: int
    lines: int
    characters: int
    preview: str
    note: str


def read_document(path: Path, name: str, stopped: Event | None = None) -> ReadDocument:
    """Return what is in a file, or raise one sentence; takes long, so not on the event loop, and may be stopped.

    The process is started for this file and ended after it: no file can do anything to the next.
    """
    helper, until = Helper(), time.monotonic() + limits.DOCUMENT_IMPORT_TIME
    splitter = Splitter()
    passages: list[Passage] = []
    try:
        asked = Asked(str(path.absolute()), name)
        while True:
            portion = helper.ask(read, asked, limits.DOCUMENT_READ_TIME)
            for chunk in portion.chunks:
                passages += splitter.take(chunk)
            note = portion.note
            if portion.is_last:
                break
            if stopped is not None and stopped.is_set():
                raise PilothouseError("cancelled", f"Reading {name} was stopped.")
            if time.monotonic() > until:
                note = f"Only the first {splitter.characters:,} characters were read: it took too long."
                break
            asked = msgspec.structs.replace(asked, go_on=True)
    except Unreadable as error:
        raise PilothouseError("bad_request", f"{name} cannot be read: {error.why}.") from None
    finally:
        helper.close()
    passages += splitter.end()
    if not passages:
        note = f"{_PICTURES if portion.kind in _PICTURED else _NO_TEXT} {note}".strip()
    return ReadDocument(
        portion.kind, passages, splitter.pages, splitter.lines, splitter.characters, splitter.preview, note
    )
