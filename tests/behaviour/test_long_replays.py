"""Long runs once more: results that were cut, tools that are looked for, summaries on the way, limits of before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pilothouse.types import limits
from pilothouse.types.api import Answer, ConfigPatch, ModelInput
from pilothouse.types.json import JsonObject
from pilothouse.types.memories import NewMemory
from pilothouse.types.ports import CallContext, Part, ToolOutput
from pilothouse.types.runs import Run
from tests.support.chats import ME, Chat, open_chat
from tests.support.replays import add_script, add_server, count_calls, replay_run, run_items
from tests.support.tools import ToolOf, add_tools
from tests.support.waiting import eventually

LONG = "A line of a long result, of which the model gets a part.\n" * 4_000


async def given(_arguments: JsonObject, _context: CallContext) -> ToolOutput:
    return ToolOutput(LONG, parts=(Part(kind="text", text=LONG),))


async def test_the_rest_of_a_long_result_is_read_by_the_id_that_it_had_then(home: Path) -> None:
    look = [{"call": "look", "arguments": {}}]
    async with open_chat(home, [look, "Hm."]) as chat:
        tool = ToolOf("look", given, server="people")
        add_tools(chat.host, tool)
        first = await chat.say("A", allow=("people.*",))
        (found,) = await run_items(chat, first, "tool_call")
        place = found.raw["keptAs"]
        assert place in found.text
        reading = [{"call": "read_tool_result", "arguments": {"id": place, "offset": 50_000}}]
        chat.write([look, "Hm.", reading, "Read."])
        second = await chat.say("B")
        (read,) = await run_items(chat, second, "tool_call")
        assert read.status == "completed"
        again = await replay_run(chat, second.id)
        assert [each.text for each in await run_items(chat, again, "tool_call")] == [read.text]
        other = await replay_run(chat, first.id, model_id=add_script(chat, [look, reading]))
        told, stopped = await run_items(chat, other, "tool_call")
        assert (told.text, told.raw["keptAs"]) == (found.text, place)
        assert stopped.raw["error"]["code"] == "NOT_RECORDED"
    assert len(tool.calls) == 1


async def test_calls_by_name_and_searches_for_tools_are_recorded_like_all_others(home: Path, tmp_path: Path) -> None:
    record = tmp_path / "record"
    search = {"call": "search_tools", "arguments": {"query": "echo"}}
    named = {"call": "call_tool", "arguments": {"name": "far.echo", "arguments": {"text": "x"}}}
    turns = [[search], [named], "Done."]
    async with open_chat(home, turns) as chat:
        await chat.api.settings.update(ME, ConfigPatch(tools_on_demand="always"))
        await add_server(chat, record)
        run = await chat.say(allow=("far.*",))
        before = await run_items(chat, run, "tool_call")
        assert [call.status for call in before] == ["completed", "completed"]
        again = await replay_run(chat, run.id, model_id=add_script(chat, turns))
        assert again.status == "completed"
        after = await run_items(chat, again, "tool_call")
        assert [(call.text, call.raw.get("byName")) for call in after] == [
            (call.text, call.raw.get("byName")) for call in before
        ]
    assert count_calls(record) == 1


async def test_a_replay_goes_as_far_as_the_person_let_the_run_go_and_no_further(home: Path) -> None:
    def thoughts(count: int) -> list[Any]:
        return [[{"call": "think", "arguments": {"thoughts": f"step {number}"}}] for number in range(count)]

    steps = limits.MAX_ITERATIONS + 1
    async with open_chat(home, [*thoughts(steps), "Done."]) as chat:
        run = await chat.say()
        (question,) = await chat.items("question")
        await chat.api.questions.answer(ME, question.id, Answer(choice="continue"))
        run = await chat.settled(run.id)
        assert run.status == "completed"
        again = await replay_run(chat, run.id, model_id=add_script(chat, [*thoughts(steps), "Done."]))
        assert again.status == "completed"
        assert not await run_items(chat, again, "question")
        # A model that needs more than the run had is stopped, and nobody asked.
        longer = [*thoughts(steps), *thoughts(1), *thoughts(steps)]
        third = await replay_run(chat, run.id, model_id=add_script(chat, longer))
        assert third.error is not None
        assert (third.status, third.error.code) == ("failed", "budget_reached")


async def test_a_replay_with_a_small_window_sums_up_on_its_way_and_goes_on_with_the_record(home: Path) -> None:
    async def some(arguments: JsonObject, _context: CallContext) -> ToolOutput:
        return ToolOutput(f"{arguments['n']}: " + "many words of a result " * 700)

    # After a summary a script begins anew, for it counts the answers that it is sent.
    looks: list[Any] = [[{"call": "look", "arguments": {"n": number}}] for number in range(8)]
    turns = [{"match": "Person: ", "steps": ["They looked."]}, *looks, "Done."]
    async with open_chat(home, turns) as chat:
        tool = ToolOf("look", some)
        add_tools(chat.host, tool)
        for name, window in (("large", 1_000_000), ("small", 24_000)):
            model = ModelInput(name=name, id=name, provider="scripted", model=str(chat.script), context_window=window)
            await chat.api.models.add(ME, model)
        run = await chat.say(model_id="large")
        assert run.status == "completed"
        again = await replay_run(chat, run.id, model_id="small")
        assert again.error is not None
        assert again.error.code == "budget_reached"
        made = await run_items(chat, again, "compaction")
        assert {each.text for each in made if each.status == "completed"} == {"They looked."}
        texts = {call.raw["arguments"]["n"]: call.text for call in await run_items(chat, run, "tool_call")}
        calls = await run_items(chat, again, "tool_call")
        assert len(calls) > 8
        assert all(call.text == texts[call.raw["arguments"]["n"]] for call in calls)
    assert len(tool.calls) == 8


async def test_memories_are_those_that_were_offered_then(home: Path) -> None:
    async with open_chat(home, ["One.", "Two."]) as chat:
        await chat.api.memories.create(ME, NewMemory(text="The harbour master is called Ada."))

        async def reminded() -> Run | None:
            # A busy machine may not find it in time for a message.
            asked = await chat.say("Who is the harbour master?")
            return asked if any("Ada" in item.text for item in await run_items(chat, asked, "reminder")) else None

        run = await eventually(reminded, "a message with which the memory is offered", 60)
        before = [item.text for item in await run_items(chat, run, "reminder")]
        for memory in (await chat.api.memories.list(ME)).memories:
            await chat.api.memories.forget(ME, memory.key)
        await chat.api.memories.create(ME, NewMemory(text="The harbour master is called Grace."))
        again = await replay_run(chat, run.id, model_id=add_script(chat, ["Uno."]))
        assert [item.text for item in await run_items(chat, again, "reminder")] == before


async def test_a_run_of_before_a_restart_is_replayed_after_it(home: Path) -> None:
    turns: list[Any] = [[{"call": "think", "arguments": {"thoughts": "Hm."}}], "Done."]
    async with open_chat(home, turns) as chat:
        run = await chat.say()
    async with open_chat(home, turns) as later:
        opened = Chat(later.host, chat.id, later.script)
        assert (await replay_run(opened, run.id)).status == "completed"
