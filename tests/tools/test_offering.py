"""Which tools a run is offered, and which of servers go out where there is no room for all."""

from __future__ import annotations

from pilothouse.tools.offering import offered
from pilothouse.types import limits
from pilothouse.types.ports import ToolRequest
from pilothouse.types.selection import Selection, ServerChoice
from pilothouse.types.tool_names import ServerTools
from tests.support.tools import ToolOf

TOOLS = [ToolOf(f"{server}__{number}", server=server) for server in ("alpha", "beta") for number in range(5)]
SERVERS = [ServerTools(name, tuple(tool for tool in TOOLS if tool.server == name)) for name in ("alpha", "beta")]
OWN = [ToolOf("file_operations"), ToolOf("todo_operations"), ToolOf("think")]


def chosen(most: int, **wanted: object) -> list[str]:
    request = ToolRequest("c", most=most, **wanted)  # type: ignore[arg-type]
    return [tool.spec.name for tool in offered(request, [], SERVERS).tools]


def test_pinned_tools_come_before_used_ones_and_these_before_one_of_each_server_in_turn() -> None:
    assert chosen(2) == ["alpha__0", "beta__0"]
    assert chosen(2, used=("beta__4",)) == ["alpha__0", "beta__4"]
    pinned = Selection(pinned=("alpha.3",))
    assert chosen(1, selection=pinned, used=("beta__4",)) == ["alpha__3"]
    assert chosen(2, selection=pinned, used=("beta__4",)) == ["alpha__3", "beta__4"]


def test_the_numbers_of_the_providers_are_those_that_they_take() -> None:
    assert limits.TOOLS_PER_REQUEST == {"openai-compatible": 128, "openai-responses": 128, "gemini": 128}


def test_a_model_that_refuses_tools_is_offered_none_and_the_person_still_told_which_server_is_missing() -> None:
    found = offered(ToolRequest("c", refuses=True), OWN, SERVERS, ("“gamma” is away.",))
    assert (found.tools, found.guide, found.missing) == ((), "", ("“gamma” is away.",))


def test_a_tiny_model_gets_the_tools_of_servers_that_someone_chose_and_no_words_about_them() -> None:
    assert offered(ToolRequest("c", tiny=True), OWN, SERVERS).tools == ()
    chosen = Selection(servers=(ServerChoice(name="alpha"),))
    found = offered(ToolRequest("c", chosen, tiny=True), OWN, SERVERS[:1])
    assert ([tool.spec.name for tool in found.tools], found.guide) == ([f"alpha__{number}" for number in range(5)], "")


def test_what_works_on_files_is_offered_with_a_folder_and_a_small_window_has_room_for_thinking_only() -> None:
    def names(**wanted: object) -> list[str]:
        return [tool.spec.name for tool in offered(ToolRequest("c", **wanted), OWN).tools]  # type: ignore[arg-type]

    assert names() == ["think", "todo_operations"]
    assert names(working_directory="/work") == ["think", "todo_operations", "file_operations"]
    assert names(context_window=limits.SMALL_WINDOW - 1) == ["think"]
    assert names(context_window=limits.SMALL_WINDOW - 1, selection=Selection(built_in=("todo_operations",))) == [
        "todo_operations"
    ]
