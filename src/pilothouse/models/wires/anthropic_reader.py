"""Reading the Messages format: blocks, of which all that we know nothing of is kept and goes back."""

from __future__ import annotations

import msgspec

from pilothouse.models.answer import Answer, parsed
from pilothouse.models.wire import Unfinished, count, ending, is_done, native, proof, told_error
from pilothouse.models.wire_table import ANTHROPIC as WIRE
from pilothouse.types.json import JsonObject
from pilothouse.types.stream import Cited, NativeDelta, StopReason, Usage

_REASONS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "pause_turn": "pause",
    "tool_use": "tool",
    "max_tokens": "length",
    "model_context_window_exceeded": "context",
    "refusal": "refusal",
}
# What is read of a block or written to it by name; whatever else a block has comes back with it.
_READ = frozenset({"type", "text", "thinking", "signature", "id", "name", "input"})
_DELTAS = frozenset({"text_delta", "thinking_delta", "signature_delta", "input_json_delta", "citations_delta"})
# The provider tells it of a cited document and refuses to be told.
_ONLY_TOLD = "file_id"


class _Delta(msgspec.Struct):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    citation: JsonObject | None = None
    stop_reason: str | None = None
    container: JsonObject | None = None


class _Message(msgspec.Struct):
    usage: object = None
    container: JsonObject | None = None


class _Event(msgspec.Struct):
    type: str = ""
    index: int = 0
    delta: _Delta | None = None
    content_block: JsonObject | None = None
    message: _Message | None = None
    usage: object = None
    error: object = None


class _Kind(msgspec.Struct):
    type: str = ""


_decode = msgspec.json.Decoder(_Event).decode
_decode_kind = msgspec.json.Decoder(_Kind).decode
_EVENTS = frozenset(
    {
        *("message_start", "message_delta", "message_stop", "error"),
        *("content_block_start", "content_block_delta", "content_block_stop"),
    }
)


def _passed_over(data: bytes, error: msgspec.DecodeError) -> _Event:
    """Return an event that says nothing in place of one that is none of ours; raise what is wrong with any other."""
    if is_done(data) or (isinstance(error, msgspec.ValidationError) and _decode_kind(data).type not in _EVENTS):
        return _Event()
    raise error


class _Open:
    """A block that is still arriving."""

    def __init__(self, block: JsonObject) -> None:
        self.kind = str(block.get("type", ""))
        self.block = block
        self.input: list[str] = []
        self.thought: list[str] = []
        self.signature: list[str] = []
        # What came of fields that we know nothing of, in pieces.
        self.pieces: dict[str, list[object]] = {}

    @property
    def more(self) -> JsonObject:
        """Return what it has beside what is read of it by name."""
        own = {name: value for name, value in self.block.items() if name not in _READ and value not in (None, [])}
        return own | {name: _whole(pieces) for name, pieces in self.pieces.items()}

    def coming_back(self) -> JsonObject | None:
        """Return that as it comes back with the block, if there is any."""
        return proof(WIRE, more=more) if (more := self.more) else None

    def thinking(self) -> JsonObject:
        """Return what was thought with its signature, which is empty, or is not there, where a server gives none."""
        given = "".join(self.signature) or self.block.get("signature")
        return {"thinking": "".join(self.thought), "signature": given}

    def whole(self) -> JsonObject:
        """Return a block of the provider's own kind."""
        block = {**self.block, **{name: _whole(pieces) for name, pieces in self.pieces.items()}}
        return {**block, "input": parsed("".join(self.input)) or {}} if self.input else block


def _take_unknown(opened: _Open, data: bytes) -> None:
    """Keep what a delta of a kind that we know nothing of brings."""
    delta = msgspec.json.decode(data)["delta"]
    for name, value in delta.items():
        if name != "type":
            begun = [opened.block[name]] if opened.block.get(name) is not None else []
            opened.pieces.setdefault(name, begun).append(value)


def _whole(pieces: list[object]) -> object:
    """Return a value that came in pieces: texts and lists go on, everything else is replaced."""
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(map(str, pieces))
    if all(isinstance(piece, list) for piece in pieces):
        return [value for piece in pieces if isinstance(piece, list) for value in piece]
    return pieces[-1]


class AnthropicReader:
    """Turns the events of one answer into ours."""

    def __init__(self, answer: Answer, *, signs: bool) -> None:
        self._answer = answer
        self._signs = signs
        self._open: dict[int, _Open] = {}
        self._counts: JsonObject = {}
        # Where the provider runs code.
        self._container: JsonObject | None = None
        self._stop: str | None = None
        self._ended = False

    def feed(self, data: bytes) -> None:
        """Take one event; of kinds that we know nothing of there may be any, in any form."""
        try:
            event = _decode(data)
        except msgspec.DecodeError as error:
            event = _passed_over(data, error)
        match event.type:
            case "content_block_delta" if event.delta:
                self._delta(event.index, event.delta, data)
            case "content_block_start":
                self._begin(event.index, event.content_block or {})
            case "content_block_stop":
                self._end(event.index)
            case "message_start" if event.message:
                self._count(event.message.usage)
                self._answer.count(self._usage())
                self._container = event.message.container
            case "message_delta":
                self._count(event.usage)
                delta = event.delta or _Delta()
                self._stop = delta.stop_reason or self._stop
                self._container = delta.container or self._container
            case "message_stop":
                self._ended = True
            case "error":
                raise told_error(event.error)

    def finish(self) -> None:
        """Add usage and the reason for the end."""
        if self._stop is None and not self._ended:
            raise Unfinished
        reason = _REASONS.get(self._stop or "end_turn", "other")
        if self._container and isinstance(place := self._container.get("id"), str):
            self._answer.add(NativeDelta(native(WIRE, {"container": place})))
        ending(self._answer, self._usage(), reason, self._stop)

    def _delta(self, index: int, delta: _Delta, data: bytes) -> None:
        if delta.text:
            self._answer.text(delta.text)
            return
        opened = self._open.setdefault(index, _Open({}))
        if delta.thinking:
            self._think(opened, delta.thinking)
        elif delta.partial_json and opened.kind == "tool_use":
            self._answer.arguments(index, delta.partial_json)
        elif delta.partial_json:
            opened.input.append(delta.partial_json)
        elif delta.signature:
            opened.signature.append(delta.signature)
        elif delta.citation:
            self._cite(opened, delta.citation)
        elif delta.type not in _DELTAS:
            _take_unknown(opened, data)

    def _think(self, opened: _Open, piece: str) -> None:
        opened.thought.append(piece)
        self._answer.thinking(piece)

    def _cite(self, opened: _Open, citation: JsonObject) -> None:
        kept = {name: value for name, value in citation.items() if name != _ONLY_TOLD}
        opened.pieces.setdefault("citations", []).append([kept])
        url, title, quote = (citation.get(name) for name in ("url", "title", "cited_text"))
        title = title or citation.get("document_title") or ""
        self._answer.add(Cited(str(url or citation.get("source") or ""), str(title), str(quote or "")))

    def _begin(self, index: int, block: JsonObject) -> None:
        opened = self._open[index] = _Open(block)
        match opened.kind:
            case "tool_use":
                self._answer.start(index, block.get("id"), str(block.get("name", "")))
                # Some compatible endpoints send the input whole, here.
                if given := block.get("input"):
                    self._answer.arguments(index, msgspec.json.encode(given).decode())
            case "text":
                if text := block.get("text"):
                    self._answer.text(text)
            case "thinking":
                if text := block.get("thinking"):
                    self._think(opened, text)
                if signature := block.get("signature"):
                    opened.signature.append(signature)
            case "redacted_thinking":
                self._answer.opaque(proof(WIRE, redacted=block.get("data", "")))

    def _end(self, index: int) -> None:
        opened = self._open.pop(index, None)
        if opened is None:
            return
        match opened.kind:
            case "tool_use":
                self._answer.end(index, opened.coming_back())
            case "text":
                self._answer.end_text(opened.coming_back())
            case "thinking" | "":
                if opened.signature or (opened.thought and not self._signs):
                    self._answer.opaque(proof(WIRE, **opened.thinking(), more=opened.more))
            case "redacted_thinking":
                return
            case _:
                self._answer.add(NativeDelta(native(WIRE, opened.whole())))

    def _count(self, usage: object) -> None:
        if isinstance(usage, dict):
            self._counts |= {name: value for name, value in usage.items() if value is not None}

    def _usage(self) -> Usage | None:
        if not self._counts:
            return None
        read = count(self._counts, "cache_read_input_tokens")
        write = count(self._counts, "cache_creation_input_tokens")
        return Usage(
            input=count(self._counts, "input_tokens") + read + write,
            output=count(self._counts, "output_tokens"),
            cache_read=read,
            cache_write=write,
        )
