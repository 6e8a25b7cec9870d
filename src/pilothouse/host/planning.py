"""From a conversation's settings, a message's wishes and a model to what a run asks the model for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pilothouse.agent.loop import Plan
from pilothouse.types import limits
from pilothouse.types.authority import Mode
from pilothouse.types.conversations import Conversation
from pilothouse.types.item_data import CallData, CompactionData, NoticeData
from pilothouse.types.items import Item, is_a, patch
from pilothouse.types.models import ModelConfig, ToolCalls
from pilothouse.types.ports import Journal, OpenModel, ToolRequest, ToolSet
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


def wanted_tools(
    run: Run, conversation: Conversation, config: ModelConfig, mode: Mode, items: Sequence[Item], *, refused_tools: bool
) -> ToolRequest:
    """Return what decides which tools a run is offered."""
    calls = _tool_calls(config, refused_tools)
    return ToolRequest(
        conversation_id=run.conversation_id,
        selection=selection_of(run, conversation),
        working_directory=conversation.settings.working_directory,
        mode=mode,
        context_window=config.context_window,
        # In other styles they are text of ours, or taken one at a time.
        most=limits.TOOLS_PER_REQUEST.get(config.provider) if calls in ("auto", "native") else None,
        used=_used(items),
        refuses=refused_tools and calls == "native",
        tiny=config.provider == "embedded",
    )


def _used(items: Sequence[Item]) -> tuple[str, ...]:
    """Return the tools that the conversation used and that its model is to be sent.

    What it had to look for stands in what it reads; it is sent only after a summary has taken the place of that. So the
    tools of one request after another are the same.
    """
    summaries = [item.data for item in items if is_a(item, CompactionData) and item.status == "completed"]
    before = summaries[-1].tools if summaries else ()
    calls = (item.data for item in items if is_a(item, CallData))
    return tuple(dict.fromkeys((*before, *(data.tool for data in calls if not data.on_demand))))


def tools_left_out(offered: ToolSet, journal: Journal) -> Item | None:
    """Return what the person is told about tools that have no room; None when that is what was told last."""
    notices = (item.data for item in reversed(journal.items) if is_a(item, NoticeData))
    before = next((notice.servers for notice in notices if notice.code == _LEFT_OUT), {})
    now = dict(offered.left_out)
    if now == before:
        return None
    if now:
        there = sum(1 for tool in offered.tools if tool.server)
        text = f"There is room for {there} of {there + sum(now.values())} tools of servers. Left out: {counted(now)}."
    else:
        text = "There is room for all tools of servers again."
    data = patch(NoticeData, level="info", code=_LEFT_OUT, servers=now)
    return journal.new("notice", status="completed", text=text, data=data)


def plan(run: Run, conversation: Conversation, opened: OpenModel, offered: ToolSet, *, refused_tools: bool) -> Plan:
    """Return what a run asks its model for; `refused_tools` when its provider said that it takes none."""
    settings, config = conversation.settings, opened.config
    selection = selection_of(run, conversation) or Selection()
    return Plan(
        run_id=run.id,
        opened=opened,
        system=system_text(conversation, offered, run.options.system_prompt),
        tools=tuple(tool.spec for tool in offered.tools),
        on_demand=tuple(tool.spec.name for tool in offered.on_demand),
        max_tokens=settings.max_tokens or config.max_tokens,
        temperature=settings.temperature if run.options.temperature is None else run.options.temperature,
        thinking=wished_thinking(run, conversation) if config.supports_thinking else None,
        tool_calls=_tool_calls(config, refused_tools),
        native_tools=selection.native_tools,
        unattended=run.options.unattended,
    )


def system_text(conversation: Conversation, offered: ToolSet, instead: str | None = None) -> str:
    """Return what a request begins with: the conversation's own words or the usual ones, and those about its tools."""
    own = conversation.settings.system_prompt if instead is None else instead
    return f"{_SYSTEM if own is None else own}\n\n{offered.guide}".strip()


def _tool_calls(config: ModelConfig, refused: bool) -> ToolCalls:
    if config.tool_calls == "auto" and config.provider == "embedded":
        return "constrained"
    return "text" if config.tool_calls == "auto" and refused else config.tool_calls
