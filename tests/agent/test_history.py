"""The history is valid, the same every time, and only ever grows at its end."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilothouse.agent.history import history, size, until_message
from pilothouse.types.items import Item, ItemKind, ItemStatus
from pilothouse.types.json import JsonObject, encode
from pilothouse.types.messages import Block, ImageBlock, NativeBlock, TextBlock, ThinkingBlock
from tests.agent.items import item
from tests.support.invariants import check_messages


class Story:
    """Items as runs write them, drawn piece by piece."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.items: list[Item] = []
        # After how many items a request could have been made, and by which run.
        self.asked: list[tuple[int, str]] = []
        self._calls = 0

    def add(self, kind: ItemKind, run: str, text: str = "", status: ItemStatus = "completed", **data: object) -> None:
        self.items.append(item(len(self.items) + 1, kind, text, status, run, **data))

    def tell(self) -> None:
        for number in range(self.draw(st.integers(1, 4))):
            run = f"r{number}"
            images = self._images()
            text = self.draw(st.sampled_from(["Hi", "Ünï 🚀", "" if images else "Hm"]))
            self.add("user_message", run, text, **images)
            for turn in range(1, self.draw(st.integers(0, 4)) + 1):
                self._turn(run, turn)
            ends: list[ItemStatus | None] = [None, "cancelled"]
            if ended := self.draw(st.sampled_from(ends)):
                self.add("response", run, "half an ans", ended, turn="9.1")
        if number and self.draw(st.booleans()):
            self._go_on(f"r{self.draw(st.integers(0, number - 1))}", number)

    def _go_on(self, run: str, latest: int) -> None:
        """Let an earlier run go on, if a later message was answered."""
        later = {f"r{number}" for number in range(int(run[1:]) + 1, latest + 1)}
        if any(one.run_id in later and one.kind == "response" for one in self.items):
            self.add("reminder", run, "Finish the earlier one.")
            for turn in range(11, self.draw(st.integers(11, 12)) + 1):
                self._turn(run, turn)

    def _images(self) -> JsonObject:
        given = self.draw(st.booleans())
        return {"content": [{"index": 0, "kind": "image", "mediaType": "image/png", "bytes": 3}]} if given else {}

    def _turn(self, run: str, turn: int) -> None:
        self.asked.append((len(self.items), run))
        attempts = self.draw(st.integers(1, 3))
        for attempt in range(1, attempts):
            self.add("thinking", run, "hm", "failed", turn=f"{turn}.{attempt}", cutOff=True)
            self.add("response", run, "brok", "failed", turn=f"{turn}.{attempt}", cutOff=True)
            self.add("notice", run, "trying again")
        tag = f"{turn}.{attempts}"
        if self.draw(st.booleans()):
            self.add("thinking", run, self.draw(st.sampled_from(["", "because"])), turn=tag, opaque=[{"sig": "x"}])
        calls = self.draw(st.integers(0, 3))
        self.add("response", run, self.draw(st.sampled_from(["", "So."])), turn=tag, stop="tool" if calls else "end")
        for _ in range(calls):
            self._calls += 1
            statuses: list[ItemStatus] = ["completed", "failed", "cancelled", "timed_out", "unknown"]
            status = self.draw(st.sampled_from(statuses))
            arguments = self.draw(st.sampled_from([{"a": 1}, None]))
            about = {"tool": "think", "callId": f"c{self._calls}", "arguments": arguments}
            self.add("tool_call", run, self.draw(st.sampled_from(["", "result"])), status, turn=tag, **about)
        if self.draw(st.booleans()):
            self.add("question", run, "Go on?", answer={"choice": "continue"})


@st.composite
def stories(draw: st.DrawFn) -> Story:
    story = Story(draw)
    story.tell()
    return story


def blocks(items: Sequence[Item]) -> list[tuple[str, bytes]]:
    return [(message.role, encode(block)) for message in history(items) for block in message.content]


@given(stories())
@settings(max_examples=200)
@pytest.mark.slow
def test_any_story_becomes_a_history_that_every_provider_takes(story: Story) -> None:
    messages = history(story.items)
    check_messages(messages)
    assert encode(messages) == encode(history(list(story.items)))
    assert size(messages) >= 0


@pytest.mark.slow
@given(stories())
@settings(max_examples=200)
def test_every_request_extends_the_one_before_it(story: Story) -> None:
    before: list[tuple[str, bytes]] = []
    for count, run in story.asked:
        now = blocks(until_message(story.items[:count], run))
        assert now[: len(before)] == before
        before = now
    assert blocks(story.items)[: len(before)] == before


@given(stories(), st.data())
@settings(max_examples=100)
@pytest.mark.slow
def test_a_message_sent_while_another_is_answered_changes_nothing_that_was_said(
    story: Story, data: st.DataObject
) -> None:
    """A second message arrives anywhere in the last run; the run's requests stay as they would have been."""
    last = max(index for index, one in enumerate(story.items) if one.kind == "user_message")
    place = data.draw(st.integers(last + 1, len(story.items)))
    run = story.items[last].run_id or ""
    meanwhile = [msgspec.structs.replace(one, position=one.position * 10) for one in story.items]
    second = item(place * 10 + 5, "user_message", "And then?", "completed", "r_later")
    meanwhile.insert(place, second)
    assert blocks(until_message(meanwhile, run)) == blocks(story.items)
    asked = history(meanwhile)
    check_messages(asked)
    assert asked[-1].role == "user"
    assert asked[-1].content[-1] == TextBlock(text="And then?")
    assert blocks(meanwhile)[:-1] == blocks(story.items)


def test_a_message_that_failed_stands_before_the_next_one() -> None:
    items = [item(1, "user_message", "one", "completed", "a"), item(4, "user_message", "two", "completed", "b")]
    answered = [*items, item(6, "response", "Both.", "completed", "b", turn="1.1")]
    assert blocks(items) == blocks(answered)[:2]


def test_half_an_answer_that_the_person_stopped_stays_for_the_next_message() -> None:
    items = [
        item(1, "user_message", "one", "completed", "a"),
        item(2, "response", "Half", "cancelled", "a", turn="1.1"),
        item(3, "user_message", "two", "completed", "b"),
    ]
    assert [message.role for message in history(items)] == ["user", "assistant", "user"]


def test_a_summary_stands_for_everything_before_the_cut() -> None:
    items = [
        item(1, "user_message", "old", "completed", "a"),
        item(2, "response", "old answer", "completed", "a", turn="1.1"),
        item(3, "user_message", "new", "completed", "b"),
        item(4, "compaction", "They talked.", "completed", "b", keepFrom=3),
    ]
    [message] = history(items)
    summary, new = message.content
    assert isinstance(summary, TextBlock)
    assert summary.text.endswith("They talked.")
    assert new == TextBlock(text="new")


@pytest.mark.parametrize("status", ["failed", "cancelled", "streaming"])
def test_a_summary_that_was_not_finished_stands_for_nothing(status: ItemStatus) -> None:
    items = [item(1, "user_message", "old"), item(2, "compaction", "They", status, keepFrom=2)]
    assert history(items) == history(items[:1])


def test_images_native_blocks_and_opaque_thinking_are_replayed_verbatim() -> None:
    items = [
        item(1, "user_message", "See", content=[{"index": 0, "kind": "image", "mediaType": "image/png", "bytes": 1}]),
        item(2, "thinking", "hm", turn="1.1", opaque=[{"signature": "s"}, {"data": "redacted"}]),
        item(3, "response", "A cat.", turn="1.1", native=[{"type": "search"}]),
    ]
    told: list[Block] = [block for message in history(items) for block in message.content]
    assert told == [
        ImageBlock(media_type="image/png", item_id=items[0].id, index=0, size=1),
        TextBlock(text="See"),
        ThinkingBlock(text="hm", opaque={"signature": "s"}),
        ThinkingBlock(text="", opaque={"data": "redacted"}),
        TextBlock(text="A cat."),
        NativeBlock(raw={"type": "search"}),
    ]


@pytest.mark.parametrize("answered", [0, 5_000])
def test_many_messages_that_nobody_answered_are_put_in_order_at_once(answered: int) -> None:
    items = [item(1, "user_message", "Hi", "completed", "r0")]
    items += [item(number, "response", "…", "completed", "r0", turn=f"{number}.1") for number in range(2, answered)]
    items += [
        item(answered + number, "user_message", "Hello?", "completed", f"u{number}") for number in range(2, 5_000)
    ]
    began = time.process_time()
    messages = history(items)
    assert time.process_time() - began < 1
    assert len(messages) == (3 if answered else 1)
