"""Documents: files whose text is kept in passages, found by words and meaning, and quoted with page and line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from pilothouse.types import limits
from pilothouse.types.api import Range
from pilothouse.types.attached import AttachedDocument, DocumentKind
from pilothouse.types.json import Body, Frozen
from pilothouse.types.scopes import Scope

# The last characters of an id, which tell documents apart.
SHORT_ID = 8
# Where a document is that waits for the message it will be attached to: no conversation sees it.
PENDING = Scope(kind="conversation", id="")

KIND_NAMES: dict[DocumentKind, str] = {
    "pdf": "PDF",
    "word": "Word document",
    "slides": "presentation",
    "sheet": "spreadsheet",
    "html": "HTML page",
    "markdown": "Markdown",
    "text": "text",
    "csv": "CSV table",
    "code": "code",
}


class Document(Frozen, frozen=True):
    """A document that was imported or attached."""

    id: str
    name: str
    kind: DocumentKind
    scope: Scope
    bytes: int
    # 0 where it has none: text, code, web pages.
    pages: int = 0
    lines: int = 0
    characters: int = 0
    passages: int = 0
    # The beginning of its text.
    preview: str = ""
    # What of it was not read, in a sentence; empty where all was.
    note: str = ""
    # The file that it was imported from, as the agent named it; empty for one that a person gave.
    source: str = ""
    digest: str = ""
    created_at: float = 0.0
    deleted_at: float | None = None

    @property
    def short_id(self) -> str:
        """Return the end of its id, which is enough to name it."""
        return self.id[-SHORT_ID:]


class Passage(Frozen, frozen=True):
    """A piece of a document's text: one after the other they are the whole of it."""

    position: int
    # From 1 on; None where the document has no pages.
    page: int | None
    # Its first line on that page, from 1 on.
    line: int
    # The headings above it.
    section: str
    text: str


class DocumentHit(Frozen, frozen=True):
    """A passage that was found."""

    document_id: str
    name: str
    kind: DocumentKind
    page: int | None
    # The line that has the words, or the first one of the passage.
    line: int
    section: str
    text: str
    snippet: str
    ranges: tuple[Range, ...] = ()
    # How alike it is in meaning, from -1 to 1; None where only its words were compared.
    likeness: float | None = None
    # It has none of the words, and was found by its meaning alone.
    similar: bool = False


class DocumentHits(Frozen, frozen=True):
    """What a search found, the best first."""

    query: str
    hits: tuple[DocumentHit, ...]
    # "words" where nothing is found by meaning.
    found_by: Literal["meaning", "words"] = "words"


class DocumentPage(Frozen, frozen=True):
    """Documents, the newest first."""

    documents: tuple[Document, ...]
    next: str | None = None


class DocumentText(Frozen, frozen=True):
    """A document and passages of it, in order."""

    document: Document
    passages: tuple[Passage, ...]
    # The position of the passage that has the place that was asked for.
    at: int = 0


class TakenDocument(Frozen, frozen=True):
    """A document that was given: read and kept, or there already."""

    document: Document
    # The same file was in the same place before; nothing was read again.
    already: bool = False
    # One sentence about it.
    message: str = ""


class DocumentPatch(Body, frozen=True):
    """What changes of a document: its name, or who sees it."""

    name: str | None = None
    scope: Scope | None = None


class NewDocument(msgspec.Struct, frozen=True):
    """A file to be read and kept."""

    owner: str
    scope: Scope
    name: str
    path: Path
    source: str = ""


class DocumentQuestion(msgspec.Struct, frozen=True):
    """What is searched for, and where: all scopes for None, one document if it is named."""

    query: str
    scopes: Sequence[Scope] | None = None
    document_id: str = ""
    most: int = 8
    likeness: float = limits.DOCUMENT_LIKENESS


class DocumentRecords(Protocol):
    """What is asked of the database about documents."""

    @property
    def changes(self) -> int:
        """Return how often this process has changed one."""

    async def add(self, owner: str, document: Document, file: bytes, passages: Sequence[Passage]) -> TakenDocument:
        """Keep a document, unless the same file is in its scope already."""

    async def alike(self, owner: str, scope: Scope, digest: str) -> Document | None:
        """Return the document with the same file in a scope."""

    async def listed(self, owner: str, scopes: Sequence[Scope] | None, limit: int, cursor: str | None) -> DocumentPage:
        """Return documents of these scopes or of all, the newest first."""

    async def one(
        self, owner: str, document_id: str, *, seen_by: Sequence[Scope] = (), alone: bool = False
    ) -> Document:
        """Return a document by its id, or by the end of it; raise `not_found`.

        Where copies of a conversation have the same file under the same end, it is the one in these scopes, else any;
        `alone` raises `conflict` then.
        """

    async def passages(self, document_id: str, first: int, limit: int) -> Sequence[Passage]:
        """Return passages of a document from a position on."""

    async def position_of(self, document_id: str, page: int, line: int) -> int:
        """Return the position of the passage that has a place; the nearest one before it where none has."""

    async def words(self, owner: str, asked: DocumentQuestion, most: int) -> Sequence[int]:
        """Return the numbers of the passages that have words of a query, the best first."""

    async def found(
        self, owner: str, asked: DocumentQuestion, keys: Sequence[int]
    ) -> dict[int, tuple[Document, Passage]]:
        """Return passages by their numbers with their documents, those that the owner sees in these scopes."""

    async def seen_in(self, conversation_id: str, limit: int) -> tuple[Sequence[Document], int]:
        """Return the newest documents of all scopes that a conversation sees, and how many there are."""

    async def change(self, owner: str, document_id: str, change: DocumentPatch) -> Document:
        """Rename a document or move it to another scope."""

    async def copy(self, owner: str, document_id: str, scope: Scope) -> Document:
        """Return the same document in another scope: the one that is there, or a copy."""

    async def delete(self, owner: str, document_id: str) -> None:
        """Take a document away; it can be brought back for a while."""

    async def restore(self, owner: str, document_id: str) -> Document:
        """Bring a document back."""

    async def file(self, owner: str, document_id: str) -> bytes | None:
        """Return a document's file as it came."""


class DocumentShelf(Protocol):
    """Documents as the parts that work with them see them: messages, tools, reminders."""

    async def take(self, given: NewDocument) -> TakenDocument:
        """Read a file and keep it, unless it is there already; raise one sentence if it cannot be read."""

    async def search(self, owner: str, asked: DocumentQuestion) -> DocumentHits:
        """Return the passages that fit a question, by words and by meaning."""

    async def text(self, owner: str, document_id: str, place: tuple[int, int], limit: int) -> DocumentText:
        """Return passages from the one on that has a place: a page, or 0, and a line."""

    async def seen_in(self, conversation_id: str, limit: int) -> tuple[Sequence[Document], int]:
        """Return the newest documents that a conversation sees, and how many there are."""

    async def attached(
        self, owner: str, conversation_id: str, document_ids: Sequence[str]
    ) -> tuple[AttachedDocument, ...]:
        """Return documents as a message has them, now seen by its conversation."""


def place_name(name: str, page: int | None, line: int) -> str:
    """Return a place in a document as people write it: "Report.pdf p. 12, line 3"."""
    return f"{name} p. {page}, line {line}" if page is not None else f"{name} line {line}"


def place_link(document_id: str, page: int | None, line: int) -> str:
    """Return the link that opens a place in a document."""
    return f"doc:{document_id[-SHORT_ID:]}#{f'p{page}' if page is not None else ''}l{line}"


def citation(document_id: str, name: str, page: int | None, line: int) -> str:
    """Return a place in a document as a model cites it in Markdown."""
    shown = place_name(name, page, line).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return f"[{shown}]({place_link(document_id, page, line)})"


# Words that are in every text and say nothing about it.
_EVERYWHERE = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "did",
        "do",
        "does",
        "for",
        "from",
        "has",
        "have",
        "how",
        "i",
        "in",
        "is",
        "it",
        "its",
        "of",
        "on",
        "or",
        "say",
        "says",
        "that",
        "the",
        "this",
        "to",
        "was",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "with",
    ]
)


def query_words(query: str) -> list[str]:
    """Return the words of a query that are looked for: those that say something, or all where none does."""
    found = re.findall(r"\w+", query.replace("\x00", " ")[: limits.DOCUMENT_QUERY_CHARS])
    words = list(dict.fromkeys(word.lower() for word in found))
    return ([word for word in words if word not in _EVERYWHERE] or words)[: limits.DOCUMENT_QUERY_WORDS]
