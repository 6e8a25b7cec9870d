"""One message to several models: columns that stream, stop and ask on their own, until one is gone on with."""

from __future__ import annotations

import re

import pytest_asyncio
from playwright.async_api import BrowserContext, expect

from tests.browser.axe import serious_problems
from tests.browser.comparing import LOOKS, Models, column, columns, compare, look
from tests.browser.studio import Chat
from tests.browser.width import fits
from tests.support.waiting import eventually

QUESTION = "Which knot holds?"


@pytest_asyncio.fixture(loop_scope="session")
async def chat(models: Models, browser_context: BrowserContext) -> Chat:
    """A tab in a conversation of its own."""
    return await models.studio.open(browser_context, models.conversation())


def ask(prompt: str, *choices: str) -> dict[str, object]:
    """A step of a script: the model asks the person."""
    return {"call": "user_collaboration", "arguments": {"prompt": prompt, "choices": list(choices)}}


async def test_two_models_answer_side_by_side_and_one_is_gone_on_with(models: Models, chat: Chat) -> None:
    hold = models.studio.hold()
    models.script("alpha", [{"text": "A bowline holds, always.", **hold.after_each(10)}], "Alpha again.")
    models.script("beta", [{"text": "A reef knot slips.", **hold.after_each(11)}], "Beta again.")
    await compare(chat, QUESTION, "Alpha", "Beta")
    alpha, beta = column(chat, "Alpha"), column(chat, "Beta")
    await expect(alpha.get_by_role("article")).to_contain_text("A bowline")
    await expect(beta.get_by_role("article")).to_contain_text("A reef knot")
    await expect(beta).not_to_contain_text("slips")
    await expect(chat.box).to_have_count(0)
    # What was asked stands above them.
    await expect(columns(chat)).to_contain_text(QUESTION)
    hold.release()
    await expect(alpha).to_contain_text("A bowline holds, always.")
    await expect(beta).to_contain_text("A reef knot slips.")
    await expect(beta).to_contain_text(re.compile(r"\d s\s*\d+ tokens in, \d+ out"))
    await beta.get_by_role("button", name="Go on with this").click()
    await expect(columns(chat)).to_have_count(0)
    await expect(chat.answers.last).to_contain_text("A reef knot slips.")
    await expect(chat.page.get_by_role("button", name="Model: Beta")).to_be_visible()
    await expect(chat.timeline.get_by_role("group", name="Answers to this message")).to_contain_text("2 of 2")
    answer = await chat.ask("And then?")
    await expect(answer).to_contain_text("Beta again.")
    assert chat.snapshot()["branch"] == 1
    await chat.page.reload()
    await expect(chat.answers.last).to_contain_text("Beta again.")
    await expect(columns(chat)).to_have_count(0)


async def test_each_column_is_stopped_on_its_own_and_escape_stops_all(models: Models, chat: Chat) -> None:
    hold = models.studio.hold()
    for model in ("alpha", "beta", "gamma"):
        models.script(model, [{"text": f"{model} begins and goes on.", **hold.after_each(12)}])
    await compare(chat, QUESTION, "Alpha", "Beta", "Gamma")
    beta = column(chat, "Beta")
    await expect(beta.get_by_role("article")).to_contain_text("beta")
    await beta.get_by_role("button", name="Stop Beta").click()
    await expect(beta).to_contain_text("Stopped by you.")
    await expect(beta.get_by_role("button", name="Stop Beta")).to_have_count(0)
    await expect(column(chat, "Alpha").get_by_role("button", name="Stop Alpha")).to_be_visible()
    await chat.page.keyboard.press("Escape")
    for name in ("Alpha", "Gamma"):
        await expect(column(chat, name)).to_contain_text("Stopped by you.")
    # One that was stopped goes on, in its own column.
    hold.release()
    await beta.get_by_role("button", name="Go on", exact=True).click()
    await expect(beta).to_contain_text("beta begins and goes on.")
    await expect(column(chat, "Alpha")).to_contain_text("Stopped by you.")


async def test_a_reload_in_the_middle_brings_the_columns_back(models: Models, chat: Chat) -> None:
    hold = models.studio.hold()
    models.script("alpha", "Alpha is done.")
    models.script("gamma", [{"text": "Gamma takes its time.", **hold.after_each(12)}])
    await compare(chat, QUESTION, "Alpha", "Gamma")
    await expect(column(chat, "Gamma").get_by_role("article")).to_contain_text("Gamma takes")
    await chat.page.reload()
    await expect(column(chat, "Alpha")).to_contain_text("Alpha is done.")
    await expect(column(chat, "Gamma").get_by_role("article")).to_contain_text("Gamma takes")
    await expect(column(chat, "Gamma").get_by_role("button", name="Stop Gamma")).to_be_visible()
    hold.release()
    await expect(column(chat, "Gamma")).to_contain_text("Gamma takes its time.")
    await expect(column(chat, "Gamma").get_by_role("button", name="Stop Gamma")).to_have_count(0)


async def test_what_a_model_asks_is_answered_in_its_own_column(models: Models, chat: Chat) -> None:
    models.script("alpha", [ask("Which boat?", "The sloop", "The ketch")], "The sloop it is.")
    models.script("beta", [ask("Which sea?", "North", "Baltic")], "The Baltic it is.")
    await compare(chat, QUESTION, "Alpha", "Beta")
    alpha, beta = column(chat, "Alpha"), column(chat, "Beta")
    await expect(alpha.get_by_role("region", name="Question from the agent")).to_contain_text("Which boat?")
    await expect(beta).to_contain_text("waits for you")
    await beta.get_by_role("button", name="Baltic").click()
    await expect(beta).to_contain_text("The Baltic it is.")
    await expect(alpha.get_by_role("button", name="The sloop")).to_be_visible()
    await alpha.get_by_role("button", name="The sloop").click()
    await expect(alpha).to_contain_text("The sloop it is.")


async def test_it_is_done_by_keyboard_alone(models: Models, chat: Chat) -> None:
    models.script("alpha", "From alpha.")
    models.script("beta", "From beta.")
    page = chat.page
    await chat.palette("compare mod", "Compare models with the next message")
    first = page.get_by_role("menuitemcheckbox", name="Script")
    await expect(first).to_be_visible()
    await expect(first).to_be_checked()
    # One alone is nothing to compare.
    await expect(page.get_by_text("Choose another model to compare with")).to_be_visible()
    await expect(first).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(first).not_to_be_checked()
    for name in ("Alpha", "Beta"):
        await page.keyboard.press("ArrowDown")
        await expect(page.get_by_role("menuitemcheckbox", name=name)).to_be_focused()
        await page.keyboard.press("Enter")
    await page.keyboard.press("Escape")
    await expect(chat.box).to_be_focused()
    await page.keyboard.type(QUESTION)
    await page.keyboard.press("Enter")
    await expect(column(chat, "Alpha")).to_contain_text("From alpha.")
    await expect(column(chat, "Beta")).to_contain_text("From beta.")
    choice = column(chat, "Beta").get_by_role("button", name="Go on with this: Beta")
    for _ in range(40):
        if await choice.evaluate("element => element === document.activeElement"):
            break
        await page.keyboard.press("Tab")
    await expect(choice).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(chat.answers.last).to_contain_text("From beta.")
    await expect(chat.box).to_be_focused()


async def test_columns_are_closed_and_opened_again_and_others_at_work_are_stopped(models: Models, chat: Chat) -> None:
    hold = models.studio.hold()
    models.script("alpha", "Alpha is done.")
    models.script("beta", [{"text": "Beta never ends, it seems.", **hold.after_each(10)}])
    await compare(chat, QUESTION, "Alpha", "Beta")
    await expect(column(chat, "Alpha")).to_contain_text("Alpha is done.")
    await columns(chat).get_by_role("button", name="Close the columns").click()
    await expect(chat.answers.last).to_contain_text("Alpha is done.")
    await chat.timeline.get_by_role("button", name="Show the answers side by side").click()
    await expect(column(chat, "Beta").get_by_role("button", name="Stop Beta")).to_be_visible()
    await column(chat, "Alpha").get_by_role("button", name="Go on with this").click()
    await expect(columns(chat)).to_have_count(0)

    async def is_stopped() -> bool:
        path = f"/api/conversations/{chat.conversation}?branch=1"
        return bool(models.studio.server.get(path)["runs"][-1]["status"] == "cancelled")

    await eventually(is_stopped, "the end of the other answer")
    await chat.timeline.get_by_role("button", name="Next answer").click()
    await expect(chat.answers.last).to_contain_text("Beta never")


async def test_the_box_takes_two_or_three_models_and_can_be_left(models: Models, chat: Chat) -> None:
    page = chat.page
    await page.get_by_role("button", name="Model: Script").click()
    await page.get_by_role("menuitem", name="Compare models").click()
    for name in ("Alpha", "Beta"):
        await page.get_by_role("menuitemcheckbox", name=name).click()
    await expect(page.get_by_role("menuitemcheckbox", name="Gamma")).to_be_disabled()
    await page.keyboard.press("Escape")
    strip = page.get_by_role("group", name="Models to compare")
    await expect(strip.get_by_role("listitem")).to_have_text(["Script", "Alpha", "Beta"])
    await chat.box.fill(QUESTION)
    for name in ("Script", "Alpha"):
        await expect(chat.send_button).to_be_enabled()
        await strip.get_by_role("button", name=f"Without {name}").click()
    await expect(chat.send_button).to_be_disabled()
    await strip.get_by_role("button", name="Do not compare").click()
    await expect(strip).to_have_count(0)
    models.studio.script("Just me.")
    await chat.send_button.click()
    await expect(chat.answers.last).to_contain_text("Just me.")
    await expect(columns(chat)).to_have_count(0)


async def test_on_a_phone_the_columns_stand_behind_tabs(models: Models, chat: Chat) -> None:
    models.script("alpha", "From alpha.")
    models.script("beta", "From beta.")
    models.script("gamma", [ask("Which boat?", "The sloop")], "From gamma.")
    await compare(chat, QUESTION, "Alpha", "Beta", "Gamma")
    await look(chat, (390, 780), "light")
    tabs = columns(chat).get_by_role("tab")
    await expect(tabs).to_have_text(["Alpha", "Beta", "Gamma"])
    await expect(column(chat, "Alpha")).to_be_visible()
    await expect(column(chat, "Gamma")).to_have_count(0)
    await tabs.nth(2).click()
    await column(chat, "Gamma").get_by_role("button", name="The sloop").click()
    await expect(column(chat, "Gamma")).to_contain_text("From gamma.")
    await tabs.nth(2).press("ArrowLeft")
    await expect(column(chat, "Beta")).to_contain_text("From beta.")
    await column(chat, "Beta").get_by_role("button", name="Go on with this").click()
    await expect(chat.answers.last).to_contain_text("From beta.")


async def test_it_keeps_nobody_out_and_fits_every_window_in_both_colours(models: Models, chat: Chat) -> None:
    models.script("alpha", ["Look:\n\n| knot | holds |\n|---|---|\n| bowline | always |\n\n```python\nprint(1)\n```"])
    models.script("beta", [ask("Which sea?", "North", "Baltic")], "Done.")
    await compare(chat, f"{QUESTION} {'Tell me everything about it. ' * 20}", "Alpha", "Beta", "Script")
    await expect(column(chat, "Beta")).to_contain_text("waits for you")
    for window, colours in LOOKS:
        await look(chat, window, colours)
        if window[0] < 480:
            await columns(chat).get_by_role("tab", name="Beta").click()
        await fits(chat.page)
        choice = column(chat, "Beta").get_by_role("button", name="Go on with this")
        await expect(choice).to_be_in_viewport(ratio=1)
        await expect(column(chat, "Beta").get_by_role("button", name="North")).to_be_in_viewport()
        assert await serious_problems(chat.page) == [], (window, colours)


async def test_a_column_that_failed_says_why_and_can_be_tried_again(models: Models, chat: Chat) -> None:
    models.script("alpha", "A bowline.")
    models.script("beta", [{"fault": 401, "message": "The key is wrong.", "times": 1}, "A reef knot."])
    await compare(chat, QUESTION, "Alpha", "Beta")
    beta = column(chat, "Beta")
    await expect(beta.get_by_role("alert")).to_contain_text("key")
    await beta.get_by_role("button", name="Try again").click()
    await expect(beta).to_contain_text("A reef knot.")
    await expect(beta.get_by_role("alert")).to_have_count(0)
