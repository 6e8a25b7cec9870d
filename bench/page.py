"""The page in Chromium: a long answer while it streams, and how soon a long conversation is there."""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
from playwright.async_api import Browser, BrowserContext, async_playwright

from bench.processes import Server, endpoint, server, write_models
from bench.results import table, verdict
from bench.seeding import open_folder, seed
from tests.browser.tracing import Tasks, main_thread, record_trace
from tests.support import chromium

MOST_TASK_MS = 50.0
MOST_OPEN_MS = 1000.0
PATIENCE_MS = 180_000
VIEWPORT: Any = {"width": 1280, "height": 800}

# Notes when the newest message is in view and drawn, and when the page then had time for something else.
WATCH_OPENING = """
(text) => {
  const scroller = () => document.querySelector('[aria-label="Conversation"]');
  const isThere = () => {
    const box = scroller()?.getBoundingClientRect();
    const last = [...(scroller()?.querySelectorAll('p') ?? [])].findLast((part) => part.textContent.includes(text));
    const place = last?.getBoundingClientRect();
    return box && place && place.bottom > box.top && place.top < box.bottom && document.querySelector('textarea');
  };
  window.opened = new Promise((resolve) => {
    const look = () => {
      if (!isThere()) return requestAnimationFrame(look);
      requestAnimationFrame(() => requestAnimationFrame(() => {
        const drawn = performance.now();
        requestIdleCallback(() => resolve([drawn, performance.now()]));
      }));
    };
    requestAnimationFrame(look);
  });
}
"""


async def signed_in(browser: Browser, running: Server) -> BrowserContext:
    """Return a profile with a session and nothing else: both halves of its token, as the one-time link gives them."""
    code = running.post("/api/link", {})["url"].partition("#code=")[2]
    answer = httpx2.post(f"{running.url}/api/session", json={"code": code}, trust_env=False)
    name, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
    context = await browser.new_context(viewport=VIEWPORT)
    context.set_default_timeout(PATIENCE_MS)
    await context.add_cookies([{"name": name, "value": value, "url": running.url}])
    await context.add_init_script(f"localStorage.setItem('pilothouse.half', {json.dumps(answer.json()['half'])})")
    return context


async def stream(browser: Browser, running: Server, model: str) -> Tasks:
    """Let an answer stream in an open page."""
    conversation = running.conversation(model)
    context = await signed_in(browser, running)
    page = await context.new_page()
    await page.goto(f"{running.url}/c/{conversation}")
    await page.get_by_role("textbox").first.wait_for()
    await page.wait_for_timeout(1_000)
    async with record_trace(browser, page) as events:
        running.ask(conversation)
        await page.get_by_role("button", name="Copy answer").wait_for()
        await page.wait_for_timeout(500)
    await context.close()
    return main_thread(events, MOST_TASK_MS)


async def open_long(browser: Browser, running: Server, conversation: str, items: int) -> tuple[float, float]:
    """Open a conversation in a new tab; return when its end was drawn and when the page was free."""
    context = await signed_in(browser, running)
    page = await context.new_page()
    last = f"Part {(items - 1) // 2} works"
    await page.add_init_script(f"({WATCH_OPENING})({json.dumps(last)})")
    await page.goto(f"{running.url}/c/{conversation}")
    async with asyncio.timeout(PATIENCE_MS / 1_000):
        drawn, usable = await page.evaluate("window.opened")
    await context.close()
    return float(drawn), float(usable)


async def measure(running: Server, conversation: str, options: argparse.Namespace, model: str) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium.find(), args=list(chromium.ARGUMENTS))
        opened = [await open_long(browser, running, conversation, options.messages) for _ in range(options.rounds)]
        tasks = await stream(browser, running, model)
        await browser.close()
    drawn, usable = (statistics.median(column) for column in zip(*opened, strict=True))
    table(
        f"a conversation of {options.messages:,} messages, median of {options.rounds}",
        [("its end is drawn", f"{drawn:.0f} ms"), ("the page is free", f"{usable:.0f} ms")],
    )
    verdict("until drawn and free", usable, MOST_OPEN_MS, " ms")
    table(
        f"an answer of {options.tokens:,} tokens, {options.rate:,} a second",
        [
            ("longest task of the main thread", f"{tasks.longest:.0f} ms"),
            ("most processor time of one", f"{tasks.longest_cpu:.0f} ms"),
            (f"tasks over {MOST_TASK_MS:.0f} ms", f"{tasks.over} of {tasks.total:,}"),
        ],
    )
    verdict("longest task", tasks.longest, MOST_TASK_MS, " ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=20_000)
    parser.add_argument("--rate", type=int, default=1_000, help="tokens a second")
    parser.add_argument("--messages", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    model = f"text-{options.tokens}-{options.rate}"
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-"))) / "home"
        conversation = asyncio.run(prepare(home, options.messages))
        url = stack.enter_context(endpoint())
        write_models(home, url, [model])
        running = stack.enter_context(server(home, url))
        asyncio.run(measure(running, conversation, options, model))


async def prepare(home: Path, messages: int) -> str:
    opened = open_folder(home)
    try:
        return await seed(opened, messages)
    finally:
        await opened.close()


if __name__ == "__main__":
    main()
