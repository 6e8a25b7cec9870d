"""Tool calls of a model whose server enforces a JSON schema: each answer is a call, or the words to say.

Made for models too small to keep to any other form. They do not know when to stop calling either, so after a
number of rounds without a word to the person only words are left to them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Literal

from pilothouse.models.answer import Answer
from pilothouse.models.text_calls import TextCalls
from pilothouse.models.text_protocol import in_json, in_words
from pilothouse.models.tool_names import ToolNames
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import CallBlock, Message, ModelRequest, TextBlock, ToolSpec

_SAY = re.compile(r'\s*\{\s*"say"\s*:\s*"')
_SAY_BEGUN = re.compile(r'\s*(?:\{\s*(?:"(?:s(?:a(?:y(?:"\s*(?::\s*)?)?)?)?)?)?)?\Z')
# As much of a JSON string as can be read: whole characters and escapes, and both halves of a pair.
_READABLE = re.compile(
    r'(?:[^"\\]|\\["\\/bfnrt]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4}|'
    r"\\u(?![dD][89abAB])[0-9a-fA-F]{4})*+"
)
# What servers enforce in part, or complain about on somebody's terminal.
_UNENFORCED = frozenset({"$schema", "pattern", "format", "default", "examples"})
# Half of a pair that came alone stands for no character.
_HALF = re.compile("[\ud800-\udfff]")


def constrained(request: ModelRequest, rounds: int) -> ModelRequest:
    """Return the request with what the answer must be: a call or words, or only words after so many rounds."""
    say: JsonObject = _object({"say": {"type": "string"}})
    if rounds_since_the_person(request.messages) >= rounds:
        return in_words(request, say)
    calls = [_object({"name": {"const": spec.name}, "args": _arguments(spec)}) for spec in request.tools]
    return in_json(request, {"anyOf": [*calls, say]})


def _object(properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _arguments(spec: ToolSpec) -> JsonObject:
    """Return the shape of a tool's arguments, as far as it helps to write them; the call is checked by the whole."""
    # A reference would lead elsewhere from inside the larger schema.
    return {"type": "object"} if '"$ref"' in json.dumps(spec.input_schema) else _shape(spec.input_schema)


def _shape(schema: JsonObject) -> JsonObject:
    out: JsonObject = {}
    for key, value in schema.items():
        if key in _UNENFORCED:
            continue
        if key == "properties" and isinstance(value, dict):
            out[key] = {name: _shape(part) if isinstance(part, dict) else part for name, part in value.items()}
        elif key not in ("enum", "const") and isinstance(value, dict):
            out[key] = _shape(value)
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems") and isinstance(value, list):
            out[key] = [_shape(part) if isinstance(part, dict) else part for part in value]
        else:
            out[key] = value
    return out


def rounds_since_the_person(messages: Sequence[Message]) -> int:
    """Return how many answers with calls there were since the person last said something."""
    rounds = 0
    for message in messages:
        if message.role == "user" and any(isinstance(block, TextBlock) for block in message.content):
            rounds = 0
        elif any(isinstance(block, CallBlock) for block in message.content):
            rounds += 1
    return rounds


class SaidOrCalled:
    """Takes such an answer and adds its words or its call to an answer."""

    def __init__(self, answer: Answer, names: ToolNames) -> None:
        self._answer = answer
        self._calls = TextCalls(answer, names)
        self._buffer = ""
        self._kind: Literal["undecided", "words", "said", "call"] = "undecided"

    @property
    def complete(self) -> bool:
        """Return whether nothing more is wanted of the model."""
        return self._calls.complete

    def feed(self, piece: str) -> None:
        """Take more of the answer."""
        if self._kind == "call":
            self._calls.feed(piece)
        elif self._kind != "said":
            self._buffer += piece
            self._look()

    def finish(self, *, cut: bool = False) -> None:
        """Take the end of the answer."""
        if self._kind == "undecided":
            self._calls.feed(self._buffer)
        self._calls.finish(cut=cut)

    def _look(self) -> None:
        if self._kind == "undecided" and (found := _SAY.match(self._buffer)):
            self._kind = "words"
            self._buffer = self._buffer[found.end() :]
        if self._kind == "words":
            self._say()
        elif not _SAY_BEGUN.match(self._buffer):
            # A call, or a server that does not enforce the schema: then its text is read as any.
            self._kind = "call"
            self._calls.feed(self._buffer)

    def _say(self) -> None:
        """Say what can be read of the words so far."""
        found = _READABLE.match(self._buffer)
        size = found.end() if found is not None else 0
        if size:
            words = json.loads(f'"{self._buffer[:size]}"', strict=False)
            self._answer.text(_HALF.sub("\N{REPLACEMENT CHARACTER}", words))
        if self._buffer[size:].startswith('"'):
            self._kind = "said"
        self._buffer = self._buffer[size:]
