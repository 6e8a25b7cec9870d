"""What the main thread of a page does, as Chromium itself records it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from playwright.async_api import Browser, Page

Events = list[dict[str, Any]]


_TOOLS = "blink.mojom.DevToolsSession"


class Tasks(NamedTuple):
    """The main thread's tasks in a trace, in milliseconds."""

    # By the clock, and by the processor: on a busy machine a task also waits for its turn.
    longest: float
    longest_cpu: float
    over: int
    total: int


@asynccontextmanager
async def record_trace(browser: Browser, page: Page) -> AsyncIterator[Events]:
    """Record what the page's threads do; the events are there at the end."""
    found: Events = []
    await browser.start_tracing(page=page, categories=["toplevel", "devtools.timeline", "__metadata"])
    try:
        yield found
    finally:
        found += json.loads(await browser.stop_tracing())["traceEvents"]


def main_thread(events: Events, long: float) -> Tasks:
    """Return the tasks of the page's own main thread, the busiest of the renderers', and how many are `long`."""
    named = {(e["pid"], e["tid"]) for e in events if e.get("args", {}).get("name") == "CrRendererMain"}
    threads: dict[tuple[int, int], Events] = {thread: [] for thread in named}
    for event in events:
        thread = (event["pid"], event["tid"])
        if thread in threads and "dur" in event:
            threads[thread].append(event)
    busiest = max((_tasks(thread) for thread in threads.values()), key=lambda some: sum(task["dur"] for task in some))
    return Tasks(
        longest=max(task["dur"] for task in busiest) / 1000,
        longest_cpu=max(task.get("tdur", 0) for task in busiest) / 1000,
        over=sum(task["dur"] > long * 1000 for task in busiest),
        total=len(busiest),
    )


def _tasks(thread: Events) -> Events:
    """Return a thread's tasks without those in which a test looks through the whole page for something.

    A look comes as a message to the developer tools. One that makes something happen is the page's own work again.
    """
    asked = [
        event
        for event in thread
        if event.get("args", {}).get("chrome_mojo_event_info", {}).get("mojo_interface_tag") == _TOOLS
    ]
    happened = [event["ts"] for event in thread if event["name"] == "EventDispatch"]
    looks = [event for event in asked if not any(event["ts"] <= at < event["ts"] + event["dur"] for at in happened)]
    tasks = (event for event in thread if event["name"].endswith("RunTask"))
    return [task for task in tasks if not any(task["ts"] <= look["ts"] < task["ts"] + task["dur"] for look in looks)]
