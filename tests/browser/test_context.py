"""The ring beside the message box, and what it opens: what fills the window, what was cached, what it cost."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Locator, Page, Request, expect

from tests.browser.approving import add_server, wait_until_connected
from tests.browser.rooms import ECHO, write_tools
from tests.browser.spending import counted, priced
from tests.browser.studio import Chat, Studio
from tests.browser.width import fits
from tests.support.axe import serious_problems
from tests.support.console import Console

PHONE = {"width": 390, "height": 780}
# As large as a finger.
FINGER = 44


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One server for all: a model whose window and price are known, another without a price, tools of a server."""
    folder = tmp_path_factory.mktemp("context")
    studio = priced(folder, free={"name": "Free one", "contextWindow": 32_000})
    add_server(studio, "harbour", ("--tools", write_tools(folder / "tools.json", ECHO)))
    wait_until_connected(studio, "harbour")
    yield studio
    studio.server.close()


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


async def test_the_ring_says_after_every_answer_how_full_the_window_is(chat: Chat, served: Studio) -> None:
    await expect(ring(chat.page)).to_have_count(0)
    served.script(["One.", counted(54_000)], ["Two.", counted(70_000)], ["Three.", counted(96_000)])
    await chat.ask("First")
    await expect(ring(chat.page)).to_have_accessible_name("Context: 42% of 128,000 tokens used")
    await chat.ask("Second")
    await expect(ring(chat.page)).to_have_accessible_name("Context: 55% of 128,000 tokens used")
    await expect(ring(chat.page)).not_to_have_attribute("data-near", "true")
    await chat.ask("Third")
    words = "Context: 75% of 128,000 tokens used; older turns are summed up soon"
    await expect(ring(chat.page)).to_have_accessible_name(words)
    await expect(ring(chat.page)).to_have_attribute("data-near", "true")
    await chat.page.reload()
    await expect(ring(chat.page)).to_have_accessible_name(words)


async def test_what_fills_the_window_is_told_by_kind_and_server_and_adds_up(chat: Chat, served: Studio) -> None:
    served.script([{"thinking": "So be it."}, "Yes.", counted(20_000, 1_100, 15_000)])
    await chat.ask("What is there?")
    shown = await opened(chat.page)
    ledger = served.server.get(f"/api/conversations/{chat.conversation}/context")
    # What the provider counted, and the answer since.
    used = ledger["used"]
    assert 20_000 <= used < 20_200
    assert sum(part["tokens"] for part in ledger["parts"]) == used
    await expect(shown).to_contain_text(f"{used:,} of 128,000 tokens")
    table = shown.get_by_role("table", name="What fills the window")
    for name in ("Tools", "harbour", "Conversation", "Instructions", "Free"):
        await expect(table.get_by_role("rowheader", name=name, exact=True)).to_be_visible()
    harbour = next(part["tokens"] for part in ledger["parts"] if part["server"] == "harbour")
    await expect(table.get_by_role("row").filter(has_text="harbour")).to_contain_text(f"{harbour:,}")
    await expect(table.get_by_role("row").filter(has_text="Free")).to_contain_text(f"{128_000 - used:,}")
    left = f"{108_800 - used:,} are left until then."
    await expect(shown).to_contain_text(f"Older turns are summed up above 108,800 tokens; {left}")
    facts = shown.get_by_role("region", name="This conversation")
    # 5,000 at $3 and 15,000 at $0.30 a million, and 1,100 at $15.
    await expect(facts).to_contain_text("about $0.036")
    await expect(facts).to_contain_text("15,000 of what went in; 75% of the last request")
    await expect(facts).to_contain_text("20,000 in, 1,100 out")


async def test_the_last_messages_say_what_each_took_and_lead_to_it(chat: Chat, served: Studio) -> None:
    served.script(["One.", counted(10_000, 100)], ["Two.", counted(20_000, 200)])
    await chat.ask("The first of two")
    await chat.ask("The second of two")
    shown = await opened(chat.page)
    runs = shown.get_by_role("region", name="Last messages").get_by_role("listitem")
    await expect(runs).to_have_count(2)
    await expect(runs.first).to_contain_text("The second of two")
    await expect(runs.first).to_contain_text("1 request · 20k in · 200 out · about $0.063")
    await runs.last.get_by_role("link", name="The first of two").click()
    await expect(chat.page).to_have_url(re.compile(r"\?item="))
    await expect(chat.page.locator("[data-target]")).to_contain_text("The first of two")


async def test_a_model_without_a_price_says_so_in_words_and_another_model_has_another_window(
    chat: Chat, served: Studio
) -> None:
    served.script(["One.", counted(16_000)])
    made = served.server.post("/api/conversations", {"title": "Free", "settings": {"modelId": "free"}}, 201)
    await chat.go(f"/c/{made['id']}")
    await chat.ask("What does it cost?")
    await expect(ring(chat.page)).to_have_accessible_name("Context: 50% of 32,000 tokens used")
    shown = await opened(chat.page)
    await expect(shown.get_by_role("region", name="This conversation")).to_contain_text("no price known")
    await chat.page.get_by_role("button", name="Model: Free one").click()
    await chat.page.get_by_role("menuitemradio", name="Script").click()
    await expect(ring(chat.page)).to_have_accessible_name(re.compile("of 128,000 tokens used"))


async def test_an_answer_that_is_stopped_counts_and_says_that_it_is_estimated(chat: Chat, served: Studio) -> None:
    hold = served.hold()
    served.script([{"text": "A few words and then more", **hold.after_each(6)}])
    await chat.send("q" * 4_000)
    await expect(chat.answers.last).to_contain_text("A few")
    await chat.stop.click()
    await expect(chat.answers.last).to_contain_text(re.compile(r"Stopped\..*estimated: [\d.]+k tokens in", re.DOTALL))
    shown = await opened(chat.page)
    await expect(shown.get_by_role("region", name="This conversation")).to_contain_text("1; 1 estimated")
    await expect(shown.get_by_role("region", name="This conversation")).to_contain_text("about $")


async def test_the_ledger_of_a_model_that_is_gone_says_so_and_keeps_what_is_known(chat: Chat, served: Studio) -> None:
    fields = {"provider": "scripted", "model": str(served.home.parent / "script.json"), "name": "Passing", "id": "gone"}
    served.server.post("/api/models", fields, 201)
    served.script(["One.", counted(16_000, 20)])
    made = served.server.post("/api/conversations", {"title": "Gone", "settings": {"modelId": "gone"}}, 201)
    await chat.go(f"/c/{made['id']}")
    await chat.ask("What stays?")
    assert served.server.client.delete("/api/models/gone").is_success
    await chat.page.reload()
    await expect(ring(chat.page)).to_have_accessible_name(re.compile("Context: There is no model “gone”"))
    shown = await opened(chat.page)
    window = shown.get_by_role("region", name="Window")
    await expect(window).to_contain_text("Choose another one to go on")
    await expect(window).not_to_contain_text("of 0 tokens")
    await expect(shown.get_by_role("table", name="What fills the window")).to_contain_text("Conversation")
    await expect(shown.get_by_role("region", name="This conversation")).to_contain_text("16,000 in, 20 out")


async def test_nothing_is_asked_for_while_an_answer_streams(chat: Chat, served: Studio) -> None:
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_ring_and_its_panel_keep_nobody_out(chat: Chat, served: Studio, scheme: str) -> None:
    await chat.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    served.script(["Full.", counted(96_000, 100, 60_000)])
    await chat.ask("How full is it?")
    await opened(chat.page)
    assert await serious_problems(chat.page) == []
    # It hides what it has shown.
    await ring(chat.page).click()
    await expect(chat.page.get_by_role("tabpanel", name="Context")).to_have_count(0)


async def test_on_a_phone_the_ring_is_as_large_as_a_finger_and_its_panel_fits(phone: Chat, served: Studio) -> None:
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


async def test_the_longest_mode_leaves_room_for_the_ring_on_a_small_phone(phone: Chat, served: Studio) -> None:
    await phone.page.set_viewport_size({"width": 360, "height": 740})
    made = served.server.post("/api/conversations", {"title": "Narrow", "settings": {"mode": "auto_approve"}}, 201)
    await phone.go(f"/c/{made['id']}")
    await expect(ring(phone.page)).to_have_accessible_name(re.compile("Context: "))
    await expect(phone.page.get_by_role("button", name="Mode: Auto-approve")).to_be_visible()
    for target in (ring(phone.page), phone.send_button):
        await expect(target).to_be_in_viewport(ratio=1)
    await fits(phone.page)
