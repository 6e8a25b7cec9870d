"""What a provider answered goes back to it block by block and field by field, by way of the database."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest

from pilothouse.agent.history import history
from pilothouse.agent.turn import TurnWriter, take_turn
from pilothouse.models.answer import Answer
from pilothouse.models.factory import make_wire
from pilothouse.models.tool_calling import ToolCalling
from pilothouse.types.items import Item, TurnId
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import ModelRequest, ToolSpec
from pilothouse.types.models import ModelConfig, Provider
from tests.agent.items import A_MODEL
from tests.agent.run_bench import Bench, StreamOf

Json = dict[str, Any]
THINK = ToolSpec("think", "Think.", {"type": "object"})


def config(provider: Provider) -> ModelConfig:
    return ModelConfig(name="m", id="m", provider=provider, model="m", base_url="http://127.0.0.1:1")


async def about(name: str, arguments: JsonObject | str | None, _item_id: str) -> JsonObject:
    return {"tool": name} | ({"arguments": arguments} if isinstance(arguments, dict) else {})


async def answered(bench: Bench, provider: Provider, events: Sequence[Json]) -> list[Item]:
    """Let a provider answer with these events; return the conversation's items, calls carried out."""
    answer = Answer()
    reader = make_wire(config(provider)).reader(answer)
    for event in events:
        reader.feed(json.dumps(event).encode())
    reader.finish()
    model = ToolCalling(StreamOf(answer.take()), config(provider), 1)
    writer = TurnWriter(bench.journal, TurnId(1, 1), A_MODEL, about)
    assert await take_turn(model, ModelRequest(messages=(), tools=(THINK,)), writer) is None
    items = await bench.kept()
    return [msgspec.structs.replace(one, status="completed") if one.kind == "tool_call" else one for one in items]


def request(provider: Provider, items: Sequence[Item]) -> Json:
    sent: Json = json.loads(make_wire(config(provider)).body(ModelRequest(messages=history(items))))
    return sent


# --- Anthropic ---


def anthropic(content: Sequence[Json], stop: str = "end_turn") -> Iterator[Json]:
    """Yield the stream by which a message with this content arrives."""
    yield {"type": "message_start", "message": {"id": "msg_1", "content": [], "usage": {"input_tokens": 1}}}
    for index, block in enumerate(content):
        begun, deltas = _begun(block)
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 2}}
    yield {"type": "message_stop"}


def _begun(block: Json) -> tuple[Json, list[Json]]:
    match block["type"]:
        case "text":
            cites = [{"type": "citations_delta", "citation": one} for one in block.get("citations", ())]
            spoken = [{"type": "text_delta", "text": piece} for piece in (block["text"][:3], block["text"][3:])]
            return {"type": "text", "text": "", "citations": None}, [*spoken, *cites]
        case "thinking":
            signed = {"type": "signature_delta", "signature": block["signature"]}
            said = [{"type": "thinking_delta", "thinking": block["thinking"]}] if block["thinking"] else []
            return {"type": "thinking", "thinking": "", "signature": ""}, [*said, signed]
        case "tool_use" | "server_tool_use":
            given = json.dumps(block["input"])
            pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", given[:4], given[4:])]
            return {**block, "input": {}}, pieces
        case "compaction":
            return {"type": "compaction", "content": None}, [{"type": "compaction_delta", "content": block["content"]}]
        case _:
            return block, []


def thought(text: str, signature: str) -> Json:
    return {"type": "thinking", "thinking": text, "signature": signature}


def text(words: str, **more: object) -> Json:
    return {"type": "text", "text": words, **more}


CALL: Json = {"type": "tool_use", "id": "toolu_1", "name": "think", "input": {"a": 1}}
CITATION: Json = {
    "type": "web_search_result_location",
    "cited_text": "c",
    "encrypted_index": "EI",
    "title": "T",
    "url": "https://e.example/",
}
PAGE: Json = {"type": "web_search_result", "url": "https://e.example/", "title": "T", "encrypted_content": "ENC"}
SEARCH: list[Json] = [
    {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {"query": "x"},
        "caller": {"type": "direct"},
    },
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [PAGE]},
]


@pytest.mark.parametrize(
    "content",
    [
        [
            thought("hm", "S1"),
            text("I will search. "),
            *SEARCH,
            thought("now", "S2"),
            text("cited", citations=[CITATION]),
            text(" end"),
        ],
        [*SEARCH, CALL],
        [*SEARCH],
        [thought("t1", "S1"), text("A"), thought("t2", "S2"), text("B"), CALL],
        [{"type": "redacted_thinking", "data": "REDACTED"}, thought("", "S"), CALL],
        [thought("a", "S1"), thought("b", "S2"), text("One."), text("Two.")],
        [text("x"), {"type": "container_upload", "file_id": "f_1"}],
        [{"type": "compaction", "content": "so far"}, text("x")],
        [text("Ünï 🚀", citations=[CITATION]), text("cöde 🚀"), {**CALL, "caller": {"type": "code", "tool_id": "s"}}],
    ],
    ids=[
        "search",
        "search, call",
        "only search",
        "interleaved",
        "redacted",
        "joined",
        "upload",
        "compaction",
        "fields",
    ],
)
async def test_an_anthropic_answer_goes_back_as_it_came(bench: Bench, content: list[Json]) -> None:
    items = await answered(bench, "anthropic-compatible", list(anthropic(content)))
    sent = request("anthropic-compatible", items)["messages"]
    assert [message["role"] for message in sent][:2] == ["user", "assistant"]
    assert sent[1]["content"] == content


async def test_a_field_of_a_citation_that_the_provider_does_not_take_back_is_left_out(bench: Bench) -> None:
    place = {"type": "char_location", "cited_text": "c", "document_index": 0, "document_title": "Book"}
    said = text("cited", citations=[{**place, "file_id": None}])
    items = await answered(bench, "anthropic-compatible", list(anthropic([said])))
    assert request("anthropic-compatible", items)["messages"][1]["content"] == [text("cited", citations=[place])]
    assert items[-1].raw["sources"] == [{"url": "", "title": "Book", "quote": "c"}]


async def test_a_field_and_a_delta_that_nobody_knows_yet_come_back(bench: Bench) -> None:
    [start, begun, *middle, end] = list(anthropic([text("abcdef")]))[:-2]
    begun["content_block"]["colour"] = "blue"
    news = [{"type": "mood_delta", "mood": piece} for piece in ("hap", "py")]
    more = [{"type": "content_block_delta", "index": 0, "delta": delta} for delta in news]
    last = list(anthropic([]))[1:]
    items = await answered(bench, "anthropic-compatible", [start, begun, *middle, *more, end, *last])
    sent = request("anthropic-compatible", items)["messages"][1]["content"]
    assert sent == [text("abcdef", colour="blue", mood="happy")]


async def test_a_search_that_was_cut_off_is_not_sent_back_without_its_result(bench: Bench) -> None:
    items = await answered(bench, "anthropic-compatible", list(anthropic([text("So"), SEARCH[0]], "max_tokens")))
    later = Item(**{**msgspec.structs.asdict(items[0]), "id": "later", "position": 99, "run_id": "later"})
    assert request("anthropic-compatible", [*items, later])["messages"][1]["content"] == [text("So")]


async def test_a_search_that_the_provider_wants_to_go_on_with_is_sent_back_open(bench: Bench) -> None:
    items = await answered(bench, "anthropic-compatible", list(anthropic([text("So"), SEARCH[0]], "pause_turn")))
    assert request("anthropic-compatible", items)["messages"][1]["content"] == [text("So"), SEARCH[0]]


# --- Responses ---


def responses(output: Sequence[Json]) -> Iterator[Json]:
    """Yield the stream by which a response with these items arrives."""
    yield {"type": "response.created", "response": {"id": "resp_1"}}
    for index, item in enumerate(output):
        place = {"output_index": index, "item_id": item.get("id")}
        yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "status": "in_progress"}}
        for number, part in enumerate(item.get("content", ()) if item["type"] == "message" else ()):
            kind = "refusal" if part["type"] == "refusal" else "output_text"
            words = part.get("refusal") or part.get("text")
            yield {"type": f"response.{kind}.delta", "content_index": number, "delta": words, "logprobs": [], **place}
            yield {"type": f"response.{kind}.done", "content_index": number, "text": words, **place}
        if item["type"] == "function_call":
            yield {"type": "response.function_call_arguments.delta", "delta": item["arguments"], **place}
        if item["type"] == "reasoning":
            for part in item["summary"]:
                yield {"type": "response.reasoning_summary_text.delta", "delta": part["text"], **place}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": {"usage": {"input_tokens": 1, "output_tokens": 1}}}


def reasoning(id: str) -> Json:
    return {"type": "reasoning", "id": id, "summary": [{"type": "summary_text", "text": "s"}], "encrypted_content": id}


def message(id: str, words: str, *annotations: Json, **more: object) -> Json:
    part = {"type": "output_text", "text": words, "annotations": list(annotations)}
    return {"type": "message", "id": id, "role": "assistant", "status": "completed", "content": [part], **more}


def function_call(id: str) -> Json:
    about = {"type": "function_call", "id": f"fc_{id}", "call_id": id, "name": "think", "status": "completed"}
    return {**about, "arguments": '{"a":1}'}


WEB_SEARCH: Json = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "x"},
}
NOTE: Json = {"type": "url_citation", "start_index": 0, "end_index": 5, "title": "T", "url": "https://e.example/"}


@pytest.mark.parametrize(
    "output",
    [
        [reasoning("rs_1"), WEB_SEARCH, reasoning("rs_2"), message("msg_1", "cited", NOTE)],
        [reasoning("rs_1"), function_call("call_1"), reasoning("rs_2"), function_call("call_2")],
        [reasoning("rs_1"), message("msg_1", "look", phase="commentary"), function_call("call_1")],
        [{"type": "quantum_call", "id": "q_1", "x": {"y": [1]}}, message("msg_1", "after")],
        [message("msg_1", "One."), message("msg_2", "Two.", NOTE, phase="final_answer")],
        [
            {
                **message("msg_1", "Ünï 🚀"),
                "content": [
                    {"type": "output_text", "text": "Ünï 🚀", "annotations": [NOTE]},
                    {"type": "refusal", "refusal": "no"},
                ],
            }
        ],
    ],
    ids=["search", "in turns", "phase", "unknown", "two messages", "two parts"],
)
async def test_a_response_goes_back_as_it_came(bench: Bench, output: list[Json]) -> None:
    items = await answered(bench, "openai-responses", list(responses(output)))
    sent = request("openai-responses", items)["input"]
    assert [item for item in sent[1:] if item["type"] != "function_call_output"] == output


async def test_events_of_kinds_that_nobody_knows_yet_pass(bench: Bench) -> None:
    strange: list[Json] = [
        {"type": "response.quantum.delta", "delta": {"a": 1}, "item_id": 7, "output_index": "zero"},
        {"type": "response.shell_call_output_content.delta", "delta": {"stdout": "x"}, "item_id": "i"},
        {"type": "response.mood", "item": "blue", "response": [], "error": None},
    ]
    items = await answered(bench, "openai-responses", [*strange, *responses([message("msg_1", "after")])])
    assert items[-1].text == "after"


async def test_a_message_that_comes_only_whole_is_said(bench: Bench) -> None:
    whole = [event for event in responses([message("msg_1", "whole")]) if not event["type"].endswith("text.delta")]
    items = await answered(bench, "openai-responses", whole)
    assert items[-1].text == "whole"
    assert request("openai-responses", items)["input"][1:] == [message("msg_1", "whole")]


async def test_sources_of_a_response_are_kept(bench: Bench) -> None:
    named = {"type": "file_citation", "file_id": "f", "filename": "a.pdf", "index": 0}
    items = await answered(bench, "openai-responses", list(responses([message("msg_1", "cited", NOTE, named)])))
    assert items[-1].raw["sources"] == [
        {"url": "https://e.example/", "title": "T", "quote": ""},
        {"url": "", "title": "a.pdf", "quote": ""},
    ]


# --- from one to the other ---


async def test_text_of_another_wire_is_a_message_that_responses_takes(bench: Bench) -> None:
    content = [text("I will. "), text("I did.", citations=[CITATION])]
    items = await answered(bench, "anthropic-compatible", list(anthropic(content)))
    [_, sent] = request("openai-responses", items)["input"]
    assert {name: sent[name] for name in ("type", "role", "status", "id")} == {
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "id": "msg_1",
    }
    assert "".join(part["text"] for part in sent["content"]).startswith("I will. I did.")
    assert all(part["type"] == "output_text" and part["annotations"] == [] for part in sent["content"])


@pytest.mark.parametrize("opaque", [{"wire": "openai-responses", "item": 1}, {"wire": "anthropic", "more": []}, {}])
async def test_a_proof_that_is_none_is_no_reason_to_fail(bench: Bench, opaque: JsonObject) -> None:
    items = await answered(bench, "openai-responses", list(responses([message("msg_1", "a")])))
    order = [{"text": 1, "opaque": opaque}]
    changed = [msgspec.structs.replace(one, raw={**one.raw, "order": order}) for one in items]
    for provider in ("openai-responses", "anthropic-compatible"):
        assert '"a"' in json.dumps(request(provider, changed))
