"""What a model's answer is made of while it arrives.

A stream never raises for a request, network or model failure: the failure is an event. Events come in the order of
the provider's own blocks, and every `opaque` and `raw` value names its wire: `{"wire": "anthropic", ...}`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from pilothouse.types.errors import ErrorCode
from pilothouse.types.json import JsonObject

# "pause": the provider wants to be asked to go on; "context": the window is full; "malformed": a call that the provider
# itself could not read.
StopReason = Literal["end", "tool", "length", "pause", "context", "malformed", "refusal", "other"]
# The reasons by which a limit ends an answer anywhere: between two words, or inside of a call.
CUT: frozenset[StopReason] = frozenset({"length", "context"})


class TextDelta(msgspec.Struct, frozen=True, gc=False):
    """More of the answer's text."""

    text: str


class TextEnd(msgspec.Struct, frozen=True):
    """The text since the last block is one block of the provider's; `opaque` comes back with it, on its wire only."""

    opaque: JsonObject | None = None


class Cited(msgspec.Struct, frozen=True):
    """A source of what was just said, for people: an address, or a document that has only a title."""

    url: str
    title: str
    quote: str = ""


class PictureDelta(msgspec.Struct, frozen=True):
    """A picture that the model made, whole and in base64; `opaque` comes back with it, on its wire only."""

    media_type: str
    data: str
    opaque: JsonObject | None = None


class ThinkingDelta(msgspec.Struct, frozen=True):
    """More of the model's thinking, or its opaque signature."""

    text: str
    opaque: JsonObject | None = None


class CallStart(msgspec.Struct, frozen=True):
    """The model began a tool call; `index` tells parallel calls of one answer apart."""

    index: int
    id: str
    name: str


class CallArguments(msgspec.Struct, frozen=True):
    """Another piece of a call's arguments; `size` counts all its bytes so far."""

    index: int
    text: str
    size: int


class CallEnd(msgspec.Struct, frozen=True):
    """A tool call is complete; `arguments` is None when `raw` is not a JSON object."""

    index: int
    id: str
    name: str
    arguments: JsonObject | None
    raw: str
    opaque: JsonObject | None = None


class NativeDelta(msgspec.Struct, frozen=True):
    """A block of the provider's own kind, kept verbatim."""

    raw: JsonObject


class Notice(msgspec.Struct, frozen=True):
    """One sentence for the person about what was asked; a conversation has it once."""

    code: str
    text: str


class Retrying(msgspec.Struct, frozen=True):
    """The request failed before its first event and is made again after `wait` seconds."""

    attempt: int
    wait: float
    why: str


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens as the provider counted them; `input` includes what was cached."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    # It is not the provider's last word: told on the way, or reckoned by length.
    estimated: bool = False


class Stopped(msgspec.Struct, frozen=True):
    """The answer ended; `raw` is the provider's own word for why."""

    reason: StopReason
    raw: str | None = None


class Failed(msgspec.Struct, frozen=True):
    """The answer could not be had, or broke off; `message` is one sentence for a person."""

    code: ErrorCode
    message: str
    retryable: bool = False
    status: int | None = None


StreamEvent = (
    TextDelta
    | TextEnd
    | ThinkingDelta
    | CallStart
    | CallArguments
    | CallEnd
    | NativeDelta
    | PictureDelta
    | Cited
    | Notice
    | Retrying
    | Usage
    | Stopped
    | Failed
)
