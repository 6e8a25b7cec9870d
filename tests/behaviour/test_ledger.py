"""What fills a conversation's window and what it took is told as it is sent and counted, to everyone alike."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pilothouse import Host
from pilothouse.types import limits
from pilothouse.types.api import ConversationPatch, ModelInput
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import ItemCreated
from pilothouse.types.items import new_item
from pilothouse.types.prices import Prices
from pilothouse.types.selection import Selection, ServerChoice
from pilothouse.types.servers import ConsentGiven, ServerInput
from pilothouse.types.usage import ContextLedger, UsageReport
from tests.support.chats import ME, Chat, open_chat
from tests.support.mcp_servers import SCRIPTED
from tests.support.noon import TODAY, let_it_be_noon
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.summary_chats import SUMMARY, look_tool, open_summary_chat, summary_turns
from tests.support.tools import add_tools
from tests.support.waiting import eventually
from tests.support.wire_writers import Call, Say, Text, Tokens

PRICES = Prices(input=3, output=15, cache_read=0.3)


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """No day ends during a test."""
    let_it_be_noon(monkeypatch)


def usage(given: int, output: int = 10) -> dict[str, Any]:
    return {"usage": {"input": given, "output": output}}


async def use(chat: Chat, endpoint: Endpoint, **fields: Any) -> None:
    """Have an endpoint answer, and nobody be asked for a title."""
    body = ModelInput(name="M", id="m", provider="openai-compatible", model="m", base_url=endpoint.url, **fields)
    await chat.use(body)
    await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))


async def ledger(chat: Chat) -> ContextLedger:
    return await chat.api.conversations.context(ME, chat.id)


def sizes(found: ContextLedger) -> dict[tuple[str, str], int]:
    return {(part.kind, part.server): part.tokens for part in found.parts}


async def test_the_ledger_tells_what_is_sent_by_the_provider_s_own_count(home: Path) -> None:
    async with open_chat(home) as chat, Endpoint() as endpoint:
        counts = Tokens(input=10_000, output=200, cached=6_000, reasoning=0)
        endpoint.answer(
            Reply(Say((Call("c1", "ports__look", "{}"),), stop="tool", tokens=counts)),
            Reply(Say((Text(["Forty-two."]),), tokens=counts)),
        )
        await use(chat, endpoint, context_window=64_000, prices=PRICES)
        settings = (await chat.snapshot()).conversation.settings
        prompt = ConversationPatch(settings=_with(settings, system_prompt="Be brief. " * 400, mode="auto_approve"))
        await chat.api.conversations.update(ME, chat.id, prompt)
        tool = look_tool("a harbour " * 200)
        tool.name = "ports__look"
        add_tools(chat.host, tool)
        assert (await chat.say("q" * 2_000, typed_chars=400)).status == "completed"
        found = await ledger(chat)
        assert (found.model, found.model_name, found.window, found.counted) == ("m", "M", 64_000, "provider")
        assert found.compact_above == int(64_000 * limits.COMPACT_ABOVE)
        assert found.used == sum(part.tokens for part in found.parts)
        # What the provider counted, and the few words of its answer.
        assert 10_000 < found.used < 10_100
        assert found.cached == 6_000
        parts, last = sizes(found), endpoint.requests[-1].json
        own = [tool for tool in last["tools"] if tool["function"]["name"] != "ports__look"]
        sent = len(last["messages"][0]["content"]) / len(json.dumps(own, separators=(",", ":")))
        assert parts["system", ""] / parts["tools", ""] == pytest.approx(sent, rel=0.2)
        assert parts["files", ""] / parts["results", "ports"] == pytest.approx(1_600 / 2_000, rel=0.05)
        assert found.totals.requests == 2
        assert found.totals.cost == pytest.approx(2 * (4_000 * 3 + 6_000 * 0.3 + 200 * 15) / 1_000_000)
        [run] = found.runs
        [message] = await chat.items("user_message")
        assert (run.item_id, run.run_id, run.requests) == (message.id, message.run_id, 2)


def _with(settings: ConversationSettings, **changes: Any) -> ConversationSettings:
    return ConversationSettings(**{name: getattr(settings, name) for name in settings.__struct_fields__} | changes)


async def test_a_conversation_in_which_nothing_was_said_is_told_by_length(home: Path) -> None:
    async with open_chat(home) as chat:
        found = await ledger(chat)
        assert (found.counted, found.totals.requests, found.runs, found.cached) == ("estimate", 0, (), 0)
        assert {kind for kind, _ in sizes(found)} == {"system", "tools"}


@pytest.mark.slow
async def test_tools_are_told_by_server_and_no_server_is_waited_for(home: Path, tmp_path: Path) -> None:
    async with open_chat(home) as chat:
        for name in ("first", "second"):
            body = ServerInput(name=name, command=sys.executable, args=(str(SCRIPTED),))
            view = await chat.api.servers.add(ME, body)
            assert view.consent is not None
            await chat.api.servers.consent(ME, view.id, ConsentGiven(fingerprint=view.consent.fingerprint))
            assert (await chat.api.servers.test(ME, view.id)).ok
        assert {("tools", ""), ("tools", "first"), ("tools", "second")} <= sizes(await ledger(chat)).keys()
        # One that was chosen and cannot be reached, and one that is gone, are no reason to say nothing.
        never = ServerInput(name="never", command=sys.executable, args=("-c", "import time; time.sleep(600)"))
        view = await chat.api.servers.add(ME, never)
        assert view.consent is not None
        await chat.api.servers.consent(ME, view.id, ConsentGiven(fingerprint=view.consent.fingerprint))
        chosen = Selection(servers=(ServerChoice(name="first"), ServerChoice(name="never")))
        settings = _with((await chat.snapshot()).conversation.settings, selection=chosen)
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(settings=settings))
        found = sizes(await ledger(chat))
        assert ("tools", "first") in found
        assert ("tools", "second") not in found
        await chat.api.servers.delete(ME, view.id)
        assert ("tools", "first") in sizes(await ledger(chat))


async def test_a_model_without_its_key_is_told_about_all_the_same(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOT_THERE", raising=False)
    async with open_chat(home) as chat:
        body = ModelInput(
            name="M", provider="anthropic", model="claude-sonnet-4-5", api_key_source="env:NOT_THERE", id="far"
        )
        await chat.use(body)
        found = await ledger(chat)
        assert (found.model, found.price_label.startswith("$")) == ("far", True)


async def test_the_ledger_outlives_its_model_and_says_that_it_is_gone(home: Path) -> None:
    async with open_chat(home, [["Hi.", usage(3_000, 40)], "-"]) as chat:
        await chat.use(ModelInput(name="M", id="m", provider="scripted", model=str(chat.script), prices=PRICES))
        await chat.api.models.add(ME, ModelInput(name="Other", id="other", provider="scripted", model=str(chat.script)))
        await chat.api.models.set_default(ME, "other")
        await chat.say("q" * 2_000)
        before = await ledger(chat)
        await chat.api.models.delete(ME, "m")
        found = await ledger(chat)
        assert found.gone == (
            "There is no model “m”. Choose another one to go on; what was used until now stands below."
        )
        assert (found.model, found.model_name, found.window, found.price_label) == ("m", "m", 0, "")
        # What its provider counted stays, and so does what it is made of.
        assert (found.totals, found.counted) == (before.totals, "provider")
        assert found.used == sum(part.tokens for part in found.parts) == before.used
        assert [run.requests for run in found.runs] == [1]
        assert before.gone == ""


async def test_a_conversation_of_nobody_and_one_of_someone_else_are_not_there(home: Path) -> None:
    async with open_chat(home) as chat:
        for owner, conversation in ((ME, "c_none"), ("someone else", chat.id)):
            with pytest.raises(PilothouseError, match="no such conversation"):
                await chat.api.conversations.context(owner, conversation)


async def report(chat: Chat, days: int = 30) -> UsageReport:
    return await chat.api.usage.report(ME, days)


async def test_summaries_of_results_and_of_older_messages_are_counted(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = summary_turns([{"text": SUMMARY}, usage(700)], then=[[*CALLING, usage(100)], ["Done.", usage(200)]])
    async with open_summary_chat(home, turns) as chat:
        assert (await chat.say("How many?")).status == "completed"
        assert ((await report(chat)).today.requests, (await report(chat)).today.input) == (3, 1_000)
        assert (await ledger(chat)).totals.input == 1_000
        monkeypatch.setattr(limits, "COMPACT_ABOVE", 0.0)
        summary = {"match": "Person:", "steps": ["They spoke of harbours.", usage(40)]}
        chat.write([summary, ["Well.", usage(5_000)]])
        assert (await chat.say("And now?")).status == "completed"
        [made] = await chat.items("compaction")
        assert made.raw["usage"]["input"] == 40
        assert (await report(chat)).today.input == 6_040
        found = await ledger(chat)
        assert (found.totals.requests, found.totals.input) == (5, 6_040)
        assert sizes(found)["summary", ""] > 0


CALLING = [{"call": "look", "arguments": {"what": "harbours"}}]


async def test_a_title_counts_and_all_of_it_outlives_the_conversation(home: Path) -> None:
    async with open_chat(home) as chat, Endpoint() as endpoint:
        counts = Tokens(input=1_000, output=100, cached=0, reasoning=0)
        endpoint.answer(*(Reply(Say((Text([words]),), tokens=counts)) for words in ("Hello.", "A greeting")))
        body = ModelInput(name="M", id="m", provider="openai-compatible", model="m", base_url=endpoint.url)
        await chat.use(body)
        await chat.say()

        async def titled() -> bool:
            return (await chat.snapshot()).conversation.title_source == "model"

        await eventually(titled, "the title")
        assert (await report(chat)).today.requests == 2
        assert (await ledger(chat)).totals.requests == 1
        await chat.api.conversations.delete(ME, chat.id)
        await chat.host.executor._parts.records.purge(time.time() + 1)
        found = await report(chat)
        assert (found.today.requests, found.total.input) == (2, 2_000)
        [row] = found.days
        assert (row.day, row.model, row.model_name, row.cost) == (TODAY, "m", "M", None)


@pytest.mark.parametrize("days", [0, -1, limits.USAGE_DAYS + 1, 10**9])
async def test_a_number_of_days_that_is_none_is_refused_in_a_sentence(home: Path, days: int) -> None:
    async with open_chat(home) as chat:
        with pytest.raises(PilothouseError, match=r"^The number of days is one from 1 to 3,660\.$"):
            await report(chat, days)
        with pytest.raises(PilothouseError, match="number of days"):
            await chat.api.usage.export(ME, days)


async def test_the_export_is_a_table_that_no_spreadsheet_computes_with(home: Path) -> None:
    async with open_chat(home, [["Hi.", usage(7, 3)]]) as chat:
        # Whoever names a model "=…" names it for people.
        await chat.use(ModelInput(name="=1+1", id="m", provider="scripted", model=str(chat.script), prices=PRICES))
        await chat.say()
        file = await chat.api.usage.export(ME, 1, "csv")
        assert file.name == f"usage-{TODAY}.csv"
        head, row = b"".join([chunk async for chunk in file.chunks]).decode().splitlines()
        assert head.startswith("day,model,name,requests,input,output,")
        assert row == f"{TODAY},m,'=1+1,1,7,3,0,0,0.000066,1,0"
        whole = b"".join([chunk async for chunk in (await chat.api.usage.export(ME, 1, "json")).chunks])
        assert json.loads(whole)["total"]["requests"] == 1


async def test_a_price_of_one_s_own_counts_and_is_shown_and_can_be_taken_back(home: Path) -> None:
    async with open_chat(home, [["Hi.", usage(1_000_000, 0)]]) as chat:
        body = ModelInput(name="M", id="m", provider="scripted", model=str(chat.script), prices=PRICES)
        view = await chat.use(body)
        assert view.price_label == "$3 in, $15 out per 1M tokens, as you set it"
        assert view.said.prices == PRICES
        await chat.say()
        assert (await report(chat)).today.cost == pytest.approx(3.0)
        assert (await report(chat)).prices_from.endswith("; of M as you set them")
        # What is not said stays; another model has another price.
        same = ModelInput(name="M", provider="scripted", model=str(chat.script))
        assert (await chat.api.models.update(ME, "m", same)).said.prices == PRICES
        other = ModelInput(name="M", provider="scripted", model=str(chat.script.with_name("other.json")))
        assert (await chat.api.models.update(ME, "m", other)).said.prices is None
        await chat.api.models.update(ME, "m", body_with(body, Prices(input=1, output=1)))
        back = await chat.api.models.update(ME, "m", body_with(body, "known"))
        assert (back.said.prices, back.price_label) == (None, "")


def body_with(body: ModelInput, prices: Any) -> ModelInput:
    return ModelInput(name=body.name, provider=body.provider, model=body.model, prices=prices)


@pytest.mark.parametrize("price", [-1.0, float("nan"), float("inf"), 1e9])
async def test_a_price_that_is_none_is_refused_in_a_sentence(home: Path, price: float) -> None:
    async with open_chat(home) as chat:
        for prices in (Prices(input=price, output=1), Prices(input=1, output=1, cache_read=price)):
            body = ModelInput(name="M", provider="scripted", model=str(chat.script), prices=prices)
            with pytest.raises(PilothouseError, match="A price is a number from 0 to 1,000,000"):
                await chat.api.models.add(ME, body)


async def test_the_library_has_the_same_words(home: Path) -> None:
    async with Endpoint() as endpoint:
        endpoint.answer(Reply(Say((Text(["Hi."]),), tokens=Tokens(input=9, output=1, cached=0, reasoning=0))))
        async with Host(home) as host:
            model = ModelInput(name="M", id="m", provider="openai-compatible", model="m", base_url=endpoint.url)
            await host.models.add(model)
            chat = await host.start(title="Named")
            await (await chat.send("Hello")).text()
            assert (await chat.context()).totals.requests == 1
            assert (await host.usage(1)).today.input == 9


async def test_a_long_conversation_holds_nobody_up(home: Path) -> None:
    async with open_chat(home, at_rest=False) as chat:
        records, made = chat.host.executor._parts.records, []
        for number in range(1_000):
            run, turn = f"r_{number}", {"turn": "1.1"}
            told = {"model": "m", "usage": {"input": 10, "output": 1}}
            call = turn | {"callId": f"c{number}", "tool": "x__y", "server": "x", "arguments": {"a": 1}}
            made += [
                new_item(chat.id, "user_message", run_id=run, text="question " * 30),
                new_item(chat.id, "thinking", run_id=run, text="thought " * 30, data=turn),
                new_item(chat.id, "response", run_id=run, text="", data=turn | told),
                new_item(chat.id, "tool_call", run_id=run, text="result " * 300, data=call),
                new_item(chat.id, "response", run_id=run, text="answer " * 30, data={"turn": "2.1"} | told),
            ]
        for at in range(0, len(made), 500):
            await records.append(chat.id, [ItemCreated(item=item) for item in made[at : at + 500]], None)
        await ledger(chat)
        turns = 0
        working = asyncio.create_task(ledger(chat))
        while not working.done():
            turns += 1
            await asyncio.sleep(0)
        assert working.result().totals.requests == 2_000
        # The pieces alone are thirty steps; others have their turn between all of them.
        assert turns > 30
