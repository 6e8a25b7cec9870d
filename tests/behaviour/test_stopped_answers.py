"""An answer that is stopped or breaks off was paid for: what it used counts, as told on the way or by its length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pilothouse.types.api import CompactionWish, ConfigPatch, ConversationPatch, ModelInput
from pilothouse.types.prices import Prices
from pilothouse.types.usage import UsageSum
from tests.support.chats import ME, Chat, open_chat
from tests.support.scripted_endpoint import Endpoint, Fault, Reply
from tests.support.summary_chats import SUMMARY, open_summary_chat, summary_turns, wait_for_summary
from tests.support.waiting import eventually
from tests.support.wire_writers import Say, Text, Thought, Tokens

# A dollar for a thousand tokens.
PRICES = Prices(input=1_000, output=1_000)
COUNTS = Tokens(input=5_000, output=900, cached=2_000, reasoning=0)
WORDS = ["forty "] * 20
HELD: dict[str, Any] = {"text": "word " * 40, "pieces": 20, "every": 60, "until": "/nowhere"}


async def use(chat: Chat, endpoint: Endpoint, provider: str) -> None:
    body = ModelInput(
        name="M", id="m", provider=provider, model="m", base_url=endpoint.url, context_window=64_000, prices=PRICES
    )
    await chat.use(body)
    await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))


async def priced(chat: Chat) -> None:
    await chat.use(ModelInput(name="M", id="m", provider="scripted", model=str(chat.script), prices=PRICES))


async def used_today(chat: Chat) -> UsageSum:
    """Return what is counted, after looking whether the day and the conversation say the same."""
    today = (await chat.api.usage.report(ME)).today
    totals = (await chat.api.conversations.context(ME, chat.id)).totals
    fields = ("requests", "input", "output", "estimated")
    assert [getattr(today, name) for name in fields] == [getattr(totals, name) for name in fields]
    return today


async def stop(chat: Chat, run_id: str) -> None:
    await chat.api.runs.cancel(ME, run_id)
    assert (await chat.settled(run_id)).status == "cancelled"


async def test_an_answer_that_the_person_stops_counts_what_was_told_at_its_start(home: Path) -> None:
    async with open_chat(home) as chat, Endpoint() as endpoint:
        endpoint.answer(Reply(Say((Text(WORDS),), tokens=COUNTS), fault=Fault("stall", after=20)))
        await use(chat, endpoint, "anthropic-compatible")
        sent = await chat.send("Hello")
        await chat.until_streaming("forty forty")
        await stop(chat, sent.run_id)
        used = await used_today(chat)
        assert (used.requests, used.input, used.cache_read, used.estimated) == (1, 5_000, 2_000, 1)
        # By the length of what had come, which is more than the token that was told at the start.
        assert 3 <= used.output <= 30
        assert used.cost == pytest.approx((used.input + used.output) / 1_000)
        [said] = await chat.items("response")
        assert (said.status, said.raw["usage"]["estimated"]) == ("cancelled", True)


async def test_where_a_provider_counts_last_a_stopped_answer_is_estimated_by_length(home: Path) -> None:
    async with open_chat(home) as chat, Endpoint() as endpoint:
        endpoint.answer(Reply(Say((Text(WORDS),), tokens=COUNTS), fault=Fault("stall", after=20)))
        await use(chat, endpoint, "openai-compatible")
        sent = await chat.send("q" * 8_000)
        await chat.until_streaming("forty forty")
        await stop(chat, sent.run_id)
        used = await used_today(chat)
        assert (used.requests, used.cache_read, used.estimated) == (1, 0, 1)
        assert 2_000 < used.input < 8_000
        # What is reckoned is no count of the provider's.
        assert (await chat.api.conversations.context(ME, chat.id)).counted == "estimate"
        assert 3 <= used.output <= 30


@pytest.mark.parametrize("kind", ["cut", "end"])
async def test_each_attempt_that_breaks_off_counts_beside_the_one_that_stands(home: Path, kind: Any) -> None:
    async with open_chat(home) as chat, Endpoint() as endpoint:
        whole = Say((Text(WORDS),), tokens=COUNTS)
        endpoint.answer(Reply(whole, fault=Fault(kind, after=6)), Reply(whole))
        await use(chat, endpoint, "anthropic-compatible")
        assert (await chat.say("Hello")).status == "completed"
        used = await used_today(chat)
        assert (used.requests, used.input, used.estimated) == (2, 10_000, 1)


async def test_an_attempt_of_which_only_thinking_came_counts_and_says_nothing(home: Path) -> None:
    async with open_chat(home) as chat, Endpoint() as endpoint:
        whole = Say((Thought(["hm "] * 20), Text(WORDS)), tokens=COUNTS)
        endpoint.answer(Reply(whole, fault=Fault("cut", after=8)), Reply(whole))
        await use(chat, endpoint, "anthropic-compatible")
        assert (await chat.say("Hello")).status == "completed"
        assert (await used_today(chat)).requests == 2
        unsaid, said = await chat.items("response")
        assert (unsaid.text, unsaid.status, unsaid.raw["cutOff"]) == ("", "failed", True)
        assert said.text == "".join(WORDS)


async def test_a_request_that_is_refused_before_anything_came_counts_nothing(home: Path) -> None:
    async with open_chat(home) as chat, Endpoint() as endpoint:
        endpoint.answer(Reply(status=401))
        await use(chat, endpoint, "openai-compatible")
        assert (await chat.say("Hello")).status == "failed"
        assert (await used_today(chat)).requests == 0
        assert not await chat.items("response")


async def test_who_stops_before_the_first_word_has_paid_for_what_was_read(home: Path) -> None:
    async with open_chat(home) as chat, Endpoint() as endpoint:
        endpoint.answer(Reply(Say((Text(WORDS),)), fault=Fault("stall")))
        await use(chat, endpoint, "openai-compatible")
        sent = await chat.send("q" * 8_000)
        await endpoint.until_asked()
        await stop(chat, sent.run_id)
        used = await used_today(chat)
        assert (used.requests, used.output, used.estimated) == (1, 0, 1)
        assert used.input > 2_000


async def test_budgets_see_what_a_stopped_answer_took(home: Path) -> None:
    async with open_chat(home, [[HELD], "Fine."]) as chat:
        await priced(chat)
        sent = await chat.send("q" * 20_000)
        await chat.until_streaming("word")
        await stop(chat, sent.run_id)
        used = await used_today(chat)
        assert (used.estimated, used.cost is not None and used.cost > 5) == (1, True)
        await chat.api.settings.update(ME, ConfigPatch(budget_per_day=used.cost))
        assert (await chat.say("And?")).status == "waiting"
        [question] = [item for item in await chat.items("question") if item.status == "waiting"]
        assert question.raw["reason"] == "day_budget"


async def test_a_summary_of_a_result_that_is_stopped_with_its_run_counts(home: Path) -> None:
    held = {"text": f"{SUMMARY} and so on", "pieces": 4, "every": 60, "until": "/nowhere"}
    async with open_summary_chat(home, summary_turns(held)) as chat:
        await priced(chat)
        sent = await chat.send()
        await wait_for_summary(chat, "Ther")
        await stop(chat, sent.run_id)
        [summary] = await chat.items("tool_summary")
        assert summary.raw["usage"]["estimated"] is True
        used = await used_today(chat)
        assert (used.requests, used.estimated) == (2, 1)
        assert used.input > 25_000


async def test_a_summary_of_older_turns_that_is_stopped_counts(home: Path) -> None:
    held = {"match": "Person: ", "steps": [HELD]}
    async with open_chat(home, [held, "Answer."]) as chat:
        await priced(chat)
        await chat.say("q" * 8_000)
        asked = await chat.api.runs.compact(ME, chat.id, CompactionWish())
        await eventually(lambda: chat.items("compaction"), "the summary to begin")
        await stop(chat, asked.run_id)
        [compaction] = await chat.items("compaction")
        assert (compaction.status, compaction.raw["usage"]["estimated"]) == ("cancelled", True)
        assert (await used_today(chat)).estimated == 1


async def test_a_stopped_answer_that_is_gone_on_with_counts_once(home: Path) -> None:
    async with open_chat(home, [[HELD]]) as chat:
        await priced(chat)
        sent = await chat.send("Hello")
        await chat.until_streaming("word")
    async with open_chat(home, ["-"]) as other:
        again = Chat(other.host, chat.id, chat.script)
        again.write(["Done."])
        assert (await again.settled(sent.run_id)).status == "completed"
        used = (await again.api.conversations.context(ME, chat.id)).totals
        assert (used.requests, used.estimated) == (2, 1)
