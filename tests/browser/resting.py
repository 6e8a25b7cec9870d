"""Where something stands once it has come to rest, and a clock that stands still."""

from __future__ import annotations

from typing import Any

from playwright.async_api import Error, FloatRect, Locator, Page

from tests.support.waiting import eventually

# Where an element is and how far it is scrolled, once several frames have found it the same.
AT_REST = """async element => {
    const look = () => {
        const {x, y, width, height} = element.getBoundingClientRect()
        return {x, y, width, height, scrolled: element.scrollTop}
    }
    let before = look(), still = 0
    for (let frame = 0; frame < 600 && still < 6; frame++) {
        await new Promise(requestAnimationFrame)
        const now = look()
        still = Object.keys(now).every(each => now[each] === before[each]) ? still + 1 : 0
        before = now
    }
    return before
}"""
# How far ahead a clock is stopped: it goes on while it is asked.
AHEAD_MS = 1_000


async def _at_rest(element: Locator) -> dict[str, float]:
    found: dict[str, float] = await element.evaluate(AT_REST)
    return found


async def place_of(element: Locator) -> FloatRect:
    """Return where something stands, once it does not move any more."""
    found = await _at_rest(element)
    return {"x": found["x"], "y": found["y"], "width": found["width"], "height": found["height"]}


async def scrolled(element: Locator) -> float:
    """Return how far something is scrolled, once it does not move any more."""
    return (await _at_rest(element))["scrolled"]


async def comes_to(element: Locator, script: str, wanted: Any, what: str) -> None:
    """Wait until a script finds this at an element: what is drawn follows what is known a moment later."""

    async def look() -> bool:
        return bool(await element.evaluate(script) == wanted)

    await eventually(look, what)


async def stop_clock(page: Page) -> None:
    """Let the page's clock stand still from now on."""
    await page.clock.install()

    async def stopped() -> bool:
        try:
            await page.clock.pause_at(await page.evaluate(f"Date.now() + {AHEAD_MS}"))
        except Error:
            # More than that has passed since it was asked.
            return False
        return True

    await eventually(stopped, "the clock to stop")
