"""Finding by meaning in the settings, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.browser.axe import serious_problems
from tests.browser.width import fits
from tests.meaning.endpoints import openai, start_endpoint
from tests.support.servers import Server

pytestmark = pytest.mark.slow


@pytest.fixture
def server(home: Path) -> Iterator[Server]:
    with Server(home) as serving_:
        yield serving_


async def test_an_endpoint_is_tried_and_chosen_in_the_settings_and_it_is_said_how_it_stands(
    server: Server, page: Page
) -> None:
    async with start_endpoint(openai) as endpoint:
        await server.open(page, "/settings/general")
        part = page.get_by_role("region", name="Finding by meaning")
        await expect(part.get_by_text("all-MiniLM-L6-v2, built in: 0 texts can be found by meaning.")).to_be_visible()
        await part.get_by_label("An embedding endpoint").check()
        await expect(part.get_by_role("button", name="Use it")).to_be_disabled()
        await part.get_by_label("Address of the endpoint").fill(f"{endpoint.url}/v1")
        await part.get_by_label("Its embedding model").fill("embed-1")
        await part.get_by_label("Its key", exact=True).fill("k-browser")
        await part.get_by_role("button", name="Try it").click()
        await expect(part.get_by_text("answers, with vectors of 4 numbers.")).to_be_visible()
        assert endpoint.requests[0].headers["authorization"] == "Bearer k-browser"
        # Nothing is kept by trying.
        assert "embeddings" not in server.read("config.json")
        await part.get_by_role("button", name="Use it").click()
        await expect(part.get_by_text("embed-1 at 127.0.0.1")).to_be_visible()
        kept = server.read("config.json")["embeddings"]
        assert kept == {"source": "endpoint", "url": f"{endpoint.url}/v1", "model": "embed-1"}
        assert await serious_problems(page) == []
        await fits(page)
        endpoint.reply = lambda _: (401, b"")
        await part.get_by_role("button", name="Try it").click()
        await expect(part.get_by_text("does not accept the key.")).to_be_visible()
        await part.get_by_label("Nothing", exact=True).check()
        await expect(part.get_by_text("switched off in Settings")).to_be_visible()
        assert server.read("config.json")["embeddings"]["source"] == "off"
