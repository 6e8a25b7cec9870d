"""`pilothouse documents`: files whose text is kept, searched and quoted."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated

import typer

from pilothouse.cli.options import AsJson, command, new_app
from pilothouse.cli.tables import counted, show_table, when
from pilothouse.cli.terminal import messages, one_line, output
from pilothouse.connection import connect_host
from pilothouse.host.named_topics import topic_named
from pilothouse.types import limits
from pilothouse.types.documents import KIND_NAMES, Document, DocumentHit, Passage, place_name
from pilothouse.types.errors import PilothouseError
from pilothouse.types.home_paths import at_home
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.host_documents import DocumentPlace, Sought, Where
from pilothouse.types.paging import Page

app = new_app("Add, list, search, show and remove documents.")
_PIECE = 256 * 1024

DocumentId = Annotated[str, typer.Argument(metavar="ID", help="The document's id, or the last eight characters of it.")]
Conversation = Annotated[
    str, typer.Option("--conversation", metavar="ID", help="Of this conversation.", show_default=False)
]
Topic = Annotated[
    str, typer.Option("--topic", metavar="TOPIC", help="Of this topic, by its name or id.", show_default=False)
]


async def _where(api: ClientApi, conversation: str, topic: str) -> Where:
    if topic:
        return Where(scope="topic", scope_id=(await topic_named(api, topic)).id)
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
    async with connect_host() as api:
        where = await _where(api, conversation, topic) if conversation or topic else Where(scope="everywhere")
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
        _check_file(path)
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size > limits.DOCUMENT_BYTES:
                most = limits.DOCUMENT_BYTES // 1024**2
                raise PilothouseError("too_large", f"{path} is too large; a document has at most {most} MB.")
            while piece := file.read(_PIECE):
                yield piece
    except OSError as error:
        reason = os.strerror(error.errno or errno.EIO).lower()
        raise PilothouseError("bad_request", f"{path} cannot be read: {reason}.") from None


def _check_file(path: Path) -> None:
    """Raise for what is no file, before it is opened: opening a pipe waits for who writes to it."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise PilothouseError("bad_request", f"{path} is {what}, not a document.", fix="Name a file.")


@command(app, "list")
async def list_documents(conversation: Conversation = "", topic: Topic = "", json: AsJson = False) -> int:
    """List documents, the newest first: all, those that a conversation sees, or those of a topic."""
    found: list[Document] = []
    async with connect_host() as api:
        where, cursor = await _where(api, conversation, topic), None
        while True:
            page = await api.documents.list(LOCAL_OWNER, where, Page(cursor=cursor))
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
        found = await api.documents.search(LOCAL_OWNER, sought, await _where(api, conversation, topic))
        why_words = (await api.meaning.get(LOCAL_OWNER)).message if found.found_by == "words" and not json else ""
    if json:
        output().json(found)
        return 0 if found.hits else 1
    if why_words:
        messages().line(one_line(why_words), "dim")
    if not found.hits:
        messages().line("Nothing was found.")
    for hit in found.hits:
        _show_hit(hit)
    return 0 if found.hits else 1


def _show_hit(hit: DocumentHit) -> None:
    out = output()
    section = f" · {hit.section}" if hit.section else ""
    out.line(one_line(f"{place_name(hit.name, hit.page, hit.line)} · {hit.document_id[-8:]}{section}"), "bold")
    out.write(f"  {one_line(hit.snippet)}")
    if hit.similar:
        out.styled_text("  (similar)", "dim")
    out.write("\n")


@command(app)
async def show(
    document_id: DocumentId,
    page: Annotated[int | None, typer.Option("--page", help="Begin with this page.", show_default=False)] = None,
    line: Annotated[int | None, typer.Option("--line", help="Begin with this line.", show_default=False)] = None,
    json: AsJson = False,
) -> int:
    """Print the text of a document, from a place on if one is named."""
    async with connect_host() as api:
        place = _place(await api.documents.get(LOCAL_OWNER, document_id), page, line)
        text = await api.documents.text(LOCAL_OWNER, document_id, place)
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


def _place(about: Document, page: int | None, line: int | None) -> DocumentPlace:
    """Return a place in a document; raise one sentence for a page or a line that it does not have."""
    if page is not None and not about.pages:
        raise PilothouseError("bad_request", f"{about.name} has no pages.", fix="Name a line instead: --line")
    if page is not None and not 1 <= page <= about.pages:
        has = counted(about.pages, "page")
        raise PilothouseError("bad_request", f"{about.name} has {has}; there is no page {page}.")
    # Lines are counted on each page.
    if line is not None and (line < 1 or (not about.pages and line > about.lines)):
        has = counted(about.lines, "line")
        raise PilothouseError("bad_request", f"{about.name} has {has}; there is no line {line}.")
    return DocumentPlace(page=page or (1 if about.pages and line else 0), line=line or 0)


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
