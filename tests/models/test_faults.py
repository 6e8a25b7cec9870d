"""What goes wrong between us and a model, on every wire: told in one sentence, never raised."""

from __future__ import annotations

import json
import logging
import socket

import msgspec
import pytest

from pilothouse.models.factory import make_model
from pilothouse.types.stream import CallArguments, CallEnd, CallStart, Retrying, Stopped
from tests.models.asking import KEY, answer_of, config_at, failure_of, model_at, of, said, text_of
from tests.support.scripted_endpoint import Endpoint, Fault, Reply
from tests.support.wire_writers import WIRES, Call, Say, Text, Wire

HELLO = Say((Text(["Hello", " there 🚢", "."]),))
STREAMED_CALLS: tuple[Wire, ...] = ("anthropic-compatible", "openai-compatible", "openai-responses")
SSE: tuple[Wire, ...] = tuple(wire for wire in WIRES if wire != "ollama")
every_wire = pytest.mark.parametrize("wire", WIRES)


def said_by(message: str, **fields: object) -> bytes:
    return json.dumps({"error": {"message": message, "type": "invalid_request_error", **fields}}).encode()


@pytest.mark.case("F-27")
@every_wire
@pytest.mark.parametrize("status", [500, 502, 503])
async def test_an_error_before_the_first_token_is_asked_again_with_a_growing_wait(
    wire: Wire, status: int, endpoint: Endpoint
) -> None:
    endpoint.answer(Reply(status=status), Reply(status=status), Reply(HELLO))
    events = await answer_of(model_at(wire, endpoint.url), said("hi"))
    waits = [event.wait for event in of(Retrying, events)]
    assert len(waits) == 2
    assert waits[0] < waits[1]
    assert text_of(events) == "Hello there 🚢."
    assert len({request.body for request in endpoint.requests}) == 1


@pytest.mark.case("F-27")
@every_wire
async def test_a_connection_that_breaks_before_the_first_token_is_made_again(wire: Wire, endpoint: Endpoint) -> None:
    endpoint.answer(Reply(HELLO, fault=Fault("cut", after=0)), Reply(HELLO))
    events = await answer_of(model_at(wire, endpoint.url), said("hi"))
    assert isinstance(events[0], Retrying)
    assert text_of(events) == "Hello there 🚢."


@pytest.mark.case("F-28")
@pytest.mark.parametrize("wire", STREAMED_CALLS)
@pytest.mark.parametrize("how", ["cut", "end"])
async def test_a_call_cut_in_its_arguments_never_ends(wire: Wire, how: str, endpoint: Endpoint) -> None:
    say = Say((Call("call_a", "think", '{"thought": "' + "x" * 70 + '"}'),), stop="tool")
    kind = "cut" if how == "cut" else "end"
    endpoint.answer(Reply(say, fault=Fault("cut" if kind == "cut" else "end", after=9), every=0.002))
    events = await answer_of(model_at(wire, endpoint.url), said("hi"))
    assert of(CallStart, events)
    assert of(CallArguments, events)
    assert not of(CallEnd, events)
    assert failure_of(events).code == "stream_broken"


@pytest.mark.case("F-29")
@every_wire
@pytest.mark.slow
async def test_a_model_that_says_nothing_at_all_is_asked_again_then_given_up(wire: Wire, endpoint: Endpoint) -> None:
    endpoint.answer(Reply(HELLO, fault=Fault("stall", after=0)))
    events = await answer_of(model_at(wire, endpoint.url, first_byte=0.05), said("hi"))
    assert len(of(Retrying, events)) == 4
    failed = failure_of(events)
    assert (failed.code, failed.retryable) == ("model_stalled", False)


@pytest.mark.case("F-30")
@every_wire
async def test_comments_unknown_events_and_blank_lines_change_nothing(wire: Wire, endpoint: Endpoint) -> None:
    endpoint.answer(Reply(HELLO, fault=Fault("noise", after=2)))
    events = await answer_of(model_at(wire, endpoint.url), said("hi"))
    assert text_of(events) == "Hello there 🚢."


@pytest.mark.case("F-30")
@every_wire
@pytest.mark.parametrize("pieces", [1, 2, 7])
async def test_line_ends_of_either_kind_and_cuts_inside_a_character_change_nothing(
    wire: Wire, pieces: int, endpoint: Endpoint
) -> None:
    endpoint.answer(Reply(HELLO, crlf=True, pieces=pieces))
    events = await answer_of(model_at(wire, endpoint.url), said("hi"))
    assert text_of(events) == "Hello there 🚢."
    assert isinstance(events[-1], Stopped)


@pytest.mark.case("F-30")
@every_wire
async def test_a_last_line_without_a_line_feed_is_read(wire: Wire, endpoint: Endpoint) -> None:
    endpoint.answer(Reply(HELLO, no_last_newline=True))
    events = await answer_of(model_at(wire, endpoint.url), said("hi"))
    assert isinstance(events[-1], Stopped)


@pytest.mark.case("F-30")
@every_wire
async def test_an_answer_without_a_finish_reason_is_not_taken_for_whole(wire: Wire, endpoint: Endpoint) -> None:
    endpoint.answer(Reply(Say(HELLO.parts, stop=None)))
    events = await answer_of(model_at(wire, endpoint.url), said("hi"))
    assert text_of(events) == "Hello there 🚢."
    assert failure_of(events).code == "stream_broken"


@pytest.mark.case("F-30")
async def test_chunks_without_choices_change_nothing(endpoint: Endpoint) -> None:
    endpoint.answer(Reply(Say(HELLO.parts, empty_choices=True)))
    events = await answer_of(model_at("openai-compatible", endpoint.url), said("hi"))
    assert text_of(events) == "Hello there 🚢."


@every_wire
async def test_an_error_told_inside_the_stream_ends_it_with_the_providers_words(wire: Wire, endpoint: Endpoint) -> None:
    endpoint.answer(Reply(HELLO, fault=Fault("error", after=2 if wire in ("ollama", "gemini") else 4)))
    events = await answer_of(model_at(wire, endpoint.url), said("hi"))
    failed = failure_of(events)
    assert failed.code in ("model_overloaded", "model_failed")
    assert failed.retryable
    assert "Overloaded" in failed.message


@pytest.mark.case("F-33")
@every_wire
@pytest.mark.parametrize(
    "words",
    [
        "prompt is too long: 250000 tokens > 200000 maximum",
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "Your input exceeds the context window of this model.",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "the request exceeds the available context size, try increasing it",
        "input length and `max_tokens` exceed context limit: 199000 + 8000 > 200000",
    ],
)
async def test_a_conversation_that_does_not_fit_is_told_apart(wire: Wire, words: str, endpoint: Endpoint) -> None:
    endpoint.answer(Reply(status=400, body=said_by(words)))
    events = await answer_of(model_at(wire, endpoint.url), said("hi"))
    failed = failure_of(events)
    assert (failed.code, failed.retryable) == ("context_too_long", False)
    assert words.rstrip(".") in failed.message


@pytest.mark.case("F-34")
@pytest.mark.parametrize("wire", SSE)
async def test_a_refusal_is_an_answer_that_ends_as_one(wire: Wire, endpoint: Endpoint) -> None:
    endpoint.answer(Reply(Say((Text(["I cannot."]),), stop="refusal")))
    events = await answer_of(model_at(wire, endpoint.url), said("hi"))
    assert [event.reason for event in of(Stopped, events)] == ["refusal"]
    assert text_of(events) == "I cannot."


@pytest.mark.case("F-34")
async def test_a_filter_that_refuses_the_question_gives_a_refusal_not_a_failure(endpoint: Endpoint) -> None:
    endpoint.answer(Reply(status=400, body=said_by("The response was filtered", code="content_filter")))
    events = await answer_of(model_at("openai-compatible", endpoint.url), said("hi"))
    assert [event.reason for event in of(Stopped, events)] == ["refusal"]


@pytest.mark.case("F-35")
@every_wire
async def test_a_refused_key_shows_the_providers_words_once(wire: Wire, endpoint: Endpoint) -> None:
    endpoint.answer(Reply(status=401, body=said_by("invalid x-api-key")))
    failed = failure_of(await answer_of(model_at(wire, endpoint.url), said("hi")))
    assert failed.message == (
        "The provider refused the key (401): invalid x-api-key. Check the key in Settings, Models."
    )
    assert len(endpoint.requests) == 1


@pytest.mark.case("F-26")
@pytest.mark.parametrize(
    ("headers", "body", "wait"),
    [
        ({"retry-after": "0.03"}, b"{}", 0.03),
        ({"retry-after-ms": "20", "retry-after": "3"}, b"{}", 0.02),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}, b"{}", 0.0),
        ({}, b'{"error": {"message": "check your billing", "details": [{"retryDelay": "0.04s"}]}}', 0.04),
    ],
)
async def test_a_wait_is_as_long_as_the_provider_asks(
    headers: dict[str, str], body: bytes, wait: float, endpoint: Endpoint
) -> None:
    endpoint.answer(Reply(status=429, headers=tuple(headers.items()), body=body), Reply(HELLO))
    events = await answer_of(model_at("gemini", endpoint.url), said("hi"))
    assert [event.wait for event in of(Retrying, events)] == [wait]
    assert text_of(events) == "Hello there 🚢."


@every_wire
async def test_an_account_without_credit_is_not_asked_again(wire: Wire, endpoint: Endpoint) -> None:
    endpoint.answer(Reply(status=429, body=said_by("You exceeded your current quota", code="insufficient_quota")))
    events = await answer_of(model_at(wire, endpoint.url), said("hi"))
    assert failure_of(events).code == "model_refused"
    assert len(endpoint.requests) == 1


@every_wire
async def test_a_server_that_is_not_there_is_named_with_what_to_do(wire: Wire) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    events = await answer_of(model_at(wire, f"http://127.0.0.1:{port}"), said("hi"))
    failed = failure_of(events)
    assert failed.code == "model_unreachable"
    assert f"Cannot reach 127.0.0.1:{port}: nothing listens there." in failed.message
    assert "Start the model's server" in failed.message


async def test_a_web_page_instead_of_a_stream_is_told_as_one(endpoint: Endpoint) -> None:
    page = b"<html><body><h1>Welcome</h1></body></html>"
    endpoint.answer(Reply(status=201, headers=(("content-type", "text/html"),), body=page))
    failed = failure_of(await answer_of(model_at("openai-compatible", endpoint.url), said("hi")))
    assert "answered with a web page" in failed.message
    assert "base URL" in failed.message


@pytest.mark.parametrize("base", ["not a url", "ftp://example.org", "http://", "http://[::1", "http://127.0.0.1:99999"])
async def test_an_address_that_is_none_is_told_as_such(base: str) -> None:
    failed = failure_of(await answer_of(model_at("openai-compatible", base), said("hi")))
    assert failed.code in ("model_refused", "model_unreachable")
    assert "Settings, Models" in failed.message


@pytest.mark.case("SECRET-06", "NET-05")
@every_wire
async def test_a_redirect_is_never_followed_with_the_key(wire: Wire, endpoint: Endpoint) -> None:
    async with Endpoint() as elsewhere:
        endpoint.answer(Reply(status=307, headers=(("location", f"{elsewhere.url}/v1/messages"),), body=b"{}"))
        failed = failure_of(await answer_of(model_at(wire, endpoint.url), said("hi")))
        assert elsewhere.requests == []
    assert failed.code == "model_refused"
    assert "not followed" in failed.message


@pytest.mark.case("SECRET-02")
@every_wire
@pytest.mark.parametrize("status", [400, 401, 429, 500])
async def test_a_key_that_a_server_echoes_is_not_in_our_words(
    wire: Wire, status: int, endpoint: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint.answer(Reply(status=status, headers=(("retry-after", "0"),), body=said_by(f"bad key {KEY} in {KEY}")))
    events = await answer_of(model_at(wire, endpoint.url), said("hi"))
    assert "bad key" in failure_of(events).message
    assert KEY not in repr(events)
    assert KEY not in caplog.text


@pytest.mark.case("SECRET-02")
async def test_an_address_with_a_token_is_told_by_host_and_port_only(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    base = "http://me:hunter2hunter2@127.0.0.1:9/v1?token=canary-token"
    events = await answer_of(model_at("openai-compatible", base), said("hi"))
    assert "127.0.0.1:9" in failure_of(events).message
    for secret in ("hunter2", "canary-token"):
        assert secret not in repr(events)
        assert secret not in caplog.text


@pytest.mark.case("SECRET-02")
@pytest.mark.parametrize("key", ["sk-with-a-\n-line-feed", "sk-ключ-ünïcode"])
async def test_a_key_that_no_header_can_carry_is_a_failure_without_the_key(key: str, endpoint: Endpoint) -> None:
    events = await answer_of(make_model(config_at("openai-compatible", endpoint.url), key), said("hi"))
    assert "not valid" in failure_of(events).message
    assert key not in repr(events)


@pytest.mark.case("SECRET-02")
@every_wire
async def test_the_key_does_reach_the_server_it_is_for(wire: Wire, endpoint: Endpoint) -> None:
    endpoint.answer(Reply(HELLO))
    await answer_of(model_at(wire, endpoint.url), said("hi"))
    assert KEY in " ".join(endpoint.requests[0].headers.values())
    assert KEY not in endpoint.requests[0].path


@pytest.mark.parametrize(
    "words",
    [
        "registry/library/gemma:2b does not support tools",
        "Tool use is not supported for this model",
        "tools are not supported in streaming mode",
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    ],
)
async def test_a_model_without_tools_is_told_from_other_refusals(words: str, endpoint: Endpoint) -> None:
    body = msgspec.json.encode({"error": {"message": words}})
    endpoint.answer(Reply(status=400, body=body))
    events = await answer_of(model_at("openai-compatible", endpoint.url), said("hi"))
    assert failure_of(events).code == "tools_unsupported"
