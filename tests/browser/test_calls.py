"""Tool calls in the chat: cards in every state, leave, questions of servers, results, and what outlives what."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Locator, expect

from tests.browser.desk import (
    Desk,
    add_server,
    call,
    drawn,
    heard,
    open_desk,
    wait_until_connected,
)
from tests.browser.leave import agree, button
from tests.browser.rooms import server_of
from tests.browser.studio import Studio
from tests.support.axe import serious_problems
from tests.support.waiting import eventually

PHONE = {"width": 360, "height": 740}
# The time that calls of the quick server are given: the last half of it is told, and can be put off.
QUICK = 8
PAST_ITS_TIME_MS = 3 * QUICK * 1_000
CANCEL = re.compile("^Cancel(ling…)?$")
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
    studio = Studio(folder / "home", models={"plain": {**plain, "model": str(folder / "script.json")}})
    add_server(studio, "Scripted", ["--record", record])
    add_server(studio, "Quick", times={"total": QUICK})
    add_server(studio, "Modern", ["--era", "modern"])
    wait_until_connected(studio, "Scripted", "Quick", "Modern")
    yield studio
    studio.server.close()


@pytest_asyncio.fixture(loop_scope="session")
async def desk(served: Studio, browser_context: BrowserContext) -> Desk:
    """A tab of it."""
    return await open_desk(served, browser_context)


async def _phase(card: Locator, phase: str) -> None:
    await expect(card).to_have_attribute("data-phase", phase)


async def _elapsed(card: Locator) -> float:
    """Return the seconds that a call says it has taken so far."""
    found = re.search(r"Executing\.\.\.\s*([\d.]+) s", await card.inner_text())
    return float(found[1]) if found else 0.0


async def _sign(card: Locator) -> str:
    return str(await card.locator("svg").first.inner_html())


@pytest.mark.case("TCL-04", "TCL-08", "TCL-09", "TCL-10", "TCL-11", "TCL-13", "TCL-14")
async def test_a_call_is_followed_from_its_first_byte_over_the_persons_leave_to_its_result(desk: Desk) -> None:
    await desk.begin("Leave")
    coming, come = desk.studio.hold(), desk.studio.hold()
    slow = {**call("echo", text="word " * 200 + "end"), **coming.after_each(60)}
    await desk.say("Slowly", [slow, come.step], "Done.", allow=())
    card = desk.card("scripted.echo")
    cancel = card.get_by_role("button", name="Cancel")
    await expect(card).to_contain_text("Using scripted.echo...")
    await expect(card).to_contain_text(re.compile(r"Receiving args\.\.\. \d+ (bytes|KB)"))
    await _phase(card, "started")
    signs = {await _sign(card)}
    await expect(cancel).to_be_visible()
    coming.release()
    await expect(card).to_contain_text("Args received")
    await expect(cancel).to_be_visible()
    await expect(card).to_contain_text("text: word word")
    signs.add(await _sign(card))
    come.release()
    await expect(card).to_contain_text("Waiting for your approval")
    await expect(cancel).to_have_count(0)
    said = desk.approval.get_by_role("figure", name="Scripted says about this tool")
    await expect(said.get_by_role("blockquote")).to_have_text("Gives back what it is given.")
    given = desk.approval.get_by_label("Arguments of scripted.echo", exact=True)
    assert (await given.inner_text()).endswith("word end")
    choices = list(filter(None, await desk.approval.get_by_role("button").all_inner_texts()))
    assert choices == [
        "Allow once",
        "In this conversation for 5 minutes",
        "Always for this pattern…",
        "Deny",
        "Deny with a reason…",
    ]
    assert await serious_problems(desk.page) == []
    await agree(button(desk.approval, "In this conversation for 5 minutes"))
    await expect(desk.chat.timeline).to_contain_text("You allowed scripted.echo in this conversation for 5 minutes")
    await expect(card).to_contain_text(re.compile(r"Completed\s*[\d.]+ m?s"))
    await _phase(card, "completed")
    await expect(cancel).to_have_count(0)
    signs.add(await _sign(card))
    assert len(signs) == 3
    await expect(card.locator("svg").first).to_have_css("color", GREEN)
    await expect(card.get_by_label("Result", exact=True)).to_have_count(0)
    card = await desk.opened("scripted.echo")
    await expect(card).to_contain_text("[OK] scripted.echo completed · Scripted")
    await expect(card.get_by_label("Arguments", exact=True)).to_contain_text("text:")
    await expect(card.get_by_label("Result", exact=True)).to_contain_text("word end")
    # What was allowed for the conversation is not asked again, and something else is.
    await desk.say("Again", [call("echo", text="again"), call("pid")], "Done.", allow=())
    await expect(desk.approval).to_contain_text("Allow scripted.pid?")
    await desk.approval.get_by_role("button", name="Deny", exact=True).click()
    await expect(desk.chat.timeline).to_contain_text("You did not allow scripted.pid.")
    await expect(desk.card("scripted.pid")).to_contain_text("Not allowed")
    await expect(desk.card("text: again")).to_contain_text("Completed")


@pytest.mark.case("TCL-04", "TCL-08", "TCL-09", "TCL-11")
async def test_every_phase_has_its_words_its_sign_its_look_and_only_what_works_can_be_cancelled(
    desk: Desk, tmp_path: Path
) -> None:
    await desk.begin("Phases")
    go_on, coming, come = tmp_path / "go-on", desk.studio.hold(), desk.studio.hold()
    slow = {**call("progress", steps=2, until=str(go_on), text="word " * 40), **coming.after_each(60)}
    await desk.say("Phases", [slow, come.step, call("sleep", seconds=50), call("fail", message="No berth.")], "Done.")
    done, sleep, failed = desk.card("scripted.progress"), desk.card("scripted.sleep"), desk.card("scripted.fail")
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
    await look(done, "executing", "Executing...", cancel=True)
    await look(failed, "failed", "Failed: No berth.", cancel=False)
    await sleep.get_by_role("button", name="Cancel").click()
    await look(sleep, "cancelled", "Cancelled", cancel=False)
    go_on.touch()
    await look(done, "completed", "Completed", cancel=False)
    assert len({sign for sign, _ in seen.values()}) == 6
    assert (seen["failed"][1], seen["completed"][1]) == (RED, GREEN)
    assert not {RED, GREEN} & {seen[phase][1] for phase in ("started", "args_received", "executing", "cancelled")}


@pytest.mark.case("TCL-03", "TCL-12")
async def test_a_call_that_comes_while_another_is_shown_stands_beside_it_at_once(desk: Desk) -> None:
    await desk.begin("One by one")
    held = [desk.studio.hold(), desk.studio.hold()]
    steps = [call("echo", text="one"), held[0].step, call("echo", text="two"), held[1].step, call("echo", text="three")]
    await desk.say("One by one", steps, "Done.")
    await expect(desk.card("text: one")).to_contain_text("Args received")
    held[0].release()
    await expect(desk.card("text: two")).to_contain_text("Args received")
    held[1].release()
    for words in ("one", "two", "three"):
        await expect(desk.card(f"text: {words}")).to_contain_text("Completed")


@pytest.mark.case("TEXT-02", "TEXT-04")
async def test_nothing_hides_in_the_arguments_that_a_person_is_asked_about(desk: Desk) -> None:
    await desk.begin("Hidden")
    text = "safe\u202etxt" + " " * 900 + "; rm -rf /\nnext line"
    await desk.say("Hide", [call("echo", text=text)], "Done.", allow=())
    given = desk.approval.get_by_label("Arguments of scripted.echo", exact=True)
    await expect(given).to_have_text("textsafe\\u{202e}txt␣×900; rm -rf /\nnext line")
    await expect(given.get_by_text("; rm -rf /")).to_be_in_viewport()
    await desk.approval.get_by_role("button", name="Deny", exact=True).click()
    await desk.chat.finished()


@pytest.mark.case("TCL-05", "TCL-11", "TCL-13", "TCL-16")
async def test_calls_run_side_by_side_each_with_its_time_its_progress_and_its_own_cancel(
    desk: Desk, record: Path, tmp_path: Path
) -> None:
    await desk.begin("Side by side")
    go_on = tmp_path / "go-on"
    await desk.say("Both", [call("progress", steps=4, until=str(go_on)), call("sleep", seconds=50)], "Done.")
    progress, sleep = desk.card("scripted.progress"), desk.card("scripted.sleep")
    await expect(progress).to_contain_text("Using scripted.progress...")
    await expect(progress).to_contain_text(f"steps: 4, until: {go_on}")
    await expect(progress.get_by_role("progressbar")).to_be_visible()
    await expect(progress).to_contain_text("50 % step 2")
    await expect(sleep).to_contain_text("Executing...")
    left, right = await progress.bounding_box(), await sleep.bounding_box()
    assert left is not None
    assert right is not None
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]
    turning = await sleep.locator("svg").first.evaluate("sign => getComputedStyle(sign.parentElement).animationName")
    assert turning != "none"
    before = await _elapsed(sleep)

    async def counts() -> bool:
        return await _elapsed(sleep) > before

    await eventually(counts, "its time to go up")
    await expect(desk.chat.timeline).not_to_contain_text("Waiting for the model")
    cancelled = len(heard(record, "notifications/cancelled"))
    await sleep.get_by_role("button", name="Cancel").click()
    await expect(sleep).to_contain_text("Cancelled")
    await expect(sleep).to_contain_text("The server was told to stop; it may still be working.")
    go_on.touch()
    await expect(progress).to_contain_text("Completed")
    await desk.chat.finished()
    assert len(heard(record, "notifications/cancelled")) == cancelled + 1


@pytest.mark.case("TCL-15", "TCL-09", "TCL-11", "TMO-11")
async def test_a_timeout_is_foretold_can_be_put_off_and_looks_different_from_a_failure(desk: Desk) -> None:
    await desk.begin("Late")
    slow = [call("sleep", "quick", seconds=seconds) for seconds in (50, QUICK + 1)]
    await desk.say("Late", [*slow, call("fail", message="No berth.")], "Done.")
    late, kept, failed = desk.card("seconds: 50"), desk.card(f"seconds: {QUICK + 1}"), desk.card("scripted.fail")
    await expect(late).to_contain_text(re.compile(rf"Times out in [1-{QUICK // 2}] s"))
    await kept.get_by_role("button", name="Keep waiting").click()
    await expect(late).to_contain_text(f"Tool call timed out after {QUICK}s", timeout=PAST_ITS_TIME_MS)
    await _phase(late, "timed_out")
    await expect(late.locator("svg").first).to_have_css("color", AMBER)
    await expect(failed).to_contain_text("Failed: No berth.")
    await expect(failed.locator("svg").first).to_have_css("color", RED)
    assert await _sign(failed) != await _sign(late)
    await expect(late.get_by_role("button", name=CANCEL)).to_have_count(0)
    await expect(kept).to_contain_text("Completed", timeout=PAST_ITS_TIME_MS)
    card = await desk.opened(f"seconds: {QUICK + 1}")
    await expect(card.get_by_label("Result", exact=True)).to_contain_text("awake")
    # From the card to the time of its tool.
    await late.get_by_role("button", name="Give this tool more time").click()
    await expect(late.get_by_label("A call may take")).to_have_value(str(2 * QUICK))
    await late.get_by_label("A call may take").fill("90")
    await late.get_by_role("button", name="Save").click()
    await expect(late).to_contain_text("Calls of sleep may take 90 s from now on.")
    assert server_of(desk.studio, "Quick")["settings"]["tool_times"] == {"sleep": {"total": 90}}
    await late.get_by_label("A call may take").fill("")
    await late.get_by_role("button", name="Save").click()
    await expect(late).to_contain_text(f"Calls of sleep may take {QUICK} s from now on.")


# Longer than what a person is told after.
UNTIL_TOLD_MS = 45_000


@pytest.mark.case("TMO-11", "PRF-03")
@pytest.mark.slow
async def test_a_call_of_which_nothing_is_heard_says_so_and_goes_on(desk: Desk) -> None:
    await desk.begin("Quiet")
    body = {"serverId": server_of(desk.studio, "Scripted")["id"], "tool": "pid", "arguments": {}}
    pid = int(desk.studio.server.post("/api/tools/try", body)["text"])
    await desk.say("Quiet", [call("sleep", seconds=4)], "Done.")
    card = desk.card("seconds: 4")
    await _phase(card, "executing")
    os.kill(pid, signal.SIGSTOP)
    try:
        await expect(card).to_contain_text(re.compile(r"No sign for 3\d s"), timeout=UNTIL_TOLD_MS)
        await expect(card.get_by_role("button", name="Cancel")).to_be_visible()
        assert await serious_problems(desk.page) == []
        await card.get_by_role("button", name="Keep waiting").click()
        await expect(card).not_to_contain_text("No sign")
        await _phase(card, "executing")
    finally:
        os.kill(pid, signal.SIGCONT)
    await expect(card).to_contain_text("Completed")
    await desk.chat.finished()


@pytest.mark.case("TMO-01", "TMO-03")
async def test_a_tools_own_time_is_set_where_it_is_listed(desk: Desk) -> None:
    page = desk.page
    await page.goto(f"{desk.studio.url}/tools")
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
    assert server_of(desk.studio, "Modern")["settings"]["tool_times"] == {"sleep": {"total": 1800}}
    await field.fill("")
    await tool.get_by_role("button", name="Save").click()
    await expect(tool).to_contain_text("Calls of sleep may take 600 s from now on.")
    assert "tool_times" not in server_of(desk.studio, "Modern")["settings"]


@pytest.mark.case("TCL-10", "TCL-14", "TCL-17")
async def test_a_result_is_drawn_by_what_it_is_and_all_of_it_is_one_click_away(desk: Desk) -> None:
    await desk.begin("Kinds")
    calls = [call("image"), call("link"), call("structured"), call("big", bytes=40_000)]
    await desk.say("Kinds", calls, "Done.")
    await desk.chat.finished()
    image = await desk.opened("scripted.image")
    await expect(image.get_by_role("img")).to_have_js_property("naturalWidth", 1)
    link = await desk.opened("scripted.link")
    anchor = link.get_by_role("link", name="https://example.com/report")
    await expect(anchor).to_have_attribute("rel", "noreferrer noopener")
    await expect(link.get_by_label("Content", exact=True)).to_have_text("Notes.")
    tree = (await desk.opened("scripted.structured")).get_by_role("group", name="Result")
    await expect(tree).to_contain_text('city:"Bergen"')
    await expect(tree).to_contain_text("rain:true")
    await tree.get_by_role("button", name="0:").click()
    await expect(tree).to_contain_text("0:{rain}")
    await expect(tree).not_to_contain_text("rain:true")
    big = await desk.opened("scripted.big")
    await expect(big.get_by_label("Result", exact=True)).to_have_css("font-family", re.compile("mono"))
    await big.get_by_role("button", name="Show the full result (39 KB)").click()
    await big.get_by_role("button", name="Show all (39 KB)").click()
    await expect(big.get_by_label("Result", exact=True)).to_have_text("x" * 40_000)
    assert await serious_problems(desk.page) == []
    await desk.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert await desk.page.evaluate(overflow) == 0
    for card in await desk.chat.rows("tool_call").locator("[data-phase]").all():
        box = await card.bounding_box()
        assert box is not None
        assert 0 <= box["x"] < box["x"] + box["width"] <= PHONE["width"]


COMPLETED = """\
- button "scripted.echo text: hi Completed TIME" [expanded]
- paragraph: "[OK] scripted.echo completed · Scripted"
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
    "scripted.fail": '- button "scripted.fail message: No berth. Failed: No berth. TIME"',
    "scripted__nothing": '- button "scripted__nothing Failed: There is no tool named scripted__nothing. TIME"',
    "quick.sleep": f'- button "quick.sleep seconds: 49 Tool call timed out after {QUICK}s TIME"\n'
    "- paragraph: The server was told to stop; it may still be working.\n"
    '- button "Give this tool more time"',
    "scripted.sleep": '- button "Using scripted.sleep... seconds: 50 Executing... TIME"\n- button "Cancel"',
}


@pytest.mark.case("TCL-27")
async def test_cards_are_drawn_as_they_always_were(desk: Desk) -> None:
    await desk.begin("Snapshots")
    over = [call("echo", text="hi"), call("fail", message="No berth."), call("nothing")]
    await desk.say("All", [*over, call("sleep", "quick", seconds=49), call("sleep", seconds=50)], "Done.")
    await expect(desk.card("quick.sleep")).to_contain_text("Tool call timed out", timeout=PAST_ITS_TIME_MS)
    card = await desk.opened("scripted.echo")
    await expect(card.get_by_label("Result", exact=True)).to_have_text("hi")
    assert {words: await drawn(desk.card(words)) for words in SNAPSHOTS} == SNAPSHOTS
    await desk.chat.stop.click()
    await expect(desk.card("scripted.sleep")).to_contain_text("Cancelled")


@pytest.mark.case("PRO-01", "PRO-15", "PRO-18")
async def test_a_model_that_calls_in_text_has_the_same_cards(desk: Desk) -> None:
    await desk.begin("In text")
    settings = {**desk.chat.snapshot()["conversation"]["settings"], "modelId": "plain"}
    path = f"/api/conversations/{desk.chat.conversation}"
    desk.studio.server.client.patch(path, json={"settings": settings}).raise_for_status()
    line = 'TOOL_CALL: {"server": "scripted", "name": "echo", "args": {"text": "by text"}}'
    desk.studio.script(f"I will ask.\n{line}", "It said so.")
    await desk.chat.send("Plainly")
    await agree(button(desk.approval, "Allow once"))
    await expect(desk.card("scripted.echo")).to_contain_text("Completed")
    await expect(desk.chat.answers.first).to_contain_text("I will ask.")
    await expect(desk.chat.timeline).not_to_contain_text("TOOL_CALL")
    await expect(desk.chat.answers.last).to_contain_text("It said so.")


@pytest.mark.case("NAM-11", "NAM-12")
async def test_a_conversation_chooses_its_servers_and_tools(desk: Desk) -> None:
    await desk.begin("Chosen")
    await desk.page.get_by_role("button", name="Chat settings").click()
    settings = desk.page.get_by_role("dialog", name="Chat settings")
    await settings.get_by_role("checkbox", name="Quick").uncheck()
    await settings.get_by_role("button", name="Tools of Scripted").click()
    await settings.get_by_role("checkbox", name="fail").uncheck()
    await expect(settings.get_by_role("button", name="Tools of Scripted")).to_have_text("15 of 16 tools")

    async def kept() -> bool:
        selection = desk.chat.snapshot()["conversation"]["settings"].get("selection") or {}
        chosen = {choice["name"]: choice["tools"] for choice in selection.get("servers") or ()}
        mine = chosen.get("Scripted") or ()
        return set(chosen) == {"Scripted", "Modern"} and "fail" not in mine and len(mine) == 15

    await eventually(kept, "the choice to be kept")
    await desk.page.keyboard.press("Escape")
    calls = [call("sleep", "quick", seconds=1), call("fail"), call("echo", text="offered")]
    await desk.say("Which", calls, "Done.")
    await expect(desk.card("quick__sleep")).to_contain_text("Failed: There is no tool named quick__sleep.")
    await expect(desk.card("scripted__fail")).to_contain_text("Failed: There is no tool named scripted__fail.")
    await expect(desk.card("scripted.echo")).to_contain_text("Completed")
    # Another conversation has them all.
    await desk.begin("Everything")
    await desk.say("All of them", [call("fail", message="Its own words.")], "Done.")
    await expect(desk.card("scripted.fail")).to_contain_text("Failed: Its own words.")
