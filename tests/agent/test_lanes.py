"""Which calls run side by side, which one after the other, and which wait together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from pilothouse.types.access import Access, Effect
from pilothouse.types.events import ItemCompleted
from pilothouse.types.items import Call
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import Ask, CallContext, ToolError, ToolOutput, ToolPaused
from tests.agent.run_bench import Bench
from tests.support.tools import ToolOf


class Watched:
    """Tools whose calls are seen at work, and end when they are told to."""

    def __init__(self) -> None:
        self.at_work: set[int] = set()
        self.together: list[set[int]] = []
        self.order: list[int] = []
        self.go = asyncio.Event()
        self.busy = asyncio.Semaphore(0)

    def tool(self, name: str, lane: str, asks: Callable[[JsonObject], bool] = lambda _: False) -> ToolOf:
        tool = ToolOf(name, self.act)

        def touching(arguments: JsonObject, context: CallContext) -> Access:
            effects: frozenset[Effect] = frozenset({"writes"}) if asks(arguments) else frozenset()
            return Access(operation=f"{name}.act", effects=effects, lane=lane)

        tool.touching = touching
        return tool

    async def act(self, arguments: JsonObject, context: CallContext) -> ToolOutput:
        number = int(arguments["n"])
        self.order.append(number)
        self.at_work.add(number)
        self.together.append(set(self.at_work))
        self.busy.release()
        await self.go.wait()
        self.at_work.discard(number)
        return ToolOutput(text=f"did {number}")


async def wishes(bench: Bench, tool: str, *numbers: int) -> list[Call]:
    return [await bench.wish(tool, {"n": number}, f"c{number}") for number in numbers]


@pytest.mark.case("FWK-02", "FWK-03", "FWK-04")
@pytest.mark.parametrize("lane", ["todos", "collaboration", "memory", "files"])
async def test_calls_of_one_lane_are_executed_one_after_the_other_in_their_order(bench: Bench, lane: str) -> None:
    watched = Watched()
    calls = await wishes(bench, "serial", 1, 2, 3)
    tools = (watched.tool("serial", lane), watched.tool("free", ""))
    executing = asyncio.ensure_future(bench.calls(*tools).execute([*calls, *await wishes(bench, "free", 4)]))
    async with asyncio.timeout(5):
        # What may begin before the last one has begun with it.
        while 4 not in watched.at_work:
            await watched.busy.acquire()
        assert watched.at_work == {1, 4}
        watched.go.set()
        await executing
    assert [number for number in watched.order if number != 4] == [1, 2, 3]
    assert [bench.item(call.id).text for call in calls] == ["did 1", "did 2", "did 3"]


@pytest.mark.case("FWK-02", "FWK-06")
async def test_other_calls_are_executed_side_by_side(bench: Bench) -> None:
    watched = Watched()
    calls = await wishes(bench, "free", 1, 2) + await wishes(bench, "serial", 3, 4)
    tools = (watched.tool("free", ""), watched.tool("serial", "files"))
    executing = asyncio.ensure_future(bench.calls(*tools).execute(calls))
    async with asyncio.timeout(5):
        for _ in range(3):
            await watched.busy.acquire()
        assert watched.at_work == {1, 2, 3}
        watched.go.set()
        await executing
    assert watched.order[-1] == 4


async def test_what_comes_after_a_question_in_its_lane_waits_with_it(bench: Bench) -> None:
    watched = Watched()
    watched.go.set()
    tool, other = watched.tool("serial", "files", lambda given: given["n"] == 2), watched.tool("free", "")
    calls = [*await wishes(bench, "serial", 1, 2, 3), *await wishes(bench, "free", 4)]
    await bench.calls(tool, other).execute(calls)
    assert sorted(watched.order) == [1, 4]
    [question] = [item for item in bench.journal.items if item.kind == "question"]
    answer = {"choice": "allow"}
    await bench.journal.write(ItemCompleted(item_id=question.id, status="completed", data={"answer": answer}))
    left = [bench.call(call.id) for call in calls if bench.item(call.id).status == "waiting"]
    await bench.calls(tool, other).execute(left)
    assert watched.order[-2:] == [2, 3]
    await bench.kept()


async def test_what_an_earlier_call_makes_is_there_for_the_next_one_of_its_lane(bench: Bench) -> None:
    files: set[str] = set()

    async def act(arguments: JsonObject, context: CallContext) -> ToolOutput:
        files.add(arguments["path"])
        return ToolOutput(text="done")

    class Files(ToolOf):
        async def access(self, arguments: JsonObject, context: CallContext) -> Access | ToolOutput:  # type: ignore[override]
            if arguments["edit"] and arguments["path"] not in files:
                return ToolOutput(text="no such file", error=ToolError("NOT_FOUND", "no such file"))
            return Access(operation="files.edit", lane="files")

    tool = Files("files", act)
    made = [await bench.wish("files", {"path": "a", "edit": edit}, f"c{edit}") for edit in (False, True)]
    lone = await bench.wish("files", {"path": "b", "edit": True}, "c3")
    await bench.calls(tool).execute([*made, lone])
    assert [bench.item(call.id).status for call in (*made, lone)] == ["completed", "completed", "failed"]


@pytest.mark.case("FWK-05")
async def test_a_tool_that_waits_for_the_person_holds_back_its_lane_and_nothing_else(bench: Bench) -> None:
    watched = Watched()
    watched.go.set()

    async def asks(arguments: JsonObject, context: CallContext) -> ToolOutput | ToolPaused:
        if context.resumed is not None:
            return ToolOutput(text="answered")
        return ToolPaused((Ask(id="q", kind="form", message="Which?"),), {})

    asking = ToolOf("asking", asks)
    asking.touching = lambda _arguments, _context: Access(operation="asking", lane="collaboration")
    calls = [
        await bench.wish("asking", {}, "c1"),
        await bench.wish("asking", {}, "c2"),
        *await wishes(bench, "free", 3),
    ]
    await bench.calls(asking, watched.tool("free", "")).execute(calls)
    assert [bench.item(call.id).raw["phase"] for call in calls] == ["input_required", "args_received", "completed"]
    [question] = [item for item in bench.journal.items if item.kind == "question"]
    answer = {"choice": "accept"}
    await bench.journal.write(ItemCompleted(item_id=question.id, status="completed", data={"answer": answer}))
    await bench.calls(asking).execute([bench.call(calls[0].id)])
    assert bench.item(calls[0].id).text == "answered"
