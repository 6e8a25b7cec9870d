"""What the page shows when the database hangs, and when a run waits because it took its process down too often."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, expect

from tests.browser.console import Console
from tests.browser.studio import Chat, Studio
from tests.faults.test_given_up import REASON, died_often
from tests.support.stalling_line import StallingLine, open_stalling_line

# What a server needs to see that its database hangs, and then some.
NOTICED_MS = 40_000
BACK_MS = 20_000


@pytest.fixture
def line(postgres_url: str, tmp_path: Path) -> Iterator[tuple[StallingLine, Studio]]:
    """A server of this test alone, and the line to its database."""
    with open_stalling_line(postgres_url) as (made, url):
        studio = Studio(tmp_path / "home", database_url=url)
        yield made, studio
        made.go_on()
        studio.server.close()


@pytest.mark.slow
async def test_a_page_says_that_the_database_does_not_answer_and_when_it_is_back(
    line: tuple[StallingLine, Studio], browser_context: BrowserContext, console: Console
) -> None:
    console.expect("Failed to load resource")
    stalled, studio = line
    chat = await studio.open(browser_context)
    hold = studio.hold()
    studio.script(["It begins ", hold.step, "and it ends."])
    await chat.send("Go")
    await expect(chat.answers.last).to_contain_text("It begins")
    stalled.stall()
    notice = chat.page.get_by_role("status").filter(has_text="The database does not answer. Everything is paused.")
    await expect(notice).to_be_visible(timeout=NOTICED_MS)
    await expect(chat.connection).to_have_text("connected")
    another = await browser_context.new_page()
    await another.goto(studio.url)
    await expect(another.get_by_text("The database does not answer.")).to_be_visible()
    hold.release()
    stalled.go_on()
    await expect(chat.page.get_by_text("Saving works again.")).to_be_visible(timeout=NOTICED_MS)
    await expect(chat.answers.last.locator("p").first).to_have_text("It begins and it ends.", timeout=BACK_MS)
    await expect(chat.send_button).to_be_visible(timeout=BACK_MS)
    # What could not be loaded comes by itself.
    await expect(another.get_by_role("textbox", name="Message")).to_be_visible(timeout=BACK_MS)


@pytest.mark.slow
async def test_a_run_that_was_given_up_says_why_and_goes_on_at_a_click_after_others(
    own: Studio, browser_context: BrowserContext, console: Console
) -> None:
    for complaint in ("WebSocket connection to", "net::ERR_", "Failed to load resource"):
        console.expect(complaint)
    chat = await own.open(browser_context)
    own.script(["It begins ", own.hold().step])
    await chat.send("The first question")
    await expect(chat.answers.last).to_contain_text("It begins")
    (run,) = own.server.get(f"/api/conversations/{chat.conversation}?limit=20")["runs"]
    own.server.kill()
    await died_often(own.home, run["id"])
    own.script("The second answer.", "The first answer.")
    own.restart()
    await _goes_on(chat)


async def _goes_on(chat: Chat) -> None:
    reason = chat.timeline.get_by_role("alert").filter(has_text=REASON)
    await expect(reason).to_be_visible(timeout=BACK_MS)
    await chat.send("The second question")
    await expect(chat.answers.last).to_contain_text("The second answer.", timeout=BACK_MS)
    await expect(reason).to_be_visible()
    await reason.get_by_role("button", name="Resume").click()
    await expect(chat.answers.last).to_contain_text("The first answer.", timeout=BACK_MS)
    await expect(reason).to_have_count(0)
    await expect(chat.timeline.get_by_text("An earlier answer goes on here")).to_be_visible()
