"""What was used, in the settings: by day and model as a plot and in tables, as a file; budgets and prices."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Locator, Page, expect

from tests.browser.axe import serious_problems
from tests.browser.spending import counted, day, priced, used_before
from tests.browser.studio import Chat, Studio
from tests.browser.width import fits

PHONE = {"width": 390, "height": 780}
YESTERDAY = day(1)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A server with two models and what they were used for before."""
    with priced(tmp_path_factory.mktemp("usage"), free={"name": "Free one", "contextWindow": 32_000}) as studio:
        used_before(
            studio,
            (YESTERDAY, "script", 400_000, 1.5),
            (YESTERDAY, "free", 800_000, None),
            (day(20), "script", 200_000, 0.75),
            (day(60), "script", 100_000, 0.25),
        )
        yield studio


@pytest_asyncio.fixture(loop_scope="session")
async def page(served: Studio, browser_context: BrowserContext) -> Page:
    """A tab at the usage."""
    chat = await served.open(browser_context, "/settings/usage")
    await expect(blocks(chat.page)).not_to_have_count(0)
    return chat.page


def plot(page: Page) -> Locator:
    return page.get_by_role("img", name=re.compile("per day, by model"))


def blocks(page: Page) -> Locator:
    """What is drawn: one for each model on each day."""
    return plot(page).locator("[data-ink]")


async def choose(page: Page, group: str, label: str) -> None:
    await page.get_by_role("radiogroup", name=group).get_by_text(label, exact=True).click()


async def test_pointing_at_a_day_moves_nothing_and_what_was_used_is_exported_as_csv_and_json(page: Page) -> None:
    before = await plot(page).bounding_box()
    await blocks(page).last.hover()
    await expect(page.get_by_role("main")).to_contain_text(re.compile(r": 1\.3M tokens; Free one 840k, Script 420k"))
    assert await plot(page).bounding_box() == before
    await choose(page, "Days", "7 days")
    await expect(blocks(page)).to_have_count(2)
    saved: dict[str, str] = {}
    for name in ("CSV", "JSON"):
        async with page.expect_download() as downloading:
            await page.get_by_role("link", name=f"Export as {name}").click()
        download = await downloading.value
        saved[download.suggested_filename] = (await download.path()).read_text(encoding="utf-8")
    rows = list(csv.DictReader(saved["usage-7-days.csv"].splitlines()))
    assert [(row["day"], row["name"], row["input"], row["cost"]) for row in rows] == [
        (YESTERDAY, "Free one", "800000", ""),
        (YESTERDAY, "Script", "400000", "1.5"),
    ]
    assert [row["model"] for row in json.loads(saved["usage-7-days.json"])["days"]] == ["free", "script"]


async def test_the_usage_keeps_nobody_out_and_fits_on_a_phone(page: Page) -> None:
    await page.get_by_role("button", name="The numbers of the plot").click()
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme)
        assert await serious_problems(page) == [], scheme
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await fits(page)
    # What scrolls beside it would hide that it is too wide; the last pixel is not whole.
    await plot(page).scroll_into_view_if_needed()
    for shown in (plot(page), blocks(page).last):
        await expect(shown).to_be_in_viewport(ratio=0.95)
    for scheme in ("dark", "light"):
        await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert await serious_problems(page) == [], scheme


async def test_an_answer_counts_today(own_usage: Studio, browser_context: BrowserContext) -> None:
    own_usage.script(["Yes.", counted(40_000, 2_000)])
    chat = await own_usage.open(browser_context, "/settings/usage")
    await expect(chat.page.get_by_role("main").get_by_role("definition").first).to_be_visible()
    assert await serious_problems(chat.page) == []
    await chat.go("/")
    await chat.ask("Is it counted?")
    await chat.palette("usage", "Settings: Usage and budgets")
    main = chat.page.get_by_role("main")
    today = main.get_by_role("definition").first
    # A request for the title is one, too.
    await expect(today).to_contain_text(re.compile(r"\d+k tokens in \d requests?, about \$0\.1\d"))
    await expect(blocks(chat.page)).to_have_count(1)


@pytest.fixture
def own_usage(tmp_path: Path) -> Iterator[Studio]:
    """A server that nobody has used."""
    with priced(tmp_path) as studio:
        yield studio


async def asked_about_the_budget(studio: Studio, context: BrowserContext) -> Chat:
    """Have a run come to where its next request would pass the budget for one message."""
    studio.server.client.patch("/api/config", json={"budgetPerRun": 0.08}).raise_for_status()
    think = {"call": "think", "arguments": {"thoughts": "This takes a while."}}
    studio.script([think, counted(10_000, 100)], ["Done.", counted(11_000, 10)])
    chat = await studio.open(context)
    await chat.send("Think hard")
    await expect(question(chat)).to_be_visible()
    return chat


def question(chat: Chat) -> Locator:
    return chat.dock.get_by_role("region", name="Question")


async def test_before_a_budget_is_passed_the_person_is_asked_in_the_page_and_goes_on(
    own_usage: Studio, browser_context: BrowserContext
) -> None:
    chat = await asked_about_the_budget(own_usage, browser_context)
    assert await serious_problems(chat.page) == []
    await chat.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    for name in ("Go on", "Stop here"):
        await expect(question(chat).get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    await fits(chat.page)
    await question(chat).get_by_role("button", name="Go on").click()
    await expect(chat.answers.last).to_contain_text("Done.")
    await chat.finished()
    await expect(question(chat)).to_have_count(0)
