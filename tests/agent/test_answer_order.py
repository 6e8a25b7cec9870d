"""The pieces of an answer come back to the model as they stood, whatever was shown of them and however it went on."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilothouse.agent.answer_order import AnswerOrder
from pilothouse.agent.compaction import place_to_cut
from pilothouse.agent.history import history
from pilothouse.agent.turn import TurnWriter, take_turn
from pilothouse.types import limits
from pilothouse.types.items import Item, TurnId
from pilothouse.types.json import JsonObject, encode
from pilothouse.types.messages import Block, CallBlock, ImageBlock, ModelRequest, NativeBlock, TextBlock, ThinkingBlock
from pilothouse.types.stream import (
    CallEnd,
    CallStart,
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
from tests.agent.items import A_MODEL, item
from tests.agent.run_bench import Bench, StreamOf
from tests.support.pictures import a_png

SIGNED: JsonObject = {"wire": "w", "signature": "s"}
END = Stopped("end")


def call(index: int, **fields: Any) -> list[StreamEvent]:
    return [CallStart(index, f"c{index}", "think"), CallEnd(index, f"c{index}", "think", {"a": index}, "{}", **fields)]


def thought(text: str) -> list[StreamEvent]:
    return [ThinkingDelta(text), ThinkingDelta("", {"wire": "w", "thinking": text})]


async def about(name: str, arguments: JsonObject | str | None, _item_id: str) -> JsonObject:
    return {"tool": name} | ({"arguments": arguments} if arguments is not None else {})


async def answered(bench: Bench, *events: StreamEvent, turn: int = 1) -> list[Item]:
    """Take a turn; return the conversation's items as the database has them."""
    writer = TurnWriter(bench.journal, TurnId(turn, 1), A_MODEL, about)
    failure = await take_turn(StreamOf(events), ModelRequest(messages=()), writer)
    assert failure is None
    return await bench.kept()


def of_model(items: Sequence[Item]) -> list[Block]:
    """Return what the model said, as it is told it; calls count as carried out."""
    done = [msgspec.structs.replace(one, status="completed") if one.kind == "tool_call" else one for one in items]
    return [block for message in history(done) if message.role == "assistant" for block in message.content]


def short(blocks: Sequence[Block]) -> list[object]:
    """Return blocks by what tells them apart."""
    told: list[object] = []
    for block in blocks:
        match block:
            case TextBlock():
                told.append((block.text, block.opaque) if block.opaque else block.text)
            case ThinkingBlock():
                told.append({"thought": (block.opaque or {}).get("thinking")})
            case CallBlock():
                told.append(block.id)
            case NativeBlock():
                told.append([block.raw["n"]])
            case _:
                told.append(block)
    return told


async def test_thinking_text_calls_and_blocks_of_the_provider_come_back_as_they_stood(bench: Bench) -> None:
    items = await answered(
        bench,
        *thought("one"),
        TextDelta("I will "),
        TextDelta("search."),
        TextEnd(),
        NativeDelta({"n": 1}),
        NativeDelta({"n": 2}),
        *thought("two"),
        TextDelta("Cited"),
        TextEnd({"wire": "w", "citations": ["x"]}),
        TextDelta(" end."),
        TextEnd(),
        *call(0),
        Stopped("tool"),
    )
    expected = [
        {"thought": "one"},
        "I will search.",
        [1],
        [2],
        {"thought": "two"},
        ("Cited", {"wire": "w", "citations": ["x"]}),
        " end.",
        "c0",
    ]
    assert short(of_model(items)) == expected
    said = next(one for one in items if one.kind == "response")
    # What stands apart is shown as paragraphs, and nobody is told that the model said so.
    assert said.text == "I will search.\n\nCited end."


@pytest.mark.parametrize(
    ("events", "shown"),
    [
        ([TextDelta("One."), NativeDelta({"n": 1}), TextDelta("Two.")], "One.\n\nTwo."),
        ([TextDelta("One."), TextEnd(), *thought("x"), TextDelta("Two.")], "One.\n\nTwo."),
        ([TextDelta("One. "), NativeDelta({"n": 1}), TextDelta("Two.")], "One. Two."),
        ([TextDelta("One."), NativeDelta({"n": 1}), TextDelta("\nTwo.")], "One.\nTwo."),
        ([TextDelta("One"), TextEnd(SIGNED), TextDelta(", two.")], "One, two."),
        # Some servers mix the two piece by piece.
        ([TextDelta("On"), *thought("x"), TextDelta("e.")], "One."),
        ([NativeDelta({"n": 1}), TextDelta("One.")], "One."),
    ],
)
async def test_text_that_stands_apart_is_shown_apart_and_comes_back_as_it_was(
    bench: Bench, events: list[StreamEvent], shown: str
) -> None:
    items = await answered(bench, *events, END)
    said = next(one for one in items if one.kind == "response")
    assert said.text == shown
    told = [block.text for block in of_model(items) if isinstance(block, TextBlock)]
    assert told == [event.text for event in events if isinstance(event, TextDelta)]


async def test_reasoning_and_calls_in_turns_stay_in_turns(bench: Bench) -> None:
    events = [*thought("one"), *call(0), *thought("two"), *call(1), Stopped("tool")]
    assert short(of_model(await answered(bench, *events))) == [{"thought": "one"}, "c0", {"thought": "two"}, "c1"]


async def test_blocks_of_the_provider_before_a_call_stay_before_it(bench: Bench) -> None:
    events = [NativeDelta({"n": 1}), NativeDelta({"n": 2}), *call(0), Stopped("tool")]
    assert short(of_model(await answered(bench, *events))) == [[1], [2], "c0"]


async def test_text_with_nothing_but_a_proof_comes_back(bench: Bench) -> None:
    events: list[StreamEvent] = [TextDelta("So."), TextEnd(), TextEnd(SIGNED), END]
    assert short(of_model(await answered(bench, *events))) == ["So.", ("", SIGNED)]


async def test_thinking_after_such_text_stands_after_it(bench: Bench) -> None:
    events: list[StreamEvent] = [*thought("one"), TextEnd(SIGNED), *thought("two"), *call(0), Stopped("tool")]
    told = [{"thought": "one"}, ("", SIGNED), {"thought": "two"}, "c0"]
    assert short(of_model(await answered(bench, *events))) == told


async def test_sealed_thinking_stands_where_it_was_sealed(bench: Bench) -> None:
    events: list[StreamEvent] = [TextDelta("So."), TextEnd(SIGNED), ThinkingDelta("hm"), TextDelta("And."), TextEnd()]
    told = [("So.", SIGNED), {"thought": None}, "And.", {"thought": "two"}, "c0"]
    items = await answered(bench, *events, *thought("two"), *call(0), Stopped("tool"))
    assert short(of_model(items)) == told


async def test_no_text_stands_on_disk_twice(bench: Bench) -> None:
    text = "word " * 20_000
    items = await answered(bench, *thought("x"), TextDelta(text), TextEnd(SIGNED), NativeDelta({"n": 1}), END)
    said = next(one for one in items if one.kind == "response")
    assert said.raw["order"] == ["thinking", {"text": len(text), "opaque": SIGNED}, "native"]
    assert len(encode(said.raw)) < 1_000


@pytest.mark.parametrize(
    "events",
    [
        [TextDelta("a"), TextEnd(), END],
        [*thought("x"), TextDelta("a"), TextEnd(), *call(0), *call(1), Stopped("tool")],
        [*call(0), TextDelta("a"), Stopped("tool")],
        [TextDelta("a"), NativeDelta({"n": 1}), *call(0), Stopped("tool")],
        [*thought("x"), NativeDelta({"n": 1}), NativeDelta({"n": 2}), END],
    ],
)
async def test_an_order_that_the_items_have_by_themselves_takes_no_room(
    bench: Bench, events: list[StreamEvent]
) -> None:
    items = await answered(bench, *events)
    assert not any("order" in one.raw for one in items)


PIECES = st.sampled_from(["text", "signed text", "thought", "plain thought", "call", "native"])


@given(st.lists(PIECES, max_size=12))
@settings(max_examples=300)
def test_any_order_is_kept_exactly(kinds: list[str]) -> None:
    """Play a turn's items as the writer makes them, and compare with what was said, piece by piece."""
    order, played = AnswerOrder(), _Played()
    for number, kind in enumerate(kinds):
        played.play(order, kind, number)
    items = played.items(order)
    wanted = played.wanted if any(not isinstance(one, dict) for one in played.wanted) else []
    assert short(of_model(items)) == wanted


class _Played:
    """A turn that is made up piece by piece: its items, and how they stood."""

    def __init__(self) -> None:
        self.wanted: list[object] = []
        self._items: list[Item] = []
        self._text = ""
        self._natives: list[JsonObject] = []
        self._place = 0

    def play(self, order: AnswerOrder, kind: str, number: int) -> None:
        match kind:
            case "text" | "signed text":
                self._say(order, f"é{number} ", {"wire": "w", "n": number} if kind == "signed text" else None)
            case "thought" | "plain thought":
                order.add("thinking")
                opaque = [{"wire": "w", "thinking": f"{number}"}] if kind == "thought" else []
                self._add("thinking", "hm", opaque=opaque)
                self.wanted.append({"thought": f"{number}" if opaque else None})
            case "call":
                order.add("call")
                self._add("tool_call", "ok", tool="think", callId=f"c{number}", arguments={})
                self.wanted.append(f"c{number}")
            case _:
                order.add("native")
                self._natives.append({"n": number})
                self.wanted.append([number])

    def _say(self, order: AnswerOrder, text: str, opaque: JsonObject | None) -> None:
        if not self._text:
            self._place = len(self._items)
            self._add("response", "")
        self._text += text
        order.length += len(text)
        order.text_ended(opaque)
        self.wanted.append((text, opaque) if opaque else text)

    def _add(self, kind: Any, text: str, **data: object) -> None:
        self._items.append(item(len(self._items) + 1, kind, text, turn="1.1", **data))

    def items(self, order: AnswerOrder) -> list[Item]:
        if not self._text:
            self._place = len(self._items)
            self._add("response", "")
        kept = order.kept()
        data: JsonObject = {"turn": "1.1"} | ({"native": self._natives} if self._natives else {})
        data |= {"order": kept} if kept is not None else {}
        said = msgspec.structs.replace(self._items[self._place], text=self._text, raw=data)
        return [*self._items[: self._place], said, *self._items[self._place + 1 :]]


@pytest.mark.parametrize("order", [["native"], ["call", "call", 2], [1], [5], "no", [{"picture": 0}, 2]])
def test_an_order_that_does_not_fit_its_items_is_no_reason_to_fail(order: object) -> None:
    """An imported conversation may say anything."""
    items = [item(1, "response", "ab", turn="1.1", order=order)]
    assert short(of_model(items)) == ["ab"]


def test_an_answer_that_was_stopped_is_told_as_its_words() -> None:
    opaque = [{"wire": "w", "thinking": "t"}]
    items = [
        item(1, "user_message", "one", "completed", "a"),
        item(2, "thinking", "t", "completed", "a", turn="1.1", opaque=opaque),
        item(3, "response", "Half", "cancelled", "a", turn="1.1"),
        item(4, "thinking", "t", "completed", "a", turn="1.1", opaque=opaque),
    ]
    assert of_model(items) == [TextBlock(text="Half")]


def test_a_summary_leaves_the_newest_turn_its_thinking() -> None:
    called: JsonObject = {"tool": "think", "callId": "c", "arguments": {}}
    items = [item(1, "user_message", "go")]
    for turn, position in ((1, 2), (2, 6)):
        tag = {"turn": f"{turn}.1"}
        items += [
            item(position, "thinking", "t", opaque=[SIGNED], **tag),
            item(position + 1, "response", "", **tag),
            item(position + 2, "tool_call", "ok", **tag, **called),
        ]
    cut = place_to_cut(items, "r1")
    assert cut is not None
    assert cut.keep_from == 6


async def test_an_answer_in_very_many_pieces_is_still_an_answer(bench: Bench) -> None:
    many = [event for _ in range(limits.ANSWER_PIECES + 1) for event in (TextDelta("a"), TextEnd(SIGNED))]
    items = await answered(bench, *many, END)
    assert short(of_model(items)) == ["a" * (limits.ANSWER_PIECES + 1)]


async def test_a_picture_that_the_model_made_is_kept_and_stands_in_its_place(bench: Bench) -> None:
    drawn = a_png(0, width=3, height=2)
    picture = PictureDelta("image/png", base64.b64encode(drawn).decode(), SIGNED)
    items = await answered(bench, TextDelta("Here: "), picture, TextDelta("Done."), END)
    said = next(one for one in items if one.kind == "response")
    [part] = said.raw["content"]
    assert (part["kind"], part["mediaType"], part["width"], part["height"]) == ("image", "image/png", 3, 2)
    assert await bench.store.part_bytes(bench.run.conversation_id, said.id, 0) == drawn
    image = ImageBlock(
        media_type="image/png", item_id=said.id, index=0, size=len(drawn), name="picture-1.png", opaque=SIGNED
    )
    assert short(of_model(items)) == ["Here: ", image, "Done."]


async def test_a_picture_that_is_none_is_told_and_the_answer_stands(bench: Bench) -> None:
    items = await answered(bench, TextDelta("Here."), PictureDelta("image/png", "?"), END)
    [notice] = [one for one in items if one.kind == "notice"]
    assert (notice.raw["code"], notice.text) == (
        "picture_left_out",
        "The model gave a picture (image/png) that cannot be shown, so it was left out.",
    )
    assert short(of_model(items)) == ["Here."]


async def test_sources_are_kept_once_each_and_mark_what_strangers_said(bench: Bench) -> None:
    cited = [Cited("https://a.example/", "A", "words"), Cited("https://a.example/", "A again"), Cited("", "A book")]
    items = await answered(bench, TextDelta("So."), *cited, Cited("https://b.example/" + "x" * 3_000, "Long"), END)
    said = next(one for one in items if one.kind == "response")
    assert said.raw["sources"] == [
        {"url": "https://a.example/", "title": "A", "quote": "words"},
        {"url": "", "title": "A book", "quote": ""},
    ]


async def test_what_the_models_side_remarks_is_told_once_in_a_conversation(bench: Bench) -> None:
    remark = Notice("left_out", "Something could not be told.")
    await answered(bench, remark, remark, TextDelta("a"), END)
    items = await answered(bench, remark, TextDelta("b"), END, turn=2)
    assert [one.text for one in items if one.kind == "notice"] == ["Something could not be told."]


async def test_pictures_of_an_answer_that_was_stopped_are_told_too(bench: Bench) -> None:
    picture = PictureDelta("image/png", base64.b64encode(a_png(0)).decode(), SIGNED)
    items = await answered(bench, TextDelta("Here."), picture, END)
    cut = [msgspec.structs.replace(one, status="cancelled") if one.kind == "response" else one for one in items]
    said, image = of_model(cut)
    assert said == TextBlock(text="Here.")
    assert isinstance(image, ImageBlock)
    assert image.opaque is None
    # What is not noted stands behind the words.
    plain = [msgspec.structs.replace(one, raw={**one.raw, "order": None}) for one in items]
    assert [type(block) for block in of_model(plain)] == [TextBlock, ImageBlock]
