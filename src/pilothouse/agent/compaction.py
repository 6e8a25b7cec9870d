"""Makes room: older turns are replaced by a summary, which is an item like any other."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TypeGuard

from pilothouse.agent.budget import spent
from pilothouse.agent.history import history, until_message
from pilothouse.agent.taint import kept_of, seen
from pilothouse.types import limits
from pilothouse.types.events import ItemCompleted, ItemCreated
from pilothouse.types.item_data import CallData, CompactionData, ReminderData
from pilothouse.types.items import Item, ItemOf, is_a, patch, turn_of
from pilothouse.types.messages import Block, CallBlock, Message, ModelRequest, ResultBlock, TextBlock
from pilothouse.types.ports import Journal, OpenModel
from pilothouse.types.stream import Failed, TextDelta, Usage

_REQUEST = (Path(__file__).parent / "summary_request.md").read_text()
_SUMMARY_TOKENS = 1_000
_GAP = "\n\n[… left out …]\n\n"


def place_to_cut(items: Sequence[Item], run_id: str) -> int | None:
    """Return the position from which items are kept: the newest message, or the newest turn after it."""
    since = max((item.data.keep_from for item in items if _done(item)), default=0)
    spoken = [
        item for item in items if item.position >= since and item.kind in ("user_message", "response", "tool_call")
    ]
    messages = [item.position for item in spoken if item.kind == "user_message"]
    if messages and spoken and messages[-1] > spoken[0].position:
        return messages[-1]
    turns = [item for item in spoken if item.run_id == run_id and item.kind != "user_message"]
    if not turns:
        return None
    newest = turn_of(turns[-1])
    # Its thinking too: calls are refused that come back without the thinking that led to them.
    cut = min(item.position for item in items if item.run_id == run_id and turn_of(item) == newest)
    return cut if any(item.position < cut for item in turns) else None


def _done(item: Item) -> TypeGuard[ItemOf[CompactionData]]:
    return is_a(item, CompactionData) and item.status == "completed"


async def compact(opened: OpenModel, journal: Journal, run_id: str) -> bool:
    """Summarise what stands before the cut; return whether there was anything to summarise."""
    items = until_message(journal.items, run_id)
    cut = place_to_cut(items, run_id)
    if cut is None:
        return False
    # Reminders by name are left out: what still holds is said again.
    named = {item.id for item in items if is_a(item, ReminderData) and item.data.name}
    older = [item for item in items if (item.position < cut and item.id not in named) or _done(item)]
    room = opened.config.context_window * limits.CHARS_PER_TOKEN // 2
    told = middle_out(transcript(history(older)), room)
    item = journal.new("compaction")
    await journal.write(ItemCreated(item=item))
    summarised, usage = await _summarise(opened, journal, item.id, told)
    if not summarised:
        # An excerpt is worse than a summary and better than a conversation that cannot go on.
        journal.delta(item.id, middle_out(told, _SUMMARY_TOKENS * limits.CHARS_PER_TOKEN))
    # What the conversation had seen does not become harmless because it was summarised.
    had = kept_of(seen(journal.items, run_id))
    mine = [each for each in items if each.run_id == run_id and each.position < cut]
    by = "model" if summarised else "excerpt"
    used = used_before(items, cut)
    data = patch(CompactionData, keep_from=cut, by=by, seen=had, spent=spent(mine), tools=used, tells=True)
    if (paid := opened.config.used(usage)) is not None:
        data |= patch(CompactionData, model=paid.model, usage=paid.usage)
        data |= patch(CompactionData, cost=paid.cost) if paid.cost is not None else {}
    await journal.write(ItemCompleted(item_id=item.id, status="completed", data=data))
    return True


def used_before(items: Sequence[Item], cut: int) -> tuple[str, ...]:
    """Return the tools of servers that were used before a position, the newest last."""
    earlier = [name for item in items if _done(item) for name in item.data.tools]
    calls = [item.data for item in items if is_a(item, CallData) and item.position < cut and not item.data.cut_off]
    names = dict.fromkeys(reversed([*earlier, *(data.tool for data in calls if data.server)]))
    return tuple(reversed(list(names)[: limits.TOOLS_REMEMBERED]))


async def _summarise(opened: OpenModel, journal: Journal, item_id: str, told: str) -> tuple[bool, Usage | None]:
    """Have the model write; return whether it wrote anything, and what that took if it tells."""
    request = ModelRequest(
        system=_REQUEST,
        messages=(Message("user", (TextBlock(text=told),)),),
        max_tokens=_SUMMARY_TOKENS,
        thinking=False if opened.config.supports_thinking else None,
    )
    written, usage = False, None
    async with aclosing(opened.model.stream(request)) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                journal.delta(item_id, event.text)
                written = True
            elif isinstance(event, Usage):
                usage = event
            elif isinstance(event, Failed):
                break
    return written, usage


def transcript(messages: Sequence[Message]) -> str:
    """Return a conversation as one text, without thinking."""
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


def middle_out(text: str, room: int) -> str:
    """Return a text, or its beginning and end."""
    if len(text) <= room:
        return text
    half = (room - len(_GAP)) // 2
    return text[:half] + _GAP + text[-half:]
