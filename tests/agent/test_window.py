"""What fills a window is the next request, taken apart: its parts add up, and its provider's count is theirs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse.agent.history import history, size
from pilothouse.agent.requests import request_size
from pilothouse.agent.window import Filling, Opening, filling
from pilothouse.types import limits
from pilothouse.types.items import Item
from pilothouse.types.messages import ModelRequest
from tests.agent.items import item
from tests.support.tools import ToolOf

SYSTEM = "You are a helpful pilot."
TOOLS = (ToolOf("think"), ToolOf("ports__look", server="ports"), ToolOf("recall_history"))
PICTURE = {"index": 0, "kind": "image", "mediaType": "image/png", "bytes": 3}


async def filled(items: Sequence[Item], media: dict[str, int] | None = None, model: str = "m") -> Filling:
    return await filling(Opening(SYSTEM, TOOLS, media or {}, model), items)


def by_kind(found: Filling) -> dict[tuple[str, str], int]:
    return {(part.kind, part.server): part.tokens for part in found.parts}


STORY = [
    item(1, "user_message", "q" * 400 + "f" * 4_000, typedChars=400),
    item(2, "reminder", "r" * 800, before="i1", name="todos"),
    item(3, "thinking", "t" * 1_200, turn="1.1"),
    item(4, "response", "a" * 1_600, turn="1.1"),
    item(5, "tool_call", "o" * 2_000, turn="1.1", callId="c1", tool="ports__look", server="ports", arguments={}),
    item(6, "tool_call", "p" * 2_400, turn="1.1", callId="c2", tool="think", arguments={}),
    item(
        7,
        "tool_call",
        "g" * 2_800,
        turn="1.1",
        callId="c3",
        tool="file_operations",
        arguments={"operation": "read_file"},
    ),
]


async def test_each_piece_of_the_next_request_is_told_by_what_it_is() -> None:
    found = await filled(STORY)
    parts = by_kind(found)
    assert found.counted == "estimate"
    assert parts["files", ""] == (4_000 + 2_800) // 4
    assert parts["results", "ports"] == 500
    assert parts["results", ""] == 600
    assert parts["thinking", ""] == 300
    # The reminder is ours, and stands with what every request begins with.
    assert parts["system", ""] == pytest.approx((len(SYSTEM) + 800) / 4, abs=1)
    # What the person and the model said, and what the model asked for.
    assert parts["conversation", ""] == pytest.approx((400 + 1_600) / 4 + 20, abs=20)
    labels = [part.label for part in found.parts]
    assert labels[:3] == ["Instructions", "Built-in tools", "Tools of ports"]
    assert "Results of ports" in labels


async def test_the_parts_are_the_whole_request_and_nothing_else() -> None:
    specs = tuple(tool.spec for tool in TOOLS if tool.spec.name != "recall_history")
    request = ModelRequest(messages=history(STORY, offered={spec.name for spec in specs}), system=SYSTEM, tools=specs)
    found = await filled(STORY)
    assert found.used == sum(part.tokens for part in found.parts)
    assert found.used == round(request_size(request) / limits.CHARS_PER_TOKEN)


async def test_the_provider_s_count_is_shared_out_and_what_came_since_is_reckoned_at_its_rate() -> None:
    counted = item(8, "response", "z" * 400, turn="2.1", model="m", usage={"input": 30_000, "output": 50})
    alone, more = await filled(STORY), await filled([*STORY, counted])
    rate = 30_000 / alone.used
    assert more.counted == "provider"
    assert more.used == sum(part.tokens for part in more.parts)
    assert more.used == pytest.approx(30_000 + 100 * rate, rel=0.001)
    assert by_kind(more)["results", "ports"] == pytest.approx(500 * rate, abs=2)
    message = item(9, "user_message", "y" * 4_000, "completed", "r2")
    later = await filled([*STORY, counted, message])
    assert later.used == pytest.approx(more.used + 1_000 * rate, rel=0.001)


async def test_another_model_s_count_and_one_from_before_a_summary_say_nothing() -> None:
    counted = item(8, "response", "z" * 400, turn="2.1", model="m", usage={"input": 30_000, "output": 50})
    assert (await filled([*STORY, counted], model="another")).counted == "estimate"
    summary = item(9, "compaction", "s" * 4_000, keepFrom=8)
    found = await filled([*STORY, counted, summary])
    assert found.counted == "estimate"
    assert by_kind(found)["summary", ""] > 1_000
    # With a summary the model is offered to look back.
    alone = by_kind(await filled(STORY))["tools", ""]
    assert by_kind(found)["tools", ""] > alone


async def test_pictures_count_where_the_model_is_shown_them_and_nobody_fetches_one() -> None:
    looked = item(
        9, "tool_call", "see", turn="1.1", callId="c9", tool="think", arguments={}, content=[PICTURE | {"index": 1}]
    )
    items = [item(1, "user_message", "Look", content=[PICTURE]), item(2, "response", "", turn="1.1"), looked]
    seen = by_kind(await filled(items, {"image/png": 1_000_000}))
    assert seen["pictures", ""] == 2 * limits.IMAGE_CHARS // 4
    # What the person attached is shown to whom they chose; a result's picture only to who takes it.
    assert by_kind(await filled(items))["pictures", ""] == limits.IMAGE_CHARS // 4


@given(st.lists(st.integers(0, 5_000), min_size=1, max_size=12), st.integers(1, 10**7))
async def test_parts_always_add_up(sizes: list[int], count: int) -> None:
    items = [item(n + 1, "user_message", "x" * size, "completed", f"r{n}") for n, size in enumerate(sizes)]
    counted = item(99, "response", "end", "completed", "r0", turn="1.1", model="m", usage={"input": count})
    for story in (items, [*items, counted]):
        found = await filled(story)
        assert found.used == sum(part.tokens for part in found.parts)
        assert all(part.tokens >= 0 for part in found.parts)
    assert size(history(items)) == sum(sizes)
