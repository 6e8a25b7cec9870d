"""`pilothouse conversations`: list, show, search, rename, resume and delete them."""

from __future__ import annotations

import itertools
import time

from pilothouse.cli.asking import converse, verdict
from pilothouse.cli.call_lines import told
from pilothouse.cli.markdown import MarkdownScreen
from pilothouse.cli.tables import show_table
from pilothouse.cli.terminal import Terminal, messages, one_line, output
from pilothouse.cli.wrapping import aside_only, say
from pilothouse.connection import connect_host
from pilothouse.runs.following import Following
from pilothouse.types import limits
from pilothouse.types.api import ConversationPatch, SearchHit
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.items import Item


async def list_conversations(limit: int, *, as_json: bool) -> int:
    """List the most recently used ones."""
    async with connect_host() as api:
        page = await api.conversations(LOCAL_OWNER, limit=min(limit, limits.PAGE_ITEMS), cursor=None)
    if as_json:
        output().json(page)
        return 0
    if not page.conversations:
        messages().line('There are no conversations yet. Begin one: pilothouse run "…"')
        return 0
    rows = [(one.id, _when(one.updated_at), one.title or "(new)") for one in page.conversations]
    show_table(output(), ("id", "last used", "title"), rows)
    return 0


async def show(conversation_id: str, *, as_json: bool) -> int:
    """Print what was said in one."""
    async with connect_host() as api:
        items: tuple[Item, ...] = ()
        more = True
        while more:
            before = items[0].position if items else None
            page = await api.items(LOCAL_OWNER, conversation_id, before=before, limit=limits.SNAPSHOT_ITEMS)
            items, more = page.items + items, page.has_earlier
        runs = (await api.snapshot(LOCAL_OWNER, conversation_id, limit=limits.SNAPSHOT_ITEMS)).runs
    out = output()
    for item in items:
        if as_json:
            out.json(item)
        else:
            _print_item(item, out)
    for run in runs:
        if run.status == "interrupted":
            why = run.error.message if run.error is not None else "The program stopped before an answer was finished."
            say(messages(), f"{why} Go on with it: pilothouse conversations resume {conversation_id}", "yellow")
    return 0


async def resume(conversation_id: str) -> int:
    """Go on with the answer that waits for it, and show it; else with the last one that failed or was stopped."""
    async with connect_host(tell=aside_only, brief=True) as api:
        found = await api.snapshot(LOCAL_OWNER, conversation_id, limit=limits.SNAPSHOT_ITEMS)
        waiting = [run for run in found.runs if run.status == "interrupted"]
        ended = [run for run in found.runs[-1:] if run.status in ("failed", "cancelled")]
        if not waiting and not ended:
            raise PilothouseError("conflict", "No answer in this conversation waits to be resumed.")
        run = await api.resume_run(LOCAL_OWNER, (waiting or ended)[0].id)
        return verdict(await converse(api, Following(api, run, found.last_seq), output()))


def _print_item(item: Item, out: Terminal) -> None:
    heads = {"user_message": "You", "response": "Answer", "question": "Question", "notice": "Notice"}
    if item.kind == "tool_call":
        out.line(one_line(told(item)), "dim" if item.status == "completed" else "yellow")
        out.line()
    if item.kind not in heads or not item.text:
        return
    out.line(heads[item.kind], "bold")
    if item.kind == "response" and out.is_terminal:
        screen = MarkdownScreen(colours=out.styled)
        out.write_styled(screen.feed(item.text) + screen.end())
        out.fresh_line()
    else:
        say(out, item.text)
    out.line()


async def search(query: str, *, as_json: bool) -> int:
    """Find conversations by their words."""
    async with connect_host() as api:
        result = await api.search(LOCAL_OWNER, query, limit=limits.SEARCH_HITS)
    if as_json:
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
    out.write(_flat(hit.snippet[at:]) + "\n")


def _flat(text: str) -> str:
    return text.replace("\n", " ")


async def rename(conversation_id: str, title: str) -> int:
    """Give one another title."""
    async with connect_host() as api:
        changed = await api.update_conversation(LOCAL_OWNER, conversation_id, ConversationPatch(title=title))
    output().line(one_line(changed.title))
    return 0


async def delete(conversation_id: str) -> int:
    """Delete one; it can be restored for a while."""
    async with connect_host() as api:
        await api.delete_conversation(LOCAL_OWNER, conversation_id)
    messages().line(f"Deleted. For {limits.UNDO_DELETE_DAYS} days it can be brought back:")
    messages().line(f"  pilothouse conversations restore {conversation_id}")
    return 0


async def restore(conversation_id: str) -> int:
    """Bring a deleted one back."""
    async with connect_host() as api:
        back = await api.restore_conversation(LOCAL_OWNER, conversation_id)
    output().line(one_line(back.title))
    return 0


def _when(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
