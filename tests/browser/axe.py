"""Asks axe-core, from the page's own dependencies, what keeps people out."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from playwright.async_api import Page

SCRIPT = Path(__file__).parents[2] / "page" / "node_modules" / "axe-core" / "axe.min.js"
SERIOUS = ("serious", "critical")
# A dialog has its name some frames after it is drawn; one that has none by then is reported.
ASK = """async () => {
    const unnamed = "[role=dialog]:not([aria-labelledby]):not([aria-label])"
    for (let frame = 0; frame < 60 && document.querySelector(unnamed); frame++) {
        await new Promise(requestAnimationFrame)
    }
    const found = await axe.run({resultTypes: ["violations"]})
    return found.violations.map(v => [v.impact, v.id, v.nodes.map(n => n.html).join(" | ")])
}"""


async def serious_problems(page: Page) -> list[str]:
    """Return one line for each serious or critical problem on the page as it is shown now."""
    if not SCRIPT.is_file():
        raise FileNotFoundError(f"{SCRIPT} is missing; run scripts/test, which installs the page's dependencies.")
    # Evaluated and not added as a script element: the page's own policy forbids that, rightly. Once for each load of
    # the page: to read it takes as long as to ask it.
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(SCRIPT.read_text(encoding="utf-8"))
    found = await page.evaluate(ASK)
    rows = cast("list[tuple[str, str, str]]", found)
    return [f"{impact}: {rule}: {html[:300]}" for impact, rule, html in rows if impact in SERIOUS]
