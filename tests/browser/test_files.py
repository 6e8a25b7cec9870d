"""What the agent does to files: cards in its own words, diffs, and the way back."""

from __future__ import annotations

from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, expect

from tests.browser.axe import serious_problems
from tests.browser.console import Console
from tests.browser.resting import place_of
from tests.browser.studio import Studio
from tests.browser.width import fits
from tests.browser.workshop import Workshop, files, open_workshop

NOTES = "".join(f"line {number}\n" for number in range(1, 41))
PHONE = {"width": 360, "height": 740}
DIFF = "--- a/notes.md\n+++ b/notes.md\n@@ -4,7 +4,7 @@\n line 4\n line 5\n line 6\n-line 7\n+line seven\n line 8\n"


@pytest_asyncio.fixture(loop_scope="session")
async def workshop(studio: Studio, browser_context: BrowserContext, tmp_path: Path) -> Workshop:
    """A folder with notes in it."""
    folder = tmp_path / "boat"
    folder.mkdir()
    (folder / "notes.md").write_text(NOTES)
    return await open_workshop(studio, browser_context, folder)


def edit(workshop: Workshop, old: str, new: str) -> dict[str, object]:
    return files("replace_string", filePath=str(workshop.folder / "notes.md"), oldString=old, newString=new)


def create(workshop: Workshop, name: str, content: str) -> dict[str, object]:
    return files("create_file", filePath=str(workshop.folder / name), content=content)


async def test_an_edit_shows_its_diff_and_the_copy_is_exact(workshop: Workshop) -> None:
    await workshop.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await workshop.say("Edit it", [edit(workshop, "line 7\n", "line seven\n")], "Done.")
    card = workshop.card("Edited notes.md +1 −1")
    await expect(card.get_by_role("img", name="1 added, 1 removed")).to_be_visible()
    await card.get_by_role("button", expanded=False).first.click()
    diff = card.get_by_role("group", name="Changes of notes.md")
    await expect(diff).to_contain_text("-line 7")
    await expect(diff).to_contain_text("+line seven")
    await card.get_by_role("button", name="Copy the diff of notes.md").click()
    await expect(card.get_by_role("button", name="Copied")).to_be_visible()
    copied = await workshop.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(DIFF)
    assert await serious_problems(workshop.page) == []
    await workshop.dark()
    assert await serious_problems(workshop.page) == []


async def test_one_change_is_undone_by_a_click_and_stays_so_after_a_reload(workshop: Workshop) -> None:
    await workshop.say("Edit it", [edit(workshop, "line 7\n", "line seven\n")], "Done.")
    card = workshop.card("Edited notes.md")
    await card.get_by_role("button", expanded=False).first.click()
    undo = card.get_by_role("button", name="Undo this change")
    await expect(workshop.chat.timeline).to_contain_text("This run changed 1 file")
    place = await place_of(card)
    await undo.click()
    struck = card.get_by_text("undone", exact=True)
    await expect(struck).to_be_visible()
    assert (workshop.folder / "notes.md").read_text() == NOTES
    await expect(undo).to_have_count(0)
    assert await place_of(card) == place, "what was pressed stays where it was"
    await expect(workshop.chat.timeline).to_contain_text("All changes of this run are undone")
    await workshop.page.reload()
    await expect(workshop.chat.timeline).to_contain_text("All changes of this run are undone")
    await card.get_by_role("button", expanded=False).first.click()
    await expect(struck).to_be_visible()


async def test_what_a_command_changed_is_at_its_card_and_undone_like_an_edit(
    studio: Studio, browser_context: BrowserContext, tmp_path: Path
) -> None:
    workshop = await open_workshop(studio, browser_context, tmp_path / "boat", mode="auto_approve")
    (workshop.folder / "notes.md").write_text(NOTES)
    said = {"operation": "run_command", "command": "sed -i 's/line 7$/line seven/' notes.md; echo 12 > hull.py"}
    await workshop.say("Run it", [{"call": "terminal_operations", "arguments": said}], "Done.")
    card = workshop.card("sed -i")
    await card.get_by_role("button", expanded=False).first.click()
    await expect(card.get_by_role("group", name="Changes of notes.md")).to_contain_text("+line seven")
    await expect(card.get_by_role("group", name="Changes of hull.py")).to_contain_text("+12")
    await card.get_by_role("button", name="Undo this change").click()
    await expect(workshop.chat.timeline).to_contain_text("All changes of this run are undone")
    assert (workshop.folder / "notes.md").read_text() == NOTES
    assert not (workshop.folder / "hull.py").exists()


async def test_what_starts_by_itself_is_set_aside_and_put_back_or_dropped_with_one_click(
    studio: Studio, browser_context: BrowserContext, tmp_path: Path
) -> None:
    workshop = await open_workshop(studio, browser_context, tmp_path / "boat", mode="auto_approve")
    for number, (button, outcome) in enumerate((("Put back", "Put back."), ("Drop", "Dropped."))):
        said = {"operation": "run_command", "command": f"mkdir -p w{number}; echo obey > w{number}/AGENTS.md"}
        await workshop.say(f"Run {number}", [{"call": "terminal_operations", "arguments": said}], "Done.")
        aside = workshop.chat.timeline.get_by_role("group", name="Set aside").last
        await expect(aside.get_by_role("group", name=f"Changes of w{number}/AGENTS.md")).to_contain_text("+obey")
        assert not (workshop.folder / f"w{number}" / "AGENTS.md").exists()
        await aside.get_by_role("button", name=button).click()
        await expect(aside).to_contain_text(outcome)
        await expect(aside.get_by_role("button")).to_have_count(0)
    assert (workshop.folder / "w0" / "AGENTS.md").read_text() == "obey\n"
    assert not (workshop.folder / "w1" / "AGENTS.md").exists()
    assert await serious_problems(workshop.page) == []


async def test_all_changes_of_a_run_are_listed_at_its_end_and_undone_together(workshop: Workshop) -> None:
    steps = [edit(workshop, "line 7\n", "line seven\n"), create(workshop, "hull.py", "length = 12\n")]
    await workshop.say("Both", [steps[0]], [steps[1]], "Done.")
    end = workshop.chat.timeline.get_by_role("region", name="Changed files")
    await expect(end).to_contain_text("This run changed 2 files")
    await expect(end).to_contain_text("hull.py")
    await expect(end.get_by_role("group", name="Changes of notes.md")).to_contain_text("+line seven")
    await end.get_by_role("button", name="Undo all changes of this run").click()
    await expect(end).to_contain_text("All changes of this run are undone")
    assert (workshop.folder / "notes.md").read_text() == NOTES
    assert not (workshop.folder / "hull.py").exists()
    assert await serious_problems(workshop.page) == []


async def test_what_someone_changed_since_is_left_alone_and_shown(workshop: Workshop) -> None:
    await workshop.say("Edit it", [edit(workshop, "line 7\n", "line seven\n")], "Done.")
    notes = workshop.folder / "notes.md"
    mine = notes.read_text().replace("line 30\n", "line thirty, by hand\n")
    notes.write_text(mine)
    end = workshop.chat.timeline.get_by_role("region", name="Changed files")
    await end.get_by_role("button", name="Undo all changes of this run").click()
    alert = end.get_by_role("alert")
    await expect(alert).to_contain_text("notes.md was left as it is.")
    await expect(alert.get_by_role("group", name="Changes of")).to_contain_text("+line thirty, by hand")
    assert notes.read_text() == mine
    assert await serious_problems(workshop.page) == []
    await workshop.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await fits(workshop.page)


async def test_the_panel_lists_every_file_that_the_conversation_changed(workshop: Workshop) -> None:
    await workshop.say("One", [edit(workshop, "line 7\n", "line seven\n")], "Done.")
    await workshop.say("Two", [create(workshop, "hull.py", "length = 12\n")], "Done.")
    changes = await workshop.show("Changes")
    await expect(changes).to_contain_text("2 files changed")
    await changes.get_by_role("button", name="hull.py").click()
    await expect(changes.get_by_role("group", name="Changes of hull.py")).to_contain_text("+length = 12")
    assert await serious_problems(workshop.page) == []


@pytest.mark.case("PLT-02")
async def test_the_working_directory_stands_in_the_bar_and_is_changed_there(
    workshop: Workshop, console: Console
) -> None:
    console.expect("400")
    other = workshop.folder.parent / "shed"
    other.mkdir()
    bar = workshop.page.get_by_role("banner")
    await bar.get_by_role("button", name=f"Working directory: {workshop.folder}").click()
    form = workshop.page.get_by_role("dialog", name="Working directory")
    field = form.get_by_role("textbox", name="Working directory")
    await field.fill(str(workshop.folder / "nowhere"))
    await field.press("Enter")
    await expect(form).to_contain_text("There is no folder")
    await field.fill(str(other))
    await form.get_by_role("button", name="Use this folder").click()
    await expect(bar.get_by_role("button", name=f"Working directory: {other}")).to_contain_text("shed")
    assert workshop.chat.snapshot()["conversation"]["settings"]["workingDirectory"] == str(other)


async def test_a_built_in_tool_that_is_not_chosen_is_not_there(workshop: Workshop) -> None:
    await workshop.page.get_by_role("button", name="Chat settings").click()
    settings = workshop.page.get_by_role("dialog", name="Chat settings")
    await settings.get_by_role("checkbox", name="Files").uncheck()
    await workshop.page.keyboard.press("Escape")
    await workshop.say("Make it", [create(workshop, "hull.py", "length = 12\n")], "Done.")
    await expect(workshop.card("file_operations")).to_contain_text("Failed")
    assert not (workshop.folder / "hull.py").exists()
