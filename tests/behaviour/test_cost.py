"""An answer says about what it cost, where a price is known and nowhere else."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pilothouse import Host
from pilothouse.cli.run import cost_words
from tests.support.commands import pilothouse
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.wire_writers import Say, Text, Tokens

PRICES = {"input": 3, "output": 15, "cacheRead": 0.3}
ANSWER = Reply(Say((Text(["Forty-two."]),), tokens=Tokens(input=1000, output=200, cached=600, reasoning=0)))
# 400 fresh tokens, 600 from the cache, 200 out.
COST = (400 * 3 + 600 * 0.3 + 200 * 15) / 1_000_000


def write(home: Path, url: str, **fields: Any) -> None:
    home.mkdir(exist_ok=True)
    entry = {"name": "M", "provider": "openai-compatible", "baseUrl": url, "model": "m", **fields}
    (home / "models.json").write_text(json.dumps({"defaultModelId": "m", "models": {"m": entry}}))


async def test_a_program_hears_about_what_an_answer_cost_with_cached_tokens_at_their_price(home: Path) -> None:
    async with Endpoint() as endpoint:
        endpoint.answer(ANSWER)
        write(home, endpoint.url, known={"prices": PRICES, "source": "a list"})
        async with Host(home) as host:
            answer = await (await host.start()).send("What is the answer?")
            assert answer.cost is None
            await answer.text()
            assert answer.cost == pytest.approx(COST)


async def test_nothing_is_said_about_the_cost_of_a_model_whose_price_nobody_knows(home: Path) -> None:
    async with Endpoint() as endpoint:
        endpoint.answer(ANSWER)
        # By this name it would have one at its maker's own address.
        write(home, endpoint.url, model="gpt-4o")
        async with Host(home) as host:
            chat = await host.start()
            answer = await chat.send("What is the answer?")
            await answer.text()
            assert (answer.cost, answer.usage.output) == (None, 200)
            assert all("cost" not in item.raw for item in await chat.items())


@pytest.mark.slow
async def test_the_command_line_tells_the_cost_to_programs(home: Path) -> None:
    async with Endpoint() as endpoint:
        endpoint.answer(ANSWER)
        write(home, endpoint.url, known={"prices": PRICES})
        done = await asyncio.to_thread(pilothouse, home, "run", "hi", "--json")
        ends = [event["data"] for event in map(json.loads, done.lines) if event["type"] == "item.completed"]
        assert [end["cost"] for end in ends if "cost" in end] == [pytest.approx(COST)]


@pytest.mark.parametrize(
    ("dollars", "words"),
    [
        (0.00001, "less than $0.0001"),
        (0.0042, "about $0.0042"),
        (0.05, "about $0.05"),
        (0.123, "about $0.12"),
        (2.5, "about $2.50"),
    ],
)
def test_a_cost_is_told_in_round_words(dollars: float, words: str) -> None:
    assert cost_words(dollars) == words
