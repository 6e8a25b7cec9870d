"""What providers refuse to get, in the words and shapes that they use: read, left out, and asked again."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from pilothouse.models.factory import make_wire
from pilothouse.models.learned_limits import Lesson
from pilothouse.models.refusals import read_refusal
from pilothouse.types.messages import Message, ModelRequest, TextBlock
from pilothouse.types.stream import Notice
from tests.models.asking import THINK, answer_of, config_at, failure_of, model_at, of, said, text_of
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.wire_writers import Say, Text, Wire

HELLO = Reply(Say((Text(["Hello."]),)))
OPENAI = "https://api.openai.com/v1"


def openai(message: str, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def anthropic(message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": message}, "request_id": "req_1"}


def gemini(message: str, field: str = "") -> dict[str, Any]:
    violation = {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"field": field}]}
    details = [violation] if field else []
    return {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT", "details": details}}


def fastapi(*fields: str, kind: str = "extra_forbidden", msg: str = "Extra inputs are not permitted") -> dict[str, Any]:
    return {"detail": [{"type": kind, "loc": ["body", *name.split(".")], "msg": msg, "input": {}} for name in fields]}


def request(**fields: Any) -> ModelRequest:
    given = {"temperature": 0.3, "max_tokens": 9000, "thinking": True} | fields
    return ModelRequest(
        messages=(Message("user", (TextBlock(text="hi"),)),), system="Be brief.", tools=(THINK,), **given
    )


def lessons(wire: Wire, body: object, base: str = "http://127.0.0.1:9", **fields: Any) -> list[Lesson]:
    """Return what is learned from an error body in answer to a request."""
    made = make_wire(config_at(wire, base))
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return read_refusal(data).lessons(made.spares, made.body(request(**fields)))


# The wire, what its provider said, and what is learned: the field, and how it may be used.
EFFORT = ("minimal", "low", "medium", "high")
TABLE: list[tuple[Wire, object, Lesson]] = [
    # A whole field, named in a place of its own.
    ("openai-compatible", openai("Unknown parameter: 'stream_options'.", "stream_options"), Lesson("stream_options")),
    ("openai-compatible", fastapi("stream_options.include_usage"), Lesson("stream_options")),
    ("openai-compatible", fastapi("chat_template_kwargs"), Lesson("chat_template_kwargs")),
    (
        "openai-compatible",
        {"object": "error", "message": fastapi("stream_options.include_usage"), "type": "invalid_request_error"},
        Lesson("stream_options"),
    ),
    (
        "openai-compatible",
        openai("Unsupported value", "temperature", "unsupported_value"),
        Lesson("temperature"),
    ),
    # In its words.
    ("openai-compatible", openai("Unrecognized request argument supplied: stream_options"), Lesson("stream_options")),
    (
        "openai-compatible",
        {"error": {"message": "property 'chat_template_kwargs' is unsupported"}},
        Lesson("chat_template_kwargs"),
    ),
    (
        "openai-compatible",
        {"error": {"message": "Extra inputs are not permitted, field: 'stream_options', value: True"}},
        Lesson("stream_options"),
    ),
    (
        "openai-compatible",
        {"error": {"code": 400, "message": "Validation error at #/stream_options: Extra inputs are not permitted"}},
        Lesson("stream_options"),
    ),
    ("openai-compatible", "Unknown field: chat_template_kwargs", Lesson("chat_template_kwargs")),
    (
        "openai-compatible",
        openai("groq does not support parameters: ['temperature'], for model=x. To drop these, set drop_params"),
        Lesson("temperature"),
    ),
    (
        "openai-compatible",
        openai("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'."),
        Lesson("max_tokens"),
    ),
    (
        "openai-compatible",
        openai(
            "Unsupported value: 'temperature' does not support 0.3 with this model. Only the default (1) value is "
            "supported.",
            "temperature",
            "unsupported_value",
        ),
        Lesson("temperature"),
    ),
    # An error inside of an error, as gateways pass it on.
    (
        "anthropic-compatible",
        openai(
            'litellm.BadRequestError: {"message":"tools.0.custom.eager_input_streaming: Extra inputs are not '
            'permitted"}. Received Model Group=x'
        ),
        Lesson("eager_input_streaming"),
    ),
    # Anthropic's own.
    (
        "anthropic-compatible",
        anthropic("tools.3.cache_control: Extra inputs are not permitted"),
        Lesson("cache_control"),
    ),
    (
        "anthropic-compatible",
        anthropic("system.0.cache_control: Extra inputs are not permitted"),
        Lesson("cache_control"),
    ),
    (
        "anthropic-compatible",
        {
            "error": {
                "message": "2 request validation errors: Extra inputs are not permitted, field: "
                "'tools[0].eager_input_streaming', value: True"
            }
        },
        Lesson("eager_input_streaming"),
    ),
    ("anthropic-compatible", anthropic("thinking: Extra inputs are not permitted"), Lesson("thinking")),
    (
        "anthropic-compatible",
        anthropic(
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
            '"output_config.effort" to control thinking behavior.'
        ),
        Lesson("thinking.type", refused=("enabled",), allowed=("adaptive",)),
    ),
    (
        "anthropic-compatible",
        anthropic("max_tokens: 17192 > 8192, which is the maximum allowed number of output tokens for claude-x"),
        Lesson("max_tokens", most=8192),
    ),
    # Values that are taken.
    (
        "openai-responses",
        openai(
            "Unsupported value: 'medium' is not supported with the 'x' model. Supported values are: 'minimal', 'low', "
            "and 'high'.",
            "reasoning.effort",
            "unsupported_value",
        ),
        Lesson("reasoning.effort", refused=("medium",), allowed=("minimal", "low", "high")),
    ),
    (
        "openai-responses",
        {"code": "invalid-argument", "error": "Model x does not support parameter reasoningEffort."},
        Lesson("reasoning.effort"),
    ),
    (
        "openai-responses",
        openai("Unsupported parameter: 'reasoning.effort' is not supported with this model.", "reasoning.effort"),
        Lesson("reasoning.effort"),
    ),
    (
        "openai-responses",
        openai("Your organization must be verified to generate reasoning summaries.", "reasoning.summary"),
        Lesson("reasoning.summary"),
    ),
    ("openai-responses", openai("Encrypted content is not supported with this model.", "include"), Lesson("include")),
    ("openai-responses", fastapi("tools.0.function.strict"), Lesson("strict")),
    # Bounds.
    (
        "openai-compatible",
        openai("max_tokens is too large: 9000. This model supports at most 4096 completion tokens."),
        Lesson("max_tokens", most=4096),
    ),
    (
        "openai-compatible",
        openai("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"),
        Lesson("max_tokens", least=1, most=8192),
    ),
    (
        "openai-compatible",
        openai("<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]"),
        Lesson("max_tokens", least=1, most=8192),
    ),
    (
        "openai-compatible",
        openai("integer above maximum value, expected a value <= 8,288, but got 9000 instead.", "max_tokens"),
        Lesson("max_tokens", most=8288),
    ),
    (
        "openai-compatible",
        openai("`max_tokens` must be less than or equal to `8192`, the maximum value for it"),
        Lesson("max_tokens", most=8192),
    ),
    (
        "openai-compatible",
        openai("max_tokens=9000 cannot be greater than max_model_len=max_total_tokens=8192."),
        Lesson("max_tokens", most=8192),
    ),
    (
        "openai-compatible",
        {"detail": [{"type": "less_than_equal", "loc": ["body", "max_tokens"], "msg": "too much", "ctx": {"le": 512}}]},
        Lesson("max_tokens", most=512),
    ),
    (
        "gemini",
        gemini(
            "it has a maxOutputTokens value of 9000 but the supported range is from 1 (inclusive) to 8193 (exclusive)"
        ),
        Lesson("generationConfig.maxOutputTokens", least=1, most=8192),
    ),
    # Gemini's own.
    (
        "gemini",
        gemini("Unable to submit request because Function call is missing a thought_signature in functionCall parts."),
        Lesson("missing.thoughtSignature"),
    ),
    (
        "gemini",
        gemini('Unknown name "thinkingConfig"', "generation_config.thinking_config"),
        Lesson("generationConfig.thinkingConfig"),
    ),
    ("ollama", {"error": '"m" does not support thinking'}, Lesson("think")),
]


@pytest.mark.parametrize(
    ("wire", "body", "lesson"), TABLE, ids=[f"{row[0]}-{row[2].text}-{number}" for number, row in enumerate(TABLE)]
)
def test_what_was_refused_is_read_out_of_the_whole_body(wire: Wire, body: object, lesson: Lesson) -> None:
    assert lessons(wire, body, "http://127.0.0.1:9") == [lesson]


def test_effort_has_the_values_that_a_refusal_names() -> None:
    told = openai("`reasoning_effort` must be one of `none` or `default`")
    assert lessons("openai-compatible", told, OPENAI) == [
        Lesson("reasoning_effort", refused=("medium",), allowed=("none", "default"))
    ]
    told = openai(
        "Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values are: "
        "'minimal', 'low', 'medium', and 'high'."
    )
    assert lessons("openai-compatible", told, OPENAI, thinking=False) == [
        Lesson("reasoning_effort", refused=("none",), allowed=EFFORT)
    ]


def test_an_inner_error_of_another_provider_is_read_too() -> None:
    inner = anthropic("`temperature` and `top_p` cannot both be specified for this model.")
    told = anthropic(json.dumps(inner))
    assert lessons("anthropic-compatible", told, thinking=None) == [Lesson("temperature")]


@pytest.mark.parametrize(
    "words",
    [
        "Budget 0 is invalid. This model only works in thinking mode.",
        "The model does not support setting thinking_budget to 0.",
        "Thinking can't be disabled for this model. Remove 'thinking_config.thinking_budget' from your request.",
    ],
)
def test_a_model_that_always_thinks_gets_no_budget(words: str) -> None:
    learned = lessons("gemini", gemini(words), thinking=False)
    assert learned == [Lesson("generationConfig.thinkingConfig.thinkingBudget")]


def test_nothing_that_a_stranger_quotes_is_kept_and_no_number_is_too_large() -> None:
    told = openai("`reasoning_effort` must be one of `sk-secret-key`, `low` or `none`")
    assert lessons("openai-compatible", told, OPENAI) == [
        Lesson("reasoning_effort", refused=("medium",), allowed=("none", "low"))
    ]
    told = openai(f"max_tokens must be >= {'9' * 5000} and <= {'9' * 5000}")
    assert len(lessons("openai-compatible", told)) == 1


def test_several_fields_of_one_body_are_learned_together() -> None:
    learned = lessons("openai-compatible", fastapi("chat_template_kwargs", "stream_options"))
    assert [lesson.field for lesson in learned] == ["stream_options", "chat_template_kwargs"]


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        # About the conversation, not about a field of the request.
        (
            "anthropic-compatible",
            anthropic(
                "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When "
                "`thinking` is enabled, a final `assistant` message must start with a thinking block."
            ),
        ),
        ("openai-compatible", openai("Invalid value: 'temperature' must be a string", "messages[0].content")),
        ("openai-compatible", fastapi("messages.0.user.name")),
        # About what was not sent.
        ("openai-compatible", openai("Unsupported parameter: 'top_p' is not supported", "top_p")),
        ("openai-compatible", openai("Unsupported parameter: 'parallel_tool_calls'", "parallel_tool_calls")),
        # Which field names, but refuses none.
        ("openai-compatible", openai("max_tokens is a bad idea")),
        ("openai-compatible", openai("The temperature of the day is 30 degrees")),
        ("openai-compatible", openai("bad thing")),
        ("openai-compatible", ""),
        ("openai-compatible", "[" * 9000),
        ("openai-compatible", '{"a":' * 2000),
    ],
)
def test_what_is_no_refusal_of_a_field_teaches_nothing(wire: Wire, body: object) -> None:
    assert lessons(wire, body) == []


def test_a_word_in_the_persons_text_or_a_tools_schema_is_no_field() -> None:
    made = make_wire(config_at("openai-compatible", "http://127.0.0.1:9"))
    asked = said('what does "stream_options": mean, and "temperature": 3?')
    told = read_refusal(json.dumps(openai("Unknown parameter: 'temperature'", "temperature")).encode())
    assert told.lessons(made.spares, made.body(asked)) == []


async def asked_again(wire: Wire, endpoint: Endpoint, *bodies: object, **fields: Any) -> list[dict[str, Any]]:
    """Return the requests until the answer came, and see that the next question is asked rightly at once."""
    status = 422 if fields.pop("is_validator", False) else 400
    refusals = [Reply(status=status, body=json.dumps(body).encode()) for body in bodies]
    endpoint.answer(*refusals, HELLO)
    model = model_at(wire, endpoint.url)
    for _ in range(2):
        assert text_of(await answer_of(model, request(**fields))) == "Hello."
    sent = [one.json for one in endpoint.requests]
    assert len(sent) == len(bodies) + 2
    assert sent[-1] == sent[-2]
    return sent[:-1]


async def test_thinking_off_becomes_the_least_effort_that_a_model_takes(endpoint: Endpoint) -> None:
    told = openai(
        "Unsupported value: 'none' is not supported with the 'gpt-5' model. Supported values are: 'minimal', 'low', "
        "'medium', and 'high'.",
        "reasoning.effort",
        "unsupported_value",
    )
    before, after = await asked_again("openai-responses", endpoint, told, thinking=False)
    assert before["reasoning"] == {"effort": "none"}
    assert after["reasoning"] == {"effort": "minimal"}


async def test_a_temperature_beyond_the_range_is_the_nearest_within(endpoint: Endpoint) -> None:
    told = anthropic("temperature: range: 0..1")
    before, after = await asked_again("anthropic-compatible", endpoint, told, temperature=1.7, thinking=None)
    assert (before["temperature"], after["temperature"]) == (1.7, 1)


@pytest.mark.parametrize(
    ("wire", "told", "words"),
    [
        (
            "anthropic-compatible",
            "temperature: range: 0..1",
            "This model takes no temperature of 1.7; it was asked with 1.",
        ),
        (
            "openai-compatible",
            "Unsupported value: 'temperature' does not support 1.7. Only the default (1) value is supported.",
            "This model takes no temperature; it was asked without one.",
        ),
        ("ollama", "unknown field options.temperature", "This model takes no temperature; it was asked without one."),
    ],
)
async def test_a_person_is_told_of_a_temperature_that_a_model_did_not_get(
    wire: Wire, told: str, words: str, endpoint: Endpoint
) -> None:
    endpoint.answer(Reply(status=400, body=json.dumps({"error": {"message": told}}).encode()), HELLO)
    model = model_at(wire, endpoint.url)
    for _ in range(2):
        events = await answer_of(model, msgspec.structs.replace(said("hi"), temperature=1.7))
        assert of(Notice, events) == [Notice("temperature", words)]
    assert len(endpoint.requests) == 3
    assert not of(Notice, await answer_of(model, said("hi")))


async def test_thinking_is_the_models_own_choice_where_a_budget_is_refused(endpoint: Endpoint) -> None:
    told = anthropic('"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".')
    _, after = await asked_again("anthropic-compatible", endpoint, told)
    assert after["thinking"] == {"type": "adaptive"}


async def test_a_switch_that_a_model_does_not_have_is_left_alone(endpoint: Endpoint) -> None:
    told = anthropic('"thinking.type.disabled" is not supported for this model.')
    before, after = await asked_again("anthropic-compatible", endpoint, told, thinking=False)
    assert before["thinking"] == {"type": "disabled"}
    assert "thinking" not in after


async def test_marks_for_a_cache_are_left_out_everywhere(endpoint: Endpoint) -> None:
    told = anthropic("system.0.cache_control: Extra inputs are not permitted")
    before, after = await asked_again("anthropic-compatible", endpoint, told)
    assert json.dumps(before).count("cache_control") == 3
    assert "cache_control" not in json.dumps(after)


async def test_all_fields_that_a_validator_names_are_left_out_at_once(endpoint: Endpoint) -> None:
    told = {
        "object": "error",
        "message": fastapi("chat_template_kwargs", "stream_options"),
        "param": None,
        "code": None,
    }
    before, after = await asked_again("openai-compatible", endpoint, told, is_validator=True)
    assert {"chat_template_kwargs", "stream_options"} <= before.keys()
    assert not {"chat_template_kwargs", "stream_options"} & after.keys()


async def test_a_cap_goes_by_its_other_name_and_within_its_bounds(endpoint: Endpoint) -> None:
    renamed = openai("Unsupported parameter: 'max_tokens' is not supported with this model.", "max_tokens")
    bounded = openai("max_completion_tokens is too large: 9000. This model supports at most 4096 completion tokens.")
    sent = await asked_again("openai-compatible", endpoint, renamed, bounded)
    assert [(one.get("max_tokens"), one.get("max_completion_tokens")) for one in sent] == [
        (9000, None),
        (None, 9000),
        (None, 4096),
    ]


async def test_what_the_person_wrote_into_the_configuration_is_not_left_out_in_silence(endpoint: Endpoint) -> None:
    endpoint.answer(Reply(status=400, body=json.dumps(openai("Unsupported parameter: 'top_p'", "top_p")).encode()))
    model = model_at("openai-compatible", endpoint.url, extra={"top_p": 0.5})
    assert "top_p" in failure_of(await answer_of(model, request())).message
    assert len(endpoint.requests) == 1


async def test_what_did_not_help_is_not_learned(endpoint: Endpoint) -> None:
    told = Reply(status=400, body=json.dumps(openai("Unsupported parameter: 'temperature'", "temperature")).encode())
    endpoint.answer(told, told, HELLO)
    model = model_at("openai-compatible", endpoint.url)
    assert failure_of(await answer_of(model, request())).code == "model_refused"
    assert text_of(await answer_of(model, request())) == "Hello."
    assert ["temperature" in one.json for one in endpoint.requests] == [True, False, True]


async def test_a_server_that_knows_no_tools_is_told_as_one(endpoint: Endpoint) -> None:
    endpoint.answer(Reply(status=422, body=json.dumps(fastapi("tools")).encode()))
    assert (
        failure_of(await answer_of(model_at("openai-compatible", endpoint.url), request())).code == "tools_unsupported"
    )
    assert len(endpoint.requests) == 1
