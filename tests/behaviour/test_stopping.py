"""A program that is asked to end gives back what it was doing, and the next one goes on with it."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from pilothouse.host.address import read_address
from pilothouse.store.store import Store
from pilothouse.types.api import ConfigPatch
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, ToolOutput
from pilothouse.types.runs import Run
from pilothouse.wiring.host import open_host
from pilothouse.wiring.serving import receiving
from tests.support.chats import ME, Chat, open_chat
from tests.support.tools import ToolOf, give_tools
from tests.support.waiting import PATIENCE, eventually

WORDS = " ".join(f"w{number}" for number in range(40))
SLOW: list[Any] = [{"text": WORDS, "pieces": 4, "every": 0.1}]


async def stopped_with_one_behind(home: Path, **config: Any) -> tuple[Chat, str, str]:
    """Close a host in the middle of an answer, with a message behind it; return the chat and both runs."""
    async with open_chat(home, [SLOW, ["Next."]]) as chat:
        await chat.api.settings.update(ME, ConfigPatch(**config))
        first = await chat.send("first")
        await chat.until_streaming("w1")
        second = await chat.send("second")
    return chat, first.run_id, second.run_id


def told_how_long(home: Path, seconds: Any) -> None:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / "config.json").write_text(json.dumps({"version": "1.0", "drain_seconds": seconds}))


async def test_a_run_that_a_stop_ends_is_queued_again_and_the_next_start_finishes_it_first(home: Path) -> None:
    chat, first, second = await stopped_with_one_behind(home)
    async with open_host(home, role="server") as host:
        again = Chat(host, chat.id, chat.script)
        for run_id in (first, second):
            run = await again.settled(run_id)
            assert (run.status, run.recoveries) == ("completed", 0)
        standing = [item for item in await again.items("response") if not item.raw.get("cutOff")]
        assert [(item.run_id, item.text) for item in standing] == [(first, WORDS), (second, "Next.")]


async def test_another_process_goes_on_with_what_a_stopped_one_gave_back(home: Path, postgres_url: str) -> None:
    async with AsyncExitStack() as stack:
        async with open_chat(home, [SLOW], database_url=postgres_url, at_rest=False) as chat:
            sent = await chat.send()
            await chat.until_streaming("w1")
            # Only now: whoever is there takes what is queued.
            other = await stack.enter_async_context(open_host(home.parent / "other", postgres_url, role="server"))
        run = await Chat(other, chat.id, chat.script).settled(sent.run_id)
        assert (run.status, run.epoch, run.recoveries) == ("completed", 2, 0)


async def test_a_call_that_a_stop_cuts_off_is_told_as_unknown_and_not_repeated(home: Path) -> None:
    begun: list[str] = []

    async def for_ever(_arguments: JsonObject, context: CallContext) -> ToolOutput:
        begun.append(context.call_id)
        await asyncio.Event().wait()
        return ToolOutput("")

    async with open_chat(home, [[{"call": "wait", "arguments": {}}], "Well."]) as chat:
        give_tools(chat.host, ToolOf("wait", for_ever))
        sent = await chat.send()
        await eventually(lambda: _there(begun), "the call to begin")
    async with open_host(home, role="server") as host:
        again = Chat(host, chat.id, chat.script)
        give_tools(host, ToolOf("wait", for_ever))
        assert (await again.settled(sent.run_id)).status == "completed"
        assert [item.status for item in await again.items("tool_call")] == ["unknown"]
    assert len(begun) == 1


async def _there(begun: list[str]) -> bool:
    return bool(begun)


async def test_where_the_person_wants_to_be_asked_a_message_waits_behind_the_run_and_resume_works(home: Path) -> None:
    chat, first, second = await stopped_with_one_behind(home, resume_after_restart="ask")
    async with open_host(home, role="server") as host:
        again = Chat(host, chat.id, chat.script)
        assert (await again.api.runs.get(ME, first)).status == "interrupted"
        await host.executor.idle.wait()
        assert (await again.api.runs.get(ME, second)).status == "queued"
        await again.api.runs.resume(ME, first)
        assert (await again.settled(first)).status == "completed"
        assert (await again.settled(second)).status == "completed"
        standing = [item.run_id for item in await again.items("response") if not item.raw.get("cutOff")]
        assert standing == [first, second]


async def test_a_message_that_is_taken_back_does_not_let_those_behind_it_overtake_the_run(home: Path) -> None:
    async with open_chat(home, [SLOW, ["Next."]]) as chat:
        await chat.api.settings.update(ME, ConfigPatch(resume_after_restart="ask"))
        sent = [await chat.send("first")]
        await chat.until_streaming("w1")
        sent += [await chat.send(words) for words in ("second", "third")]
    first, second, third = (one.run_id for one in sent)
    async with open_host(home, role="server") as host:
        again = Chat(host, chat.id, chat.script)
        assert (await again.api.runs.cancel(ME, second)).status == "cancelled"
        assert await host.executor.execute(chat.id) is None
        assert (await again.api.runs.get(ME, third)).status == "queued"
        await again.api.runs.resume(ME, first)
        assert (await again.settled(third)).status == "completed"
        standing = [item.run_id for item in await again.items("response") if not item.raw.get("cutOff")]
        assert standing == [first, third]


async def test_who_resumes_a_moment_after_another_is_told_what_the_run_is_now(home: Path) -> None:
    chat, first, _ = await stopped_with_one_behind(home, resume_after_restart="ask")
    async with open_host(home, role="server") as host:
        both = await asyncio.gather(*(host.api.runs.resume(ME, first) for _ in range(2)), return_exceptions=True)
        (refused,) = (one for one in both if isinstance(one, PilothouseError))
        assert refused.message == "This answer is being worked on already."
        assert (await Chat(host, chat.id, chat.script).settled(first)).status == "completed"


@pytest.mark.parametrize("word", ["cancel", "message"])
async def test_whoever_does_not_want_it_goes_on_without_it(home: Path, word: str) -> None:
    chat, first, second = await stopped_with_one_behind(home, resume_after_restart="ask")
    async with open_host(home, role="server") as host:
        again = Chat(host, chat.id, chat.script)
        if word == "cancel":
            await again.api.runs.cancel(ME, first)
        else:
            assert (await again.say("third")).status == "completed"
        assert (await again.settled(second)).status == "completed"
        assert (await again.api.runs.get(ME, first)).status == "cancelled"
        # And back to it, if they want it after all.
        await again.api.runs.resume(ME, first)
        assert (await again.settled(first)).status == "completed"


async def test_within_the_time_that_the_person_set_an_answer_ends_and_nothing_new_begins(home: Path) -> None:
    told_how_long(home, 30)
    async with open_chat(home, [SLOW, ["Next."]], at_rest=False) as chat:
        first = await chat.send("first")
        await chat.until_streaming("w1")
        second = await chat.send("second")
    async with open_host(home, role="once") as host:
        assert (await host.api.runs.get(ME, first.run_id)).status == "completed"
        assert (await host.api.runs.get(ME, second.run_id)).status == "queued"


async def test_what_is_not_done_by_then_is_given_back(home: Path) -> None:
    told_how_long(home, 0.2)
    async with open_chat(home, [[{"text": "x", "pieces": 1}, {"wait": 60}]]) as chat:
        sent = await chat.send()
        await chat.until_streaming("x")
    async with open_host(home, role="once") as host:
        assert (await host.api.runs.get(ME, sent.run_id)).status == "queued"


async def test_a_command_that_ends_answers_what_a_visitor_sent_in_the_last_moment(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claiming, held, waits = asyncio.Event(), asyncio.Event(), asyncio.Event()
    claim_next = Store.claim_next

    async def slowly(self: Store, conversation_id: str, process: str, *, perhaps_held: bool = False) -> Run | None:
        claiming.set()
        await held.wait()
        return await claim_next(self, conversation_id, process, perhaps_held=perhaps_held)

    async def command(chat: Chat) -> str:
        async with receiving(chat.host, 0, lambda _: waits.set()):
            address = read_address(home)
            assert address is not None
            _, line = await asyncio.open_connection("127.0.0.1", int(address.url.rpartition(":")[2]))
            line.close()
            sent = await chat.send()
            await claiming.wait()
        return sent.run_id

    monkeypatch.setattr(Store, "claim_next", slowly)
    async with open_chat(home, ["Whole."]) as chat:
        ending = asyncio.create_task(command(chat))
        async with asyncio.timeout(PATIENCE):
            await waits.wait()
        held.set()
        run = await chat.api.runs.get(ME, await ending)
        assert (run.status, await chat.texts("response")) == ("completed", ["Whole."])
