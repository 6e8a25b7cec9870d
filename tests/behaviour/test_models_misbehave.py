"""What a person sees when the model loops, fails, breaks off, refuses, or has no more room."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from pilothouse.agent.history import history
from pilothouse.timeline import journal
from pilothouse.types import limits
from pilothouse.types.api import Answer, ConfigPatch, ConversationPatch, ModelInput
from pilothouse.types.events import Event
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, ToolOutput
from tests.support.chats import ME, Chat, open_chat
from tests.support.invariants import check_messages
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.tools import ToolOf, give_tools
from tests.support.waiting import eventually
from tests.support.wire_writers import Call, Say, Text, Tokens


def think(number: int = 0) -> list[object]:
    return [{"call": "think", "arguments": {"thoughts": f"thought {number}"}}]


async def answer(chat: Chat, choice: str) -> str:
    """Answer the open question and return how its run comes to rest."""
    [question] = [item for item in await chat.items("question") if item.status == "waiting"]
    run = await chat.api.questions.answer(ME, question.id, Answer(choice=choice))
    after = (await chat.snapshot()).last_seq

    async def over() -> str | None:
        now = await chat.api.runs.get(ME, run.id)
        moved = (await chat.snapshot()).last_seq > after or now.status == "completed"
        return now.status if moved and now.status in ("completed", "waiting", "failed") else None

    return await eventually(over, "the run to come to rest")


@pytest.mark.case("F-32")
@pytest.mark.parametrize("limit", ["iterations", "repetition", "tokens"])
async def test_a_loop_asks_the_person_who_may_let_it_go_on_or_stop_it(
    home: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    usage = {"usage": {"input": 20_000, "output": 10}}
    if limit == "iterations":
        monkeypatch.setattr(limits, "MAX_ITERATIONS", 3)
    elif limit == "repetition":
        monkeypatch.setattr(limits, "REPEATED_CALLS", 3)
    turns = [[*think(0 if limit == "repetition" else number), usage] for number in range(12)]
    async with open_chat(home, turns) as chat:
        if limit == "tokens":
            await chat.api.settings.update(ME, ConfigPatch(run_token_budget=70_000))
        assert (await chat.say("Go")).status == "waiting"
        [question] = await chat.items("question")
        assert (question.raw["kind"], question.raw["reason"]) == ("limit", limit)
        assert len(await chat.items("response")) == 3
        assert await answer(chat, "continue") == "waiting"
        assert len(await chat.items("response")) == 6
        assert await answer(chat, "stop") == "completed"
        assert len(await chat.items("response")) == 6
        assert (await chat.snapshot()).conversation.activity == "completed"


@pytest.mark.case("F-26")
async def test_a_busy_model_is_waited_for_with_a_countdown_that_can_be_cancelled(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of what is still to come nobody waits, so it may be long.
    monkeypatch.setattr(limits, "RETRY_MAX_WAIT", 3600.0)
    monkeypatch.setattr(limits, "MODEL_WAIT_TOTAL", 3600.0)
    began = time.time()
    async with open_chat(home, [[{"fault": 429, "retryAfter": 3000}]]) as chat:
        sent = await chat.send()

        async def waiting() -> object:
            return [item for item in await chat.items("notice") if item.status == "waiting"]

        await eventually(waiting, "the notice")
        [notice] = await chat.items("notice")
        assert began + 3000 <= notice.raw["until"] <= time.time() + 3000
        await chat.api.runs.cancel(ME, sent.run_id)
        assert (await chat.settled(sent.run_id)).status == "cancelled"
        assert time.time() < notice.raw["until"], "the rest of it is not waited for"
        assert [item.status for item in await chat.items("notice")] == ["completed"]


@pytest.mark.case("F-27")
async def test_a_server_error_before_the_first_word_shows_only_in_the_timeline(home: Path) -> None:
    async with open_chat(home, [[{"fault": 500, "times": 1, "retryAfter": 0.01}, "Here."]]) as chat:
        assert (await chat.say()).status == "completed"
        assert await chat.texts("response") == ["Here."]
        [notice] = await chat.items("notice")
        assert (notice.status, notice.raw["code"]) == ("completed", "retrying")


@pytest.mark.case("F-28")
@pytest.mark.parametrize("fault", ["cut", "bad_chunk"])
async def test_an_answer_that_breaks_off_is_kept_marked_and_asked_for_again_without_double_text(
    home: Path, fault: str
) -> None:
    steps = [{"text": "One two three", "pieces": 4}, *think(), {"fault": fault, "after": 5, "times": 1}]
    async with open_chat(home, [steps, ["Done."]]) as chat:
        assert (await chat.say()).status == "completed"
        broken, whole, done = await chat.items("response")
        assert (broken.status, broken.raw["cutOff"], broken.raw["turn"]) == ("failed", True, "1.1")
        assert (whole.text, whole.raw["turn"], done.text) == ("One two three", "1.2", "Done.")
        cut, executed = await chat.items("tool_call")
        assert (cut.raw["cutOff"], cut.status, executed.status) == (True, "failed", "completed")
        messages = history(await chat.items())
        check_messages(messages)
        assert repr(messages).count("One two") == 1


@pytest.mark.case("F-28")
async def test_an_answer_that_always_breaks_off_fails_after_a_few_attempts(home: Path) -> None:
    async with open_chat(home, [["Part", {"fault": "cut"}]]) as chat:
        run = await chat.say()
        assert (run.status, run.error and run.error.code) == ("failed", "stream_broken")
        assert await chat.texts("response") == ["Part"] * limits.STREAM_ATTEMPTS


@pytest.mark.case("F-33", "CHT-01")
async def test_too_long_a_conversation_is_summarised_once_and_goes_on(home: Path) -> None:
    async with open_chat(home, ["First answer.", [{"fault": "context_too_long", "times": 1}, "Second."], "x"]) as chat:
        await chat.say("One")
        assert (await chat.say("Two")).status == "completed"
        [summary] = await chat.items("compaction")
        assert (summary.status, summary.text) == ("completed", "First answer.")
        assert "First answer." in await chat.texts("response")
        check_messages(history(await chat.items()))
        assert (await chat.say("Three")).status == "completed"


@pytest.mark.case("F-33")
async def test_a_conversation_that_stays_too_long_stops_with_a_clear_sentence(home: Path) -> None:
    too_long = {"match": "Two", "steps": [{"fault": "context_too_long"}]}
    async with open_chat(home, ["First answer.", too_long]) as chat:
        await chat.say("One")
        run = await chat.say("Two")
        assert run.status == "failed"
        assert run.error is not None
        assert run.error.code == "context_too_long"
        assert "long" in run.error.message
        assert len(await chat.items("compaction")) == 1


@pytest.mark.case("MOD-24", "CHT-01")
async def test_room_is_made_before_the_window_is_full(home: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        where = {"base_url": f"{endpoint.url}/v1", "context_window": 2_000, "id": "small"}
        await chat.use(ModelInput(name="s", provider="openai-compatible", model="s", **where))  # type: ignore[arg-type]
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))
        endpoint.answer(Reply(Say((Text(["Long answer."]),), tokens=Tokens(input=1_900, output=50))))
        await chat.say("One")
        assert await chat.items("compaction") == []
        endpoint.answer(Reply(Say((Text(["They talked."]),))), Reply(Say((Text(["Second."]),))))
        assert (await chat.say("Two")).status == "completed"
        assert await chat.texts("compaction") == ["They talked."]
        last = endpoint.requests[-1].body
        assert b"They talked." in last
        assert b"Long answer." not in last


@pytest.mark.case("F-33", "MOD-24")
@pytest.mark.parametrize("full", ["told", "refused"])
async def test_one_long_run_makes_room_as_often_as_it_needs_to(home: Path, full: str) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        where = {"base_url": f"{endpoint.url}/v1", "context_window": 8_000, "id": "small"}
        await chat.use(ModelInput(name="s", provider="openai-compatible", model="s", **where))  # type: ignore[arg-type]
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))

        def thinks(number: int, tokens: int) -> Reply:
            called = Call(f"c{number}", "think", json.dumps({"thoughts": f"thought {number}"}))
            return Reply(Say((called,), tokens=Tokens(input=tokens, output=50)))

        most = 7_900 if full == "told" else 100
        body = b'{"error": {"code": "context_length_exceeded", "message": "maximum context length"}}'
        refused = [Reply(status=400, body=body)] if full == "refused" else []
        rounds = [[thinks(2 * number, 100), thinks(2 * number + 1, most), *refused] for number in range(3)]
        summaries = [Reply(Say((Text([f"Summary {number}."]),))) for number in range(3)]
        replies = [reply for number in range(3) for reply in (*rounds[number], summaries[number])]
        endpoint.answer(*replies, Reply(Say((Text(["Done."]),))))
        assert (await chat.say("Go")).status == "completed"
        assert await chat.texts("compaction") == ["Summary 0.", "Summary 1.", "Summary 2."]
        assert (await chat.texts("response"))[-1] == "Done."
        check_messages(history(await chat.items()))


@pytest.mark.case("F-33", "MOD-24", "RES-17")
async def test_a_result_takes_a_part_of_a_small_window_and_people_have_all_of_it(home: Path) -> None:
    line = "".join(f"{number} " for number in range(8_000))

    async def look(_arguments: JsonObject, _context: CallContext) -> ToolOutput:
        return ToolOutput(text=line)

    async with Endpoint() as endpoint, open_chat(home) as chat:
        where = {"base_url": f"{endpoint.url}/v1", "context_window": 8_000, "id": "small"}
        await chat.use(ModelInput(name="s", provider="openai-compatible", model="s", **where))  # type: ignore[arg-type]
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))
        give_tools(chat.host, ToolOf("far__look", look, server="far"))
        endpoint.answer(Reply(Say((Call("c1", "far__look", "{}"),))), Reply(Say((Text(["Done."]),))))
        assert (await chat.say("Look", allow=("far.look",))).status == "completed"
        [call] = await chat.items("tool_call")
        assert len(call.text) < 8_000 + 100
        assert "characters left out" in call.text
        assert "7999" in call.text
        assert len(endpoint.requests[-1].body) < 8_000 * limits.CHARS_PER_TOKEN * limits.COMPACT_ABOVE
        [part] = (await chat.api.runs.result(ME, call.id)).parts
        assert part.text == line


async def test_half_of_a_character_in_an_answer_is_marked_and_the_run_ends(home: Path) -> None:
    async with open_chat(home, ["So \ud83d it is."]) as chat:
        assert (await chat.say()).status == "completed"
        assert await chat.texts("response") == ["So ? it is."]


async def test_a_run_ends_also_when_its_last_words_cannot_be_written(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_journal: journal.RunJournal, _item_id: str) -> list[Event]:
        raise UnicodeError("no text")

    async with open_chat(home, ["So it is."]) as chat:
        with monkeypatch.context() as while_it_runs:
            while_it_runs.setattr(journal.RunJournal, "_last_text", broken)
            sent = await chat.send()
            run = await chat.settled(sent.run_id)
        assert (run.status, run.error and run.error.code) == ("failed", "internal")
        assert (await chat.say("Again")).status == "completed"


@pytest.mark.case("F-34")
@pytest.mark.parametrize(("steps", "code"), [([{"fault": "refusal"}], "refused"), ([{"text": ""}], "empty_answer")])
async def test_a_refusal_and_an_empty_answer_are_shown_and_the_next_message_works(
    home: Path, steps: list[object], code: str
) -> None:
    async with open_chat(home, [steps]) as chat:
        assert (await chat.say()).status == "completed"
        assert [item.raw["code"] for item in await chat.items("notice")] == [code]
        chat.write(["Better."])
        assert (await chat.say("Again")).status == "completed"
        assert (await chat.texts("response"))[-1] == "Better."


@pytest.mark.case("F-35")
async def test_a_wrong_key_fails_at_once_and_says_where_to_fix_it(home: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        body = ModelInput(name="m", id="m", provider="openai-compatible", model="m", base_url=f"{endpoint.url}/v1")
        await chat.use(body)
        endpoint.answer(Reply(status=401))
        run = await chat.say()
        assert run.status == "failed"
        assert run.error is not None
        assert run.error.code == "bad_key"
        assert "key" in f"{run.error.message} {run.error.fix}".lower()
        assert len(endpoint.requests) == 1
        endpoint.answer(Reply(Say((Text(["In."]),))))
        await chat.api.runs.resume(ME, run.id)
        await eventually(lambda: chat.texts("response"), "the answer after the fix")


async def test_calls_with_broken_or_unknown_names_get_results_and_the_loop_goes_on(home: Path) -> None:
    calls = (Call("a", "nothing", "{}"), Call("a", "think", "{broken"), Call("", "think", '{"thoughts": "x"}'))
    async with Endpoint() as endpoint, open_chat(home) as chat:
        body = ModelInput(name="m", id="m", provider="openai-compatible", model="m", base_url=f"{endpoint.url}/v1")
        await chat.use(body)
        endpoint.answer(Reply(Say(calls, stop="tool")), Reply(Say((Text(["Sorry."]),))))
        assert (await chat.say()).status == "completed"
        codes = [(item.raw.get("error") or {}).get("code") for item in await chat.items("tool_call")]
        assert codes[:2] == ["TOOL_NOT_FOUND", "INVALID_ARGUMENTS"]
        check_messages(history(await chat.items()))


async def test_a_model_that_takes_no_tools_is_asked_without_them_from_then_on(home: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        body = ModelInput(name="m", id="m", provider="openai-compatible", model="m", base_url=f"{endpoint.url}/v1")
        await chat.use(body)
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))
        refusal = Reply(status=400, body=b'{"error": {"message": "m does not support tools"}}')
        endpoint.answer(refusal, Reply(Say((Text(["Without."]),))))
        assert (await chat.say()).status == "completed"
        assert (await chat.say("Again")).status == "completed"
        assert ["tools" in request.json for request in endpoint.requests] == [True, False, False]
        assert await chat.texts("response") == ["Without.", "Without."]
