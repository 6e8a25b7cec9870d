"""Tools as a search gives them to a model: a line of JSON for each, in which nothing can pass for another line."""

from __future__ import annotations

import msgspec

from pilothouse.types.json import JsonObject, encode_text
from pilothouse.types.messages import ToolSpec


class _Line(msgspec.Struct):
    name: str
    description: str
    input_schema: JsonObject


_decode = msgspec.json.Decoder(_Line).decode


def line(spec: ToolSpec) -> str:
    """Return a tool as one line."""
    return encode_text({"name": spec.name, "description": spec.description, "input_schema": spec.input_schema})


def specs(text: str) -> tuple[ToolSpec, ...]:
    """Return the tools of a result; what was cut out of it, or is no tool, is none."""
    found = []
    # By what we end lines with alone: a stranger's text may have other ends.
    for each in text.split("\n"):
        if each.startswith("{"):
            try:
                read = _decode(each)
            except msgspec.DecodeError:
                continue
            found.append(ToolSpec(read.name, read.description, read.input_schema))
    return tuple(found)
