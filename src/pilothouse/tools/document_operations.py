"""The tool `document_operations`, and what reminds the model of imported documents."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import ClassVar, NamedTuple

import msgspec

from pilothouse.tools.arguments import (
    BadArgument,
    optional_float,
    optional_int,
    require_string,
    success,
)
from pilothouse.tools.consolidated import Consolidated, Operation
from pilothouse.tools.making import DocumentParts, ToolParts
from pilothouse.types import limits
from pilothouse.types.access import Access, Effect
from pilothouse.types.attached import page_count
from pilothouse.types.authority import HERE
from pilothouse.types.documents import (
    Document,
    DocumentHit,
    DocumentQuestion,
    DocumentRecords,
    NewDocument,
    Passage,
    citation,
)
from pilothouse.types.json import JsonObject
from pilothouse.types.lazy import Lazy
from pilothouse.types.ports import CallContext, CallFeedback, CallTimes, ToolOutput
from pilothouse.types.records import Records
from pilothouse.types.scopes import Scope, scopes_seen, usual_scope
from pilothouse.types.todos import Reminder
from pilothouse.types.tool_names import DOCUMENTS
from pilothouse.types.topics import SettingsNow

_REMINDER = (Path(__file__).parent / "document_reminder.md").read_text().strip()
_DOCUMENT_ID: JsonObject = {"type": "string", "description": "The id of a document, as search and list show it."}


def make(parts: ToolParts) -> Consolidated:
    """Make the tool."""
    return document_operations(parts.documents, parts.records)


def document_operations(parts: DocumentParts, conversations: Records) -> Consolidated:
    """Return the tool over these documents."""
    description = (Path(__file__).parent / f"{DOCUMENTS}.md").read_text().strip()
    operations = (_Import, _Search, _Read, _List)
    return Consolidated(DOCUMENTS, description, [each(parts, conversations) for each in operations])


class _Operation(Operation):
    """What all four have in common: what they bring is the person's, and strangers may have written it."""

    icon = "file"

    def __init__(self, parts: DocumentParts, conversations: Records) -> None:
        self._parts = parts
        self._conversations = conversations

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        return Access(operation=f"{DOCUMENTS}.{self.name}", brings=frozenset({"private", "untrusted"}), source=HERE)

    async def _scopes(self, context: CallContext) -> tuple[Scope, ...]:
        return scopes_seen(await self._conversations.conversation(context.owner, context.conversation_id))

    async def _document(self, arguments: JsonObject, context: CallContext) -> Document:
        """Return the document that a call names, if its conversation sees it."""
        named = require_string(arguments, "documentId").removeprefix("doc:").partition("#")[0]
        scopes = await self._scopes(context)
        document = await self._parts.records().one(context.owner, named, seen_by=scopes)
        if document.scope not in scopes:
            raise BadArgument("There is no such document here; list shows those that there are.", "NOT_FOUND")
        return document


class _Import(_Operation):
    """Reads a file, held to what was allowed, and keeps it."""

    name = "import_document"
    doing = "Importing document"
    effects: frozenset[Effect] = frozenset({"reads"})
    properties: ClassVar[JsonObject] = {
        "filePath": {"type": "string", "description": "A file, relative to the working directory or absolute."}
    }

    @property
    def times(self) -> CallTimes:
        return CallTimes(limits.DOCUMENT_IMPORT_TIME + limits.TOOL_TIME)

    def about(self, arguments: Mapping[str, object]) -> str:
        return str(arguments.get("filePath") or "").rstrip("/").rpartition("/")[2]

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        # Imported when it is wanted: working on files is much code.
        from pilothouse.tools.files.reading import access_to_file

        named = require_string(arguments, "filePath")
        return await asyncio.to_thread(
            access_to_file, self._parts.workspace(), named, context, f"{DOCUMENTS}.{self.name}"
        )

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        from pilothouse.tools.files.reading import file_content

        named = require_string(arguments, "filePath")
        content = await asyncio.to_thread(file_content, self._parts.workspace(), named, context, limits.DOCUMENT_BYTES)
        conversation = await self._conversations.conversation(context.owner, context.conversation_id)
        path = await asyncio.to_thread(_passing_file, content)
        try:
            given = NewDocument(context.owner, usual_scope(conversation), named, path, source=named)
            taken = await self._parts.shelf().take(given)
        finally:
            path.unlink(missing_ok=True)
        how = f"Search in it with {DOCUMENTS} (search_documents, documentId {taken.document.short_id})."
        return success(f"{taken.message} {how}", {"document": _told(taken.document), "already": taken.already})


class _Search(_Operation):
    """Finds passages."""

    name = "search_documents"
    doing = "Searching documents"
    icon = "search"
    properties: ClassVar[JsonObject] = {
        "query": {"type": "string", "description": "What to look for, as a question or in words."},
        "documentId": _DOCUMENT_ID,
        "similarityThreshold": {"type": "number", "description": "From 0 to 1; 0.25 when it is left out."},
        "maxResults": {"type": "integer"},
    }

    def about(self, arguments: Mapping[str, object]) -> str:
        return str(arguments.get("query") or "")

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        query = require_string(arguments, "query")
        named = await self._document(arguments, context) if arguments.get("documentId") else None
        asked = DocumentQuestion(
            query,
            await self._scopes(context),
            named.id if named is not None else "",
            max(1, optional_int(arguments, "maxResults", limits.DOCUMENT_HITS_USUAL)),
            optional_float(arguments, "similarityThreshold", limits.DOCUMENT_LIKENESS),
        )
        found = await self._parts.shelf().search(context.owner, asked)
        if not found.hits:
            by = "by words and by meaning" if found.found_by == "meaning" else "by words"
            return success(f"Nothing was found {by}. Try other words, or a lower similarityThreshold.")
        shown = _fitting([_shown(hit) for hit in found.hits], min(context.room, limits.DOCUMENT_READ_CHARS))
        note = f"{len(shown)} of the passages that fit, the best first." if shown else ""
        return success("\n\n".join([note, *shown]))


class _Read(_Operation):
    """Reads a document from a place on."""

    name = "read_document"
    doing = "Reading document"
    properties: ClassVar[JsonObject] = {
        "documentId": _DOCUMENT_ID,
        "page": {"type": "integer", "description": "The page to begin with, from 1 on."},
        "line": {"type": "integer", "description": "The line to begin with, from 1 on."},
    }

    def about(self, arguments: Mapping[str, object]) -> str:
        return str(arguments.get("documentId") or "")

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        document = await self._document(arguments, context)
        page, line = optional_int(arguments, "page", 0), optional_int(arguments, "line", 0)
        if page > document.pages or page < 0 or line < 0:
            raise BadArgument(
                f"{document.name} has {page_count(document.pages)}; there is no page {page}.", "OUT_OF_RANGE"
            )
        place = (page or (1 if document.pages and line else 0), line)
        text = await self._parts.shelf().text(context.owner, document.id, place, limits.DOCUMENT_PASSAGES)
        room = min(context.room, limits.DOCUMENT_READ_CHARS)
        return success(_read(document, text.passages, room), {"document": _told(document)})


class _List(_Operation):
    """Lists the documents."""

    name = "list_documents"
    doing = "Listing documents"

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        seen, count = await self._parts.records().seen_in(context.conversation_id, limits.DOCUMENT_PASSAGES)
        if not seen:
            return success("No documents are imported here.")
        left = count - len(seen)
        lines = [*map(_line, seen), *([f"… and {left:,} older ones."] if left > 0 else [])]
        return success("\n".join(lines), {"documents": [_told(each) for each in seen]})


def _passing_file(content: bytes) -> Path:
    descriptor, name = tempfile.mkstemp(prefix="document-")
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return Path(name)


def _told(document: Document) -> JsonObject:
    return {"id": document.id, "name": document.name, "pages": document.pages, "characters": document.characters}


def _line(document: Document) -> str:
    """Return a document on one line that cannot end a reminder early."""
    pages = f"{page_count(document.pages)}, " if document.pages else ""
    name = escape(" ".join(document.name.split()), quote=False)
    return f"- {name}: {pages}{document.characters:,} characters, id {document.short_id}"


def _shown(hit: DocumentHit) -> str:
    section = f" in “{hit.section}”" if hit.section else ""
    similar = " (similar; it has none of the words)" if hit.similar else ""
    text = hit.text[: limits.DOCUMENT_HIT_CHARS]
    cut = "…" if len(hit.text) > len(text) else ""
    return f"{citation(hit.document_id, hit.name, hit.page, hit.line)}{section}{similar}:\n{text}{cut}"


def _fitting(texts: Sequence[str], room: int) -> list[str]:
    shown: list[str] = []
    for text in texts:
        room -= len(text) + 2
        if room < 0 and shown:
            break
        shown.append(text)
    return shown


def _read(document: Document, passages: Sequence[Passage], room: int) -> str:
    """Return passages with the place that each begins at, and where to go on."""
    pieces = [f"{citation(document.id, document.name, each.page, each.line)}:\n{each.text}" for each in passages]
    shown = _fitting(pieces, room)
    if len(shown) < len(passages):
        after = passages[len(shown)]
    elif shown and passages[-1].position + 1 < document.passages:
        after = msgspec.structs.replace(passages[-1], line=passages[-1].line + passages[-1].text.count("\n") + 1)
    else:
        return "\n\n".join([*shown, "[That is the end.]"]) if shown else "There is no text in it."
    page = f" page={after.page}" if after.page is not None else ""
    return "\n\n".join([*shown, f"[There is more: read on with{page} line={after.line}.]"])


class _Known(NamedTuple):
    # What decides which documents a conversation sees, as it was then.
    place: tuple[str | None, str | None, int]
    until: float
    seen: Sequence[Document]
    total: int


class DocumentReminders:
    """Reminds of imported documents, so that none is imported again; implements the port `Reminders`.

    A model is reminded before each of its answers, and what it sees hardly changes: the database is asked now and then.
    """

    def __init__(self, records: Records, documents: Lazy[DocumentRecords], settings: SettingsNow) -> None:
        self._records = records
        self._documents = documents
        self._settings = settings
        self._known: OrderedDict[str, _Known] = OrderedDict()
        # Until when it is known that nobody has any.
        self._none_until = 0.0

    async def _none(self) -> bool:
        """Return whether there are no documents at all; nothing of theirs is loaded for that."""
        if self._documents.made is not None:
            return False
        if self._none_until < time.monotonic():
            if await self._records.has_documents():
                return False
            self._none_until = time.monotonic() + limits.DOCUMENTS_KNOWN
        return True

    async def _seen(self, conversation_id: str) -> tuple[Sequence[Document], int]:
        if await self._none():
            return (), 0
        settings, documents = await self._settings.of(conversation_id), self._documents()
        place = (settings.topic_id, settings.working_directory, documents.changes)
        known = self._known.get(conversation_id)
        if known is None or known.place != place or known.until < time.monotonic():
            seen, count = await documents.seen_in(conversation_id, limits.DOCUMENTS_REMINDED)
            known = _Known(place, time.monotonic() + limits.DOCUMENTS_KNOWN, seen, count)
            self._known[conversation_id] = known
            if len(self._known) > limits.TODO_LISTS_KEPT:
                self._known.popitem(last=False)
        return known.seen, known.total

    async def current(self, conversation_id: str, branch: int = 0) -> tuple[Reminder, ...]:
        seen, count = await self._seen(conversation_id)
        if not seen:
            return ()
        left = count - len(seen)
        more = [f"- and {left:,} more; {DOCUMENTS} (list_documents) names them"] if left > 0 else []
        lines = ["<importedDocuments>", *map(_line, seen), *more, _REMINDER, "</importedDocuments>"]
        return (Reminder("documents", "\n".join(lines), DOCUMENTS),)
