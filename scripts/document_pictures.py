"""The pictures of documents: cards in the box, a quote with its place, and the list in the panel."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from playwright.async_api import expect

from scripts.key_pictures import Size, dark, resized
from tests.browser.studio import Chat
from tests.support.documents import docx, pdf, xlsx

Keep = Callable[[Chat, str], Awaitable[None]]

LEASE = [
    ["Lease of berth 14, north quay", "", "between the Harbour of Haugesund and the owner of the yacht Havsule"],
    [
        "3. Duration",
        "The lease begins on 1 April 2026 and ends on 31 October 2028.",
        "It is renewed for a year unless one side ends it in writing,",
        "at the latest three months before its end.",
        "",
        "4. Price",
        "The berth costs 14,200 kroner a year, water and electricity included.",
        "From the second year on the price follows the consumer price index.",
    ],
    ["5. Use", "The berth is for the yacht Havsule of 11.8 metres.", "Work on the hull is done in the yard."],
]
MINUTES: list[tuple[str, str] | str] = [
    ("H1", "Meeting of the harbour board"),
    "The north quay is closed for repairs from 4 to 18 November.",
]
COSTS: list[list[str | float | None]] = [["what", "kroner"], ["berth", 14_200], ["insurance", 6_350], ["paint", 2_100]]
SAID = """The lease ends on **31 October 2028**, and goes on for a year unless one of you ends it in writing
three months before ([Lease.pdf p. 2, line 2](doc:{id}#p2l2)).

The berth costs 14,200 kroner a year, with water and electricity ([Lease.pdf p. 2, line 6](doc:{id}#p2l6))."""


def files(folder: Path) -> list[str]:
    """Write the documents that the pictures show."""
    folder.mkdir(parents=True)
    contents = {
        "Lease.pdf": pdf(LEASE, outline=[("Lease of berth 14, north quay", 0), ("3. Duration", 1), ("5. Use", 2)]),
        "Minutes.docx": docx(MINUTES),
        "Costs.xlsx": xlsx({"2026": COSTS}),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [str(folder / name) for name in contents]


async def take(chat: Chat, folder: Path, keep: Keep, sizes: dict[str, Size]) -> None:
    """Take all pictures of documents."""
    page = chat.page
    await page.locator("input[type=file]").set_input_files(files(folder))
    await expect(
        page.get_by_role("list", name="Attached documents").get_by_role("button", name="Remove")
    ).to_have_count(3)
    await chat.box.fill("When does the lease end, and what does the berth cost?")
    await keep(chat, "documents-box")
    await dark(chat, keep, "documents-box-dark")
    await resized(chat, keep, "documents-box-phone", sizes["phone"])
    chat.studio.script("I am reading.")
    await chat.send("When does the lease end, and what does the berth cost?")
    await expect(chat.answers.last).to_contain_text("I am reading.")
    [message] = [item for item in chat.snapshot()["items"] if item["kind"] == "user_message"]
    lease = next(each for each in message["data"]["documents"] if each["name"] == "Lease.pdf")
    chat.studio.script("I am reading.", SAID.replace("{id}", lease["id"][-8:]))
    await chat.send("Quote the places, please.")
    await expect(chat.answers.last).to_contain_text("14,200 kroner a year")
    await page.get_by_role("button", name="Lease.pdf p. 2, line 2").click()
    await expect(page.get_by_role("dialog").locator("[data-target]")).to_be_visible()
    await keep(chat, "documents-viewer")
    await dark(chat, keep, "documents-viewer-dark")
    await resized(chat, keep, "documents-viewer-laptop", sizes["laptop"])
    await resized(chat, keep, "documents-viewer-phone", sizes["phone"])
    await page.keyboard.press("Escape")
    await page.keyboard.press("Alt+p")
    await page.get_by_role("tab", name="Documents").click()
    await expect(page.get_by_role("tabpanel").get_by_role("button", name="Lease.pdf", exact=True)).to_be_visible()
    await keep(chat, "documents-panel")
    await dark(chat, keep, "documents-panel-dark")
    await resized(chat, keep, "documents-panel-phone", sizes["phone"])
