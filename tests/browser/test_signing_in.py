"""Signing in to a server with a browser: where one leaves to, how one comes back, and everything that can go wrong."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, expect

from pilothouse.types.client_documents import client_document
from tests.browser.approving import call, open_reviewer
from tests.browser.axe import serious_problems
from tests.browser.console import Console
from tests.browser.issuing import HTML, Sites, sites
from tests.browser.kept import KeptTab
from tests.browser.resting import stop_clock
from tests.browser.rooms import Rooms
from tests.browser.studio import Studio
from tests.support.fake_issuer import document
from tests.support.tiny_http import Answer
from tests.support.waiting import eventually

LOOK = call("look", "one")
MARKUP = "<img src=x onerror=alert(1)><b>Call the harbour office</b>"
NOT_OURS = "This sign-in is not one that waits here"


@pytest_asyncio.fixture(loop_scope="session")
async def place() -> AsyncIterator[Sites]:
    """A server that wants a sign-in, and where one signs in to it."""
    async with sites() as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def rooms(place: Sites, rooms: Rooms) -> Rooms:
    """The settings of the MCP servers, whose servers are removed before what they speak to goes."""
    return rooms


async def signed_in(tab: Page) -> None:
    """See that a tab came back, with nothing in its address."""
    await expect(tab.get_by_role("heading", name="You are signed in to One.")).to_be_visible()
    await expect(tab.get_by_role("main")).to_contain_text("You can close this tab.")
    assert tab.url.endswith("/oauth/callback")


async def begin(rooms: Rooms) -> None:
    """Open the dialog from the server's chip, and see that it knows where to go."""
    await rooms.row("One").get_by_role("button", name="Sign in to One").click()
    await expect(rooms.dialog.get_by_role("link", name="Continue to")).to_be_visible()


@pytest.mark.case("AUT-17", "AUT-18", "AUT-19", "AUT-20", "OAUTH-14")
async def test_a_newcomer_signs_in_and_makes_a_first_call(
    rooms: Rooms, place: Sites, kept_tab: KeptTab, profile: BrowserContext
) -> None:
    await rooms.add(place.server.mcp, "One")
    await expect(rooms.chip("One")).to_have_text("Sign in")
    await begin(rooms)
    # Who asks, where one goes and for what is said before one leaves.
    await expect(rooms.dialog).to_have_accessible_name("Sign in to “One”")
    for words in (place.server.mcp, place.host):
        await expect(rooms.dialog).to_contain_text(words)
    await expect(rooms.dialog.get_by_role("list", name="Rights")).to_have_text("read")
    assert not place.issuer.requests_to("/authorize")
    assert await serious_problems(rooms.page) == []
    tab = await place.leave(rooms.page, profile)
    assert re.search(r"[?&]state=[\w.%-]{40,}", tab.url)
    await tab.get_by_role("link", name="Allow").click()
    await signed_in(tab)
    assert await serious_problems(tab) == []
    await tab.close()
    await expect(rooms.dialog).to_have_count(0)
    await rooms.connected("One", 1)
    row = await rooms.select("One")
    await expect(row).to_contain_text(f"Signed in at {place.issuer.url.removeprefix('http://')}")
    await expect(row).to_contain_text("Rights: read")
    reviewer = await kept_tab.reviewer(rooms.studio, "First")
    await reviewer.say("Look", [LOOK], "It was seen.", allow=["one.*"])
    await expect(reviewer.chat.answers.last).to_contain_text("It was seen.")
    assert place.server.calls == 1


@pytest.mark.case("AUT-16", "AUT-26")
async def test_a_program_signs_in_from_the_page_without_a_person(rooms: Rooms, place: Sites, console: Console) -> None:
    # Such an issuer has no page where a person could sign in.
    place.issuer.about = {"authorization_endpoint": None}
    await rooms.add(place.server.mcp, "One")
    await rooms.row("One").get_by_role("button", name="Sign in to One").click()
    await expect(rooms.dialog.get_by_role("button", name="Retry")).to_be_visible()
    console.expect("409")
    await rooms.dialog.get_by_role("button", name="Sign in as a program, without a person?").click()
    send = rooms.dialog.get_by_role("button", name="Sign in as a program", exact=True)
    await expect(send).to_be_disabled()
    await rooms.dialog.get_by_label("Client id").fill("nobody")
    await rooms.dialog.get_by_role("textbox", name="Client secret").fill("very-secret")
    await send.click()
    await expect(rooms.dialog).to_contain_text("gave no token: invalid_client. Check the client id and its secret.")
    assert await serious_problems(rooms.page) == []
    await rooms.dialog.get_by_label("Client id").fill("robot")
    await send.click()
    await expect(rooms.dialog).to_have_count(0)
    await rooms.connected("One", 1)
    await expect(await rooms.select("One")).to_contain_text("Connected as robot")
    assert not place.issuer.requests_to("/authorize")


@pytest.mark.case("OAUTH-14")
async def test_the_page_says_that_rights_which_nobody_could_read_are_not_asked_for(rooms: Rooms, place: Sites) -> None:
    place.server.about = {"scopes_supported": ["read", "x" * 100_000]}
    await rooms.add(place.server.mcp, "One")
    await expect(rooms.chip("One")).to_have_text("Sign in")
    await begin(rooms)
    await expect(rooms.dialog.get_by_role("list", name="Rights")).to_have_text("read")
    await expect(rooms.dialog).to_contain_text("1 more that it names is not asked for: too long, or too many.")


@pytest.mark.case("AUT-17")
async def test_the_page_says_who_is_signed_in_and_lets_them_do_so_again_and_sign_out(
    rooms: Rooms, place: Sites, profile: BrowserContext
) -> None:

    async def was_revoked() -> bool:
        return bool(place.issuer.revoked)

    await place.add(rooms.studio)
    # {"preferred_username": "ada"}, unsigned.
    named = {**place.issuer.tokens("read"), "id_token": "e30.eyJwcmVmZXJyZWRfdXNlcm5hbWUiOiAiYWRhIn0.x"}
    place.issuer.instead["/token"] = document(named)
    await begin(rooms)
    tab = await place.leave(rooms.page, profile)
    await tab.get_by_role("link", name="Allow").click()
    await signed_in(tab)
    await tab.get_by_role("link", name="Go to the servers").click()
    await tab.close()
    row = await rooms.select("One")
    await expect(row).to_contain_text("Connected as ada")
    await row.get_by_role("button", name="Sign in again…").click()
    tab = await place.leave(rooms.page, profile)
    await tab.get_by_role("link", name="Allow").click()
    await signed_in(tab)
    await expect(rooms.dialog).to_have_count(0)
    await row.get_by_role("button", name="Sign out").click()
    await expect(row).not_to_contain_text("Connected as")
    await eventually(was_revoked, "the tokens to be revoked")
    await row.get_by_role("button", name="Test").click()
    await expect(rooms.chip("One")).to_have_text("Sign in")


@pytest.mark.case("AUT-17")
async def test_a_tool_that_is_tried_by_hand_leads_to_the_sign_in_it_met(
    rooms: Rooms, place: Sites, profile: BrowserContext
) -> None:
    await place.add(rooms.studio)
    await begin(rooms)
    tab = await place.leave(rooms.page, profile)
    await tab.get_by_role("link", name="Allow").click()
    await signed_in(tab)
    await tab.close()
    await rooms.connected("One", 1)
    place.spoil()
    await rooms.page.keyboard.press("Alt+t")
    look = rooms.page.get_by_role("listitem", name="one.look")
    await look.get_by_role("button", expanded=False).first.click()
    await look.get_by_role("button", name="Try it").click()
    form = look.get_by_role("region", name="Try one.look")
    await form.get_by_role("button", name="Run").click()
    await expect(form.get_by_role("status")).to_contain_text("Failed in")
    await form.get_by_role("button", name="Sign in…").click()
    tab = await place.leave(rooms.page, profile)
    await tab.get_by_role("link", name="Allow").click()
    await signed_in(tab)
    await tab.close()
    await expect(rooms.page.get_by_role("dialog", name="Sign in to “One”")).to_have_count(0)
    await form.get_by_role("button", name="Run").click()
    await expect(form.get_by_role("status")).to_contain_text("Completed in")


@pytest.mark.case("ERR-05", "OAUTH-09")
async def test_a_refused_sign_in_says_so_in_both_tabs_and_shows_nothing_of_what_came_with_it(
    rooms: Rooms, place: Sites, profile: BrowserContext, console: Console
) -> None:
    console.expect("409")
    await place.add(rooms.studio)
    place.denial = {"error": MARKUP, "error_description": MARKUP, "error_uri": MARKUP}
    await begin(rooms)
    tab = await place.leave(rooms.page, profile)
    await tab.get_by_role("link", name="Deny").click()
    main = tab.get_by_role("main")
    await expect(main).to_contain_text("Authorization failed. Please try again.")
    assert tab.url.endswith("/oauth/callback")
    assert "harbour office" not in await tab.content()
    await expect(rooms.dialog).to_contain_text("Authorization failed. Please try again.")
    assert "harbour office" not in await rooms.page.content()
    for query in (f"?state={MARKUP}&code={MARKUP}&iss={MARKUP}", f"?error={MARKUP}"):
        await tab.goto(f"{rooms.studio.url}/oauth/callback{query}")
        await expect(main).to_contain_text(NOT_OURS)
        assert tab.url.endswith("/oauth/callback")
        assert "harbour office" not in await tab.content()
    # A token endpoint that answers with a page is one sentence, too; its words are not shown either.
    place.issuer.instead["/token"] = Answer(200, f"<html>{MARKUP}".encode(), HTML)
    await rooms.dialog.get_by_role("button", name="Retry").click()
    other = await place.leave(rooms.page, profile)
    await other.get_by_role("link", name="Allow").click()
    await expect(other.get_by_role("main").get_by_role("alert")).to_be_visible()
    assert "harbour office" not in await other.content()
    del place.issuer.instead["/token"]
    # The tab that came back leads on as well.
    await other.get_by_role("button", name="Retry").click()
    last = await place.leave(other, profile)
    await last.get_by_role("link", name="Allow").click()
    await signed_in(last)


@pytest.mark.case("AUT-19", "AUT-20")
async def test_a_second_browser_finishes_once_it_is_let_in_or_by_hand_in_the_first(
    rooms: Rooms, place: Sites, chromium: Browser, console: Console
) -> None:
    console.expect("409")
    await place.add(rooms.studio)
    await begin(rooms)
    url = await rooms.dialog.get_by_role("link", name="Continue to").get_attribute("href")
    assert url
    other = await chromium.new_context(permissions=["clipboard-read", "clipboard-write"])
    tab = await other.new_page()
    await tab.goto(url)
    await tab.get_by_role("link", name="Allow").click()
    await expect(tab.get_by_role("main")).to_contain_text("Your sign-in to a server goes on here")
    assert tab.url.endswith("/oauth/callback")
    await tab.get_by_role("button", name="Copy the address").click()
    await expect(tab.get_by_role("button", name="Copied")).to_be_visible()
    address = await tab.evaluate("navigator.clipboard.readText()")
    assert not place.issuer.requests_to("/token")
    await rooms.dialog.get_by_role("button", name="Signed in with another browser?").click()
    field = rooms.dialog.get_by_label("Paste the address you were sent back to")
    await field.fill(address)
    await rooms.dialog.get_by_role("button", name="Finish").click()
    await expect(rooms.dialog).to_have_count(0)
    await rooms.connected("One", 1)
    # The same answer a second time, once the other browser is let in with a link in the very tab.
    await tab.goto(f"{rooms.studio.url}/?in=x#code={rooms.studio.code()}")
    await expect(tab.get_by_role("main")).to_contain_text(NOT_OURS)
    assert len(place.issuer.requests_to("/token")) == 1
    await tab.get_by_role("button", name="Retry").click()
    again = await place.leave(tab, other)
    await again.get_by_role("link", name="Allow").click()
    await signed_in(again)
    await other.close()


@pytest.mark.case("AUT-19")
async def test_a_browser_that_is_let_in_by_another_tab_goes_on_by_itself(
    rooms: Rooms, place: Sites, chromium: Browser
) -> None:
    await place.add(rooms.studio)
    await begin(rooms)
    url = await rooms.dialog.get_by_role("link", name="Continue to").get_attribute("href")
    assert url
    other = await chromium.new_context()
    tab = await other.new_page()
    await tab.goto(url)
    await tab.get_by_role("link", name="Allow").click()
    await expect(tab.get_by_role("heading", name="Open the link from the terminal")).to_be_visible()
    await (await other.new_page()).goto(f"{rooms.studio.url}/#code={rooms.studio.code()}")
    await signed_in(tab)
    await expect(rooms.dialog).to_have_count(0)
    await other.close()


@pytest.mark.case("AUT-19")
async def test_a_call_waits_for_a_sign_in_that_outlives_a_restart_and_goes_on_by_itself(
    mortal: Studio, place: Sites, browser_context: BrowserContext, console: Console
) -> None:
    console.expect_restart()
    await place.add(mortal)
    rooms = Rooms((await mortal.open(browser_context, "/settings/mcp")).page, mortal)
    await begin(rooms)
    tab = await place.leave(rooms.page, browser_context)
    await asyncio.to_thread(mortal.restart)
    await tab.get_by_role("link", name="Allow").click()
    await signed_in(tab)
    await place.until(mortal, "connected")
    place.spoil()
    reviewer = await open_reviewer(mortal, browser_context, "Waits")
    await reviewer.say("Look", [LOOK], "It was not seen.", allow=["one.*"])
    await expect(reviewer.question).to_contain_text("One asks you to sign in")
    assert await serious_problems(reviewer.page) == []
    await reviewer.question.get_by_role("button", name="Deny").click()
    await expect(reviewer.chat.timeline).to_contain_text("One asked you to sign in. You declined.")
    await reviewer.say("Once more", [LOOK], "It was seen.", allow=["one.*"])
    await reviewer.question.get_by_role("button", name="Sign in").click()
    tab = await place.leave(reviewer.page, browser_context)
    await tab.get_by_role("link", name="Allow").click()
    await signed_in(tab)
    await expect(reviewer.question).to_have_count(0)
    await expect(reviewer.page.get_by_role("dialog")).to_have_count(0)
    await expect(reviewer.chat.answers.last).to_contain_text("It was seen.")
    await expect(reviewer.chat.timeline).to_contain_text("One asked you to sign in. You did.")


@pytest.mark.case("AUT-26")
async def test_a_client_document_is_set_on_the_page_and_used(
    rooms: Rooms, place: Sites, console: Console, profile: BrowserContext
) -> None:
    console.expect("400")
    address = "https://ada.example/pilothouse.json"
    place.issuer.about["client_id_metadata_document_supported"] = True
    place.issuer.documents[address] = client_document(address, [rooms.studio.url])
    await place.add(rooms.studio)
    field = rooms.page.get_by_label("Address of your client document")
    await field.fill("http://ada.example/pilothouse.json")
    await field.press("Enter")
    await expect(rooms.page.get_by_text("it must begin with https://.")).to_be_visible()
    # What was refused stays, to be mended.
    await expect(field).to_have_value("http://ada.example/pilothouse.json")
    await field.fill(address)
    async with rooms.page.expect_response("**/api/config"):
        await field.press("Enter")
    await expect(rooms.page.get_by_text("it must begin with https://.")).to_have_count(0)
    await rooms.page.reload()
    await expect(field).to_have_value(address)
    assert await serious_problems(rooms.page) == []
    await begin(rooms)
    tab = await place.leave(rooms.page, profile)
    await tab.get_by_role("link", name="Allow").click()
    await signed_in(tab)
    assert place.issuer.requests_to("/authorize")[-1].query["client_id"] == address
    assert not place.issuer.requests_to("/register")
    # Empty it is not set any more.
    await field.fill("")
    async with rooms.page.expect_response("**/api/config"):
        await field.press("Enter")
    await rooms.page.reload()
    await expect(field).to_have_value("")


@pytest.mark.case("AUT-30", "ERR-06", "AUT-26")
@pytest.mark.own_profile
async def test_a_sign_in_that_takes_too_long_says_so_and_a_client_of_ones_own_is_asked_for_where_only_that_helps(
    mortal: Studio, place: Sites, browser_context: BrowserContext, console: Console
) -> None:
    console.expect("409")
    place.issuer.about["registration_endpoint"] = None
    await place.add(mortal)
    rooms = Rooms((await mortal.open(browser_context, "/settings/mcp")).page, mortal)
    await rooms.row("One").get_by_role("button", name="Sign in to One").click()
    await expect(rooms.dialog).to_contain_text("only lets in programs that were registered there beforehand")
    await expect(rooms.dialog).to_contain_text(f"{mortal.url}/oauth/callback")
    await rooms.dialog.get_by_label("Client id").fill("mine")
    await rooms.dialog.get_by_label("Client secret", exact=True).fill("very-secret")
    # The time that the test itself takes does not count.
    await stop_clock(rooms.page)
    await rooms.dialog.get_by_role("button", name="Retry").click()
    link = rooms.dialog.get_by_role("link", name="Continue to")
    await expect(link).to_have_attribute("href", re.compile(r"[?&]client_id=mine&"))
    await rooms.page.clock.run_for("01:55")
    await expect(link).to_be_visible()
    await rooms.page.clock.run_for("00:06")
    await expect(rooms.dialog.get_by_role("alert")).to_have_text("Authorization timed out after 2 minutes.")
    await expect(rooms.dialog.get_by_role("button", name="Retry")).to_be_visible()
