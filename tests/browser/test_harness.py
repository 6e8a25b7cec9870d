from __future__ import annotations

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


async def test_axe_finds_a_picture_without_words_and_is_content_with_words(page: Page) -> None:
    document = "<html lang='en'><title>t</title><main><h1>h</h1><img src='data:,' %s></main></html>"
    await page.set_content(document % "")
    assert any("image-alt" in line for line in await serious_problems(page))
    await page.set_content(document % "alt='a boat'")
    assert await serious_problems(page) == []
