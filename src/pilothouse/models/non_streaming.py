"""Answers that come whole: a server that cannot stream sends one JSON document in place of its pieces.

Such a document is cut into the pieces that it would have come in, so that each wire has one reader for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from pilothouse.models.wire import told_error
from pilothouse.net.errors import NetError
from pilothouse.net.lines import Lines, json_lines, sse_data
from pilothouse.types import limits
from pilothouse.types.json import JsonObject, objects_in


class NotAnAnswer(Exception):
    """A document came that no model's answer looks like; its words, if it has any."""


class Documents:
    """Cuts a body into the JSON documents that a reader takes, whether it streams or is one document."""

    def __init__(self, *, is_sse: bool) -> None:
        self._is_sse = is_sse
        self._cut = sse_data if is_sse else json_lines
        self._lines = Lines()
        # What came before anyone could tell which of the two it is.
        self._head: bytes | None = b""
        self._whole: list[bytes] | None = None
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take more bytes and return the documents that are now complete."""
        if self._head is not None:
            chunk = self._head = self._head + chunk
            if (is_whole := self._is_whole(chunk.lstrip())) is None:
                return []
            self._head = None
            self._whole = [] if is_whole else None
        if self._whole is None:
            return self._cut(self._lines.feed(chunk))
        self._size += len(chunk)
        if self._size > limits.STREAM_LINE_BYTES:
            raise NetError("large", f"it sent a document of more than {limits.STREAM_LINE_BYTES // 1024} KB")
        self._whole.append(chunk)
        return []

    def rest(self) -> Iterator[bytes]:
        """Yield what stands after the last line feed, or the pieces of a document that came whole."""
        if self._whole is None:
            yield from self._cut([*self._lines.feed(self._head or b""), *self._lines.rest()])
            return
        document = b"".join(self._whole)
        check_pieces(document)
        for piece in _pieces_of(msgspec.json.decode(document)):
            yield msgspec.json.encode(piece)

    def _is_whole(self, head: bytes) -> bool | None:
        """Return whether a body that begins so is one document; None when more of it is needed to tell."""
        if not head:
            return None
        if self._is_sse or head[:1] != b"{":
            return head[:1] in (b"{", b"[")
        # Lines of JSON are objects too, but none of those ends after its first brace.
        after = head[1:]
        return b"\n" in after[: len(after) - len(after.lstrip())] or (None if not after.strip() else False)


def check_pieces(data: bytes) -> None:
    """Raise what `msgspec` raises for a long document of so many pieces that reading it would hold everyone up."""
    if len(data) > limits.STREAM_LINE_AT_ONCE and sum(map(data.count, (b"[", b"{", b":"))) > limits.JSON_PIECES:
        raise msgspec.DecodeError("it is in too many pieces")


def _pieces_of(document: Any) -> Iterable[JsonObject]:
    match document:
        case {"error": {"code": int()} as error}:
            raise told_error(error)
        case {"choices": list()} | {"candidates": list()} | {"promptFeedback": dict()} | {"message": dict(), "done": _}:
            return [document]
        case {"type": "message", "content": list()}:
            return _of_message(document)
        case {"output": list(), "status": str()}:
            return _of_response(document)
        case [_, *_]:
            return [piece for each in document for piece in _pieces_of(each)]
    raise NotAnAnswer(_words(document))


def _words(document: object) -> str:
    return msgspec.json.encode(document).decode() if isinstance(document, dict) else ""


def _of_message(message: JsonObject) -> Iterator[JsonObject]:
    """Yield the events of an Anthropic message."""
    yield {"type": "message_start", "message": {**message, "content": []}}
    for index, block in enumerate(objects_in(message["content"])):
        start, deltas = _of_block(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": message.get("stop_reason")}, "usage": message.get("usage")}
    yield {"type": "message_stop"}


def _of_block(block: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
    """Return how a block begins, and the rest of it."""
    match block:
        case {"type": "text", "text": text}:
            cited = [{"type": "citations_delta", "citation": each} for each in objects_in(block.get("citations"))]
            return {**block, "text": "", "citations": None}, [{"type": "text_delta", "text": text}, *cited]
        case {"type": "thinking", "thinking": words}:
            deltas = [
                {"type": "thinking_delta", "thinking": words},
                {"type": "signature_delta", "signature": block.get("signature") or ""},
            ]
            return {**block, "thinking": "", "signature": ""}, deltas
        case {"type": "tool_use" | "server_tool_use", "input": given}:
            written = msgspec.json.encode(given).decode()
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": written}]
        case _:
            return block, []


def _of_response(response: JsonObject) -> Iterator[JsonObject]:
    """Yield the events of an OpenAI response."""
    for index, item in enumerate(objects_in(response["output"])):
        where: JsonObject = {"output_index": index, "item_id": item.get("id")}
        yield {"type": "response.output_item.added", **where, "item": {**item, "content": [], "summary": []}}
        yield from ({**event, **where} for event in _of_item(item))
        yield {"type": "response.output_item.done", **where, "item": item}
    status = response["status"] if response["status"] in ("failed", "incomplete") else "completed"
    yield {"type": f"response.{status}", "response": response}


def _of_item(item: JsonObject) -> Iterator[JsonObject]:
    match item.get("type"):
        case "message":
            for place, part in enumerate(objects_in(item.get("content"))):
                kind = "refusal" if part.get("type") == "refusal" else "output_text"
                words = part.get("refusal") or part.get("text") or ""
                yield {"type": f"response.{kind}.delta", "content_index": place, "delta": words}
                for annotation in objects_in(part.get("annotations")):
                    kind = "response.output_text.annotation.added"
                    yield {"type": kind, "content_index": place, "annotation": annotation}
        case "reasoning":
            for place, part in enumerate(objects_in(item.get("summary"))):
                yield {"type": "response.reasoning_summary_part.added", "summary_index": place, "part": part}
                words = part.get("text") or ""
                yield {"type": "response.reasoning_summary_text.delta", "summary_index": place, "delta": words}
