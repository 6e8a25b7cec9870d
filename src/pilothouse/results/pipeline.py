"""Masks and bounds a result, and keeps the whole of it; masks a call's arguments, and seals the real ones.

A failure to mask withholds the result: better nothing than a secret.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import msgspec

from pilothouse.results import parts
from pilothouse.results.masking import Masking
from pilothouse.types import limits
from pilothouse.types.invisible import whole, without_escapes, without_hidden
from pilothouse.types.json import JsonObject, encode
from pilothouse.types.parts import content
from pilothouse.types.plugins import MaskerFailed
from pilothouse.types.ports import KeptResult, Redactor, ResultKeeper, ToolError, ToolOutput
from pilothouse.types.sealing import KeptArguments, Sealing

_log = logging.getLogger(__name__)
_WITHHELD = "The result was withheld because it could not be checked for secrets."


class _Processed(msgspec.Struct, frozen=True):
    """What goes on to the timeline, and what is kept beside it."""

    output: ToolOutput
    kept: parts.Kept | None = None


class Pipeline:
    """The way every result takes."""

    def __init__(self, redactor: Redactor, keeper: ResultKeeper, sealing: Sealing) -> None:
        self._redactor = redactor
        self._keeper = keeper
        self._sealing = sealing
        # Several threads at work on texts would take turns with the event loop, and it would wait for each.
        self._one_by_one = asyncio.Lock()

    async def process(
        self, output: ToolOutput, item_id: str, conversation_id: str, room: int | None = None
    ) -> ToolOutput:
        """Return the output masked and bounded for the model; the whole of it is kept."""
        room = limits.RESULT_CHARS if room is None else room
        if _size(output) <= limits.RESULT_AT_ONCE:
            done = self._processed(output, room)
        else:
            async with self._one_by_one:
                done = await asyncio.to_thread(self._processed, output, room)
        if done.kept is not None:
            await self._keeper.keep_result(KeptResult(item_id, conversation_id, done.kept.parts, done.kept.cut))
        return done.output

    async def keep_arguments(self, arguments: JsonObject, call_id: str) -> KeptArguments:
        """Return the arguments without secrets, and the real ones sealed if that makes a difference."""
        exact = encode(arguments)
        if len(exact) <= limits.RESULT_AT_ONCE:
            masked = self.masked(arguments)
        else:
            async with self._one_by_one:
                masked = await asyncio.to_thread(self.masked, arguments)
        if masked == arguments:
            return KeptArguments(arguments)
        return KeptArguments(masked, await asyncio.to_thread(self._sealing.seal, exact, call_id))

    async def real_arguments(self, sealed: str, call_id: str) -> JsonObject | None:
        """Return the arguments that were sealed for this call, None when they cannot be opened any more."""
        exact = await asyncio.to_thread(self._sealing.unseal, sealed, call_id)
        return None if exact is None else dict(msgspec.json.decode(exact))

    def masked(self, told: JsonObject) -> JsonObject:
        """Return what is told beside a result without secrets; nothing of it when that cannot be made sure."""
        try:
            return dict(_masked(self._redactor, told))
        except Exception:
            _log.exception("masking what a call tells failed")
            return {}

    def _processed(self, output: ToolOutput, room: int) -> _Processed:
        try:
            masking = Masking(self._redactor)
            text, hidden = without_hidden(masking.text(output.text, room, without_escapes).text)
            kept = parts.kept(output.parts or parts.of_text(output.text, room), masking)
            error, data = _told(output.error, masking), _masked(self._redactor, output.data)
        except Exception as failure:
            _log.exception("masking a result failed")
            said = f"{_WITHHELD} {failure}" if isinstance(failure, MaskerFailed) else _WITHHELD
            return _Processed(ToolOutput(text=said, error=ToolError("MASKING_FAILED", said)))
        is_apart = not parts.is_in_timeline(kept, text)
        about: JsonObject = {**data, "content": content(kept.parts, are_apart=is_apart)} if kept.parts else data
        if kept.cut:
            about["cut"] = True
        if hidden:
            about["hiddenCharacters"] = hidden
        done = ToolOutput(text=text, error=error, data=about)
        return _Processed(done, kept if is_apart else None)


def _size(output: ToolOutput) -> int:
    return len(output.text) + sum(len(part.text) + len(part.data) for part in output.parts)


def _told(error: ToolError | None, masking: Masking) -> ToolError | None:
    """Return why a call failed, as the model is told where there is nothing else to tell."""
    if error is None:
        return None
    message = masking.text(error.message, limits.RESULT_CHARS, without_escapes).text
    return msgspec.structs.replace(error, message=message)


def _masked(redactor: Redactor, part: Any) -> Any:
    """Return the part with every text in it masked."""
    match part:
        case str():
            return whole(redactor.redact(part))
        case dict():
            return {_masked(redactor, key): _masked(redactor, value) for key, value in part.items()}
        case list() | tuple():
            return [_masked(redactor, value) for value in part]
        case _:
            return part
