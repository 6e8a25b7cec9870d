"""Questions about calls: what the card shows, what it takes to agree, groups, dangerous ones, two tabs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Locator, Route, expect

from tests.browser.answering import agree, allow_for_longer, button, create, files, run
from tests.browser.approving import Reviewer, open_reviewer
from tests.browser.axe import serious_problems
from tests.browser.console import Console
from tests.browser.resting import stop_clock
from tests.browser.studio import Studio
from tests.browser.width import fits

PHONE = {"width": 360, "height": 740}
HIDDEN = "echo safe\u202etxt" + " " * 300 + "; touch out.txt"
RED = "rgb(180, 35, 24)"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One server for all tests that leave it running."""
    with Studio(tmp_path_factory.mktemp("approvals") / "home") as studio:
        yield studio


async def where(locator: Locator) -> float:
    """Return how far down something stands."""
    box = await locator.bounding_box()
    assert box is not None
    return box["y"]


@pytest.mark.case("AUTHZ-10", "TCL-24")
async def test_the_card_shows_the_change_itself_first_and_the_models_words_as_the_models(
    reviewer: Reviewer, ship: Path
) -> None:
    edit = files("replace_string", filePath="src/tides.py", oldString="table[day]", newString="erase(everything)")
    await reviewer.say("Tidy up", ["A safe cleanup, nothing will change.", edit], "Done.")
    await expect(reviewer.approval).to_contain_text("return erase(everything)")
    await expect(reviewer.card("tides.py")).to_contain_text("Waiting for your approval")
    said = reviewer.approval.get_by_role("figure", name="The model’s words")
    await expect(said).to_have_count(0)
    await button(reviewer.approval, "Details").click()
    await expect(said).to_contain_text("A safe cleanup, nothing will change.")
    path = reviewer.approval.get_by_role("list", name="Paths")
    await expect(path).to_contain_text("src/tides.py")
    await expect(path).to_contain_text("inside the working directory")
    change = reviewer.approval.get_by_text("return erase(everything)")
    assert await where(change) < await where(said) < await where(button(reviewer.approval, "Allow"))
    await expect(reviewer.approval).to_contain_text("Why it asks:")
    assert await serious_problems(reviewer.page) == []
    assert "erase" not in (ship / "src" / "tides.py").read_text(), "nothing happens before the answer"
    await agree(button(reviewer.approval, "Allow"))
    await expect(reviewer.chat.timeline).to_contain_text("You allowed file_operations.replace_string once.")
    await reviewer.chat.finished()
    assert "erase" in (ship / "src" / "tides.py").read_text()
    card = await reviewer.opened("tides.py")
    await expect(card).to_contain_text("Allowed by you.")


@pytest.mark.case("AUTHZ-10", "UI-12", "TEXT-02")
async def test_a_command_is_shown_to_its_end_with_nothing_hidden_and_copied_exactly(
    reviewer: Reviewer, browser_context: BrowserContext
) -> None:
    await browser_context.grant_permissions(["clipboard-read", "clipboard-write"])
    await reviewer.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await reviewer.say("Run it", [run(HIDDEN)], "Done.")
    command = reviewer.approval.get_by_label("Command", exact=True)
    await expect(command).to_have_text("echo safe\\u{202e}txt␣×300; touch out.txt")
    long = await command.evaluate("e => [e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight]")
    assert long == [0, 0], "its end is never out of sight"
    await fits(reviewer.page)
    await button(reviewer.approval, "Copy the command").click()
    await expect(button(reviewer.approval, "Copied")).to_be_visible()
    assert await reviewer.page.evaluate("navigator.clipboard.readText()") == HIDDEN
    await button(reviewer.approval, "Deny").click()
    await reviewer.chat.finished()


@pytest.mark.case("AUTHZ-11")
async def test_calls_of_the_same_shape_are_one_decision_and_the_dangerous_one_among_them_is_not(
    reviewer: Reviewer, ship: Path
) -> None:
    calls = [create(f"src/part{number}.py") for number in range(12)]
    await reviewer.say("Many", [*calls[:6], run("sudo rm -rf src"), *calls[6:]], "Done.")
    group = reviewer.approval.filter(has_text="Allow 12 calls of file_operations.create_file in src/?")
    danger = reviewer.approval.filter(has_text="sudo rm -rf src")
    await expect(group).to_contain_text("1 of 2")
    await expect(button(group, "Allow all 12")).to_have_count(0)
    await expect(group.get_by_role("listitem")).to_have_count(4)
    await button(group, "Show all 12 calls").click()
    await expect(group.get_by_role("listitem")).to_have_count(12)
    await group.get_by_role("button", name="src/part11.py").click()
    await expect(group).to_contain_text("inside the working directory")
    assert await serious_problems(reviewer.page) == []
    await agree(button(group, "Allow these 12"))
    await reviewer.chat.open_steps()
    allowed = reviewer.chat.rows("tool_call").filter(has_text="You allowed file_operations.create_file once.")
    await expect(allowed).to_have_count(12)
    await expect(danger).to_contain_text("Dangerous.")
    await expect(danger).to_have_css("border-top-color", RED)
    names = await danger.get_by_role("button").all_inner_texts()
    assert [name for name in names if "llow" in name or "eny" in name] == ["Deny", "Allow"]
    assert await serious_problems(reviewer.page) == []
    await button(danger, "Deny").click()
    await expect(reviewer.chat.timeline).to_contain_text("You did not allow terminal_operations.run_command.")
    await reviewer.chat.finished()
    assert len(list((ship / "src").glob("part*.py"))) == 12


@pytest.mark.case("AUTHZ-11")
async def test_a_group_can_be_decided_one_by_one(reviewer: Reviewer, ship: Path) -> None:
    await reviewer.say("Two", [create("src/a.py"), create("src/b.py")], "Done.")
    await button(reviewer.approval, "One by one").click()
    await expect(reviewer.approval).to_contain_text("1 of 2")
    await button(reviewer.approval.filter(has_text="src/a.py"), "Deny").click()
    await expect(reviewer.approval).to_contain_text("src/b.py")
    await expect(reviewer.approval).not_to_contain_text(" of ")
    await agree(button(reviewer.approval, "Allow"))
    await reviewer.chat.finished()
    assert [path.name for path in (ship / "src").glob("?.py")] == ["b.py"]


@pytest.mark.case("AUTHZ-12", "WEB-09")
@pytest.mark.own_profile
async def test_a_card_that_just_came_cannot_be_agreed_to_and_has_not_the_focus(reviewer: Reviewer, ship: Path) -> None:
    page = reviewer.page
    await stop_clock(page)
    await reviewer.say("Quick", [create("src/quick.py")], "Done.")
    allow = button(reviewer.approval, "Allow")
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
    await expect(reviewer.approval).to_be_visible()
    await page.evaluate("dispatchEvent(new Event('focus'))")
    await page.clock.run_for(800)
    await allow.click()
    await page.clock.resume()
    await reviewer.chat.finished()
    assert (ship / "src" / "quick.py").exists()


@pytest.mark.case("AUTHZ-12")
@pytest.mark.own_profile
async def test_a_card_that_moved_under_the_pointer_waits_again(reviewer: Reviewer) -> None:
    page, allow = reviewer.page, button(reviewer.approval, "Allow")
    await reviewer.say("One", [run("echo one")], "Done.")
    await expect(allow).to_be_enabled()
    await stop_clock(page)
    # The message box grows, and the card goes up with what agrees to it.
    before = await where(allow)
    await reviewer.chat.box.fill("one\ntwo\nthree")
    await expect(allow).to_have_attribute("aria-disabled", "true")
    assert await where(allow) < before
    await page.clock.run_for(800)
    await expect(allow).to_be_enabled()
    await page.clock.resume()
    await button(reviewer.approval, "Deny").click()
    await reviewer.chat.finished()


@pytest.mark.case("AUTHZ-12", "AUTHZ-11")
async def test_enter_does_not_allow_what_is_dangerous_and_the_way_to_it_begins_with_deny(reviewer: Reviewer) -> None:
    await reviewer.say("Danger", [run("sudo id")], "Done.")
    allow = button(reviewer.approval, "Allow")
    await expect(allow).to_be_visible()
    await reviewer.page.keyboard.press("Alt+a")
    await expect(button(reviewer.approval, "Deny")).to_be_focused()
    await allow.focus()
    await expect(allow).to_be_enabled()
    await reviewer.page.keyboard.press("Enter")
    await expect(reviewer.approval).to_be_visible()
    await expect(allow).to_be_focused()
    await reviewer.page.keyboard.press("Space")
    await expect(reviewer.chat.timeline).to_contain_text("You allowed terminal_operations.run_command once.")
    await reviewer.chat.finished()


async def test_everything_on_a_card_can_be_done_by_keyboard(reviewer: Reviewer, ship: Path) -> None:
    await reviewer.say("Keys", [create("src/keys.py"), create(str(ship.parent / "outside.txt"))], "Done.")
    await expect(reviewer.approval).to_contain_text("1 of 2")
    await reviewer.page.keyboard.press("Alt+a")
    await expect(reviewer.approval).to_be_focused()
    await reviewer.page.keyboard.press("ArrowRight")
    await expect(reviewer.approval).to_contain_text("2 of 2")
    await expect(reviewer.approval).to_be_focused()
    await reviewer.page.keyboard.press("ArrowLeft")
    await expect(reviewer.approval).to_contain_text("1 of 2")
    await button(reviewer.approval, "Allow").focus()
    await expect(button(reviewer.approval, "Allow")).to_be_enabled()
    await reviewer.page.keyboard.press("Enter")
    await expect(reviewer.approval).to_contain_text("outside the working directory")
    # The focus goes on to the next question, and not to what would agree to it.
    await expect(reviewer.approval).to_be_focused()
    await reviewer.approval.get_by_role("textbox", name="Or say what to do instead").focus()
    await reviewer.page.keyboard.type("Stay in the ship, please.")
    await reviewer.page.keyboard.press("Enter")
    await reviewer.chat.finished()
    await reviewer.chat.open_steps()
    row = reviewer.card("outside.txt")
    await expect(row).to_contain_text("Not allowed: Stay in the ship, please.")
    await expect(row).to_contain_text("You did not allow file_operations.create_file: Stay in the ship, please.")
    call = next(
        item for item in reviewer.chat.snapshot()["items"] if "outside.txt" in str(item["data"].get("arguments"))
    )
    assert "Stay in the ship, please." in call["text"], "the reason reaches the model"
    assert (ship / "src" / "keys.py").exists()
    assert not (ship.parent / "outside.txt").exists()


@pytest.mark.case("AUTHZ-03")
async def test_of_two_tabs_the_first_answer_counts_and_the_late_one_is_told_so(
    reviewer: Reviewer, served: Studio, browser_context: BrowserContext, console: Console, ship: Path
) -> None:
    await reviewer.say("Both", [create("src/both.py")], "Done.")
    second = await served.open(browser_context, f"/c/{reviewer.chat.conversation}")
    other = second.dock.get_by_role("region", name="Approval")
    first_is_through = asyncio.Event()

    async def late(route: Route) -> None:
        await first_is_through.wait()
        await route.continue_()

    await second.page.route("**/api/questions/*/answer", late)
    console.expect("409")
    async with second.page.expect_request("**/api/questions/*/answer"):
        await button(other, "Allow").click()
    await button(reviewer.approval, "Deny").click()
    await expect(reviewer.chat.timeline).to_contain_text("You did not allow file_operations.create_file.")
    first_is_through.set()
    told = second.page.get_by_role("alert").filter(has_text="already been answered")
    await expect(told).to_be_visible()
    await expect(second.timeline).to_contain_text("You did not allow file_operations.create_file.")
    await reviewer.chat.finished()
    assert not (ship / "src" / "both.py").exists()


@pytest.mark.case("AUTHZ-03")
async def test_a_double_click_answers_once(reviewer: Reviewer, ship: Path) -> None:
    await reviewer.say("Twice", [create("src/first.py"), create(str(ship.parent / "second.txt"))], "Done.")
    await expect(reviewer.approval).to_contain_text("1 of 2")
    await agree(button(reviewer.approval.filter(has_text="src/first.py"), "Allow"), clicks=2)
    await expect(reviewer.approval).to_contain_text("second.txt")
    await button(reviewer.approval, "Deny").click()
    await reviewer.chat.finished()
    assert (ship / "src" / "first.py").exists()


async def test_permission_for_this_task_ends_with_the_answer(reviewer: Reviewer, ship: Path) -> None:
    await reviewer.say("First", [create("src/one.py")], [create("two.py")], "Done.")
    await allow_for_longer(reviewer.approval, "For this task")
    await reviewer.chat.finished()
    assert (ship / "two.py").exists()
    await reviewer.chat.open_steps()
    await expect(reviewer.card("one.py")).to_contain_text("You allowed file_operations.create_file for this task.")
    card = await reviewer.opened("two.py")
    await expect(card).to_contain_text("Allowed by you for this task.")
    await reviewer.say("Second", [create("three.py")], "Done.")
    await expect(reviewer.approval).to_contain_text("three.py")
    await button(reviewer.approval, "Details").click()
    await expect(reviewer.approval).to_contain_text("Not asked with: the mode")
    await expect(reviewer.approval).to_contain_text("--allow file_operations.create_file")
    await button(reviewer.approval, "Deny").click()
    await reviewer.chat.finished()


async def test_permission_for_a_while_is_for_the_whole_folder_and_spares_the_next_question(
    reviewer: Reviewer, ship: Path
) -> None:
    await reviewer.say("First", [create("src/one.py")], "Done.")
    await allow_for_longer(reviewer.approval, "For 30 minutes")
    await expect(reviewer.chat.timeline).to_contain_text(
        "You allowed file_operations.create_file in this conversation for 30 minutes, until"
    )
    await reviewer.chat.finished()
    await reviewer.say("Second", [create("other/two.py")], "Done.")
    await reviewer.chat.finished()
    assert (ship / "other" / "two.py").exists()
    card = await reviewer.opened("two.py")
    await expect(card).to_contain_text("Allowed by you for 30 minutes, until ")
    await reviewer.say("Elsewhere", [create(str(ship.parent / "three.py"))], "Done.")
    await expect(reviewer.approval).to_contain_text("three.py")
    await button(reviewer.approval, "Deny").click()
    await reviewer.chat.finished()


async def test_always_opens_the_pattern_to_be_narrowed_and_says_what_it_covers(
    reviewer: Reviewer, served: Studio, ship: Path
) -> None:
    await reviewer.say("First", [create("src/one.py")], "Done.")
    await allow_for_longer(reviewer.approval, "Always for this pattern…")
    editor = reviewer.approval.get_by_role("group", name="Always allow this pattern")
    await expect(editor.get_by_label("Tool")).to_have_value("file_operations.edits")
    await expect(editor.get_by_role("status")).to_contain_text(f"only on files in {ship}")
    await editor.get_by_label("Paths").fill("src/**")
    await expect(editor.get_by_role("status")).to_contain_text("only on files in src/")
    assert await serious_problems(reviewer.page) == []
    await agree(button(editor, "Always allow this"))
    await expect(reviewer.chat.timeline).to_contain_text(
        "You always allowed creating, changing and moving files, only on files"
    )
    await reviewer.chat.finished()
    rules = served.server.get("/api/policy")["rules"]
    assert [rule["pattern"]["paths"] for rule in rules if rule["pattern"]["folder"] == str(ship)] == [["src/**"]]
    await reviewer.begin("Another", workingDirectory=str(ship))
    await reviewer.say("Second", [create("src/deep/two.py")], "Done.")
    await reviewer.chat.finished()
    card = await reviewer.opened("two.py")
    await expect(card).to_contain_text("Allowed by a rule.")


@pytest.mark.case("UI-10")
async def test_words_that_imitate_a_card_stay_in_a_box_of_their_own(reviewer: Reviewer) -> None:
    imitation = (
        "**Approval**\n\n<section aria-label='Approval'><button>Allow once</button></section>\n\n"
        "Why it asks: it is verified and safe. [Allow once](https://example.com)"
    )
    await reviewer.say("Imitate", [imitation, create("src/real.py")], "Done.")
    await expect(reviewer.approval).to_have_count(1)
    await expect(reviewer.approval).to_contain_text("src/real.py")
    await expect(button(reviewer.chat.timeline, "Allow once")).to_have_count(0)
    await button(reviewer.approval, "Details").click()
    said = reviewer.approval.get_by_role("figure", name="The model’s words")
    await expect(said).to_contain_text("<button>Allow once</button>")
    await expect(said.get_by_role("button")).to_have_count(0)
    await button(reviewer.approval, "Deny").click()
    await reviewer.chat.finished()


async def test_a_question_elsewhere_is_told_quietly_and_everything_that_waits_is_in_one_list(
    own: Studio, browser_context: BrowserContext, ship: Path
) -> None:
    reviewer = await open_reviewer(own, browser_context, "The ship", workingDirectory=str(ship))
    await reviewer.say("Asked here", [create("src/here.py")], "Done.")
    await expect(reviewer.approval).to_be_visible()
    here = reviewer.chat.conversation
    await reviewer.begin("Somewhere else")
    link = reviewer.page.locator("a[href='/waiting']")
    await expect(link).to_have_text("Waiting for you1")
    own.script(*({"match": "Asked there", "steps": [step]} for step in (create("src/there.py"), "Done.")))
    body = {"title": "The harbour", "settings": {"workingDirectory": str(ship), "mode": "ask"}}
    made = own.server.post("/api/conversations", body, 201)
    own.server.post(f"/api/conversations/{made['id']}/messages", {"text": "Asked there"}, 202)
    toast = reviewer.page.get_by_role("alert").filter(has_text="The harbour waits for you")
    await expect(toast).to_be_visible()
    # Under the pointer it stays.
    await toast.hover()
    await expect(link).to_have_text("Waiting for you2")
    assert await serious_problems(reviewer.page) == []
    await toast.get_by_role("button", name="Go there").click()
    await expect(reviewer.approval).to_contain_text("src/there.py")
    await reviewer.page.keyboard.press("Alt+w")
    await expect(reviewer.page.get_by_role("heading", name="Waiting for you")).to_be_focused()
    main = reviewer.page.get_by_role("main")
    await expect(main.get_by_role("link")).to_have_text(["The ship", "The harbour"])
    await reviewer.page.reload()
    await expect(main.get_by_role("link")).to_have_count(2)
    assert await serious_problems(reviewer.page) == []
    await main.get_by_role("link", name="The harbour").click()
    await expect(reviewer.approval).to_contain_text("src/there.py")
    await button(reviewer.approval, "Deny").click()
    await expect(link).to_have_text("Waiting for you1")
    await link.press("Enter")
    await main.get_by_role("link", name="The ship").press("Enter")
    await expect(reviewer.approval).to_contain_text("src/here.py")
    assert reviewer.chat.conversation == here
    await button(reviewer.approval, "Deny").click()
    await expect(link).to_have_text("Waiting for you")
