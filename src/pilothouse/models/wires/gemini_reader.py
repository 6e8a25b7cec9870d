"""Reads Gemini's answers: what comes with a part, a signature above all, stays with the very part it came with."""

from __future__ import annotations

import msgspec

from pilothouse.models.answer import Answer
from pilothouse.models.wire import Unfinished, count, ending, is_done, native, told_error
from pilothouse.types import limits
from pilothouse.types.json import JsonObject
from pilothouse.types.media import described
from pilothouse.types.stream import Cited, NativeDelta, Notice, PictureDelta, StopReason, Usage

WIRE = "gemini"
# What is not here ends an answer for a reason of the provider's own.
_REASONS: dict[str, StopReason] = {
    "STOP": "end",
    "MAX_TOKENS": "length",
    "SAFETY": "refusal",
    "RECITATION": "refusal",
    "LANGUAGE": "refusal",
    "BLOCKLIST": "refusal",
    "PROHIBITED_CONTENT": "refusal",
    "SPII": "refusal",
    "MODEL_ARMOR": "refusal",
    "IMAGE_SAFETY": "refusal",
    "IMAGE_PROHIBITED_CONTENT": "refusal",
    "IMAGE_RECITATION": "refusal",
    "MALFORMED_FUNCTION_CALL": "malformed",
    "UNEXPECTED_TOOL_CALL": "malformed",
    "MALFORMED_RESPONSE": "malformed",
    "TOO_MANY_TOOL_CALLS": "other",
    "MISSING_THOUGHT_SIGNATURE": "other",
    "NO_IMAGE": "other",
    "IMAGE_OTHER": "other",
    "OTHER": "other",
    "FINISH_REASON_UNSPECIFIED": "other",
}


class _Function(msgspec.Struct):
    name: str = ""
    id: str | None = None
    args: object = None


class _Blob(msgspec.Struct, rename="camel"):
    mime_type: str = ""
    data: str = ""


class _Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    thought: bool = False
    thought_signature: str | None = None
    function_call: _Function | None = None
    inline_data: _Blob | None = None


class _Content(msgspec.Struct):
    # Kept raw: a part of an unknown kind is handed on verbatim.
    parts: list[msgspec.Raw] | None = None


class _Source(msgspec.Struct):
    uri: str | None = None
    title: str | None = None


class _Found(msgspec.Struct, rename="camel"):
    web: _Source | None = None
    retrieved_context: _Source | None = None
    maps: _Source | None = None


class _Segment(msgspec.Struct):
    text: str | None = None


class _Support(msgspec.Struct, rename="camel"):
    segment: _Segment | None = None
    grounding_chunk_indices: list[int] | None = None


class _Grounding(msgspec.Struct, rename="camel"):
    grounding_chunks: list[_Found] | None = None
    grounding_supports: list[_Support] | None = None


class _Citations(msgspec.Struct, rename="camel"):
    citations: list[_Source] | None = None
    citation_sources: list[_Source] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    index: int = 0
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None
    # Kept raw: what is odd about a source is no reason to lose the answer.
    grounding_metadata: msgspec.Raw = msgspec.Raw()
    citation_metadata: msgspec.Raw = msgspec.Raw()


class _Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None
    block_reason_message: str | None = None


class _Chunk(msgspec.Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None
    # Kept raw: it comes with every chunk, and only the last one counts.
    usage_metadata: msgspec.Raw = msgspec.Raw()
    error: object = None


_decode = msgspec.json.Decoder(_Chunk).decode
_decode_part = msgspec.json.Decoder(_Part).decode
_decode_grounding = msgspec.json.Decoder(_Grounding | None).decode
_decode_citations = msgspec.json.Decoder(_Citations | None).decode


class GeminiReader:
    """Turns the chunks of one answer into events."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._usage = msgspec.Raw()
        self._stop: tuple[StopReason, str] | None = None
        # Whether there is text whose part may go on.
        self._text_is_open = False
        # By address, as the same ones come again with later chunks.
        self._sources: dict[str, Cited] = {}

    def feed(self, data: bytes) -> None:
        """Take one chunk."""
        try:
            chunk = _decode(data)
        except msgspec.DecodeError:
            if is_done(data):
                return
            raise
        if chunk.error:
            raise told_error(chunk.error)
        if chunk.usage_metadata:
            self._usage = chunk.usage_metadata.copy()
            self._answer.count(_counted(self._usage))
        if chunk.prompt_feedback and (blocked := chunk.prompt_feedback.block_reason):
            self._stop = ("refusal", chunk.prompt_feedback.block_reason_message or blocked)
        # One answer was asked for; others beside it are no part of it.
        for candidate in (chunk.candidates or ())[:1]:
            if candidate.index == 0:
                self._candidate(candidate)

    def finish(self) -> None:
        """Add sources, usage and the reason for the end."""
        if self._stop is None:
            raise Unfinished
        for source in self._sources.values():
            self._answer.add(source)
        ending(self._answer, _counted(self._usage), *self._stop)

    def _candidate(self, candidate: _Candidate) -> None:
        for part in (candidate.content.parts if candidate.content else None) or ():
            self._part(part)
        if candidate.grounding_metadata or candidate.citation_metadata:
            self._cite(candidate)
        if why := candidate.finish_reason:
            self._stop = (_REASONS.get(why, "other"), candidate.finish_message or why)

    def _part(self, raw: msgspec.Raw) -> None:
        part = _decode_part(raw)
        if part.text is not None and not part.thought and not part.thought_signature:
            if part.text:
                self._answer.text(part.text)
                self._text_is_open = True
            return
        if self._text_is_open:
            # What is signed and what is not stay apart: a signature is for its own part.
            self._answer.end_text()
            self._text_is_open = False
        if part.function_call:
            call = part.function_call
            self._answer.whole(call.id, call.name, call.args, _kept(raw, "functionCall"))
        elif part.inline_data:
            self._media(part.inline_data, raw, is_thought=part.thought)
        elif part.text is None:
            self._answer.add(NativeDelta(native(WIRE, msgspec.json.decode(raw))))
        elif part.thought:
            self._answer.thinking(part.text)
            if part.thought_signature:
                self._answer.opaque({"wire": WIRE, **msgspec.json.decode(raw)})
        else:
            self._answer.text(part.text)
            self._answer.end_text(_kept(raw, "text"))

    def _media(self, blob: _Blob, raw: msgspec.Raw, *, is_thought: bool) -> None:
        if is_thought:
            # A sketch on the way to the picture: it is not signed, not charged, and not wanted back.
            return
        if blob.mime_type.startswith("image/"):
            self._answer.add(PictureDelta(blob.mime_type, blob.data, _kept(raw, "inlineData")))
        elif len(raw) <= limits.NATIVE_BYTES:
            self._answer.add(NativeDelta(native(WIRE, msgspec.json.decode(raw))))
        else:
            what = described(blob.mime_type or "a file", len(blob.data) * 3 // 4)
            self._answer.add(Notice("media_left_out", f"The model gave something that is not kept: {what}."))

    def _cite(self, candidate: _Candidate) -> None:
        try:
            grounding = _decode_grounding(candidate.grounding_metadata or b"null") or _Grounding()
            citations = _decode_citations(candidate.citation_metadata or b"null") or _Citations()
        except msgspec.MsgspecError:
            return
        quotes: dict[int, str] = {}
        for support in grounding.grounding_supports or ():
            for index in support.grounding_chunk_indices or ():
                quotes.setdefault(index, (support.segment.text if support.segment else None) or "")
        for index, found in enumerate(grounding.grounding_chunks or ()):
            self._source(found.web or found.retrieved_context or found.maps, quotes.get(index, ""))
        for source in (*(citations.citations or ()), *(citations.citation_sources or ())):
            self._source(source, "")

    def _source(self, source: _Source | None, quote: str) -> None:
        if source and source.uri:
            known = self._sources.get(source.uri)
            quote = quote or (known.quote if known else "")
            self._sources[source.uri] = Cited(source.uri, source.title or (known.title if known else ""), quote)


def _kept(raw: msgspec.Raw, kind: str) -> JsonObject | None:
    """Return what came with a part beside its content, to be sent back with it."""
    fields = {name: value for name, value in msgspec.json.decode(raw).items() if name != kind}
    return {"wire": WIRE, **fields} if fields else None


def _counted(raw: msgspec.Raw) -> Usage | None:
    usage = msgspec.json.decode(raw or b"null")
    if usage is None:
        return None
    thoughts = count(usage, "thoughtsTokenCount")
    return Usage(
        # What the provider's own tools read counts as read.
        input=count(usage, "promptTokenCount") + count(usage, "toolUsePromptTokenCount"),
        output=count(usage, "candidatesTokenCount") + thoughts,
        cache_read=count(usage, "cachedContentTokenCount"),
        reasoning=thoughts,
    )
