"""What providers say when something goes wrong, and what is done about it: compact, ask again, or tell and stop."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from pilothouse.models import error_texts
from pilothouse.types.messages import Media, Message, ResultBlock
from pilothouse.types.stream import Retrying
from tests.models.asking import answer_of, failure_of, model_at, of, said, text_of
from tests.support.raw_server import RawServer, answer_each
from tests.support.scripted_endpoint import Endpoint, Fault, Reply
from tests.support.wire_writers import WIRES, Say, Text, Wire

HELLO = Reply(Say((Text(["Hello."]),)))
TPM = "on tokens per minute (TPM): Limit 6000, {}Requested {}, please reduce your message size and try again."


def anthropic(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def openai(message: str, kind: str = "invalid_request_error", code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def gemini(code: int, message: str, status: str, *details: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


class Case(NamedTuple):
    """An error as a provider sends it, and what becomes of it: a code, or nothing when asking again helps."""

    name: str
    wire: Wire
    status: int
    body: object
    code: str | None
    headers: tuple[tuple[str, str], ...] = ()


CHAT: Wire = "openai-compatible"
CLAUDE: Wire = "anthropic-compatible"
NOW = (("retry-after", "0"),)
CASES = [
    # Keys and names.
    Case("anthropic key", CLAUDE, 401, anthropic("authentication_error", "invalid x-api-key"), "bad_key"),
    Case("openai key", CHAT, 401, openai("Incorrect API key provided: sk-xx.", code="invalid_api_key"), "bad_key"),
    Case(
        "gemini key", "gemini", 400, gemini(400, "API key not valid. Please pass one.", "INVALID_ARGUMENT"), "bad_key"
    ),
    Case("anthropic model", CLAUDE, 404, anthropic("not_found_error", "model: claude-nope"), "model_refused"),
    Case("openai model", CHAT, 404, openai("The model `x` does not exist.", code="model_not_found"), "model_refused"),
    Case("ollama model", "ollama", 404, {"error": "model 'x' not found"}, "model_refused"),
    # Limits and payment.
    Case("limit", CHAT, 429, openai("Rate limit", "rate_limit_error", "rate_limit_exceeded"), None, NOW),
    Case("limit in ms", CHAT, 429, openai("Rate limit"), None, (("retry-after-ms", "1"),)),
    Case("limit in ms, none", CHAT, 429, openai("Rate limit"), None, (("retry-after-ms", "0"), *NOW)),
    Case("limit of anthropic", CLAUDE, 429, anthropic("rate_limit_error", "would exceed your rate limit"), None, NOW),
    Case(
        "limit of gemini",
        "gemini",
        429,
        gemini(429, "Resource exhausted. Please retry in 0.01s", "RESOURCE_EXHAUSTED", {"retryDelay": "0.01s"}),
        None,
    ),
    Case("a minute's share", CHAT, 429, openai("Rate limit reached " + TPM.format("Used 5000, ", 2000)), None, NOW),
    Case("throttled", CHAT, 429, {"message": "Too many tokens, please wait before trying again."}, None, NOW),
    Case("overloaded", CLAUDE, 529, anthropic("overloaded_error", "Overloaded"), None, NOW),
    Case("bad gateway", CHAT, 502, "<html><h1>502 Bad Gateway</h1>nginx</html>", None, NOW),
    Case("quota", CHAT, 429, openai("You exceeded your current quota", code="insufficient_quota"), "model_refused"),
    Case("credit", CLAUDE, 400, anthropic("x", "Your credit balance is too low to access the API."), "model_refused"),
    # NeedsPerson.
    Case("not implemented", CHAT, 501, openai("no"), "model_refused"),
    Case("version of HTTP", CHAT, 505, openai("no"), "model_refused"),
    Case(
        "no pictures, llama.cpp",
        CHAT,
        500,
        {"error": {"code": 500, "message": "image input is not supported - hint: you may need to provide the mmproj"}},
        "model_refused",
    ),
    Case("no pictures, openrouter", CHAT, 404, openai("No endpoints found that support image input"), "model_refused"),
    Case("no pictures, ollama", "ollama", 400, {"error": "this model does not support image input"}, "model_refused"),
    Case("no pictures, deepseek", CHAT, 400, openai("unknown variant `image_url`, expected `text`"), "model_refused"),
    Case("no pictures, vllm", CHAT, 400, openai("x is not a multimodal model"), "model_refused"),
    Case("no pictures, ollama 500", "ollama", 500, {"error": "missing data required for image input"}, "model_refused"),
    Case("a page", CHAT, 200, "<html><body>Sign in</body></html>", "model_refused", (("content-type", "text/html"),)),
    # Too long.
    *(
        Case(f"too long {number}", wire, status, body, "context_too_long")
        for number, (wire, status, body) in enumerate(
            [
                (CLAUDE, 400, anthropic("x", "prompt is too long: 210000 tokens > 200000 maximum")),
                (
                    CLAUDE,
                    400,
                    anthropic("x", "input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000"),
                ),
                (CLAUDE, 413, anthropic("request_too_large", "Request exceeds the maximum size")),
                (
                    CHAT,
                    400,
                    openai("This model's maximum context length is 8192 tokens.", code="context_length_exceeded"),
                ),
                (CHAT, 400, {"error": {"message": "try increasing it", "type": "exceed_context_size_error"}}),
                (
                    CHAT,
                    400,
                    {"message": "The decoder prompt (length 9000) is longer than the maximum model length of 8192."},
                ),
                (
                    CHAT,
                    400,
                    openai("'max_tokens' is too large: 4096. This model's maximum context length is 8192 tokens"),
                ),
                (
                    CHAT,
                    400,
                    {
                        "error": "Trying to keep the first 9000 tokens when context the overflows. However, the model "
                        "is loaded with context length of only 4096 tokens"
                    },
                ),
                (CHAT, 413, openai("Request too large for model `x` " + TPM.format("", 9000), "tokens")),
                (CHAT, 429, openai("Request too large for gpt-4o " + TPM.format("", 36278), "tokens")),
                (
                    CHAT,
                    400,
                    {"message": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"},
                ),
                (
                    CHAT,
                    400,
                    {
                        "code": "x",
                        "error": "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
                    },
                ),
                (CHAT, 400, {"message": "Input is too long for requested model."}),
                (
                    CHAT,
                    400,
                    {
                        "error": {
                            "message": "This endpoint's maximum context length is 32768 tokens. However",
                            "code": 400,
                        }
                    },
                ),
                (CHAT, 400, openai("Input tokens exceed the configured limit of 272000 tokens.")),
                ("openai-responses", 400, openai("Your input exceeds the context window of this model.")),
                (
                    "gemini",
                    400,
                    gemini(
                        400,
                        "The input token count (12) exceeds the maximum number of tokens allowed (10).",
                        "INVALID_ARGUMENT",
                    ),
                ),
                ("ollama", 400, {"error": "the input length exceeds the context length"}),
                ("ollama", 500, {"error": "prompt too long; exceeded max context length by 4 tokens"}),
            ]
        )
    ),
]


@pytest.mark.case("F-33")
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
async def test_each_error_is_told_once_or_asked_again_as_it_helps(case: Case, endpoint: Endpoint) -> None:
    body = case.body.encode() if isinstance(case.body, str) else json.dumps(case.body).encode()
    status = case.status if case.status != 200 else 201
    endpoint.answer(Reply(status=status, body=body, headers=case.headers), HELLO)
    events = await answer_of(model_at(case.wire, endpoint.url), said("hi"))
    if case.code is None:
        assert text_of(events) == "Hello."
        assert len(of(Retrying, events)) == 1
        return
    failed = failure_of(events)
    assert (failed.code, failed.retryable) == (case.code, False)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    "words",
    [
        "Requested token count exceeds the model's maximum context length of 131072 tokens",
        "Input length (265330) exceeds model's maximum context length (262144).",
        "Input length 5000 exceeds the maximum allowed input length of 4096 tokens.",
        "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
        "prompt token count of 9000 exceeds the limit of 8192",
        "tokens to keep from the initial prompt is greater than the context length",
        "invalid params, context window exceeds limit",
        "Your request exceeded model token limit: 8192 (requested: 9000)",
        "`inputs` tokens + `max_new_tokens` must be <= 2048. Given: 1244 `inputs` tokens and 1000 `max_new_tokens`",
        "Input validation error: inputs must have less than 512 tokens. Given: 700",
        "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
        "Range of input length should be [1, 30720]",
        "Requested tokens (817) exceed context window of 512",
        "too many tokens: size limit exceeded by 4 tokens",
        "request (67311 tokens) exceeds the available context size (65536 tokens), try increasing it",
        "Prompt has 9,000 tokens, but the configured context size is 8,192 tokens",
        "Invalid 'messages[3].content': string too long. Expected a string with maximum length 10485760",
    ],
)
def test_more_ways_to_say_that_a_conversation_is_too_long(words: str) -> None:
    assert error_texts.TOO_LONG.search(words)
    assert not error_texts.RATE_LIMIT.search(words)


@pytest.mark.parametrize(
    "words",
    [
        "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64",
        "Invalid 'messages[3].tool_calls[0].id': string too long. Expected a string with maximum length 40",
        "max_tokens: 17192 > 8192, which is the maximum allowed number of output tokens for claude-x",
        "max_tokens is too large: 9000. This model supports at most 4096 completion tokens.",
        "max_tokens=9000 cannot be greater than max_model_len=max_total_tokens=8192.",
        "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
        "The image exceeds the maximum allowed size",
        "Invalid 'tools': array too long. Expected an array with maximum length 128",
    ],
)
def test_what_less_to_read_would_not_help_is_not_too_long(words: str) -> None:
    assert not error_texts.TOO_LONG.search(words)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_throttle_told_inside_the_stream_is_no_conversation_that_is_too_long(
    wire: Wire, endpoint: Endpoint
) -> None:
    told = ("throttling", "Too many tokens, please wait before trying again.")
    endpoint.answer(Reply(HELLO.say, fault=Fault("error", after=0, error=told)), HELLO)
    events = await answer_of(model_at(wire, endpoint.url), said("hi"))
    assert len(of(Retrying, events)) == 1
    assert text_of(events) == "Hello."


async def test_a_compression_that_nobody_asked_for_is_told_once() -> None:
    answer = (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: br\r\ncontent-length: 3\r\n\r\nabc"
    )
    async with RawServer(answer_each(answer)) as server:
        failed = failure_of(await answer_of(model_at(CHAT, server.url), said("hi")))
        assert server.connections == 1
    assert "compresses its answer as “br” although it was asked not to" in failed.message
    assert not failed.retryable


@pytest.mark.parametrize(
    ("data", "asked", "code"),
    [('{"choices": "all of them"}', 1, "model_refused"), ("{not json", 2, "stream_broken")],
)
async def test_a_shape_that_cannot_change_is_told_at_once_and_broken_json_after_one_more_try(
    data: str, asked: int, code: str
) -> None:
    stream = f"data: {data}\n\n".encode()
    answer = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(stream) + stream
    requests: list[bytes] = []

    async def talk(peer: Any) -> None:
        while True:
            requests.append(await peer.request())
            await peer.send(answer)

    async with RawServer(talk) as server:
        failed = failure_of(await answer_of(model_at(CHAT, server.url), said("hi")))
    assert (failed.code, failed.retryable) == (code, False)
    assert len(requests) == asked


PICTURE = Media(item_id="i", index=0, media_type="image/png", size=3, data="AAAA")
SHOWN = Message("user", (ResultBlock(id="c", name="look", text="Here.", media=(PICTURE,)),))


async def test_pictures_that_a_model_does_not_take_are_left_out_of_what_follows_too(endpoint: Endpoint) -> None:
    endpoint.answer(Reply(status=500, body=json.dumps(openai("image input is not supported")).encode()), HELLO)
    model = model_at(CHAT, endpoint.url)
    for _ in range(2):
        assert text_of(await answer_of(model, said("hi", SHOWN))) == "Hello."
    assert [b"image_url" in one.body for one in endpoint.requests] == [True, False, False]


async def test_one_broken_picture_says_nothing_about_others(endpoint: Endpoint) -> None:
    broken = Reply(status=400, body=json.dumps(openai("Could not process image")).encode())
    endpoint.answer(broken, HELLO, HELLO)
    model = model_at(CHAT, endpoint.url)
    for _ in range(2):
        assert text_of(await answer_of(model, said("hi", SHOWN))) == "Hello."
    assert [b"image_url" in one.body for one in endpoint.requests] == [True, False, True]
