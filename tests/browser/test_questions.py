"""What the agent asks by itself: choices, words, permission, and the state afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Locator, expect

from tests.browser.answering import agree, button
from tests.browser.axe import serious_problems
from tests.browser.studio import Studio, Turn
from tests.browser.workshop import Workshop, files, open_workshop

PHONE = {"width": 360, "height": 740}


@pytest_asyncio.fixture(loop_scope="session")
async def workshop(studio: Studio, browser_context: BrowserContext, tmp_path: Path) -> Workshop:
    """A conversation in which everything is asked."""
    return await open_workshop(studio, browser_context, tmp_path / "boat", mode="ask")


def ask(prompt: str, **arguments: Any) -> dict[str, Any]:
    return {"call": "user_collaboration", "arguments": {"prompt": prompt, **arguments}}


async def asked(workshop: Workshop, text: str, *turns: Turn) -> Locator:
    """Send a message that makes the agent ask, and return its question."""
    workshop.let(text, *turns)
    await workshop.chat.send(text)
    question = workshop.chat.dock.get_by_role("region", name="Question from the agent")
    await expect(question).to_be_visible()
    return question


@pytest.mark.case("UTL-03", "UTL-04", "UTL-08")
async def test_a_question_with_choices_is_answered_by_a_button(workshop: Workshop) -> None:
    units = ask("Which unit?", context="Charts use metres.", choices=["Metres", "Feet"])
    question = await asked(workshop, "Begin", [units], "Good.")
    await expect(question).to_contain_text("Which unit?")
    await expect(question).to_contain_text("Charts use metres.")
    await expect(workshop.card("Asking: Which unit?")).to_contain_text("Waiting for your answer")
    assert await serious_problems(workshop.page) == []
    await question.get_by_role("button", name="Feet").click()
    await expect(workshop.chat.timeline).to_contain_text("Which unit? You answered: Feet")
    await workshop.chat.finished()
    await expect(workshop.card("Asked: Which unit?")).to_contain_text("Completed")
    await workshop.page.reload()
    await expect(workshop.chat.timeline).to_contain_text("Which unit? You answered: Feet")


async def test_a_question_is_reached_and_answered_by_keys_alone(workshop: Workshop) -> None:
    question = await asked(workshop, "Begin", [ask("Which unit?", choices=["Metres", "Feet"])], "Good.")
    await workshop.page.keyboard.press("Alt+q")
    await expect(question).to_be_focused()
    await workshop.page.keyboard.press("1")
    await expect(workshop.chat.timeline).to_contain_text("Which unit? You answered: Metres")
    await workshop.chat.finished()


async def test_words_of_ones_own_are_an_answer_too(workshop: Workshop) -> None:
    question = await asked(workshop, "Begin", [ask("Which unit?", choices=["Metres", "Feet"])], "Good.")
    words = question.get_by_role("textbox", name="Or in your own words")
    await words.fill("Fathoms, 12 of them")
    await words.press("Enter")
    await expect(workshop.chat.timeline).to_contain_text("Which unit? You answered: Fathoms, 12 of them")
    await workshop.chat.finished()
    question = await asked(workshop, "Again", [ask("What name?")], "Good.")
    await question.get_by_role("textbox", name="Your answer").fill("Havsule")
    await question.get_by_role("button", name="Answer").click()
    await expect(workshop.chat.timeline).to_contain_text("What name? You answered: Havsule")
    await workshop.chat.finished()


@pytest.mark.case("UTL-05", "ATZ-06", "ATZ-09")
async def test_leave_that_the_agent_asks_for_says_what_it_allows_and_for_how_long(workshop: Workshop) -> None:
    operation = "file_operations.create_file"
    create = files("create_file", filePath=str(workshop.folder / "log.md"), content="day one\n")
    question = await asked(
        workshop, "Begin", [ask("May I keep a log?", authorize_operation=operation)], [create], "Kept."
    )
    await expect(question).to_contain_text(f"Approving allows {operation} in this conversation for 5 minutes")
    await workshop.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    assert await serious_problems(workshop.page) == []
    await question.get_by_role("textbox").fill("Only today")
    await agree(button(question, "Approve for 5 minutes"))
    await expect(workshop.chat.timeline).to_contain_text(
        f"You allowed {operation} for 5 minutes. You added: Only today"
    )
    await workshop.chat.finished()
    assert (workshop.folder / "log.md").read_text() == "day one\n"


async def test_leave_that_is_declined_allows_nothing(workshop: Workshop) -> None:
    operation = "file_operations.create_file"
    question = await asked(workshop, "Begin", [ask("May I keep a log?", authorize_operation=operation)], "As you like.")
    await question.get_by_role("button", name="Decline").click()
    await expect(workshop.chat.timeline).to_contain_text("May I keep a log? You declined.")
    await workshop.chat.finished()
    grants = workshop.studio.server.get(f"/api/grants?conversation={workshop.chat.conversation}")
    assert grants["grants"] == []
