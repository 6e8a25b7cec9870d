"""Far too much of everything: the page stays usable while it is shown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Page, expect

from tests.browser.studio import Chat, Studio
from tests.support.tracing import main_thread, traced

# What the page may do in one go, by its processor: what other programs take is not its fault.
STANDSTILL_MS = 1_000
PATHOLOGICAL = {
    "brackets": "[" * 50_000,
    "emphasis": "*a_ " * 30_000,
    "quotes": "> " * 3_000 + "deep",
    "lists": "\n".join("  " * depth + "- point" for depth in range(400)),
    "links": "[a](" * 20_000,
    "backticks": "`" * 60_000,
    "pipes": "| a " * 20_000 + "\n" + "|---" * 20_000 + "\n" + "| b " * 20_000,
    "addresses": "a." * 10_000 + "@",
    "regex": "```javascript\n" + "/" + "(a+" * 2_000 + "\n```",
    "strings": "```python\n" + "'\\" * 40_000 + "\n```",
    "one line of a megabyte": "```json\n" + '{"a":"b"},' * 100_000 + "\n```",
}


@asynccontextmanager
async def never_still(page: Page) -> AsyncIterator[None]:
    """Watch the page: it may not be busy with one thing for long."""
    browser = page.context.browser
    assert browser is not None
    async with traced(browser, page) as events:
        yield
    tasks = main_thread(events, STANDSTILL_MS)
    print(tasks)
    assert tasks.longest_cpu < STANDSTILL_MS


async def show(chat: Chat, studio: Studio, text: str) -> None:
    """Answer with a text, and type while it comes."""
    studio.script([{"text": text, "pieces": max(1_000, len(text) // 20), "every": 0.01}])
    await chat.send("Too much")
    await expect(chat.send_button).to_be_visible(timeout=30_000)
    await chat.box.fill("Still typing")
    await expect(chat.box).to_have_value("Still typing")
    await chat.box.fill("")


@pytest.mark.case("UI-08")
@pytest.mark.parametrize("kind", PATHOLOGICAL)
async def test_no_text_holds_up_the_page(chat: Chat, studio: Studio, kind: str) -> None:
    async with never_still(chat.page):
        await show(chat, studio, PATHOLOGICAL[kind])


@pytest.mark.case("UI-11")
@pytest.mark.parametrize("kind", ["100,000 lines", "100,000 lines of code", "a line of 10 MB"])
async def test_a_huge_answer_leaves_the_page_usable(chat: Chat, studio: Studio, kind: str) -> None:
    lines = "\n".join(f"line {number}" for number in range(100_000))
    text = {"100,000 lines": lines, "100,000 lines of code": f"```\n{lines}\n```"}.get(kind, "word " * 2_000_000)
    async with never_still(chat.page):
        await show(chat, studio, text)
        await chat.answers.last.get_by_role("button", name="Show all").click()
        await expect(chat.answers.last.get_by_role("button", name="Show less")).to_be_visible()
