"""The form of a model says what is known of it, and what a person says counts instead."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.async_api import Page, expect

from pilothouse.models.known_models import source
from tests.browser.axe import serious_problems
from tests.browser.models import field
from tests.support.servers import Server
from tests.support.tiny_http import site

CLAUDE = {"name": "Claude", "provider": "anthropic-compatible", "model": "claude-sonnet-4-5", "contextWindow": 5000}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with one model, of whose window a person said something."""
    home = tmp_path_factory.mktemp("known") / "home"
    with Server(home, models={"defaultModelId": "claude", "models": {"claude": CLAUDE}}) as running:
        yield running


async def test_a_form_tells_what_is_known_of_a_model_and_its_card_says_from_where(server: Server, page: Page) -> None:
    lists = {"data": [{"id": "qwen3-8b", "max_model_len": 24_576}]}
    async with site({"/v1/models": (200, json.dumps(lists).encode())}) as near:
        await server.open(page, "/settings/models")
        await page.get_by_role("button", name="Add Model").click()
        form = page.get_by_role("dialog", name="Add a model")
        await form.get_by_role("textbox", name="Name").fill("Near one")
        await field(form, "Model").fill("claude-sonnet-4-5")
        await expect(
            form.get_by_text(
                f"Known: 200K context, thinks, takes images, $3 in, $15 out per 1M tokens, from {source()}."
            )
        ).to_be_visible()
        await expect(form.get_by_role("checkbox", name="Supports thinking")).to_be_checked()
        await form.get_by_label("Key", exact=True).fill("sk-mine")
        await field(form, "Provider").click()
        await page.get_by_role("option", name="Another, OpenAI compatible").click()
        await form.get_by_label("Base URL").fill(f"{near.url}/v1")
        await field(form, "Model").fill("qwen3-8b")
        await expect(form.get_by_text("Known: 24K context, from 127.0.0.1:")).to_be_visible()
        await expect(form.get_by_role("checkbox", name="Supports thinking")).not_to_be_checked()
        await form.get_by_role("button", name="Add", exact=True).click()
        added = page.get_by_role("listitem", name="Near one", exact=True)
        await expect(added).to_contain_text("24K context")
        await expect(added).to_contain_text("As known from 127.0.0.1:")
    kept = server.read("models.json")["models"]["near-one"]
    assert (kept["contextWindow"], kept["known"]["contextWindow"]) == (None, 24_576)


async def test_a_window_and_prices_of_ones_own_count_until_they_are_taken_back(server: Server, page: Page) -> None:
    await server.open(page, "/settings/models")
    mine = page.get_by_role("listitem", name="Claude", exact=True)
    await expect(mine).to_contain_text("5K context")
    await page.get_by_role("button", name="Edit Claude").click()
    form = page.get_by_role("dialog", name="Edit Claude")
    await expect(form.get_by_label("Context window")).to_have_value("5,000")
    await form.get_by_label("Context window").fill("")
    await form.get_by_role("button", name="Save").click()
    await expect(mine).to_contain_text("200K context • Thinking ✓ • Images ✓")
    await expect(mine).to_contain_text(f"As known from {source()}")
    assert server.read("models.json")["models"]["claude"]["contextWindow"] is None
    await expect(mine).to_contain_text("$3 in, $15 out per 1M tokens")
    await page.get_by_role("button", name="Edit Claude").click()
    await form.get_by_role("button", name="More").click()
    await form.get_by_label("Input", exact=True).fill("2.5")
    await form.get_by_label("Read from the cache").fill("0.25")
    await form.get_by_role("button", name="Save").click()
    await expect(form.get_by_text("Say what input and output cost, or leave all of them empty.")).to_be_visible()
    await form.get_by_label("Output", exact=True).fill("10")
    assert await serious_problems(page) == []
    await form.get_by_role("button", name="Save").click()
    await expect(mine).to_contain_text("$2.5 in, $10 out per 1M tokens, as you set it")
    assert server.read("models.json")["models"]["claude"]["prices"] == {"input": 2.5, "output": 10.0, "cacheRead": 0.25}
    await page.get_by_role("button", name="Edit Claude").click()
    await expect(form.get_by_label("Read from the cache")).to_have_value("$0.25")
    for name in ("Input", "Output", "Read from the cache"):
        await form.get_by_label(name, exact=True).fill("")
    await form.get_by_role("button", name="Save").click()
    await expect(mine).to_contain_text("$3 in, $15 out per 1M tokens")
    await expect(mine).not_to_contain_text("as you set it")
