"""The ring beside the message box, and the panel that it opens."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Locator, Page, Request, expect

from tests.browser.axe import serious_problems
from tests.browser.console import Console
from tests.browser.spending import counted, priced
from tests.browser.studio import Chat, Studio
from tests.browser.width import fits

PHONE = {"width": 390, "height": 780}
# As large as a finger.
FINGER = 44


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One server for all, with a model whose window and price are known."""
    with priced(tmp_path_factory.mktemp("context")) as studio:
        yield studio


@pytest_asyncio.fixture(loop_scope="session")
async def chat(served: Studio, browser_context: BrowserContext) -> Chat:
    return await served.open(browser_context)


@pytest_asyncio.fixture(loop_scope="session")
async def phone(served: Studio, chromium: Browser, console: Console) -> AsyncIterator[Chat]:
    """A tab on a phone, which is touched."""
    context = await chromium.new_context(viewport=PHONE, reduced_motion="reduce", has_touch=True)  # type: ignore[arg-type]
    context.on("page", console.watch)
    yield await served.open(context)
    await context.close()


def ring(page: Page) -> Locator:
    return page.get_by_role("button", name=re.compile("^Context"))


async def opened(page: Page) -> Locator:
    """Open what the ring opens, and return it once it is there."""
    await ring(page).click()
    shown = page.get_by_role("tabpanel", name="Context")
    await expect(shown.get_by_role("table", name="What fills the window")).to_be_visible()
    return shown


async def test_nothing_is_asked_for_while_an_answer_streams(chat: Chat, served: Studio) -> None:
    await expect(ring(chat.page)).to_have_count(0)
    await chat.ask("Hello")
    await expect(ring(chat.page)).to_have_accessible_name(re.compile("Context: "))
    holds = [served.hold() for _ in range(3)]
    pieces = [step for at, hold in enumerate(holds) for step in (f"Piece {at}. ", hold.step)]
    served.script("Hello.", [*pieces, counted(32_000)])
    asked: list[str] = []

    def note(request: Request) -> None:
        if request.url.endswith("/context"):
            asked.append(request.url)

    await chat.send("Slowly")
    await expect(chat.answers.last).to_contain_text("Piece 0.")
    chat.page.on("request", note)
    for at, hold in enumerate(holds):
        await expect(chat.answers.last).to_contain_text(f"Piece {at}.")
        assert asked == []
        hold.release()
    await chat.finished()
    await expect(ring(chat.page)).to_have_accessible_name("Context: 25% of 128,000 tokens used")
    # When the answer ended and when its run was over, which may come at once.
    assert 1 <= len(asked) <= 2


async def test_the_ring_and_its_panel_keep_nobody_out(chat: Chat, served: Studio) -> None:
    served.script(["Full.", counted(96_000, 100, 60_000)])
    await chat.ask("How full is it?")
    await opened(chat.page)
    for scheme in ("light", "dark"):
        await chat.page.emulate_media(color_scheme=scheme)
        assert await serious_problems(chat.page) == [], scheme
    # It hides what it has shown.
    await ring(chat.page).click()
    await expect(chat.page.get_by_role("tabpanel", name="Context")).to_have_count(0)


async def test_on_a_phone_the_ring_is_as_large_as_a_finger_and_fits_beside_the_longest_mode(
    phone: Chat, served: Studio
) -> None:
    served.script(["Full.", counted(96_000, 100, 60_000)])
    await phone.ask("How full is it?")
    await expect(ring(phone.page)).to_have_accessible_name(re.compile("75%"))
    for target in (ring(phone.page), phone.send_button):
        await expect(target).to_be_in_viewport(ratio=1)
        box = await target.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= FINGER
    await fits(phone.page)
    await ring(phone.page).tap()
    sheet = phone.page.get_by_role("dialog", name="Panel")
    await expect(sheet.get_by_role("table", name="What fills the window")).to_be_visible()
    assert await serious_problems(phone.page) == []
    await fits(phone.page)
    # The longest mode leaves room for it on a small phone, too.
    await phone.page.set_viewport_size({"width": 360, "height": 740})
    made = served.server.post("/api/conversations", {"title": "Narrow", "settings": {"mode": "auto_approve"}}, 201)
    await phone.go(f"/c/{made['id']}")
    await expect(ring(phone.page)).to_have_accessible_name(re.compile("Context: "))
    await expect(phone.page.get_by_role("button", name="Mode: Auto-approve")).to_be_visible()
    for target in (ring(phone.page), phone.send_button):
        await expect(target).to_be_in_viewport(ratio=1)
    await fits(phone.page)
