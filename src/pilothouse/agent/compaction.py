"""Makes room: older turns are replaced by a summary, which is an item like any other."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

from pilothouse.agent.budget import spent
from pilothouse.agent.history import history, until_message
from pilothouse.agent.seen import kept_of, seen
from pilothouse.types import limits
from pilothouse.types.events import ItemCompleted, ItemCreated
from pilothouse.types.items import Item
from pilothouse.types.json import plain
from pilothouse.types.messages import Block, CallBlock, Message, ModelRequest, ResultBlock, TextBlock
from pilothouse.types.ports import Journal, OpenModel
from pilothouse.types.stream import Failed, TextDelta

_REQUEST = (Path(__file__).parent / "summary_request.md").read_text()
_SUMMARY_TOKENS = 1_000
_GAP = "\n\n[… left out …]\n\n"


def place_to_cut(items: Sequence[Item], run_id: str) -> int | None:
    """Return the position from which items are kept: the newest message, or the newest turn after it."""
    since = max((int(item.data["keepFrom"]) for item in items if _done(item)), default=0)
    spoken = [
        item for item in items if item.position >= since and item.kind in ("user_message", "response", "tool_call")
    ]
    messages = [item.position for item in spoken if item.kind == "user_message"]
    if messages and spoken and messages[-1] > spoken[0].position:
        return messages[-1]
    turns = [item for item in spoken if item.run_id == run_id and item.kind != "user_message"]
    if not turns:
        return None
    newest = turns[-1].data.get("turn")
    cut = min(item.position for item in turns if item.data.get("turn") == newest)
    return cut if any(item.position < cut for item in turns) else None


def _done(item: Item) -> bool:
    return item.kind == "compaction" and item.status == "completed"


async def compact(opened: OpenModel, journal: Journal, run_id: str) -> bool:
    """Summarise what stands before the cut; return whether there was anything to summarise."""
    items = until_message(journal.items, run_id)
    cut = place_to_cut(items, run_id)
    if cut is None:
        return False
    # Reminders by name are left out: what still holds is said again.
    named = {item.id for item in items if item.kind == "reminder" and item.data.get("name")}
    older = [item for item in items if (item.position < cut and item.id not in named) or _done(item)]
    room = opened.config.context_window * limits.CHARS_PER_TOKEN // 2
    transcript = _middle_out(_transcript(history(older)), room)
    item = journal.new("compaction")
    await journal.write(ItemCreated(item=item))
    summarised = await _summarise(opened, journal, item.id, transcript)
    if not summarised:
        # An excerpt is worse than a summary and better than a conversation that cannot go on.
        journal.delta(item.id, _middle_out(transcript, _SUMMARY_TOKENS * limits.CHARS_PER_TOKEN))
    # What the conversation had seen does not become harmless because it was summarised.
    told = kept_of(seen(journal.items, run_id))
    mine = [each for each in items if each.run_id == run_id and each.position < cut]
    data = {"keepFrom": cut, "by": "model" if summarised else "excerpt", "seen": told, "spent": plain(spent(mine))}
    await journal.write(ItemCompleted(item_id=item.id, status="completed", data=data))
    return True


async def _summarise(opened: OpenModel, journal: Journal, item_id: str, transcript: str) -> bool:
    request = ModelRequest(
        system=_REQUEST,
        messages=(Message("user", (TextBlock(text=transcript),)),),
        max_tokens=_SUMMARY_TOKENS,
        thinking=False if opened.config.supports_thinking else None,
    )
    written = False
    async with aclosing(opened.model.stream(request)) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                journal.delta(item_id, event.text)
                written = True
            elif isinstance(event, Failed):
                return written
    return written


def _transcript(messages: Sequence[Message]) -> str:
    lines = []
    for message in messages:
        who = "Person" if message.role == "user" else "Assistant"
        lines += [f"{who}: {said}" for block in message.content if (said := _said(block))]
    return "\n\n".join(lines)


def _said(block: Block) -> str:
    if isinstance(block, TextBlock):
        return block.text
    if isinstance(block, CallBlock):
        return f"[calls {block.name} with {block.arguments}]"
    if isinstance(block, ResultBlock):
        return f"[{block.name} answered: {block.text}]"
    return ""


def _middle_out(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    half = (room - len(_GAP)) // 2
    return text[:half] + _GAP + text[-half:]
