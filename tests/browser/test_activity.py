"""What was done between two answers: one line while it works and after, a row for each step behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.answering import agree, button, create
from tests.browser.approving import Reviewer, add_server, call, wait_until_connected
from tests.browser.axe import serious_problems
from tests.browser.studio import Studio
from tests.browser.width import fits

PHONE = {"width": 390, "height": 700}
RED = "rgb(180, 35, 24)"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One server for all tests, with a server of tools."""
    with Studio(tmp_path_factory.mktemp("activity") / "home") as studio:
        add_server(studio, "Scripted")
        wait_until_connected(studio, "Scripted")
        yield studio


@pytest.mark.case("TCL-05", "TCL-06", "TCL-11", "TCL-16")
async def test_while_it_works_one_line_has_the_present_step_its_time_and_its_cancel(
    reviewer: Reviewer, tmp_path: Path
) -> None:
    go_on, hold, line = tmp_path / "go-on", reviewer.studio.hold(), reviewer.chat.doings
    progress = call("progress", steps=4, until=str(go_on))
    await reviewer.say("Work", [call("echo", text="first")], [progress], [hold.step, "Done."])
    await expect(line).to_contain_text(re.compile(r"Using scripted\.progress\.\.\. .*Executing\.\.\..* s"))
    done = reviewer.chat.timeline.get_by_role("group", name="What was done")
    await expect(done.get_by_role("progressbar")).to_be_visible()
    await expect(done.get_by_role("button", name="Cancel", exact=True)).to_be_visible()
    await expect(reviewer.chat.rows("tool_call")).to_have_count(0)
    assert await serious_problems(reviewer.page) == []
    go_on.touch()
    # The wait for the model is told in the same line, and nowhere else.
    await expect(line).to_contain_text(re.compile(r"Waiting for the model… [\d.]+ s"))
    await expect(reviewer.chat.timeline.get_by_text("Waiting for the model")).to_have_count(1)
    hold.release()
    await reviewer.chat.finished()
    await expect(line).to_have_text(re.compile(r"^Used 2 tools · [\d.]+ m?s$"))
    await expect(done.get_by_role("button", name="Cancel")).to_have_count(0)
    await reviewer.chat.open_steps()
    rows = reviewer.chat.rows("tool_call")
    await expect(rows.first).to_contain_text("scripted: echo first")
    await expect(rows.last).to_contain_text("scripted: progress steps: 4")


async def test_what_failed_and_what_was_not_allowed_is_seen_without_opening(reviewer: Reviewer) -> None:
    steps = [call("echo", text="well"), call("fail", message="No berth."), create("src/no.py")]
    await reviewer.say("Fail", steps, "Sorry.")
    # A call that waits for the person is not hidden either.
    await expect(reviewer.chat.doings).to_contain_text("Creating file: no.py Waiting for your approval")
    await button(reviewer.approval, "Deny").click()
    await reviewer.chat.finished()
    await expect(reviewer.chat.doings).to_have_text(re.compile(r"^Used 3 tools · .*1 failed1 not allowed$"))
    await expect(reviewer.chat.doings.get_by_text("1 failed")).to_have_css("color", RED)
    assert await serious_problems(reviewer.page) == []


@pytest.mark.case("TCL-10")
async def test_the_line_and_its_rows_open_by_keyboard_and_say_so(reviewer: Reviewer) -> None:
    page, line = reviewer.page, reviewer.chat.doings
    await reviewer.say("Two", [call("echo", text="one"), call("echo", text="two")], "Done.")
    await reviewer.chat.finished()
    await expect(line).to_have_attribute("aria-expanded", "false")
    await line.focus()
    await page.keyboard.press("Enter")
    await expect(line).to_have_attribute("aria-expanded", "true")
    listed = page.locator(f"[id='{await line.get_attribute('aria-controls')}']")
    await expect(listed.locator("[data-kind=tool_call]")).to_have_count(2)
    await page.keyboard.press("Tab")
    await expect(reviewer.card("one").get_by_role("button").first).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(reviewer.card("one").get_by_label("Result", exact=True)).to_have_text("one")
    # The shield says who allowed it.
    shield = reviewer.card("two").get_by_role("button", name="Allowed together with your message.")
    await shield.focus()
    await expect(page.get_by_role("tooltip")).to_have_text("Allowed together with your message.")
    assert await serious_problems(page) == []
    await shield.blur()
    await expect(page.get_by_role("tooltip")).to_have_count(0)
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await shield.hover()
    await expect(page.get_by_role("tooltip")).to_be_visible()
    await fits(page)
    await line.press("Enter")
    await expect(reviewer.chat.rows("tool_call")).to_have_count(0)


async def test_who_is_led_to_a_call_finds_the_list_open_at_its_row(reviewer: Reviewer) -> None:
    steps = [call("echo", text=f"knot number {number}") for number in range(40)]
    await reviewer.say("Many", steps, "\n\n".join(f"Paragraph {number}." for number in range(60)))
    await reviewer.chat.finished()
    calls = [item for item in reviewer.chat.snapshot()["items"] if item["kind"] == "tool_call"]
    words = calls[-2]["text"]
    await reviewer.chat.go(f"/c/{reviewer.chat.conversation}?item={calls[-2]['id']}")
    await expect(reviewer.card(words)).to_be_in_viewport()
    await expect(reviewer.chat.timeline.locator("[data-target]")).to_contain_text(words)
    await reviewer.chat.doings.click()
    await expect(reviewer.chat.rows("tool_call")).to_have_count(0)


async def test_who_reads_the_only_step_goes_on_reading_when_another_comes(reviewer: Reviewer) -> None:
    hold = reviewer.studio.hold()
    await reviewer.say("Read", [call("echo", text="to be read")], [hold.step, call("echo", text="later")], "Done.")
    first = reviewer.card("to be read")
    await expect(first).to_contain_text("Completed")
    await first.get_by_role("button", expanded=False).first.click()
    await expect(first.get_by_label("Result", exact=True)).to_have_text("to be read")
    hold.release()
    await reviewer.chat.finished()
    await expect(reviewer.chat.doings).to_contain_text("Used 2 tools")
    await expect(first.get_by_label("Result", exact=True)).to_be_visible()


async def test_what_the_person_answered_stands_at_the_call_while_others_wait(reviewer: Reviewer, ship: Path) -> None:
    outside = str(ship.parent / "outside.txt")
    await reviewer.say("Two", [create("src/a.py"), create(outside)], "Done.")
    await agree(button(reviewer.approval.filter(has_text="src/a.py"), "Allow"))
    await expect(reviewer.approval).to_contain_text("outside the working directory")
    await reviewer.chat.open_steps()
    await expect(reviewer.card("a.py")).to_contain_text("Waiting for your other answers")
    await expect(reviewer.card("a.py")).to_contain_text("You allowed file_operations.create_file once.")
    await expect(reviewer.card("outside.txt")).to_contain_text("Waiting for your approval")
    await button(reviewer.approval, "Deny").click()
    await reviewer.chat.finished()
    await expect(reviewer.card("a.py")).to_contain_text("Created a.py")
