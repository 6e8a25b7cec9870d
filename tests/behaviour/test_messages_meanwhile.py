"""A message that comes while an answer is written outlives every summary, and splits nothing of that answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pilothouse.agent.history import history
from pilothouse.types import limits
from pilothouse.types.api import CompactionWish
from tests.support.chats import ME, Chat, open_chat
from tests.support.invariants import check_messages

SUMMED_UP = {"match": "Person: ", "steps": ["They talked."]}
LATER = {"match": "And the doors", "steps": ["Green doors."]}


def thinks(words: str, *before: Any) -> list[Any]:
    return [*before, {"call": "think", "arguments": {"thoughts": words}}]


async def with_a_message_in_the_middle(chat: Chat, folder: Path) -> None:
    """Send two messages, the second while the first is being answered, and wait for the answers."""
    go = folder / "go"
    first = await chat.send("Which port?")
    await chat.until_streaming("Well,")
    second = await chat.send("And the doors?")
    go.touch()
    for run in (first, second):
        assert (await chat.settled(run.run_id)).status == "completed"


def talk(folder: Path, tokens: int = 10) -> list[Any]:
    """Return a script whose first answer is held in its middle, and has so many tokens at its end."""
    held = [{"text": "Well,"}, {"wait": 15, "until": str(folder / "go")}]
    after = {"match": "They talked", "steps": ["Port 8123, then."]}
    last = ["Port 8123, then.", {"usage": {"input": tokens, "output": 10}}]
    return [SUMMED_UP, LATER, after, thinks("alpha", *held), thinks("beta"), last]


@pytest.mark.parametrize("above", [0.0, 1.0])
async def test_a_message_that_waits_is_answered_whether_or_not_the_answer_before_it_made_room(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, above: float
) -> None:
    monkeypatch.setattr(limits, "COMPACT_ABOVE", above)
    async with open_chat(home, talk(tmp_path)) as chat:
        await with_a_message_in_the_middle(chat, tmp_path)
        assert (await chat.texts("response"))[-2:] == ["Port 8123, then.", "Green doors."]
        assert bool(await chat.items("compaction")) is (above == 0.0)


async def test_making_room_for_it_sums_up_the_whole_answer_before_it(home: Path, tmp_path: Path) -> None:
    async with open_chat(home, talk(tmp_path, tokens=400_000)) as chat:
        await with_a_message_in_the_middle(chat, tmp_path)
        assert len(await chat.items("compaction")) == 1
        messages = history(await chat.items())
        check_messages(messages)
        read = repr(messages)
        assert [word in read for word in ("And the doors?", "Green doors.")] == [True, True]
        assert [word in read for word in ("Well,", "alpha", "beta", "Port 8123")] == [False] * 4


async def test_a_summary_that_is_asked_for_meanwhile_leaves_the_message_that_waits_behind_it(
    home: Path, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    async with open_chat(home, talk(tmp_path)) as chat:
        first = await chat.send("Which port?")
        await chat.until_streaming("Well,")
        asked = await chat.api.runs.compact(ME, chat.id, CompactionWish())
        last = await chat.send("And the doors?")
        go.touch()
        for run in (first, asked, last):
            assert (await chat.settled(run.run_id)).status == "completed"
        assert (await chat.texts("response"))[-1] == "Green doors."
        read = repr(history(await chat.items()))
        assert [word in read for word in ("And the doors?", "alpha", "beta", "Port 8123")] == [
            True,
            False,
            False,
            False,
        ]
