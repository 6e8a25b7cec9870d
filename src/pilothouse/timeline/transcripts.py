"""A conversation in Markdown, for people."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from pilothouse.types.branches import BRANCH_KINDS
from pilothouse.types.conversations import Conversation
from pilothouse.types.item_data import CallData, CompactionData, NoticeData, ResponseData, ResultPart
from pilothouse.types.items import Call, Item, ItemOf, Response, is_a, is_hidden, parts_of, patch
from pilothouse.types.media import described

if TYPE_CHECKING:
    from pilothouse.types.branch_views import BranchNode

_MARKUP = re.compile(r"[\\`*_\[\]<>]")
_HEADS = {"user_message": "You", "response": "Answer", "question": "Question", "compaction": "Summary so far"}


def heading(conversation: Conversation) -> str:
    """Return what stands above everything."""
    title = " ".join((conversation.title or "A conversation").split())
    return f"# {title}\n\n{_when(conversation.created_at)}, {conversation.id}\n"


def about_branches(conversation: Conversation, *, all_of_them: bool) -> str:
    """Return what a reader must know who reads one branch of several; nothing where there is one."""
    if not conversation.branches:
        return ""
    if all_of_them:
        return f"\n*There are {conversation.branches + 1:,} branches; each follows with what it has of its own.*\n"
    which = f"branch {conversation.branch}, the one chosen last" if conversation.branch else "the first branch"
    others = "is 1 other branch" if conversation.branches == 1 else f"are {conversation.branches:,} other branches"
    return f"\n*This is {which}. There {others}.*\n"


def branch_heading(node: BranchNode) -> str:
    """Return what stands above what a branch has of its own."""
    if node.kind is None:
        return "\n# The first branch\n"
    leaves = f"branch {node.parent}" if node.parent else "the first branch"
    return f"\n---\n\n# Branch {node.number}: {BRANCH_KINDS[node.kind]}\n\n*It leaves {leaves} {_place(node)}.*\n"


def _place(node: BranchNode) -> str:
    """Return where a branch leaves another: after which message's words."""
    if node.left_after is None:
        return "at its beginning"
    words = " ".join(node.left_words.split())
    # As they are: what the words have of Markdown says nothing here.
    return f"after “{_MARKUP.sub(_escaped, words)}”" if words else "after a message without words"


def _escaped(found: re.Match[str]) -> str:
    return f"\\{found[0]}"


def as_read(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items with each answer that was cut and went on as one, without the word that it was cut."""
    held: list[Response] = []
    for item in items:
        if is_a(item, ResponseData):
            if held and item.data.continues == held[0].id:
                # An attempt to go on that broke off counts for as long as no other takes its place.
                held = [held[0], item] if item.data.cut_off else [_joined(held[0], item)]
            else:
                yield from held
                held = [item]
        elif held and item.kind == "user_message":
            yield from (*held, item)
            held = []
        elif not (held and held[0].data.go_on and is_a(item, NoticeData) and item.data.code == "cut_short"):
            yield item
        if held and not _goes_on(held[0]):
            yield from held
            held = []
    yield from held


def _goes_on(item: Response) -> bool:
    return item.data.go_on or item.data.stop == "pause"


def _joined(first: Response, second: Response) -> Response:
    content, sources = first.data.content + second.data.content, first.data.sources + second.data.sources
    both = (patch(ResponseData, content=content) if content else {}) | (
        patch(ResponseData, sources=sources) if sources else {}
    )
    return msgspec.structs.replace(second, text=first.text + second.text, raw=second.raw | both)


def told(items: Iterable[Item]) -> Iterator[str]:
    """Yield each item that people read, in order."""
    for item in as_read(items):
        if is_a(item, CallData):
            yield f"\n{_call(item)}\n"
        elif item.kind == "notice" and item.text:
            yield f"\n*{_flat(item.text)}*\n"
        elif item.kind in _HEADS and (item.text or parts_of(item)):
            noted = item.data.noted if is_a(item, CompactionData) else ""
            paragraphs = [item.text.strip("\n"), noted, *map(_picture, parts_of(item))]
            hidden = " (hidden from models)" if is_hidden(item) else ""
            yield f"\n## {_HEADS[item.kind]}{hidden}\n\n" + "\n\n".join(filter(None, paragraphs)) + "\n"


def summed_up(item: ItemOf[CompactionData]) -> str:
    """Return what a summary stands for and how long it is, in a line."""
    data = item.data
    words = _counted(len(f"{item.text} {data.noted}".split()), "word")
    counts = [(data.messages, "message"), (data.calls, "call")]
    replaced = " and ".join(_counted(number, what) for number, what in counts if number)
    return f"Older turns summed up: {replaced} → {words}" if replaced else f"Older turns summed up in {words}"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _picture(part: ResultPart) -> str:
    """Return a picture in words: the file of words has no place for it."""
    return f"*[{_flat(described(part.media_type, part.bytes, part.name))}]*"


def _call(item: Call) -> str:
    """Return a call with its result below it, in a fence that nothing in the result can end."""
    name = item.data.server_tool or item.data.tool or "tool"
    head = f"**{_flat(name)}**: {item.status}"
    if not item.text:
        return head
    fence = "`" * max(3, 1 + _longest_row(item.text))
    return f"{head}\n\n{fence}text\n{item.text.strip(chr(10))}\n{fence}"


def _longest_row(text: str) -> int:
    longest = run = 0
    for char in text:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    return longest


def _flat(text: str) -> str:
    return " ".join(text.split())


def _when(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
