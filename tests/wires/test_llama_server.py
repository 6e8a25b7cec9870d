"""llama.cpp's own server, with the weights that the product carries, in each of the three formats that it speaks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from pilothouse import Chat, Host, ItemCompleted, ModelInput
from pilothouse.models.listing import offered
from pilothouse.net.loop_clients import close_clients
from pilothouse.types.models import ModelConfig, Provider
from pilothouse.types.selection import Selection
from tests.support.sampling import first_and_some
from tests.support.waiting import eventually
from tests.wires.driving import configure, said
from tests.wires.llama import asked, llama_server
from tests.wires.scenario import Fails

WINDOW = 512
# A few words each, so that it takes a moment only.
WORDS = 12
WIRES: tuple[Provider, ...] = ("openai-compatible", "openai-responses", "anthropic-compatible")
# Half a window.
LONG = "The harbour is calm tonight. " * 40


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The server; all tests share it, as all conversations share its one place."""
    with llama_server(WINDOW) as address:
        yield address


@asynccontextmanager
async def chatting(home: Path, server: str, wire: Provider, **fields: object) -> AsyncIterator[Chat]:
    """A conversation with the model, without tools."""
    model = {"name": "smollm", "provider": wire, "model": "smollm", "baseUrl": f"{server}/v1", "contextWindow": 100_000}
    configure(home, {"smollm": {**model, "maxTokens": WORDS, **fields}})
    async with Host(home) as host:
        chat = await host.start(model="smollm", system="Be brief.", title="A talk")
        settings = (await chat.info()).settings
        await chat.update(settings=msgspec.structs.replace(settings, selection=Selection(built_in=())))
        yield chat


def is_free(server: str) -> bool:
    return not any(slot["is_processing"] for slot in asked(server, "/slots"))


@pytest.mark.parametrize("wire", first_and_some(WIRES))
async def test_it_streams_is_cancelled_and_answers_again(wire: Provider, server: str, home: Path) -> None:
    async with chatting(home, server, wire, maxTokens=400) as chat:
        answer = await chat.send("Count to a thousand.")
        async with aclosing(answer.stream()) as pieces:
            first = [await anext(pieces) for _ in range(3)]
            await answer.cancel()
        assert all(first)
        # It has one place only: whoever does not free it is not answered again.
        await eventually(lambda: asyncio.to_thread(is_free, server), "a free place")
        now = (await chat.info()).settings
        await chat.update(settings=msgspec.structs.replace(now, max_tokens=WORDS))
        assert isinstance(await said(chat, "What is the capital of France?"), str)
        response = [item for item in await chat.items() if item.kind == "response"][-1]
        assert response.text
        assert 0 < response.raw["usage"]["output"] <= WORDS


@pytest.mark.parametrize("wire", WIRES)
async def test_it_says_when_a_message_is_too_long(wire: Provider, server: str, home: Path) -> None:
    async with chatting(home, server, wire) as chat:
        given = await said(chat, LONG * 3)
        assert isinstance(given, Fails)
        assert given.code == "context_too_long"


async def test_a_conversation_that_becomes_too_long_is_summed_up_and_goes_on(server: str, home: Path) -> None:
    # The summary, too, takes a moment only.
    async with chatting(home, server, "openai-compatible", extra={"max_tokens": WORDS}) as chat:
        assert isinstance(await said(chat, LONG), str)
        assert isinstance(await said(chat, LONG), str)
        assert [item.status for item in await chat.items() if item.kind == "compaction"] == ["completed"]


async def test_it_is_held_to_the_form_of_a_call(server: str, home: Path) -> None:
    async with chatting(home, server, "openai-compatible", toolCalls="constrained", maxTokens=80) as chat:
        now = (await chat.info()).settings
        await chat.update(settings=msgspec.structs.replace(now, selection=Selection(built_in=("think",))))
        answer = await chat.send("Think about the tides.")
        async for event in answer:
            if isinstance(event, ItemCompleted):
                await answer.cancel()
        calls = [item for item in await chat.items() if item.kind == "tool_call"]
        assert calls
        assert calls[0].raw["tool"] == "think"


@pytest.mark.parametrize("wire", WIRES)
async def test_it_lists_its_model(wire: Provider, server: str) -> None:
    config = ModelConfig(name="llama.cpp", provider=wire, base_url=f"{server}/v1")
    assert await offered(config, "") == ("smollm",)
    await close_clients()


@pytest.mark.parametrize("wire", WIRES)
async def test_its_window_is_found_and_need_not_be_typed(wire: Provider, server: str, home: Path) -> None:
    async with Host(home) as host:
        added = await host.models.add(ModelInput(name="smollm", provider=wire, model="smollm", base_url=f"{server}/v1"))
    assert added.context_window == WINDOW
