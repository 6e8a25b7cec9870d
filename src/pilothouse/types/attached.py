"""A document that a person attached to a message, as its item has it."""

from __future__ import annotations

from typing import Literal

from pilothouse.types.json import Frozen

DocumentKind = Literal["pdf", "word", "slides", "sheet", "html", "markdown", "text", "csv", "code"]


def page_count(pages: int) -> str:
    """Return how many pages there are: "1 page", "12 pages"."""
    return f"{pages:,} page{'' if pages == 1 else 's'}"


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
