"""What each wire format sends, byte for byte, and the habits of servers that it copes with."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest

from pilothouse.models.factory import make_wire
from pilothouse.types.messages import (
    CallBlock,
    ImageBlock,
    Message,
    ModelRequest,
    NativeBlock,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
)
from pilothouse.types.models import Provider
from pilothouse.types.stream import CallEnd, CallStart, NativeDelta, Stopped, ThinkingDelta, Usage
from tests.models.asking import KEY, THINK, answer_of, calls_of, config_at, failure_of, model_at, of, said, text_of
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.wire_writers import WIRES, Call, Native, Say, Text, Thought, Wire

every_wire = pytest.mark.parametrize("wire", WIRES)
MARK = re.compile(rb',"cache_control":\{"type":"ephemeral"\}')
HELLO = Reply(Say((Text(["Hello."]),)))


def body(wire: Wire, request: ModelRequest, **fields: Any) -> Any:
    return json.loads(make_wire(config_at(wire, "http://127.0.0.1:1", **fields), KEY).body(request))


def changed(request: ModelRequest, **fields: Any) -> ModelRequest:
    return msgspec.structs.replace(request, **fields)


@every_wire
def test_a_tools_schema_goes_out_byte_for_byte(wire: Wire) -> None:
    sent = make_wire(config_at(wire, "http://127.0.0.1:1")).body(said("hi"))
    assert msgspec.json.encode(THINK.input_schema) in sent


@every_wire
def test_each_request_continues_the_bytes_of_the_one_before(wire: Wire) -> None:
    encoder = make_wire(config_at(wire, "http://127.0.0.1:1"))
    request = said("hi")
    before = b""
    for number in range(30):
        now = MARK.sub(b"", encoder.body(request))
        assert encoder.body(request) == encoder.body(request)
        start, end = before[: before.rfind(b"]")], before[before.rfind(b"]") :]
        assert end in (b"", b"]}")
        assert now.startswith(start)
        before = now
        call = CallBlock(
            id=f"call_{number}", name="think", arguments={"thought": f"{number}", "deep": {"b": 1, "a": 2}}
        )
        thought = ThinkingBlock(text="hm", opaque={"signature": "s"} if number % 2 else None)
        answer = Message("assistant", (thought, TextBlock(text=f"Round {number}."), call))
        result = Message("user", (ResultBlock(id=f"call_{number}", name="think", text="ok"),))
        request = changed(request, messages=(*request.messages, answer, result))


def test_no_more_cache_breakpoints_are_set_than_the_provider_takes() -> None:
    messages: list[Message] = []
    for _ in range(6):
        messages += [Message("user", (TextBlock(text="q"),)), Message("assistant", (TextBlock(text="a"),))]
    sent = make_wire(config_at("anthropic-compatible", "")).body(changed(said("hi"), messages=tuple(messages[:-1])))
    marked = json.loads(sent)
    assert len(MARK.findall(sent)) == 4
    assert "cache_control" in marked["tools"][-1]
    assert "cache_control" in marked["system"][0]
    assert [index for index, one in enumerate(marked["messages"]) if "cache_control" in one["content"][-1]] == [8, 10]


@pytest.mark.case("CHT-11")
@every_wire
def test_an_image_goes_out_as_this_wire_wants_it(wire: Wire) -> None:
    image = ImageBlock(media_type="image/png", data="iVBORw0KGgo=")
    sent = body(wire, ModelRequest(messages=(Message("user", (TextBlock(text="what?"), image)),)))
    url = "data:image/png;base64,iVBORw0KGgo="
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    expected: dict[Wire, object] = {
        "anthropic-compatible": {"type": "image", "source": source, "cache_control": {"type": "ephemeral"}},
        "openai-compatible": {"type": "image_url", "image_url": {"url": url}},
        "openai-responses": {"type": "input_image", "image_url": url, "detail": "auto"},
        "gemini": {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}},
    }
    match wire:
        case "ollama":
            assert sent["messages"] == [{"role": "user", "content": "what?", "images": ["iVBORw0KGgo="]}]
        case "gemini":
            assert sent["contents"][0]["parts"][1] == expected[wire]
        case "openai-responses":
            assert sent["input"][0]["content"][1] == expected[wire]
        case _:
            assert sent["messages"][-1]["content"][1] == expected[wire]


@every_wire
def test_an_answer_schema_goes_out_where_this_wire_enforces_it(wire: Wire) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    sent = body(wire, changed(said("hi"), answer_schema=schema))
    places: dict[Wire, Any] = {
        "anthropic-compatible": lambda: sent["output_config"]["format"]["schema"],
        "openai-compatible": lambda: sent["response_format"]["json_schema"]["schema"],
        "openai-responses": lambda: sent["text"]["format"]["schema"],
        "ollama": lambda: sent["format"],
        "gemini": lambda: sent["generationConfig"]["responseJsonSchema"],
    }
    assert places[wire]() == schema


@pytest.mark.case("MOD-23")
@every_wire
@pytest.mark.parametrize("on", [True, False])
def test_thinking_is_switched_where_this_wire_can_and_left_alone_otherwise(wire: Wire, on: bool) -> None:
    sent = body(wire, changed(said("hi"), thinking=on, temperature=0.5))
    places: dict[Wire, Any] = {
        "anthropic-compatible": lambda: sent["thinking"]["type"] == "enabled",
        "openai-compatible": lambda: sent["chat_template_kwargs"]["enable_thinking"],
        "openai-responses": lambda: sent["reasoning"]["effort"] != "none",
        "ollama": lambda: sent["think"],
        "gemini": lambda: sent["generationConfig"]["thinkingConfig"]["includeThoughts"],
    }
    assert places[wire]() is on
    left_alone = json.dumps(body(wire, said("hi"))).replace('"think"', "")
    assert not re.search(r'"(think\w*|reasoning|chat_template_kwargs)":', left_alone)


def test_thinking_leaves_room_for_the_answer_and_takes_no_temperature() -> None:
    sent = body("anthropic-compatible", changed(said("hi"), thinking=True, temperature=0.5, max_tokens=100))
    assert sent["max_tokens"] == sent["thinking"]["budget_tokens"] + 100
    assert "temperature" not in sent


@pytest.mark.parametrize(
    ("host", "field"),
    [
        ("https://api.deepseek.com", {"thinking": {"type": "enabled"}}),
        ("https://api.moonshot.ai/v1", {"thinking": {"type": "enabled"}}),
        ("https://api.z.ai/api/paas/v4", {"thinking": {"type": "enabled"}}),
        ("https://openrouter.ai/api/v1", {"reasoning": {"enabled": True}}),
        ("https://api.openai.com/v1", {"reasoning_effort": "medium"}),
        ("https://api.mistral.ai/v1", {"reasoning_effort": "medium"}),
        ("https://api.groq.com/openai/v1", {"reasoning_effort": "medium"}),
    ],
)
def test_thinking_is_switched_as_the_host_wants_it(host: str, field: dict[str, object]) -> None:
    sent = body("openai-compatible", changed(said("hi"), thinking=True), base_url=host)
    assert field.items() <= sent.items()


@pytest.mark.case("MOD-24")
def test_ollama_is_asked_for_the_configured_window() -> None:
    sent = body("ollama", changed(said("hi"), max_tokens=7), context_window=12_345)
    assert sent["options"] == {"num_ctx": 12_345, "num_predict": 7}


DEEPSEEK = "https://api.deepseek.com/anthropic"


@pytest.mark.parametrize(
    ("provider", "base", "url"),
    [
        ("anthropic-compatible", "", "https://api.anthropic.com/v1/messages"),
        ("anthropic-compatible", DEEPSEEK, f"{DEEPSEEK}/v1/messages"),
        ("anthropic-compatible", "http://h/v1/", "http://h/v1/messages"),
        ("openai-compatible", "", "https://api.openai.com/v1/chat/completions"),
        ("openai-compatible", "http://h:1234", "http://h:1234/v1/chat/completions"),
        ("openai-compatible", "http://h/api/v1", "http://h/api/v1/chat/completions"),
        ("openai-compatible", "http://h/v1/chat/completions", "http://h/v1/chat/completions"),
        ("openai-compatible", "http://h/openai?api-version=1", "http://h/openai/chat/completions?api-version=1"),
        ("openai-responses", "", "https://api.openai.com/v1/responses"),
        ("ollama", "", "http://127.0.0.1:11434/api/chat"),
        ("ollama", "http://h:11434/api", "http://h:11434/api/chat"),
        ("gemini", "", "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse"),
        ("gemini", "http://h/v1", "http://h/v1/models/m:streamGenerateContent?alt=sse"),
    ],
)
def test_a_base_url_in_any_usual_form_leads_to_the_right_address(provider: Provider, base: str, url: str) -> None:
    assert make_wire(config_at("ollama", base, provider=provider)).url == url


def test_a_models_name_cannot_lead_to_another_address() -> None:
    url = make_wire(config_at("gemini", "http://h", model="../../x?key=1#")).url
    assert url == "http://h/v1beta/models/..%2F..%2Fx%3Fkey%3D1%23:streamGenerateContent?alt=sse"


def test_a_compatible_endpoint_gets_the_key_in_both_headers_and_anthropic_in_its_own() -> None:
    both = make_wire(config_at("anthropic-compatible", "http://h"), KEY).headers
    assert (both["x-api-key"], both["authorization"]) == (KEY, f"Bearer {KEY}")
    assert "authorization" not in make_wire(config_at("anthropic-compatible", ""), KEY).headers


@every_wire
def test_no_key_means_no_key_header(wire: Wire) -> None:
    headers = make_wire(config_at(wire, "http://h")).headers
    assert not {"authorization", "x-api-key", "x-goog-api-key"} & headers.keys()


@every_wire
def test_extra_fields_and_headers_of_a_model_are_sent_and_null_takes_one_out(wire: Wire) -> None:
    encoder = make_wire(config_at(wire, "http://h", headers={"x-team": "blue"}, extra={"top_k": 5, "stream": None}))
    sent = json.loads(encoder.body(said("hi")))
    assert encoder.headers["x-team"] == "blue"
    assert sent["top_k"] == 5
    assert "stream" not in sent


@pytest.mark.parametrize("wire", ["anthropic-compatible", "openai-responses", "gemini"])
async def test_what_a_provider_signed_goes_back_verbatim_and_to_no_other(wire: Wire, endpoint: Endpoint) -> None:
    call = Call("call_a", "think", '{"thought": "x"}')
    endpoint.answer(Reply(Say((Thought(["Let me"]), Thought([], redacted=True, proof="blob"), call), stop="tool")))
    events = await answer_of(model_at(wire, endpoint.url), said("hi"))
    end = of(CallEnd, events)[0]
    thoughts = [
        ThinkingBlock(text="Let me", opaque=event.opaque) for event in of(ThinkingDelta, events) if event.opaque
    ]
    called = CallBlock(id=end.id, name=end.name, arguments=end.arguments or {}, opaque=end.opaque)
    answer = Message("assistant", (*thoughts, called))
    result = Message("user", (ResultBlock(id=end.id, name="think", text="ok"),))
    again = said("hi", answer, result)
    proofs = {
        "anthropic-compatible": ("c2lnbmF0dXJl", "blob"),
        "openai-responses": ("c2lnbmF0dXJl",),
        "gemini": ("c2ln",),
    }
    for other in WIRES:
        sent = json.dumps(body(other, again))
        for proof in proofs[wire]:
            assert (f'"{proof}"' in sent) is (other == wire)


def test_redacted_and_signed_thinking_are_replayed_as_the_blocks_they_were() -> None:
    thoughts = (
        ThinkingBlock(text="hm, and more that was joined to it", opaque={"thinking": "hm", "signature": "s"}),
        ThinkingBlock(text="", opaque={"redacted": "r"}),
        ThinkingBlock(text="unsigned"),
    )
    sent = body("anthropic-compatible", said("hi", Message("assistant", (*thoughts, TextBlock(text="a")))))
    assert sent["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "r"},
        {"type": "text", "text": "a"},
    ]


async def test_signed_words_come_back_as_they_were_signed_whatever_is_shown(endpoint: Endpoint) -> None:
    endpoint.answer(Reply(Say((Thought(["Let ", "me"]), Text(["a"])))))
    events = await answer_of(model_at("anthropic-compatible", endpoint.url), said("hi"))
    opaque = next(event.opaque for event in of(ThinkingDelta, events) if event.opaque)
    masked = ThinkingBlock(text="Let •••", opaque=opaque)
    sent = body("anthropic-compatible", said("hi", Message("assistant", (masked, TextBlock(text="a")))))
    assert sent["messages"][1]["content"][0]["thinking"] == "Let me"


@pytest.mark.parametrize(
    ("wire", "block"),
    [
        ("anthropic-compatible", {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"x": 1}]}),
        ("openai-responses", {"type": "web_search_call", "id": "ws_1", "status": "completed"}),
        ("gemini", {"executableCode": {"language": "PYTHON", "code": "1"}}),
    ],
)
async def test_a_block_of_the_providers_own_kind_is_kept_and_replayed_verbatim(
    wire: Wire, block: dict[str, object], endpoint: Endpoint
) -> None:
    endpoint.answer(Reply(Say((Native(block), Text(["ok"])))))
    events = await answer_of(model_at(wire, endpoint.url), said("hi"))
    kept = NativeBlock(raw=of(NativeDelta, events)[0].raw)
    for other in WIRES:
        sent = json.dumps(body(other, said("hi", Message("assistant", (kept, TextBlock(text="ok"))))))
        assert (json.dumps(block) in sent) is (other == wire)


async def test_thinking_goes_back_to_a_compatible_server_with_the_call_it_led_to(endpoint: Endpoint) -> None:
    call = Call("call_a", "think", '{"thought": "x"}')
    for field in ("reasoning_content", "reasoning"):
        endpoint.answer(Reply(Say((Thought(["Let ", "me"]), call), stop="tool", reasoning_field=field)))
        events = await answer_of(model_at("openai-compatible", endpoint.url), said("hi"))
        opaque = next(event.opaque for event in of(ThinkingDelta, events) if event.opaque)
        thought = ThinkingBlock(text="Let me", opaque=opaque)
        called = CallBlock(id="call_a", name="think", arguments={"thought": "x"})
        sent = body("openai-compatible", said("hi", Message("assistant", (thought, called))))
        assert sent["messages"][2][field] == "Let me"
        finished = body("openai-compatible", said("hi", Message("assistant", (thought, TextBlock(text="a")))))
        assert field not in finished["messages"][2]


async def test_parallel_calls_that_are_all_numbered_zero_stay_apart(endpoint: Endpoint) -> None:
    calls = (Call("call_a", "think", '{"thought": "a"}'), Call("call_b", "think", '{"thought": "b"}'))
    endpoint.answer(Reply(Say(calls, stop="tool", all_index_zero=True, plain_finish=True)))
    events = await answer_of(model_at("openai-compatible", endpoint.url), said("hi"))
    assert calls_of(events) == [("think", {"thought": "a"}), ("think", {"thought": "b"})]
    assert [start.id for start in of(CallStart, events)] == ["call_a", "call_b"]
    assert of(Stopped, events)[0] == Stopped("tool", "stop")


@pytest.mark.parametrize("raw", ['{"thought": ', "[1]", "not json"])
async def test_arguments_that_are_no_object_are_kept_as_text(raw: str, endpoint: Endpoint) -> None:
    endpoint.answer(Reply(Say((Call("call_a", "think", raw),), stop="tool")))
    for wire in ("anthropic-compatible", "openai-compatible", "openai-responses"):
        end = of(CallEnd, await answer_of(model_at(wire, endpoint.url), said("hi")))[0]
        assert (end.arguments, end.raw) == (None, raw)


@pytest.mark.parametrize(
    ("wire", "refusal", "gone"),
    [
        (
            "openai-compatible",
            "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
            '"max_tokens"',
        ),
        ("openai-compatible", "Unrecognized request argument supplied: stream_options", '"stream_options"'),
        ("openai-compatible", "unknown field chat_template_kwargs", '"chat_template_kwargs"'),
        (
            "anthropic-compatible",
            "tools.0.eager_input_streaming: Extra inputs are not permitted",
            '"eager_input_streaming"',
        ),
        ("anthropic-compatible", "thinking.type: this model wants adaptive thinking", '"budget_tokens"'),
        ("openai-responses", "Encrypted content is not supported with this model.", '"include"'),
        ("openai-responses", "Your organization must be verified to generate reasoning summaries", '"summary"'),
        ("ollama", '"m" does not support thinking', '"think":'),
    ],
)
async def test_what_a_server_refuses_to_get_is_left_out_from_then_on(
    wire: Wire, refusal: str, gone: str, endpoint: Endpoint
) -> None:
    error = json.dumps({"error": {"message": refusal}}).encode()
    endpoint.answer(Reply(status=400, body=error), HELLO)
    model = model_at(wire, endpoint.url)
    request = changed(said("hi"), max_tokens=9, thinking=True)
    for _ in range(2):
        assert text_of(await answer_of(model, request)) == "Hello."
    before, *after = (request.body.decode() for request in endpoint.requests)
    assert gone in before
    assert len(after) == 2
    assert not any(gone in sent for sent in after)


async def test_a_refusal_that_goes_on_is_shown(endpoint: Endpoint) -> None:
    endpoint.answer(Reply(status=400, body=json.dumps({"error": {"message": "max_tokens is a bad idea"}}).encode()))
    request = changed(said("hi"), max_tokens=9)
    failed = failure_of(await answer_of(model_at("openai-compatible", endpoint.url), request))
    assert "max_tokens is a bad idea" in failed.message


@every_wire
async def test_cached_tokens_are_counted_within_the_input(wire: Wire, endpoint: Endpoint) -> None:
    endpoint.answer(HELLO)
    usage = of(Usage, await answer_of(model_at(wire, endpoint.url), said("hi")))[-1]
    assert (usage.input, usage.output, usage.estimated) == (1025, 15, False)
    assert usage.cache_read == (0 if wire == "ollama" else 900)


async def test_ids_with_letters_that_anthropic_refuses_are_changed_alike_in_call_and_result() -> None:
    call = CallBlock(id="functions.think:0", name="think", arguments={})
    result = Message("user", (ResultBlock(id="functions.think:0", name="think", text="ok", is_error=True),))
    sent = body("anthropic-compatible", said("hi", Message("assistant", (call,)), result))["messages"]
    assert sent[1]["content"][0]["id"] == sent[2]["content"][0]["tool_use_id"] == "functions_think_0"
    assert sent[2]["content"][0]["is_error"] is True


@pytest.mark.parametrize(("model", "budget"), [("gemini-2.5-flash-lite", -1), ("gemini-3-pro", None)])
def test_an_earlier_gemini_is_given_something_to_think_with(model: str, budget: int | None) -> None:
    sent = body("gemini", changed(said("hi"), thinking=True), model=model)
    assert sent["generationConfig"]["thinkingConfig"].get("thinkingBudget") == budget
