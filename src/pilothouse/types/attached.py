"""A document that a person attached to a message, as its item has it."""

from __future__ import annotations

from typing import Literal

from pilothouse.types.json import Frozen

DocumentKind = Literal["pdf", "word", "slides", "sheet", "html", "markdown", "text", "csv", "code"]


class AttachedDocument(Frozen, frozen=True):
    """A document of a message: what a card shows of it, and what the model reads of it."""

    id: str
    name: str
    kind: DocumentKind
    bytes: int
    pages: int = 0
    lines: int = 0
    characters: int = 0
    preview: str = ""
    note: str = ""
    # As much of its text as there is room for in the message; the rest is read by calls.
    text: str = ""
