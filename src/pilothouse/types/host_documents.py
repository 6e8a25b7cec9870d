"""The verbs about documents: a part of `types/host`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
from msgspec import Meta

from pilothouse.types import limits
from pilothouse.types.api import PartData
from pilothouse.types.documents import (
    Document,
    DocumentHits,
    DocumentPage,
    DocumentPatch,
    DocumentText,
    TakenDocument,
)
from pilothouse.types.paging import FIRST, Page
from pilothouse.types.scopes import ScopeKind
from pilothouse.types.verbs import Options, Service, verb

_Name = Annotated[str, Meta(min_length=1, max_length=1_000)]
_Query = Annotated[str, Meta(max_length=limits.DOCUMENT_QUERY_CHARS)]


class Where(msgspec.Struct, frozen=True, rename="camel"):
    """Where documents are: one scope, all that a conversation sees, or with nothing all of them."""

    scope: ScopeKind | None = None
    scope_id: str = ""
    # All scopes that this conversation sees.
    seen_by: str = ""


class Sought(msgspec.Struct, frozen=True, rename="camel"):
    """What is searched for: in one document, if it is named, and no less alike than that."""

    q: _Query
    document: str = ""
    most: Annotated[int, Meta(ge=1, le=limits.DOCUMENT_HITS)] = limits.DOCUMENT_HITS_USUAL
    similarity_threshold: Annotated[float, Meta(ge=-1, le=1)] = limits.DOCUMENT_LIKENESS


class DocumentPlace(msgspec.Struct, frozen=True):
    """A place in a document: a page and a line, or the position of a passage; how many passages from there on."""

    page: Annotated[int, Meta(ge=0)] = 0
    line: Annotated[int, Meta(ge=0)] = 0
    # Instead of a page and a line.
    first: Annotated[int, Meta(ge=0)] | None = None
    # So many passages before the place, too.
    before: Annotated[int, Meta(ge=0, le=limits.DOCUMENT_PASSAGES)] = 0
    limit: Annotated[int, Meta(ge=1, le=limits.DOCUMENT_PASSAGES)] = 60


EVERYTHING = Where()
BEGINNING = DocumentPlace()


class Documents(Service):
    """Documents: what was imported or attached."""

    @verb(
        "upload_document",
        "POST",
        "/api/documents",
        Options(status=201, body_limit=limits.DOCUMENT_BYTES, longer=limits.DOCUMENT_UPLOAD_TIME),
    )
    async def upload(
        self, owner: str, body: AsyncIterator[bytes], name: _Name, where: Where = EVERYTHING
    ) -> TakenDocument:
        """Read a file and keep it; without a scope it waits for the message that it will be attached to."""

    @verb("list_documents", "GET", "/api/documents")
    async def list(self, owner: str, where: Where = EVERYTHING, page: Page = FIRST) -> DocumentPage:
        """Documents, the newest first: of one scope, of all that a conversation sees, or all."""

    @verb("search_documents", "GET", "/api/documents/search", Options(longer=limits.SEARCH_SECONDS))
    async def search(self, owner: str, sought: Sought, where: Where = EVERYTHING) -> DocumentHits:
        """Find passages by words and, where there is a model for it, by meaning."""

    @verb("get_document", "GET", "/api/documents/{id}")
    async def get(self, owner: str, document_id: str) -> Document:
        """A document by its id, or by the last eight characters of it."""

    @verb("document_text", "GET", "/api/documents/{id}/text")
    async def text(self, owner: str, document_id: str, place: DocumentPlace = BEGINNING) -> DocumentText:
        """Passages of a document from a place on."""

    @verb("document_file", "GET", "/api/documents/{id}/file")
    async def file(self, owner: str, document_id: str) -> PartData:
        """The file as it came."""

    @verb("update_document", "PATCH", "/api/documents/{id}")
    async def update(self, owner: str, document_id: str, body: DocumentPatch) -> Document:
        """Rename a document, or move it to a topic or another scope."""

    @verb("delete_document", "DELETE", "/api/documents/{id}")
    async def delete(self, owner: str, document_id: str) -> None:
        """Remove a document; it can be brought back for a while."""

    @verb("restore_document", "POST", "/api/documents/{id}/restore")
    async def restore(self, owner: str, document_id: str) -> Document:
        """Bring a removed document back."""
