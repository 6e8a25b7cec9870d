"""An answer that a limit cut says so, can go on where it stopped, and never looks finished."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from pilothouse.agent.history import history
from pilothouse.host.following import Following
from pilothouse.timeline.transcripts import as_read
from pilothouse.types import limits
from pilothouse.types.api import ModelInput
from pilothouse.types.errors import PilothouseError
from pilothouse.types.messages import ResultBlock, TextBlock
from pilothouse.types.runs import Run
from tests.support.chats import ME, PATIENCE, Chat, open_chat
from tests.support.invariants import check_messages
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.tools import ToolOf, give_tools
from tests.support.wire_writers import Say, Text

HALF = [{"text": "Half an ans"}, {"usage": {"input": 20, "output": 64}}, {"stop": "length"}]
REST = "wer, and the rest."


async def go_on(chat: Chat, run: Run) -> Run:
    """Have an answer that was cut go on, and wait for its end."""
    after = (await chat.snapshot()).last_seq
    following = Following(chat.api, await chat.api.runs.resume(ME, run.id), after)
    async with asyncio.timeout(PATIENCE), aclosing(following.events()) as events:
        async for _event in events:
            pass
    return following.run


async def test_an_answer_that_reached_its_limit_says_so_and_goes_on_where_it_stopped(home: Path) -> None:
    async with open_chat(home, [HALF, REST, "Next."]) as chat:
        run = await chat.say()
        assert (run.status, run.cut) == ("completed", "length")
        [notice] = await chat.items("notice")
        assert notice.text == "The answer was cut at its limit of 64 tokens."
        assert (notice.raw["code"], notice.raw["reason"]) == ("cut_short", "length")
        assert notice.raw["fix"] == "To have the rest, go on."
        whole = await go_on(chat, run)
        assert (whole.status, whole.cut) == ("completed", None)
        first, second = await chat.items("response")
        assert (first.text + second.text, second.raw["continues"]) == ("Half an answer, and the rest.", first.id)
        told = history(await chat.items())
        check_messages(told)
        assert [message.role for message in told] == ["user", "assistant", "user", "assistant"]
        [asked] = told[2].content
        assert isinstance(asked, TextBlock)
        assert "Go on exactly where it stops" in asked.text
        assert len(await chat.items("notice")) == 1
        assert (await chat.say("More")).cut is None


async def test_a_limit_that_the_person_set_is_one_that_they_can_raise(home: Path) -> None:
    async with open_chat(home, [HALF], settings={"max_tokens": 64}) as chat:
        await chat.say()
        [notice] = await chat.items("notice")
        assert "“Max tokens”" in notice.raw["fix"]


async def test_what_goes_on_may_be_cut_again_and_go_on_again(home: Path) -> None:
    async with open_chat(home, [HALF, HALF, REST]) as chat:
        run = await go_on(chat, await chat.say())
        assert (run.status, run.cut) == ("completed", "length")
        assert len(await chat.items("notice")) == 2
        assert (await go_on(chat, run)).cut is None
        first, second, third = await chat.items("response")
        assert (second.raw["continues"], third.raw["continues"]) == (first.id, second.id)
        read = [(item.kind, item.text) for item in as_read(await chat.items())]
        assert read == [("user_message", "Hello"), ("response", f"Half an ansHalf an ans{REST}")]


async def test_an_attempt_to_go_on_that_broke_off_is_not_read_beside_the_one_that_did(home: Path) -> None:
    broken = [{"text": "wer, a"}, {"fault": "cut", "times": 1}, {"text": "nd the rest."}]
    async with open_chat(home, [HALF, broken]) as chat:
        await go_on(chat, await chat.say())
        assert len(await chat.items("response")) == 3
        assert [item.text for item in as_read(await chat.items())] == ["Hello", f"Half an ans{REST}"]


async def test_an_attempt_to_go_on_that_broke_off_for_good_is_read_where_it_stands(home: Path) -> None:
    broken = [{"text": "wer, a"}, {"fault": 401}]
    async with open_chat(home, [HALF, broken]) as chat:
        assert (await go_on(chat, await chat.say())).status == "failed"
        read = [item.text for item in as_read(await chat.items())]
        assert read[:3] == ["Hello", "Half an ans", "wer, a"]


async def test_a_cut_answer_goes_on_only_as_long_as_nothing_came_after_it(home: Path) -> None:
    async with open_chat(home, [HALF, "Another."]) as chat:
        run = await chat.say()
        done = await chat.say("Something else")
        for late in (run, done):
            with pytest.raises(PilothouseError) as refused:
                await chat.api.runs.resume(ME, late.id)
            assert refused.value.code == "conflict"
            assert (refused.value.fix == "Ask for the rest in a new message.") == (late is run)


async def test_a_limit_that_thinking_used_up_is_told_as_that_and_the_model_is_told_to_answer(home: Path) -> None:
    thought = [{"thinking": "Hm, hm."}, {"stop": "length"}, {"usage": {"input": 9, "output": 16}}]
    async with open_chat(home, [thought, "So."]) as chat:
        run = await chat.say()
        assert run.cut == "length"
        assert await chat.texts("notice") == ["The model reached its limit of 16 tokens before it said anything."]
        chat.write(["So."])
        assert (await go_on(chat, run)).cut is None
        assert (await chat.texts("response"))[-1] == "So."
        [asked, answered] = history(await chat.items())
        assert "before you said anything" in repr(asked)
        assert (asked.role, answered.role) == ("user", "assistant")


async def test_a_provider_that_pauses_is_asked_to_go_on_at_once_with_its_own_words(home: Path) -> None:
    paused = [{"text": "Searching. "}, {"stop": "pause"}]
    async with open_chat(home, [paused, "Found it."]) as chat:
        run = await chat.say()
        assert (run.status, run.cut) == ("completed", None)
        # What the scripted model says next is counted by answers, and what was paused is one with what follows.
        first, *others = await chat.items("response")
        assert (first.text, [item.text for item in others]) == ("Searching. ", ["Found it."])
        assert others[0].raw["continues"] == first.id
        question, answer = history(await chat.items())
        assert (question.role, [block.text for block in answer.content if isinstance(block, TextBlock)]) == (
            "user",
            ["Searching. ", "Found it."],
        )
        assert await chat.items("notice") == []


async def test_a_provider_that_pauses_for_ever_is_left_there_and_the_person_is_told(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "PAUSES", 2)
    async with open_chat(home, [[{"text": "x"}, {"stop": "pause"}]]) as chat:
        run = await chat.say()
        assert (run.cut, len(await chat.items("response"))) == ("pause", 3)
        assert await chat.texts("notice") == ["The provider paused the answer 3 times in a row, so it was left there."]
        again = await go_on(chat, run)
        assert (again.cut, len(await chat.items("response"))) == ("pause", 6)
        question, answer = history(await chat.items())
        assert (question.role, answer.role) == ("user", "assistant")


async def test_rounds_that_a_provider_paused_count_as_rounds(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_ITERATIONS", 2)
    async with open_chat(home, [[{"text": "x"}, {"stop": "pause"}]]) as chat:
        assert (await chat.say()).status == "waiting"
        [question] = await chat.items("question")
        assert question.raw["reason"] == "iterations"


@pytest.mark.parametrize("written", ['{"path": "a.txt", "content": "It was a dark', ""])
@pytest.mark.parametrize("stop", ["length", "context"])
async def test_a_call_that_a_limit_cut_is_never_executed_and_told_as_that(home: Path, written: str, stop: str) -> None:
    note = ToolOf("note")
    async with open_chat(home, [[{"call": "note", "arguments": written}, {"stop": stop}], "Then in pieces."]) as chat:
        give_tools(chat.host, note)
        run = await chat.say()
        assert (run.status, run.cut, note.calls) == ("completed", None, [])
        [call] = await chat.items("tool_call")
        assert (call.status, call.raw["error"]["code"]) == ("failed", "CUT_SHORT")
        assert "smaller pieces" in call.text
        assert "JSON" not in call.text
        assert "was not carried out" in call.raw["error"]["message"]
        assert await chat.items("notice") == []
        messages = history(await chat.items())
        check_messages(messages)
        [result] = [block for message in messages for block in message.content if isinstance(block, ResultBlock)]
        assert (result.is_error, "limit of tokens" in result.text) == (True, True)
        assert (await chat.texts("response"))[-1] == "Then in pieces."


@pytest.mark.parametrize(
    "full", [[{"stop": "context"}], [{"stop": "length"}, {"usage": {"input": 31_000, "output": 990}}]]
)
async def test_an_answer_that_found_no_more_room_goes_on_by_itself_once_there_is_some(
    home: Path, full: list[object]
) -> None:
    # The second word for it is the length, of an answer that ends where the window does.
    turns = [
        {"match": "Two", "steps": [{"text": "Half an ans"}, *full]},
        {"match": "Person: One", "steps": ["A summary."]},
        {"match": "Go on exactly", "steps": [REST]},
        "First.",
    ]
    async with open_chat(home, turns) as chat:
        await chat.say("One")
        run = await chat.say("Two")
        assert (run.status, run.cut) == ("completed", None)
        assert await chat.texts("response") == ["First.", "Half an ans", REST]
        assert await chat.texts("compaction") == ["A summary."]
        assert await chat.items("notice") == []
        check_messages(history(await chat.items()))


async def test_an_answer_that_fills_the_window_over_and_over_is_left_there_and_the_person_is_told(home: Path) -> None:
    full = [{"text": "More. "}, {"stop": "context"}]
    turns = [
        *[{"match": "Person: One", "steps": ["A summary."]}] * 20,
        *[{"match": "Go on exactly", "steps": full}] * 20,
        {"match": "Two", "steps": full},
        "First.",
    ]
    async with open_chat(home, turns) as chat:
        await chat.say("One")
        run = await chat.say("Two")
        assert (run.status, run.cut) == ("completed", "context")
        assert len(await chat.items("response")) == 1 + 1 + limits.WINDOW_GO_ONS
        assert len(await chat.items("notice")) == 1
        assert (await go_on(chat, run)).cut == "context"
        assert len(await chat.items("response")) == 1 + 2 * (1 + limits.WINDOW_GO_ONS)


async def test_an_answer_for_which_no_room_can_be_made_says_so(home: Path) -> None:
    async with open_chat(home, [[{"text": "Half"}, {"stop": "context"}], REST]) as chat:
        run = await chat.say()
        assert (run.status, run.cut) == ("completed", "context")
        [notice] = await chat.items("notice")
        assert "fills the model's window of 32,000 tokens" in notice.text
        assert "larger window" in notice.raw["fix"]
        assert await chat.items("compaction") == []
        assert (await go_on(chat, run)).cut is None


async def test_a_call_that_its_provider_could_not_read_is_asked_for_again_and_told(home: Path) -> None:
    async with open_chat(home, [[{"text": "beg"}, {"stop": "malformed"}]]) as chat:
        run = await chat.say()
        assert (run.status, run.error and run.error.code) == ("failed", "call_unreadable")
        assert len(await chat.items("response")) == limits.MALFORMED_ATTEMPTS
        notices = await chat.items("notice")
        assert [notice.raw["code"] for notice in notices] == ["malformed_call"] * (limits.MALFORMED_ATTEMPTS - 1)
        chat.write(["Recovered."])
        assert (await go_on(chat, run)).status == "completed"


async def test_an_answer_may_be_as_long_as_the_model_writes(home: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        model = ModelInput(name="c", provider="anthropic-compatible", model="claude-sonnet-4-5", base_url=endpoint.url)
        await chat.use(model)
        endpoint.answer(Reply(Say((Text(["Hello."]),))))
        await chat.say()
        assert endpoint.requests[0].json["max_tokens"] == 64_000
