"""Masks and bounds a result, and keeps the whole of it; masks a call's arguments, and seals the real ones.

A failure to mask withholds the result: better nothing than a secret.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from pilothouse.agent.results import entering, parts
from pilothouse.agent.results.entering import Entered, Entrance
from pilothouse.agent.results.masking import Masking, bounded
from pilothouse.types import limits
from pilothouse.types.invisible import whole, without_escapes, without_hidden
from pilothouse.types.json import JsonObject, encode
from pilothouse.types.parts import content
from pilothouse.types.plugins import MaskerFailed
from pilothouse.types.ports import Redactor, ToolError, ToolOutput
from pilothouse.types.records import KeptResult
from pilothouse.types.sealing import KeptArguments, Sealing

_log = logging.getLogger(__name__)
_WITHHELD = "The result was withheld because it could not be checked for secrets."


class _Processed(msgspec.Struct, frozen=True):
    """What goes on to the timeline, and what is kept beside it."""

    output: ToolOutput
    # Whether the model's text is less than there was.
    is_cut: bool = False
    parts: parts.Kept = parts.Kept(())
    # Whether they are kept beside the timeline, which has not all of them.
    are_apart: bool = False


def _no_shape(_text: str) -> str:
    return ""


class Pipeline:
    """The way that every result takes, and the arguments of every call."""

    def __init__(
        self,
        redactor: Redactor,
        keep: Callable[[KeptResult], Awaitable[None]],
        sealing: Sealing,
        shape: Callable[[str], str] = _no_shape,
    ) -> None:
        """Take who masks, who keeps, who seals, and who says in a few words what a text is, which may take a while."""
        self._redactor = redactor
        self._keep = keep
        self._sealing = sealing
        self._shape = shape
        # Several threads at work on texts would take turns with the event loop, and it would wait for each.
        self._one_by_one = asyncio.Lock()

    async def process(self, output: ToolOutput, item_id: str, conversation_id: str) -> ToolOutput:
        """Return the output masked and bounded for the model; the whole of it is kept."""
        return (await self.enter(output, item_id, conversation_id, Entrance(limits.RESULT_CHARS))).output

    async def enter(self, output: ToolOutput, item_id: str, conversation_id: str, entrance: Entrance) -> Entered:
        """Return the output as it enters the conversation, and all of its text where that is more."""
        if _size(output) <= limits.RESULT_AT_ONCE:
            done = self._processed(output, entrance)
        else:
            async with self._one_by_one:
                done = await asyncio.to_thread(self._processed, output, entrance)
        if done.are_apart:
            await self._keep(KeptResult(item_id, conversation_id, done.parts.parts, done.parts.cut))
        texts = entering.texts_of(done.parts.parts)
        if not (done.is_cut or entering.hold_more(texts, done.output.text)):
            return Entered(done.output)
        if entrance.id:
            shape = await asyncio.to_thread(self._shape, entering.longest(texts))
            return entering.announced(done.output, entrance.id, texts, shape, is_cut=done.parts.cut)
        return Entered(done.output, entering.joined(texts))

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

    def _processed(self, output: ToolOutput, entrance: Entrance) -> _Processed:
        try:
            masking = Masking(self._redactor)
            # As it is kept: what is said to be left out is what can be read.
            masked = masking.text(output.text, limits.RESULT_KEPT, without_escapes).text
            is_cut = len(masked) > entrance.room
            room = entrance.excerpt if is_cut and entrance.id else entrance.room
            text, hidden = without_hidden(bounded(masked, room))
            kept = parts.kept(
                output.parts or parts.of_text(output.text, is_cut=is_cut or len(output.text) > entrance.room), masking
            )
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
        return _Processed(ToolOutput(text=text, error=error, data=about), is_cut, kept, is_apart)


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
    if not part:
        return part
    match part:
        case str():
            return whole(redactor.redact(part))
        case dict():
            return {_masked(redactor, key): _masked(redactor, value) for key, value in part.items()}
        case list() | tuple():
            return [_masked(redactor, value) for value in part]
        case _:
            return part
