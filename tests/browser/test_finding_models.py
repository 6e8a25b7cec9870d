"""Looking for model servers on another machine: only when asked, and added with one click."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.browser.axe import serious_problems
from tests.browser.console import Console
from tests.support.servers import Server
from tests.support.tiny_http import site

LIST = (200, b'{"data": [{"id": "mistral-small"}]}')


@pytest.fixture
def server(home: Path) -> Iterator[Server]:
    """A server that outlives the browser's tabs, so that they have nothing to complain about."""
    with Server(home) as running:
        yield running


@pytest.mark.case("MOD-27", "PLT-01")
async def test_a_model_server_is_looked_for_by_its_hosts_name_and_added(
    server: Server, page: Page, console: Console
) -> None:
    console.expect("400")
    async with site({"/v1/models": LIST}) as listener:
        where = listener.url.removeprefix("http://")
        await server.open(page, "/settings/models")
        box = page.get_by_role("textbox", name="Look on another machine")
        look = page.get_by_role("button", name="Look", exact=True)
        await expect(look).to_be_disabled()
        assert listener.requests == []
        await box.fill("my nas")
        await box.press("Enter")
        await expect(page.get_by_text("“my nas” is no host.")).to_be_visible()
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
