"""A branch that begins before files were changed: they are put back if the person says so, and not otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Locator, expect

from tests.browser.answering import create, files
from tests.browser.axe import serious_problems
from tests.browser.branching import edit, mine, shows
from tests.browser.studio import Chat, Studio

TIDES = "def high_water(day):\n    return table[day]\n"
CHANGED = "def high_water(day):\n    return table[day + 1]\n"


@pytest_asyncio.fixture(loop_scope="session")
async def changed(studio: Studio, browser_context: BrowserContext, ship: Path) -> Chat:
    """A conversation in which the agent has changed one file and made another."""
    replaced = files("replace_string", filePath="src/tides.py", oldString="table[day]", newString="table[day + 1]")
    studio.script([replaced, create("log.md", "Left at 05:30.\\n")], "Mended.", "Again.", "And again.")
    made = studio.conversation("Mend the tides", workingDirectory=str(ship), mode="auto_edit")
    assert (ship / "src/tides.py").read_text() == CHANGED
    return await studio.open(browser_context, f"/c/{made}")


def question(chat: Chat) -> Locator:
    """What is asked before the branch is made."""
    return chat.page.get_by_role("dialog", name="Before the new branch")


@pytest.mark.case("CHT-02")
async def test_files_are_put_back_when_the_person_says_so(changed: Chat, studio: Studio, ship: Path) -> None:
    studio.script("Only words.")
    await edit(changed, "Mend the tides", "Only tell me")
    asked = question(changed)
    await expect(asked).to_contain_text("After this place 2 files were changed.")
    await expect(asked.get_by_role("list", name="Changed files")).to_contain_text("src/tides.py")
    assert await serious_problems(changed.page) == []
    # Nothing is done before the answer.
    assert (ship / "src/tides.py").read_text() == CHANGED
    await asked.get_by_role("button", name="Put 2 files back").click()
    await shows(changed, "Only tell me", "Only words.")
    assert (ship / "src/tides.py").read_text() == TIDES
    assert not (ship / "log.md").exists()


async def test_files_are_left_when_the_person_says_so_and_cancelling_makes_no_branch(
    changed: Chat, studio: Studio, ship: Path
) -> None:
    studio.script("Only words.")
    await edit(changed, "Mend the tides", "Only tell me")
    await question(changed).get_by_role("button", name="Cancel").click()
    await expect(changed.page.get_by_role("textbox", name="Message, edited")).to_have_value("Only tell me")
    assert changed.snapshot()["branches"] == []
    await changed.page.get_by_role("button", name="Send the edited message").click()
    await question(changed).get_by_role("button", name="Leave them").click()
    await shows(changed, "Only tell me", "Only words.")
    assert (ship / "src/tides.py").read_text() == CHANGED
    assert (ship / "log.md").exists()


async def test_a_file_that_someone_else_changed_since_stays_and_is_named(
    changed: Chat, studio: Studio, ship: Path
) -> None:
    (ship / "log.md").write_text("Written by hand.\n")
    studio.script("Only words.")
    await mine(changed, "Mend the tides").hover()
    await changed.answers.last.hover()
    await changed.answers.last.get_by_role("button", name="Regenerate").click()
    await changed.page.get_by_role("menuitem", name="With the same model").click()
    asked = question(changed)
    await asked.get_by_role("button", name="Put 2 files back").click()
    await expect(asked.get_by_role("alert")).to_contain_text("log.md was left as it is.")
    assert (ship / "src/tides.py").read_text() == TIDES
    assert changed.snapshot()["branches"] == []
    await asked.get_by_role("button", name="Go on").click()
    await shows(changed, "Mend the tides", "Only words.")
    assert (ship / "log.md").read_text() == "Written by hand.\n"
