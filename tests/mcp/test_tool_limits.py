"""Which tools of servers go out where there is no room for all."""

from __future__ import annotations

from pilothouse.mcp.tool_limits import narrowed
from pilothouse.types import limits
from pilothouse.types.ports import ToolRequest
from pilothouse.types.selection import Selection
from tests.support.tools import ToolOf

TOOLS = [ToolOf(f"{server}__{number}", server=server) for server in ("alpha", "beta") for number in range(5)]


def chosen(most: int, **wanted: object) -> list[str]:
    request = ToolRequest("c", most=most, **wanted)  # type: ignore[arg-type]
    return [tool.spec.name for tool in narrowed([], TOOLS, request, frozenset())[0]]


def test_pinned_tools_come_before_used_ones_and_these_before_one_of_each_server_in_turn() -> None:
    assert chosen(2) == ["alpha__0", "beta__0"]
    assert chosen(2, used=("beta__4",)) == ["alpha__0", "beta__4"]
    pinned = Selection(pinned=("alpha.3",))
    assert chosen(1, selection=pinned, used=("beta__4",)) == ["alpha__3"]
    assert chosen(2, selection=pinned, used=("beta__4",)) == ["alpha__3", "beta__4"]


def test_the_numbers_of_the_providers_are_those_that_they_take() -> None:
    assert limits.TOOLS_PER_REQUEST == {"openai-compatible": 128, "openai-responses": 128, "gemini": 128}
