"""When all slots are taken: the page says what an answer waits for, and keeps a message that was not taken."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, expect

from tests.browser.console import Console
from tests.browser.studio import Studio


@pytest.fixture
def narrow(tmp_path: Path) -> Iterator[Studio]:
    """A server that gets one answer at a time and lets two messages wait."""
    with Studio(tmp_path / "home", {"runs_at_once": 1, "most_waiting": 2}) as made:
        yield made


async def test_an_answer_that_waits_for_a_slot_says_how_many_come_before_it(
    narrow: Studio, browser_context: BrowserContext
) -> None:
    hold = narrow.hold()
    narrow.script(["Let me see. ", hold.step, "Done."], loop=True)
    first = await narrow.open(browser_context)
    await first.send("One")
    await expect(first.answers.last).to_contain_text("Let me see.")
    tabs = []
    for before in ("it is next", "1 before it"):
        tab = await narrow.open(browser_context)
        await tab.send("Another")
        await expect(tab.timeline.get_by_text(f"Waiting for a free slot: {before}")).to_be_visible()
        tabs.append(tab)
    # Also for whoever comes later.
    await tabs[1].page.reload()
    await expect(tabs[1].timeline.get_by_text("Waiting for a free slot: 1 before it")).to_be_visible()
    hold.release()
    for tab in (first, *tabs):
        await expect(tab.answers.last).to_contain_text("Done.")
        await expect(tab.timeline.get_by_text("Waiting for")).to_have_count(0)


async def test_a_message_that_was_not_taken_stays_in_the_box_and_can_be_sent_again(
    narrow: Studio, browser_context: BrowserContext, console: Console
) -> None:
    hold = narrow.hold()
    narrow.script(["Let me see. ", hold.step, "Done."], loop=True)
    console.expect("status of 429")
    tabs = [await narrow.open(browser_context) for _ in range(4)]
    await tabs[0].send("One")
    await expect(tabs[0].answers.last).to_contain_text("Let me see.")
    for tab in tabs[1:3]:
        await tab.send("Another")
        await expect(tab.timeline.get_by_text("Waiting for a free slot")).to_be_visible()
    last = tabs[3]
    await last.box.fill("One too many")
    await last.send_button.click()
    said = "Not sent; your message is still here. 2 messages wait for their answer already, so this one was not taken."
    await expect(last.page.get_by_text(said)).to_be_visible()
    await expect(last.box).to_have_value("One too many")
    hold.release()
    for tab in tabs[:3]:
        await expect(tab.answers.last).to_contain_text("Done.")
    await last.send_button.click()
    await expect(last.answers.last).to_contain_text("Done.")
    await expect(last.box).to_have_value("")
