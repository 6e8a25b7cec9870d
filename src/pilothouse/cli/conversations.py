"""`pilothouse conversations`: list, show, search, rename, sum up, resume, delete, export and import them."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import os
import sys
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from pilothouse.cli import branch_commands
from pilothouse.cli.asking import RunReport, converse, sum_up, verdict
from pilothouse.cli.call_lines import told, ways_on
from pilothouse.cli.command import leave
from pilothouse.cli.kept_files import described, pictures_of, show_or_save
from pilothouse.cli.markdown import MarkdownScreen
from pilothouse.cli.options import AsJson, ConversationId, Replace, command, given, new_app
from pilothouse.cli.sources import source_lines
from pilothouse.cli.tables import counted, show_table, when
from pilothouse.cli.terminal import Terminal, messages, one_line, output
from pilothouse.cli.transcript import Transcript
from pilothouse.cli.wrapping import say
from pilothouse.connection import connect_host
from pilothouse.host.following import Following, all_items
from pilothouse.timeline.transcripts import as_read, summed_up
from pilothouse.types import limits
from pilothouse.types.api import ConversationPatch, SearchHit
from pilothouse.types.errors import PilothouseError
from pilothouse.types.exchange import ExportFormat
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.item_data import CallData, CompactionData, ResponseData
from pilothouse.types.items import Item, is_a, is_hidden, parts_of
from pilothouse.types.runs import Run

app = new_app()
BranchNumber = Annotated[int | None, given(min=0, help="Another branch than the chosen one; 0 is the first.")]


@command(app, "list")
async def list_conversations(
    limit: Annotated[int, typer.Option(min=1, help="How many.")] = 20, json: AsJson = False
) -> int:
    """List conversations, most recently used first."""
    async with connect_host() as api:
        page = await api.conversations.list(LOCAL_OWNER, limit=min(limit, limits.PAGE_ITEMS), cursor=None)
    if json:
        output().json(page)
        return 0
    rows = [(one.id, when(one.updated_at), one.title or "(new)") for one in page.conversations]
    none = 'There are no conversations yet. Begin one: pilothouse run "…"'
    show_table(output(), ("id", "last used", "title"), rows, none=none)
    return 0


@command(app)
async def show(conversation: ConversationId, branch: BranchNumber = None, json: AsJson = False) -> int:
    """Print what was said in a conversation."""
    async with connect_host() as api:
        now = await api.conversations.get(LOCAL_OWNER, conversation, limit=limits.SNAPSHOT_ITEMS, branch=branch)
        items = await all_items(api, conversation, now.branch)
    runs = _on_path(now.runs, items)
    out = output()
    for item in items if json else as_read(items):
        if json:
            out.json(item)
        else:
            _print_item(item, out)
    if any(pictures_of(parts_of(item)) for item in items) and not json:
        say(messages(), f"Save its pictures: pilothouse conversations files {conversation} FOLDER", "dim")
    if now.conversation.branches and not json:
        which = f"branch {now.branch} of {now.conversation.branches + 1}"
        say(messages(), f"This is {which}. All of them: pilothouse conversations branches {conversation}", "dim")
    for run in runs:
        if run.status == "queued":
            why = "A message was kept, and its answer has not begun."
            say(messages(), f"{why} Have it answered: pilothouse conversations resume {conversation}", "yellow")
        if run.status == "interrupted":
            why = run.error.message if run.error is not None else "The program stopped before an answer was finished."
            say(messages(), f"{why} Go on with it: pilothouse conversations resume {conversation}", "yellow")
    if runs and runs[-1].cut is not None:
        say(messages(), f"Go on with the answer: pilothouse conversations resume {conversation}", "yellow")
    return 0


def _on_path(runs: Sequence[Run], items: Iterable[Item]) -> list[Run]:
    """Return those of some runs whose messages are among the items."""
    there = {item.run_id for item in items}
    return [run for run in runs if run.id in there]


def _begins(text: str) -> str:
    """Return the first words of a message, on one line."""
    begin = " ".join(text[: limits.BRANCH_WORDS].split())
    return f"{begin}…" if len(text) > limits.BRANCH_WORDS else begin


@command(app)
async def runs(
    conversation: ConversationId,
    limit: Annotated[int, typer.Option(min=1, help="How many.")] = 20,
    json: AsJson = False,
) -> int:
    """List the runs of a conversation, of all branches, newest last."""
    async with connect_host() as api:
        items = await all_items(api, conversation, None)
        asked = [item for item in items if item.kind == "user_message" and item.run_id][-limit:]
        found = [await api.runs.get(LOCAL_OWNER, item.run_id or "") for item in asked]
    if json:
        for run in found:
            output().json(run)
        return 0
    models = {item.run_id: item.data.model for item in items if is_a(item, ResponseData) and item.data.model}
    rows = [
        (run.id, when(run.created_at), run.status, str(run.branch), models.get(run.id, ""), _begins(item.text))
        for run, item in zip(found, asked, strict=True)
    ]
    none = "Nothing was asked in this conversation yet."
    show_table(output(), ("run", "begun", "status", "branch", "model", "message"), rows, none=none)
    return 0


@command(app)
async def context(conversation: ConversationId, json: AsJson = False) -> int:
    """Show what fills a conversation's window, and what it took."""
    from pilothouse.cli.usage import context

    return await context(conversation, as_json=json)


@command(app)
async def files(
    conversation: ConversationId,
    folder: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="Where to save them.", show_default=False)
    ] = None,
    only: Annotated[int | None, given(min=1, help="Only the one with this number.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Write over files that are there.")] = False,
    json: AsJson = False,
) -> int:
    """List or save the pictures and files of a conversation.

    They are what you attached, what tools gave and what models made, each with a number.
    """
    return await show_or_save(conversation, folder, only=only, replace=replace, as_json=json)


def _print_item(item: Item, out: Terminal) -> None:
    heads = {"user_message": "You", "response": "Answer", "question": "Question", "notice": "Notice"}
    if is_a(item, CallData):
        out.line(one_line(told(item)), "dim" if item.status == "completed" else "yellow")
        out.line()
    if is_a(item, CompactionData) and item.status == "completed":
        out.line(summed_up(item), "bold")
        say(out, "\n\n".join(filter(None, (item.text, item.data.noted))))
        out.line()
    pictures = pictures_of(parts_of(item)) if item.kind in heads else []
    if item.kind not in heads or not (item.text or pictures):
        return
    out.line(heads[item.kind] + (" (hidden from models)" if is_hidden(item) else ""), "bold")
    if item.kind == "response" and out.is_terminal and item.text:
        screen = MarkdownScreen(colours=out.styled)
        out.write_styled(screen.feed(item.text) + screen.end())
        out.fresh_line()
    elif item.text:
        say(out, " ".join(filter(None, (item.text, ways_on(item)))))
    for part in pictures:
        out.line(f"[{described(part)}]", "dim")
    if is_a(item, ResponseData) and item.data.cut_off:
        out.line("The answer broke off here.", "yellow")
    for line in source_lines(item.data.sources) if is_a(item, ResponseData) else ():
        out.line(line, "dim")
    out.line()


@command(app)
async def search(
    words: Annotated[str, typer.Argument(metavar="WORDS", help="What to look for.")], json: AsJson = False
) -> int:
    """Find conversations by their words, then by what they mean."""
    async with connect_host() as api:
        result = await api.conversations.search(LOCAL_OWNER, words, limit=limits.SEARCH_HITS)
    if json:
        output().json(result)
        return 0 if result.hits else 1
    if not result.hits:
        messages().line("Nothing was found.")
        return 1
    out = output()
    for conversation_id, hits in itertools.groupby(result.hits, key=lambda hit: hit.conversation_id):
        shown = list(hits)
        out.styled_text(conversation_id, "dim")
        out.styled_text(f"  {one_line(shown[0].title)}\n", "bold")
        for hit in shown:
            # The title stands above, and is not said again.
            if hit.kind != "title":
                _print_snippet(hit, out)
        if shown[0].found_here > len(shown):
            out.line(f"  and {shown[0].found_here - len(shown)} more", "dim")
    return 0


def _print_snippet(hit: SearchHit, out: Terminal) -> None:
    at = 0
    out.write("  ")
    for found in hit.ranges:
        out.write(_flat(hit.snippet[at : found.start]))
        out.styled_text(_flat(hit.snippet[found.start : found.end]), "yellow")
        at = found.end
    out.write(_flat(hit.snippet[at:]))
    about = ["similar"] if hit.similar else []
    about += [f"branch {hit.branch}"] if hit.off_path else []
    about += ["hidden"] if hit.hidden else []
    if about:
        out.styled_text(f"  ({', '.join(about)})", "dim")
    out.write("\n")


def _flat(text: str) -> str:
    return text.replace("\n", " ")


@command(app)
async def rename(
    conversation: ConversationId, title: Annotated[str, typer.Argument(metavar="TITLE", help="Its new title.")]
) -> int:
    """Give a conversation another title."""
    async with connect_host() as api:
        changed = await api.conversations.update(LOCAL_OWNER, conversation, ConversationPatch(title=title))
    output().line(one_line(changed.title))
    return 0


@command(app)
async def resume(conversation: ConversationId) -> int:
    """Go on with an answer that broke off or was cut, and show it."""
    async with connect_host(tell=_wait_aloud, brief=True) as api:
        found = await api.conversations.get(LOCAL_OWNER, conversation, limit=limits.SNAPSHOT_ITEMS)
        runs = _on_path(found.runs, found.items)
        waiting = [run for run in runs if run.status in ("interrupted", "queued")]
        ended = [run for run in runs[-1:] if run.status in ("failed", "cancelled") or run.cut is not None]
        if held := [run for run in runs if run.status == "running"]:
            return verdict(await _held(api, Following(api, held[0], found.last_seq), found.items))
        if not waiting and not ended:
            raise PilothouseError("conflict", "No answer in this conversation waits to be resumed.")
        run = await api.runs.resume(LOCAL_OWNER, (waiting or ended)[0].id)
        return verdict(await converse(api, Following(api, run, found.last_seq), output()))


@command(app)
async def compact(
    conversation: ConversationId,
    keep: Annotated[str, typer.Option(metavar="WORDS", help="What the summary must keep above all.")] = "",
) -> int:
    """Sum up what was said so far; the model reads that instead.

    Nothing is deleted: `conversations show` has all of it, and the model can look things up in it.
    """
    async with connect_host(tell=_wait_aloud, brief=True) as api:
        found = await api.conversations.get(LOCAL_OWNER, conversation, limit=1)
        return verdict(await sum_up(api, found.conversation, keep))


def _wait_aloud(sentence: str) -> None:
    """Say what is waited for, also where no terminal is: whoever resumes wants to know whether anything happens."""
    say(messages(), sentence, "dim")


async def _held(api: ClientApi, following: Following, so_far: Iterable[Item]) -> RunReport:
    """Show the rest of an answer that another program holds; if that one has died, it goes on here."""
    _wait_aloud(
        "Another program is writing this answer; what it writes from now on is shown here. If nothing is heard of that "
        f"program for {limits.LEASE_DEAD:.0f} s, the answer goes on here."
    )
    out = output()
    transcript = Transcript(following.run.id, out, messages())
    transcript.join(so_far)
    report = await converse(api, following, out, transcript=transcript)
    if report.run.status != "interrupted":
        return report
    following.go_on(await api.runs.resume(LOCAL_OWNER, report.run.id))
    return await converse(api, following, output())


@command(app)
async def delete(conversation: ConversationId) -> int:
    """Delete a conversation; it can be restored for a while."""
    async with connect_host() as api:
        await api.conversations.delete(LOCAL_OWNER, conversation)
    messages().line(f"Deleted. For {limits.UNDO_DELETE_DAYS} days it can be brought back:")
    messages().line(f"  pilothouse conversations restore {conversation}")
    return 0


@command(app)
async def restore(conversation: ConversationId) -> int:
    """Bring a deleted conversation back."""
    async with connect_host() as api:
        back = await api.conversations.restore(LOCAL_OWNER, conversation)
    output().line(one_line(back.title))
    return 0


@app.command()
def export(
    conversation: Annotated[
        str | None, typer.Argument(metavar="ID", help="The conversation's id.", show_default=False)
    ] = None,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="Where to; compressed if it ends in .gz.", show_default=False),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them; FILE is then the only argument.")] = False,
    as_format: Annotated[
        ExportFormat, typer.Option("--format", help="Everything, or what was said for people.")
    ] = "json",
    all_branches: Annotated[
        bool, typer.Option("--all-branches", help="As Markdown: all branches, not only the chosen one.")
    ] = False,
    replace: Replace = False,
) -> None:
    """Write conversations into a file, or print them.

    As JSON it holds everything: `conversations import` takes it, here or elsewhere, and its record can still be
    verified. What is allowed for a while and what files were before is not in it.
    """
    which, where = conversation, file
    if everything:
        which, where = None, Path(conversation) if conversation is not None else None
    if (everything and file is not None) or (not everything and conversation is None):
        raise PilothouseError("bad_request", "Name one conversation, or say --all.")
    from pilothouse.wiring.offline import export as write

    def written(sink: BinaryIO) -> int:
        return write(LOCAL_OWNER, which, as_format, sink, all_branches=all_branches)

    leave(lambda: _export(written, where, replace=replace))


def _export(written: Callable[[BinaryIO], int], file: Path | None, *, replace: bool) -> int:
    if file is None:
        written(sys.stdout.buffer)
        return 0
    with _sink(file, replace=replace) as sink:
        count = written(sink)
    output().line(str(file.absolute()))
    say(messages(), f"{counted(count, 'conversation')}.", "dim")
    return 0


@contextmanager
def _sink(file: Path, *, replace: bool) -> Iterator[BinaryIO]:
    from pilothouse.wiring.whole_files import new_file

    with new_file(file, replace=replace) as plain:
        if file.suffix == ".gz":
            with gzip.GzipFile(fileobj=plain, mode="wb") as packing:
                yield packing  # type: ignore[misc]
        else:
            yield plain


@command(app, "import")
async def import_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `conversations export` wrote as JSON.")],
    json: AsJson = False,
) -> int:
    """Take over the conversations of a file.

    Nothing in them is carried out: what was at work is stopped, and what they were allowed, their folder, their
    servers and their model are not taken over.
    """
    async with connect_host() as api:
        done = await api.exchange.import_conversations(LOCAL_OWNER, _pieces(file))
    if json:
        output().json(done)
        return 0
    for one in done.conversations:
        said = " (was here already)" if one.already else ""
        output().line(f"{one.id}  {one_line(one.title) or '(new)'}{said}")
    if not done.conversations:
        messages().line("There is no conversation in this file.")
    return 0


async def _pieces(file: Path) -> AsyncGenerator[bytes, None]:
    try:
        with await asyncio.to_thread(file.open, "rb") as source:
            if not os.fstat(source.fileno()).st_size:
                raise PilothouseError("bad_request", f"{file} is empty.", fix="Use another copy.")
            while piece := await asyncio.to_thread(source.read, limits.DOWNLOAD_BYTES):
                yield piece
    except OSError as error:
        message = f"{file} cannot be read: {(error.strerror or 'it is not there').lower()}."
        raise PilothouseError("bad_request", message) from None


# What branches take is a file of its own.
app.registered_commands += branch_commands.app.registered_commands
