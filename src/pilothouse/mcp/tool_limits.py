"""Which tools of servers go out with a request where there is no room for all: pinned ones first, then used ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set

from pilothouse.types import limits
from pilothouse.types.json import encode
from pilothouse.types.ports import Tool, ToolRequest


def narrowed(
    own: Sequence[Tool], tools: Sequence[Tool], wanted: ToolRequest, named: Set[str]
) -> tuple[tuple[Tool, ...], Mapping[str, int]]:
    """Return the tools that fit beside the host's own, in the order they came in, and how many of each server do not.

    What was chosen stays chosen while the conversation goes on: only an offered tool can be used, and moving it to the
    front makes room for nothing that was not there. So the same tools go out with each request, byte for byte.
    """
    most = len(tools) if wanted.most is None else max(0, wanted.most - len(own))
    room = limits.TOOLS_SHARE * wanted.context_window if wanted.context_window else float("inf")
    room -= sum(map(_tokens, own)) if room < float("inf") else 0
    if len(tools) <= most and (room == float("inf") or sum(map(_tokens, tools)) <= room):
        return tuple(tools), {}
    kept: set[str] = set()
    for tool in _by_worth(tools, wanted, named):
        size = _tokens(tool)
        if len(kept) < most and size <= room:
            kept.add(tool.spec.name)
            room -= size
    left = Counter(tool.server for tool in tools if tool.spec.name not in kept)
    return tuple(tool for tool in tools if tool.spec.name in kept), dict(sorted(left.items()))


def _tokens(tool: Tool) -> float:
    """Return about how many tokens a tool takes: its schema and description, and its line in the system prompt."""
    spec = tool.spec
    line = min(len(spec.description), limits.GUIDE_TOOL_CHARS) if tool.server else 0
    return (len(encode(spec)) + len(spec.name) + line) / limits.CHARS_PER_TOKEN


def _by_worth(tools: Sequence[Tool], wanted: ToolRequest, named: Set[str]) -> list[Tool]:
    """Return pinned tools, then those named by themselves, then used ones, then one of each server in turn."""
    pinned = frozenset(wanted.selection.pinned) if wanted.selection is not None else frozenset[str]()
    used = frozenset(wanted.used)
    turns: Counter[str] = Counter()
    ranked = []
    for tool in tools:
        name = tool.spec.name
        is_pinned = bool(pinned & {name, tool.qualified_name})
        is_used = bool(used & {name, tool.qualified_name})
        ranked.append(((not is_pinned, name not in named, not is_used, turns[tool.server]), tool))
        turns[tool.server] += 1
    return [tool for _, tool in sorted(ranked, key=lambda pair: pair[0])]
