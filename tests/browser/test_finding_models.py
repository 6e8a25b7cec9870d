"""Looking for model servers on another machine: only when asked, and added with one click."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.support.axe import serious_problems
from tests.support.console import Console
from tests.support.listener import listening
from tests.support.live_server import LiveServer, live_server

LIST = (200, b'{"data": [{"id": "mistral-small"}]}')


@pytest.fixture
def server(home: Path) -> Iterator[LiveServer]:
    """A server that outlives the browser's tabs, so that they have nothing to complain about."""
    with live_server(home) as running:
        yield running


@pytest.mark.case("MOD-27", "PLT-01")
async def test_a_model_server_is_looked_for_by_its_hosts_name_and_added(server: LiveServer, page: Page) -> None:
    async with listening({"/v1/models": LIST}) as listener:
        where = listener.url.removeprefix("http://")
        await server.open(page, "/settings/models")
        box = page.get_by_role("textbox", name="Look on another machine")
        look = page.get_by_role("button", name="Look", exact=True)
        await expect(look).to_be_disabled()
        assert listener.asked == []
        await box.fill("127.0.0.1:9")
        await box.press("Enter")
        await expect(page.get_by_text("No model server answered at 127.0.0.1:9")).to_be_visible()
        await box.fill(where)
        await look.click()
        found = page.get_by_role("region", name=f"Found at {where}")
        await expect(found).to_contain_text("offers 1 model")
        await expect(page.get_by_text("No model server answered")).to_have_count(0)
        assert await serious_problems(page) == []
        await found.get_by_role("button", name="Add").click()
        # The first model that is added answers from now on.
        await expect(page.get_by_role("button", name="Model: mistral-small (Model server)")).to_be_visible()


async def test_what_is_no_host_is_said_in_the_page(server: LiveServer, page: Page, console: Console) -> None:
    console.expect("400")
    await server.open(page, "/settings/models")
    box = page.get_by_role("textbox", name="Look on another machine")
    await box.fill("my nas")
    await box.press("Enter")
    await expect(page.get_by_text("“my nas” is no host.")).to_be_visible()
