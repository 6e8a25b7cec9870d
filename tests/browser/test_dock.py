"""The question above the message box: how much room it takes, its keys, several at once, other arguments, the list."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Locator, expect

from tests.browser.answering import agree, button, create, files, run
from tests.browser.approving import Reviewer, add_server, call, open_reviewer, wait_until_connected
from tests.browser.axe import serious_problems
from tests.browser.menus import close_menu
from tests.browser.resting import comes_to, place_of, stop_clock
from tests.browser.rooms import ECHO, write_tools
from tests.browser.studio import Studio
from tests.browser.width import fits
from tests.support.waiting import eventually

DESKTOPS = ({"width": 1440, "height": 900}, {"width": 1280, "height": 640})
PHONE = {"width": 390, "height": 844}
# As much as a question about a simple call may take: a line, what runs, and the answers.
SIMPLE_PX = 140
# Pairs of what can be pressed or typed into that lie on each other, by their names.
OVERLAPS = """dock => {
  const all = [...dock.querySelectorAll('button, input, textarea, a')].filter(each => each.offsetParent);
  const boxes = all.map(each => [each.getAttribute('aria-label') || each.innerText, each.getBoundingClientRect()]);
  return boxes.flatMap(([a, one], at) => boxes.slice(at + 1)
    .filter(([, b]) => one.left < b.right - 1 && b.left < one.right - 1)
    .filter(([, b]) => one.top < b.bottom - 1 && b.top < one.bottom - 1)
    .map(([b]) => `${a} and ${b}`));
}"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One server for all tests, with a server of tools."""
    folder = tmp_path_factory.mktemp("dock")
    with Studio(folder / "home") as studio:
        add_server(studio, "harbour", ("--tools", write_tools(folder / "tools.json", ECHO)))
        wait_until_connected(studio, "harbour")
        yield studio


async def is_at_most(card: Locator, most: float) -> None:
    """Wait until something is no higher than this: it is drawn for its new window a moment later."""

    async def look() -> bool:
        return float(await card.evaluate("card => card.getBoundingClientRect().height")) <= most

    await eventually(look, f"at most {most} pixels of height")


async def nothing_overlaps(dock: Locator) -> None:
    """Wait until nothing lies on anything else."""
    await comes_to(dock, OVERLAPS, [], "a place for each")


async def deny(reviewer: Reviewer) -> None:
    await button(reviewer.approval, "Deny").click()
    await reviewer.chat.finished()


async def test_a_simple_call_takes_little_room_and_nothing_lies_on_anything_else(reviewer: Reviewer) -> None:
    page, dock = reviewer.page, reviewer.chat.dock
    for text, step in {"Test": run("npm test"), "Echo": call("echo", "harbour", text="hello")}.items():
        await reviewer.say(text, [step], "Done.", allow=())
        for size in DESKTOPS:
            await page.set_viewport_size(size)  # type: ignore[arg-type]
            await is_at_most(reviewer.approval, SIMPLE_PX)
            await nothing_overlaps(dock)
        await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        await expect(button(reviewer.approval, "Allow")).to_be_in_viewport(ratio=1)
        await nothing_overlaps(dock)
        await fits(page)
        await deny(reviewer)


async def test_a_long_change_leaves_the_answers_and_the_message_box_in_view(reviewer: Reviewer) -> None:
    page, many = reviewer.page, [create("src/long.py", "line = 1\n" * 120), run("echo two"), run("sudo id")]
    await reviewer.say("Long", many, "Done.", allow=())
    for size in (*DESKTOPS, PHONE):
        await page.set_viewport_size(size)  # type: ignore[arg-type]
        for shown in (button(reviewer.approval, "Allow"), reviewer.approval.get_by_role("heading"), reviewer.chat.box):
            await expect(shown).to_be_in_viewport(ratio=1)
        await nothing_overlaps(reviewer.chat.dock)
        await is_at_most(reviewer.approval, 0.6 * size["height"] + 1)
    await page.emulate_media(color_scheme="dark")
    assert await serious_problems(page) == []
    await reviewer.chat.stop.click()
    await reviewer.chat.finished()


@pytest.mark.case("AUTHZ-10")
async def test_a_command_is_not_allowed_before_its_end_was_in_view(reviewer: Reviewer, ship: Path) -> None:
    command = "\n".join(f"echo {number}" for number in range(80)) + "\ntouch end.txt"
    await reviewer.page.set_viewport_size(DESKTOPS[1])  # type: ignore[arg-type]
    await reviewer.say("Long", [run(command)], "Done.", allow=())
    await expect(reviewer.approval).to_contain_text("Its end is below; look at it before you allow it.")
    await expect(button(reviewer.approval, "Allow")).to_have_attribute("aria-disabled", "true")
    await reviewer.approval.get_by_label("Command", exact=True).hover()
    await reviewer.page.mouse.wheel(0, 10_000)
    await expect(reviewer.approval).not_to_contain_text("Its end is below")
    await agree(button(reviewer.approval, "Allow"))
    await reviewer.chat.finished()
    assert (ship / "end.txt").exists()


@pytest.mark.case("AUTHZ-12")
@pytest.mark.own_profile
async def test_enter_allows_while_the_card_has_the_focus_and_is_armed_and_never_from_the_message_box(
    reviewer: Reviewer, ship: Path
) -> None:
    page, allow = reviewer.page, button(reviewer.approval, "Allow")
    await reviewer.chat.box.fill("Half a mess")
    await stop_clock(page)
    await reviewer.say("Keys", [create("src/keys.py")], "Done.", allow=())
    await expect(allow).to_have_attribute("aria-disabled", "true")
    # Whoever types goes on typing where they were.
    await expect(reviewer.chat.box).to_be_focused()
    await page.keyboard.type("age")
    await page.keyboard.press("Enter")
    await expect(reviewer.chat.box).to_have_value("Half a message")
    await page.keyboard.press("Alt+a")
    await expect(reviewer.approval).to_be_focused()
    await page.keyboard.press("Enter")
    await page.clock.run_for(800)
    await expect(allow).to_be_enabled()
    await reviewer.chat.box.focus()
    await page.keyboard.press("Enter")
    await expect(reviewer.approval).to_be_visible()
    assert not (ship / "src" / "keys.py").exists()
    await page.keyboard.press("Alt+a")
    await expect(reviewer.approval).to_be_focused()
    await page.keyboard.press("Enter")
    await page.clock.resume()
    await reviewer.chat.finished()
    assert (ship / "src" / "keys.py").exists()
    await expect(reviewer.chat.box).to_have_value("Half a message")


@pytest.mark.case("AUTHZ-10")
async def test_no_answer_moves_from_under_the_pointer_when_a_press_takes_the_focus_from_the_card(
    reviewer: Reviewer,
) -> None:
    await reviewer.say("Still", [run("touch a.txt"), create("src/still.py")], "Done.", allow=())
    answers = [button(reviewer.approval, name) for name in ("Allow for longer", "Deny", "Allow all 2")]
    await reviewer.approval.focus()
    before = [await place_of(each) for each in answers]
    await reviewer.chat.box.focus()
    assert [await place_of(each) for each in answers] == before
    await reviewer.approval.focus()
    await answers[0].click()
    await expect(reviewer.page.get_by_role("menuitem", name="For this task")).to_be_visible()
    await close_menu(reviewer.page)
    await reviewer.chat.stop.click()
    await reviewer.chat.finished()


@pytest.mark.case("AUTHZ-11", "AUTHZ-12")
async def test_allow_all_skips_what_is_dangerous_and_enter_does_not_allow_that(reviewer: Reviewer, ship: Path) -> None:
    calls = [create("src/a.py"), run("sudo touch danger.txt"), run("touch two.txt"), create("src/b.py")]
    await reviewer.say("All", calls, "Done.", allow=())
    await expect(reviewer.approval).to_contain_text("1 of 3")
    await expect(reviewer.chat.dock.get_by_role("status")).to_contain_text("Question 1 of 3: Allow 2 calls of")
    await agree(button(reviewer.approval, "Allow all 3"))
    await expect(reviewer.approval).to_contain_text("sudo touch danger.txt")
    await expect(reviewer.approval.get_by_role("button", name="Allow all")).to_have_count(0)
    await expect(button(reviewer.approval, "Allow")).to_be_enabled()
    await reviewer.approval.focus()
    await reviewer.page.keyboard.press("Enter")
    await reviewer.chat.open_steps()
    for path in ("a.py", "b.py"):
        await expect(reviewer.card(path)).to_contain_text("You allowed file_operations.create_file once.")
    await expect(reviewer.approval).to_be_visible()
    await deny(reviewer)
    made = {name: (ship / name).exists() for name in ("src/a.py", "src/b.py", "two.txt", "danger.txt")}
    assert made == {"src/a.py": True, "src/b.py": True, "two.txt": True, "danger.txt": False}


async def test_what_it_is_given_can_be_changed_and_that_is_what_runs(reviewer: Reviewer, ship: Path) -> None:
    await reviewer.say("Change", [run("touch theirs.txt")], "Done.", allow=())
    await button(reviewer.approval, "Edit").click()
    command = reviewer.approval.get_by_role("textbox", name="command")
    await expect(reviewer.approval.get_by_role("textbox").first).to_be_focused()
    await command.fill("touch mine.txt")
    assert await serious_problems(reviewer.page) == []
    await agree(button(reviewer.approval, "Allow as changed"))
    await reviewer.chat.finished()
    assert (ship / "mine.txt").exists()
    assert not (ship / "theirs.txt").exists()
    words = "You changed what it is given and allowed terminal_operations.run_command once."
    await expect(reviewer.chat.timeline).to_contain_text(words)
    card = await reviewer.opened("touch mine.txt")
    await expect(card).to_contain_text("You changed what the model asked for:")
    await expect(card.get_by_label("Asked for", exact=True)).to_contain_text("touch theirs.txt")
    # What a tool does not take is told, and the question stays.
    await reviewer.say("Wrong", [files("read_file", filePath="/etc/hostname", startLine=1)], "Done.", allow=())
    await button(reviewer.approval, "Edit").click()
    number = reviewer.approval.get_by_role("textbox", name="startLine")
    await number.fill("one")
    await expect(reviewer.approval).to_contain_text("This is not JSON")
    await expect(button(reviewer.approval, "Allow as changed")).to_be_disabled()
    await number.press("Escape")
    await expect(reviewer.approval).to_be_focused()
    await deny(reviewer)


@pytest.mark.own_profile
async def test_the_list_of_what_waits_answers_in_its_place(
    own: Studio, browser_context: BrowserContext, ship: Path, tools: Path
) -> None:
    add_server(own, "harbour", ("--tools", tools))
    wait_until_connected(own, "harbour")
    reviewer = await open_reviewer(own, browser_context, "The ship", workingDirectory=str(ship))
    ask = {"call": "user_collaboration", "arguments": {"prompt": "Which unit?", "choices": ["Metres", "Feet"]}}
    for title, step in (
        ("Ship", run("touch listed.txt")),
        ("Harbour", call("echo", "harbour", text="ahoy")),
        ("Unit", ask),
    ):
        await reviewer.begin(title, workingDirectory=str(ship))
        await reviewer.say(f"For the {title}", [step], "Done.", allow=())
        await expect(reviewer.chat.dock.get_by_role("region")).to_be_visible()
    page = reviewer.page
    await page.keyboard.press("Alt+w")
    main = page.get_by_role("main")
    cards = main.get_by_role("region", name="Approval")
    await expect(cards).to_have_count(2)
    await expect(cards.nth(1).get_by_role("group", name="Arguments of harbour.echo")).to_contain_text("ahoy")
    assert await serious_problems(page) == []
    # The one above is answered and goes; what comes to its place waits again.
    await expect(button(cards.nth(1), "Allow")).to_be_enabled()
    await page.keyboard.press("Alt+a")
    await expect(cards.first).to_be_focused()
    await expect(button(cards.first, "Allow")).to_be_enabled()
    await stop_clock(page)
    await page.keyboard.press("Enter")
    await page.clock.run_for(400)
    await expect(cards).to_have_count(1)
    await expect(button(cards, "Allow")).to_have_attribute("aria-disabled", "true")
    await page.clock.resume()
    await cards.get_by_role("textbox", name="Or say what to do instead").fill("Say hello.")
    await page.keyboard.press("Enter")
    await expect(cards).to_have_count(0)
    await main.get_by_role("button", name="Feet").click()
    await expect(main).to_contain_text("Nothing waits for you.")
    assert (ship / "listed.txt").exists()
