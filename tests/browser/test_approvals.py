"""Questions about calls: what the card shows, what it takes to agree, groups, dangerous ones, two tabs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Locator, Route, expect

from tests.browser.desk import Desk, open_desk
from tests.browser.leave import agree, button, create, files, run, terminal
from tests.browser.studio import Studio
from tests.support.axe import serious_problems
from tests.support.console import Console

PHONE = {"width": 360, "height": 740}
HIDDEN = "echo safe\u202etxt" + " " * 300 + "; touch out.txt"
RED = "rgb(180, 35, 24)"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One server for all tests that leave it running."""
    studio = Studio(tmp_path_factory.mktemp("approvals") / "home")
    yield studio
    studio.server.close()


@pytest.fixture
def ship(tmp_path: Path) -> Path:
    """A working directory with something in it."""
    folder = tmp_path / "ship"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "tides.py").write_text("def high_water(day):\n    return table[day]\n", encoding="utf-8")
    return folder


@pytest_asyncio.fixture(loop_scope="session")
async def desk(served: Studio, browser_context: BrowserContext, ship: Path) -> Desk:
    """A tab in a new conversation that works in that folder."""
    made = await open_desk(served, browser_context)
    await made.begin("The ship", workingDirectory=str(ship))
    return made


async def where(locator: Locator) -> float:
    """Return how far down something stands."""
    box = await locator.bounding_box()
    assert box is not None
    return box["y"]


@pytest.mark.case("AUTHZ-10", "TCL-24")
async def test_the_card_shows_the_change_itself_first_and_the_models_words_as_the_models(
    desk: Desk, ship: Path
) -> None:
    edit = files("replace_string", filePath="src/tides.py", oldString="table[day]", newString="erase(everything)")
    await desk.say("Tidy up", ["A safe cleanup, nothing will change.", edit], "Done.")
    await expect(desk.approval).to_contain_text("return erase(everything)")
    await expect(desk.card("tides.py")).to_contain_text("Waiting for your approval")
    said = desk.approval.get_by_role("figure", name="The model’s words")
    await expect(said).to_contain_text("A safe cleanup, nothing will change.")
    path = desk.approval.get_by_role("list", name="Paths")
    await expect(path).to_contain_text("src/tides.py")
    await expect(path).to_contain_text("inside the working directory")
    change = desk.approval.get_by_text("return erase(everything)")
    assert await where(change) < await where(said) < await where(button(desk.approval, "Allow once"))
    await expect(desk.approval).to_contain_text("Why it asks:")
    assert await serious_problems(desk.page) == []
    assert "erase" not in (ship / "src" / "tides.py").read_text(), "nothing happens before the answer"
    await agree(button(desk.approval, "Allow once"))
    await expect(desk.chat.timeline).to_contain_text("You allowed file_operations.replace_string once.")
    await desk.chat.finished()
    assert "erase" in (ship / "src" / "tides.py").read_text()
    card = await desk.opened("tides.py")
    await expect(card).to_contain_text("Allowed by you.")


@pytest.mark.case("AUTHZ-10", "UI-12", "TEXT-02")
async def test_a_command_is_shown_to_its_end_with_nothing_hidden_and_copied_exactly(
    desk: Desk, browser_context: BrowserContext
) -> None:
    await browser_context.grant_permissions(["clipboard-read", "clipboard-write"])
    await desk.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await desk.say("Run it", [run(HIDDEN)], "Done.")
    command = desk.approval.get_by_label("Command", exact=True)
    await expect(command).to_have_text("echo safe\\u{202e}txt␣×300; touch out.txt")
    long = await command.evaluate("e => [e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight]")
    assert long == [0, 0], "its end is never out of sight"
    assert await desk.page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0
    await button(desk.approval, "Copy the command").click()
    await expect(button(desk.approval, "Copied")).to_be_visible()
    assert await desk.page.evaluate("navigator.clipboard.readText()") == HIDDEN
    await button(desk.approval, "Deny").click()
    await desk.chat.finished()


@pytest.mark.case("AUTHZ-10")
async def test_a_folder_says_that_everything_in_it_goes_along(desk: Desk, ship: Path) -> None:
    await desk.say("Tidy up", [files("delete_file", filePath="src", recursive=True)], "Done.")
    await expect(desk.approval.get_by_role("list", name="Paths")).to_contain_text("with everything in it")
    await button(desk.approval, "Deny").click()
    await desk.chat.finished()
    await desk.say("And this", [files("delete_file", filePath="src/tides.py")], "Done.")
    await expect(desk.approval).to_contain_text("src/tides.py")
    await expect(desk.approval).not_to_contain_text("with everything in it")
    await button(desk.approval, "Deny").click()
    await desk.chat.finished()


@pytest.mark.case("AUTHZ-10")
async def test_what_is_typed_at_an_open_terminal_says_so(desk: Desk) -> None:
    await desk.say("Open it", [terminal("create_session")], "Open.")
    await agree(button(desk.approval, "Allow once"))
    await desk.chat.finished()
    await desk.say("Type it", [terminal("send_input", input="make clean\r\n")], "Typed.")
    await expect(desk.approval).to_contain_text("Allow this to be typed at an open terminal?")
    await expect(desk.approval).to_contain_text("what was typed there before may change what it does")
    await button(desk.approval, "Deny").click()
    await desk.chat.finished()


@pytest.mark.case("AUTHZ-11")
async def test_calls_of_the_same_shape_are_one_decision_and_the_dangerous_one_among_them_is_not(
    desk: Desk, ship: Path
) -> None:
    calls = [create(f"src/part{number}.py") for number in range(12)]
    await desk.say("Many", [*calls[:6], run("sudo rm -rf src"), *calls[6:]], "Done.")
    group = desk.approval.filter(has_text="Allow 12 calls of file_operations.create_file in src/?")
    danger = desk.approval.filter(has_text="sudo rm -rf src")
    await expect(desk.approval).to_have_count(2)
    await expect(group.get_by_role("listitem")).to_have_count(4)
    await button(group, "Show all 12 calls").click()
    await expect(group.get_by_role("listitem")).to_have_count(12)
    await group.get_by_role("button", name="src/part11.py").click()
    await expect(group).to_contain_text("inside the working directory")
    await expect(danger).to_contain_text("Dangerous.")
    await expect(danger).to_have_css("border-top-color", RED)
    names = await danger.get_by_role("button").all_inner_texts()
    assert [name for name in names if "llow" in name or "eny" in name] == ["Deny", "Deny with a reason…", "Allow once"]
    assert await serious_problems(desk.page) == []
    await agree(button(group, "Allow all 12 once"))
    await expect(desk.chat.timeline).to_contain_text("You allowed 12 calls of file_operations.create_file once.")
    await expect(desk.approval).to_have_count(1)
    await button(danger, "Deny").click()
    await expect(desk.chat.timeline).to_contain_text("You did not allow terminal_operations.run_command.")
    await desk.chat.finished()
    assert len(list((ship / "src").glob("part*.py"))) == 12


@pytest.mark.case("AUTHZ-11")
async def test_a_group_can_be_decided_one_by_one(desk: Desk, ship: Path) -> None:
    await desk.say("Two", [create("src/a.py"), create("src/b.py")], "Done.")
    await button(desk.approval, "Decide one by one").click()
    await expect(desk.approval).to_have_count(2)
    await button(desk.approval.filter(has_text="src/a.py"), "Deny").click()
    await expect(desk.approval).to_have_count(1)
    await agree(button(desk.approval, "Allow once"))
    await desk.chat.finished()
    assert [path.name for path in (ship / "src").glob("?.py")] == ["b.py"]


@pytest.mark.case("AUTHZ-12", "WEB-09")
async def test_a_card_that_just_came_cannot_be_agreed_to_and_has_not_the_focus(desk: Desk, ship: Path) -> None:
    page = desk.page
    await page.clock.install()
    await page.clock.pause_at(await page.evaluate("Date.now() + 1000"))
    await desk.say("Quick", [create("src/quick.py")], "Done.")
    allow = button(desk.approval, "Allow once")
    await expect(allow).to_be_visible()
    assert not await page.evaluate("document.querySelector('[data-approval]').contains(document.activeElement)")
    box = await allow.bounding_box()
    assert box is not None
    await page.mouse.click(box["x"] + 5, box["y"] + 5)
    await allow.press("Enter")
    await page.clock.run_for(500)
    await page.mouse.click(box["x"] + 5, box["y"] + 5)
    await expect(allow).to_have_attribute("aria-disabled", "true")
    assert not (ship / "src" / "quick.py").exists()
    await page.clock.run_for(300)
    await expect(allow).to_be_enabled()
    # A click that no person made, and one in a window that has not the focus, are none.
    await allow.evaluate("element => element.click()")
    await page.evaluate("dispatchEvent(new Event('blur'))")
    await expect(allow).to_have_attribute("aria-disabled", "true")
    await allow.click(force=True)
    await expect(desk.approval).to_be_visible()
    await page.evaluate("dispatchEvent(new Event('focus'))")
    await page.clock.run_for(800)
    await allow.click()
    await page.clock.resume()
    await desk.chat.finished()
    assert (ship / "src" / "quick.py").exists()


@pytest.mark.case("AUTHZ-12")
async def test_a_card_that_moved_under_the_pointer_waits_again(desk: Desk) -> None:
    page = desk.page
    await desk.say("Two", [create("src/one.py", "line\n" * 40), run("echo two")], "Done.")
    await expect(desk.approval).to_have_count(2)
    first, second = desk.approval.filter(has_text="src/one.py"), desk.approval.filter(has_text="echo two")
    await expect(button(first, "Allow once")).to_be_enabled()
    await page.clock.install()
    await page.clock.pause_at(await page.evaluate("Date.now() + 1000"))
    # The lower one shrinks to a line, and the upper one comes down to where it was.
    await button(second, "Deny").click()
    await expect(desk.approval).to_have_count(1)
    await expect(button(first, "Allow once")).to_have_attribute("aria-disabled", "true")
    await page.clock.run_for(800)
    await expect(button(first, "Allow once")).to_be_enabled()
    await page.clock.resume()
    await button(first, "Deny").click()
    await desk.chat.finished()


@pytest.mark.case("AUTHZ-12", "AUTHZ-11")
async def test_enter_does_not_allow_what_is_dangerous_and_the_way_to_it_begins_with_deny(desk: Desk) -> None:
    await desk.say("Danger", [run("sudo id")], "Done.")
    allow = button(desk.approval, "Allow once")
    await expect(allow).to_be_visible()
    await desk.page.keyboard.press("Alt+a")
    await expect(button(desk.approval, "Deny")).to_be_focused()
    await allow.focus()
    await expect(allow).to_be_enabled()
    await desk.page.keyboard.press("Enter")
    await expect(desk.approval).to_be_visible()
    await expect(allow).to_be_focused()
    await desk.page.keyboard.press("Space")
    await expect(desk.chat.timeline).to_contain_text("You allowed terminal_operations.run_command once.")
    await desk.chat.finished()


async def test_everything_on_a_card_can_be_done_by_keyboard(desk: Desk, ship: Path) -> None:
    await desk.say("Keys", [create("src/keys.py"), create(str(ship.parent / "outside.txt"))], "Done.")
    await expect(desk.approval).to_have_count(2)
    await desk.page.keyboard.press("Alt+a")
    first = desk.approval.first
    await expect(first).to_be_focused()
    await button(first, "Allow once").focus()
    await expect(button(first, "Allow once")).to_be_enabled()
    await desk.page.keyboard.press("Enter")
    await expect(desk.approval).to_have_count(1)
    # The focus goes on to the next question, and not to what would agree to it.
    await expect(desk.approval).to_be_focused()
    await expect(desk.approval).to_contain_text("outside the working directory")
    await button(desk.approval, "Deny with a reason…").focus()
    await desk.page.keyboard.press("Enter")
    await expect(desk.approval.get_by_role("textbox", name="Why not?")).to_be_focused()
    await desk.page.keyboard.type("Stay in the ship, please.")
    await desk.page.keyboard.press("Enter")
    words = "You did not allow file_operations.create_file: Stay in the ship, please."
    await expect(desk.chat.timeline).to_contain_text(words)
    await desk.chat.finished()
    call = next(item for item in desk.chat.snapshot()["items"] if "outside.txt" in str(item["data"].get("arguments")))
    assert "Stay in the ship, please." in call["text"], "the reason reaches the model"
    assert (ship / "src" / "keys.py").exists()
    assert not (ship.parent / "outside.txt").exists()


@pytest.mark.case("AUTHZ-03")
async def test_of_two_tabs_the_first_answer_counts_and_the_late_one_is_told_so(
    desk: Desk, served: Studio, browser_context: BrowserContext, console: Console, ship: Path
) -> None:
    await desk.say("Both", [create("src/both.py")], "Done.")
    second = await served.open(browser_context, f"/c/{desk.chat.conversation}")
    other = second.timeline.get_by_role("region", name="Approval")
    first_is_through = asyncio.Event()

    async def late(route: Route) -> None:
        await first_is_through.wait()
        await route.continue_()

    await second.page.route("**/api/questions/*/answer", late)
    console.expect("409")
    async with second.page.expect_request("**/api/questions/*/answer"):
        await button(other, "Allow once").click()
    await button(desk.approval, "Deny").click()
    await expect(desk.chat.timeline).to_contain_text("You did not allow file_operations.create_file.")
    first_is_through.set()
    told = second.page.get_by_role("alert").filter(has_text="already been answered")
    await expect(told).to_be_visible()
    await expect(second.timeline).to_contain_text("You did not allow file_operations.create_file.")
    await desk.chat.finished()
    assert not (ship / "src" / "both.py").exists()


@pytest.mark.case("AUTHZ-03")
async def test_a_double_click_answers_once(desk: Desk, ship: Path) -> None:
    await desk.say("Twice", [create("src/first.py"), create(str(ship.parent / "second.txt"))], "Done.")
    await expect(desk.approval).to_have_count(2)
    await agree(button(desk.approval.filter(has_text="src/first.py"), "Allow once"), clicks=2)
    await expect(desk.approval).to_have_count(1)
    await expect(desk.approval).to_contain_text("second.txt")
    await button(desk.approval, "Deny").click()
    await desk.chat.finished()
    assert (ship / "src" / "first.py").exists()


async def test_leave_for_a_while_is_as_long_as_chosen_and_spares_the_next_question(desk: Desk, ship: Path) -> None:
    await desk.say("First", [create("src/one.py")], "Done.")
    await button(desk.approval, "For how long").click()
    await desk.page.get_by_role("menuitemradio", name="15 minutes").click()
    await agree(button(desk.approval, "In this conversation for 15 minutes"))
    await expect(desk.chat.timeline).to_contain_text(
        "You allowed file_operations.create_file in this conversation for 15 minutes, until"
    )
    await desk.chat.finished()
    await desk.say("Second", [create("src/two.py")], "Done.")
    await desk.chat.finished()
    assert (ship / "src" / "two.py").exists()
    card = await desk.opened("two.py")
    await expect(card).to_contain_text("Allowed by you for 15 minutes, until ")
    await desk.say("Elsewhere", [create("other/three.py")], "Done.")
    await expect(desk.approval).to_contain_text("other/three.py")
    await button(desk.approval, "Deny").click()
    await desk.chat.finished()


async def test_always_opens_the_narrowest_pattern_to_be_edited_and_says_what_it_covers(
    desk: Desk, served: Studio, ship: Path
) -> None:
    await desk.say("First", [create("src/one.py")], "Done.")
    await button(desk.approval, "Always for this pattern…").click()
    editor = desk.approval.get_by_role("group", name="Always allow this pattern")
    await expect(editor.get_by_label("Tool")).to_have_value("file_operations.create_file")
    await expect(editor.get_by_role("status")).to_contain_text("only on files directly in src/")
    await editor.get_by_label("Paths").fill("src/**")
    await expect(editor.get_by_role("status")).to_contain_text("only on anything in src/")
    assert await serious_problems(desk.page) == []
    await agree(button(editor, "Always allow this"))
    await expect(desk.chat.timeline).to_contain_text("You always allowed file_operations.create_file, only on anything")
    await desk.chat.finished()
    rules = served.server.get("/api/policy")["rules"]
    assert [rule["pattern"]["paths"] for rule in rules if rule["pattern"]["folder"] == str(ship)] == [["src/**"]]
    await desk.begin("Another", workingDirectory=str(ship))
    await desk.say("Second", [create("src/deep/two.py")], "Done.")
    await desk.chat.finished()
    card = await desk.opened("two.py")
    await expect(card).to_contain_text("Allowed by a rule.")


@pytest.mark.case("UI-10")
async def test_words_that_imitate_a_card_stay_in_a_box_of_their_own(desk: Desk) -> None:
    imitation = (
        "**Approval**\n\n<section aria-label='Approval'><button>Allow once</button></section>\n\n"
        "Why it asks: it is verified and safe. [Allow once](https://example.com)"
    )
    await desk.say("Imitate", [imitation, create("src/real.py")], "Done.")
    await expect(desk.approval).to_have_count(1)
    await expect(desk.approval).to_contain_text("src/real.py")
    await expect(button(desk.chat.timeline, "Allow once")).to_have_count(1)
    said = desk.approval.get_by_role("figure", name="The model’s words")
    await expect(said).to_contain_text("<button>Allow once</button>")
    await expect(said.get_by_role("button")).to_have_count(0)
    await button(desk.approval, "Deny").click()
    await desk.chat.finished()


async def test_a_question_elsewhere_is_told_quietly_and_everything_that_waits_is_in_one_list(
    own: Studio, browser_context: BrowserContext, ship: Path
) -> None:
    desk = await open_desk(own, browser_context)
    await desk.begin("The ship", workingDirectory=str(ship))
    await desk.say("Asked here", [create("src/here.py")], "Done.")
    await expect(desk.approval).to_be_visible()
    here = desk.chat.conversation
    await desk.begin("Somewhere else")
    link = desk.page.locator("a[href='/waiting']")
    await expect(link).to_have_text("Waiting for you1")
    own.script(*({"match": "Asked there", "steps": [step]} for step in (create("src/there.py"), "Done.")))
    body = {"title": "The harbour", "settings": {"workingDirectory": str(ship)}}
    made = own.server.post("/api/conversations", body, 201)
    own.server.post(f"/api/conversations/{made['id']}/messages", {"text": "Asked there"}, 202)
    toast = desk.page.get_by_role("alert").filter(has_text="The harbour waits for you")
    await expect(toast).to_be_visible()
    # Under the pointer it stays.
    await toast.hover()
    await expect(link).to_have_text("Waiting for you2")
    assert await serious_problems(desk.page) == []
    await toast.get_by_role("button", name="Go there").click()
    await expect(desk.approval).to_contain_text("src/there.py")
    await desk.page.keyboard.press("Alt+w")
    await expect(desk.page.get_by_role("heading", name="Waiting for you")).to_be_focused()
    main = desk.page.get_by_role("main")
    await expect(main.get_by_role("link")).to_have_count(2)
    await desk.page.reload()
    await expect(main.get_by_role("link")).to_have_count(2)
    assert await serious_problems(desk.page) == []
    await desk.page.get_by_role("main").get_by_role("link").filter(has_text="there.py").click()
    await expect(desk.approval).to_contain_text("src/there.py")
    await button(desk.approval, "Deny").click()
    await expect(link).to_have_text("Waiting for you1")
    await link.press("Enter")
    await main.get_by_role("link").filter(has_text="here.py").press("Enter")
    await expect(desk.approval).to_contain_text("src/here.py")
    assert desk.chat.conversation == here
    await button(desk.approval, "Deny").click()
    await expect(link).to_have_text("Waiting for you")
