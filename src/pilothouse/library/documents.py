"""Documents, for programs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from pilothouse.types import limits
from pilothouse.types.documents import Document, DocumentHit, DocumentPatch, Passage, TakenDocument
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.host_documents import DocumentPlace, Sought, Where
from pilothouse.types.paging import Page
from pilothouse.types.scopes import Scope


class Documents:
    """Documents; each is named by its id or the last eight characters of it."""

    def __init__(self, api: ClientApi) -> None:
        self._api = api

    async def add(
        self, file: str | os.PathLike[str] | bytes, name: str = "", *, conversation: str = "", topic: str = ""
    ) -> TakenDocument:
        """Read a file, or bytes with a name, and keep it for every conversation, for one, or for a topic.

        A file that is there already is not read again, and `already` says so.
        """
        where = Where(scope="everywhere")
        if topic:
            where = Where(scope="topic", scope_id=topic)
        elif conversation:
            where = Where(scope="conversation", scope_id=conversation)
        content = file if isinstance(file, bytes) else await asyncio.to_thread(_read, file)
        called = name or ("document" if isinstance(file, bytes) else Path(file).name)
        return await self._api.documents.upload(LOCAL_OWNER, _once(content), called, where)

    async def list(self, conversation: str = "") -> Sequence[Document]:
        """Return all documents, or those that a conversation sees, the newest first."""
        found: list[Document] = []
        cursor = None
        while True:
            page = await self._api.documents.list(LOCAL_OWNER, Where(seen_by=conversation), Page(cursor=cursor))
            found += page.documents
            cursor = page.next
            if cursor is None:
                return found

    async def search(
        self,
        query: str,
        *,
        document: str = "",
        conversation: str = "",
        most: int = limits.DOCUMENT_HITS_USUAL,
        similarity_threshold: float = limits.DOCUMENT_LIKENESS,
    ) -> Sequence[DocumentHit]:
        """Return the passages that fit, by words and by meaning, the best first: in all documents, or in one."""
        sought = Sought(q=query, document=document, most=most, similarity_threshold=similarity_threshold)
        return (await self._api.documents.search(LOCAL_OWNER, sought, Where(seen_by=conversation))).hits

    async def passages(self, document: str) -> AsyncIterator[Passage]:
        """Yield the text of a document, piece by piece."""
        first = 0
        while True:
            text = await self._api.documents.text(LOCAL_OWNER, document, DocumentPlace(first=first))
            for passage in text.passages:
                yield passage
            if not text.passages:
                return
            first = text.passages[-1].position + 1

    async def file(self, document: str) -> bytes:
        """Return a document's file as it came."""
        return (await self._api.documents.file(LOCAL_OWNER, document)).data

    async def move(self, document: str, scope: Scope) -> Document:
        """Let others see a document: a conversation, a topic, a folder, or everyone."""
        return await self._api.documents.update(LOCAL_OWNER, document, DocumentPatch(scope=scope))

    async def remove(self, document: str) -> None:
        """Remove a document; `restore` brings it back for a while."""
        await self._api.documents.delete(LOCAL_OWNER, document)

    async def restore(self, document: str) -> Document:
        return await self._api.documents.restore(LOCAL_OWNER, document)


def _read(file: str | os.PathLike[str]) -> bytes:
    return Path(file).expanduser().read_bytes()


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content
