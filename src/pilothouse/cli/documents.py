"""`pilothouse documents`: files whose text is kept, searched and quoted."""

from __future__ import annotations

import errno
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated

import typer

from pilothouse.cli.options import AsJson, command, new_app
from pilothouse.cli.tables import counted, show_table, when
from pilothouse.cli.terminal import messages, one_line, output
from pilothouse.connection import connect_host
from pilothouse.types import limits
from pilothouse.types.documents import KIND_NAMES, Document, DocumentHit, Passage, place_name
from pilothouse.types.errors import PilothouseError
from pilothouse.types.home_paths import at_home
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.host_documents import DocumentPlace, Sought, Where
from pilothouse.types.paging import Page

app = new_app("Add, list, search, show and remove documents.")
_PIECE = 256 * 1024

DocumentId = Annotated[str, typer.Argument(metavar="ID", help="The document's id, or the last eight characters of it.")]
Conversation = Annotated[
    str, typer.Option("--conversation", metavar="ID", help="Of this conversation.", show_default=False)
]
Topic = Annotated[str, typer.Option("--topic", metavar="ID", help="Of this topic.", show_default=False)]


def _where(conversation: str, topic: str) -> Where:
    if topic:
        return Where(scope="topic", scope_id=topic)
    return Where(seen_by=conversation)


@command(app)
async def add(
    files: Annotated[
        list[str], typer.Argument(metavar="FILES…", help="PDF, Office files, HTML, Markdown, text, code.")
    ],
    conversation: Conversation = "",
    topic: Topic = "",
) -> int:
    """Read files and keep them, for every conversation or for one; print their ids.

    The same file is not kept twice in the same place.
    """
    failed = 0
    where = _where(conversation, topic) if conversation or topic else Where(scope="everywhere")
    async with connect_host() as api:
        for name in files:
            try:
                path = at_home(Path(name))
                taken = await api.documents.upload(LOCAL_OWNER, _chunks(path), path.name, where)
            except PilothouseError as error:
                # The others are added all the same.
                failed = failed or error.exit_code
                messages().line(one_line(f"{error.message} {error.fix}".strip()), "red")
                continue
            output().line(taken.document.short_id)
            messages().line(one_line(taken.message))
    return failed


async def _chunks(path: Path) -> AsyncIterator[bytes]:
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size > limits.DOCUMENT_BYTES:
                most = limits.DOCUMENT_BYTES // 1024**2
                raise PilothouseError("too_large", f"{path} is too large; a document has at most {most} MB.")
            while piece := file.read(_PIECE):
                yield piece
    except OSError as error:
        reason = os.strerror(error.errno or errno.EIO).lower()
        raise PilothouseError("bad_request", f"{path} cannot be read: {reason}.") from None


@command(app, "list")
async def list_documents(conversation: Conversation = "", topic: Topic = "", json: AsJson = False) -> int:
    """List documents, the newest first: all, those that a conversation sees, or those of a topic."""
    found: list[Document] = []
    async with connect_host() as api:
        cursor = None
        while True:
            page = await api.documents.list(LOCAL_OWNER, _where(conversation, topic), Page(cursor=cursor))
            found += page.documents
            cursor = page.next
            if cursor is None:
                break
    if json:
        output().json(found)
        return 0
    rows = [
        (one.short_id, KIND_NAMES[one.kind], _size(one), one.scope.kind, when(one.created_at), one.name)
        for one in found
    ]
    show_table(output(), ("id", "kind", "size", "seen by", "added", "name"), rows, none="There are no documents.")
    return 0


def _size(document: Document) -> str:
    return counted(document.pages, "page") if document.pages else counted(document.characters, "character")


@command(app)
async def search(
    words: Annotated[list[str], typer.Argument(metavar="WORDS…", help="What to look for: a question, or words.")],
    document: Annotated[
        str, typer.Option("--document", metavar="ID", help="Only in this document.", show_default=False)
    ] = "",
    conversation: Conversation = "",
    topic: Topic = "",
    json: AsJson = False,
) -> int:
    """Find passages by words and, where there is a model for it, by meaning.

    Ends with 1 when nothing was found.
    """
    sought = Sought(q=" ".join(words), document=document, most=limits.DOCUMENT_HITS)
    async with connect_host() as api:
        found = await api.documents.search(LOCAL_OWNER, sought, _where(conversation, topic))
    if json:
        output().json(found)
        return 0 if found.hits else 1
    if not found.hits:
        messages().line("Nothing was found.")
    for hit in found.hits:
        _show_hit(hit)
    return 0 if found.hits else 1


def _show_hit(hit: DocumentHit) -> None:
    out = output()
    section = f" · {hit.section}" if hit.section else ""
    out.line(one_line(f"{place_name(hit.name, hit.page, hit.line)} · {hit.document_id[-8:]}{section}"), "bold")
    out.line(f"  {one_line(hit.snippet)}")


@command(app)
async def show(
    document_id: DocumentId,
    page: Annotated[int, typer.Option("--page", min=0, help="Begin with this page.")] = 0,
    line: Annotated[int, typer.Option("--line", min=0, help="Begin with this line.")] = 0,
    json: AsJson = False,
) -> int:
    """Print the text of a document, from a place on if one is named."""
    async with connect_host() as api:
        text = await api.documents.text(LOCAL_OWNER, document_id, DocumentPlace(page=page, line=line))
        if json:
            output().json(text)
            return 0
        about = text.document
        messages().line(
            one_line(f"{about.name}: {KIND_NAMES[about.kind]}, {_size(about)}. {about.note}".strip()), "dim"
        )
        last: int | None = None
        while text.passages:
            for passage in text.passages:
                last = _show_passage(passage, last)
            after = text.passages[-1].position + 1
            if after >= about.passages:
                break
            text = await api.documents.text(LOCAL_OWNER, about.id, DocumentPlace(first=after))
    return 0


def _show_passage(passage: Passage, page: int | None) -> int | None:
    if passage.page is not None and passage.page != page:
        output().line(f"--- page {passage.page} ---", "dim")
    for line in passage.text.split("\n"):
        output().line(one_line(line))
    return passage.page


@command(app)
async def remove(document_id: DocumentId) -> int:
    """Remove a document; `restore` brings it back for a while."""
    async with connect_host() as api:
        document = await api.documents.get(LOCAL_OWNER, document_id)
        await api.documents.delete(LOCAL_OWNER, document.id)
    undo = f"Bring it back: pilothouse documents restore {document.short_id}"
    messages().line(one_line(f"Removed {document.name}. {undo}"))
    return 0


@command(app)
async def restore(document_id: DocumentId) -> int:
    """Bring a removed document back."""
    async with connect_host() as api:
        document = await api.documents.restore(LOCAL_OWNER, document_id)
    messages().line(one_line(f"{document.name} is back."))
    return 0
