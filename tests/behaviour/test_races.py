"""Two things at once: exactly one wins, and the timeline says which."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilothouse.types import limits
from pilothouse.types.api import Answer
from pilothouse.types.errors import PilothouseError
from pilothouse.types.records import Briefing
from pilothouse.types.runs import Run
from tests.support.chats import ME, Chat, open_chat, wait_for_runs
from tests.support.tools import ToolOf, give_tools
from tests.support.waiting import eventually

LOOPING = [{"call": "think", "arguments": {"thoughts": "again"}}]
QUICK = [{"text": "a b c d e f", "pieces": 2, "every": 0.002}]


@pytest.fixture(autouse=True)
def asks_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that makes a call again is asked about at once."""
    monkeypatch.setattr(limits, "REPEATED_CALLS", 2)


async def question_of(chat: Chat) -> str:
    assert (await chat.say("Loop")).status == "waiting"
    [question] = [item for item in await chat.items("question") if item.status == "waiting"]
    return question.id


async def both(*acts: Coroutine[Any, Any, Run]) -> list[Run | PilothouseError]:
    outcomes = await asyncio.gather(*acts, return_exceptions=True)
    assert all(isinstance(outcome, Run | PilothouseError) for outcome in outcomes), outcomes
    return [outcome for outcome in outcomes if isinstance(outcome, Run | PilothouseError)]


@pytest.mark.case("F-53")
async def test_cancel_and_completion_leave_one_consistent_end(home: Path) -> None:
    async with open_chat(home, [QUICK]) as chat:
        for delay in range(14):
            sent = await chat.send("Go")
            await asyncio.sleep(0.002 * delay)
            await chat.api.runs.cancel(ME, sent.run_id)
            run = await chat.settled(sent.run_id)
            assert run.status in ("cancelled", "completed")
            responses = [item.status for item in await chat.items("response") if item.run_id == run.id]
            # A stop that came too late for the text may still be in time for the run.
            assert responses in ([], ["completed"], ["cancelled"])
            assert run.status == "cancelled" or responses == ["completed"]


@pytest.mark.case("F-53")
async def test_a_question_is_answered_once(home: Path) -> None:
    async with open_chat(home, [LOOPING]) as chat:
        question = await question_of(chat)
        choices = ("stop", "continue", "stop")
        outcomes = await both(*(chat.api.questions.answer(ME, question, Answer(choice=choice)) for choice in choices))
        won = [index for index, outcome in enumerate(outcomes) if isinstance(outcome, Run)]
        assert [error.code for error in outcomes if isinstance(error, PilothouseError)] == ["conflict", "conflict"]
        await wait_for_runs(chat)
        [first, *_] = await chat.items("question")
        assert [choices[index] for index in won] == [first.raw["answer"]["choice"]]


@pytest.mark.case("F-53")
async def test_an_answer_and_a_cancel_leave_one_consistent_end(home: Path) -> None:
    orders: list[Callable[[Any, Any], tuple[Any, Any]]] = [lambda a, b: (a, b), lambda a, b: (b, a)]
    for order in orders:
        async with open_chat(home, [LOOPING]) as chat:
            question = await question_of(chat)
            run_id = (await chat.items("question"))[-1].run_id or ""
            await both(
                *order(chat.api.questions.answer(ME, question, Answer(choice="stop")), chat.api.runs.cancel(ME, run_id))
            )
            await wait_for_runs(chat)
            run = await chat.api.runs.get(ME, run_id)
            status = (await chat.items("question"))[0].status
            assert (run.status, status) in [
                ("cancelled", "cancelled"),
                ("completed", "completed"),
                ("cancelled", "completed"),
            ]


@pytest.mark.case("F-53")
async def test_an_answer_that_comes_before_the_run_is_parked_is_not_lost(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_chat(home, [LOOPING]) as chat:
        records = chat.api._records
        held, go = asyncio.Event(), asyncio.Event()
        settle = records.settle_run

        async def slowly(run_id: str, rule: Any) -> Run | None:
            # The first to settle is the run that parks itself; the answer passes it.
            if not held.is_set():
                held.set()
                await go.wait()
            return await settle(run_id, rule)

        monkeypatch.setattr(records, "settle_run", slowly)
        sent = await chat.send("Loop")
        async with asyncio.timeout(10):
            await held.wait()
        [question] = await chat.items("question")
        await chat.api.questions.answer(ME, question.id, Answer(choice="stop"))
        go.set()
        assert (await chat.settled(sent.run_id)).status == "completed"


@pytest.mark.case("F-53", "F-52")
async def test_a_cancel_that_comes_right_after_the_claim_is_heeded(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_chat(home, [[{"text": "x", "pieces": 1}, {"wait": 60}]]) as chat:
        records = chat.api._records
        claim = records.claim_next

        async def claim_then_cancel(conversation_id: str, process: str) -> Run | None:
            run = await claim(conversation_id, process)
            if run is not None:
                await chat.api.runs.cancel(ME, run.id)
            return run

        monkeypatch.setattr(records, "claim_next", claim_then_cancel)
        assert (await chat.say()).status == "cancelled"


@pytest.mark.case("F-53")
async def test_an_answer_is_taken_up_while_the_run_that_asked_has_not_heard_that_it_is_parked(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_chat(home, [LOOPING]) as chat:
        records = chat.api._records
        settle = records.settle_run
        parked = asyncio.Event()

        async def heard_late(run_id: str, rule: Any) -> Run | None:
            # The first to settle is the run that parks itself: that is kept, and the word of it is lost.
            settled = await settle(run_id, rule)
            if not parked.is_set():
                parked.set()
                raise PilothouseError("database", "The connection broke.")
            return settled

        monkeypatch.setattr(records, "settle_run", heard_late)
        sent = await chat.send("Loop")
        async with asyncio.timeout(10):
            await parked.wait()
        [question] = await chat.items("question")
        await chat.api.questions.answer(ME, question.id, Answer(choice="stop"))

        async def completed() -> bool:
            return (await chat.api.runs.get(ME, sent.run_id)).status == "completed"

        await eventually(completed, "the run to go on")


@pytest.mark.case("F-53")
async def test_what_was_queued_behind_a_run_begins_when_that_is_cancelled_in_the_moment_it_asks(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = [{"match": "Loop", "steps": [{"wait": 0.1}, *LOOPING]}, "Second."]
    async with open_chat(home, slow, role="once") as chat:
        first, second = await chat.send("Loop"), await chat.send("And then?")
        assert (await chat.settled(first.run_id)).status == "waiting"
        records = chat.api._records
        run = records.run

        async def a_moment_ago(owner: str, run_id: str) -> Run:
            return msgspec.structs.replace(await run(owner, run_id), status="running")

        with monkeypatch.context() as late:
            late.setattr(records, "run", a_moment_ago)
            await chat.api.runs.cancel(ME, first.run_id)
        assert (await chat.settled(second.run_id)).status == "completed"


@pytest.mark.case("F-53")
async def test_a_call_that_is_stopped_in_the_moment_its_run_goes_on_does_not_begin(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = ToolOf("change", effects=frozenset({"writes"}))
    async with open_chat(home, [[{"call": "change", "arguments": {}}], "Done."]) as chat:
        give_tools(chat.host, tool)
        assert (await chat.say()).status == "waiting"
        [question], [call] = await chat.items("question"), await chat.items("tool_call")
        records = chat.api._records
        briefing = records.briefing

        async def and_then_stopped(run: Run) -> Briefing:
            found = await briefing(run)
            await chat.api.runs.cancel_call(ME, call.id)
            return found

        monkeypatch.setattr(records, "briefing", and_then_stopped)
        await chat.api.questions.answer(ME, question.id, Answer(choice="allow"))
        assert (await chat.settled(question.run_id or "")).status == "completed"
        assert [item.status for item in await chat.items("tool_call")] == ["cancelled"]
        assert tool.calls == []
