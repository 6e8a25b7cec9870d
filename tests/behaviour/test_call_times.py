"""The time of a call as a person sees it: its end, more of it, silence, and what does not count."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pilothouse.agent import deadline
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemUpdated
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, CallFeedback, ToolOutput
from tests.behaviour.long_calls import Mine, open_chat_in_call, the_call, wait_for_event
from tests.support.chats import ME, open_chat
from tests.support.tools import ToolOf, give_tools

# A time that can be told from none.
LAPSE = 0.05


def _deadline(event: Event) -> float:
    return float(event.data.get("deadlineAt") or 0) if isinstance(event, ItemUpdated) else 0.0


@pytest.mark.case("TMO-08", "TMO-11", "TMO-12", "F-04", "TCL-07", "ERR-01", "ERR-02", "ERR-03")
async def test_a_call_whose_time_is_over_times_out_and_its_server_is_told(home: Path) -> None:
    mine = Mine(total=0.08)
    async with open_chat_in_call(home, mine) as (chat, run_id):
        assert (await chat.settled(run_id)).status == "completed"
        assert mine.told.is_set()
        call = await the_call(chat)
        assert call.status == "timed_out"
        assert call.raw["error"] == {
            "code": "TIMEOUT",
            "message": "Tool call timed out after 0.08s",
            "retryable": True,
        }
        assert call.text.startswith("Tool call timed out after 0.08s")
        assert (call.raw["cancellation"], call.raw["deadlineAt"]) == ("asked", None)
        assert call.raw["elapsedMs"] >= 80


@pytest.mark.case("TMO-09")
async def test_a_built_in_tool_times_out_in_its_own_words(home: Path) -> None:
    mine = Mine(total=0.05, quiet=None, server="")
    async with open_chat_in_call(home, mine) as (chat, run_id):
        await chat.settled(run_id)
        call = await the_call(chat)
        assert (call.text, call.raw["cancellation"]) == ("Operation timed out after 0.05s", "acknowledged")


@pytest.mark.case("F-04", "TMO-13")
async def test_progress_does_not_move_the_end_of_a_calls_time(home: Path) -> None:
    mine = Mine(total=0.5)
    async with open_chat_in_call(home, mine) as (chat, run_id):
        settled = asyncio.ensure_future(chat.settled(run_id))
        while not settled.done():
            assert mine.feedback is not None
            mine.feedback.progress(None, None, "still digging")
            await asyncio.wait([settled], timeout=0.03)
        call = await the_call(chat)
        assert call.raw["elapsedMs"] >= 500
        assert call.raw["error"]["message"] == "Tool call timed out after 0.5s"


class Clock:
    """What tells calls that their time is over: it stands still until time passes in the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._now = 0.0
        self._timers: list[tuple[float, Callable[[], None]]] = []
        monkeypatch.setattr(deadline, "asyncio", SimpleNamespace(get_running_loop=lambda: self))

    def time(self) -> float:
        return self._now

    def call_at(self, when: float, look: Callable[[], None]) -> Any:
        timer = (when, look)
        self._timers.append(timer)
        return SimpleNamespace(cancel=lambda: self._timers.remove(timer) if timer in self._timers else None)

    def passes(self, seconds: float) -> None:
        """Let so much time pass, and call whoever waited for it."""
        self._now += seconds
        due = [timer for timer in self._timers if timer[0] <= self._now]
        for timer in due:
            self._timers.remove(timer)
            timer[1]()


@pytest.mark.case("TMO-13")
async def test_a_person_may_keep_waiting(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = Mine(total=2, quiet=None)
    clock = Clock(monkeypatch)
    async with open_chat_in_call(home, mine) as (chat, run_id):
        call = await the_call(chat)
        told = asyncio.ensure_future(wait_for_event(chat, lambda event: _deadline(event) > call.raw["deadlineAt"]))
        clock.passes(1.5)
        await asyncio.sleep(LAPSE)
        await chat.api.runs.keep_waiting(ME, call.id)
        await told
        for _ in range(3):
            clock.passes(0.6)
            await asyncio.sleep(LAPSE)
            assert (await the_call(chat)).status == "streaming"
        clock.passes(0.3)
        await chat.settled(run_id)
        assert (await the_call(chat)).status == "timed_out"
        with pytest.raises(PilothouseError):
            await chat.api.runs.keep_waiting(ME, call.id)


@pytest.mark.case("TMO-11", "TMO-13", "PRF-03")
async def test_a_call_of_which_nothing_is_heard_goes_on_and_readers_are_told(home: Path) -> None:
    mine = Mine(quiet=0.05)
    async with open_chat_in_call(home, mine) as (chat, run_id):
        quiet = await wait_for_event(
            chat, lambda event: isinstance(event, ItemUpdated) and bool(event.data.get("quietSince"))
        )
        assert isinstance(quiet, ItemUpdated)
        assert quiet.data["quietSince"] <= time.time() - 0.05
        # Whoever comes later is told too, and a person who waits is not told of it again.
        call = await the_call(chat)
        await wait_for_event(chat, lambda event: isinstance(event, ItemUpdated) and bool(event.data.get("quietSince")))
        await chat.api.runs.keep_waiting(ME, call.id)
        await wait_for_event(
            chat, lambda event: isinstance(event, ItemUpdated) and event.data.get("quietSince", 0) is None
        )
        assert mine.feedback is not None
        mine.feedback.sign()
        await wait_for_event(chat, lambda event: isinstance(event, ItemUpdated) and bool(event.data.get("quietSince")))
        mine.go.set()
        assert (await chat.settled(run_id)).status == "completed"
        call = await the_call(chat)
        assert (call.status, call.text, call.raw["quietSince"]) == ("completed", "coal", None)


class Starting(Mine):
    """A tool whose server starts only now."""

    async def dig(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        feedback.waits("Starting Mine...")
        return await super().dig(arguments, context, feedback)


@pytest.mark.case("TMO-04", "PRF-03")
async def test_the_time_in_which_a_call_cannot_begin_is_not_its_own(home: Path) -> None:
    mine = Starting(total=0.3, quiet=0.05)
    async with open_chat_in_call(home, mine) as (chat, run_id):
        assert mine.feedback is not None
        held = await wait_for_event(chat, lambda event: isinstance(event, ItemUpdated) and "progress" in event.data)
        assert isinstance(held, ItemUpdated)
        assert (held.data["progress"]["message"], held.data["deadlineAt"]) == ("Starting Mine...", None)
        # Longer than its time: here it is what is tested.
        await asyncio.sleep(1.5 * mine.tool.times.total)
        call = await the_call(chat)
        assert (call.status, call.raw.get("quietSince")) == ("streaming", None)
        begins = time.time()
        mine.feedback.begins()
        await wait_for_event(chat, lambda event: _deadline(event) > begins)
        await chat.settled(run_id)
        assert (await the_call(chat)).status == "timed_out"


@pytest.mark.case("TMO-10")
async def test_streaming_arguments_does_not_count_as_the_tools_time(home: Path) -> None:
    async def write(arguments: JsonObject, context: CallContext) -> ToolOutput:
        # A time that was over when it began would be noticed by now.
        for _ in range(20):
            await asyncio.sleep(0)
        return ToolOutput(text=f"{len(arguments['text'].splitlines())} lines")

    slow = [{"call": "write", "arguments": {"text": "line\n" * 1000}, "pieces": 500, "every": 0.15}]
    async with open_chat(home, [slow, "Done."]) as chat:
        give_tools(chat.host, ToolOf("write", write, timeout=1.0))
        await chat.say()
        assert (await the_call(chat)).text == "1000 lines"
