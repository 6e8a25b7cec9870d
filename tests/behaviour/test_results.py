"""Results of tool calls from the call to the person who looks at all of one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, Part, ToolOutput
from pilothouse.types.records import KeptResult
from pilothouse.wiring import open_host
from tests.support.chats import ME, Chat, open_chat
from tests.support.lag import MOST, least_turn
from tests.support.tools import ToolOf, give_tools

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20
CALL: list[Any] = [[{"call": "look", "arguments": {}}], "I see."]


@asynccontextmanager
async def looking(home: Path, output: ToolOutput, turns: list[Any] | None = None) -> AsyncIterator[tuple[Chat, str]]:
    """Open a chat whose model has called a tool that gave this, and give the call."""

    async def given(_arguments: dict[str, Any], _context: CallContext) -> ToolOutput:
        return output

    async with open_chat(home, turns or CALL) as chat:
        give_tools(chat.host, ToolOf("look", given))
        assert (await chat.say()).status == "completed"
        yield chat, (await chat.items("tool_call"))[0].id


@pytest.mark.case("RES-15", "RES-16", "RES-02", "TCL-20")
async def test_the_model_gets_an_excerpt_and_the_person_everything_after_a_restart_too(home: Path) -> None:
    text = "first " + "middle " * 50_000 + "last"
    parts = (Part(kind="text", text=text), Part(kind="image", data=PNG, name="a picture"))
    async with looking(home, ToolOutput(text=text, parts=parts)) as (chat, call):
        [item] = await chat.items("tool_call")
        assert len(item.text) < limits.RESULT_CHARS + 100
        assert [part["text"] for part in item.raw["content"]] == ["", ""]
        assert [part["bytes"] for part in item.raw["content"]] == [len(text), len(PNG)]
    async with open_host(home) as host:
        full = await host.api.runs.result(ME, call)
        assert full.parts[0].text == text
        assert (full.parts[1].kind, full.parts[1].media_type, full.parts[1].text) == ("image", "image/png", "")
        assert not full.cut
        picture = await host.api.runs.part(ME, call, 1)
        assert (picture.data, picture.media_type, picture.name) == (PNG, "image/png", "a picture")
        assert (await host.api.runs.part(ME, call, 0)).data == text.encode()


@pytest.mark.parametrize("text", ["", "short", "z" * 20_000])
async def test_a_result_that_the_timeline_holds_can_be_looked_at_the_same_way(home: Path, text: str) -> None:
    parts = (Part(kind="text", text=text),) if text else ()
    async with looking(home, ToolOutput(text=text, parts=parts)) as (chat, call):
        full = await chat.api.runs.result(ME, call)
        assert [part.text for part in full.parts] == ([text] if text else [])
        if text:
            data = await chat.api.runs.part(ME, call, 0)
            assert (data.data, data.media_type) == (text.encode(), "text/plain; charset=utf-8")
        with pytest.raises(PilothouseError) as refused:
            await chat.api.runs.part(ME, call, 5)
        assert refused.value.code == "not_found"


async def test_only_the_owner_looks_and_only_at_calls(home: Path) -> None:
    async with looking(home, ToolOutput(text="x" * 50_000)) as (chat, call):
        message = (await chat.items("user_message"))[0].id
        for asked in (chat.api.runs.result("stranger", call), chat.api.runs.part("stranger", call, 0)):
            with pytest.raises(PilothouseError) as refused:
                await asked
            assert refused.value.code == "not_found"
        with pytest.raises(PilothouseError) as refused:
            await chat.api.runs.result(ME, message)
        assert refused.value.code == "bad_request"


@pytest.mark.case("TOOL-11")
async def test_hundreds_of_images_and_links_are_cut_and_said_to_be(home: Path) -> None:
    images = [Part(kind="image", data=PNG) for _ in range(500)]
    links = [Part(kind="link", uri=f"https://example.com/{n}") for n in range(500)]
    async with looking(home, ToolOutput(text="Many.", parts=(*links[:10], *images, *links))) as (chat, call):
        full = await chat.api.runs.result(ME, call)
        assert full.cut
        assert len(full.parts) == limits.RESULT_PARTS
        [item] = await chat.items("tool_call")
        assert item.raw["cut"] is True
        assert item.text == "Many."


@pytest.mark.case("TOOL-11", "RES-18", "RES-02", "RES-03")
async def test_one_enormous_and_many_large_results_hold_nobody_up(home: Path) -> None:
    """A result of 50 MB and twenty of 1 MB, from the tool to the disk."""
    huge, large = "lorem ipsum " * (50 * 1024 * 1024 // 12), "dolor sit am " * (1024 * 1024 // 13)

    async def given(arguments: dict[str, Any], _context: CallContext) -> ToolOutput:
        text = huge if arguments["n"] == 0 else large
        return ToolOutput(text=text, parts=(Part(kind="text", text=text),))

    calls = [{"call": "look", "arguments": {"n": n}} for n in range(21)]
    async with open_chat(home, [calls, "Done."]) as chat:
        give_tools(chat.host, ToolOf("look", given))
        assert await least_turn(chat.say) < MOST
        items = await chat.items("tool_call")
        assert all(item.status == "completed" for item in items)
        full = await chat.api.runs.result(ME, items[0].id)
        assert full.cut
        assert len(full.parts[0].text) < limits.RESULT_KEPT + 100
        assert (await chat.api.runs.result(ME, items[1].id)).parts[0].text == large


async def test_a_call_whose_result_could_not_be_kept_is_not_told_as_one_that_the_person_stopped(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(_result: KeptResult) -> None:
        raise PilothouseError("internal", "The database refused a change.")

    async def much(_arguments: JsonObject, _context: CallContext) -> ToolOutput:
        return ToolOutput(text="x" * 2 * limits.RESULT_CHARS)

    turns = [[{"call": "much", "arguments": {}}, {"call": "much", "arguments": {"n": 2}}], "Done."]
    async with open_chat(home, turns) as chat:
        monkeypatch.setattr(chat.api._records, "keep_result", refused)
        give_tools(chat.host, ToolOf("much", much))
        assert (await chat.say()).status == "failed"
        for call in await chat.items("tool_call"):
            assert call.status == "unknown"
            assert call.raw["error"]["code"] == "UNKNOWN_OUTCOME"
            assert "may or may not have happened" in call.text
