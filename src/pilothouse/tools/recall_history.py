"""The tool `recall_history`: what was said and done before the place from which a summary stands for it."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from pilothouse.tools.arguments import BadArgument, failed, optional_int, optional_string, success
from pilothouse.tools.harmless import Harmless, spec_of
from pilothouse.tools.making import ToolParts
from pilothouse.types import limits
from pilothouse.types.access import Access, Shown
from pilothouse.types.errors import PilothouseError
from pilothouse.types.item_data import CallData, CompactionData, MessageData, ResponseData
from pilothouse.types.items import CLOSED, Item, is_a, is_cut_off, is_hidden, is_summed_up
from pilothouse.types.json import JsonObject, encode_text
from pilothouse.types.meaning import Meaning
from pilothouse.types.ports import CallContext, CallFeedback, ToolOutput
from pilothouse.types.records import Records
from pilothouse.types.scopes import Scope
from pilothouse.types.tool_names import RECALL

if TYPE_CHECKING:
    from pilothouse.tools.search.patterns import Pattern

# Words of a question that tell something; shorter ones are in every sentence.
_WORD = re.compile(r"\w{4,}")


def make(parts: ToolParts) -> RecallHistory:
    """Make the tool."""
    return RecallHistory(parts.records, parts.meaning)


class _Wanted(msgspec.Struct, frozen=True):
    """What is looked for: entries from one number on and before another, that match if there is a pattern."""

    context: CallContext
    start: int
    summary: CompactionData
    pattern: Pattern | None
    room: int


class _Looked(msgspec.Struct):
    """What a look through all entries for something said in other words has found."""

    # Entries with all the words, and those that a model says are alike, by their ids.
    with_words: list[Item] = msgspec.field(default_factory=list)
    alike: dict[str, Item] = msgspec.field(default_factory=dict)
    # Where it was when time was up.
    stopped: int | None = None


class RecallHistory(Harmless):
    """Reads the archived part of a conversation; all that it brings along the conversation has brought before."""

    spec = spec_of(
        RECALL,
        (),
        {
            "pattern": {"type": "string"},
            "about": {"type": "string"},
            "start": {"type": "integer"},
            "item": {"type": "integer"},
            "offset": {"type": "integer"},
        },
    )

    def __init__(self, records: Records, meaning: Meaning) -> None:
        self._records = records
        self._meaning = meaning

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        """Return what is looked for."""
        wanted = arguments.get("about") or arguments.get("pattern") or arguments.get("item") or ""
        summary = f"Looking back: {wanted}" if wanted else "Looking back"
        return Shown(action="recall", action_display_name="Looking back", summary=summary, icon="search")

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        """Return that strangers may have written it; whose private data it is, the summary has kept."""
        return Access(operation=RECALL, brings=frozenset({"untrusted"}))

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Read a page."""
        try:
            summary = await self._archived(context)
            least = limits.RESULT_PAGE_NOTE
            room = min(limits.RESULT_PAGE_CHARS, max(context.result_room - least, least))
            if arguments.get("item") is not None:
                return success(
                    await self._whole(optional_int(arguments, "item", 0), arguments, context, (summary, room))
                )
            if about := optional_string(arguments, "about"):
                start = max(0, optional_int(arguments, "start", 0))
                return success(await self._about(about, _Wanted(context, start, summary, None, room)))
            written = optional_string(arguments, "pattern")
            pattern = _compiled(written) if written else None
            start = max(0, optional_int(arguments, "start", 0))
            return success(await self._entries(_Wanted(context, start, summary, pattern, room)))
        except (BadArgument, PilothouseError) as error:
            return failed(str(error), error.code.upper())

    async def _archived(self, context: CallContext) -> CompactionData:
        """Return what the newest summary stands for."""
        items = await self._records.history(context.conversation_id, context.branch)
        done = [item.data for item in items if is_a(item, CompactionData) and item.status == "completed"]
        if not done:
            raise BadArgument("Nothing of this conversation was replaced by a summary: all of it is here.", "ALL_HERE")
        return done[-1]

    async def _whole(
        self, number: int, arguments: JsonObject, context: CallContext, bounds: tuple[CompactionData, int]
    ) -> str:
        summary, room = bounds
        page = await self._records.items(context.owner, context.conversation_id, number + 1, 1, context.branch)
        there = (item for item in page.items if item.position == number and is_summed_up(item, summary))
        found = next(filter(_speaks, there), None)
        if found is None:
            raise BadArgument(f"There is no entry {number} before the summary.", "NO_ENTRY")
        text, begin = _said(found), max(0, optional_int(arguments, "offset", 0))
        upto = min(len(text), begin + room)
        more = f" Go on with item {number} and offset {upto}." if upto < len(text) else ""
        return f"{text[begin:upto]}\n[Entry {number}, characters {begin:,} to {upto:,} of {len(text):,}.{more}]"

    async def _entries(self, wanted: _Wanted) -> str:
        """Return the entries that there is room for, and where the next page begins."""
        shown: list[str] = []
        room, until = wanted.room, time.monotonic() + limits.RECALL_TIME
        upto: int | None = wanted.start - 1
        while upto is not None:
            replaced, upto = await self._batch(wanted, upto)
            for item, line in await asyncio.to_thread(_lines, replaced, wanted.pattern):
                room -= len(line) + 1
                if room < 0 and shown:
                    return _page(shown, f"Go on with start {item.position}.")
                shown.append(line)
            if upto is not None and time.monotonic() > until:
                return _page(shown, f"There is more to look through. Go on with start {upto + 1}.")
        return _page(shown, "That is all before the summary.")

    async def _batch(self, wanted: _Wanted, after: int) -> tuple[list[Item], int | None]:
        """Return some entries that the summary replaced, and up to where they go if there may be more."""
        context = wanted.context
        batch = await self._records.items_after(
            context.owner, context.conversation_id, after, limits.RECALL_BATCH, context.branch
        )
        there = [item for item in batch if item.position < wanted.summary.keep_from]
        # A message that came in the middle of it may wait for its answer.
        replaced = [item for item in there if is_summed_up(item, wanted.summary)]
        return replaced, there[-1].position if len(there) == limits.RECALL_BATCH else None

    async def _about(self, about: str, wanted: _Wanted) -> str:
        """Return the entries that have the words, then those that mean about the same, nearest first."""
        near, how = await self._near(about, wanted.context)
        looked = await self._look(about, wanted, near)
        found = {item.id: item for item in looked.with_words}
        found.update((key, looked.alike[key]) for key in near if key in looked.alike)
        shown: list[str] = []
        room = wanted.room
        for item in found.values():
            line = f"{item.position} {_cut(_said(item), 0)}"
            room -= len(line) + 1
            if room < 0 and shown:
                how = f"There was no room for {len(found) - len(shown):,} more. {how}"
                break
            shown.append(line)
        if looked.stopped is not None:
            how = f"{how} There is more to look through: go on with start {looked.stopped}."
        return _page(shown, how)

    async def _near(self, about: str, context: CallContext) -> tuple[list[str], str]:
        """Return the ids of what is alike in this conversation, nearest first, and how it was looked for."""
        if not self._meaning.is_there:
            return [], "Found by words: no embedding model is there."
        scopes = (Scope(kind="conversation", id=context.conversation_id),)
        try:
            async with asyncio.timeout(limits.MEANING_QUESTION_TIME):
                near = await self._meaning.near(about, "message", context.owner, scopes, limits.RECALL_ALIKE)
        except TimeoutError:
            return [], "Found by words: the embedding model did not answer in time."
        if near is None:
            return [], "Found by words: the embedding model cannot be used now."
        alike = [each.key for each in near if each.likeness >= limits.MEANING_MESSAGE_LIKENESS]
        return alike, "First what has the words, then what means about the same."

    async def _look(self, about: str, wanted: _Wanted, near: Sequence[str]) -> _Looked:
        """Look through the entries of this conversation that a summary replaced; no other is ever looked at."""
        looked, keys = _Looked(), frozenset(near)
        words = [word.lower() for word in _WORD.findall(about)]
        until = time.monotonic() + limits.RECALL_TIME
        upto: int | None = wanted.start - 1
        while upto is not None:
            replaced, upto = await self._batch(wanted, upto)
            entries = list(filter(_speaks, replaced))
            looked.alike.update((item.id, item) for item in entries if item.id in keys)
            looked.with_words += await asyncio.to_thread(_having, entries, words)
            if upto is not None and time.monotonic() > until:
                looked.stopped = upto + 1
                break
        return looked


def _having(items: Sequence[Item], words: Sequence[str]) -> list[Item]:
    """Return the entries that have all of the words, in any letter case."""
    if not words:
        return []
    return [item for item in items if (said := _said(item).lower()) and all(word in said for word in words)]


def _page(shown: Sequence[str], how: str) -> str:
    entries = "1 entry" if len(shown) == 1 else f"{len(shown):,} entries"
    return "\n".join([*shown, f"[{entries}. {how}]"])


def _compiled(written: str) -> Pattern:
    # Imported here: what looks for patterns is loaded when someone does.
    from pilothouse.tools.search.patterns import regex_pattern  # noqa: PLC0415

    return regex_pattern(written, case_sensitive=True, name="pattern")


def _lines(items: Sequence[Item], pattern: Pattern | None) -> list[tuple[Item, str]]:
    lines = []
    for item in items:
        if not _speaks(item):
            continue
        text = _said(item)
        data = bytearray(text.encode()) if pattern is not None else bytearray()
        found = pattern.find(data, 0, len(data)) if pattern is not None else (0, 0)
        if found is not None:
            lines.append((item, f"{item.position} {_cut(text, len(data[: found[0]].decode(errors='replace')))}"))
    return lines


def _cut(text: str, at: int) -> str:
    """Return an entry on one line: its beginning, and of a long one what stands around a place in it."""
    most = limits.RECALL_ENTRY_CHARS
    first = " ".join(text[:most].split())
    if len(text) <= most:
        return first
    around = "" if at < most else f" … {' '.join(text[max(0, at - most // 4) : at + most // 2].split())}"
    return f"{first}{around} … ({len(text):,} characters)"


def _speaks(item: Item) -> bool:
    """Return whether an item is something that was said or done."""
    if is_a(item, MessageData):
        return not item.data.command and not item.data.hidden
    if item.status not in CLOSED or is_cut_off(item) or is_hidden(item):
        return False
    return (is_a(item, ResponseData) and bool(item.text)) or is_a(item, CallData)


def _said(item: Item) -> str:
    if is_a(item, CallData):
        data = item.data
        given = encode_text(data.arguments or {})
        text = item.text or (data.error.message if data.error is not None else "")
        return f"[call r{item.position} of {data.server_tool or data.tool} with {given}] {text}"
    return f"{'Person' if item.kind == 'user_message' else 'Assistant'}: {item.text}"
