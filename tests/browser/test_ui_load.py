"""Far too much of everything: the page stays usable while it is shown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Page, expect

from tests.browser.studio import Chat, Studio
from tests.browser.tracing import main_thread, record_trace

# What earlier tests left in the process that draws would be tidied up while it is watched.
pytestmark = pytest.mark.own_profile
# What the page may do in one go, by its processor: what other programs take is not its fault.
STANDSTILL_MS = 1_000
# And where a text comes piece by piece.
AT_ONCE_MS = 300
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
# More of what a reader of Markdown begins anew at each line; it comes in far smaller pieces.
MUCH = 50_000
AGAIN = {
    "quotations that go on without a mark": "> a\nb\n",
    "lists in quotations that go on without a mark": "> - a\nb\n",
    "underlines": "_" * 7_900 + "\n\n",
    "openings": "![",
    "formulas": "\\(",
    "escapes": "\\\\(",
    "dollars": "$",
    "tags": "<",
    "headings": "# a\n",
    "points": "- a\n",
    "what begins like a table": "a|b\n|-\n",
}


@asynccontextmanager
async def never_still(page: Page, most: float = STANDSTILL_MS) -> AsyncIterator[None]:
    """Watch the page: it may not be busy with one thing for long."""
    browser = page.context.browser
    assert browser is not None
    async with record_trace(browser, page) as events:
        yield
    tasks = main_thread(events, most)
    print(tasks)
    assert tasks.longest_cpu < most


async def show(chat: Chat, studio: Studio, text: str) -> None:
    """Answer with a text, and type while it comes."""
    studio.script([{"text": text, "pieces": max(1_000, len(text) // 20), "every": 0.01}])
    await chat.send("Too much")
    await expect(chat.send_button).to_be_visible(timeout=30_000)
    await chat.box.fill("Still typing")
    await expect(chat.box).to_have_value("Still typing")
    await chat.box.fill("")


@pytest.mark.case("UI-08")
@pytest.mark.sampled(always=("pipes",))
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


@pytest.mark.case("UI-08")
@pytest.mark.sampled(always=("formulas",))
@pytest.mark.parametrize("kind", AGAIN)
async def test_no_long_text_holds_up_the_page_when_it_is_opened(chat: Chat, studio: Studio, kind: str) -> None:
    end = "\n\nThe very end."
    studio.script([{"text": AGAIN[kind] * ((MUCH - len(end)) // len(AGAIN[kind])) + end}])
    async with never_still(chat.page, AT_ONCE_MS):
        await chat.ask("Too much")
        await expect(chat.answers.last.locator("p").last).to_have_text(end.strip(), timeout=30_000)
    async with never_still(chat.page, AT_ONCE_MS):
        await chat.page.reload()
        await expect(chat.answers.last.locator("p").last).to_have_text(end.strip(), timeout=30_000)
