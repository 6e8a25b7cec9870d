"""In the page: what means about the same as what was typed is found by the built-in model, and marked."""

from __future__ import annotations

from playwright.async_api import Error, expect

from tests.browser.axe import serious_problems
from tests.browser.studio import Chat, Studio

ANSWER = "The employees receive their wages on the last Friday."
# A model that was not loaded yet may take longer than a search waits for it.
TRIES = 10


async def test_a_message_in_other_words_is_found_and_marked_as_similar(chat: Chat, studio: Studio) -> None:
    studio.script(ANSWER)
    await chat.ask("Tell me about the elevator")
    search = chat.page.get_by_role("searchbox", name="Search conversations")
    results = chat.page.get_by_role("navigation", name="Search results")
    await search.fill("elevator")
    await expect(results.locator("mark").first).to_have_text("elevator")
    hit = results.get_by_role("link", name=ANSWER)
    for _ in range(TRIES):
        await search.fill("when is the salary paid")
        try:
            await hit.get_by_text("similar", exact=True).wait_for(timeout=5_000)
            break
        except Error:
            await search.fill("")
    await expect(hit).to_have_text(f"{ANSWER}similar")
    await expect(results.locator("mark")).to_have_count(0)
    assert await serious_problems(chat.page) == []
    await hit.click()
    await expect(chat.page.locator("[data-target]")).to_contain_text("wages")
