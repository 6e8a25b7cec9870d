"""What the next request of a conversation is made of, and how large it is."""

from __future__ import annotations

from collections.abc import Sequence

from pilothouse.agent.history import size
from pilothouse.types.items import Item
from pilothouse.types.json import encode
from pilothouse.types.messages import ModelRequest, ToolSpec
from pilothouse.types.tool_names import RECALL


def offered(tools: Sequence[ToolSpec], items: Sequence[Item]) -> tuple[ToolSpec, ...]:
    """Return the tools of the next request: looking back is for a conversation that was summed up.

    With a summary the request begins anew in any case, so that its tools may change just then.
    """
    if any(item.kind == "compaction" and item.status == "completed" for item in items):
        return tuple(tools)
    return tuple(tool for tool in tools if tool.name != RECALL)


def spec_size(spec: ToolSpec) -> int:
    """Return how many characters a model reads of a tool."""
    return len(encode(spec))


def request_size(request: ModelRequest) -> int:
    """Return roughly how many characters a model reads of a whole request."""
    return len(request.system) + sum(map(spec_size, request.tools)) + size(request.messages)
