"""Pictures that models make, on every wire: how they come, and how they go back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pilothouse.models.answer import Answer
from pilothouse.models.factory import make_wire
from pilothouse.models.wire import without_media
from pilothouse.types import limits
from pilothouse.types.messages import Block, CallBlock, ImageBlock, Message, ModelRequest, ResultBlock, TextBlock
from pilothouse.types.stream import NativeDelta, Notice, PictureDelta, StreamEvent
from tests.models.asking import KEY, config_at, of, text_of
from tests.support.wire_writers import Wire

URL = "data:image/png;base64,AAAA"
PICTURE = ImageBlock(media_type="image/png", data="AAAA", size=3, name="picture-1.png")
# Of the wires that take pictures from the person only.
ASIDE: tuple[Wire, ...] = ("anthropic-compatible", "openai-compatible", "ollama")
INTRODUCTION = "What you made in your last answer:"


def read(wire: Wire, *documents: object) -> list[StreamEvent]:
    """Return what is made of these documents of a stream."""
    answer = Answer()
    reader = make_wire(config_at(wire, "http://127.0.0.1:1")).reader(answer)
    for each in documents:
        reader.feed(json.dumps(each).encode())
    reader.finish()
    return answer.take()


def sent(wire: Wire, *messages: Message) -> Any:
    return json.loads(make_wire(config_at(wire, "http://127.0.0.1:1"), KEY).body(ModelRequest(messages=messages)))


def chat_delta(delta: dict[str, Any]) -> list[StreamEvent]:
    choice = {"index": 0, "delta": delta, "finish_reason": "stop"}
    return read("openai-compatible", {"choices": [choice]})


@pytest.mark.parametrize(
    "delta",
    [
        {"content": "", "images": [{"type": "image_url", "image_url": {"url": URL}, "index": 0}]},
        {"images": [{"type": "image_url", "image_url": URL}]},
        {"images": [{"url": URL}]},
        {"content": [{"type": "image_url", "image_url": {"url": URL}}]},
    ],
)
def test_gateways_send_pictures_as_addresses_that_hold_them(delta: dict[str, Any]) -> None:
    assert of(PictureDelta, chat_delta(delta)) == [PictureDelta("image/png", "AAAA")]


def test_a_picture_that_is_elsewhere_is_linked_and_its_address_cannot_end_the_link() -> None:
    events = chat_delta({"images": [{"image_url": {"url": "https://e.x/a b)(evil)](http://x\n.png"}}]})
    assert of(PictureDelta, events) == []
    assert text_of(events) == "\n\n[A picture](https://e.x/a%20b%29%28evil%29]%28http://x%0A.png)\n\n"


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "javascript:alert(1)", "", "https://e.x/" + "a" * limits.SOURCE_CHARS, None, 7]
)
def test_other_addresses_are_left_out_and_told_of(url: object) -> None:
    events = chat_delta({"images": [{"image_url": {"url": url}}]})
    assert text_of(events) == ""
    assert [notice.code for notice in of(Notice, events)] == ["picture_left_out"]


def test_a_drawing_in_letters_is_handed_on_as_no_picture() -> None:
    events = chat_delta({"images": [{"image_url": {"url": "data:image/svg+xml,<svg onload=alert(1)>"}}]})
    assert of(PictureDelta, events) == [PictureDelta("image/svg+xml", "")]


MADE = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "revised_prompt": "A cat"}


def responded(*events: dict[str, Any]) -> list[StreamEvent]:
    return read("openai-responses", *events, {"type": "response.completed", "response": {}})


def test_a_picture_of_the_responses_format_goes_back_as_the_call_that_made_it() -> None:
    where = {"output_index": 0}
    (picture,) = of(
        PictureDelta,
        responded(
            {"type": "response.output_item.added", **where, "item": {**MADE, "result": None}},
            {
                "type": "response.image_generation_call.partial_image",
                **where,
                "item_id": "ig_1",
                "partial_image_b64": "BBBB",
                "partial_image_index": 0,
            },
            {"type": "response.output_item.done", **where, "item": {**MADE, "output_format": "webp", "result": "AAAA"}},
        ),
    )
    assert (picture.media_type, picture.data) == ("image/webp", "AAAA")
    kept = ImageBlock(media_type="image/webp", data="AAAA", opaque=picture.opaque)
    body = sent("openai-responses", *said_with(kept, TextBlock(text="Here.")))
    assert body["input"][1] == {**MADE, "output_format": "webp", "result": "AAAA"}
    assert [part["type"] for part in body["input"][3]["content"]] == ["input_text"]


def test_a_picture_of_elsewhere_is_shown_to_the_responses_format_by_the_person() -> None:
    foreign = ImageBlock(media_type="image/png", data="AAAA", opaque={"wire": "gemini", "thoughtSignature": "s"})
    body = sent("openai-responses", *said_with(foreign))
    assert [part["type"] for part in body["input"][2]["content"]] == ["input_text", "input_image", "input_text"]


def test_a_picture_that_was_not_made_is_kept_as_its_provider_told_it() -> None:
    failed = {"type": "image_generation_call", "id": "ig_1", "status": "failed", "result": None}
    events = responded({"type": "response.output_item.done", "output_index": 0, "item": failed})
    assert of(PictureDelta, events) == []
    assert [event.raw["block"] for event in of(NativeDelta, events)] == [failed]


def said_with(*blocks: Block) -> tuple[Message, Message, Message]:
    ask, more = Message("user", (TextBlock(text="Draw"),)), Message("user", (TextBlock(text="Now in red"),))
    return ask, Message("assistant", blocks), more


@pytest.mark.parametrize("wire", ASIDE)
def test_a_picture_stands_with_the_next_words_where_only_people_show_pictures(wire: Wire) -> None:
    body = sent(wire, *said_with(TextBlock(text="Here."), PICTURE))
    _, answer, after = body["messages"]
    match wire:
        case "anthropic-compatible":
            assert answer["content"] == [{"type": "text", "text": "Here."}]
            assert [part["type"] for part in after["content"]] == ["text", "image", "text"]
            assert [part.get("text") for part in after["content"]] == [INTRODUCTION, None, "Now in red"]
        case "openai-compatible":
            assert answer == {"role": "assistant", "content": "Here."}
            introduced, picture, words = after["content"]
            assert (introduced["text"], words["text"]) == (INTRODUCTION, "Now in red")
            assert picture["image_url"] == {"url": URL}
        case _:
            assert "images" not in answer
            assert after == {"role": "user", "content": f"{INTRODUCTION}\n\nNow in red", "images": ["AAAA"]}


@pytest.mark.parametrize("wire", ASIDE)
def test_an_answer_that_is_only_a_picture_is_not_sent_empty(wire: Wire) -> None:
    _, answer, _ = sent(wire, *said_with(PICTURE))["messages"]
    content = answer["content"]
    assert (content if isinstance(content, str) else content[0]["text"]) == "[a picture]"


def test_pictures_beside_calls_stand_after_the_results() -> None:
    call = CallBlock(id="c", name="think", arguments={})
    result = Message("user", (ResultBlock(id="c", name="think", text="ok"),))
    body = sent("anthropic-compatible", *said_with(PICTURE, call)[:2], result)
    assert [part["type"] for part in body["messages"][2]["content"]] == ["tool_result", "text", "image"]
    chat = sent("openai-compatible", *said_with(PICTURE, call)[:2], result)
    assert [message["role"] for message in chat["messages"]] == ["user", "assistant", "tool", "user"]


@pytest.mark.parametrize("wire", [*ASIDE, "gemini", "openai-responses"])
def test_requests_with_pictures_go_on_extending_each_other(wire: Wire) -> None:
    encoder = make_wire(config_at(wire, "http://127.0.0.1:1"), KEY)
    talk = [*said_with(TextBlock(text="Here."), PICTURE)]
    first = encoder.body(ModelRequest(messages=tuple(talk)))
    talk += [Message("assistant", (TextBlock(text="Red."), PICTURE)), Message("user", (TextBlock(text="Thanks"),))]
    second = encoder.body(ModelRequest(messages=tuple(talk)))
    mark = b',"cache_control":{"type":"ephemeral"}'
    first, second = first.replace(mark, b""), second.replace(mark, b"")
    assert second.startswith(first[: first.rindex(b"]")])


def test_a_provider_that_takes_no_pictures_is_told_of_them_in_words() -> None:
    request = without_media(ModelRequest(messages=said_with(TextBlock(text="Here."), PICTURE)))
    said, picture = request.messages[1].content
    assert said == TextBlock(text="Here.")
    assert isinstance(picture, TextBlock)
    assert picture.text == "[Not shown: image/png, 3 bytes, picture-1.png; the provider did not take it.]"
