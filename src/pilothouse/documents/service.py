"""The verbs about documents, carried out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from pilothouse.documents.leftovers import new_file
from pilothouse.documents.shelf import file_name, too_large
from pilothouse.types import limits
from pilothouse.types.api import PartData
from pilothouse.types.documents import (
    PENDING,
    Document,
    DocumentHits,
    DocumentPage,
    DocumentPatch,
    DocumentQuestion,
    DocumentRecords,
    DocumentShelf,
    DocumentText,
    NewDocument,
    TakenDocument,
)
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host_documents import BEGINNING, EVERYTHING, DocumentPlace, Documents, Sought, Where
from pilothouse.types.paging import FIRST, Page
from pilothouse.types.records import Records
from pilothouse.types.scopes import EVERYWHERE, Scope, scopes_seen, usual_scope

# A page shows a document's text; its file is only ever downloaded, whatever it says it is.
_OPAQUE = "application/octet-stream"


class DocumentService(Documents):
    """Documents, as people see and change them."""

    def __init__(self, shelf: DocumentShelf, records: DocumentRecords, conversations: Records, folder: Path) -> None:
        """Take who reads and finds them, who keeps them, who knows conversations, and a folder for what is passing."""
        self._shelf = shelf
        self._records = records
        self._conversations = conversations
        self._folder = folder

    async def upload(
        self, owner: str, body: AsyncIterator[bytes], name: str, where: Where = EVERYTHING
    ) -> TakenDocument:
        scope = await self._scope(owner, where)
        path = await asyncio.to_thread(new_file, self._folder)
        try:
            await _kept(body, path, name)
            return await self._shelf.take(NewDocument(owner, scope, name, path))
        finally:
            path.unlink(missing_ok=True)

    async def _scope(self, owner: str, where: Where) -> Scope:
        """Return where a new document goes; that the owner has such a place is seen when it is kept, too."""
        if where.seen_by:
            return usual_scope(await self._conversations.conversation(owner, where.seen_by))
        if where.scope is None:
            return PENDING
        if where.scope == "everywhere":
            return EVERYWHERE
        if not where.scope_id:
            raise PilothouseError("bad_request", f"Say which {where.scope} the document belongs to.")
        if where.scope == "conversation":
            await self._conversations.conversation(owner, where.scope_id)
        return Scope(kind=where.scope, id=where.scope_id)

    async def _scopes(self, owner: str, where: Where) -> Sequence[Scope] | None:
        if where.seen_by:
            return scopes_seen(await self._conversations.conversation(owner, where.seen_by))
        return None if where.scope is None else [Scope(kind=where.scope, id=where.scope_id)]

    async def list(self, owner: str, where: Where = EVERYTHING, page: Page = FIRST) -> DocumentPage:
        return await self._records.listed(owner, await self._scopes(owner, where), page.limit, page.cursor)

    async def search(self, owner: str, sought: Sought, where: Where = EVERYTHING) -> DocumentHits:
        named = (await self._records.one(owner, sought.document)).id if sought.document else ""
        # Who names a document has it, wherever it is.
        scopes = [(await self._records.one(owner, named)).scope] if named else await self._scopes(owner, where)
        asked = DocumentQuestion(sought.q, scopes, named, sought.most, sought.similarity_threshold)
        return await self._shelf.search(owner, asked)

    async def get(self, owner: str, document_id: str) -> Document:
        return await self._records.one(owner, document_id)

    async def text(self, owner: str, document_id: str, place: DocumentPlace = BEGINNING) -> DocumentText:
        document = await self._records.one(owner, document_id)
        at = place.first
        if at is None:
            at = await self._records.position_of(document.id, place.page, place.line) if place.page or place.line else 0
        passages = await self._records.passages(document.id, max(0, at - place.before), place.limit)
        return DocumentText(document=document, passages=tuple(passages), at=at)

    async def file(self, owner: str, document_id: str) -> PartData:
        document = await self._records.one(owner, document_id)
        data = await self._records.file(owner, document.id)
        if data is None:
            raise PilothouseError("not_found", "The file of this document was not kept.")
        return PartData(media_type=_OPAQUE, name=document.name, data=data)

    async def update(self, owner: str, document_id: str, body: DocumentPatch) -> Document:
        if body.name is not None:
            body = DocumentPatch(name=file_name(body.name), scope=body.scope)
        if body.scope == PENDING:
            raise PilothouseError("bad_request", "Say which conversation the document belongs to.")
        document = await self._records.one(owner, document_id, alone=True)
        return await self._records.change(owner, document.id, body)

    async def delete(self, owner: str, document_id: str) -> None:
        await self._records.delete(owner, (await self._records.one(owner, document_id, alone=True)).id)

    async def restore(self, owner: str, document_id: str) -> Document:
        return await self._records.restore(owner, document_id)


async def _kept(body: AsyncIterator[bytes], path: Path, name: str) -> None:
    """Write a file as it comes; raise when it is more than a document can be."""
    size = 0
    with path.open("wb") as file:
        async for chunk in body:
            size += len(chunk)
            if size > limits.DOCUMENT_BYTES:
                raise too_large(file_name(name), 0)
            await asyncio.to_thread(file.write, chunk)
