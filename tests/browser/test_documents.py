"""Documents in the page: dropped, read, attached, opened at the place that an answer quotes."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.axe import serious_problems
from tests.browser.studio import Chat, Studio
from tests.browser.test_drops import drop
from tests.support.documents import one_of_each, pdf

REPORT = [
    ["Harbour report", "Spring and summer"],
    *[[f"Page {page}, line {line} of the report." for line in range(1, 41)] for page in range(2, 30)],
    ["The end", "The pelican arrived at noon.", "Nobody saw it leave."],
]


@pytest.fixture
def report(tmp_path: Path) -> str:
    """A report of thirty pages."""
    file = tmp_path / "Report.pdf"
    file.write_bytes(pdf(REPORT, outline=[("Harbour report", 0), ("The end", 29)]))
    return str(file)


@pytest.mark.case("UTL-16")
async def test_every_kind_of_file_is_dropped_read_and_attached(chat: Chat, studio: Studio, tmp_path: Path) -> None:
    page = chat.page
    cards = page.get_by_role("list", name="Attached documents").get_by_role("listitem")
    for number, (name, (content, _)) in enumerate(one_of_each().items(), 1):
        (tmp_path / name).write_bytes(content)
        await drop(page, page.get_by_role("main"), str(tmp_path / name))
        await expect(cards).to_have_count(number)
        await expect(cards.get_by_role("button", name=name, exact=True)).to_be_visible()
    await expect(cards.first).to_contain_text("PDF · 2 pages")
    await expect(cards.first).to_contain_text("The pelican arrived at noon.")
    assert await serious_problems(page) == []
    # What was not sent yet is there after a reload.
    await page.reload()
    await expect(cards).to_have_count(len(one_of_each()))
    studio.script("Nine documents.")
    await chat.ask("What are these?")
    await expect(page.get_by_role("form").get_by_role("list", name="Attached documents")).to_have_count(0)
    sent = chat.rows("user_message").get_by_role("listitem")
    await expect(sent).to_have_count(len(one_of_each()))
    [message] = [item for item in chat.snapshot()["items"] if item["kind"] == "user_message"]
    assert [each["name"] for each in message["data"]["documents"]] == list(one_of_each())
    # Each can be found from the panel, too.
    await page.keyboard.press("Alt+p")
    await page.get_by_role("tab", name="Documents").click()
    listed = page.get_by_role("tabpanel").get_by_role("list", name="Documents").get_by_role("listitem")
    await expect(listed).to_have_count(len(one_of_each()))
    assert await serious_problems(page) == []


async def test_a_citation_opens_its_place_highlighted_and_the_document_can_be_searched(
    chat: Chat, studio: Studio, report: str
) -> None:
    page = chat.page
    await drop(page, chat.box, report)
    await expect(page.get_by_role("button", name="Report.pdf", exact=True)).to_be_visible()
    studio.script("Reading.")
    await chat.ask("Look at this.")
    [message] = [item for item in chat.snapshot()["items"] if item["kind"] == "user_message"]
    short = message["data"]["documents"][0]["id"][-8:]
    studio.script("Reading.", f"It arrived at noon [Report.pdf p. 30, line 2](doc:{short}#p30l2).")
    await chat.ask("When?")
    await page.get_by_role("button", name="Report.pdf p. 30, line 2").click()
    viewer = page.get_by_role("dialog")
    target = viewer.locator("[data-target]")
    await expect(target).to_contain_text("The pelican arrived at noon.")
    await expect(target).to_be_in_viewport()
    await expect(viewer.get_by_role("heading", name="Page 30")).to_be_visible()
    assert await serious_problems(page) == []
    # What is before it can be had.
    await viewer.get_by_role("button", name="Earlier").click()
    await expect(viewer.get_by_role("heading", name="Page 2", exact=True)).to_have_count(1)
    # Looking for something else in it.
    await viewer.get_by_role("textbox", name="Search in this document").fill("spring")
    await viewer.get_by_role("list", name="Found places").get_by_role("button").first.click()
    await expect(target).to_contain_text("Spring and summer")
    await expect(target).to_be_in_viewport()
    assert await serious_problems(page) == []
    await page.keyboard.press("Escape")
    await expect(viewer).to_have_count(0)
    # The card opens it from its beginning.
    await chat.rows("user_message").first.get_by_role("button", name="Report.pdf", exact=True).click()
    await expect(viewer.get_by_role("heading", name="Page 1", exact=True)).to_be_in_viewport()


async def test_a_long_paste_becomes_a_card_that_can_be_turned_back_into_text(chat: Chat, studio: Studio) -> None:
    page = chat.page
    text = "\n".join(f"Line {number} of what was copied." for number in range(100))
    paste = """(box, text) => {
        const data = new DataTransfer();
        data.setData("text/plain", text);
        box.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    }"""
    await chat.box.fill("Sum this up:")
    await chat.box.evaluate(f"(box) => ({paste})(box, {'Short.'!r})")
    card = page.get_by_role("list", name="Attached documents").get_by_role("listitem")
    await expect(card).to_have_count(0)
    await chat.box.evaluate(paste, text)
    await expect(card).to_contain_text("Pasted text.txt")
    await expect(chat.box).to_have_value("Sum this up:")
    assert await serious_problems(page) == []
    await page.get_by_role("button", name="Turn into text").click()
    await expect(card).to_have_count(0)
    await expect(chat.box).to_have_value(f"Sum this up:\n{text}")
    await chat.box.fill("")
    await chat.box.evaluate(paste, text)
    await expect(card).to_have_count(1)
    await expect(page.get_by_role("button", name="Remove Pasted text.txt")).to_be_visible()
    studio.script("A hundred lines.")
    # A document alone can be sent.
    await page.get_by_role("button", name="Send").click()
    await expect(chat.answers.last).to_contain_text("A hundred lines.")
    assert "Line 99 of what was copied." in chat.snapshot()["items"][0]["data"]["documents"][0]["text"]


async def test_a_document_is_added_moved_removed_and_brought_back_in_the_panel(
    chat: Chat, studio: Studio, report: str
) -> None:
    page = chat.page
    studio.script("Hello.")
    await chat.ask("Hello")
    await page.keyboard.press("Alt+p")
    await page.get_by_role("tab", name="Documents").click()
    panel = page.get_by_role("tabpanel")
    await expect(panel.get_by_text("No documents yet.")).to_be_visible()
    await panel.locator("input[type=file]").set_input_files(report)
    await expect(panel.get_by_role("button", name="Report.pdf", exact=True)).to_be_visible()
    seen_by = panel.get_by_role("combobox", name="Who sees Report.pdf")
    await seen_by.select_option("Everywhere")
    await expect(seen_by).to_have_value("everywhere ")
    await panel.get_by_role("button", name="Remove Report.pdf").click()
    await expect(panel.get_by_text("Report.pdf was removed.")).to_be_visible()
    assert studio.server.get("/api/documents?scope=everywhere")["documents"] == []
    await panel.get_by_role("button", name="Undo").click()
    await expect(panel.get_by_role("button", name="Report.pdf", exact=True)).to_be_visible()
    assert [each["name"] for each in studio.server.get("/api/documents?scope=everywhere")["documents"]] == [
        "Report.pdf"
    ]
    assert await serious_problems(page) == []
