"""A large result enters as a summary: with the question in view, with its own stop, and never instead of the result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pilothouse.agent import budget
from pilothouse.agent.results.summaries import sums_up
from pilothouse.types import limits
from pilothouse.types.api import ConfigPatch, ModelInput
from pilothouse.types.errors import PilothouseError
from pilothouse.types.item_data import CallData, SummaryData
from pilothouse.types.items import Call, Item, ItemOf, is_a
from pilothouse.types.models import ModelConfig
from pilothouse.wiring import open_host
from tests.support.chats import ME, Chat
from tests.support.scripted_endpoint import Endpoint, Received, Reply
from tests.support.summary_chats import (
    CALL,
    LARGE,
    SUMMARY,
    look_tool,
    open_summary_chat,
    summary_turns,
    wait_for_summary,
)
from tests.support.wire_writers import Call as Called
from tests.support.wire_writers import Say, Text

HELD = {"text": f"{SUMMARY} and so on", "pieces": 4, "every": 60, "until": "/nowhere"}


async def ended(chat: Chat) -> tuple[Call, list[ItemOf[SummaryData]]]:
    """Return the one call of a chat, and its summaries."""
    [call] = await chat.items("tool_call")
    assert is_a(call, CallData)
    return call, [item for item in await chat.items("tool_summary") if is_a(item, SummaryData)]


@pytest.mark.case("RES-04", "RES-13", "OBS-01", "PRO-21")
async def test_a_large_result_is_summed_up_in_an_item_of_its_own_and_the_summary_is_what_enters(home: Path) -> None:
    async with open_summary_chat(home, summary_turns({"text": SUMMARY, "pieces": 5})) as chat:
        accepted = await chat.send("How many berths?")
        folded = await chat.follow(accepted.run_id)
        call, [summary] = await ended(chat)
        assert (summary.text, summary.status) == (SUMMARY, "completed")
        about = summary.data
        assert (about.call_item_id, about.server, about.tool, about.server_tool) == (call.id, "ports", "look", "look")
        assert call.status == "completed"
        assert call.text.startswith(f"[Result r{call.position}: {len(LARGE):,} characters, 5,000 lines")
        assert call.text.endswith(SUMMARY)
        assert "0: a harbour" not in call.text
        assert call.data.excerpt is None
        assert [item.kind for item in folded.list() if item.kind.startswith("tool")] == ["tool_call", "tool_summary"]
        assert (await chat.api.runs.result(ME, call.id)).parts[0].text == LARGE
        assert call.raw["brings"] == {"private": True, "untrusted": True, "source": "server:ports"}


def said(request: Received) -> str:
    return request.body.decode()


async def asked_for(home: Path, style: str) -> list[str]:
    """Have a model at an endpoint call the tool in its way, sum up and answer; return what it was sent."""
    if style == "native":
        first = Say((Text(["Let me look."]), Called("call_a", "look", "{}")), stop="tool")
    else:
        first = Say(
            (Text(["Let me look.\n<tool_call>\n" + json.dumps({"name": "look", "arguments": {}}) + "\n</tool_call>"]),)
        )
    async with Endpoint() as endpoint, open_summary_chat(home, ["-"]) as chat:
        fields: dict[str, Any] = {"base_url": endpoint.url, "context_window": 64_000, "tool_calls": style}
        await chat.use(ModelInput(name="m", id="m", provider="openai-compatible", model="m", **fields))
        endpoint.answer(Reply(first), Reply(Say((Text([SUMMARY]),))), Reply(Say((Text(["Six."]),))))
        assert (await chat.say("How many berths at most?")).status == "completed"
        call, [summary] = await ended(chat)
        assert summary.text == SUMMARY
        assert call.text.endswith(SUMMARY)
        return [said(request) for request in endpoint.requests][:3]


@pytest.mark.case("RES-05", "RES-06", "RES-09", "PRO-21")
@pytest.mark.parametrize("style", ["native", "text"])
async def test_the_conversations_own_model_sums_up_with_the_question_in_view_in_both_kinds_of_loop(
    home: Path, style: str
) -> None:
    first, summary, after = await asked_for(home, style)
    assert "How many berths at most?" in summary
    assert "Let me look." in summary
    assert "4999: a harbour" in summary
    # Of the system prompt, and of the tools, nothing.
    system = json.loads(first)["messages"][0]["content"]
    assert system[:200] not in json.loads(summary)["messages"][0]["content"]
    assert "tools" not in json.loads(summary)
    assert SUMMARY in after
    assert "2500: a harbour" not in after


@pytest.mark.case("RES-08", "RES-10")
async def test_what_is_read_and_what_is_written_are_bounded(home: Path) -> None:
    async with Endpoint() as endpoint, open_summary_chat(home, ["-"], longestSummary=100) as chat:
        fields: dict[str, Any] = {"base_url": endpoint.url, "context_window": 8_000}
        await chat.use(ModelInput(name="m", id="m", provider="openai-compatible", model="m", **fields))
        first = Say((Called("call_a", "look", "{}"),), stop="tool")
        endpoint.answer(Reply(first), Reply(Say((Text(["word "] * 2_000),))), Reply(Say((Text(["Six."]),))))
        assert (await chat.say("How many berths at most?")).status == "completed"
        call, [summary] = await ended(chat)
        text, _, note = summary.text.rpartition("\n\n")
        assert len(text) == 100 * limits.CHARS_PER_TOKEN
        assert note.startswith("[This summary was cut at the limit for its length")
        assert len(call.text) < 100 * limits.CHARS_PER_TOKEN + 600
        sent = json.loads(said(endpoint.requests[1]))
        assert sent.get("max_tokens", sent.get("max_completion_tokens")) == 100
        assert len(said(endpoint.requests[1])) < 8_000 * limits.CHARS_PER_TOKEN
        assert "[… left out …]" in said(endpoint.requests[1])


async def test_a_summary_that_its_model_s_limit_cut_says_so_and_the_id_stays(home: Path) -> None:
    async with open_summary_chat(home, summary_turns(["There are 5,000", {"stop": "length"}])) as chat:
        await chat.say("How many berths?")
        call, [summary] = await ended(chat)
        assert summary.text.startswith("There are 5,000\n\n[This summary was cut at the limit for its length")
        assert call.text.startswith(f"[Result r{call.position}: ")
        assert call.text.endswith(summary.text)


async def test_a_summary_that_is_at_its_end_says_nothing_of_a_limit(home: Path) -> None:
    async with open_summary_chat(home, summary_turns(SUMMARY)) as chat:
        await chat.say("How many berths?")
        _, [summary] = await ended(chat)
        assert summary.text == SUMMARY


@pytest.mark.case("RES-07")
async def test_models_can_be_named_for_summaries_and_the_next_is_asked_when_one_fails(home: Path) -> None:
    home.parent.mkdir(parents=True, exist_ok=True)
    named = []
    for name, turns in {"bad": [[{"fault": 401}]], "good": [SUMMARY]}.items():
        file = home.parent / f"{name}.json"
        file.write_text(json.dumps({"turns": turns}))
        named.append(f"scripted:{file}")
    models = ", ".join(["nobody-has-this", *named])
    async with open_summary_chat(home, summary_turns("Not by me."), enter="automatic", models=models) as chat:
        assert (await chat.say()).status == "completed"
        call, [bad, good] = await ended(chat)
        assert (bad.status, bad.data.model) == ("failed", named[0])
        assert (good.status, good.data.model, good.text) == ("completed", named[1], SUMMARY)
        assert call.text.endswith(SUMMARY)


@pytest.mark.case("RES-14")
async def test_a_summary_shows_no_thinking(home: Path) -> None:
    steps = {"match": "# The result of", "steps": [{"thinking": "Hm, many harbours."}, {"text": SUMMARY}]}
    async with open_summary_chat(home, [steps, CALL, "Done."]) as chat:
        await chat.say()
        call, [summary] = await ended(chat)
        assert summary.text == SUMMARY
        assert await chat.items("thinking") == []
        assert "Hm," not in call.text


@pytest.mark.case("RES-04", "RES-15")
@pytest.mark.parametrize(
    ("step", "why"),
    [
        ({"fault": 401, "message": "no such key"}, "no such key"),
        ({"fault": "refusal"}, "the model declined"),
        ("  ", "the model wrote nothing"),
        ("berths and berths " * 400, "the model only repeated itself"),
        ([{"text": "There are"}, {"fault": "cut"}], "the other side closed the connection"),
    ],
)
async def test_without_a_summary_the_beginning_and_the_end_enter_and_it_says_why(
    home: Path, step: Any, why: str
) -> None:
    async with open_summary_chat(home, summary_turns(step)) as chat:
        assert (await chat.say()).status == "completed"
        call, [summary] = await ended(chat)
        assert summary.status == "failed"
        assert why in summary.data.why
        assert f"[There is no summary of it: {summary.data.why}." in call.text
        assert call.text.startswith(f"[Result r{call.position}: ")
        assert "\n0: a harbour" in call.text
        assert call.text.endswith(LARGE[-100:])
        assert call.status == "completed"


async def test_a_summary_enters_as_clean_as_a_result_does(home: Path) -> None:
    async with open_summary_chat(
        home, summary_turns("Twelve\x00 \x1b[31mberths\x1b[0m, \x1b]0;title\x07all taken.")
    ) as chat:
        assert (await chat.say()).status == "completed"
        call, [summary] = await ended(chat)
        assert summary.status == "completed"
        assert call.text.endswith("\n\nTwelve berths, all taken.")


async def test_only_orders_to_a_terminal_are_no_summary(home: Path) -> None:
    async with open_summary_chat(home, summary_turns("\x1b[31m\x1b[0m\x00")) as chat:
        assert (await chat.say()).status == "completed"
        call, [summary] = await ended(chat)
        assert (summary.status, summary.data.why) == ("failed", "the model wrote nothing")
        assert call.text.endswith(LARGE[-100:])


async def test_what_is_no_shorter_than_the_result_is_no_summary(home: Path) -> None:
    tool = look_tool("short words " * 60)
    async with open_summary_chat(home, summary_turns("w" * 1_000), tool, above=500, servers={"ports": 100}) as chat:
        assert (await chat.say()).status == "completed"
        call, [summary] = await ended(chat)
        assert summary.data.why == "what the model wrote is no shorter than the result"
        assert "short words" in call.text


@pytest.mark.case("RES-13")
@pytest.mark.parametrize("which", ["summary", "call"])
async def test_a_summary_has_its_own_stop_and_the_run_goes_on(home: Path, which: str) -> None:
    async with open_summary_chat(home, summary_turns(HELD)) as chat:
        sent = await chat.send()
        summary = await wait_for_summary(chat, "Ther")
        call = (await chat.items("tool_call"))[0].id
        await chat.api.runs.cancel_call(ME, summary if which == "summary" else call)
        assert (await chat.settled(sent.run_id)).status == "completed"
        call_item, [item] = await ended(chat)
        assert item.status == "cancelled"
        assert call_item.status == "completed"
        assert "[There is no summary of it: the person stopped it." in call_item.text
        assert (await chat.texts("response"))[-1] == "Done."


async def test_only_a_call_or_a_summary_is_stopped_by_itself(home: Path) -> None:
    async with open_summary_chat(home, summary_turns(SUMMARY)) as chat:
        await chat.say()
        message = (await chat.items("user_message"))[0].id
        with pytest.raises(PilothouseError, match="neither a tool call nor a summary"):
            await chat.api.runs.cancel_call(ME, message)


@pytest.mark.case("RES-04")
async def test_a_run_that_is_stopped_in_the_middle_of_a_summary_keeps_the_result(home: Path) -> None:
    async with open_summary_chat(home, summary_turns(HELD)) as chat:
        sent = await chat.send()
        await wait_for_summary(chat, "Ther")
        await chat.api.runs.cancel(ME, sent.run_id)
        assert (await chat.settled(sent.run_id)).status == "cancelled"
        call, [summary] = await ended(chat)
        assert (call.status, summary.status) == ("completed", "cancelled")
        assert call.text.startswith(f"[Result r{call.position}: ")
        assert (await chat.api.runs.result(ME, call.id)).parts[0].text == LARGE


@pytest.mark.case("RES-04")
async def test_a_restart_in_the_middle_of_a_summary_sums_up_again_and_calls_nothing_twice(home: Path) -> None:
    calls = home.parent / "calls"
    async with open_summary_chat(home, summary_turns(HELD), look_tool(calls=calls)) as chat:
        sent = await chat.send()
        await wait_for_summary(chat, "Ther")
        conversation, file = chat.id, chat.script
        chat.write(summary_turns(SUMMARY))
    async with open_host(home, role="server") as host:
        chat = Chat(host, conversation, file)
        assert (await chat.settled(sent.run_id)).status == "completed"
        call, summaries = await ended(chat)
        assert call.status == "completed"
        assert call.text.endswith(SUMMARY)
    assert calls.read_text() == "called\n"
    assert [summary.status for summary in summaries] == ["failed", "completed"]


@pytest.mark.case("RES-11", "RES-12")
@pytest.mark.parametrize(
    ("settings", "text", "enters_whole"),
    [
        ({"enter": "whole"}, "w" * 30_000, True),
        ({"enter": "whole"}, "w" * 33_000, False),
        ({"enter": "summary"}, "w" * 20_000, True),
        ({"enter": "summary", "above": 2_000}, "w" * 8_001, False),
        ({"enter": "summary", "servers": {"ports": 0}}, "w" * 30_000, True),
        ({"enter": "summary", "servers": {"ports": 1_000}}, "w" * 4_001, False),
        ({"enter": "excerpt"}, "w" * 20_001, False),
    ],
)
async def test_what_is_small_or_meant_to_goes_in_whole(
    home: Path, settings: dict[str, Any], text: str, enters_whole: bool
) -> None:
    async with open_summary_chat(home, summary_turns(SUMMARY), look_tool(text), **settings) as chat:
        assert (await chat.say()).status == "completed"
        call, summaries = await ended(chat)
        assert (call.text == text) is enters_whole
        assert bool(summaries) is (not enters_whole and settings["enter"] == "summary")


@pytest.mark.case("RES-03")
@pytest.mark.parametrize("enter", ["summary", "excerpt"])
async def test_what_is_kept_is_bounded_with_and_without_a_summary(
    home: Path, monkeypatch: pytest.MonkeyPatch, enter: str
) -> None:
    monkeypatch.setattr(limits, "RESULT_KEPT", 50_000)
    async with open_summary_chat(home, summary_turns(SUMMARY), enter=enter) as chat:
        await chat.say()
        call, summaries = await ended(chat)
        full = await chat.api.runs.result(ME, call.id)
        assert full.cut
        assert 50_000 <= len(full.parts[0].text) < 50_100
        assert bool(summaries) is (enter == "summary")


async def test_an_error_is_never_summed_up(home: Path) -> None:
    async with open_summary_chat(home, summary_turns(SUMMARY), look_tool(error="It broke.")) as chat:
        await chat.say()
        call, summaries = await ended(chat)
        assert (call.status, summaries) == ("failed", [])
        assert call.data.kept_as


@pytest.mark.case("RES-04", "RES-06")
async def test_what_a_summary_took_counts_as_the_runs(home: Path) -> None:
    step = {"match": "# The result of", "steps": [{"text": SUMMARY}, {"usage": {"input": 70_000, "output": 900}}]}
    async with open_summary_chat(home, [step, CALL, "Done."]) as chat:
        await chat.say()
        items: list[Item] = await chat.items()
        without = [item for item in items if item.kind != "tool_summary"]
        assert budget.spent(items).tokens - budget.spent(without).tokens == 70_900
        assert budget.spent(items).turns == budget.spent(without).turns


@pytest.mark.case("RES-06")
@pytest.mark.parametrize(
    ("config", "does"),
    [
        ({"provider": "anthropic-compatible", "context_window": 200_000}, True),
        ({"provider": "openai-compatible", "context_window": 32_000, "base_url": "https://api.example.com/v1"}, True),
        ({"provider": "openai-compatible", "context_window": 128_000, "base_url": "http://127.0.0.1:8080/v1"}, False),
        ({"provider": "openai-compatible", "context_window": 16_000, "base_url": "https://api.example.com/v1"}, False),
        ({"provider": "ollama", "context_window": 128_000}, False),
        ({"provider": "ollama", "context_window": 128_000, "base_url": "http://gpu.example.com:11434"}, True),
        ({"provider": "embedded", "context_window": 200_000}, False),
        ({"provider": "scripted", "context_window": 200_000}, False),
    ],
)
def test_capable_models_elsewhere_sum_up_without_any_setting(config: dict[str, Any], does: bool) -> None:
    assert sums_up(ModelConfig(name="m", **config)) is does


async def test_settings_beyond_their_bounds_are_refused(home: Path) -> None:
    async with open_summary_chat(home, summary_turns(SUMMARY)) as chat:
        for wrong in ({"above": 1}, {"longestSummary": 100_000}, {"enter": "never"}):
            with pytest.raises(PilothouseError):
                await chat.api.settings.update(ME, ConfigPatch(large_results=wrong))
