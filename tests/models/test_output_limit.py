"""How long an answer may be: as is asked for, as the model can, and as there is room."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from pilothouse.models.error_texts import room_left
from pilothouse.models.factory import make_wire
from pilothouse.net.loop_clients import close_clients
from pilothouse.types import limits
from pilothouse.types.models import Known
from tests.models.asking import answer_of, config_at, failure_of, model_at, said, text_of
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.wire_writers import WIRES, Say, Text, Wire

HELLO = Reply(Say((Text(["Hello."]),)))
FULL = "input length and `max_tokens` exceed context limit: {} + 64000 > 200000, decrease input length or `max_tokens`"
# What providers say when a request and the answer that it asks for do not fit, and what is left for the answer.
TABLE = [
    (FULL.format(140_000), 60_000),
    (FULL.format(178_959), None),
    (
        "This model's maximum context length is 131072 tokens. However, you requested 141134 tokens (102942 in the "
        "messages, 38192 in the completion). Please reduce the length of the messages or completion.",
        28_130,
    ),
    (
        "This endpoint's maximum context length is 204800 tokens. However, you requested about 205432 tokens (81684 of "
        "text input, 3748 of tool input, 120000 in the output).",
        119_368,
    ),
    (
        "'max_tokens' or 'max_completion_tokens' is too large: 9000. This model's maximum context length is 8192 "
        "tokens and your request has 1192 input tokens (9000 > 8192 - 1192).",
        7_000,
    ),
    (
        "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of "
        "9000 tokens: 5000 tokens from the input messages and 4000 tokens for the completion.",
        3_192,
    ),
    (
        "`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 5000 `inputs` tokens and 4000 `max_new_tokens`",
        3_192,
    ),
    ("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.", None),
    (
        "This model's maximum context length is 8192 tokens, however you requested 8977 tokens (8977 in your prompt)",
        None,
    ),
    ("prompt is too long: 210000 tokens > 200000 maximum", None),
]


@pytest.mark.parametrize(("words", "room"), TABLE)
def test_what_is_left_of_the_window_is_read_out_of_what_providers_say(words: str, room: int | None) -> None:
    assert room_left(words) == room


def refused(words: str) -> Reply:
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": words}}
    return Reply(status=400, body=json.dumps(error).encode())


@pytest_asyncio.fixture(autouse=True)
async def no_connection_left() -> AsyncIterator[None]:
    yield
    await close_clients()


def asked(endpoint: Endpoint, field: str) -> list[Any]:
    return [request.json.get(field) for request in endpoint.requests]


@pytest.mark.parametrize(
    ("wire", "field"), [("anthropic-compatible", "max_tokens"), ("openai-compatible", "max_tokens")]
)
async def test_an_answer_that_does_not_fit_is_asked_for_as_long_as_it_does(wire: Wire, field: str) -> None:
    async with Endpoint() as endpoint:
        endpoint.answer(refused(FULL.format(140_000)), HELLO, HELLO)
        model = model_at(wire, endpoint.url)
        request = msgspec.structs.replace(said("hi"), max_tokens=64_000)
        assert text_of(await answer_of(model, request)) == "Hello."
        # It was so for one request; the next may be shorter.
        await answer_of(model, request)
        assert asked(endpoint, field) == [64_000, 60_000, 64_000]


async def test_a_conversation_that_leaves_no_room_for_an_answer_is_too_long() -> None:
    async with Endpoint() as endpoint:
        endpoint.answer(refused(FULL.format(178_959)))
        model = model_at("anthropic-compatible", endpoint.url)
        assert failure_of(await answer_of(model, said("hi"))).code == "context_too_long"
        assert len(endpoint.requests) == 1


MOST = "max_tokens: {} > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20241022"


@pytest.mark.parametrize("thinking", [None, True, False])
async def test_a_format_that_wants_a_limit_gets_a_generous_one_and_then_the_models_own(thinking: bool | None) -> None:
    async with Endpoint() as endpoint:
        endpoint.answer(refused(MOST.format(limits.DEFAULT_MAX_TOKENS)), HELLO, HELLO)
        model = model_at("anthropic-compatible", endpoint.url)
        request = msgspec.structs.replace(said("hi"), thinking=thinking)
        assert text_of(await answer_of(model, request)) == "Hello."
        await answer_of(model, request)
        assert asked(endpoint, "max_tokens") == [32_000, 8_192, 8_192]


@pytest.mark.parametrize("wire", [wire for wire in WIRES if wire != "anthropic-compatible"])
def test_other_formats_leave_the_limit_to_the_model_unless_someone_sets_one(wire: Wire) -> None:
    sent = make_wire(config_at(wire, "http://127.0.0.1:1")).body(said("hi")).decode()
    assert not re.search("max_?(output_?|completion_?)?tokens|num_predict", sent, re.IGNORECASE)


@pytest.mark.parametrize(
    ("thinking", "wished", "sent"),
    [(None, None, 64_000), (True, None, 64_000), (True, 500, 4_596), (None, 90_000, 64_000)],
)
def test_the_limit_is_the_models_own_where_it_is_known(thinking: bool | None, wished: int | None, sent: int) -> None:
    wire = make_wire(config_at("anthropic-compatible", "http://127.0.0.1:1", known=Known(max_output=64_000)))
    body = json.loads(wire.body(msgspec.structs.replace(said("hi"), thinking=thinking, max_tokens=wished)))
    assert body["max_tokens"] == sent


@pytest.mark.parametrize(("host", "sent"), [("api.fireworks.ai/inference", 16_384), ("api.openai.com", None)])
def test_a_provider_that_ends_answers_early_is_told_how_long_the_models_may_be(host: str, sent: int | None) -> None:
    config = config_at("openai-compatible", f"https://{host}/v1", known=Known(max_output=16_384))
    assert json.loads(make_wire(config).body(said("hi"))).get("max_tokens") == sent
