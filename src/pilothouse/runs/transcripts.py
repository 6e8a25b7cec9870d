"""A conversation in Markdown, for people."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from pilothouse.types.conversations import Conversation
from pilothouse.types.items import Item

_HEADS = {"user_message": "You", "response": "Answer", "question": "Question", "compaction": "Summary so far"}


def heading(conversation: Conversation) -> str:
    """Return what stands above everything."""
    title = " ".join((conversation.title or "A conversation").split())
    return f"# {title}\n\n{_when(conversation.created_at)}, {conversation.id}\n"


def told(items: Iterable[Item]) -> Iterator[str]:
    """Yield each item that people read, in order."""
    for item in items:
        if item.kind == "tool_call":
            yield f"\n{_call(item)}\n"
        elif item.kind == "notice" and item.text:
            yield f"\n*{_flat(item.text)}*\n"
        elif item.kind in _HEADS and (item.text or item.data.get("images")):
            text = item.text.strip("\n")
            pictures = f"\n\n*{len(item.data['images'])} attached*" if item.data.get("images") else ""
            yield f"\n## {_HEADS[item.kind]}\n\n{text}{pictures}\n"


def _call(item: Item) -> str:
    """Return a call with its result below it, in a fence that nothing in the result can end."""
    name = item.data.get("serverTool") or item.data.get("tool") or "tool"
    head = f"**{_flat(str(name))}**: {item.status}"
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
