"""Makes the pictures of the documentation: `scripts/pictures` for all, `scripts/pictures chat dark` for some."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Literal

from playwright.async_api import Browser, BrowserContext, async_playwright, expect

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts import (  # noqa: E402
    approval_pictures,
    branch_pictures,
    call_pictures,
    compare_pictures,
    context_pictures,
    document_pictures,
    finding_pictures,
    key_pictures,
    memory_pictures,
    result_pictures,
    server_pictures,
    tool_pictures,
    topic_pictures,
    web_pictures,
)
from scripts import picture_texts as texts  # noqa: E402
from tests.browser.studio import Chat, Studio  # noqa: E402
from tests.support import chromium  # noqa: E402
from tests.support.servers import Server  # noqa: E402


async def pictures_of_topics(studies: Studies) -> None:
    async with studies.context() as context:
        chat = await studies.studio.open(context)
        await topic_pictures.take(chat, keep, {"laptop": LAPTOP, "phone": PHONE})


PICTURES = ROOT / "docs" / "pictures"
# A page of documentation loads several of these.
LARGEST_BYTES = 150_000
WIDE = (1200, 760)
TALL = (1200, 900)
LARGE = (1440, 900)
LOW = (1100, 560)
LAPTOP = (1280, 640)
PHONE = (390, 780)
# The same place every time: it shows in the settings.
FOLDER = Path(tempfile.gettempdir()) / "pilothouse-pictures"


class Studies:
    """The server, the browser, and where the pictures go."""

    def __init__(self, studio: Studio, browser: Browser) -> None:
        self.studio = studio
        self.browser = browser

    @asynccontextmanager
    async def context(
        self, size: tuple[int, int] = WIDE, scheme: Literal["light", "dark"] = "light"
    ) -> AsyncIterator[BrowserContext]:
        """A browser window of this size."""
        context = await self.browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme,
            reduced_motion="reduce",
            locale="en-GB",
            has_touch=size == PHONE,
        )
        yield context
        await context.close()

    @asynccontextmanager
    async def chat(
        self, size: tuple[int, int] = WIDE, scheme: Literal["light", "dark"] = "light"
    ) -> AsyncIterator[Chat]:
        """A new conversation in such a window; it is gone afterwards, so that each picture has the same list."""
        async with self.context(size, scheme) as context:
            chat = await self.studio.open(context)
            yield chat
            if chat.conversation:
                self.studio.server.client.delete(f"/api/conversations/{chat.conversation}")

    def seed(self) -> None:
        """Fill the list of conversations."""
        for title in reversed(texts.TITLES):
            made = self.studio.server.post("/api/conversations", {"title": title}, 201)
            self.say(made["id"], "What should I know?", f"About “{title}”: {texts.SHORT}")

    def say(self, conversation: str, message: str, *turns: Any) -> None:
        """Hold a short exchange, without a window."""
        self.studio.script(*turns)
        sent = self.studio.server.post(f"/api/conversations/{conversation}/messages", {"text": message}, 202)
        self.studio.server.wait_for_run(sent["runId"], "completed")


async def keep(chat: Chat, name: str) -> None:
    """Take a picture once everything rests."""
    page = chat.page
    await page.evaluate("document.fonts.ready")
    # A question waits a moment before it can be agreed to, and again in a window of another size.
    await expect(page.locator("[data-waiting]")).to_have_count(0)
    content = await page.screenshot(animations="disabled", caret="hide", scale="css")
    if len(content) > LARGEST_BYTES:
        raise SystemExit(f"pictures: {name}.png has {len(content):,} bytes; {LARGEST_BYTES:,} are allowed.")
    (PICTURES / f"{name}.png").write_bytes(content)
    print(f"docs/pictures/{name}.png  {len(content) // 1000} KB")


async def keep_both(chat: Chat, name: str) -> None:
    """Take a picture, and the same one in the dark where there is room for it."""
    await keep(chat, name)
    if name.endswith("-phone"):
        return
    await chat.page.emulate_media(color_scheme="dark")
    await keep(chat, f"{name}-dark")
    await chat.page.emulate_media(color_scheme="light")


async def told(chat: Chat) -> None:
    """Hold the conversation that most pictures show."""
    chat.studio.script(*texts.KNOTS)
    await chat.send(texts.KNOTS_QUESTION)
    await expect(chat.answers.last).to_contain_text("tokens/s", timeout=20_000)
    await expect(chat.answers.last.locator("pre .hljs-keyword").first).to_be_visible()
    await chat.page.evaluate("document.activeElement.blur()")


async def picture_of_the_start(studies: Studies) -> None:
    with tempfile.TemporaryDirectory() as folder, Server(Path(folder) / "home") as server:
        async with studies.context() as context:
            page = await context.new_page()
            await server.open(page)
            await expect(page.get_by_role("region", name="Found on this machine")).to_be_visible()
            await keep(Chat(page, studies.studio), "empty")


async def picture_of_a_chat(studies: Studies) -> None:
    async with studies.chat(TALL) as chat:
        await told(chat)
        await chat.open_steps()
        await chat.fold("Thought for").first.click()
        await chat.page.evaluate("document.activeElement.blur()")
        # What it cost shows when one looks at an answer.
        await chat.answers.last.hover()
        await keep(chat, "chat")


async def picture_of_an_answer_on_its_way(studies: Studies) -> None:
    async with studies.chat() as chat:
        chat.studio.script(texts.SLOW)
        await chat.send(texts.SLOW_QUESTION)
        await expect(chat.answers.last).to_contain_text("Keep the lead line", timeout=20_000)
        await keep(chat, "streaming")
        await chat.stop.click()


async def picture_of_the_dark(studies: Studies) -> None:
    async with studies.chat(TALL, "dark") as chat:
        await told(chat)
        await keep(chat, "dark")


async def picture_of_a_phone(studies: Studies) -> None:
    async with studies.chat(PHONE) as chat:
        await told(chat)
        await keep(chat, "phone")


async def picture_of_a_question(studies: Studies) -> None:
    async with studies.chat() as chat:
        chat.studio.script(*texts.LOOP)
        await chat.send("Watch the barometer and tell me when it falls.")
        await expect(chat.dock.get_by_role("region", name="Question")).to_contain_text("Go on?")
        await keep(chat, "question")
        await chat.dock.get_by_role("button", name="Stop here").click()


async def picture_of_errors(studies: Studies) -> None:
    async with studies.chat() as chat:
        chat.studio.script([{"fault": "cut", "after": 1, "times": 1}, "In short: ", texts.SHORT])
        await chat.ask("When is high water?")
        chat.studio.script([{"fault": 429, "retryAfter": 2, "times": 1}, "High water is at 14:20."])
        await chat.ask("And tomorrow?")
        chat.studio.script([{"fault": 401, "message": "invalid x-api-key"}])
        await chat.send("And the day after?")
        await expect(chat.timeline.get_by_role("alert")).to_be_visible()
        await keep(chat, "errors")


async def picture_of_a_summary(studies: Studies) -> None:
    async with studies.chat(TALL) as chat:
        chat.studio.script({"match": "Person: ", "steps": [texts.SUMMED_UP]}, *texts.PASSAGE)
        for question in texts.PASSAGE_QUESTIONS:
            await chat.ask(question)
        await chat.send("/compact the course and the harbours for shelter")
        line = chat.fold("Older turns summed up")
        await expect(line).to_be_visible()
        await line.click()
        link = chat.page.get_by_role("link", name="Show what it replaced")
        await link.scroll_into_view_if_needed()
        await expect(link).to_be_in_viewport()
        await chat.page.evaluate("document.activeElement.blur()")
        await keep(chat, "compaction")


async def picture_of_the_palette(studies: Studies) -> None:
    async with studies.chat() as chat:
        await chat.page.keyboard.press("Control+k")
        await chat.page.get_by_role("dialog").get_by_role("combobox").fill("se")
        await expect(chat.page.get_by_role("option").first).to_be_visible()
        await keep(chat, "palette")


async def picture_of_a_search(studies: Studies) -> None:
    async with studies.chat(LOW) as chat:
        await told(chat)
        await chat.page.keyboard.press("Control+/")
        await expect(chat.page.get_by_role("searchbox")).to_be_focused()
        await chat.page.keyboard.type("harbour")
        results = chat.page.get_by_role("navigation", name="Search results")
        await expect(results.locator("mark")).to_have_count(9)
        await results.get_by_role("link").nth(3).click()
        await expect(chat.page.locator("[data-target]")).to_be_visible()
        await keep(chat, "search")


async def picture_of_the_settings(studies: Studies) -> None:
    async with studies.chat() as chat:
        await chat.go("/settings/models")
        await expect(chat.page.get_by_role("button", name="Add Model")).to_be_visible()
        await keep(chat, "settings")


async def pictures_of_servers(studies: Studies) -> None:
    async with studies.chat(TALL) as chat:
        await server_pictures.take(chat, FOLDER / "servers", keep_both, PHONE)


async def pictures_of_keys(studies: Studies) -> None:
    async with studies.chat(TALL) as chat:
        await key_pictures.take(chat, FOLDER / "servers", keep, {"laptop": LAPTOP, "phone": PHONE})


async def pictures_of_finding(studies: Studies) -> None:
    async with finding_pictures.studio_in(FOLDER / "finding") as studio, studies.context(LARGE) as context:
        await finding_pictures.take(studio, context, keep, {"laptop": LAPTOP, "phone": PHONE})


async def pictures_of_calls(studies: Studies) -> None:
    async with studies.chat(LARGE) as chat:
        await call_pictures.take(chat, FOLDER / "calls", keep, PHONE)


async def pictures_of_authority(studies: Studies) -> None:
    async with studies.chat(LARGE) as chat:
        await approval_pictures.take(chat, FOLDER / "authority", keep, PHONE)


async def pictures_of_tools(studies: Studies) -> None:
    async with studies.chat(LARGE) as chat:
        await tool_pictures.take(chat, FOLDER / "havsule", keep, PHONE)


async def pictures_of_memory(studies: Studies) -> None:
    async with studies.chat(LARGE) as chat:
        await memory_pictures.take(chat, keep, {"laptop": LAPTOP, "phone": PHONE})


async def pictures_of_the_context(studies: Studies) -> None:
    folder = FOLDER / "context"
    studio = context_pictures.studio_in(folder)
    try:
        async with studies.context(LARGE) as context:
            await context_pictures.take(studio, context, folder, keep, {"laptop": LAPTOP, "phone": PHONE})
    finally:
        studio.server.close()


async def pictures_of_documents(studies: Studies) -> None:
    async with studies.chat(LARGE) as chat:
        await document_pictures.take(chat, FOLDER / "documents", keep, {"laptop": LAPTOP, "phone": PHONE})


async def pictures_of_a_large_result(studies: Studies) -> None:
    folder = FOLDER / "results"
    studio = result_pictures.studio_in(folder)
    try:
        async with studies.context(WIDE) as context:
            await result_pictures.take(studio, context, folder, keep)
    finally:
        studio.server.close()


async def pictures_of_branches(studies: Studies) -> None:
    async with studies.context(LARGE) as context:
        chat = await studies.studio.open(context)
        await branch_pictures.take(chat, FOLDER / "passage", keep, {"laptop": LAPTOP, "phone": PHONE})


async def pictures_of_comparisons(studies: Studies) -> None:
    async with studies.context(LARGE) as context:
        await compare_pictures.take(FOLDER / "compare", context, keep, {"laptop": LAPTOP, "phone": PHONE})


async def pictures_of_the_web(studies: Studies) -> None:
    async with studies.context(LARGE) as context:
        await web_pictures.take(FOLDER / "web", context, keep)


PICTURE: dict[str, Callable[[Studies], Awaitable[None]]] = {
    "empty": picture_of_the_start,
    "chat": picture_of_a_chat,
    "streaming": picture_of_an_answer_on_its_way,
    "question": picture_of_a_question,
    "errors": picture_of_errors,
    "compaction": picture_of_a_summary,
    "search": picture_of_a_search,
    "palette": picture_of_the_palette,
    "settings": picture_of_the_settings,
    "dark": picture_of_the_dark,
    "phone": picture_of_a_phone,
    "servers": pictures_of_servers,
    "keys": pictures_of_keys,
    "finding": pictures_of_finding,
    "calls": pictures_of_calls,
    "tools": pictures_of_tools,
    "authority": pictures_of_authority,
    "context": pictures_of_the_context,
    "memory": pictures_of_memory,
    "results": pictures_of_a_large_result,
    "documents": pictures_of_documents,
    "compare": pictures_of_comparisons,
    "topics": pictures_of_topics,
    "branches": pictures_of_branches,
    "web": pictures_of_the_web,
}


@contextmanager
def without_private_keys() -> Iterator[None]:
    """Show made-up keys in the environment, and no real ones."""
    kept = dict(os.environ)
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "Key")) or name.startswith("PILOTHOUSE_")]:
        if name != chromium.VARIABLE:
            del os.environ[name]
    os.environ.update(texts.KEYS)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)


async def take(names: list[str]) -> None:
    """Take the named pictures, each from a fresh window."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
    with without_private_keys():
        studio = Studio(FOLDER / "home", models=texts.MODELS)
        try:
            async with async_playwright() as playwright:
                arguments = [*chromium.ARGUMENTS, "--font-render-hinting=none", "--hide-scrollbars"]
                browser = await playwright.chromium.launch(executable_path=chromium.find(), args=arguments)
                studies = Studies(studio, browser)
                studies.seed()
                for name in names:
                    await PICTURE[name](studies)
                await browser.close()
        finally:
            studio.server.close()
            shutil.rmtree(FOLDER)


def main(names: list[str]) -> int:
    """Take the pictures; without names all of them."""
    unknown = [name for name in names if name not in PICTURE]
    if unknown:
        print(f"pictures: there is no “{unknown[0]}”; there are {', '.join(PICTURE)}.", file=sys.stderr)
        return 2
    asyncio.run(take(names or list(PICTURE)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
