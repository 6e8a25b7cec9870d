"""The pictures of branches: editing, other answers, arrows, the tree, what is hidden, files that are put back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from playwright.async_api import expect

from scripts.key_pictures import Size, dark, resized
from tests.browser.answering import create, files
from tests.browser.branching import edit, mine
from tests.browser.studio import Chat

Keep = Callable[[Chat, str], Awaitable[None]]

ANSWERS = (
    "Leave Bergen at 05:30: the current is with you for the first four hours, as far as Selbjørnsfjorden.",
    "A berth in Haugesund costs 320 kroner a night, with water and power.",
    "About eleven hours under engine; two less with the wind from the north.",
)
QUESTIONS = ("When should we leave Bergen for Haugesund?", "What does a berth cost there?", "How long does it take?")
PLAN = "05:30 Bergen\n09:30 Selbjørnsfjorden\n16:30 Haugesund\n"


async def everywhere(chat: Chat, keep: Keep, name: str, sizes: dict[str, Size]) -> None:
    """Take a picture in every size, and in the dark."""
    await keep(chat, name)
    await dark(chat, keep, f"{name}-dark")
    for size, room in sizes.items():
        await resized(chat, keep, f"{name}-{size}", room)


async def take(chat: Chat, folder: Path, keep: Keep, sizes: dict[str, Size]) -> None:
    """Take all pictures of branches."""
    await talk(chat, keep, sizes)
    await tree(chat, keep, sizes)
    chat.studio.server.client.delete(f"/api/conversations/{chat.conversation}")
    await put_back(chat, folder, keep, sizes)


async def talk(chat: Chat, keep: Keep, sizes: dict[str, Size]) -> None:
    """A message that is edited, an answer that is made again, and what both leave."""
    page = chat.page
    chat.studio.script(*ANSWERS)
    for question in QUESTIONS:
        await chat.ask(question)
    await mine(chat, "berth").hover()
    await mine(chat, "berth").get_by_role("button", name="Edit").click()
    await page.get_by_role("textbox", name="Message, edited").fill("What does a berth cost in Stavanger?")
    await everywhere(chat, keep, "branch-edit", sizes)
    chat.studio.script(ANSWERS[0], "In Stavanger it is 380 kroner in summer, 250 from October on.", ANSWERS[2])
    await page.keyboard.press("Control+Enter")
    await expect(chat.timeline).to_contain_text("380 kroner")
    await chat.finished()
    await chat.answers.first.hover()
    await chat.answers.first.get_by_role("button", name="Regenerate").click()
    await expect(page.get_by_role("menuitem", name="With the same model")).to_be_visible()
    await everywhere(chat, keep, "branch-regenerate", {"laptop": sizes["laptop"]})
    chat.studio.script("Wait for the ebb: leave at 06:10, and you are off Selbjørnsfjorden by ten.", *ANSWERS[1:])
    await page.get_by_role("menuitem", name="With the same model").click()
    await expect(chat.timeline).to_contain_text("Wait for the ebb")
    await chat.finished()
    await chat.timeline.get_by_role("button", name="Previous answer").click()
    await expect(chat.timeline).to_contain_text("380 kroner")
    await page.evaluate("document.activeElement.blur()")
    await chat.answers.first.hover()
    await everywhere(chat, keep, "branch-arrows", sizes)


async def tree(chat: Chat, keep: Keep, sizes: dict[str, Size]) -> None:
    """A branch from an earlier answer, one that is hidden, and all of them together."""
    page = chat.page
    await chat.answers.first.hover()
    await chat.answers.first.get_by_role("button", name="Branch from here").click()
    await expect(page.get_by_text("New branch from here")).to_be_visible()
    await everywhere(chat, keep, "branch-from-here", sizes)
    chat.studio.script(ANSWERS[0], "Chart 19, Selbjørnsfjorden to Haugesund; the pilot book has the tides.")
    await chat.ask("Which chart do we need for the sound?")
    await mine(chat, "Which chart").hover()
    await mine(chat, "Which chart").get_by_role("button", name="More about this message").click()
    await expect(page.get_by_role("menuitem", name="Branch into a new conversation")).to_be_visible()
    await everywhere(chat, keep, "branch-message", {"laptop": sizes["laptop"]})
    await page.get_by_role("menuitem", name="Hide from models").click()
    await expect(page.get_by_text("A message of yours is hidden.")).to_be_visible()
    await everywhere(chat, keep, "branch-hidden", sizes)
    await page.get_by_role("button", name="Undo").click()
    await expect(mine(chat, "Which chart")).to_be_visible()
    await page.keyboard.press("Alt+b")
    await expect(page.get_by_role("treeitem")).to_have_count(4)
    await everywhere(chat, keep, "branch-tree", sizes)
    await page.keyboard.press("Escape")


async def put_back(chat: Chat, folder: Path, keep: Keep, sizes: dict[str, Size]) -> None:
    """A message is edited after whose answer files were changed."""
    _write_crew(folder)
    crew = files("replace_string", filePath="crew.md", oldString="Ane", newString="Ane, mate: Jon")
    chat.studio.script([create("plan.md", PLAN), crew], "The plan is in plan.md, and Jon is in the crew.")
    settings = {"workingDirectory": str(folder), "mode": "auto_edit"}
    made = chat.studio.server.post("/api/conversations", {"title": "The plan", "settings": settings}, 201)
    await chat.go(f"/c/{made['id']}")
    await chat.ask("Write down the plan, and add Jon to the crew.")
    await edit(chat, "Write down", "Only tell me the plan.")
    await expect(chat.page.get_by_role("dialog", name="Before the new branch")).to_contain_text("2 files")
    await everywhere(chat, keep, "branch-files", sizes)
    await chat.page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    chat.studio.server.client.delete(f"/api/conversations/{made['id']}")


def _write_crew(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "crew.md").write_text("Skipper: Ane\n", encoding="utf-8")
