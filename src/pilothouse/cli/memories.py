"""`pilothouse memory`: list, search, add, edit, forget, bring back and export what is remembered."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from pilothouse.cli.options import AsJson, Replace, command, given, new_app, require_change
from pilothouse.cli.tables import show_table
from pilothouse.cli.terminal import messages, one_line, output
from pilothouse.connection import connect_host
from pilothouse.host.named_topics import topic_named
from pilothouse.types import limits
from pilothouse.types.durations import age_of
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.memories import Memory, MemoryFilter, MemoryFormat, MemoryPatch, NewMemory
from pilothouse.types.paging import Page
from pilothouse.types.scopes import EVERYWHERE, Scope

app = new_app()

_ID = "The memory's id, or its last letters as a list shows them."
MemoryId = Annotated[str, typer.Argument(metavar="ID", help=_ID)]
Folder = Annotated[
    str | None, typer.Option("--folder", metavar="DIR", help="Seen where this folder is worked in.", show_default=False)
]
Conversation = Annotated[
    str | None, typer.Option("--conversation", metavar="ID", help="Seen in this conversation.", show_default=False)
]
Topic = Annotated[
    str | None, typer.Option("--topic", metavar="TOPIC", help="Seen in this topic: its name or id.", show_default=False)
]
_SAID_BY = {"person": "you", "agent": "agent", "stranger": "agent, perhaps a stranger’s words"}


async def _scope(api: ClientApi, folder: str | None, conversation: str | None, topic: str | None) -> Scope | None:
    """Return the place that was named; None for none."""
    named = [each for each in (folder, conversation, topic) if each is not None]
    if len(named) > 1:
        raise PilothouseError("bad_request", "A memory has one place.", fix="Name a folder, a conversation or a topic.")
    if folder is not None:
        return Scope(kind="folder", id=_whole_path(folder))
    if conversation is not None:
        return Scope(kind="conversation", id=conversation)
    return Scope(kind="topic", id=(await topic_named(api, topic)).id) if topic is not None else None


def _whole_path(folder: str) -> str:
    return os.path.abspath(os.path.expanduser(folder))


def _check_folder(folder: str | None) -> None:
    """Raise one sentence unless a folder to remember something for is there; what is remembered is read without it."""
    if folder is not None and not os.path.isdir(path := _whole_path(folder)):
        raise PilothouseError("bad_request", f"There is no folder {path}.", fix="Make it first, or name another one.")


def _filter(scope: Scope | None, *, forgotten: bool = False) -> MemoryFilter:
    if scope is None:
        return MemoryFilter(forgotten=forgotten)
    return MemoryFilter(scope.kind, scope.id, forgotten)


def _show(memories: Sequence[Memory], none: str) -> None:
    now = time.time()
    rows = [
        (one.short, one.scope.kind, age_of(now - one.updated_at), _SAID_BY[one.says], _said(one)) for one in memories
    ]
    show_table(output(), ("id", "seen", "age", "by", "memory"), rows, none=none)


def _said(memory: Memory) -> str:
    """Return a memory on one line; a title that is only the beginning of its text is not said twice."""
    return memory.text if memory.text.startswith(memory.title.removesuffix("…")) else f"{memory.title}: {memory.text}"


@command(app, "list")
async def list_memories(
    folder: Folder = None,
    conversation: Conversation = None,
    topic: Topic = None,
    forgotten: Annotated[bool, typer.Option("--forgotten", help="Those that can be brought back.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=limits.PAGE_ITEMS, help="How many.")] = 50,
    json: AsJson = False,
) -> int:
    """List what is remembered, the newest first."""
    async with connect_host() as api:
        wanted = _filter(await _scope(api, folder, conversation, topic), forgotten=forgotten)
        page = await api.memories.list(LOCAL_OWNER, wanted, Page(limit))
    if json:
        output().json(page)
        return 0
    _show(page.memories, "Nothing is remembered there.")
    if page.next is not None:
        messages().line(f"There are more; --limit takes up to {limits.PAGE_ITEMS}.", "dim")
    return 0


@command(app)
async def search(
    words: Annotated[list[str], typer.Argument(metavar="WORDS…", help="What it is about.")],
    folder: Folder = None,
    conversation: Conversation = None,
    topic: Topic = None,
    json: AsJson = False,
) -> int:
    """Search what is remembered, by words and by meaning."""
    query = " ".join(words)
    if len(query) > limits.MEMORY_QUERY_CHARS:
        raise PilothouseError("bad_request", f"A search has at most {limits.MEMORY_QUERY_CHARS:,} characters.")
    async with connect_host() as api:
        wanted = _filter(await _scope(api, folder, conversation, topic))
        found = await api.memories.search(LOCAL_OWNER, query, wanted)
    if json:
        output().json(found)
        return 0
    _show([match.memory for match in found.matches], "Nothing is remembered about that.")
    if not found.by_meaning:
        messages().line(one_line(found.meaning_note or "Texts were searched by their words."), "dim")
    return 0


@command(app)
async def add(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to remember.")],
    title: Annotated[str, typer.Option("--title", help="A few words; the beginning of the text otherwise.")] = "",
    tag: Annotated[list[str] | None, given("--tag", help="May be given more than once.")] = None,
    folder: Folder = None,
    conversation: Conversation = None,
    topic: Topic = None,
) -> int:
    """Remember something, everywhere unless you name a place, and print its id."""
    async with connect_host() as api:
        scope = await _scope(api, folder, conversation, topic) or EVERYWHERE
        _check_folder(folder)
        body = NewMemory(text=text, title=title, tags=tuple(tag or ()), scope=scope)
        kept = await api.memories.create(LOCAL_OWNER, body)
    output().line(kept.memory.short)
    if kept.outcome != "kept":
        messages().line(one_line(f"“{kept.memory.title}” says that already."), "yellow")
    _show_contradicted(kept.contradicts)
    return 0


async def _doubted(api: ClientApi, memory: Memory) -> list[Memory]:
    found = []
    for key in memory.doubts:
        try:
            found.append(await api.memories.get(LOCAL_OWNER, key))
        except PilothouseError as error:
            # What is forgotten contradicts nothing.
            if error.code != "not_found":
                raise
    return found


def _show_contradicted(others: Sequence[Memory]) -> None:
    for other in others:
        messages().line(one_line(f"It may contradict {other.short}: {_said(other)}"), "yellow")


@dataclass(frozen=True, kw_only=True)
class MemoryForm:
    """What of a memory can be changed."""

    text: Annotated[str | None, given("--text", help="What it says.")] = None
    title: Annotated[str | None, given("--title", help="A few words.")] = None
    tag: Annotated[list[str] | None, given("--tag", help="Its tags from now on; may be given more than once.")] = None
    everywhere: Annotated[bool, given("--everywhere", help="Seen in all conversations.")] = False
    folder: Annotated[str | None, given("--folder", metavar="DIR", help="Seen where this folder is worked in.")] = None
    vouch: Annotated[bool, given("--vouch", help="You say it yourself, wherever it came from.")] = False


@command(app)
async def edit(memory: MemoryId, form: MemoryForm) -> int:
    """Change a memory."""
    require_change(form, "pilothouse memory edit")
    _check_folder(form.folder)
    async with connect_host() as api:
        patch = MemoryPatch(
            text=form.text,
            title=form.title,
            tags=tuple(form.tag) if form.tag else None,
            scope=EVERYWHERE if form.everywhere else await _scope(api, form.folder, None, None),
            vouched=form.vouch,
        )
        after = await api.memories.update(LOCAL_OWNER, memory, patch)
        doubted = await _doubted(api, after) if form.text is not None else []
    messages().line(one_line(f"Changed “{after.title}”."))
    _show_contradicted(doubted)
    return 0


@command(app)
async def forget(memory: MemoryId) -> int:
    """Forget a memory; `restore` brings it back for a month."""
    async with connect_host() as api:
        gone = await api.memories.forget(LOCAL_OWNER, memory)
    messages().line(one_line(f"Forgot “{gone.title}”. Bring it back: pilothouse memory restore {gone.short}"))
    return 0


@command(app)
async def restore(memory: MemoryId) -> int:
    """Remember a forgotten memory again."""
    async with connect_host() as api:
        back = await api.memories.restore(LOCAL_OWNER, memory)
    messages().line(one_line(f"“{back.title}” is remembered again."))
    return 0


@command(app)
async def export(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Where to.", show_default=False)] = None,
    as_format: Annotated[MemoryFormat, typer.Option("--format", help="For programs, or for people.")] = "json",
    replace: Replace = False,
) -> int:
    """Write all that is remembered into a file, or print it."""
    async with connect_host() as api:
        chunks = (await api.memories.export(LOCAL_OWNER, as_format)).chunks
        if file is None:
            async for chunk in chunks:
                output().write(chunk.decode())
            return 0
        await asyncio.to_thread(_write, file, await _whole(chunks), replace=replace)
    output().line(str(file.absolute()))
    return 0


async def _whole(chunks: AsyncIterator[bytes]) -> bytes:
    return b"".join([chunk async for chunk in chunks])


def _write(file: Path, content: bytes, *, replace: bool) -> None:
    from pilothouse.wiring.whole_files import new_file

    with new_file(file, replace=replace) as sink:
        sink.write(content)
