"""Tools on demand on the page: a search shows what it found, and a call by name is a call of the tool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, ViewportSize, expect

from tests.browser.approving import Reviewer, add_server, open_reviewer, wait_until_connected
from tests.browser.axe import serious_problems
from tests.browser.studio import Studio
from tests.browser.width import fits

PHONE: ViewportSize = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio with one server, whose tools are looked for."""
    with Studio(tmp_path_factory.mktemp("finding") / "home") as studio:
        add_server(studio, "Scripted")
        wait_until_connected(studio, "Scripted")
        studio.server.client.patch("/api/config", json={"toolsOnDemand": "always"}).raise_for_status()
        yield studio


@pytest_asyncio.fixture(loop_scope="session")
async def reviewer(served: Studio, browser_context: BrowserContext) -> Reviewer:
    return await open_reviewer(served, browser_context)


def by_name(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"call": "call_tool", "arguments": {"name": f"scripted__{tool}", "arguments": arguments}}


@pytest.mark.case("NAM-03")
async def test_a_search_shows_what_it_found_and_a_call_by_name_is_shown_as_the_tool(reviewer: Reviewer) -> None:
    await reviewer.begin("On demand")
    look = {"call": "search_tools", "arguments": {"query": "give back what it is given"}}
    await reviewer.say("Look", [look], [by_name("echo", text="hello")], "Done.", allow=())
    # Whoever is asked has the tool itself before them.
    await expect(reviewer.approval).to_contain_text("Allow scripted.echo?")
    await expect(reviewer.approval).to_contain_text("hello")
    await expect(reviewer.approval).not_to_contain_text("call_tool")
    await reviewer.approval.get_by_role("button", name="Allow", exact=True).click()
    await reviewer.chat.finished()
    await reviewer.chat.open_steps()
    search = await reviewer.opened("Looked for tools: give back what it is given")
    found = search.get_by_role("list", name="Found tools").get_by_role("listitem")
    await expect(found.first).to_contain_text("scripted.echo")
    await expect(found.first).to_contain_text("Gives back what it is given.")
    # The schemas are a press away.
    await expect(search).not_to_contain_text("input_schema")
    await search.get_by_role("button", name="What the model was given").click()
    await expect(search).to_contain_text("input_schema")
    called = await reviewer.opened("scripted: echo")
    await expect(called).to_contain_text("echo of Scripted: done")
    await expect(called.get_by_label("Arguments", exact=True)).to_contain_text("hello")
    await expect(called).not_to_contain_text("call_tool")
    assert await serious_problems(reviewer.page) == []
    await reviewer.page.set_viewport_size(PHONE)
    await fits(reviewer.page)
