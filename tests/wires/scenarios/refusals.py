"""How providers say no: what is final, what is asked again, and what leads to a summary."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Iterator

from tests.wires.replies import Answer, Foreign, Json, Reply, Wire, refused
from tests.wires.scenario import Fails, Outcome, Scenario
from tests.wires.streams import anthropic, chat, gemini, ollama, responses
from tests.wires.streams.every import every_wire

AGAIN = every_wire("Again.", "msg_9")
FIRST = every_wire("First.")
_QUOTA = "You exceeded your current quota, please check your plan and billing details."
_CREDIT = "Your credit balance is too low to access the API. Please go to Plans & Billing to purchase credits."
_RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.5s"}


def _in_two_seconds(_request: Json) -> Reply:
    return chat.refusal(429, "Rate limit", retry_after=email.utils.formatdate(time.time() + 2, usegmt=True))


def _final() -> Iterator[tuple[str, Wire, Reply, Fails]]:
    a = anthropic.refusal
    yield "no-such-key", "anthropic", a(401, "authentication_error", "invalid x-api-key"), Fails("bad_key", "401")
    yield "no-such-key", "chat", chat.refusal(401, "Incorrect API key.", "invalid_api_key"), Fails("bad_key", "401")
    words = "API key not valid. Please pass a valid API key."
    yield "no-such-key", "gemini", gemini.refusal(400, words), Fails("bad_key", "not valid")
    yield "no-such-model", "anthropic", a(404, "not_found_error", "model: m"), Fails("model_refused", "model's name")
    words = "The model `m` does not exist or you do not have access to it."
    yield "no-such-model", "chat", chat.refusal(404, words, "model_not_found"), Fails("model_refused", "does not exist")
    yield "no-such-model", "ollama", ollama.refusal(404, "model 'm' not found"), Fails("model_refused", "not found")
    yield "no-credit", "anthropic", a(400, "invalid_request_error", _CREDIT), Fails("model_refused", "credit balance")
    yield "no-credit", "chat", chat.refusal(429, _QUOTA, "insufficient_quota"), Fails("model_refused", "quota")
    page = b"<html><body>Sign in</body></html>"
    yield "a-web-page", "chat", refused(200, page), Fails("model_refused", "web page")


def _passing() -> Iterator[tuple[str, Wire, Answer]]:
    yield "for-seconds", "chat", chat.refusal(429, "Rate limit", "rate_limit_exceeded", retry_after="1")
    yield "for-milliseconds", "chat", chat.refusal(429, "Rate limit", retry_after_ms="300")
    yield "for-no-time", "chat", chat.refusal(429, "Rate limit", retry_after_ms="0", retry_after="0")
    yield "until-a-date", "chat", _in_two_seconds
    yield "for-half-a-second", "chat", chat.refusal(429, "Rate limit", retry_after="0.5")
    yield "for-a-time-with-its-unit", "chat", chat.refusal(429, "Rate limit. Try again in 1.5s.", retry_after="1s")
    headers = {"x_ratelimit_reset_requests": "1s", "x_ratelimit_reset_tokens": "6m0s"}
    yield "until-a-limit-is-reset", "chat", chat.refusal(429, "Rate limit", **headers)
    limit = {"anthropic_ratelimit_requests_reset": "2026-01-01T00:00:00Z", "retry_after": "1"}
    yield "until-a-limit-is-reset", "anthropic", anthropic.refusal(429, "rate_limit_error", "Slow down", **limit)
    yield "in-its-body", "gemini", gemini.refusal(429, "Resource exhausted.", "RESOURCE_EXHAUSTED", _RETRY)
    yield "while-overloaded", "anthropic", anthropic.refusal(529, "overloaded_error", "Overloaded")
    page = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
    yield "behind-a-gateway", "chat", refused(502, page)


def _too_long() -> Iterator[tuple[str, Wire, Reply]]:
    a = "invalid_request_error"
    yield "anthropic", "anthropic", anthropic.refusal(400, a, "prompt is too long: 210000 tokens > 200000 maximum")
    words = (
        "input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000, "
        "decrease input length or `max_tokens` and try again"
    )
    yield "anthropic-with-its-answer", "anthropic", anthropic.refusal(400, a, words)
    large = anthropic.refusal(413, "request_too_large", "Request exceeds the maximum size")
    yield "anthropic-in-bytes", "anthropic", large
    maximum = "This model's maximum context length is {} tokens. However, {}"
    words = maximum.format(8192, "your messages resulted in 9000 tokens.")
    yield "openai", "chat", chat.refusal(400, words, "context_length_exceeded", "messages")
    sizes = {"n_prompt_tokens": 9000, "n_ctx": 4096}
    words = "the request exceeds the available context size, try increasing it"
    error = {"code": 400, "message": words, "type": "exceed_context_size_error", **sizes}
    yield "llama-cpp", "chat", refused(400, {"error": error})
    words = (
        "The decoder prompt (length 9000) is longer than the maximum model length of 8192. "
        "Make sure that `max_model_len` is no smaller than the number of text tokens."
    )
    yield "vllm", "chat", refused(400, {"object": "error", "message": words, "type": "BadRequestError", "code": 400})
    words = (
        "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is "
        "8192 tokens and your request has 7000 input tokens"
    )
    yield "vllm-with-its-answer", "chat", refused(400, {"error": {"message": words, "code": 400}})
    words = (
        "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with "
        "context length of only 4096 tokens, which is not enough."
    )
    yield "lm-studio", "chat", refused(400, {"error": words})
    words = (
        "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 9000, "
        "please reduce your message size and try again."
    )
    yield "groq", "chat", chat.refusal(413, words, "rate_limit_exceeded")
    words = "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"
    yield "mistral", "chat", refused(400, {"object": "error", "message": words, "code": 3051})
    words = "This model's maximum prompt length is 131072 but the request contains 140000 tokens."
    yield "xai", "chat", refused(400, {"code": "Client specified an invalid argument", "error": words})
    yield "bedrock", "chat", refused(400, {"message": "Input is too long for requested model."})
    yield "deepseek", "chat", chat.refusal(400, maximum.format(131072, "you requested 140000 tokens"))
    words = "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens"
    yield "openrouter", "chat", refused(400, {"error": {"message": words, "code": 400}})
    words = (
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens. "
        "Please reduce the length of the messages."
    )
    yield "azure", "chat", refused(400, {"error": {"code": "context_length_exceeded", "message": words}})
    words = "Your input exceeds the context window of this model. Please adjust your input and try again."
    yield "responses", "responses", responses.refusal(400, words, "context_length_exceeded")
    yield (
        "responses-in-the-stream",
        "responses",
        responses.answer(final=Foreign(responses.failed("context_length_exceeded", words))),
    )
    words = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    yield "gemini", "gemini", gemini.refusal(400, words)
    yield "ollama", "ollama", ollama.refusal(400, "the input length exceeds the context length")


def _was_summed_up(outcome: Outcome) -> None:
    assert [item.status for item in outcome.of("compaction")] == ["completed"]


SCENARIOS = (
    *(Scenario(f"{wire}-refuses-{what}", wire, (reply,), (fails,)) for what, wire, reply, fails in _final()),
    *(
        Scenario(f"{wire}-asks-to-wait-{how}", wire, (reply, AGAIN[wire]), ("Again.",))
        for how, wire, reply in _passing()
    ),
    *(
        # The first turn, the refusal, the summary, the second turn.
        Scenario(
            f"too-long-for-{who}",
            wire,
            (FIRST[wire], reply, AGAIN[wire], AGAIN[wire]),
            ("First.", "Again."),
            check=_was_summed_up,
            verbatim=False,
        )
        for who, wire, reply in _too_long()
    ),
)
