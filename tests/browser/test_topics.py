"""Topics and prompts on the page: chosen, shared live, edited, switched on under the box."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.async_api import BrowserContext, FilePayload, expect

from tests.browser.axe import serious_problems
from tests.browser.studio import Chat, Studio
from tests.browser.width import fits

PHONE = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One server for all tests here; each has a topic and conversations of its own."""
    with Studio(tmp_path_factory.mktemp("topics") / "home") as made:
        yield made


@pytest.mark.case("CHT-15")
async def test_a_topic_is_made_by_typing_and_has_a_page(own: Studio, browser_context: BrowserContext) -> None:
    own.script("Hello.", "Hello again.")
    chat = await own.open(browser_context)
    page = chat.page
    await chat.ask("Hello there")
    await page.get_by_role("button", name="no topic: choose one").click()
    await page.get_by_role("textbox", name="Topic").fill("Garden")
    await expect(page.get_by_role("option", name="Make the topic “Garden”")).to_be_visible()
    assert await serious_problems(page) == []
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Topic: Garden")).to_be_visible()
    link = page.get_by_role("region", name="Topics").get_by_role("link", name="Garden")
    await expect(link).to_contain_text("1")
    await link.click()
    await expect(page.get_by_role("heading", name="Garden", level=1)).to_be_visible()
    rows = page.get_by_role("region", name="Conversations of this topic").get_by_role("link")
    await expect(rows).to_have_text(["Hello there"])
    await page.get_by_label("What it is about").fill("All that grows.")
    await page.get_by_role("textbox", name="Name", exact=True).fill("Yard")
    await page.get_by_role("textbox", name="Name", exact=True).press("Tab")
    await expect(page.get_by_role("heading", name="Yard", level=1)).to_be_visible()
    assert await serious_problems(page) == []
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await fits(page)
    await page.get_by_role("button", name="New in this topic").click()
    # A telephone has no room for it above the conversation.
    await expect(page.get_by_role("button", name="Topic: Yard")).to_be_hidden()
    await page.get_by_role("button", name="Chat settings").click()
    await expect(page.get_by_role("combobox", name="Topic")).to_have_value("Yard")
    assert await serious_problems(page) == []
    await page.keyboard.press("Escape")
    await fits(page)
    await chat.ask("And another")
    assert chat.snapshot()["conversation"]["settings"]["topicId"].startswith("t_")


@pytest.mark.case("CHT-15")
async def test_two_tabs_of_a_topic_see_one_list_of_todos(own: Studio, browser_context: BrowserContext) -> None:
    topic = own.server.post("/api/topics", {"name": "Greenhouse"}, 201)["id"]
    chats: list[Chat] = []
    for _ in range(2):
        made = own.server.post("/api/conversations", {"settings": {"topicId": topic}}, 201)["id"]
        chats.append(await own.open(browser_context, f"/c/{made}"))
    first, second = chats
    call = {"call": "todo_operations", "arguments": {"operation": "write", "todoList": [{"title": "Water the roses"}]}}
    await second.page.get_by_role("button", name=re.compile("panel", re.IGNORECASE)).first.click()
    await second.page.get_by_role("tab", name="Todos").click()
    panel = second.page.get_by_role("tabpanel")
    await expect(panel).to_contain_text("Nothing is on the list.")
    own.script([call], "Planned.")
    await first.ask("Plan it")
    await expect(panel).to_contain_text("Water the roses")
    # Whoever leaves has a list of their own.
    await second.page.get_by_role("button", name="Topic: Greenhouse").click()
    await second.page.get_by_role("button", name="Take it out").click()
    await expect(panel).to_contain_text("Nothing is on the list.")


@pytest.mark.case("CHT-15")
async def test_a_topic_is_deleted_after_what_that_means_was_said_and_comes_back(
    own: Studio, browser_context: BrowserContext
) -> None:
    topic = own.server.post("/api/topics", {"name": "Orchard"}, 201)["id"]
    own.server.post("/api/conversations", {"settings": {"topicId": topic}}, 201)
    chat = await own.open(browser_context, f"/topic/{topic}")
    page = chat.page
    await page.get_by_role("button", name="Delete", exact=True).click()
    asked = page.get_by_role("dialog")
    await expect(asked).to_contain_text("Its conversation stays and leaves it.")
    await expect(asked).to_contain_text("You can bring it back for 30 days.")
    await asked.get_by_role("button", name="Delete").click()
    await expect(page.get_by_role("heading", name="Topics", level=1)).to_be_visible()
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_role("heading", name="Orchard", level=1)).to_be_visible()
    assert own.server.get(f"/api/topics/{topic}")["conversations"] == 1


@pytest.mark.case("CHT-16", "REM-05")
async def test_mini_prompts_are_switches_under_the_box(own: Studio, browser_context: BrowserContext) -> None:
    own.script("Hello.", "Hello again.")
    chat = await own.open(browser_context)
    page = chat.page
    await chat.ask("Hello")
    await page.get_by_role("button", name="Mini prompts", exact=True).click()
    menu = page.get_by_role("dialog", name="Mini prompts")
    await menu.get_by_role("switch", name="Be concise").click()
    await menu.get_by_role("switch", name="Ask first").click()
    chip = page.get_by_role("button", name="Mini prompts: 2 on")
    await expect(chip).to_contain_text("2")
    assert await serious_problems(page) == []
    await page.keyboard.press("Escape")
    await page.reload()
    await expect(chip).to_be_visible()
    await chat.ask("And now?")
    [reminder] = [item for item in chat.snapshot()["items"] if item["kind"] == "reminder"]
    assert "<miniPromptReminder>" in reminder["text"]
    assert "as briefly as" in reminder["text"]
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await fits(page)


@pytest.mark.case("CHT-16")
async def test_a_prompt_is_written_chosen_and_put_into_the_box(own: Studio, browser_context: BrowserContext) -> None:
    own.script("Hello.")
    chat = await own.open(browser_context, "/settings/prompts")
    page = chat.page
    await page.get_by_role("button", name="New prompt").click()
    dialog = page.get_by_role("dialog", name="New prompt")
    await dialog.get_by_label("Title").fill("Old Pirate")
    await dialog.get_by_label("Description").fill("Speaks like one.")
    await dialog.get_by_label("Text").fill("You are {{name}} of the {{ship=Albatross}}.")
    assert await serious_problems(page) == []
    await dialog.get_by_role("button", name="Save").click()
    row = page.get_by_role("list", name="Prompts", exact=True).get_by_role("listitem").filter(has_text="Old Pirate")
    await expect(row).to_contain_text("/old-pirate")
    file = own.home / "prompts" / "old-pirate.md"
    assert file.read_text() == (
        "---\ntitle: Old Pirate\ndescription: Speaks like one.\n---\n\nYou are {{name}} of the {{ship=Albatross}}.\n"
    )
    await row.get_by_role("button", name="Edit Old Pirate").click()
    dialog = page.get_by_role("dialog", name="Edit the prompt “Old Pirate”")
    await dialog.get_by_label("name", exact=False).last.fill("Anne")
    await dialog.get_by_role("button", name="Preview what is saved").click()
    await expect(dialog.get_by_label("Preview", exact=True)).to_contain_text("of the Albatross.")
    await page.keyboard.press("Escape")
    assert await serious_problems(page) == []
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await fits(page)
    await page.set_viewport_size({"width": 1280, "height": 800})
    # What someone breaks in an editor is said, and the rest stays.
    (own.home / "prompts" / "broken.md").write_text("---\nno end")
    await page.reload()
    await expect(page.get_by_role("alert")).to_contain_text("broken.md begins with")
    await chat.go("/")
    await chat.box.fill("/old")
    await page.keyboard.press("Tab")
    form = page.get_by_role("dialog", name="Old Pirate")
    await form.get_by_label("name").fill("Anne")
    assert await serious_problems(page) == []
    await form.get_by_role("button", name="Put into the box").click()
    await expect(chat.box).to_have_value("You are Anne of the Albatross.")
    await chat.box.fill("")
    await page.get_by_role("button", name="Chat settings").click()
    settings = page.get_by_role("dialog", name="Chat settings")
    await settings.get_by_role("combobox", name="Prompt", exact=True).click()
    await page.get_by_role("option", name="Old Pirate").click()
    await settings.get_by_label("ship").fill("Gull")
    await settings.get_by_label("name").fill("Bess")
    assert await serious_problems(page) == []
    await settings.get_by_role("button", name="Use it").click()
    await expect(settings.get_by_role("button", name="Use it")).to_be_hidden()
    await page.keyboard.press("Escape")
    await chat.ask("Who are you?")
    assert chat.snapshot()["conversation"]["settings"]["systemPrompt"] == "You are Bess of the Gull."
    await page.get_by_role("button", name="Chat settings").click()
    await expect(settings.get_by_label("System prompt")).to_have_value("You are Bess of the Gull.")


@pytest.mark.case("CHT-15")
async def test_a_topics_page_has_its_documents_and_memories(own: Studio, browser_context: BrowserContext) -> None:
    topic = own.server.post("/api/topics", {"name": "Harbour"}, 201)["id"]
    scope = {"kind": "topic", "id": topic}
    own.server.post(
        "/api/memories", {"text": "The berth costs 280 kroner.", "title": "", "tags": [], "scope": scope}, 201
    )
    page = (await own.open(browser_context, f"/topic/{topic}")).page
    await expect(page.get_by_role("region", name="Memories of this topic")).to_contain_text(
        "The berth costs 280 kroner."
    )
    shelf = page.get_by_role("region", name="Documents of this topic")
    await expect(shelf).to_contain_text("None yet.")
    async with page.expect_file_chooser() as choosing:
        await shelf.get_by_role("button", name="Add documents").click()
    chosen = FilePayload(name="tides.txt", mimeType="text/plain", buffer=b"High water is at four.")
    await (await choosing.value).set_files([chosen])
    await expect(shelf.get_by_role("button", name="tides.txt")).to_be_visible()
    assert await serious_problems(page) == []
    await shelf.get_by_role("button", name="tides.txt").click()
    await expect(page.get_by_role("dialog", name="Document")).to_contain_text("High water is at four.")
