"""Providers' own tools: on, off, or as the provider has them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from pilothouse.models.factory import make_model, make_wire
from pilothouse.types.messages import ModelRequest
from pilothouse.types.models import ModelConfig
from pilothouse.types.selection import NativeTools
from tests.models.asking import KEY, answer_of, config_at, failure_of, model_at, said, text_of
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.wire_writers import WIRES, Say, Text, Wire

ALL_ON = NativeTools(web_search=True, code_execution=True, url_context=True)
FORMS: dict[Wire, list[dict[str, Any]]] = {
    "anthropic-compatible": [
        {"type": "web_search_20250305", "name": "web_search"},
        {"type": "code_execution_20250825", "name": "code_execution"},
        {"type": "web_fetch_20250910", "name": "web_fetch"},
    ],
    "openai-responses": [
        {"type": "web_search"},
        {"type": "code_interpreter", "container": {"type": "auto"}},
        {"type": "image_generation"},
    ],
    "gemini": [{"googleSearch": {}}, {"codeExecution": {}}, {"urlContext": {}}],
}


def with_tools(tools: NativeTools, *, own: bool = True) -> ModelRequest:
    asked = msgspec.structs.replace(said("hi"), native_tools=tools)
    return asked if own else msgspec.structs.replace(asked, tools=())


def body(wire: Wire, request: ModelRequest, url: str = "http://127.0.0.1:1", **fields: Any) -> Any:
    return json.loads(make_wire(config_at(wire, url, **fields), KEY).body(request))


@pytest.mark.case("NAT-01", "NAT-03")
@pytest.mark.parametrize("wire", list(FORMS))
def test_tools_that_are_on_are_declared_as_the_provider_wants_them(wire: Wire) -> None:
    drawing = NativeTools(**{**msgspec.structs.asdict(ALL_ON), "image_generation": wire == "openai-responses"})
    sent = body(wire, with_tools(drawing))["tools"]
    assert sent[: len(FORMS[wire])] == FORMS[wire]
    assert len(sent) == len(FORMS[wire]) + 1
    alone = body(wire, with_tools(NativeTools(web_search=True), own=False))["tools"]
    assert [{key: value for key, value in tool.items() if key != "cache_control"} for tool in alone] == FORMS[wire][:1]


@pytest.mark.case("NAT-01")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("tools", [NativeTools(), NativeTools(web_search=False, code_execution=False)])
def test_tools_that_are_off_or_unset_are_not_sent(wire: Wire, tools: NativeTools) -> None:
    assert body(wire, with_tools(tools)) == body(wire, said("hi"))


@pytest.mark.case("NAT-03")
@pytest.mark.parametrize("wire", list(FORMS))
def test_a_requests_wish_lies_over_the_models_own_setting(wire: Wire) -> None:
    own = NativeTools(web_search=True)
    assert FORMS[wire][0] in body(wire, said("hi"), native_tools=own)["tools"]
    off = body(wire, with_tools(NativeTools(web_search=False)), native_tools=own)["tools"]
    assert FORMS[wire][0] not in off
    both = body(wire, with_tools(NativeTools(code_execution=True)), native_tools=own)["tools"]
    assert FORMS[wire][0] in both
    assert FORMS[wire][1] in both


def test_hosts_of_chat_completions_take_a_field_each_their_own() -> None:
    search = with_tools(NativeTools(web_search=True))
    assert body("openai-compatible", search, "https://openrouter.ai/api/v1")["plugins"] == [{"id": "web"}]
    assert body("openai-compatible", search, "https://api.openai.com/v1")["web_search_options"] == {}


def test_pictures_are_asked_for_as_each_provider_wants_it() -> None:
    drawing = with_tools(NativeTools(image_generation=True))
    assert body("openai-compatible", drawing, "https://openrouter.ai/api/v1")["modalities"] == ["image", "text"]
    gemini = body("gemini", drawing, model="gemini-2.5-flash-image")
    assert gemini["generationConfig"]["responseModalities"] == ["TEXT", "IMAGE"]
    # That is no tool, and no flag is needed for it.
    assert "toolConfig" not in gemini
    assert [next(iter(tool)) for tool in gemini["tools"]] == ["functionDeclarations"]


@pytest.mark.parametrize("wire", ["openai-compatible", "ollama"])
async def test_a_tool_that_the_provider_does_not_have_is_told_in_one_sentence(wire: Wire, endpoint: Endpoint) -> None:
    failure = failure_of(await answer_of(model_at(wire, endpoint.url), with_tools(NativeTools(web_search=True))))
    assert failure.code == "model_refused"
    assert failure.message == (
        "This model's provider has no web search of its own. Switch it off for this conversation, or use another model."
    )
    assert not failure.retryable
    assert endpoint.requests == []


async def test_off_is_fine_where_there_is_nothing_to_switch_off(endpoint: Endpoint) -> None:
    endpoint.answer(Reply(Say((Text(["Hello."]),))))
    off = NativeTools(web_search=False, code_execution=False, url_context=False)
    assert text_of(await answer_of(model_at("ollama", endpoint.url), with_tools(off))) == "Hello."


async def test_a_refusal_of_the_provider_is_shown_in_its_words(endpoint: Endpoint) -> None:
    endpoint.answer(Reply(status=400, body=b'{"error": {"message": "web_search is not enabled for this account"}}'))
    model = model_at("anthropic-compatible", endpoint.url)
    failure = failure_of(await answer_of(model, with_tools(NativeTools(web_search=True))))
    assert "web_search is not enabled for this account" in failure.message


async def test_the_embedded_model_has_none() -> None:
    model = make_model(ModelConfig(name="e", provider="embedded"))
    failure = failure_of(await answer_of(model, with_tools(NativeTools(url_context=True))))
    assert "no reading of web pages of its own" in failure.message
