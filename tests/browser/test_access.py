"""Nobody is kept out: axe finds nothing serious in any state, and a phone needs no sideways scrolling."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.browser.axe import serious_problems
from tests.browser.console import Console
from tests.browser.kept import go
from tests.browser.menus import close_menu
from tests.browser.studio import Chat, Studio
from tests.browser.width import fits

EVERYTHING = """# A heading

Text with `code`, **strong** words and [a link](https://example.com/there).

```python
def long_line(argument): return "a line that is much wider than a telephone and has to scroll in its own box"
```

| one column | another | a third one | and a fourth with more words |
|---|---|---|---|
| 1 | 2 | 3 | unbreakable_identifier_that_is_far_too_long_for_any_telephone |

- [x] done
- [ ] not done

> A quotation.

https://example.com/an/address/that/is/so/long/that/it/must/break/somewhere/or/else/push/the/page/wide
"""
# The colour of everything on the page right after the scheme was changed, and some frames later.
OTHER_COLOURS = """async () => {
    const colours = () => [...document.querySelectorAll("body *")].map(one => getComputedStyle(one).color)
    const root = document.documentElement, scheme = "data-mantine-color-scheme"
    root.setAttribute(scheme, root.getAttribute(scheme) === "dark" ? "light" : "dark")
    const atOnce = colours()
    for (let frame = 0; frame < 30; frame++) await new Promise(requestAnimationFrame)
    return [atOnce, colours()]
}"""
SIZES = {"wide": (1280, 800), "phone": (360, 740)}


@pytest_asyncio.fixture(scope="module", loop_scope="session", params=["wide light", "phone dark"])
async def window(request: pytest.FixtureRequest, chromium: Browser, studio: Studio) -> AsyncIterator[Page]:
    """A tab of one width, in one of the two colour schemes."""
    size, scheme = request.param.split()
    width, height = SIZES[size]
    context = await chromium.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
    )
    yield (await studio.open(context)).page
    await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def tab(window: Page, studio: Studio, console: Console) -> Chat:
    """That tab at the start."""
    console.watch(window)
    await go(window, "/topics")
    await expect(window.get_by_role("dialog")).to_have_count(0)
    await go(window, "/")
    chat = Chat(window, studio)
    await expect(chat.box).to_be_visible()
    return chat


async def check(chat: Chat) -> None:
    """Fail for what axe finds serious, and for a page that is wider than its window."""
    assert await serious_problems(chat.page) == []
    await fits(chat.page)


async def test_who_wants_no_motion_has_all_colours_at_once(tab: Chat) -> None:
    at_once, later = await tab.page.evaluate(OTHER_COLOURS)
    # As it was.
    await tab.page.evaluate(OTHER_COLOURS)
    assert at_once == later


async def test_the_empty_page_keeps_nobody_out_and_cuts_no_name_of_a_model(tab: Chat) -> None:
    await check(tab)
    label = tab.page.get_by_role("button", name="Model: Script").get_by_text("Script")
    shown, needed = await label.evaluate("label => [label.clientWidth, label.scrollWidth]")
    assert shown == needed


async def test_the_tab_of_the_settings_that_is_open_is_in_sight(tab: Chat) -> None:
    await go(tab.page, "/settings/usage")
    # The last pixel is not whole.
    await expect(tab.page.get_by_role("tab", name="Usage", selected=True)).to_be_in_viewport(ratio=0.95)


async def test_a_chat_with_everything_in_it_keeps_nobody_out(tab: Chat, studio: Studio) -> None:
    again: list[dict[str, Any]] = [{"call": "think", "arguments": {"thoughts": "again"}}]
    studio.script(
        [{"thinking": "Let me see."}, EVERYTHING, *again],
        [{"call": "no_such_tool", "arguments": {"path": "x" * 200}}],
        again,
        again,
        again,
        again,
        [{"fault": 401, "message": "wrong key"}],
    )
    await tab.send("Show everything, and a word_without_any_place_to_break_it_that_goes_on_and_on_and_on_and_on")
    question = tab.dock.get_by_role("region", name="Question")
    await expect(question).to_contain_text("Go on?")
    closed = tab.timeline.get_by_role("button", expanded=False)
    while await closed.count():
        await closed.first.click()
    await check(tab)
    await question.get_by_role("button", name="Go on").click()
    await expect(tab.timeline.get_by_role("alert")).to_contain_text("wrong key")
    await check(tab)


async def test_an_answer_on_its_way_keeps_nobody_out(tab: Chat, studio: Studio) -> None:
    studio.script([{"text": EVERYTHING, **studio.hold().after_each(400)}])
    await tab.send("Slowly")
    await expect(tab.answers.last).to_contain_text("A heading")
    await check(tab)
    await tab.stop.click()
    await tab.finished()


async def test_dialogs_and_menus_keep_nobody_out(tab: Chat) -> None:
    page = tab.page
    field = await tab.open_palette()
    await check(tab)
    await field.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await tab.palette("keyboard shortcuts", "Keyboard shortcuts")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    await check(tab)
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await page.get_by_role("button", name="Chat settings").click()
    await expect(page.get_by_label("System prompt")).to_be_visible()
    await check(tab)
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await page.get_by_role("button", name="Model: Script").click()
    await expect(page.get_by_role("menuitem", name="Manage Models…")).to_be_visible()
    await check(tab)
    await close_menu(page)


async def test_the_list_and_the_search_keep_nobody_out(tab: Chat, studio: Studio) -> None:
    studio.script("A barnacle, found again.")
    await tab.ask("What sits on the hull?")
    await tab.page.keyboard.press("Control+/")
    await expect(tab.page.get_by_role("searchbox")).to_be_focused()
    await tab.page.keyboard.type("barnacle")
    await expect(tab.page.locator("mark").first).to_have_text("barnacle")
    await check(tab)
    await tab.page.get_by_role("searchbox").fill("")


async def test_words_for_a_missing_conversation_and_for_a_browser_without_a_session_keep_nobody_out(
    tab: Chat, studio: Studio, console: Console
) -> None:
    console.expect("401")
    await tab.go("/c/c_none")
    await expect(tab.page.get_by_role("alert")).to_have_text("There is no such conversation.")
    await check(tab)
    await tab.page.context.clear_cookies()
    await tab.page.goto(studio.url)
    await expect(tab.page.get_by_role("heading", level=1)).to_have_text("Open the link from the terminal")
    await check(tab)
    await tab.go(f"/#code={studio.code()}")
