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

from tests.browser.spending import counted, day, priced, used_before
from tests.browser.studio import Chat, Studio
from tests.browser.width import fits
from tests.support.axe import serious_problems
from tests.support.console import Console
from tests.support.waiting import until

PHONE = {"width": 390, "height": 780}
YESTERDAY = day(1)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A server with two models and what they were used for before."""
    studio = priced(tmp_path_factory.mktemp("usage"), free={"name": "Free one", "contextWindow": 32_000})
    used_before(
        studio,
        (YESTERDAY, "script", 400_000, 1.5),
        (YESTERDAY, "free", 800_000, None),
        (day(20), "script", 200_000, 0.75),
        (day(60), "script", 100_000, 0.25),
    )
    yield studio
    studio.server.close()


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


async def height(block: Locator) -> float:
    return float(str(await block.get_attribute("height")))


async def test_the_plot_and_the_tables_tell_the_same_by_day_and_model(page: Page) -> None:
    await expect(plot(page)).to_have_accessible_name("Tokens per day, by model, in the last 30 days")
    await expect(blocks(page)).to_have_count(3)
    by_model = page.get_by_role("region", name="Usage by model").get_by_role("row")
    await expect(by_model.nth(1)).to_have_text(
        re.compile(r"Free one\s*4\s*800,000\s*400,000\s*40,000\s*no price known")
    )
    await expect(by_model.nth(2)).to_have_text(re.compile(r"Script\s*8\s*600,000\s*300,000\s*30,000\s*\$2\.25"))
    await page.get_by_role("button", name="The numbers of the plot").click()
    by_day = page.get_by_role("region", name="Usage by day").get_by_role("row")
    await expect(by_day).to_have_count(3)
    await expect(by_day.nth(1)).to_have_text(re.compile(r"840,000\s*420,000\s*1,260,000$"))
    await expect(by_day.nth(2)).to_have_text(re.compile(r"–\s*210,000\s*210,000$"))
    # As high as the numbers say, less the line between two that touch.
    drawn = [await height(blocks(page).nth(at)) for at in range(3)]
    assert drawn[0] / drawn[1] == pytest.approx(210 / 840, abs=0.03)
    assert drawn[2] / drawn[1] == pytest.approx(420 / 840, abs=0.03)


async def test_one_chooses_how_many_days_and_whether_tokens_or_cost(page: Page) -> None:
    await choose(page, "Days", "7 days")
    await expect(blocks(page)).to_have_count(2)
    await choose(page, "Days", "90 days")
    await expect(blocks(page)).to_have_count(4)
    await expect(page.get_by_role("main")).to_contain_text("Last 90 days")
    await choose(page, "What is shown", "Cost")
    await expect(plot(page)).to_have_accessible_name("Cost per day, by model, in the last 90 days")
    # What has no price is not drawn, and that is said.
    await expect(blocks(page)).to_have_count(3)
    await expect(page.get_by_role("main")).to_contain_text("What has no known price is missing here: Free one.")
    await expect(page.get_by_role("main")).to_contain_text("about $2.50; no price known for 4 requests")
    await expect(page.get_by_role("main")).to_contain_text(
        re.compile(r"Prices: litellm \S+ of \d{4}-\d\d-\d\d; of Script as you set them")
    )


async def test_pointing_at_a_day_tells_what_it_was_and_moves_nothing(page: Page) -> None:
    before = await plot(page).bounding_box()
    await blocks(page).last.hover()
    await expect(page.get_by_role("main")).to_contain_text(re.compile(r": 1\.3M tokens; Free one 840k, Script 420k"))
    assert await plot(page).bounding_box() == before


async def test_what_was_used_is_exported_as_csv_and_json(page: Page) -> None:
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_usage_keeps_nobody_out_and_fits_on_a_phone(page: Page, scheme: str) -> None:
    await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    await page.get_by_role("button", name="The numbers of the plot").click()
    assert await serious_problems(page) == []
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await fits(page)
    # What scrolls beside it would hide that it is too wide; the last pixel is not whole.
    await plot(page).scroll_into_view_if_needed()
    for shown in (plot(page), blocks(page).last):
        await expect(shown).to_be_in_viewport(ratio=0.95)
    assert await serious_problems(page) == []


async def test_an_answer_counts_today(own_usage: Studio, browser_context: BrowserContext) -> None:
    own_usage.script(["Yes.", counted(40_000, 2_000)])
    chat = await own_usage.open(browser_context)
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
    studio = priced(tmp_path)
    yield studio
    studio.server.close()


async def test_without_any_use_it_says_so(own_usage: Studio, browser_context: BrowserContext) -> None:
    chat = await own_usage.open(browser_context, "/settings/usage")
    await expect(chat.page.get_by_role("main")).to_contain_text("No model was asked anything in the last 30 days.")
    await expect(plot(chat.page)).to_have_count(0)
    assert await serious_problems(chat.page) == []


def budget_of(studio: Studio) -> float:
    return float(studio.server.get("/api/config")["budgetPerRun"])


async def test_budgets_are_set_in_dollars_and_cents_and_taken_back(
    own_usage: Studio, browser_context: BrowserContext, console: Console
) -> None:
    console.expect("400")
    chat = await own_usage.open(browser_context, "/settings/usage")
    budget = chat.page.get_by_role("textbox", name="Dollars for one message")
    await expect(budget).to_have_value("")
    await expect(budget).to_have_attribute("placeholder", "No budget")
    await budget.fill("0.25")
    await budget.press("Enter")
    until(lambda: budget_of(own_usage) == 0.25, "the budget to be kept")
    await expect(budget).to_have_value("$0.25")
    await budget.fill("2000000")
    await budget.press("Enter")
    await expect(
        chat.page.get_by_text("The budget for one message, in dollars, is a number from 0 to 1,000,000.")
    ).to_be_visible()
    await budget.fill("")
    await budget.press("Enter")
    until(lambda: budget_of(own_usage) == 0, "the budget to be gone")
    await expect(budget).to_have_value("")


async def asked_about_the_budget(studio: Studio, context: BrowserContext) -> Chat:
    """Have a run come to where its next request would pass the budget for one message."""
    studio.server.client.patch("/api/config", json={"budgetPerRun": 0.08}).raise_for_status()
    think = {"call": "think", "arguments": {"thoughts": "This takes a while."}}
    studio.script([think, counted(10_000, 100)], ["Done.", counted(11_000, 10)])
    chat = await studio.open(context)
    await chat.send("Think hard")
    await expect(question(chat)).to_contain_text("The budget for one message is $0.08: $0.032 so far")
    return chat


def question(chat: Chat) -> Locator:
    return chat.dock.get_by_role("region", name="Question")


async def test_before_a_budget_is_passed_the_person_is_asked_in_the_page_and_goes_on(
    own_usage: Studio, browser_context: BrowserContext
) -> None:
    chat = await asked_about_the_budget(own_usage, browser_context)
    await expect(question(chat)).to_contain_text("Go on, with a budget of $0.16?")
    assert await serious_problems(chat.page) == []
    await chat.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    for name in ("Go on", "Stop here"):
        await expect(question(chat).get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    await fits(chat.page)
    await question(chat).get_by_role("button", name="Go on").click()
    await expect(chat.answers.last).to_contain_text("Done.")
    await chat.finished()
    await expect(question(chat)).to_have_count(0)


async def test_at_a_budget_the_person_stops_and_finds_where_it_is_set(
    own_usage: Studio, browser_context: BrowserContext
) -> None:
    chat = await asked_about_the_budget(own_usage, browser_context)
    await question(chat).get_by_role("link", name="Change the budgets").click()
    await expect(chat.page.get_by_role("textbox", name="Dollars for one message")).to_have_value("$0.08")
    await chat.page.go_back()
    await question(chat).get_by_role("button", name="Stop here").click()
    await chat.finished()
    await expect(chat.timeline).to_contain_text("Stopped, as you said: the next request could have passed the budget.")
    await expect(chat.answers.filter(has_text="Done.")).to_have_count(0)


async def test_a_summary_that_is_asked_for_asks_at_a_budget_too(
    own_usage: Studio, browser_context: BrowserContext
) -> None:
    summed_up = {"match": "Person: ", "steps": ["They agreed on port 8123.", counted(1_000, 100)]}
    own_usage.script(summed_up, ["Port 8123, then.", counted(10_000, 100)])
    chat = await own_usage.open(browser_context)
    await chat.ask("Which port shall we take?")
    own_usage.server.client.patch("/api/config", json={"budgetPerRun": 0.001}).raise_for_status()
    summary = chat.page.get_by_role("button", name="Older turns summed up")
    await chat.send("/compact")
    await expect(question(chat)).to_contain_text("The budget for one message is $0.001: nothing was used so far")
    await question(chat).get_by_role("button", name="Stop here").click()
    await expect(chat.timeline).to_contain_text("Stopped, as you said: the next request could have passed the budget.")
    await expect(summary).to_have_count(0)
    await chat.send("/compact")
    await question(chat).get_by_role("button", name="Go on").click()
    await expect(summary).to_be_visible()
    await expect(question(chat)).to_have_count(0)
