"""Tool calls in the chat: rows in every state, permission, questions of servers, results, and what outlives what."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Locator, Route, expect

from tests.browser.answering import agree, button
from tests.browser.approving import (
    Reviewer,
    add_server,
    call,
    drawn,
    heard,
    open_reviewer,
    wait_until_connected,
)
from tests.browser.axe import serious_problems
from tests.browser.rooms import server_of
from tests.browser.studio import Studio
from tests.browser.width import fits
from tests.support.waiting import eventually, until

PHONE = {"width": 360, "height": 740}
# The seconds that a call of the quick server may take; its tool `progress` has ten minutes. In the last half minute the
# page says when a call times out, and offers more time.
QUICK = 2
PATIENT = {"progress": {"total": 600}}
CANCEL = re.compile("^Cancel(ling…)?$")
# What a call may be allowed for besides the once.
SCOPES = [
    "For this task until this answer ends",
    "For 30 minutes in this conversation",
    "In this conversation until you withdraw it",
    "Always for this pattern… a rule for all conversations",
]
GREEN, RED, AMBER = "rgb(26, 122, 69)", "rgb(180, 35, 24)", "rgb(138, 90, 0)"


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the scripted server hears."""
    return tmp_path_factory.mktemp("heard") / "record"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, record: Path) -> Iterator[Studio]:
    """One studio with servers for all tests that leave it running."""
    plain = {"name": "Plain", "provider": "scripted", "toolCalls": "text"}
    folder = tmp_path_factory.mktemp("calls")
    with Studio(folder / "home", models={"plain": {**plain, "model": str(folder / "script.json")}}) as studio:
        add_server(studio, "Scripted", ["--record", record])
        add_server(studio, "Quick", times={"total": QUICK}, toolTimes=PATIENT)
        add_server(studio, "Modern", ["--era", "modern"])
        wait_until_connected(studio, "Scripted", "Quick", "Modern")
        yield studio


@pytest_asyncio.fixture(loop_scope="session")
async def reviewer(served: Studio, browser_context: BrowserContext) -> Reviewer:
    """A tab of it, in a new conversation."""
    return await open_reviewer(served, browser_context, "Calls")


async def _phase(card: Locator, phase: str) -> None:
    await expect(card).to_have_attribute("data-phase", phase)


async def _elapsed(card: Locator) -> float:
    """Return the seconds that a call says it has taken so far."""
    found = re.search(r"Executing\.\.\..*?(\d[\d.]*) s", await card.inner_text(), re.DOTALL)
    return float(found[1]) if found else 0.0


async def _without_date(route: Route) -> None:
    """Answer a request without the server's time, by which the page would correct its own."""
    answer = await route.fetch()
    await route.fulfill(response=answer, headers={name: it for name, it in answer.headers.items() if name != "date"})


async def _sign(card: Locator) -> str:
    return str(await card.locator("svg").first.inner_html())


@pytest.mark.case("TCL-04", "TCL-08", "TCL-09", "TCL-10", "TCL-11", "TCL-13", "TCL-14")
async def test_a_call_is_followed_from_its_first_byte_over_the_approval_to_its_result(
    reviewer: Reviewer,
) -> None:
    coming, come = reviewer.studio.hold(), reviewer.studio.hold()
    slow = {**call("echo", text="word " * 200 + "end"), **coming.after_each(60)}
    await reviewer.say("Slowly", [slow, come.step], "Done.", allow=())
    card = reviewer.card("scripted.echo")
    cancel = card.get_by_role("button", name="Cancel")
    await expect(card).to_contain_text("Using scripted.echo...")
    await expect(card).to_contain_text(re.compile(r"Receiving args\.\.\. \d+ (bytes|KB)"))
    await _phase(card, "started")
    signs = {await _sign(card)}
    await expect(cancel).to_be_visible()
    coming.release()
    await expect(card).to_contain_text("Args received")
    await expect(cancel).to_be_visible()
    await expect(card).to_contain_text("word word")
    signs.add(await _sign(card))
    come.release()
    await expect(card).to_contain_text("Waiting for your approval")
    await expect(cancel).to_have_count(0)
    await button(reviewer.approval, "Details").click()
    said = reviewer.approval.get_by_role("figure", name="Scripted says about this tool")
    await expect(said.get_by_role("blockquote")).to_have_text("Gives back what it is given.")
    given = reviewer.approval.get_by_label("Arguments of scripted.echo", exact=True)
    assert (await given.inner_text()).endswith("word end")
    choices = list(filter(None, await reviewer.approval.get_by_role("button").all_inner_texts()))
    assert choices == ["Edit", "Details", "Allow", "Deny"]
    assert await serious_problems(reviewer.page) == []
    await button(reviewer.approval, "Allow for longer").click()
    await expect(reviewer.page.get_by_role("menuitem")).to_have_text(SCOPES, use_inner_text=True)
    assert await serious_problems(reviewer.page) == []
    await agree(reviewer.page.get_by_role("menuitem", name="For 30 minutes"))
    await expect(reviewer.chat.timeline).to_contain_text(
        "You allowed scripted.echo in this conversation for 30 minutes"
    )
    await expect(card).to_contain_text(re.compile(r"Completed.*[\d.]+ m?s$"))
    await _phase(card, "completed")
    await expect(cancel).to_have_count(0)
    signs.add(await _sign(card))
    assert len(signs) == 3
    await expect(card.get_by_label("Result", exact=True)).to_have_count(0)
    card = await reviewer.opened("scripted.echo")
    await expect(card.locator("p svg")).to_have_css("color", GREEN)
    await expect(card).to_contain_text("echo of Scripted: done")
    await expect(card.get_by_label("Arguments", exact=True)).to_contain_text("text:")
    await expect(card.get_by_label("Result", exact=True)).to_contain_text("word end")
    # What was allowed for the conversation is not asked again, and something else is.
    await reviewer.say("Again", [call("echo", text="again"), call("pid")], "Done.", allow=())
    await expect(reviewer.approval).to_contain_text("Allow scripted.pid?")
    await reviewer.approval.get_by_role("button", name="Deny", exact=True).click()
    await expect(reviewer.chat.doings).to_contain_text("1 not allowed")
    await reviewer.chat.open_steps()
    await expect(reviewer.card("scripted.pid")).to_contain_text("You did not allow scripted.pid.")
    await expect(reviewer.card("scripted.pid")).to_contain_text("Not allowed")
    await expect(reviewer.card("again")).to_contain_text("Completed")


@pytest.mark.case("TCL-04", "TCL-08", "TCL-09", "TCL-11")
async def test_every_phase_has_its_words_its_sign_its_look_and_only_what_works_can_be_cancelled(
    reviewer: Reviewer, tmp_path: Path
) -> None:
    go_on, coming, come = tmp_path / "go-on", reviewer.studio.hold(), reviewer.studio.hold()
    slow = {**call("progress", steps=2, until=str(go_on), text="word " * 40), **coming.after_each(60)}
    await reviewer.say(
        "Phases", [slow, come.step, call("sleep", seconds=50), call("fail", message="No berth.")], "Done."
    )
    done, sleep, failed = (
        reviewer.card("scripted.progress"),
        reviewer.card("scripted.sleep"),
        reviewer.card("scripted.fail"),
    )
    seen: dict[str, tuple[str, str]] = {}

    async def look(card: Locator, phase: str, words: str, *, cancel: bool) -> None:
        await expect(card).to_contain_text(words)
        await _phase(card, phase)
        await expect(card.get_by_role("button", name=CANCEL)).to_have_count(int(cancel))
        colour = await card.locator("svg").first.evaluate("sign => getComputedStyle(sign).color")
        seen[phase] = (await _sign(card), colour)

    await look(done, "started", "Receiving args...", cancel=True)
    coming.release()
    await look(done, "args_received", "Args received", cancel=True)
    come.release()
    await reviewer.chat.open_steps()
    await look(done, "executing", "Executing...", cancel=True)
    await look(failed, "failed", "Failed: No berth.", cancel=False)
    await sleep.get_by_role("button", name="Cancel").click()
    await look(sleep, "cancelled", "Cancelled", cancel=False)
    go_on.touch()
    await look(done, "completed", "Completed", cancel=False)
    assert len({sign for sign, _ in seen.values()}) == 6
    assert seen["failed"][1] == RED
    assert not {RED, GREEN} & {seen[phase][1] for phase in ("started", "args_received", "executing", "cancelled")}
    # What was done has its tool's picture; that it was completed is told behind it.
    await expect((await reviewer.opened("scripted.progress")).locator("p svg")).to_have_css("color", GREEN)


@pytest.mark.case("TCL-03", "TCL-12")
async def test_a_call_that_comes_while_another_is_shown_stands_beside_it_at_once(reviewer: Reviewer) -> None:
    held = [reviewer.studio.hold(), reviewer.studio.hold()]
    steps = [call("echo", text="one"), held[0].step, call("echo", text="two"), held[1].step, call("echo", text="three")]
    await reviewer.say("One by one", steps, "Done.")
    await expect(reviewer.card("one")).to_contain_text("Args received")
    held[0].release()
    await expect(reviewer.chat.doings).to_contain_text("Using scripted.echo... one Args received and 1 more")
    await reviewer.chat.open_steps()
    await expect(reviewer.card("two")).to_contain_text("Args received")
    held[1].release()
    for words in ("one", "two", "three"):
        await expect(reviewer.card(words)).to_contain_text("Completed")


@pytest.mark.case("TEXT-02", "TEXT-04", "AGT-08")
async def test_nothing_hides_in_the_arguments_that_a_person_is_asked_about(reviewer: Reviewer) -> None:
    text = "safe\u202etxt" + " " * 900 + "; rm -rf /\nnext line"
    await reviewer.say("Hide", [call("echo", text=text)], "Done.", allow=())
    given = reviewer.approval.get_by_label("Arguments of scripted.echo", exact=True)
    await expect(given).to_have_text("textsafe\\u{202e}txt␣×900; rm -rf /\nnext line")
    await expect(given.get_by_text("; rm -rf /")).to_be_in_viewport()
    await reviewer.approval.get_by_role("button", name="Deny", exact=True).click()
    await reviewer.chat.finished()


@pytest.mark.case("TCL-05", "TCL-11", "TCL-13", "TCL-16", "PRF-06")
async def test_calls_run_side_by_side_each_with_its_time_its_progress_and_its_own_cancel(
    reviewer: Reviewer, record: Path, tmp_path: Path
) -> None:
    go_on = tmp_path / "go-on"
    await reviewer.say("Both", [call("progress", steps=4, until=str(go_on)), call("sleep", seconds=50)], "Done.")
    progress, sleep = reviewer.card("scripted.progress"), reviewer.card("scripted.sleep")
    await reviewer.chat.open_steps()
    await expect(progress.get_by_role("progressbar")).to_be_visible()
    await expect(progress).to_contain_text("50 % step 2")
    await expect(progress).to_contain_text("Using scripted.progress...")
    await expect(progress).to_contain_text(f"steps: 4, until: {go_on}")
    await expect(sleep).to_contain_text("Executing...")
    turning = await sleep.locator("svg").first.evaluate("sign => getComputedStyle(sign.parentElement).animationName")
    assert turning != "none"
    before = await _elapsed(sleep)

    async def counts() -> bool:
        return await _elapsed(sleep) > before

    await eventually(counts, "its time to go up")
    await expect(reviewer.chat.timeline).not_to_contain_text("Waiting for the model")
    cancelled = len(heard(record, "notifications/cancelled"))
    await sleep.get_by_role("button", name="Cancel").click()
    await expect(sleep).to_contain_text("Cancelled")
    await expect(sleep).to_contain_text("The server was told to stop; it may still be working.")
    go_on.touch()
    await expect(progress).to_contain_text("Completed")
    await reviewer.chat.finished()
    until(lambda: len(heard(record, "notifications/cancelled")) == cancelled + 1, "the server to hear of the one")


@pytest.mark.case("TCL-15", "TCL-09", "TCL-11", "TMO-11")
@pytest.mark.own_profile
async def test_a_timeout_is_foretold_can_be_put_off_and_looks_different_from_a_failure(
    reviewer: Reviewer, tmp_path: Path
) -> None:
    go_on = tmp_path / "go-on"
    slow = [call("sleep", "quick", seconds=50), call("progress", "quick", steps=2, until=str(go_on))]
    clock = reviewer.page.clock
    await clock.install()
    await reviewer.page.route("**/api/**", _without_date)
    await reviewer.say("Late", [*slow, call("fail", message="No berth.")], "Done.")
    late, kept, failed = reviewer.card("seconds: 50"), reviewer.card("steps: 2"), reviewer.card("scripted.fail")

    async def kept_data(name: str) -> float | None:
        """Return a time of the call that is waited for, as the server has it."""
        items = [item.get("data", {}) for item in reviewer.chat.snapshot()["items"]]
        return next((data.get(name) for data in items if data.get("tool") == "quick__progress"), None)

    # For the page the end is near, which is far away in truth: nothing here has to be quick.
    # It moves once more when the server begins, seconds later on a busy machine; what is near is told for 30 s.
    near = re.compile(r"Times out in \d+ s")
    end = await eventually(lambda: kept_data("deadlineAt"), "the call to have an end")
    await clock.pause_at(end - 1)
    # It is foretold though nothing was opened.
    await expect(reviewer.chat.timeline).to_contain_text(near)
    await reviewer.chat.open_steps()
    await expect(kept).to_contain_text(near)
    await kept.get_by_role("button", name="Keep waiting").click()

    await eventually(lambda: kept_data("keepWaitingAt"), "the wish to be heard")
    go_on.touch()
    await clock.resume()
    await expect(kept).to_contain_text("Completed")
    await expect(late).to_contain_text(f"Tool call timed out after {QUICK}s")
    await _phase(late, "timed_out")
    await expect(late.locator("svg").first).to_have_css("color", AMBER)
    await expect(failed).to_contain_text("Failed: No berth.")
    await expect(failed.locator("svg").first).to_have_css("color", RED)
    assert await _sign(failed) != await _sign(late)
    await expect(late.get_by_role("button", name=CANCEL)).to_have_count(0)
    # From the card to the time of its tool.
    await late.get_by_role("button", name="Give this tool more time").click()
    await expect(late.get_by_label("A call may take")).to_have_value(str(2 * QUICK))
    await late.get_by_label("A call may take").fill("90")
    await late.get_by_role("button", name="Save").click()
    await expect(late).to_contain_text("Calls of sleep may take 90 s from now on.")
    assert server_of(reviewer.studio, "Quick")["settings"]["toolTimes"] == {**PATIENT, "sleep": {"total": 90}}
    await late.get_by_label("A call may take").fill("")
    await late.get_by_role("button", name="Save").click()
    await expect(late).to_contain_text(f"Calls of sleep may take {QUICK} s from now on.")


# Longer than what a person is told after.
UNTIL_TOLD_MS = 45_000


@pytest.mark.case("TMO-11", "PRF-03")
@pytest.mark.slow
async def test_a_call_of_which_nothing_is_heard_says_so_and_goes_on(reviewer: Reviewer, tmp_path: Path) -> None:
    body = {"serverId": server_of(reviewer.studio, "Scripted")["id"], "tool": "pid", "arguments": {}}
    pid = int(reviewer.studio.server.post("/api/tools/try", body)["text"])
    go = tmp_path / "go"
    await reviewer.say("Quiet", [call("sleep", until=str(go), seconds=0)], "Done.")
    card = reviewer.card(str(go))
    await _phase(card, "executing")
    os.kill(pid, signal.SIGSTOP)
    try:
        await expect(card).to_contain_text(re.compile(r"No sign for 3\d s"), timeout=UNTIL_TOLD_MS)
        await expect(card.get_by_role("button", name="Cancel")).to_be_visible()
        assert await serious_problems(reviewer.page) == []
        await card.get_by_role("button", name="Keep waiting").click()
        await expect(card).not_to_contain_text("No sign")
        await _phase(card, "executing")
    finally:
        os.kill(pid, signal.SIGCONT)
    go.touch()
    await expect(card).to_contain_text("Completed")
    await reviewer.chat.finished()


@pytest.mark.case("TMO-01", "TMO-03")
async def test_a_tools_own_time_is_set_where_it_is_listed(reviewer: Reviewer) -> None:
    page = reviewer.page
    await page.goto(f"{reviewer.studio.url}/tools")
    tool = page.get_by_role("listitem", name="modern.sleep", exact=True)
    await tool.get_by_role("button", expanded=False).first.click()
    field = tool.get_by_label("A call may take")
    await expect(field).to_have_attribute("placeholder", "600")
    await field.fill("100000")
    await tool.get_by_role("button", name="Save").click()
    await expect(tool).to_contain_text("A number of seconds from 1 to 86400.")
    await field.fill("1800")
    await tool.get_by_role("button", name="Save").click()
    await expect(tool).to_contain_text("Calls of sleep may take 1800 s from now on.")
    assert server_of(reviewer.studio, "Modern")["settings"]["toolTimes"] == {"sleep": {"total": 1800}}
    await field.fill("")
    await tool.get_by_role("button", name="Save").click()
    await expect(tool).to_contain_text("Calls of sleep may take 600 s from now on.")
    assert "toolTimes" not in server_of(reviewer.studio, "Modern")["settings"]


@pytest.mark.case("TCL-10", "TCL-14", "TCL-17")
async def test_a_result_is_drawn_by_what_it_is_and_all_of_it_is_one_click_away(reviewer: Reviewer) -> None:
    calls = [call("image"), call("link"), call("structured"), call("big", bytes=40_000)]
    await reviewer.say("Kinds", calls, "Done.")
    await reviewer.chat.finished()
    # A picture stands in the flow, whether or not anything is opened.
    drew = reviewer.chat.timeline.get_by_role("img", name="What the tool drew")
    await expect(drew).to_have_js_property("naturalWidth", 1)
    await reviewer.chat.open_steps()
    image = await reviewer.opened("scripted.image")
    await expect(image).to_contain_text("image of Scripted: done")
    await expect(drew).to_have_count(1)
    link = await reviewer.opened("scripted.link")
    anchor = link.get_by_role("link", name="https://example.com/report")
    await expect(anchor).to_have_attribute("rel", "noreferrer noopener")
    await expect(link.get_by_label("Content", exact=True)).to_have_text("Notes.")
    tree = (await reviewer.opened("scripted.structured")).get_by_role("group", name="Result")
    await expect(tree).to_contain_text('city:"Bergen"')
    await expect(tree).to_contain_text("rain:true")
    await tree.get_by_role("button", name="0:").click()
    await expect(tree).to_contain_text("0:{rain}")
    await expect(tree).not_to_contain_text("rain:true")
    big = await reviewer.opened("scripted.big")
    await expect(big.get_by_label("Result", exact=True)).to_have_css("font-family", re.compile("mono"))
    await big.get_by_role("button", name="Show the full result (39 KB)").click()
    await big.get_by_role("button", name="Show all (39 KB)").click()
    await expect(big.get_by_label("Result", exact=True)).to_have_text("x" * 40_000)
    assert await serious_problems(reviewer.page) == []
    await reviewer.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await fits(reviewer.page)
    for card in await reviewer.chat.rows("tool_call").locator("[data-phase]").all():
        box = await card.bounding_box()
        assert box is not None
        assert 0 <= box["x"] < box["x"] + box["width"] <= PHONE["width"]


ALLOWED = '- button "Allowed together with your message."'
COMPLETED = f"""\
- button "scripted: echo hi Completed" [expanded]
{ALLOWED}
- text: TIME
- paragraph: "echo of Scripted: done"
- paragraph: Allowed together with your message.
- text: Arguments
- button "Copy arguments"
- group "Arguments":
  - list:
    - listitem: "text: \\"hi\\""
- text: Result
- button "Copy result"
- text: hi"""
SNAPSHOTS = {
    "scripted.echo": COMPLETED,
    "scripted.fail": f'- button "scripted: fail No berth. Failed: No berth."\n{ALLOWED}\n- text: TIME',
    "scripted__nothing": '- button "scripted__nothing Failed: There is no tool named scripted__nothing."\n- text: TIME',
    "quick.sleep": f'- button "quick: sleep seconds: 49 Tool call timed out after {QUICK}s"\n{ALLOWED}\n- text: TIME\n'
    "- paragraph: The server was told to stop; it may still be working.\n"
    '- button "Give this tool more time"',
    "scripted.sleep": '- button "Using scripted.sleep... seconds: 50 Executing..."\n'
    f'- button "Cancel"\n{ALLOWED}\n- text: TIME',
}


@pytest.mark.case("TCL-27")
async def test_cards_are_drawn_as_they_always_were(reviewer: Reviewer) -> None:
    over = [call("echo", text="hi"), call("fail", message="No berth."), call("nothing")]
    await reviewer.say("All", [*over, call("sleep", "quick", seconds=49), call("sleep", seconds=50)], "Done.")
    await reviewer.chat.open_steps()
    await expect(reviewer.card("quick.sleep")).to_contain_text("Tool call timed out")
    card = await reviewer.opened("scripted.echo")
    await expect(card.get_by_label("Result", exact=True)).to_have_text("hi")
    assert {words: await drawn(reviewer.card(words)) for words in SNAPSHOTS} == SNAPSHOTS
    await reviewer.chat.stop.click()
    await expect(reviewer.card("scripted.sleep")).to_contain_text("Cancelled")


@pytest.mark.case("PRO-01", "PRO-15", "PRO-18")
async def test_a_model_that_calls_in_text_has_the_same_cards(reviewer: Reviewer) -> None:
    settings = {**reviewer.chat.snapshot()["conversation"]["settings"], "modelId": "plain"}
    path = f"/api/conversations/{reviewer.chat.conversation}"
    reviewer.studio.server.client.patch(path, json={"settings": settings}).raise_for_status()
    line = 'TOOL_CALL: {"server": "scripted", "name": "echo", "args": {"text": "by text"}}'
    reviewer.studio.script(f"I will ask.\n{line}", "It said so.")
    await reviewer.chat.send("Plainly")
    await agree(button(reviewer.approval, "Allow"))
    await expect(reviewer.card("scripted.echo")).to_contain_text("Completed")
    await expect(reviewer.chat.answers.first).to_contain_text("I will ask.")
    await expect(reviewer.chat.timeline).not_to_contain_text("TOOL_CALL")
    await expect(reviewer.chat.answers.last).to_contain_text("It said so.")


@pytest.mark.case("NAM-11", "NAM-12")
async def test_a_conversation_chooses_its_servers_and_tools(reviewer: Reviewer) -> None:
    await reviewer.page.get_by_role("button", name="Chat settings").click()
    settings = reviewer.page.get_by_role("dialog", name="Chat settings")
    await settings.get_by_role("checkbox", name="Quick").uncheck()
    await settings.get_by_role("button", name="Tools of Scripted").click()
    await settings.get_by_role("checkbox", name="fail").uncheck()
    await expect(settings.get_by_role("button", name="Tools of Scripted")).to_have_text("15 of 16 tools")

    async def kept() -> bool:
        selection = reviewer.chat.snapshot()["conversation"]["settings"].get("selection") or {}
        chosen = {choice["name"]: choice["tools"] for choice in selection.get("servers") or ()}
        mine = chosen.get("Scripted") or ()
        return set(chosen) == {"Scripted", "Modern"} and "fail" not in mine and len(mine) == 15

    await eventually(kept, "the choice to be kept")
    await reviewer.page.keyboard.press("Escape")
    calls = [call("sleep", "quick", seconds=1), call("fail"), call("echo", text="offered")]
    await reviewer.say("Which", calls, "Done.")
    await reviewer.chat.open_steps()
    await expect(reviewer.card("quick__sleep")).to_contain_text("Failed: There is no tool named quick__sleep.")
    await expect(reviewer.card("scripted__fail")).to_contain_text("Failed: There is no tool named scripted__fail.")
    await expect(reviewer.card("scripted.echo")).to_contain_text("Completed")
    # Another conversation has them all.
    await reviewer.begin("Everything")
    await reviewer.say("All of them", [call("fail", message="Its own words.")], "Done.")
    await expect(reviewer.card("scripted.fail")).to_contain_text("Failed: Its own words.")
