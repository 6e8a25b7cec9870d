"""Far too much of everything: the page stays usable while it is shown."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.browser.studio import Chat, Studio

# Someone notices a quarter of a second; on a busy machine everything takes several times as long.
STANDSTILL_MS = 3_000
WATCH = """() => {
    window.__longest = 0
    let last = performance.now()
    const beat = () => {
        const now = performance.now()
        window.__longest = Math.max(window.__longest, now - last)
        last = now
        setTimeout(beat, 10)
    }
    beat()
}"""
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


async def show(chat: Chat, studio: Studio, text: str) -> float:
    """Answer with a text while the page is watched; return its longest standstill in milliseconds."""
    await chat.page.evaluate(WATCH)
    studio.script([{"text": text, "pieces": max(1_000, len(text) // 20), "every": 0.01}])
    await chat.send("Too much")
    await expect(chat.send_button).to_be_visible(timeout=30_000)
    await chat.box.fill("Still typing")
    await expect(chat.box).to_have_value("Still typing")
    await chat.box.fill("")
    return float(await chat.page.evaluate("window.__longest"))


@pytest.mark.case("UI-08")
@pytest.mark.parametrize("kind", PATHOLOGICAL)
async def test_no_text_holds_up_the_page(chat: Chat, studio: Studio, kind: str) -> None:
    assert await show(chat, studio, PATHOLOGICAL[kind]) < STANDSTILL_MS


@pytest.mark.case("UI-11")
@pytest.mark.parametrize("kind", ["100,000 lines", "100,000 lines of code", "a line of 10 MB"])
async def test_a_huge_answer_leaves_the_page_usable(chat: Chat, studio: Studio, kind: str) -> None:
    lines = "\n".join(f"line {number}" for number in range(100_000))
    text = {"100,000 lines": lines, "100,000 lines of code": f"```\n{lines}\n```"}.get(kind, "word " * 2_000_000)
    assert await show(chat, studio, text) < STANDSTILL_MS
    await expect(chat.answers.last.get_by_role("button", name="Show all")).to_be_visible()
    await chat.page.evaluate("window.__longest = 0")
    await chat.answers.last.get_by_role("button", name="Show all").click()
    await expect(chat.answers.last.get_by_role("button", name="Show less")).to_be_visible()
    assert await chat.page.evaluate("window.__longest") < STANDSTILL_MS
