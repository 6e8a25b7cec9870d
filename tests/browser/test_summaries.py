"""A large result in the chat: its summary below the call while it is written, its own stop, and what stays."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Locator, expect

from tests.browser.approving import Reviewer, add_server, call, open_reviewer, wait_until_connected
from tests.browser.axe import serious_problems
from tests.browser.studio import Hold, Studio
from tests.browser.width import fits

PHONE = {"width": 390, "height": 844}
LARGE = "A long list of harbours and their berths. " * 80
SUMMARY = "There are **80 lines**, all alike: a long list of harbours and their berths."


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio in which the results of one server are large from the first words on."""
    large = {"enter": "summary", "servers": {"Scripted": 10}}
    with Studio(tmp_path_factory.mktemp("summaries") / "home", config={"large_results": large}) as studio:
        add_server(studio, "Scripted")
        wait_until_connected(studio, "Scripted")
        yield studio


@pytest_asyncio.fixture(loop_scope="session")
async def reviewer(served: Studio, browser_context: BrowserContext) -> Reviewer:
    return await open_reviewer(served, browser_context, "Harbours")


async def summing_up(reviewer: Reviewer, hold: Hold) -> Locator:
    """Have the model call for a large result and begin to sum it up; return the summary as it is shown."""
    summary = {"match": "# The result of", "steps": [{"text": SUMMARY, **hold.after_each(12)}]}
    steps = [{"match": "harbours", "steps": [step]} for step in (call("echo", text=LARGE), "That is all.")]
    reviewer.studio.script(summary, *steps)
    body = {"text": "Which harbours are there?", "allow": ["scripted.*"]}
    reviewer.studio.server.post(f"/api/conversations/{reviewer.chat.conversation}/messages", body, 202)
    shown = reviewer.page.get_by_role("group", name="Summary of the result")
    await expect(shown).to_contain_text("There are")
    return shown


@pytest.mark.case("RES-13")
async def test_a_summary_streams_below_its_call_and_stands_with_the_result_afterwards(reviewer: Reviewer) -> None:
    hold = reviewer.studio.hold()
    shown = await summing_up(reviewer, hold)
    card = reviewer.card("echo")
    await expect(card).to_have_attribute("data-phase", "summarising")
    await expect(card).to_contain_text("Summing up the result...")
    await expect(card.get_by_role("button", name="Cancel")).to_have_count(0)
    assert await serious_problems(reviewer.page) == []
    hold.release()
    await reviewer.chat.finished()
    await expect(reviewer.chat.answers.last).to_contain_text("That is all.")
    await expect(shown).to_have_count(0)
    opened = await reviewer.opened("echo")
    await expect(opened).to_contain_text("Summary by Script")
    await expect(opened.get_by_text("80 lines", exact=True)).to_be_visible()
    await expect(opened.get_by_role("button", name="Show the full result")).to_be_visible()


@pytest.mark.case("RES-13")
async def test_a_summary_is_stopped_by_itself_and_the_answer_goes_on(reviewer: Reviewer) -> None:
    shown = await summing_up(reviewer, reviewer.studio.hold())
    await reviewer.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await fits(reviewer.page)
    await shown.get_by_role("button", name="Stop the summary").click()
    await reviewer.chat.finished()
    await expect(reviewer.chat.answers.last).to_contain_text("That is all.")
    opened = await reviewer.opened("echo")
    await expect(opened).to_contain_text("There is no summary of it: the person stopped it.")
