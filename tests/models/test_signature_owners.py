"""Many providers speak one wire: what one of them gave and can read is not shown to another."""

from __future__ import annotations

import json

import pytest

from pilothouse.models.signature_owners import home_of_model
from pilothouse.models.translation import translated
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import (
    Block,
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
from pilothouse.types.stream import CallEnd, NativeDelta, StreamEvent, TextDelta, TextEnd, ThinkingDelta
from tests.models.asking import answer_of, config_at, model_at, said
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.wire_writers import Wire, sse

PROOF = "PROOF"
STREAM = (("content-type", "text/event-stream"),)


def _anthropic() -> list[JsonObject]:
    cited = {"type": "web_search_result_location", "url": "https://e.example/", "encrypted_index": PROOF}
    found = {"type": "web_search_result", "url": "https://e.example/", "title": "T", "encrypted_content": PROOF}
    blocks: list[tuple[JsonObject, list[JsonObject]]] = [
        (
            {"type": "thinking", "thinking": "", "signature": ""},
            [{"type": "thinking_delta", "thinking": "hm"}, {"type": "signature_delta", "signature": PROOF}],
        ),
        ({"type": "web_search_tool_result", "tool_use_id": "s1", "content": [found]}, []),
        (
            {"type": "text", "text": ""},
            [{"type": "text_delta", "text": "So."}, {"type": "citations_delta", "citation": cited}],
        ),
        ({"type": "tool_use", "id": "t1", "name": "think", "input": {}, "proof": PROOF}, []),
    ]
    events: list[JsonObject] = [{"type": "message_start", "message": {}}]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    return [*events, {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}]


def _responses() -> list[JsonObject]:
    items: list[JsonObject] = [
        {"type": "reasoning", "id": f"rs_{PROOF}", "summary": [], "encrypted_content": PROOF},
        {"type": "web_search_call", "id": f"ws_{PROOF}", "status": "completed"},
        {"type": "message", "id": f"msg_{PROOF}", "content": [{"type": "output_text", "text": "So."}]},
        {"type": "function_call", "id": f"fc_{PROOF}", "call_id": "t1", "name": "think", "arguments": "{}"},
    ]
    events: list[JsonObject] = [
        {"type": "response.output_item.done", "output_index": index, "item": item} for index, item in enumerate(items)
    ]
    return [*events, {"type": "response.completed", "response": {}}]


def _gemini() -> list[JsonObject]:
    parts: list[JsonObject] = [
        {"text": "hm", "thought": True, "thoughtSignature": PROOF},
        {"executableCode": {"code": "1"}, "thoughtSignature": PROOF},
        {"text": "So.", "thoughtSignature": PROOF},
        {"functionCall": {"id": "t1", "name": "think", "args": {}}, "thoughtSignature": PROOF},
    ]
    return [{"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}]


ANSWERS = {"anthropic-compatible": _anthropic, "openai-responses": _responses, "gemini": _gemini}


def _blocks(events: list[StreamEvent]) -> list[Block]:
    """Return an answer's pieces as they are told back."""
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    blocks: list[Block] = []
    for event in events:
        match event:
            case ThinkingDelta() if event.opaque:
                blocks.append(ThinkingBlock(text="hm", opaque=event.opaque))
            case NativeDelta():
                blocks.append(NativeBlock(raw=event.raw))
            case TextEnd() if event.opaque:
                blocks.append(TextBlock(text=text, opaque=event.opaque))
            case CallEnd():
                blocks.append(CallBlock(id=event.id, name=event.name, arguments={}, opaque=event.opaque))
            case _:
                pass
    return blocks


@pytest.mark.parametrize("wire", ANSWERS)
async def test_no_proof_goes_to_another_provider_of_the_same_wire(wire: Wire, endpoint: Endpoint) -> None:
    whole = Reply(headers=STREAM, body=b"".join(sse(event) for event in ANSWERS[wire]()))
    endpoint.answer(whole)
    here, there = (model_at(wire, f"{endpoint.url}/{place}") for place in ("here", "there"))
    blocks = _blocks(await answer_of(here, said("hi")))
    assert json.dumps([str(block) for block in blocks]).count(PROOF) >= 4
    result = ResultBlock(id="t1", name="think", text="ok")
    asked = said("hi", Message("assistant", tuple(blocks)), Message("user", (result, TextBlock(text="And?"))))
    for model in (there, here):
        await answer_of(model, asked)
    elsewhere, home = (json.dumps(one.json) for one in endpoint.requests[-2:])
    assert PROOF not in elsewhere
    assert ("So." in elsewhere, '"t1"' in elsewhere) == (True, True)
    assert home.count(PROOF) >= 4
    assert '"home"' not in home + elsewhere


def test_what_earlier_versions_kept_goes_back_on_its_wire() -> None:
    kept = (ThinkingBlock(text="hm", opaque={"wire": "anthropic", "signature": PROOF}), TextBlock(text="a"))
    request = ModelRequest(messages=(Message("assistant", kept),))
    assert translated(request, "anthropic-compatible", "a home") == (request, None)


def test_a_picture_of_another_provider_is_shown_without_its_proof() -> None:
    made = ImageBlock(media_type="image/png", data="x", opaque={"wire": "gemini", "home": "there", "x": PROOF})
    request = ModelRequest(messages=(Message("assistant", (made,)),))
    shown = translated(request, "gemini", "here")[0].messages[0].content[0]
    assert (shown.media_type, shown.opaque) == ("image/png", None)  # type: ignore[union-attr]


@pytest.mark.parametrize("provider", ["bedrock-converse", "anthropic-compatible"])
def test_what_another_providers_tools_found_is_told_to_every_wire(provider: Provider) -> None:
    found = NativeBlock(raw={"wire": "gemini", "block": {"executableCode": {"code": "1+1"}}})
    request, notice = translated(ModelRequest(messages=(Message("assistant", (found,)),)), provider)
    assert "1+1" in request.messages[0].content[0].text  # type: ignore[union-attr]
    assert notice is not None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (
            ("https://api.anthropic.com", "claude-a"),
            ("https://bedrock-runtime.us-east-1.amazonaws.com", "claude"),
            True,
        ),
        (("https://api.anthropic.com", "claude-a"), ("https://api.minimax.io/anthropic", "MiniMax-M2"), False),
        (("https://api.anthropic.com", "claude-a"), ("http://127.0.0.1:4000", "claude-a"), False),
        (("https://g.example/v1", "a-1"), ("https://g.example/v1/messages/", "a-2"), True),
        (("https://g.example/v1", "a-1"), ("https://g.example/v1", "b-1"), False),
        (("https://g.example/x", "a-1"), ("https://g.example/y", "a-1"), False),
    ],
)
def test_a_home_is_an_address_and_where_nobody_knows_it_a_family(
    one: tuple[str, str], other: tuple[str, str], same: bool
) -> None:
    first, second = (home_of_model(config_at("anthropic-compatible", url, model=name)) for url, name in (one, other))
    assert (first == second) is same
