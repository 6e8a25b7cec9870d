"""Documents as messages, tools and people work with them; implements the port `DocumentShelf`."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from threading import Event

import msgspec

from pilothouse.documents.hits import hit_of
from pilothouse.documents.importing import read_document
from pilothouse.types import limits
from pilothouse.types.attached import AttachedDocument, page_count
from pilothouse.types.documents import (
    PENDING,
    Document,
    DocumentHits,
    DocumentPatch,
    DocumentQuestion,
    DocumentRecords,
    DocumentText,
    NewDocument,
    TakenDocument,
    query_words,
)
from pilothouse.types.errors import PilothouseError
from pilothouse.types.ids import new_id
from pilothouse.types.invisible import whole
from pilothouse.types.meaning import Meaning
from pilothouse.types.ranking import fused
from pilothouse.types.records import Records
from pilothouse.types.scopes import scopes_seen, usual_scope


class Shelf:
    """All documents."""

    def __init__(self, records: DocumentRecords, conversations: Records, meaning: Meaning) -> None:
        self._records = records
        self._conversations = conversations
        self._meaning = meaning
        self._turns = asyncio.Semaphore(limits.DOCUMENTS_AT_ONCE)

    async def take(self, given: NewDocument) -> TakenDocument:
        name = file_name(given.name)
        content = await asyncio.to_thread(_content, given.path, name)
        digest = hashlib.sha256(content).hexdigest()
        there = await self._records.alike(given.owner, given.scope, digest)
        if there is not None:
            return _told(TakenDocument(document=there, already=True))
        stopped = Event()
        async with self._turns:
            try:
                read = await asyncio.to_thread(read_document, given.path, name, stopped)
            finally:
                # Of a reader that nobody waits for any more, nothing goes on for long.
                stopped.set()
        document = Document(
            id=new_id("d"),
            name=name,
            kind=read.kind,
            scope=given.scope,
            bytes=len(content),
            pages=read.pages,
            lines=read.lines,
            characters=read.characters,
            passages=len(read.passages),
            preview=whole(read.preview),
            note=read.note,
            source=given.source,
            digest=digest,
            created_at=time.time(),
        )
        taken = await self._records.add(given.owner, document, content, read.passages)
        if not taken.already:
            self._meaning.changed("passage")
        return _told(taken)

    async def search(self, owner: str, asked: DocumentQuestion) -> DocumentHits:
        query = asked.query.strip()
        if not query:
            raise PilothouseError("bad_request", "The search is empty.", fix="Say what to look for.")
        most = max(1, min(asked.most, limits.DOCUMENT_HITS))
        by_words = await self._records.words(owner, asked, limits.DOCUMENT_RANKED)
        near = await self._meaning.near(query, "passage", owner, asked.scopes, limits.DOCUMENT_RANKED)
        alike = {int(each.key): each.likeness for each in near or () if each.likeness >= asked.likeness}
        ranked = fused(by_words, alike)
        # More than are wanted: of what is near in meaning some may be in another document, or gone.
        found = await self._records.found(owner, asked, ranked[: limits.DOCUMENT_RANKED])
        words, worded = query_words(query), frozenset(by_words)
        best = [key for key in ranked if key in found][:most]
        hits = tuple(hit_of(*found[key], words, alike.get(key), similar=key not in worded) for key in best)
        return DocumentHits(query=query, hits=hits, found_by="words" if near is None else "meaning")

    async def text(self, owner: str, document_id: str, place: tuple[int, int], limit: int) -> DocumentText:
        document = await self._records.one(owner, document_id)
        page, line = place
        at = await self._records.position_of(document.id, page, line) if page or line else 0
        passages = await self._records.passages(document.id, at, limit)
        return DocumentText(document=document, passages=tuple(passages), at=at)

    async def seen_in(self, conversation_id: str, limit: int) -> tuple[Sequence[Document], int]:
        return await self._records.seen_in(conversation_id, limit)

    async def attached(
        self, owner: str, conversation_id: str, document_ids: Sequence[str]
    ) -> tuple[AttachedDocument, ...]:
        """Return documents as a message has them; what waited for a message is the conversation's from now on."""
        if not document_ids:
            return ()
        conversation = await self._conversations.conversation(owner, conversation_id)
        documents: dict[str, Document] = {}
        for document_id in dict.fromkeys(document_ids):
            document = await self._records.one(owner, document_id)
            if document.scope == PENDING:
                moved = DocumentPatch(scope=usual_scope(conversation))
                document = await self._records.change(owner, document.id, moved)
            elif document.scope not in scopes_seen(conversation):
                # It went along with another message; this conversation gets one of its own.
                document = await self._records.copy(owner, document.id, usual_scope(conversation))
                self._meaning.changed("passage")
            documents[document.id] = document
        found, room = [], limits.ATTACHED_CHARS
        # The shorter ones first: what they leave over is for the others.
        shares = _shares([each.characters for each in documents.values()], room)
        for document, share in zip(documents.values(), shares, strict=True):
            found.append(_attached(document, await self._beginning(document, share)))
        return tuple(found)

    async def _beginning(self, document: Document, room: int) -> str:
        """Return the beginning of a document's text, with a line before each page."""
        pieces: list[str] = []
        page: int | None = None
        for passage in await self._records.passages(document.id, 0, limits.DOCUMENT_PASSAGES):
            head = f"[page {passage.page}]\n" if passage.page is not None and passage.page != page else ""
            page = passage.page
            piece = f"{head}{passage.text}"
            if len(piece) > room:
                pieces.append(piece[:room])
                break
            pieces.append(piece)
            room -= len(piece) + 1
        return "\n".join(pieces)


def file_name(name: str) -> str:
    """Return what a file is called, without folders and within bounds; raise for a name that cannot be kept."""
    last = PurePosixPath(whole(name).replace("\\", "/").replace("\x00", "")).name.strip()
    shown = " ".join(last.split()) or "document"
    if len(shown) <= limits.DOCUMENT_NAME_CHARS:
        return shown
    suffix = PurePosixPath(shown).suffix[:12]
    return f"{shown[: limits.DOCUMENT_NAME_CHARS - len(suffix) - 1]}…{suffix}"


def _content(path: Path, name: str) -> bytes:
    if path.stat().st_size > limits.DOCUMENT_BYTES:
        raise too_large(name, path.stat().st_size)
    return path.read_bytes()


def too_large(name: str, size: int) -> PilothouseError:
    """Return that a file is larger than a document can be."""
    most = limits.DOCUMENT_BYTES // 1024**2
    has = f" has {size / 1024**2:,.0f} MB" if size else " is too large"
    return PilothouseError(
        "too_large", f"{name}{has}; a document has at most {most} MB.", fix="Split it, or shrink it."
    )


def _told(taken: TakenDocument) -> TakenDocument:
    document = taken.document
    if taken.already:
        message = f"{document.name} was imported before, as {document.short_id}; nothing was read again."
    else:
        size = f"{page_count(document.pages)}, " if document.pages else ""
        message = f"Imported {document.name} ({size}{document.characters:,} characters) as {document.short_id}."
    return msgspec.structs.replace(taken, message=f"{message} {document.note}".strip())


def _attached(document: Document, text: str) -> AttachedDocument:
    return AttachedDocument(
        id=document.id,
        name=document.name,
        kind=document.kind,
        bytes=document.bytes,
        pages=document.pages,
        lines=document.lines,
        characters=document.characters,
        preview=document.preview,
        note=document.note,
        text=text,
    )


def _shares(sizes: Sequence[int], room: int) -> list[int]:
    """Return how many characters each gets of the room: a short one what it has, the others the same of the rest."""
    shares = [0] * len(sizes)
    for done, at in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        shares[at] = min(sizes[at] + limits.DOCUMENT_PREVIEW_CHARS, room // (len(sizes) - done))
        room -= shares[at]
    return shares
