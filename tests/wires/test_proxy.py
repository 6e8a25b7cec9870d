"""litellm's proxy between the product and the providers: three formats in, four out, and nothing lost on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pilothouse.models.listing import offered
from pilothouse.net.loop_clients import close_clients
from pilothouse.types.models import ModelConfig
from tests.wires.driving import KEY, converse
from tests.wires.endpoint import Provider
from tests.wires.proxy import proxying
from tests.wires.replies import Answer, Json, Wire
from tests.wires.scenario import PICTURE, THOUGHT, WRITTEN_THOUGHT, Fails, Outcome, Scenario
from tests.wires.streams import anthropic, chat, gemini, responses

UPSTREAM: Mapping[Wire, str] = {
    "anthropic": "anthropic/claude-sonnet-4-5",
    "chat": "openai/gpt-4o",
    "responses": "openai/gpt-5",
    "gemini": "gemini/gemini-3-pro-preview",
}


@dataclass(frozen=True)
class Case:
    """A scenario whose provider stands behind the proxy, and what the provider must have been asked in the end."""

    scenario: Scenario
    # What the proxy speaks to the provider; without one it makes the answer up itself.
    upstream: Wire | None
    got: Callable[[list[Json]], object]


def case(
    name: str,
    way: tuple[Wire, Wire | None],
    answers: tuple[Answer, ...],
    *gives: str | Fails,
    got: Callable[[list[Json]], object] = bool,
    **more: Any,
) -> Case:
    """Return a case: what the product speaks to the proxy, and what the proxy speaks to the provider."""
    wire, upstream = way
    model = {"model": name, **more.pop("model", {})}
    return Case(Scenario(name, wire, answers, gives, model=model, **more), upstream, got)


def _nothing(asked: list[Json]) -> bool:
    return not asked


def _said(request: Json, role: str) -> list[Json]:
    return [message for message in request["messages"] if message["role"] == role]


def _blocks(request: Json, role: str, kind: str) -> list[Json]:
    content = (message["content"] for message in _said(request, role) if isinstance(message["content"], list))
    return [block for blocks in content for block in blocks if block["type"] == kind]


def _thinking_came_back(asked: list[Json]) -> bool:
    """The thinking stands with its proof before the call, and the result after it."""
    thoughts = _blocks(asked[1], "assistant", "thinking")
    used, results = _blocks(asked[1], "assistant", "tool_use"), _blocks(asked[1], "user", "tool_result")
    proven = [(block["thinking"], block["signature"]) for block in thoughts] == [("Hmm.", "proof")]
    return proven and [block["tool_use_id"] for block in results] == [block["id"] for block in used] != []


def _signature_came_back(asked: list[Json]) -> bool:
    parts = [part for content in asked[1]["contents"] for part in content["parts"]]
    # The proxy writes names in the other of the two ways that the provider takes.
    signed = [part.get("thoughtSignature") for part in parts if "function_call" in part]
    return signed == [gemini.SIGNATURE] and sum("function_response" in part for part in parts) == 1


def _reasoning_came_back(asked: list[Json]) -> bool:
    kinds = [item.get("type", "message") for item in asked[1]["input"]]
    sealed = [item.get("encrypted_content") for item in asked[1]["input"] if item.get("type") == "reasoning"]
    return kinds[-3:] == ["reasoning", "function_call", "function_call_output"] and sealed == ["sealed rs_1"]


def _result_came_back(asked: list[Json]) -> bool:
    return len(_said(asked[1], "tool")) == 1


def _used_came_back(asked: list[Json]) -> bool:
    return len(_blocks(asked[1], "user", "tool_result")) == 1


def _picture_arrived(asked: list[Json]) -> bool:
    return PICTURE in str(asked[0])


MADE_UP = "Made up by the proxy."
THINKS = (
    anthropic.answer(anthropic.thought("Hmm.", "proof"), anthropic.call("toolu_1", THOUGHT), stop="tool_use"),
    anthropic.answer(anthropic.text("Done.")),
)
SIGNS = (gemini.answer([gemini.call(THOUGHT, "", gemini.SIGNATURE)]), gemini.answer([gemini.text("Done.")]))
REASONS = (
    responses.answer(responses.reasoning("rs_1", "Hmm."), responses.call("call_1", THOUGHT)),
    responses.answer(responses.message("msg_1", "Done.")),
)
SPEAKS = (
    chat.answer(chat.text("Looking."), chat.calls(chat.call(0, "call_1", WRITTEN_THOUGHT)), stop="tool_calls"),
    chat.answer(chat.text("Done.")),
)
LONG = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
FIRST, AGAIN = chat.answer(chat.text("First.")), chat.answer(chat.text("Again."))

CASES = {
    one.scenario.name: one
    for one in (
        case("made-up-over-chat", ("chat", None), (), MADE_UP, got=_nothing),
        case("made-up-over-messages", ("anthropic", None), (), MADE_UP, got=_nothing),
        case("chat-to-anthropic", ("chat", "anthropic"), THINKS, "Done.", got=_thinking_came_back, thinking=True),
        case("messages-to-anthropic", ("anthropic",) * 2, THINKS, "Done.", got=_thinking_came_back, thinking=True),
        case("responses-to-anthropic", ("responses", "anthropic"), THINKS, "Done.", got=_used_came_back),
        case("chat-to-gemini", ("chat", "gemini"), SIGNS, "Done.", got=_signature_came_back),
        case("responses-to-responses", ("responses",) * 2, REASONS, "Done.", got=_reasoning_came_back, thinking=True),
        case("chat-to-chat", ("chat", "chat"), SPEAKS, "Looking.\n\nDone.", got=_result_came_back),
        case("messages-to-chat", ("anthropic", "chat"), SPEAKS, "Looking.\n\nDone.", got=_result_came_back),
        case("a-picture-over-chat", ("chat", "chat"), (AGAIN,), "Again.", got=_picture_arrived, picture=True),
        case(
            "a-picture-over-messages",
            ("anthropic", "anthropic"),
            (anthropic.answer(anthropic.text("Again.")),),
            "Again.",
            got=_picture_arrived,
            picture=True,
        ),
        case(
            "a-picture-over-responses",
            ("responses", "responses"),
            (responses.answer(responses.message("msg_1", "Again.")),),
            "Again.",
            got=_picture_arrived,
            picture=True,
        ),
        case(
            "a-limit-that-passes",
            ("chat", "chat"),
            (chat.refusal(429, "Slow down", retry_after="0"), AGAIN),
            "Again.",
        ),
        case(
            "a-conversation-that-is-too-long",
            ("chat", "chat"),
            (FIRST, chat.refusal(400, LONG, "context_length_exceeded", "messages"), AGAIN, AGAIN),
            "First.",
            "Again.",
        ),
        case(
            "a-key-that-the-provider-refuses",
            ("chat", "chat"),
            (chat.refusal(401, "Incorrect API key.", "invalid_api_key"),),
            Fails("bad_key"),
        ),
        case(
            "a-key-that-the-proxy-refuses",
            ("chat", None),
            (),
            # As it says it where it keeps no keys of its own.
            Fails("model_refused", "No connected db"),
            got=_nothing,
            model={"apiKeySource": "sk-another-0123456789"},
        ),
        case(
            "a-model-that-the-proxy-does-not-have",
            ("chat", None),
            (),
            Fails("model_refused", "nobody"),
            got=_nothing,
            model={"model": "nobody"},
        ),
    )
}


async def _behind_the_proxy(home: Path) -> tuple[dict[str, Outcome], tuple[str, ...]]:
    """Hold all conversations through one proxy, and ask it what it offers."""
    scenarios = [one.scenario for one in CASES.values()]
    async with Provider({one.name: one.answers for one in scenarios}) as provider:
        models = {name: _behind(one, provider.url_of(name)) for name, one in CASES.items()}
        async with proxying(models, home.parent) as url:
            listed = await offered(ModelConfig(name="p", provider="openai-compatible", base_url=f"{url}/v1"), KEY)
            await close_clients()
            return await converse(scenarios, home, provider, lambda _: f"{url}/v1"), listed


def _behind(one: Case, url: str) -> dict[str, object]:
    if one.upstream is None:
        return {"model": "openai/gpt-4o", "api_key": "unused", "mock_response": MADE_UP}
    # Asked for messages, it would speak responses to OpenAI.
    model = "hosted_vllm/m" if one.scenario.wire == "anthropic" != one.upstream else UPSTREAM[one.upstream]
    return {"model": model, "api_base": url, "api_key": "behind-the-proxy"}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Outcome], tuple[str, ...]]:
    """What came of all conversations, and what the proxy offers."""
    return asyncio.run(_behind_the_proxy(tmp_path_factory.mktemp("proxy") / "home"))


Played = tuple[dict[str, Outcome], tuple[str, ...]]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", CASES)
def test_a_conversation_through_a_proxy_loses_nothing(name: str, played: Played) -> None:
    one, outcome = CASES[name], played[0][name]
    for given, wanted in zip(outcome.turns, one.scenario.gives, strict=True):
        if isinstance(wanted, Fails):
            assert isinstance(given, Fails)
            assert given.code == wanted.code, given.words
            assert wanted.words in given.words
        else:
            assert given == wanted
    assert one.got(outcome.bodies), outcome.bodies
    assert all(item.status == "completed" for item in outcome.of("tool_call"))


@pytest.mark.timeout(240)
def test_a_proxy_is_asked_which_models_it_offers(played: Played) -> None:
    assert set(played[1]) == set(CASES)
