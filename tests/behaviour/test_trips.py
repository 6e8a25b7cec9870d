"""How often the store is asked, a file is looked at and something is logged: what a round of the loop costs."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pilothouse.models.scripted import ScriptedModel
from pilothouse.store.database import Database
from pilothouse.types import limits
from pilothouse.types.messages import ModelRequest
from pilothouse.types.stream import StreamEvent
from tests.support.chats import open_chat
from tests.support.tools import ToolOf, give_tools
from tests.support.waiting import eventually

# A message is admitted and kept; its run is claimed, told what it begins with and of the person's list, and followed.
BEFORE_THE_MODEL_IS_ASKED = 6
# A round is an answer with one call and its result: one write, there and back; a look at the rules when the call is
# decided about and one when its permit is used up; the steps of the call in one record.
HAND_OVERS, LOOKS_AT_FILES, RECORDS = 2, 2, 1


def counted(monkeypatch: pytest.MonkeyPatch, *names: str) -> list[str]:
    """Return where each trip of these kinds is noted from now on."""
    trips: list[str] = []
    for name in names:
        monkeypatch.setattr(Database, name, _noting(getattr(Database, name), name, trips))
    return trips


def _noting(done: Callable[..., Any], name: str, trips: list[str]) -> Callable[..., Any]:
    async def noted(*args: Any, **more: Any) -> Any:
        trips.append(name)
        return await done(*args, **more)

    return noted


async def test_the_store_is_asked_six_times_before_the_model_is(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_chat(home, ["Done."]) as chat:
        await chat.say()
        # Whoever has ended looks for what is next.
        await chat.host.executor.idle.wait()
        trips = counted(monkeypatch, "read", "look", "write")

        async def asked() -> bool | None:
            # No reader but the run's own, which follows what the person wants of it.
            return "asked" in trips or None

        stream = ScriptedModel.stream

        def noted(model: ScriptedModel, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
            trips.append("asked")
            return stream(model, request)

        monkeypatch.setattr(ScriptedModel, "stream", noted)
        accepted = await chat.send("Again")
        await eventually(asked, "the model to be asked")
        assert trips.index("asked") <= BEFORE_THE_MODEL_IS_ASKED
        await chat.settled(accepted.run_id)


def noting(monkeypatch: pytest.MonkeyPatch, counts: Counter[str], name: str, *places: tuple[Any, str]) -> None:
    """Count the calls of these functions under a name."""
    for owner, function in places:
        real = getattr(owner, function)

        def noted(*args: Any, _real: Callable[..., Any] = real, **more: Any) -> Any:
            counts[name] += 1
            return _real(*args, **more)

        monkeypatch.setattr(owner, function, noted)


async def test_what_a_round_costs_beside_its_work(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Whatever goes by the clock counts on no machine, however slow it is.
    monkeypatch.setattr(limits, "CREATED_SOON", 60.0)
    counts: Counter[str] = Counter()
    loop = type(asyncio.get_running_loop())
    noting(monkeypatch, counts, "hand-overs", (ThreadPoolExecutor, "submit"), (loop, "call_soon_threadsafe"))
    noting(monkeypatch, counts, "looks at files", (os, "stat"), (os, "lstat"), (os, "fstat"))
    noting(monkeypatch, counts, "records", (logging.Logger, "handle"))

    async def run_of(rounds: int) -> Counter[str]:
        turns = [[{"call": "look", "arguments": {"at": number}}] for number in range(rounds)]
        async with open_chat(home / str(rounds), [*turns, "Done."], role="once") as chat:
            give_tools(chat.host, ToolOf("look"))
            counts.clear()
            assert (await chat.say(allow=("look",))).status == "completed"
            return counts.copy()

    few, many = await run_of(5), await run_of(25)
    each = {name: round((many[name] - few[name]) / 20) for name in many}
    # How often a file is looked at goes by the clock in part.
    assert each.pop("looks at files") <= LOOKS_AT_FILES
    assert each == {"hand-overs": HAND_OVERS, "records": RECORDS}
