"""Tools on demand in the form that OpenAI has for them, judged by its own SDK; and in ours where a model has none."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types.api import ConversationPatch, ModelInput
from tests.behaviour.test_tools_on_demand import ECHO, SECRET_WORDS, add_server, calls, fillers
from tests.support.chats import ME, Chat, open_chat
from tests.wires.endpoint import Asked, Provider
from tests.wires.judging import Judge
from tests.wires.replays import not_continued
from tests.wires.replies import Answer, Json, Reply
from tests.wires.rules import broken_rules
from tests.wires.streams import anthropic
from tests.wires.streams.responses import answer, call, message, reasoning, refusal, tool_search

SEARCH = {"query": "give back words"}
FOUND = {
    "type": "function",
    "name": "office__echo",
    "description": SECRET_WORDS,
    "parameters": ECHO["inputSchema"],
    "strict": False,
    "defer_loading": True,
}


async def use(chat: Chat, provider: Provider, name: str, wire: str, **more: Any) -> None:
    given: dict[str, Any] = {"model": "m", "context_window": 100_000, "api_key": "sk-test", **more}
    await chat.use(ModelInput(name=name, id=name, provider=wire, base_url=provider.url_of(name), **given))
    await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))


def judged(judge: Judge, asked: Sequence[Asked]) -> list[str]:
    """Return what is wrong with a conversation: its requests, its answers, and how they follow each other."""
    wire = asked[0].wire
    wrong = [*judge.requests(wire, [one.body for one in asked]), *judge.replies([one.reply for one in asked])]
    wrong += [each for one in asked for each in broken_rules(one.wire, one.headers, one.body)]
    for one, after in itertools.pairwise(asked):
        if not one.reply.broken:
            wrong += not_continued(wire, one.body, one.reply, after.body)
            wrong += [f"{name} changed" for name in ("tools", "instructions") if one.body[name] != after.body[name]]
    return wrong


def of_kind(body: Json, kind: str) -> list[Json]:
    return [item for item in body["input"] if item.get("type") == kind]


@asynccontextmanager
async def two_answers(home: Path, folder: Path, answers: list[Answer]) -> AsyncIterator[tuple[Chat, Provider]]:
    """A chat with an office's many tools, after OpenAI answered two messages in it."""
    async with Provider({"openai": answers}) as provider, open_chat(home) as chat:
        await add_server(chat, folder, "Office", [ECHO, *fillers(60)])
        await use(chat, provider, "openai", "openai")
        for words in ("One", "Two"):
            assert (await chat.say(words, allow=("office.*",))).status == "completed"
        yield chat, provider


@pytest.mark.case("NAM-03")
async def test_what_openai_finds_joins_in_its_own_form_and_is_called_like_any_tool(
    home: Path, tmp_path: Path, judge: Judge
) -> None:
    answers: list[Answer] = [
        answer(reasoning("rs_1"), tool_search("call_s", SEARCH)),
        answer(call("call_1", {"text": "directly"}, name="office__echo")),
        answer(call("call_2", {"name": "office__echo", "arguments": {"text": "by name"}}, name="call_tool")),
        answer(message("msg_1", "Done.")),
        answer(tool_search("call_t", {"query": "quetzalcoatl"})),
        answer(message("msg_2", "Nothing.")),
    ]
    async with two_answers(home, tmp_path, answers) as (chat, provider):
        asked = provider.asked("openai")
        assert judged(judge, asked) == []
        kinds = [tool["type"] for tool in asked[0].body["tools"]]
        assert kinds.count("tool_search") == 1
        [output] = of_kind(asked[1].body, "tool_search_output")
        assert output["tools"] == [FOUND]
        assert [each["tools"] for each in of_kind(asked[-1].body, "tool_search_output")] == [[FOUND], []]
        looked, direct, named, nothing = await calls(chat)
        assert (looked.raw["tool"], looked.raw["found"][0]["name"]) == ("search_tools", "office.echo")
        assert [(item.raw["tool"], item.text) for item in (direct, named)] == [
            ("office__echo", "directly"),
            ("office__echo", "by name"),
        ]
        assert nothing.text.startswith("No tool has any of these words.")


def _too_old(request: Json) -> Reply:
    if any(tool["type"] == "tool_search" for tool in request["tools"]):
        return refusal(400, "Tool 'tool_search' is not supported with m.", None, "tools")
    return answer(call("call_s", SEARCH, name="search_tools"))


async def test_a_model_of_before_that_form_searches_with_a_function_and_that_is_remembered(
    home: Path, tmp_path: Path, judge: Judge
) -> None:
    answers: list[Answer] = [
        _too_old,
        _too_old,
        answer(call("call_1", {"name": "office__echo", "arguments": {"text": "by name"}}, name="call_tool")),
        answer(message("msg_1", "Done.")),
        answer(message("msg_2", "Again.")),
    ]
    async with two_answers(home, tmp_path, answers) as (chat, provider):
        refused, *asked = provider.asked("openai")
        assert refused.reply.status == 400
        assert len(asked) == 4
        assert judged(judge, asked) == []
        assert not any(of_kind(one.body, "tool_search_output") for one in asked)
        assert [item.status for item in await calls(chat)] == ["completed", "completed"]


async def test_others_who_speak_the_format_are_not_asked_for_it(home: Path, tmp_path: Path) -> None:
    async with Provider({"vllm": [answer(message("msg_1", "Hi."))]}) as provider, open_chat(home) as chat:
        await add_server(chat, tmp_path, "Office", [ECHO, *fillers(60)])
        await use(chat, provider, "vllm", "openai-responses")
        assert (await chat.say()).status == "completed"
        tools = provider.asked("vllm")[0].body["tools"]
        assert {tool["type"] for tool in tools} == {"function"}
        assert {"search_tools", "call_tool"} <= {tool["name"] for tool in tools}


async def test_a_conversation_goes_from_a_model_with_that_form_to_one_without_and_back(
    home: Path, tmp_path: Path, judge: Judge
) -> None:
    first: list[Answer] = [
        answer(tool_search("call_s", SEARCH)),
        answer(call("call_1", {"text": "one"}, name="office__echo")),
        answer(message("msg_1", "Done.")),
        answer(call("call_3", {"text": "three"}, name="office__echo")),
        answer(message("msg_2", "Back.")),
    ]
    second: list[Answer] = [
        anthropic.answer(
            anthropic.call("call_2", {"name": "office__echo", "arguments": {"text": "two"}}, name="call_tool"),
            stop="tool_use",
        ),
        anthropic.answer(anthropic.text("Fine.")),
    ]
    async with Provider({"openai": first, "claude": second}) as provider, open_chat(home) as chat:
        await add_server(chat, tmp_path, "Office", [ECHO, *fillers(60)])
        await use(chat, provider, "openai", "openai")
        assert (await chat.say("One", allow=("office.*",))).status == "completed"
        await use(chat, provider, "claude", "anthropic-compatible")
        assert (await chat.say("Two", allow=("office.*",))).status == "completed"
        assert (await chat.say("Three", allow=("office.*",), model_id="openai")).status == "completed"
        assert [item.text for item in await calls(chat) if item.raw["tool"] == "office__echo"] == [
            "one",
            "two",
            "three",
        ]
        for name in ("openai", "claude"):
            asked = provider.asked(name)
            wrong = judge.requests(asked[0].wire, [one.body for one in asked])
            wrong += [each for one in asked for each in broken_rules(one.wire, one.headers, one.body)]
            assert wrong == []
        # What was found as tools is words to the other one, and tools again to the first.
        [told] = [
            part
            for one in provider.asked("claude")[0].body["messages"]
            for part in one["content"]
            if part["type"] == "tool_result" and SECRET_WORDS in str(part["content"])
        ]
        assert told["tool_use_id"] == "call_s"
        assert of_kind(provider.asked("openai")[-1].body, "tool_search_output")[0]["tools"] == [FOUND]
