"""Chat completions as gateways speak them: proofs that must come back, and calls in the forms that servers have."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pilothouse.models.answer import Answer
from pilothouse.models.factory import make_wire
from pilothouse.models.wires.chat_reader import ChatReader, _counted
from pilothouse.types import limits
from pilothouse.types.messages import Block, CallBlock, Message, ModelRequest, ResultBlock, TextBlock, ThinkingBlock
from pilothouse.types.stream import (
    CallEnd,
    Cited,
    Stopped,
    StreamEvent,
    TextDelta,
    TextEnd,
    ThinkingDelta,
)
from tests.models.asking import KEY, answer_of, calls_of, config_at, model_at, of, said, text_of, thinking_of
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.wire_writers import Say, Text, sse

Json = dict[str, Any]
ARGUMENTS = '{"thought": "x"}'
SSE = (("content-type", "text/event-stream"),)


def chunk(delta: Json, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return sse({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})


def streamed(*deltas: Json, finish: str = "tool_calls") -> Reply:
    """Return an answer in these pieces."""
    first = chunk({"role": "assistant", "content": ""})
    body = first + b"".join(chunk(delta) for delta in deltas) + chunk({}, finish) + b"data: [DONE]\n\n"
    return Reply(headers=SSE, body=body)


def called(index: int = 0, id: str | None = "call_1", arguments: str = ARGUMENTS, **more: object) -> Json:
    function = {"name": "think", "arguments": arguments}
    return {"tool_calls": [{"index": index, "id": id, "type": "function", "function": function, **more}]}


def replayed(events: list[StreamEvent]) -> tuple[Message, Message]:
    """Return the answer as a message, with all that was kept of it, and the results of its calls."""
    blocks: list[Block] = []
    words = ""
    for event in events:
        match event:
            case TextDelta():
                blocks.append(TextBlock(text=event.text))
            case TextEnd():
                blocks.append(TextBlock(text="", opaque=event.opaque))
            case ThinkingDelta():
                words += event.text
                if event.opaque:
                    blocks.append(ThinkingBlock(text=words, opaque=event.opaque))
                    words = ""
            case CallEnd():
                call = CallBlock(id=event.id, name=event.name, arguments=event.arguments or {}, opaque=event.opaque)
                blocks.append(call)
            case _:
                pass
    results = [ResultBlock(id=block.id, name=block.name, text="ok") for block in blocks if isinstance(block, CallBlock)]
    return Message("assistant", tuple(blocks)), Message("user", tuple(results))


def sent_back(events: list[StreamEvent], base: str, **fields: Any) -> list[Json]:
    """Return the messages of the request that follows an answer."""
    wire = make_wire(config_at("openai-compatible", base, **fields), KEY)
    messages: list[Json] = json.loads(wire.body(said("hi", *replayed(events))))["messages"]
    return messages


async def ask(endpoint: Endpoint, reply: Reply, **fields: Any) -> list[StreamEvent]:
    endpoint.answer(reply)
    return await answer_of(model_at("openai-compatible", endpoint.url, **fields), said("hi"))


# --- proofs ---------------------------------------------------------------------------------------


async def test_fields_of_a_gateways_own_go_back_with_the_call_they_came_with(endpoint: Endpoint) -> None:
    signature = {"google": {"thought_signature": "GSIG"}}
    first = called(extra_content=signature, provider_specific_fields={"thought_signature": "P"})
    second = called(1, "call_2")
    second["tool_calls"][0]["function"]["parsed"] = {"thought": "x"}
    events = await ask(endpoint, streamed(first, second))
    assert sent_back(events, endpoint.url)[2]["tool_calls"] == [
        {
            "id": "call_1",
            "type": "function",
            "function": {"name": "think", "arguments": '{"thought":"x"}'},
            "extra_content": signature,
            "provider_specific_fields": {"thought_signature": "P"},
        },
        {
            "id": "call_2",
            "type": "function",
            "function": {"name": "think", "arguments": '{"thought":"x"}', "parsed": {"thought": "x"}},
        },
    ]


async def test_a_signature_of_the_words_goes_back_with_the_words(endpoint: Endpoint) -> None:
    signature = {"google": {"thought_signature": "GSIG"}}
    events = await ask(
        endpoint, streamed({"content": "Hi"}, {"content": "", "extra_content": signature}, finish="stop")
    )
    message = sent_back(events, endpoint.url)[2]
    assert message == {"role": "assistant", "content": "Hi", "extra_content": signature}


async def test_reasoning_details_are_joined_by_kind_and_index_and_go_back_whole(endpoint: Endpoint) -> None:
    def piece(kind: str, index: int, **more: object) -> Json:
        return {"type": f"reasoning.{kind}", "index": index, "format": "anthropic-claude-v1", **more}

    events = await ask(
        endpoint,
        streamed(
            {"reasoning": "Let ", "reasoning_details": [piece("text", 0, text="Let ")]},
            {"reasoning": "me", "reasoning_details": [piece("text", 0, text="me", id=None)]},
            {"reasoning_details": [piece("text", 0, signature="SIG"), piece("encrypted", 0, data="ENC", id="e_1")]},
            {"reasoning": " see", "reasoning_details": [piece("text", 1, text=" see", signature="SIG2", new=[1])]},
            called(),
            {"reasoning_details": [piece("encrypted", 0, data="ENC2", id="e_2")]},
        ),
    )
    assert thinking_of(events) == "Let me see"
    message = sent_back(events, endpoint.url)[2]
    assert message["reasoning_details"] == [
        piece("text", 0, text="Let me", id=None, signature="SIG"),
        piece("encrypted", 0, data="ENC", id="e_1"),
        piece("text", 1, text=" see", signature="SIG2", new=[1]),
        piece("encrypted", 0, data="ENC2", id="e_2"),
    ]
    # Their words stand in them already.
    assert "reasoning" not in message


async def test_thinking_that_only_its_details_tell_is_shown(endpoint: Endpoint) -> None:
    detail = {"type": "reasoning.summary", "format": "openai-responses-v1", "index": 0}
    summaries = [{"reasoning_details": [{**detail, "summary": words}]} for words in ("**Look", "ing**")]
    events = await ask(endpoint, streamed(*summaries, called()))
    assert thinking_of(events) == "**Looking**"
    assert sent_back(events, endpoint.url)[2]["reasoning_details"] == [{**detail, "summary": "**Looking**"}]


async def test_words_that_lost_their_signature_do_not_go_back(endpoint: Endpoint) -> None:
    detail = {"type": "reasoning.text", "format": "google-gemini-v1", "index": 0, "text": "hm"}
    encrypted = {"type": "reasoning.encrypted", "format": "google-gemini-v1", "index": 0, "data": "ENC"}
    events = await ask(
        endpoint, streamed({"reasoning_details": [detail]}, called(), {"reasoning_details": [encrypted]})
    )
    assert sent_back(events, endpoint.url)[2]["reasoning_details"] == [encrypted]


async def test_words_without_the_proof_that_they_need_go_back_in_no_other_place(endpoint: Endpoint) -> None:
    detail = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0, "text": "hm"}
    events = await ask(endpoint, streamed({"reasoning": "hm", "reasoning_details": [detail]}, called()))
    assert not sent_back(events, endpoint.url)[2].keys() & {"reasoning", "reasoning_details"}


async def test_thinking_among_the_parts_of_the_content_goes_back_there_and_nowhere_else(endpoint: Endpoint) -> None:
    pieces = [{"type": "thinking", "thinking": [{"type": "text", "text": words}]} for words in ("Let ", "me")]
    reply = streamed(*({"content": [piece]} for piece in pieces), {"content": "So."}, called())
    events = await ask(endpoint, reply)
    assert (thinking_of(events), text_of(events)) == ("Let me", "So.")
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Let me"}]}
    assert sent_back(events, endpoint.url)[2]["content"] == [thought, {"type": "text", "text": "So."}]
    assert sent_back(events, "http://127.0.0.1:1")[2]["content"] == "So."


async def test_thinking_blocks_are_joined_up_to_their_signature_and_go_back_whole(endpoint: Endpoint) -> None:
    def piece(words: str, signature: str | None = None) -> Json:
        block = {"type": "thinking", "thinking": words, "signature": signature}
        return {
            "reasoning_content": words,
            "thinking_blocks": [block],
            "provider_specific_fields": {"thinking_blocks": [block]},
        }

    events = await ask(
        endpoint,
        streamed(
            piece("Let "),
            piece("me"),
            piece("", "S1"),
            {"thinking_blocks": [{"type": "redacted_thinking", "data": "R"}]},
            piece("more", "S2"),
            piece("unsigned"),
            called(),
        ),
    )
    message = sent_back(events, endpoint.url)[2]
    assert message["thinking_blocks"] == [
        {"type": "thinking", "thinking": "Let me", "signature": "S1"},
        {"type": "redacted_thinking", "data": "R"},
        {"type": "thinking", "thinking": "more", "signature": "S2"},
    ]
    assert not message.keys() & {"provider_specific_fields", "reasoning_content"}


async def test_an_opaque_value_beside_readable_thinking_goes_back_with_it(endpoint: Endpoint) -> None:
    thought = [{"reasoning_text": "Let "}, {"reasoning_text": "me"}, {"reasoning_opaque": "OPQ"}]
    message = sent_back(await ask(endpoint, streamed(*thought, called())), endpoint.url)[2]
    assert (message["reasoning_text"], message["reasoning_opaque"]) == ("Let me", "OPQ")


@pytest.mark.parametrize("change", [{"base": "http://127.0.0.1:1"}, {"model": "other-model"}, {"path": "/team/v1"}])
async def test_proofs_go_to_nobody_but_who_gave_them(change: dict[str, str], endpoint: Endpoint) -> None:
    details = [{"type": "reasoning.encrypted", "data": "ENC", "index": 0}]
    reply = streamed({"reasoning": "Let me", "reasoning_details": details}, called(extra_content={"google": "GSIG"}))
    events = await ask(endpoint, reply, model="mine-1")
    base = change.get("base", endpoint.url) + change.get("path", "")
    elsewhere = json.dumps(sent_back(events, base, model=change.get("model", "mine-2")))
    assert not any(word in elsewhere for word in ("ENC", "GSIG", "Let me", "home"))
    at_home = json.dumps(sent_back(events, endpoint.url, model="vendor/mine-2"))
    assert all(word in at_home for word in ("ENC", "GSIG"))


@pytest.mark.parametrize("name", ["extra_content", "reasoning_details", "cache_hint"])
async def test_a_field_that_its_own_gateway_refuses_is_left_out_from_then_on(name: str, endpoint: Endpoint) -> None:
    details = [{"type": "reasoning.encrypted", "data": "ENC", "index": 0}]
    reply = streamed({"reasoning_details": details}, called(extra_content={"google": "GSIG"}, cache_hint="H"))
    events = await ask(endpoint, reply)
    refusal = json.dumps({"error": {"message": f"messages.2.{name}: Extra inputs are not permitted"}}).encode()
    endpoint.answer(Reply(status=400, body=refusal), Reply(Say((Text(["Done."]),))))
    request = said("hi", *replayed(events))
    assert text_of(await answer_of(model_at("openai-compatible", endpoint.url), request)) == "Done."
    before, after = (request.body.decode() for request in endpoint.requests[-2:])
    assert f'"{name}"' in before
    assert f'"{name}"' not in after


# --- thinking in words ------------------------------------------------------------------------------


def turns(thought: ThinkingBlock) -> tuple[Message, ...]:
    """Return a turn with a call and one without."""
    call = CallBlock(id="call_1", name="think", arguments={})
    return (
        Message("assistant", (thought, call)),
        Message("user", (ResultBlock(id="call_1", name="think", text="ok"),)),
        Message("assistant", (thought, TextBlock(text="a"))),
        Message("user", (TextBlock(text="more"),)),
        Message("assistant", (thought, TextBlock(text="b"))),
        Message("user", (TextBlock(text="more"),)),
    )


@pytest.mark.parametrize(("model", "last"), [("deepseek-v4-pro", None), ("kimi-k2.7", "hm"), ("zai/glm-5", "hm")])
def test_all_thinking_of_a_turn_with_calls_goes_back_and_more_to_models_made_for_it(
    model: str, last: str | None
) -> None:
    wire = make_wire(config_at("openai-compatible", "http://127.0.0.1:1", model=model), KEY)
    thought = ThinkingBlock(text="hm", opaque={"field": "reasoning_content"})
    messages = json.loads(wire.body(said("hi", *turns(thought))))["messages"]
    kept = [message.get("reasoning_content") for message in messages if message["role"] == "assistant"]
    assert kept == ["hm", "hm", last]


@pytest.mark.parametrize(
    "refusal",
    [
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
        "Missing `reasoning_content` field in the assistant message at message index 2.",
    ],
)
async def test_a_server_that_wants_thinking_where_there_was_none_gets_an_empty_one(
    refusal: str, endpoint: Endpoint
) -> None:
    endpoint.answer(
        Reply(status=400, body=json.dumps({"error": {"message": refusal}}).encode()), Reply(Say((Text(["Done."]),)))
    )
    model = model_at("openai-compatible", endpoint.url)
    assert text_of(await answer_of(model, said("hi", *turns(ThinkingBlock(text="foreign"))))) == "Done."
    assert [
        message.get("reasoning_content")
        for message in endpoint.requests[-1].json["messages"]
        if message["role"] == "assistant"
    ] == [" ", " ", " "]


async def test_calls_of_another_model_get_what_google_takes_for_their_signature(endpoint: Endpoint) -> None:
    refusal = "Function call is missing a thought_signature in functionCall parts."
    endpoint.answer(
        Reply(status=400, body=json.dumps({"error": {"message": refusal}}).encode()), Reply(Say((Text(["Done."]),)))
    )
    model = model_at("openai-compatible", endpoint.url)
    await answer_of(model, said("hi", *turns(ThinkingBlock(text="foreign"))))
    call = endpoint.requests[-1].json["messages"][2]["tool_calls"][0]
    assert call["extra_content"] == {"google": {"thought_signature": "skip_thought_signature_validator"}}


# --- calls ------------------------------------------------------------------------------------------


async def test_a_call_in_the_form_of_old_is_made_and_goes_back_in_it(endpoint: Endpoint) -> None:
    pieces = [{"name": "think", "arguments": ""}, {"arguments": '{"thought": '}, {"arguments": '"x"}'}]
    events = await ask(endpoint, streamed(*({"function_call": piece} for piece in pieces), finish="function_call"))
    assert calls_of(events) == [("think", {"thought": "x"})]
    assert of(Stopped, events)[0].reason == "tool"
    assert sent_back(events, endpoint.url)[2:] == [
        {
            "role": "assistant",
            "content": None,
            "function_call": {"name": "think", "arguments": '{"thought":"x"}'},
        },
        {"role": "function", "name": "think", "content": "ok"},
    ]
    elsewhere = sent_back(events, "http://127.0.0.1:1")[2:]
    assert elsewhere[0]["tool_calls"][0]["id"] == elsewhere[1]["tool_call_id"]


@pytest.mark.parametrize("id", ["", None])
async def test_calls_without_ids_under_one_number_stay_apart(id: str | None, endpoint: Endpoint) -> None:
    calls = [called(0, id, '{"thought": "x"}'), called(0, id, '{"thought": "y"}')]
    events = await ask(endpoint, streamed(*calls))
    assert calls_of(events) == [("think", {"thought": "x"}), ("think", {"thought": "y"})]
    assert len({end.id for end in of(CallEnd, events)}) == 2


def test_a_server_cannot_make_us_read_arguments_over_and_over() -> None:
    looked = 0

    class Counting(Answer):
        def is_complete(self, key: object) -> bool:
            nonlocal looked
            looked += 1
            return False

    reader = ChatReader(Counting(), "home")
    long = '{"thought": "' + "x" * (limits.CALL_LOOKS_CHARS // 8)
    # Each of these pieces could be the end of a call, and the beginning of another.
    for piece in (long, *["{}"] * 200):
        reader.feed(json.dumps({"choices": [{"delta": called(0, "", piece)}]}).encode())
    assert looked == 7


@pytest.mark.parametrize(
    "odd",
    [
        {"annotations": {}},
        {"annotations": ["x", {"url_citation": 1}, {"url_citation": {"url": 7}}]},
        {"function_call": ""},
        {"reasoning_details": {"a": 1}, "thinking_blocks": "x", "extra_content": [1], "provider_specific_fields": "s"},
        {"reasoning_details": [1, None, {"type": 3, "index": None, "text": {}}], "thinking_blocks": [None, {}]},
    ],
)
async def test_odd_fields_do_not_end_an_answer(odd: Json, endpoint: Endpoint) -> None:
    calls = {"tool_calls": [{"index": {}, "id": 7, "function": {"name": "think", "arguments": {}}, "x": None}]}
    reply = streamed({"content": "a", **odd}, calls, {"tool_calls": [{"index": [], "function": None}]})
    events = await ask(endpoint, reply)
    assert (text_of(events), calls_of(events)) == ("a", [("think", {})])
    sent_back(events, endpoint.url)


async def test_a_call_whose_name_comes_with_every_piece_stays_one(endpoint: Endpoint) -> None:
    pieces = [called(0, "", piece) for piece in ('{"thou', 'ght": ', '"x"}', "")]
    assert calls_of(await ask(endpoint, streamed(*pieces))) == [("think", {"thought": "x"})]


async def test_parallel_calls_with_gaps_and_interleaved_pieces_are_told_apart(endpoint: Endpoint) -> None:
    begun = {"tool_calls": [called(1, "call_1", "")["tool_calls"][0], called(4, "call_2", "")["tool_calls"][0]]}
    pieces = [
        {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
        for piece in ('{"thought"', ': "x"}')
        for index in (1, 4)
    ]
    events = await ask(endpoint, streamed(begun, *pieces))
    assert calls_of(events) == [("think", {"thought": "x"})] * 2
    assert sorted(end.id for end in of(CallEnd, events)) == ["call_1", "call_2"]


# --- the rest ---------------------------------------------------------------------------------------


async def test_sources_of_an_answer_are_told_once_each(endpoint: Endpoint) -> None:
    cited = {"start_index": 0, "end_index": 5, "title": "T", "url": "https://e.x/", "content": "so it is"}
    annotation = {"type": "url_citation", "url_citation": cited}
    flat = {"type": "url_citation", "url": "https://other.x/", "title": ""}
    reply = streamed({"content": "so", "annotations": [annotation]}, {"annotations": [annotation, flat]}, finish="stop")
    events = await ask(endpoint, reply)
    assert of(Cited, events) == [Cited("https://e.x/", "T", "so it is"), Cited("https://other.x/", "")]


async def test_pages_that_a_provider_found_are_sources_too(endpoint: Endpoint) -> None:
    found = {"search_results": [{"title": "T", "url": "https://e.x/", "snippet": "so"}], "citations": ["https://e.x/"]}
    chunks = [
        {"choices": [{"delta": {"content": "so"}}], **found},
        {"choices": [{"delta": {}, "finish_reason": "stop"}], **found, "citations": ["https://e.x/", "https://o.x/"]},
    ]
    events = await ask(endpoint, Reply(headers=SSE, body=b"".join(sse(each) for each in chunks)))
    assert of(Cited, events) == [Cited("https://e.x/", "T", "so"), Cited("https://o.x/", "")]


@pytest.mark.parametrize(
    ("deltas", "finish", "reason"),
    [
        ([{"refusal": "I can't"}, {"refusal": " help."}], "stop", "refusal"),
        ([{"content": "beg"}], "content_filter", "refusal"),
        ([{"content": "half"}], "length", "length"),
    ],
)
async def test_an_end_is_told_for_what_it_is(deltas: list[Json], finish: str, reason: str, endpoint: Endpoint) -> None:
    events = await ask(endpoint, streamed(*deltas, finish=finish))
    assert of(Stopped, events)[0].reason == reason


def test_a_request_of_the_version_before_still_gets_its_thinking_back() -> None:
    wire = make_wire(config_at("openai-compatible", "http://127.0.0.1:1"), KEY)
    thought = ThinkingBlock(text="hm", opaque={"field": "reasoning"})
    request: ModelRequest = said("hi", Message("assistant", (thought, CallBlock(id="c", name="think", arguments={}))))
    assert json.loads(wire.body(request))["messages"][2]["reasoning"] == "hm"


@pytest.mark.parametrize(
    ("more", "output", "written"),
    [
        ({"total_tokens": 120, "completion_tokens_details": {"reasoning_tokens": 15}}, 20, 0),
        # As xAI documents it: thinking is beside the answer, and in the total.
        ({"total_tokens": 220, "completion_tokens_details": {"reasoning_tokens": 100}}, 120, 0),
        ({"total_tokens": 120, "prompt_tokens_details": {"cached_tokens": 10, "cache_write_tokens": 50}}, 20, 50),
    ],
)
def test_thinking_and_what_was_written_to_a_cache_are_counted_once(more: Json, output: int, written: int) -> None:
    usage = _counted({"prompt_tokens": 100, "completion_tokens": 20} | more)
    assert usage is not None
    assert (usage.input, usage.output, usage.cache_write) == (100, output, written)
