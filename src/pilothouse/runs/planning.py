"""From a conversation's settings, a message's wishes and a model to what a run asks the model for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pilothouse.agent.loop import Plan
from pilothouse.types import limits
from pilothouse.types.conversations import Conversation
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject
from pilothouse.types.models import ModelConfig, ToolCalls
from pilothouse.types.ports import Journal, OpenModel, ToolSet
from pilothouse.types.runs import Run
from pilothouse.types.selection import Selection
from pilothouse.types.tool_names import counted

_LEFT_OUT = "tools_left_out"
_SYSTEM = (Path(__file__).parent / "system_prompt.md").read_text().strip()


def selection_of(run: Run, conversation: Conversation) -> Selection | None:
    """Return what the message asked for, else what the conversation is set to; None for the default."""
    return run.options.selection or conversation.settings.selection


def wished_thinking(run: Run, conversation: Conversation) -> bool | None:
    """Return whether the model is to think first: as the message says, else as the conversation is set."""
    wished = run.options.thinking
    return conversation.settings.thinking if wished is None else wished


def offered(selection: Selection | None, config: ModelConfig, found: ToolSet, *, refused_tools: bool) -> ToolSet:
    """Return all that a run is offered of the tools found for it: what its model is told of, and what it may call."""
    if refused_tools and _tool_calls(config, refused_tools) == "native":
        return ToolSet(())
    if config.provider == "embedded":
        # So small a model is only confused by tools that nobody asked for.
        named = selection is not None and selection.servers is not None
        return ToolSet(tuple(tool for tool in found.tools if tool.server) if named else ())
    return found


def most_tools(config: ModelConfig, *, refused_tools: bool) -> int | None:
    """Return how many tools one request to a model may have; None where nobody says."""
    # In other styles they are text of ours, or taken one at a time.
    is_native = _tool_calls(config, refused_tools) in ("auto", "native")
    return limits.TOOLS_PER_REQUEST.get(config.provider) if is_native else None


def used_tools(items: Sequence[Item]) -> tuple[str, ...]:
    """Return the tools that a conversation called, each once."""
    return tuple(dict.fromkeys(str(item.data.get("tool")) for item in items if item.kind == "tool_call"))


def tools_left_out(offered: ToolSet, journal: Journal) -> Item | None:
    """Return what the person is told about tools that have no room; None when that is what was told last."""
    notices = (item for item in reversed(journal.items) if item.kind == "notice" and item.data.get("code") == _LEFT_OUT)
    before: object = next((item.data.get("servers") for item in notices), {})
    now = dict(offered.left_out)
    if now == before:
        return None
    if now:
        there = sum(1 for tool in offered.tools if tool.server)
        text = f"There is room for {there} of {there + sum(now.values())} tools of servers. Left out: {counted(now)}."
    else:
        text = "There is room for all tools of servers again."
    data: JsonObject = {"level": "info", "code": _LEFT_OUT, "servers": now}
    return journal.new("notice", status="completed", text=text, data=data)


def plan(run: Run, conversation: Conversation, opened: OpenModel, offered: ToolSet, *, refused_tools: bool) -> Plan:
    """Return what a run asks its model for; `refused_tools` when its provider said that it takes none."""
    settings, config = conversation.settings, opened.config
    selection = selection_of(run, conversation) or Selection()
    system = settings.system_prompt if settings.system_prompt is not None else _SYSTEM
    return Plan(
        run_id=run.id,
        opened=opened,
        system=f"{system}\n\n{offered.guide}".strip(),
        tools=tuple(tool.spec for tool in offered.tools),
        max_tokens=settings.max_tokens or config.max_tokens,
        temperature=settings.temperature,
        thinking=wished_thinking(run, conversation) if config.supports_thinking else None,
        tool_calls=_tool_calls(config, refused_tools),
        native_tools=selection.native_tools,
    )


def _tool_calls(config: ModelConfig, refused: bool) -> ToolCalls:
    if config.tool_calls == "auto" and config.provider == "embedded":
        return "constrained"
    return "text" if config.tool_calls == "auto" and refused else config.tool_calls
