"""An answer that a limit cut: the page says so, and Go on joins the rest to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from playwright.async_api import expect

from tests.browser.studio import Chat, Studio

HALF: Sequence[Mapping[str, Any]] = [
    {"text": "The tide turns twice a d"},
    {"usage": {"input": 20, "output": 64}},
    {"stop": "length"},
]


async def test_a_cut_answer_says_so_and_goes_on_as_one(chat: Chat, studio: Studio) -> None:
    hold = studio.hold()
    studio.script(HALF, ["ay, ", hold.step, "**always**."])
    await chat.ask("When does it turn?")
    told = chat.timeline.get_by_role("alert")
    await expect(told).to_contain_text("The answer was cut at its limit of 64 tokens.")
    await expect(told).to_contain_text("To have the rest, go on.")
    await told.get_by_role("button", name="Go on").click()
    await expect(chat.answers).to_have_count(1)
    await expect(chat.answers.last).to_contain_text("The tide turns twice a day,")
    await expect(chat.answers.last).to_have_attribute("aria-busy", "true")
    await expect(told).to_have_count(0)
    hold.release()
    await chat.finished()
    await expect(chat.answers.locator("p").first).to_have_text("The tide turns twice a day, always.")
    await expect(chat.answers.last.locator("strong")).to_have_text("always")
    await expect(chat.rows("user_message")).to_have_count(1)
    await chat.page.reload()
    await expect(chat.answers).to_have_count(1)
    await expect(chat.answers.locator("p").first).to_have_text("The tide turns twice a day, always.")
    await expect(told).to_have_count(0)


async def test_what_goes_on_and_breaks_off_is_followed_by_the_next_attempt(chat: Chat, studio: Studio) -> None:
    hold = studio.hold()
    broken = [{"text": "ay, alw"}, hold.step, {"fault": "cut", "times": 1}, {"text": "ays."}]
    studio.script(HALF, broken)
    await chat.ask("When does it turn?")
    await chat.timeline.get_by_role("button", name="Go on").click()
    await expect(chat.answers.last).to_contain_text("The tide turns twice a day, alw")
    hold.release()
    await chat.finished()
    await expect(chat.answers).to_have_count(1)
    await expect(chat.answers.locator("p").first).to_have_text("The tide turns twice a day, always.")
