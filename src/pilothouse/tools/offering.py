"""Which tools a run is offered: decided here alone, of all that there are, and told as one value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import accumulate
from pathlib import Path

from pilothouse.types import limits
from pilothouse.types.access import Effect
from pilothouse.types.json import encode
from pilothouse.types.ports import Tool, ToolRequest, ToolSet
from pilothouse.types.tool_names import BUILT_IN, READ_RESULT, TOOLS, ServerTools, counted

# Read once and early: later there may be no descriptor left to read them with.
_SERVERS = (Path(__file__).parent / "servers_guide.md").read_text().strip()
_ON_DEMAND = (Path(__file__).parent / "servers_on_demand.md").read_text().strip()
_LEFT_OUT = (Path(__file__).parent / "servers_left_out.md").read_text().strip()
_NEED_FOLDER = frozenset(tool.name for tool in TOOLS if tool.needs_folder)
# All that a small model is burdened with as long as nobody asked for more.
_FOR_SMALL_MODELS = frozenset(tool.name for tool in TOOLS if tool.for_small_models)
# What comes along where tools are found on demand.
_FOR_FINDING = frozenset(tool.name for tool in TOOLS if tool.for_finding)
_HARMLESS = frozenset(BUILT_IN) - _NEED_FOLDER
_READING: frozenset[Effect] = frozenset({"reads"})
# Tools of plugins come after all others.
_PLACE = {name: index for index, name in enumerate(BUILT_IN)}


def offered(
    wanted: ToolRequest, own: Iterable[Tool], servers: Sequence[ServerTools] = (), missing: tuple[str, ...] = ()
) -> ToolSet:
    """Return what a run's model is told of and may call: the host's own tools, then those of servers, in one order."""
    if wanted.refuses:
        return ToolSet((), missing=missing)
    fit = _in_mode((tool for tool in own if _fits(tool.spec.name, wanted)), wanted)
    ours = sorted(fit, key=lambda tool: _PLACE.get(tool.spec.name, len(_PLACE)))
    # By name: a server that lists its tools in another order changes no prompt.
    listed = {tool.spec.name: tool for server in servers for tool in _in_mode(server.tools, wanted)}
    theirs = [listed[name] for name in sorted(listed)]
    if not _may_be_large([*ours, *theirs], wanted):
        ours = [tool for tool in ours if tool.spec.name != READ_RESULT]
    usual = [tool for tool in ours if tool.spec.name not in _FOR_FINDING]
    if len(usual) < len(ours) and _is_on_demand(usual, theirs, wanted):
        sent = _sent_anyway(ours, theirs, wanted)
        guide = _guide(servers, theirs, on_demand=True)
        return ToolSet((*ours, *sent), guide, {}, missing, tuple(tool for tool in theirs if tool not in sent))
    named = frozenset(tool.spec.name for server in servers if server.named for tool in server.tools)
    kept, left_out = _narrowed(usual, theirs, wanted, named)
    if wanted.tiny:
        # So small a model is only confused by tools that nobody asked for, and by words about them.
        asked_for = wanted.selection is not None and wanted.selection.servers is not None
        return ToolSet(kept if asked_for else (), missing=missing)
    return ToolSet((*usual, *kept), _guide(servers, kept, left_out), left_out, missing)


def _in_mode(tools: Iterable[Tool], wanted: ToolRequest) -> list[Tool]:
    """Return what is offered of tools: where nothing may be changed, only what reads."""
    if wanted.mode != "read_only":
        return list(tools)
    return [left for tool in tools if (left := tool.limited(_READING)) is not None]


def _fits(name: str, wanted: ToolRequest) -> bool:
    if name in _NEED_FOLDER and wanted.working_directory is None:
        return False
    if name in _FOR_FINDING:
        return True
    chosen = wanted.selection.built_in if wanted.selection is not None else None
    if chosen is not None:
        return name in chosen
    small = 0 < wanted.context_window < limits.SMALL_WINDOW and wanted.working_directory is None
    return not small or name in _FOR_SMALL_MODELS


def _may_be_large(tools: Iterable[Tool], wanted: ToolRequest) -> bool:
    """Return whether there can be results to read again: a tool brings something, or one did before.

    Decided before there is any: a tool that came with the first large result would make every model read anew all that
    stood before it.
    """
    names = (tool.spec.name for tool in tools)
    return any(name not in _HARMLESS for name in (*names, *wanted.used))


# --- on demand: where there are many, a model looks for what it needs ---


def _is_on_demand(own: Sequence[Tool], tools: Sequence[Tool], wanted: ToolRequest) -> bool:
    """Return whether the tools of servers are found on demand: by the person's word, or because they are many."""
    if wanted.on_demand == "never" or wanted.tiny or not tools:
        return False
    if wanted.on_demand == "always":
        return True
    if wanted.most is not None and len(own) + len(tools) > wanted.most:
        return True
    room = min(limits.ON_DEMAND_TOKENS, _room(own, wanted))
    # Of many the first tell; the others are not looked at.
    return any(size > room for size in accumulate(map(_tokens, tools)))


def _sent_anyway(own: Sequence[Tool], tools: Sequence[Tool], wanted: ToolRequest) -> tuple[Tool, ...]:
    """Return the tools that are sent all the same: what the person pinned, and some of what was used before."""
    pinned = _pinned(wanted)
    room, used = float(limits.ON_DEMAND_USED_TOKENS), dict.fromkeys(reversed(wanted.used))
    first = [tool for tool in tools if not pinned.isdisjoint(_names(tool))]
    by_name = {tool.spec.name: tool for tool in tools if tool not in first}
    for tool in filter(None, map(by_name.get, used)):
        if (size := _tokens(tool)) <= room:
            first.append(tool)
            room -= size
    return _narrowed(own, sorted(first, key=lambda tool: tool.spec.name), wanted, frozenset())[0]


# --- where there is no room for all: pinned ones first, then used ones ---


def _narrowed(
    own: Sequence[Tool], tools: Sequence[Tool], wanted: ToolRequest, named: Set[str]
) -> tuple[tuple[Tool, ...], Mapping[str, int]]:
    """Return the tools that fit beside the host's own, in the order they came in, and how many of each server do not.

    What was chosen stays chosen while the conversation goes on: only an offered tool can be used, and moving it to the
    front makes room for nothing that was not there. So the same tools go out with each request, byte for byte.
    """
    if not tools:
        return (), {}
    most = len(tools) if wanted.most is None else max(0, wanted.most - len(own))
    room = _room(own, wanted)
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


def _room(own: Sequence[Tool], wanted: ToolRequest) -> float:
    """Return how many tokens of the window are for tools of servers; all where it is not known."""
    if not wanted.context_window:
        return float("inf")
    return limits.TOOLS_SHARE * wanted.context_window - sum(map(_tokens, own))


def _tokens(tool: Tool) -> float:
    """Return about how many tokens a tool takes: its schema and description, and its name in the system prompt."""
    spec = tool.spec
    return (len(encode(spec)) + (len(spec.name) if tool.server else 0)) / limits.CHARS_PER_TOKEN


def _by_worth(tools: Sequence[Tool], wanted: ToolRequest, named: Set[str]) -> list[Tool]:
    """Return pinned tools, then those named by themselves, then used ones, then one of each server in turn."""
    pinned = _pinned(wanted)
    used = frozenset(wanted.used)
    turns: Counter[str] = Counter()
    ranked = []
    for tool in tools:
        name = tool.spec.name
        is_pinned = not pinned.isdisjoint(_names(tool))
        is_used = not used.isdisjoint(_names(tool))
        ranked.append(((not is_pinned, name not in named, not is_used, turns[tool.server]), tool))
        turns[tool.server] += 1
    return [tool for _, tool in sorted(ranked, key=lambda pair: pair[0])]


def _pinned(wanted: ToolRequest) -> frozenset[str]:
    return frozenset(wanted.selection.pinned) if wanted.selection is not None else frozenset()


def _names(tool: Tool) -> tuple[str, str]:
    return tool.spec.name, tool.qualified_name


# --- what the model is told about them ---


def _guide(
    servers: Sequence[ServerTools], tools: Sequence[Tool], left_out: Mapping[str, int] = {}, *, on_demand: bool = False
) -> str:
    """Return what the system prompt says about the servers' tools: their names, who wrote what, and what is missing."""
    if not tools and not left_out:
        return ""
    lines = [_SERVERS]
    if left_out:
        lines.append(f"\n{_LEFT_OUT.format(servers=counted(left_out))}\n")
    if on_demand:
        lines.append(f"\n{_ON_DEMAND}")
    most = limits.NAMES_INSTRUCTIONS_CHARS if on_demand else limits.GUIDE_INSTRUCTIONS_CHARS
    named = {server.name: [tool.spec.name for tool in tools if tool.server == server.name] for server in servers}
    room = _shared({name: sum(map(len, own)) for name, own in named.items()})
    for server in servers:
        if not (own := named[server.name]):
            continue
        lines.append(f"\n## Server “{server.name}”\n")
        if said := server.instructions.strip()[:most]:
            quoted = "\n".join(f"> {line}" for line in said.splitlines())
            lines.append(f"It says about itself:\n\n{quoted}\n")
        lines.append(_listed(own, room))
    guide = "\n".join(lines)
    return guide if len(guide) <= limits.GUIDE_CHARS else f"{guide[: limits.GUIDE_CHARS]}…"


def _listed(names: Sequence[str], room: float) -> str:
    """Return the names of a server's tools, what they all begin with only once; those beyond the room are counted."""
    prefix, joint, _ = names[0].partition("__")
    shared = f"{prefix}{joint}"
    shown: list[str] = []
    for name in names:
        if (room := room - len(name)) < 0 and shown:
            break
        shown.append(name.removeprefix(shared))
    more = f", … and {left} more" if (left := len(names) - len(shown)) else ""
    return f"Tools, each name after {shared}: {', '.join(shown)}{more}"


def _shared(sizes: Mapping[str, int]) -> float:
    """Return how much each server may name, so that all of them together fit and those with few name all of theirs."""
    room, left = float(limits.NAMES_CHARS), len(sizes)
    for size in sorted(sizes.values()):
        if size * left > room:
            return room / left
        room, left = room - size, left - 1
    return float("inf")
