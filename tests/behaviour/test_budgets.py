"""A budget asks before it is passed: for one message and for a day, over all conversations and processes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pilothouse.agent.history import history
from pilothouse.library import chats
from pilothouse.types import limits
from pilothouse.types.api import Answer, CompactionWish, ConfigPatch, ConversationPatch, ModelInput, NewConversation
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.items import Item
from pilothouse.types.prices import Prices
from pilothouse.types.runs import Run
from pilothouse.wiring import open_host
from tests.support.chats import ME, Chat, open_chat
from tests.support.commands import pilothouse
from tests.support.summary_chats import SUMMARY, open_summary_chat, summary_turns
from tests.support.waiting import eventually

# A dollar for a thousand tokens: a request with so many costs so many dollars.
PRICES = Prices(input=1_000, output=1_000)
# What an answer is reckoned with, and the usual instructions and tools, come to less than this.
NEXT = 2.0 + 1.6


def spends(thousands: int, *steps: Any) -> list[Any]:
    return [*steps, {"usage": {"input": thousands * 1_000, "output": 0}}]


def thinks(number: int, thousands: int) -> list[Any]:
    return spends(thousands, {"call": "think", "arguments": {"thoughts": f"{number}"}})


async def priced(chat: Chat, **budgets: Any) -> None:
    """Have the script's tokens cost something, and set budgets."""
    await chat.use(ModelInput(name="M", id="m", provider="scripted", model=str(chat.script), prices=PRICES))
    await chat.api.settings.update(ME, ConfigPatch(**budgets))


async def asked(chat: Chat) -> Item:
    [question] = [item for item in await chat.items("question") if item.status == "waiting"]
    return question


async def answer(chat: Chat, choice: str) -> Run:
    question = await asked(chat)
    run = await chat.api.questions.answer(ME, question.id, Answer(choice=choice))

    async def over() -> Run | None:
        now = await chat.api.runs.get(ME, run.id)
        later = [item for item in await chat.items("question") if item.status == "waiting" and item.id != question.id]
        return now if now.status in ("completed", "failed") or (now.status == "waiting" and later) else None

    return await eventually(over, "the run to come to rest")


async def test_a_message_asks_before_its_budget_is_passed_goes_on_and_stops_in_words(home: Path) -> None:
    async with open_chat(home, [thinks(number, 10) for number in range(20)]) as chat:
        await priced(chat, budget_per_run=35)
        assert (await chat.say("Go")).status == "waiting"
        # Five are left, and a fourth request may cost twelve.
        assert len(await chat.items("response")) == 3
        question = await asked(chat)
        assert (question.raw["kind"], question.raw["reason"], question.raw["raised"]) == ("limit", "run_budget", 70)
        assert question.text.startswith("The budget for one message is $35.00: $30.00 so far, and the next request may")
        assert question.text.endswith("Go on, with a budget of $70.00?")
        assert [choice["id"] for choice in question.raw["choices"]] == ["continue", "stop"]
        assert (await answer(chat, "continue")).status == "waiting"
        assert len(await chat.items("response")) == 6
        assert (await asked(chat)).raw["raised"] == 105
        assert (await answer(chat, "stop")).status == "completed"
        assert len(await chat.items("response")) == 6
        assert [notice.text for notice in await chat.items("notice")] == [
            "Stopped, as you said: the next request could have passed the budget."
        ]
        # Another message has a budget of its own.
        assert (await chat.say("Again")).status == "waiting"
        assert len(await chat.items("response")) == 9


async def test_nothing_is_sent_for_a_message_whose_first_request_could_pass_the_budget(home: Path) -> None:
    async with open_chat(home, [spends(1, "Hi.")]) as chat:
        await priced(chat, budget_per_run=1)
        assert (await chat.say("x" * 4_000)).status == "waiting"
        assert not await chat.items("response")
        assert "nothing was used so far" in (await asked(chat)).text
        assert (await answer(chat, "continue")).status == "completed"
        assert await chat.texts("response") == ["Hi."]


async def test_a_model_whose_price_nobody_knows_passes_no_budget_in_dollars(home: Path) -> None:
    async with open_chat(home, [spends(9, "Hi.")] * 2) as chat:
        await chat.api.settings.update(ME, ConfigPatch(budget_per_run=0.01, budget_per_day=0.01))
        assert (await chat.say()).status == "completed"
        assert (await chat.say()).status == "completed"


async def test_a_day_s_budget_counts_over_all_conversations_and_is_raised_for_all(home: Path) -> None:
    async with open_chat(home, [spends(10, "Hi.")]) as first:
        await priced(first, budget_per_day=25)
        settings = (await first.snapshot()).conversation.settings
        others = [await another(first, settings) for _ in range(3)]
        for chat in (first, others[0]):
            assert (await chat.say()).status == "completed"
        # Twenty are spent, and the next may cost more than five.
        await first.api.settings.update(ME, ConfigPatch(budget_per_day=23))
        for chat in others[1:]:
            assert (await chat.say()).status == "waiting"
            assert (await asked(chat)).raw["reason"] == "day_budget"
            assert (await asked(chat)).text.startswith("The budget for today is $23.00: $20.00 so far")
        assert (await first.api.usage.report(ME)).budget_today == 23
        assert (await answer(others[1], "continue")).status == "completed"
        assert (await first.api.usage.report(ME)).budget_today == 46
        # Asked at the same height: going on here as well raises nothing more.
        assert (await answer(others[2], "continue")).status == "completed"
        assert (await first.api.usage.report(ME)).budget_today == 46
        assert (await first.api.usage.report(ME)).today.cost == pytest.approx(40)


async def another(chat: Chat, settings: ConversationSettings) -> Chat:
    made = await chat.api.conversations.create(ME, NewConversation(settings=settings))
    return Chat(chat.host, made.id, chat.script)


@pytest.mark.slow
async def test_a_day_s_budget_counts_over_processes(home: Path, tmp_path: Path, postgres_url: str) -> None:
    async with open_chat(home, [spends(10, "Hi.")], database_url=postgres_url) as chat:
        await priced(chat, budget_per_day=12)
        assert (await chat.say()).status == "completed"
        async with open_host(tmp_path / "other", postgres_url) as other:
            # The model and the budget are the same there.
            settings = ConversationSettings(model_id="m", mode="ask")
            made = await other.api.conversations.create(ME, NewConversation(settings=settings))
            elsewhere = Chat(other, made.id, chat.script)
            assert (await elsewhere.say()).status == "waiting"
            assert (await asked(elsewhere)).raw["reason"] == "day_budget"


async def test_requests_that_are_under_way_count_for_the_others(home: Path, tmp_path: Path) -> None:
    go = tmp_path / "go"
    turns = [[{"text": "Well,"}, {"wait": 15, "until": str(go)}, *spends(1, "done.")]]
    async with open_chat(home, turns) as first:
        await priced(first, budget_per_day=NEXT + 1)
        second = await another(first, (await first.snapshot()).conversation.settings)
        sent = await first.send()
        await first.until_streaming("Well,")
        # Nothing is spent yet, and one of two that may cost as much would pass it.
        assert (await second.say()).status == "waiting"
        go.touch()
        assert (await first.settled(sent.run_id)).status == "completed"
        assert (await answer(second, "continue")).status == "completed"


async def test_a_summary_of_a_result_that_could_pass_the_budget_is_left_undone(home: Path) -> None:
    calling = spends(1, {"call": "look", "arguments": {"what": "harbours"}})
    async with open_summary_chat(home, summary_turns(spends(1, SUMMARY), then=[calling, spends(1, "Done.")])) as chat:
        await priced(chat, budget_per_run=12)
        settings = (await chat.snapshot()).conversation.settings
        assert settings.model_id == "m"
        assert (await chat.say("How many?")).status in ("completed", "waiting")
        [call] = await chat.items("tool_call")
        assert "There is no summary of it: it could have passed the budget." in call.text
        assert not await chat.items("tool_summary")
        # With room for it, it is made.
        await chat.api.settings.update(ME, ConfigPatch(budget_per_run=500))
        again = [{"match": "again", "steps": steps} for steps in (calling, spends(1, "Done."))]
        chat.write(summary_turns(spends(1, SUMMARY), then=again))
        assert (await chat.say("How many, again?")).status == "completed"
        assert await chat.texts("tool_summary") == [SUMMARY]


async def test_making_room_counts_before_it_is_done(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_chat(home, [spends(3, "One."), spends(3, "Two.")]) as chat:
        await priced(chat)
        await chat.say("x" * 8_000)
        monkeypatch.setattr(limits, "COMPACT_ABOVE", 0.0)
        # Enough for the request by itself, and not for a summary first.
        await chat.api.settings.update(ME, ConfigPatch(budget_per_run=9))
        assert (await chat.say("And now?")).status == "waiting"
        assert not await chat.items("compaction")


@pytest.mark.parametrize("budget", ["budget_per_run", "budget_per_day", "run_token_budget"])
async def test_a_run_that_nobody_watches_ends_in_a_sentence_and_fails(home: Path, budget: str) -> None:
    async with open_chat(home, [thinks(number, 10) for number in range(9)]) as chat:
        await priced(chat, **{budget: 25_000 if budget == "run_token_budget" else 25})
        run = await chat.say("Go", unattended=True)
        assert run.status == "failed"
        assert run.error is not None
        assert run.error.code == "budget_reached"
        assert "so far, and the next request may take" in run.error.message
        assert run.error.fix.startswith(f"Raise it: pilothouse settings {budget} ")
        assert len(await chat.items("response")) == 2
        assert not await chat.items("question")
        # Whoever raises it has the run go on where it was.
        await chat.api.settings.update(ME, ConfigPatch(**{budget: 0}))
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))
        await chat.api.runs.resume(ME, run.id)

        async def more() -> bool:
            return len(await chat.items("response")) > 3

        await eventually(more, "the run to go on")
        await chat.api.runs.cancel(ME, run.id)


async def test_a_budget_that_is_raised_while_a_run_works_counts_at_once(home: Path, tmp_path: Path) -> None:
    go = tmp_path / "go"
    slow = [{"text": "Well,"}, {"wait": 15, "until": str(go)}, *thinks(1, 10)]
    async with open_chat(home, [slow, spends(1, "Done.")]) as chat:
        await priced(chat, budget_per_run=12)
        sent = await chat.send()
        await chat.until_streaming("Well,")
        await chat.api.settings.update(ME, ConfigPatch(budget_per_run=50))
        go.touch()
        assert (await chat.settled(sent.run_id)).status == "completed"


@pytest.mark.slow
async def test_the_command_line_without_a_terminal_says_so_and_ends_with_one(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(json.dumps({"turns": [spends(1, "Hi.")]}))

    def run() -> tuple[int, str, str]:
        model = ("--provider", "scripted", "--model", str(file), "--prices", "1000,1000")
        assert pilothouse(home, "models", "add", *model).code == 0
        assert pilothouse(home, "settings", "budget_per_run", "0.5").code == 0
        done = pilothouse(home, "run", "Hello")
        return done.code, done.out, done.err

    code, out, err = await asyncio.to_thread(run)
    assert (code, out) == (1, "")
    sentence, fix = err.strip().splitlines()
    assert sentence.startswith("The budget for one message is $0.50: nothing was used so far, and the next request may")
    assert fix.startswith("Raise it: pilothouse settings budget_per_run ")


@pytest.mark.parametrize(("name", "value"), [("budget_per_run", -1.0), ("budget_per_day", float("nan"))])
async def test_a_budget_that_is_none_is_refused_in_a_sentence(home: Path, name: str, value: float) -> None:
    async with open_chat(home) as chat:
        with pytest.raises(PilothouseError, match="in dollars, is a number from 0 to 1,000,000"):
            await chat.api.settings.update(ME, ConfigPatch(**{name: value}))


# Only what is to be summed up begins like this.
SUMMED_UP = {"match": "Person: ", "steps": spends(10, "Summed up.")}


async def wishes_for_a_summary(chat: Chat, **fields: Any) -> Run:
    return await chat.settled((await chat.api.runs.compact(ME, chat.id, CompactionWish(**fields))).run_id)


@pytest.mark.parametrize(
    ("name", "budget", "reason", "words"),
    [
        ("budget_per_day", 11, "day_budget", "The budget for today is $11.00: $10.00 so far, and the next request may"),
        (
            "budget_per_run",
            1,
            "run_budget",
            "The budget for one message is $1.00: nothing was used so far, and the next",
        ),
        ("run_token_budget", 9, "tokens", "The budget for one message is 9 tokens: nothing was used so far, and the"),
    ],
)
async def test_a_summary_that_was_asked_for_asks_before_a_budget_is_passed_and_goes_on(
    home: Path, name: str, budget: float, reason: str, words: str
) -> None:
    async with open_chat(home, [SUMMED_UP, spends(10, "First.")]) as chat:
        await priced(chat)
        await chat.say("Go")
        await chat.api.settings.update(ME, ConfigPatch(**{name: budget}))
        run = await wishes_for_a_summary(chat, keep="the ports")
        assert run.status == "waiting"
        assert await chat.items("compaction") == []
        question = await asked(chat)
        assert (question.raw["kind"], question.raw["reason"]) == ("limit", reason)
        assert question.text.startswith(words)
        assert [choice["id"] for choice in question.raw["choices"]] == ["continue", "stop"]
        assert (await answer(chat, "continue")).status == "completed"
        [made] = await chat.items("compaction")
        assert (made.text, made.raw["keep"]) == ("Summed up.", "the ports")
        # What it took is on record like an answer's.
        assert made.raw["usage"]["input"] == 10_000
        assert made.raw["cost"] == pytest.approx(10)
        [today] = (await chat.api.usage.report(ME)).days
        assert today.cost == pytest.approx(20)


async def test_a_summary_that_is_declined_at_a_budget_changes_nothing_and_can_be_asked_for_again(home: Path) -> None:
    async with open_chat(home, [SUMMED_UP, spends(10, "First.")]) as chat:
        await priced(chat, budget_per_day=11)
        await chat.say("Go")
        before = history(await chat.items())
        assert (await wishes_for_a_summary(chat)).status == "waiting"
        assert (await answer(chat, "stop")).status == "completed"
        assert [notice.text for notice in await chat.items("notice")] == [
            "Stopped, as you said: the next request could have passed the budget."
        ]
        assert await chat.items("compaction") == []
        assert history(await chat.items()) == before
        assert (await wishes_for_a_summary(chat)).status == "waiting"
        assert (await answer(chat, "continue")).status == "completed"
        assert await chat.texts("compaction") == ["Summed up."]


async def test_a_message_gives_a_summary_up_that_waits_at_a_budget(home: Path) -> None:
    async with open_chat(home, [spends(10, "First."), spends(1, "Last.")]) as chat:
        await priced(chat, budget_per_day=11)
        await chat.say("Go")
        waiting = await wishes_for_a_summary(chat)
        await chat.api.settings.update(ME, ConfigPatch(budget_per_day=100))
        assert (await chat.say("Never mind")).status == "completed"
        assert (await chat.api.runs.get(ME, waiting.id)).status == "cancelled"
        assert await chat.items("compaction") == []
        assert await chat.texts("response") == ["First.", "Last."]


async def test_a_summary_that_waits_at_a_budget_goes_on_after_a_restart(home: Path) -> None:
    async with open_chat(home, [SUMMED_UP, spends(10, "First.")]) as chat:
        await priced(chat, budget_per_day=11)
        await chat.say("Go")
        waiting = await wishes_for_a_summary(chat)
    async with open_host(home) as host:
        chat = Chat(host, chat.id, chat.script)
        assert (await answer(chat, "continue")).id == waiting.id
        assert await chat.texts("compaction") == ["Summed up."]


async def test_a_summary_that_nobody_watches_ends_in_a_sentence_and_can_be_resumed(home: Path) -> None:
    async with open_chat(home, [SUMMED_UP, spends(10, "First.")]) as chat:
        await priced(chat, budget_per_day=11)
        await chat.say("Go")
        run = await wishes_for_a_summary(chat, unattended=True)
        assert run.status == "failed"
        assert run.error is not None
        assert run.error.code == "budget_reached"
        assert run.error.message.startswith("The budget for today is $11.00: $10.00 so far, and the next request may")
        assert run.error.fix.startswith("Raise it: pilothouse settings budget_per_day ")
        assert await chat.items("compaction", "question") == []
        await chat.api.settings.update(ME, ConfigPatch(budget_per_day=100))
        await chat.api.runs.resume(ME, run.id)
        assert (await chat.settled(run.id)).status == "completed"
        assert await chat.texts("compaction") == ["Summed up."]


async def test_a_program_sums_up_attended_or_is_told_how_to_raise_the_budget(home: Path) -> None:
    async with open_chat(home, [SUMMED_UP, spends(10, "First.")]) as chat:
        await priced(chat, budget_per_day=11)
        await chat.say("Go")
        lasting = chats.Chat(chat.api, (await chat.snapshot()).conversation)
        with pytest.raises(PilothouseError, match="Raise it: pilothouse settings budget_per_day") as caught:
            await (await lasting.compact()).text()
        assert caught.value.code == "budget_reached"
        asking = await lasting.compact(attended=True)
        with pytest.raises(PilothouseError, match="A question waits for an answer"):
            await asking.text()
        await asking.reply("continue")
        assert await asking.text() == "Summed up."
