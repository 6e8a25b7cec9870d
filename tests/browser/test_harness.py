from __future__ import annotations

import asyncio

from playwright.async_api import Page

from tests.browser.axe import serious_problems
from tests.browser.console import Console


async def test_a_console_error_is_heard(page: Page, console: Console) -> None:
    await page.evaluate("console.error('red')")
    assert any("red" in line for line in console.unexpected)
    console.expect("red")


async def test_a_script_that_throws_is_heard(page: Page, console: Console) -> None:
    async with page.expect_event("pageerror"):
        await page.evaluate("setTimeout(() => { throw new Error('broken') })")
    assert any("broken" in line for line in console.unexpected)
    console.expect("broken")


async def test_a_field_is_filled_once_its_dialog_has_the_focus(page: Page) -> None:
    await page.set_content(
        "<button>Open</button><div role='dialog' aria-modal='true'><input id='first'><input id='second'></div>"
    )
    await page.get_by_role("button").click()
    filling = asyncio.create_task(page.locator("#second").fill("typed"))
    # Each of these takes longer than a look at the focus.
    for _ in range(5):
        await page.evaluate("new Promise(requestAnimationFrame)")
    assert not filling.done()
    await page.locator("#first").focus()
    await filling
    assert await page.locator("#second").input_value() == "typed"
    assert await page.locator("#first").input_value() == ""


async def test_axe_finds_a_picture_without_words_and_is_content_with_words(page: Page) -> None:
    document = "<html lang='en'><title>t</title><main><h1>h</h1><img src='data:,' %s></main></html>"
    await page.set_content(document % "")
    assert any("image-alt" in line for line in await serious_problems(page))
    await page.set_content(document % "alt='a boat'")
    assert await serious_problems(page) == []
