"""The pictures of topics and prompts: the chooser, a topic's page, the settings, the switches in the box."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from playwright.async_api import expect

from scripts.key_pictures import Size, dark, resized
from tests.browser.studio import Chat

Keep = Callable[[Chat, str], Awaitable[None]]

TOPICS = {"Autumn passage": "Bergen to Haugesund and back, in November.", "The engine": "", "Winter berth": ""}
QUESTIONS = ("How long is the passage with the current?", "Which charts do we need aboard?", "What if the wind turns?")
LIST = [{"title": "Order the chart of the sound"}, {"title": "Ask for a berth in Haugesund", "status": "in-progress"}]
MASTER = {
    "title": "Harbour master",
    "description": "Answers as one, briefly.",
    "text": "You are the master of {{harbour}}.",
}


async def everywhere(chat: Chat, keep: Keep, name: str, sizes: dict[str, Size]) -> None:
    """Take a picture in every size, and in the dark."""
    await keep(chat, name)
    await dark(chat, keep, f"{name}-dark")
    for size, room in sizes.items():
        await resized(chat, keep, f"{name}-{size}", room)


async def take(chat: Chat, keep: Keep, sizes: dict[str, Size]) -> None:
    """Take all pictures of topics and prompts."""
    page, server = chat.page, chat.studio.server
    made = [server.post("/api/topics", {"name": name, "description": said}, 201)["id"] for name, said in TOPICS.items()]
    conversations = []
    for question in QUESTIONS:
        begun = server.post("/api/conversations", {"title": question[:-1], "settings": {"topicId": made[0]}}, 201)
        conversations.append(begun["id"])
    server.client.put(f"/api/conversations/{conversations[0]}/todos", json={"todos": _numbered()})
    server.client.put("/api/prompts/harbour-master", json=MASTER)
    await chat.go(f"/c/{conversations[0]}")
    chat.studio.script("About eleven hours under engine, if you leave Bergen at 05:30.")
    await chat.ask(QUESTIONS[0])
    await page.get_by_role("button", name="Topic: Autumn passage").click()
    await expect(page.get_by_role("option", name="The engine")).to_be_visible()
    # On a telephone the topic is in the settings of the conversation.
    await everywhere(chat, keep, "topic-chooser", {"laptop": sizes["laptop"]})
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Mini prompts", exact=True).click()
    menu = page.get_by_role("dialog", name="Mini prompts")
    for title in ("Be concise", "Cite sources"):
        await menu.get_by_role("switch", name=title).click()
    await expect(page.get_by_role("button", name="Mini prompts: 2 on")).to_be_visible()
    await everywhere(chat, keep, "mini-prompts", sizes)
    await page.keyboard.press("Escape")
    await chat.go(f"/topic/{made[0]}")
    await expect(page.get_by_role("region", name="Conversations of this topic").get_by_role("link")).to_have_count(3)
    await everywhere(chat, keep, "topic", sizes)
    await chat.go("/settings/prompts")
    await expect(page.get_by_role("list", name="Mini prompts")).to_be_visible()
    await everywhere(chat, keep, "prompts", sizes)
    for each in conversations:
        server.client.delete(f"/api/conversations/{each}")
    for each in made:
        server.client.delete(f"/api/topics/{each}")
    server.client.delete("/api/prompts/harbour-master")


def _numbered() -> list[dict[str, object]]:
    return [{"id": number, **todo} for number, todo in enumerate(LIST, 1)]
