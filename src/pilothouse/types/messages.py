"""What a model is asked, in a form that belongs to no provider."""

from __future__ import annotations

from typing import Literal

import msgspec

from pilothouse.types import limits
from pilothouse.types.json import JsonObject
from pilothouse.types.models import CallStyle
from pilothouse.types.selection import NativeTools


class _Block(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True, kw_only=True):
    """Base of the blocks a message is made of."""


class TextBlock(_Block, frozen=True, tag="text"):
    """Plain text; `opaque` is what its provider said about it, replayed with it on the same wire."""

    text: str
    opaque: JsonObject | None = None


class ImageBlock(_Block, frozen=True, tag="image"):
    """A raster image that the person showed or the model made; kept beside the timeline by its item and place there."""

    media_type: str
    # Base64; empty as long as it was not fetched for a request.
    data: str = ""
    item_id: str = ""
    index: int = 0
    size: int = 0
    name: str = ""
    opaque: JsonObject | None = None


class ThinkingBlock(_Block, frozen=True, tag="thinking"):
    """What the model thought; `opaque` is the provider's own proof, replayed verbatim."""

    text: str
    opaque: JsonObject | None = None


class CallBlock(_Block, frozen=True, tag="tool_call"):
    """A tool call as the model made it."""

    id: str
    name: str
    arguments: JsonObject
    opaque: JsonObject | None = None


class Media(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A picture or a sound that a tool gave, kept beside the timeline under the call's item and its place there."""

    item_id: str
    index: int
    media_type: str
    size: int
    name: str = ""
    # Base64; empty as long as it was not fetched for a model that takes it.
    data: str = ""

    @property
    def is_image(self) -> bool:
        """Return whether it is to be looked at, and not listened to."""
        return self.media_type.startswith("image/")


class ResultBlock(_Block, frozen=True, tag="tool_result"):
    """The one result of a tool call."""

    id: str
    name: str
    text: str
    is_error: bool = False
    # What belongs to the text and is no text, in order.
    media: tuple[Media, ...] = ()


class NativeBlock(_Block, frozen=True, tag="native"):
    """A provider's own block, kept and replayed verbatim."""

    raw: JsonObject


Block = TextBlock | ImageBlock | ThinkingBlock | CallBlock | ResultBlock | NativeBlock


class Message(msgspec.Struct, frozen=True):
    """One turn of the person or of the model."""

    role: Literal["user", "assistant"]
    content: tuple[Block, ...]


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as a model sees it; the schema goes out byte for byte."""

    name: str
    description: str
    input_schema: JsonObject


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one request to a model carries, apart from where it goes."""

    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    # The names of tools that may be called although they are not among those.
    on_demand: tuple[str, ...] = ()
    max_tokens: int | None = None
    # What is left of the window for the answer, after the provider said that more does not fit.
    room: int | None = None
    temperature: float | None = None
    # None leaves the provider's default; True and False are sent where the wire can say it.
    thinking: bool | None = None
    # A JSON schema that the whole answer must satisfy, on wires that can enforce one.
    answer_schema: JsonObject | None = None
    # How the tools above are offered and called.
    call_style: CallStyle = "native"
    # The provider's own tools; what is None here is as the model's configuration has it.
    native_tools: NativeTools = NativeTools()
    # Where an answer ends that does not end by itself, in characters.
    longest_answer: int = limits.ANSWER_CHARS
