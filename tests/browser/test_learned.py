"""What a provider was found not to take, on the card of its model."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import Page, expect

from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.servers import Server
from tests.support.wire_writers import Say, Text

REFUSAL = json.dumps({"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"]}]}).encode()


@pytest_asyncio.fixture(loop_scope="session")
async def endpoint() -> AsyncIterator[Endpoint]:
    """A model server on loopback that does not know one field."""
    async with Endpoint() as serving:
        serving.answer(Reply(status=422, body=REFUSAL), Reply(Say((Text(["Hello."]),))))
        yield serving


async def test_what_was_learned_about_a_model_is_shown_and_forgotten_with_one_click(
    home: Path, page: Page, endpoint: Endpoint
) -> None:
    model = {"name": "Strict", "provider": "openai-compatible", "baseUrl": f"{endpoint.url}/v1", "model": "m"}
    with Server(home, models={"defaultModelId": "strict", "models": {"strict": model}}) as server:
        await server.open(page, "/settings/models")
        await page.get_by_role("button", name="Test Strict").click()
        learned = page.get_by_role("list", name="Learned about Strict")
        # The page hears of it as soon as it is learned.
        line = learned.get_by_role("listitem")
        await expect(line).to_have_text(re.compile(r"Does not take stream_options; learned just now$"))
        await page.get_by_role("button", name="Forget what was learned about Strict").click()
        await expect(learned).to_have_count(0)
        await expect(page.get_by_role("listitem", name="Strict")).to_be_focused()
        # The tab goes before its server, so that it has nothing to complain about.
        await page.close()
