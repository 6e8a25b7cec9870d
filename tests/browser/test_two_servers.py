"""A browser on one of two servers: it sees what the other executes, and its end when the other dies."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

from playwright.async_api import BrowserContext, expect

from tests.browser.studio import Studio
from tests.faults.fleet import TAKEN_OVER_WITHIN, Kept, signs_until_left
from tests.support import invariants

ANSWER = " ".join(f"word{number}" for number in range(120))
BEGINNING, REST = ANSWER[:300], ANSWER[300:]
# Ample: how soon a run is taken over is counted below, in signs of life.
AMPLE_MS = 60_000


async def test_a_browser_on_one_server_sees_the_run_of_another_and_its_end_after_that_one_is_killed(
    browser_context: BrowserContext, tmp_path: Path, postgres_url: str
) -> None:
    b = Studio(tmp_path / "b" / "home", database_url=postgres_url)
    studios = [b]
    try:
        # Either may have to say it: what it is to say is a setting of both.
        hold = b.hold()
        b.script([BEGINNING, hold.step, REST])
        conversation = b.server.post("/api/conversations", {"title": "Shared"}, 201)["id"]
        run = b.server.post(f"/api/conversations/{conversation}/messages", {"text": "Go"}, 202)["runId"]
        b.server.wait_for_run(run, "running")
        # Only now: whoever is there takes what is queued.
        a = Studio(tmp_path / "a" / "home", database_url=postgres_url)
        studios.append(a)
        chat = await a.open(browser_context, f"/c/{conversation}")
        await expect(chat.answers.last).to_contain_text("word20")
        with closing(Kept(postgres_url)) as kept:
            ((_, _, held_by_b),) = kept.held()
        b.server.kill()
        hold.release()
        with closing(Kept(postgres_url)) as kept:
            counted = await asyncio.to_thread(signs_until_left, kept, [run], held_by_b, AMPLE_MS / 1000)
            assert counted <= TAKEN_OVER_WITHIN
        await expect(chat.fold("An attempt broke off")).to_be_visible(timeout=AMPLE_MS)
        await expect(chat.answers.last).to_contain_text("word119", timeout=AMPLE_MS)
        await chat.finished()
        shown = await chat.answers.last.inner_text()
        assert shown.count("word0 ") == 1
        assert ANSWER in " ".join(shown.split())
        await chat.page.close()
    finally:
        for studio in studios:
            studio.server.close()
    invariants.check(postgres_url)
