"""Gemini's own ways: parts come back as they came, sources, stops, pictures, and its tools beside others."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from pilothouse.models.answer import Answer
from pilothouse.models.factory import make_wire
from pilothouse.types import limits
from pilothouse.types.messages import (
    Block,
    CallBlock,
    ImageBlock,
    Message,
    ModelRequest,
    NativeBlock,
    TextBlock,
    ThinkingBlock,
)
from pilothouse.types.selection import NativeTools
from pilothouse.types.stream import (
    CallEnd,
    Cited,
    NativeDelta,
    Notice,
    PictureDelta,
    Stopped,
    StreamEvent,
    TextDelta,
    TextEnd,
    ThinkingDelta,
)
from tests.models.asking import KEY, answer_of, config_at, model_at, of, said, text_of
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.wire_writers import Say, Text

SIGNED = {"thoughtSignature": "U0lHTkFUVVJF"}
PNG = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
CODE = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
SEARCH = NativeTools(web_search=True)


def chunk(*parts: dict[str, Any], finish: str = "", **fields: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0, **fields}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})]}


def read(*chunks: dict[str, Any]) -> list[StreamEvent]:
    """Return what is made of these chunks."""
    answer = Answer()
    reader = make_wire(config_at("gemini", "http://127.0.0.1:1")).reader(answer)
    for each in chunks:
        reader.feed(json.dumps(each).encode())
    reader.finish()
    return answer.take()


def body(request: ModelRequest, model: str = "gemini-3-pro") -> Any:
    return json.loads(make_wire(config_at("gemini", "http://127.0.0.1:1", model=model), KEY).body(request))


def sent_back(events: list[StreamEvent], model: str = "gemini-3-pro") -> list[dict[str, Any]]:
    """Return the parts that a request has for an answer, whose blocks are as its events were."""
    blocks: list[Block] = []
    text = thought = ""
    for event in events:
        match event:
            case TextDelta():
                text += event.text
            case TextEnd():
                blocks.append(TextBlock(text=text, opaque=event.opaque))
                text = ""
            case ThinkingDelta(opaque=None):
                thought += event.text
            case ThinkingDelta():
                blocks.append(ThinkingBlock(text=thought, opaque=event.opaque))
            case CallEnd():
                arguments = event.arguments or {}
                blocks.append(CallBlock(id=event.id, name=event.name, arguments=arguments, opaque=event.opaque))
            case PictureDelta():
                blocks.append(ImageBlock(media_type=event.media_type, data=event.data, opaque=event.opaque))
            case NativeDelta():
                blocks.append(NativeBlock(raw=event.raw))
            case _:
                continue
    blocks += [TextBlock(text=text)] if text else []
    messages = (Message("user", (TextBlock(text="hi"),)), Message("assistant", tuple(blocks)))
    parts: list[dict[str, Any]] = body(ModelRequest(messages=messages), model)["contents"][1]["parts"]
    return parts


@pytest.mark.parametrize(
    "parts",
    [
        [{"text": "before "}, CODE | SIGNED, {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}],
        [{"text": "plain "}, {"text": "signed", **SIGNED}, {"text": " plain again"}],
        [{"text": "first", **SIGNED}, {"text": "second", "thoughtSignature": "b3RoZXI="}],
        [{"text": "done"}, {"text": "", **SIGNED}],
        [{"text": "here"}, PNG | SIGNED, {"text": "and"}, PNG | {"thoughtSignature": "b3RoZXI="}],
        [PNG],
        [{"text": "a thought", "thought": True, **SIGNED}, {"text": "said"}],
        [{"quantumState": {"spin": "up"}, **SIGNED}, {"text": "after"}],
        [{"functionCall": {"id": "a", "name": "think", "args": {"x": 1}}, "partMetadata": {"k": "v"}, **SIGNED}],
        [{"functionCall": {"id": "a", "name": "think", "args": {}}, **SIGNED}, {"text": "and this"}],
        [{"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["x"]}}, **SIGNED}],
    ],
)
def test_every_part_comes_back_with_what_came_with_it_and_in_its_place(parts: list[dict[str, Any]]) -> None:
    streamed = read(*(chunk(part) for part in parts), chunk(finish="STOP"))
    assert sent_back(streamed) == parts
    assert sent_back(read(chunk(*parts, finish="STOP"))) == parts


def test_text_that_streams_in_pieces_is_one_part() -> None:
    assert sent_back(read(chunk({"text": "Hel"}), chunk({"text": "lo"}), chunk(finish="STOP"))) == [{"text": "Hello"}]


def test_a_signature_of_an_earlier_version_is_still_sent() -> None:
    call = CallBlock(id="a", name="think", arguments={}, opaque=dict(SIGNED))
    messages = (Message("assistant", (ThinkingBlock(text="hm", opaque=dict(SIGNED)), call)),)
    assert body(ModelRequest(messages=messages))["contents"][0]["parts"] == [
        {"text": "", **SIGNED},
        {"functionCall": {"id": "a", "name": "think", "args": {}}, **SIGNED},
    ]


def test_what_another_wire_gave_with_a_block_is_not_sent() -> None:
    foreign = {"wire": "anthropic", "thoughtSignature": "x", "citations": []}
    blocks = (
        TextBlock(text="said", opaque=foreign),
        ThinkingBlock(text="hm", opaque=foreign),
        ImageBlock(media_type="image/png", data="AAAA", opaque=foreign),
        CallBlock(id="a", name="think", arguments={}, opaque=foreign),
    )
    assert body(ModelRequest(messages=(Message("assistant", blocks),)))["contents"][0]["parts"] == [
        {"text": "said"},
        PNG,
        {"functionCall": {"id": "a", "name": "think", "args": {}}},
    ]


def test_sketches_of_thinking_are_no_pictures_of_the_answer() -> None:
    events = read(chunk(PNG | {"thought": True}), chunk(PNG, finish="STOP"))
    assert len(of(PictureDelta, events)) == 1
    assert of(NativeDelta, events) == []


def test_a_sound_too_large_to_be_kept_is_told_of() -> None:
    sound = {"inlineData": {"mimeType": "audio/L16", "data": "A" * limits.NATIVE_BYTES}}
    events = read(chunk(sound, finish="STOP"))
    assert of(NativeDelta, events) == []
    assert "audio/L16" in of(Notice, events)[0].text


def test_only_the_first_of_several_answers_is_taken() -> None:
    both = chunk({"text": "first"}, finish="STOP")
    both["candidates"].append({"index": 1, "content": {"parts": [{"text": "SECOND"}]}, "finishReason": "SAFETY"})
    alone = {"candidates": [both["candidates"][1]]}
    events = read(both, alone)
    assert text_of(events) == "first"
    assert of(Stopped, events) == [Stopped("end", "STOP")]


def test_grounding_becomes_sources_each_told_once() -> None:
    grounding = {
        "groundingChunks": [
            {"web": {"uri": "https://e.x/a", "title": "A"}},
            {"retrievedContext": {"uri": "https://e.x/b", "title": "B"}},
            {"web": {}},
        ],
        "groundingSupports": [
            {"segment": {"startIndex": 0, "endIndex": 5, "text": "cited"}, "groundingChunkIndices": [0, 7]},
            {"segment": None, "groundingChunkIndices": [1]},
        ],
        "webSearchQueries": ["x"],
    }
    citations = {"citationSources": [{"uri": "https://e.x/c", "license": ""}], "citations": None}
    events = read(
        chunk({"text": "cited"}, groundingMetadata=grounding),
        chunk(finish="STOP", groundingMetadata=grounding, citationMetadata=citations),
    )
    assert of(Cited, events) == [
        Cited("https://e.x/a", "A", "cited"),
        Cited("https://e.x/b", "B"),
        Cited("https://e.x/c", ""),
    ]
    assert isinstance(events[-1], Stopped)


@pytest.mark.parametrize("odd", [{"groundingChunks": "none"}, [], None, {"groundingChunks": [None]}])
def test_odd_grounding_does_not_lose_the_answer(odd: object) -> None:
    assert text_of(read(chunk({"text": "said"}, finish="STOP", groundingMetadata=odd))) == "said"


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("STOP", "end"),
        ("MAX_TOKENS", "length"),
        *(
            (word, "refusal")
            for word in ("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII")
        ),
        *((word, "refusal") for word in ("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION")),
        *((word, "malformed") for word in ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE")),
        *((word, "other") for word in ("OTHER", "NO_IMAGE", "IMAGE_OTHER", "TOO_MANY_TOOL_CALLS", "NEWLY_INVENTED")),
    ],
)
def test_each_reason_for_an_end_is_known(word: str, reason: str) -> None:
    assert of(Stopped, read({"candidates": [{"content": {}, "finishReason": word}]})) == [Stopped(reason, word)]  # type: ignore[arg-type]


def test_a_call_that_the_provider_could_not_read_is_told_in_its_words() -> None:
    words = "Malformed function call: print(x"
    events = read({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": words}]})
    assert of(Stopped, events) == [Stopped("malformed", words)]


# --- its own tools beside functions ---


def searching(*messages: Message) -> ModelRequest:
    return msgspec.structs.replace(said("hi", *messages), native_tools=SEARCH)


@pytest.mark.case("NAT-03")
def test_own_tools_stand_beside_functions_with_the_flag_that_allows_it() -> None:
    sent = body(searching())
    assert [next(iter(tool)) for tool in sent["tools"]] == ["googleSearch", "functionDeclarations"]
    assert sent["toolConfig"] == {"includeServerSideToolInvocations": True}
    assert "toolConfig" not in body(said("hi"))
    assert "toolConfig" not in body(msgspec.structs.replace(searching(), tools=()))


def test_the_flag_stays_while_the_history_tells_of_such_tools() -> None:
    call = {"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB"}}
    earlier = Message("assistant", (NativeBlock(raw={"wire": "gemini", "block": call}), TextBlock(text="so")))
    assert body(said("hi", earlier))["toolConfig"] == {"includeServerSideToolInvocations": True}
    older = body(said("hi", earlier), "gemini-2.5-flash")
    assert "toolConfig" not in older
    assert older["contents"][1]["parts"] == [{"text": "so"}]


async def test_a_model_of_an_earlier_generation_is_asked_without_its_own_tools_and_that_is_told(
    endpoint: Endpoint,
) -> None:
    endpoint.answer(Reply(Say((Text(["ok"]),))))
    model = model_at("gemini", endpoint.url, model="gemini-2.5-flash")
    events = await answer_of(model, searching())
    (told,) = of(Notice, events)
    assert "web search" in told.text
    assert "beside other tools" in told.text
    (asked,) = endpoint.requests
    assert [next(iter(tool)) for tool in asked.json["tools"]] == ["functionDeclarations"]
    assert of(Notice, await answer_of(model, said("hi"))) == []
    alone = msgspec.structs.replace(searching(), tools=())
    assert of(Notice, await answer_of(model, alone)) == []
    assert endpoint.requests[-1].json["tools"] == [{"googleSearch": {}}]


@pytest.mark.parametrize(
    "refusal",
    [
        "Built-in tools ({google_search}) and Function Calling cannot be combined in the same request.",
        "Tool use with function calling is unsupported",
        "Invalid JSON payload received. Unknown name \"includeServerSideToolInvocations\" at 'tool_config'",
    ],
)
async def test_a_refusal_of_both_kinds_leaves_its_own_out_and_that_is_told(endpoint: Endpoint, refusal: str) -> None:
    refused = Reply(status=400, body=json.dumps({"error": {"code": 400, "message": refusal}}).encode())
    endpoint.answer(refused, Reply(Say((Text(["ok"]),))))
    events = await answer_of(model_at("gemini", endpoint.url, model="gemini-3-pro"), searching())
    assert text_of(events) == "ok"
    assert len(of(Notice, events)) == 1
    assert [len(asked.json["tools"]) for asked in endpoint.requests] == [2, 1]
