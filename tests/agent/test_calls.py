"""A call's way: found, checked, allowed, executed, and always exactly one result."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from pilothouse.agent import closing
from pilothouse.tools.think import Think
from pilothouse.types import limits
from pilothouse.types.events import ItemCompleted
from pilothouse.types.items import Item, ItemStatus
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, CallFeedback, ToolError, ToolOutput
from tests.agent.run_bench import Bench
from tests.support.tools import ToolOf

PATH_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "depth": {"type": "integer"}},
    "required": ["path"],
}


async def outcome(bench: Bench, item: Item) -> tuple[ItemStatus, str, str]:
    """Return the call's end as the database has it: status, error code, text."""
    await bench.kept()
    now = bench.item(item.id)
    return now.status, str((now.raw.get("error") or {}).get("code", "")), now.text


async def test_a_call_is_executed_with_its_arguments_and_its_result_is_kept(bench: Bench) -> None:
    tool = ToolOf()
    call = await bench.wish("echo", {"a": 1})
    await bench.calls(tool).execute([call])
    assert await outcome(bench, call) == ("completed", "", "echo {'a': 1}")
    [(arguments, context)] = tool.calls
    assert (arguments, context.call_id, context.run_id) == ({"a": 1}, call.id, bench.run.id)
    phases = bench.item(call.id).raw["phases"]
    assert list(phases) == ["executing", "completed"]


@pytest.mark.parametrize("name", ["nothing", ""])
async def test_an_unknown_or_empty_name_gives_an_error_result(bench: Bench, name: str) -> None:
    call = await bench.wish(name, {})
    await bench.calls(ToolOf()).execute([call])
    assert (await outcome(bench, call))[:2] == ("failed", "TOOL_NOT_FOUND")


@pytest.mark.case("ERR-16", "ERR-17")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "Missing required parameter: path"),
        ({"path": 3}, "Invalid parameter path: 3 is not of type 'string'"),
        (None, "The arguments are not a JSON object."),
    ],
)
async def test_wrong_arguments_fail_the_call_before_anything_is_done(
    bench: Bench, arguments: object, sentence: str
) -> None:
    tool = ToolOf(schema=PATH_SCHEMA)
    call = await bench.wish("echo", arguments)
    await bench.calls(tool).execute([call])
    assert await outcome(bench, call) == ("failed", "INVALID_ARGUMENTS", sentence)
    assert tool.calls == []
    assert bench.item(call.id).raw["error"]["retryable"] is True


@pytest.mark.case("ERR-17")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}},
        {"type": "object", "properties": {"a": {"pattern": "("}}},
        {"type": 7},
        {"required": 3},
    ],
)
async def test_a_tool_with_a_broken_schema_fails_its_calls_and_fetches_nothing(
    bench: Bench, schema: JsonObject
) -> None:
    call = await bench.wish("echo", {"a": "x"})
    await bench.calls(ToolOf(schema=schema)).execute([call])
    assert (await outcome(bench, call))[:2] == ("failed", "INVALID_ARGUMENTS")


async def test_an_exception_in_a_tool_is_its_result(bench: Bench) -> None:
    async def breaks(arguments: JsonObject, context: CallContext) -> ToolOutput:
        raise RuntimeError("no such planet")

    call = await bench.wish("echo", {})
    await bench.calls(ToolOf(action=breaks)).execute([call])
    assert await outcome(bench, call) == ("failed", "EXECUTION_FAILED", "The tool failed: no such planet")


async def test_a_secret_in_an_exception_an_error_or_data_never_reaches_the_timeline(bench: Bench) -> None:
    bench.redactor.learn("hunter2-is-secret")

    async def breaks(arguments: JsonObject, context: CallContext) -> ToolOutput:
        raise RuntimeError("refused hunter2-is-secret")

    async def tells(arguments: JsonObject, context: CallContext) -> ToolOutput:
        text = "key hunter2-is-secret"
        return ToolOutput(text=text, error=ToolError("X", text), data={"more": [{"key": "hunter2-is-secret"}]})

    calls = [await bench.wish("breaks", {}, "c1"), await bench.wish("tells", {}, "c2")]
    await bench.calls(ToolOf("breaks", breaks), ToolOf("tells", tells)).execute(calls)
    assert "hunter2" not in repr(await bench.kept())


async def test_a_tool_cannot_claim_another_outcome_through_its_data(bench: Bench) -> None:
    async def lies(arguments: JsonObject, context: CallContext) -> ToolOutput:
        return ToolOutput(text="no", error=ToolError("X", "no"), data={"isError": False, "phase": "completed"})

    call = await bench.wish("echo", {})
    await bench.calls(ToolOf(action=lies)).execute([call])
    data = bench.item(call.id).raw
    assert (data["isError"], data["phase"]) == (True, "failed")


async def test_a_call_that_takes_too_long_times_out_and_its_tool_is_ended(bench: Bench) -> None:
    ended = asyncio.Event()

    async def hangs(arguments: JsonObject, context: CallContext) -> ToolOutput:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    call = await bench.wish("echo", {})
    await bench.calls(ToolOf(action=hangs, timeout=0.05)).execute([call])
    assert ended.is_set()
    assert (await outcome(bench, call))[:2] == ("timed_out", "TIMEOUT")


async def test_one_call_is_cancelled_and_the_others_finish(bench: Bench) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def waits(arguments: JsonObject, context: CallContext) -> ToolOutput:
        begun.set()
        await go.wait()
        return ToolOutput(text="done")

    first, second = await bench.wish("waits", {"n": 1}, "c1"), await bench.wish("waits", {"n": 2}, "c2")
    calls = bench.calls(ToolOf("waits", waits))
    executing = asyncio.ensure_future(calls.execute([first, second]))
    async with asyncio.timeout(5):
        await begun.wait()
        calls.cancel(first.id)
        go.set()
        await executing
    assert await outcome(bench, first) == ("cancelled", "CANCELLED", "Operation cancelled by user")
    assert (await outcome(bench, second))[0] == "completed"


async def test_progress_that_comes_after_the_end_of_a_call_is_not_part_of_it(bench: Bench) -> None:
    async def tells_late(arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        feedback.progress(1, 2, "in time")
        try:
            await asyncio.Event().wait()
        finally:
            feedback.progress(2, 2, "too late")
        raise AssertionError

    tool = ToolOf(timeout=0.05)
    tool.reporting = tells_late
    call = await bench.wish("echo", {})
    await bench.calls(tool).execute([call])
    assert (await outcome(bench, call))[0] == "timed_out"
    assert bench.item(call.id).raw["progress"] == {"done": 1, "total": 2, "message": "in time"}


async def test_a_call_cancelled_before_its_turn_is_never_executed(bench: Bench) -> None:
    tool = ToolOf()
    call, marked = await bench.wish("echo", {}, "c1"), await bench.wish("echo", {}, "c2", cancelRequested=True)
    calls = bench.calls(tool)
    calls.cancel(call.id)
    await calls.execute([call, marked])
    assert (await outcome(bench, call))[0] == (await outcome(bench, marked))[0] == "cancelled"
    assert tool.calls == []


async def test_when_the_run_is_stopped_its_tool_has_ended_too(bench: Bench) -> None:
    begun, cleaned = asyncio.Event(), asyncio.Event()

    async def cleans_up(arguments: JsonObject, context: CallContext) -> ToolOutput:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.to_thread(lambda: None)
            cleaned.set()
        raise AssertionError

    call = await bench.wish("echo", {})
    executing = asyncio.ensure_future(bench.calls(ToolOf(action=cleans_up)).execute([call]))
    async with asyncio.timeout(5):
        await begun.wait()
        executing.cancel()
        with suppress(asyncio.CancelledError):
            await executing
    assert cleaned.is_set()
    await bench.journal.write(*closing.cancelled([bench.item(call.id)]))
    assert (await outcome(bench, call))[0] == "cancelled"


async def test_a_harmful_call_asks_first_and_runs_once_allowed(bench: Bench) -> None:
    tool = ToolOf("erase", effects=frozenset({"writes"}))
    call = await bench.wish("erase", {"path": "a"})
    await bench.calls(tool).execute([call])
    assert tool.calls == []
    question = bench.journal.items[-1]
    assert (question.kind, question.status, question.raw["callItemId"]) == ("question", "waiting", call.id)
    await bench.journal.write(
        ItemCompleted(item_id=question.id, status="completed", data={"answer": {"choice": "allow"}})
    )
    await bench.calls(tool).execute([bench.call(call.id)])
    assert len(tool.calls) == 1
    assert (await outcome(bench, call))[0] == "completed"


async def test_a_refused_call_gets_its_result_and_is_never_executed(bench: Bench) -> None:
    tool = ToolOf("erase", effects=frozenset({"writes"}))
    call = await bench.wish("erase", {"path": "a"})
    await bench.calls(tool).execute([call])
    question = bench.journal.items[-1]
    await bench.journal.write(
        ItemCompleted(item_id=question.id, status="completed", data={"answer": {"choice": "deny"}})
    )
    await bench.calls(tool).execute([bench.call(call.id)])
    assert tool.calls == []
    assert (await outcome(bench, call))[:2] == ("failed", "PERMISSION_DENIED")


@pytest.mark.case("AUTHZ-15")
async def test_a_permit_for_other_arguments_executes_nothing(bench: Bench) -> None:
    class Swapping:
        """FolderTools out the permit of another call, as a broken authorizer would."""

        def __init__(self) -> None:
            self.real = bench.authorizer

        async def decide(self, tool, arguments, context, approval):  # type: ignore[no-untyped-def]
            return await self.real.decide(tool, {"path": "something else"}, context, approval)

        async def redeem(self, permit, tool, arguments, context):  # type: ignore[no-untyped-def]
            return await self.real.redeem(permit, tool, arguments, context)

    bench.authorizer = Swapping()
    tool = ToolOf()
    call = await bench.wish("echo", {"path": "a"})
    await bench.calls(tool).execute([call])
    assert tool.calls == []
    assert (await outcome(bench, call))[:2] == ("failed", "PERMISSION_DENIED")


@pytest.mark.case("UTL-02")
async def test_a_thought_that_broke_off_does_not_count_as_thinking(bench: Bench) -> None:
    broken = await bench.wish("think", None, "c0")
    await bench.journal.write(ItemCompleted(item_id=broken.id, status="failed", data={"cutOff": True}))
    first, second = (
        await bench.wish("think", {"thoughts": "a"}, "c1"),
        await bench.wish("think", {"thoughts": "b"}, "c2"),
    )
    await bench.calls(Think()).execute([first, second])
    assert (await outcome(bench, first))[0] == "completed"
    assert (await outcome(bench, second))[:2] == ("failed", "ACT_NOW")


async def test_the_grace_for_a_stubborn_tool_is_short(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CANCEL_GRACE", 0.02)
    release = asyncio.Event()

    async def ignores(arguments: JsonObject, context: CallContext) -> ToolOutput:
        while not release.is_set():
            with suppress(asyncio.CancelledError):
                await release.wait()
        return ToolOutput(text="too late")

    call = await bench.wish("echo", {})
    async with asyncio.timeout(5):
        await bench.calls(ToolOf(action=ignores, timeout=0.02)).execute([call])
    assert (await outcome(bench, call))[0] == "timed_out"
    release.set()
