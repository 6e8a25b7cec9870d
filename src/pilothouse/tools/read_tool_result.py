"""The tool `read_tool_result`: any part of what an earlier call of the same conversation gave."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress

from pilothouse.helper.client import Helper, Unreadable
from pilothouse.tools.arguments import BadArgument, failed, optional_int, optional_string, require_string, success
from pilothouse.tools.harmless import Harmless, spec_of
from pilothouse.tools.making import ToolParts
from pilothouse.types import limits
from pilothouse.types.access import Access, Shown, Taint
from pilothouse.types.authority import SERVER
from pilothouse.types.errors import PilothouseError
from pilothouse.types.gaps import not_kept
from pilothouse.types.item_data import Brought, CallData, ResultPart
from pilothouse.types.items import CLOSED, Call, is_a
from pilothouse.types.json import JsonObject
from pilothouse.types.parts import in_item
from pilothouse.types.ports import CallContext, CallFeedback, ToolOutput
from pilothouse.types.records import Records
from pilothouse.types.tool_names import READ_RESULT

_ID = re.compile(r"[rR]?([0-9]{1,15})")


def make(parts: ToolParts) -> ReadToolResult:
    """Make the tool."""
    return ReadToolResult(parts.records, parts.helper)


class ReadToolResult(Harmless):
    """Reads kept results; what it brings along is what the call brought that gave them."""

    spec = spec_of(
        READ_RESULT,
        ("id",),
        {
            "id": {"type": "string", "description": "Like r57"},
            "offset": {"type": "integer"},
            "start_line": {"type": "integer"},
            "end_line": {"type": "integer"},
            "pattern": {"type": "string"},
            "around": {"type": "integer"},
            "path": {"type": "string"},
            "columns": {"type": "array", "items": {"type": "string"}},
            "start_row": {"type": "integer"},
            "part": {"type": "integer", "description": "Of a result of several texts: which; usually the longest"},
        },
    )

    def __init__(self, records: Records, helper: Helper) -> None:
        self._records = records
        self._helper = helper

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        """Return which result, and what of it."""
        wanted = ", ".join(
            f"{name} {arguments[name]}" for name in ("path", "pattern", "columns") if arguments.get(name)
        )
        summary = f"Reading a result: {arguments.get('id', '')}{f', {wanted}' if wanted else ''}"
        return Shown(action="read", action_display_name="Reading a result", summary=summary, icon="search")

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        """Return what it brings along; that there is no such result is told when it is read."""
        brought = Brought()
        with suppress(BadArgument, PilothouseError):
            brought = _brought((await self._call(arguments, context)).data)
        taints: dict[Taint, bool] = {"private": brought.private, "untrusted": brought.untrusted}
        return Access(
            operation=READ_RESULT,
            brings=frozenset(taint for taint, is_so in taints.items() if is_so),
            source=brought.source,
        )

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Read a page."""
        try:
            call = await self._call(arguments, context)
            kept = await self._records.result(context.owner, call.id)
            texts = [part for part in (kept.parts if kept is not None else in_item(call)) if part.text]
            return await self._read(_chosen(texts, arguments), arguments, context, is_cut=bool(kept and kept.cut))
        except (BadArgument, PilothouseError) as error:
            return failed(str(error), error.code.upper())

    async def _call(self, arguments: JsonObject, context: CallContext) -> Call:
        """Return the call of this conversation whose result is meant."""
        wanted = require_string(arguments, "id").strip()
        number = _ID.fullmatch(wanted)
        if number is not None:
            # By its place in the timeline, so that an id means nothing in any other conversation.
            place = int(number[1])
            page = await self._records.items(context.owner, context.conversation_id, place + 1, 1, context.branch)
            for item in page.items:
                if item.position == place and is_a(item, CallData) and item.status in CLOSED and not item.data.hidden:
                    return item
        raise BadArgument(f"There is no result “{wanted[:40]}” in this conversation.", "NO_RESULT")

    async def _read(self, part: ResultPart, arguments: JsonObject, context: CallContext, *, is_cut: bool) -> ToolOutput:
        # Imported here: what looks for patterns is loaded when someone does.
        from pilothouse.tools.results.reading import Wanted, read  # noqa: PLC0415

        room = min(
            limits.RESULT_PAGE_CHARS, max(context.result_room - limits.RESULT_PAGE_NOTE, limits.RESULT_PAGE_NOTE)
        )
        wanted = Wanted(
            text=part.text,
            room=room,
            path=optional_string(arguments, "path"),
            pattern=optional_string(arguments, "pattern"),
            columns=_names(arguments),
            offset=_number(arguments, "offset"),
            start_line=_number(arguments, "start_line"),
            end_line=_number(arguments, "end_line"),
            start_row=_number(arguments, "start_row"),
            around=_number(arguments, "around") or 0,
        )
        try:
            # In a process of its own: strangers wrote the text, and the model the pattern.
            page = await asyncio.to_thread(self._helper.ask, read, wanted, limits.RESULT_READ_TIME)
        except Unreadable as error:
            raise BadArgument(f"This cannot be read so: {error.why}.", "TOO_MUCH") from None
        missing = not_kept(part.text) if is_cut else ""
        note = f"[{missing[0].upper()}{missing[1:]}.]" if missing else ""
        if page.code:
            return failed(f"{page.text} {note}".strip(), page.code)
        return success(f"{page.text}\n{note}" if note else page.text)


def _brought(data: CallData) -> Brought:
    """Return what a call brought along; a server's tool from before this was kept may have brought anything."""
    if data.brings is not None:
        return Brought(data.brings.private, data.brings.untrusted, data.brings.source or data.tool)
    is_server = bool(data.server)
    return Brought(private=is_server, untrusted=is_server, source=f"{SERVER}{data.server}" if is_server else "")


def _chosen(texts: list[ResultPart], arguments: JsonObject) -> ResultPart:
    if not texts:
        raise BadArgument("That result has no text.", "NO_TEXT")
    number = _number(arguments, "part")
    if number is None:
        return max(texts, key=lambda part: len(part.text))
    for part in texts:
        if part.index == number:
            return part
    there = ", ".join(str(part.index) for part in texts)
    raise BadArgument(f"That result has no text as part {number}; it has {there}.", "NO_PART")


def _number(arguments: JsonObject, name: str) -> int | None:
    if arguments.get(name) is None:
        return None
    number = optional_int(arguments, name, 0)
    if not 0 <= number < limits.PLAIN_NUMBER:
        raise BadArgument(f"`{name}` must be a number from 0 to {limits.PLAIN_NUMBER - 1:,}.")
    return number


def _names(arguments: JsonObject) -> list[str]:
    given = arguments.get("columns") or []
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise BadArgument("`columns` must be a list of names.")
    return given
