"""Makes room: older turns are replaced by a summary, which is an item like any other."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TypeGuard

import msgspec

from pilothouse.agent.budget import spent
from pilothouse.agent.facts import facts_of, section, with_wish, within
from pilothouse.agent.history import history, in_order, size, stands_before, until_message
from pilothouse.agent.metering import Meter, kept_when_stopped
from pilothouse.agent.requests import request_size
from pilothouse.agent.spending import Estimate, estimate
from pilothouse.agent.taint import kept_of, seen
from pilothouse.types import limits
from pilothouse.types.events import ItemCompleted, ItemCreated, ItemUpdated
from pilothouse.types.invisible import without_escapes, without_hidden
from pilothouse.types.item_data import CallData, CompactionData, MessageData, NoticeData, ReminderData
from pilothouse.types.items import Item, ItemOf, is_a, is_summed_up, patch, turn_of
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import Block, CallBlock, Message, ModelRequest, ResultBlock, TextBlock
from pilothouse.types.models import ModelConfig
from pilothouse.types.ports import Journal, OpenModel
from pilothouse.types.stream import CUT, Failed, Stopped, TextDelta

_REQUEST = (Path(__file__).parent / "summary_request.md").read_text()
_KEEP = (Path(__file__).parent / "summary_keep.md").read_text()
_SUMMARY_CHARS = limits.COMPACTED_TOKENS * limits.CHARS_PER_TOKEN
_CUT = (Path(__file__).parent / "summary_cut.md").read_text().strip()
_NOTHING = "There was nothing to sum up."
_GAP = "\n\n[… left out …]\n\n"


def place_to_cut(items: Sequence[Item], run_id: str) -> CompactionData | None:
    """Return what a summary would stand for: all before the newest message, or before the newest turn after it.

    As the model is told it: of an answer in whose middle that message came, nothing stays.
    """
    told = in_order(items)
    spoken = spoken_since_summary(told)
    newest_message = next((item for item in reversed(spoken) if item.kind == "user_message"), None)
    if newest_message is not None and newest_message is not spoken[0]:
        return _before_message(told, newest_message)
    turns = [item for item in spoken if item.run_id == run_id and item.kind != "user_message"]
    if not turns:
        return None
    newest = turn_of(turns[-1])
    # Its thinking too: calls are refused that come back without the thinking that led to them.
    cut = min(item.position for item in items if item.run_id == run_id and turn_of(item) == newest)
    if not any(item.position < cut for item in turns):
        return None
    return CompactionData(keep_from=cut, messages_from=_messages_from(items))


def _before_message(told: Sequence[Item], message: Item) -> CompactionData:
    """Return what stands before a message in the order in which the model is told it."""
    behind = [item for item in told[told.index(message) :] if item.kind != "user_message"]
    own = [item for item in told if stands_before(item) == message.id]
    cut = min((item.position for item in (*behind, *own)), default=1 + max(item.position for item in told))
    return CompactionData(keep_from=cut, messages_from=message.position)


def _messages_from(items: Sequence[Item]) -> int:
    """Return the place behind all messages that were begun: those that wait, and may stand anywhere, stay."""
    before = _newest(items)
    begun = (1 + item.position for item in items if item.kind == "user_message")
    return max(begun, default=before.messages_from or before.keep_from)


def _newest(items: Sequence[Item]) -> CompactionData:
    """Return what the newest summary says; where there is none, one that stands for nothing."""
    return next((item.data for item in reversed(items) if _done(item)), CompactionData())


def _done(item: Item) -> TypeGuard[ItemOf[CompactionData]]:
    return is_a(item, CompactionData) and item.status == "completed"


async def compact(opened: OpenModel, journal: Journal, run_id: str) -> bool:
    """Make room for an answer: sum up what stands before the cut; return whether there was anything to sum up."""
    items = until_message(journal.items, run_id)
    cut = place_to_cut(items, run_id)
    if cut is None:
        return False
    await _Compaction(opened, journal, run_id, cut).carry_out(items)
    return True


async def compact_as_asked(opened: OpenModel, journal: Journal, run_id: str, keep: str) -> Failed | None:
    """Sum up everything that was said, because the person wants it; return why that failed, which changes nothing."""
    begun = until_message(journal.items, run_id)
    if not spoken_since_summary(begun):
        told = patch(NoticeData, level="info", code="nothing_to_sum_up")
        await journal.write(ItemCreated(item=journal.new("notice", status="completed", text=_NOTHING, data=told)))
        return None
    # What is written from here on, by whoever, stands behind this, and so do messages that wait.
    cut = CompactionData(keep_from=1 + max(item.position for item in begun), messages_from=_messages_from(begun))
    return await _Compaction(opened, journal, run_id, cut, keep).carry_out(begun)


def most_it_takes(config: ModelConfig, items: Sequence[Item]) -> Estimate:
    """Return what a summary of a conversation may use."""
    read = min(size(history(items)), _room(config) // 2)
    return estimate(config, read, most=limits.COMPACTED_TOKENS)


def _room(config: ModelConfig) -> int:
    """Return how many characters the window has room for."""
    return config.context_window * limits.CHARS_PER_TOKEN


def spoken_since_summary(items: Sequence[Item]) -> list[Item]:
    """Return what was said and done that no summary stands for yet."""
    summary = _newest(items)
    return [item for item in items if not is_summed_up(item, summary) and is_spoken(item)]


def is_spoken(item: Item) -> bool:
    """Return whether an item is something that was said or done, and not a word to the host."""
    if is_a(item, MessageData):
        return not item.data.command
    return item.kind in ("response", "tool_call")


class _Compaction(msgspec.Struct, frozen=True):
    """One summary: who makes it, for which run, and what it stands for."""

    opened: OpenModel
    journal: Journal
    run_id: str
    cut: CompactionData
    # What it is to keep above all, where the person asked for it; None where there must be one, be it an excerpt.
    keep: str | None = None

    async def carry_out(self, items: Sequence[Item]) -> Failed | None:
        """Write the summary; return why there is none."""
        journal, cut = self.journal, self.cut
        room = _room(self.opened.config)
        told = middle_out(transcript(history(_older(items, cut))), room // 2)
        asked = patch(CompactionData, keep=self.keep) if self.keep is not None else {}
        item = journal.new("compaction", data=asked)
        await journal.write(ItemCreated(item=item))
        request = _request(self.opened, told, self.keep)
        meter = Meter(request_size(request))
        async with kept_when_stopped(journal, lambda: ItemUpdated(item_id=item.id, data=self._paid(meter))):
            written = await _summarise(self.opened, request, meter)
        paid = self._paid(meter)
        if isinstance(written, Failed) and self.keep is not None:
            await journal.write(ItemCompleted(item_id=item.id, status="failed", data=paid))
            return written
        by = "excerpt" if isinstance(written, Failed) else "model"
        # An excerpt is worse than a summary and better than a conversation that cannot go on.
        journal.delta(item.id, middle_out(told, _SUMMARY_CHARS) if isinstance(written, Failed) else written)
        data = patch(CompactionData, by=by) | self._kept(items, room) | asked | paid
        await journal.write(ItemCompleted(item_id=item.id, status="completed", data=data))
        return None

    def _paid(self, meter: Meter) -> JsonObject:
        """Return what the model took, as the item says it."""
        paid = self.opened.config.used(meter.usage)
        if paid is None:
            return {}
        cost = patch(CompactionData, cost=paid.cost) if paid.cost is not None else {}
        return patch(CompactionData, model=paid.model, usage=paid.usage) | cost

    def _kept(self, items: Sequence[Item], room: int) -> JsonObject:
        """Return what does not depend on the words of any model."""
        cut, run_id = self.cut, self.run_id
        before = _newest(items)
        older = [item for item in items if is_summed_up(item, cut) and not is_summed_up(item, before)]
        facts = facts_of(items, older, before.facts)
        facts = with_wish(facts, self.keep) if self.keep else facts
        mine = [each for each in items if each.run_id == run_id and is_summed_up(each, cut)]
        said = [each for each in spoken_since_summary(items) if is_summed_up(each, cut)]
        return patch(
            CompactionData,
            keep_from=cut.keep_from,
            messages_from=cut.messages_from,
            # What the conversation had seen does not become harmless because it was summarised.
            seen=kept_of(seen(self.journal.items, run_id)),
            spent=spent(mine),
            tools=used_before(items, cut),
            tells=True,
            messages=before.messages + sum(bool(item.text) for item in said if not is_a(item, CallData)),
            calls=before.calls + sum(is_a(item, CallData) for item in said),
            begins=said[0].id if said else "",
            noted=section(within(facts, int(room * limits.FACTS_SHARE))),
            facts=facts,
        )


def _older(items: Sequence[Item], cut: CompactionData) -> list[Item]:
    """Return what is summed up: what stands before the cut, and the summary before it without what is noted anew."""
    # Reminders by name are left out: what still holds is said again.
    named = {item.id for item in items if is_a(item, ReminderData) and item.data.name}
    older = [item for item in items if (is_summed_up(item, cut) and item.id not in named) or _done(item)]
    return [msgspec.structs.replace(item, raw=item.raw | {"noted": ""}) if _done(item) else item for item in older]


def used_before(items: Sequence[Item], cut: CompactionData) -> tuple[str, ...]:
    """Return the tools of servers that were used in what a summary stands for, the newest last."""
    earlier = [name for item in items if _done(item) for name in item.data.tools]
    calls = [item.data for item in items if is_a(item, CallData) and is_summed_up(item, cut) and not item.data.cut_off]
    names = dict.fromkeys(reversed([*earlier, *(data.tool for data in calls if data.server)]))
    return tuple(reversed(list(names)[: limits.TOOLS_REMEMBERED]))


def _request(opened: OpenModel, told: str, keep: str | None) -> ModelRequest:
    return ModelRequest(
        system=f"{_REQUEST}\n{_KEEP.format(keep=keep)}" if keep else _REQUEST,
        messages=(Message("user", (TextBlock(text=told),)),),
        max_tokens=limits.COMPACTED_TOKENS,
        thinking=False if opened.config.supports_thinking else None,
    )


async def _summarise(opened: OpenModel, request: ModelRequest, meter: Meter) -> str | Failed:
    """Return what a model wrote, or why that is no summary."""
    written, failed, cut = "", None, False
    async with aclosing(opened.model.stream(request)) as events:
        async for event in events:
            meter.take(event)
            if isinstance(event, TextDelta):
                cut = cut or len(written) + len(event.text) > _SUMMARY_CHARS
                written = (written + event.text)[:_SUMMARY_CHARS]
            elif isinstance(event, Failed):
                failed = event
                break
            elif isinstance(event, Stopped) and event.reason == "refusal":
                failed = Failed("model_refused", "The model declined to sum this up.")
            elif isinstance(event, Stopped):
                cut = cut or event.reason in CUT
    text = without_hidden(without_escapes(written).strip())[0]
    if failed is None and only_repeats(text):
        failed = Failed("model_failed", "The model only repeated itself.")
    if text and cut:
        text = f"{text}\n\n{_CUT}"
    return failed or text or Failed("model_failed", "The model wrote no summary.")


def only_repeats(text: str) -> bool:
    """Return whether a text is the same few words again and again, and sums nothing up."""
    words = text.split()
    return len(words) >= limits.STUCK_WORDS and len(set(words)) < len(words) * limits.STUCK_SHARE


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
