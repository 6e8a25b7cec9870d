"""Settings in a real browser, against the real server and a model server on loopback."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, expect

from tests.browser.axe import serious_problems
from tests.browser.console import Console
from tests.browser.kept import KeptTab, go, keeping
from tests.browser.models import card, choose, drawn, entry, field, in_both_colours, known, open_models, three
from tests.browser.studio import Chat, Studio
from tests.browser.width import fits
from tests.support.scripted_endpoint import Endpoint
from tests.support.servers import Server
from tests.support.waiting import eventually, until

Start = Callable[..., Server]
NOBODY = "http://127.0.0.1:9"
TABS = ("General", "Models", "MCP", "Memory", "Permissions", "Prompts", "Terminal", "Web", "Usage", "Operation")


@pytest_asyncio.fixture(loop_scope="session")
async def endpoint() -> AsyncIterator[Endpoint]:
    """A model server on loopback."""
    async with Endpoint() as serving:
        yield serving


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    """Starts a server that outlives the browser's tabs, so that they have nothing to complain about."""
    with ExitStack() as stack:
        yield lambda models, **environ: stack.enter_context(
            Server(home, models={"defaultModelId": next(iter(models)), "models": models}, variables=environ)
        )


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests that need no other; its models are at an address where nobody answers."""
    with Server(tmp_path_factory.mktemp("settings") / "home", models=three(NOBODY)) as made:
        yield made


@pytest.fixture(scope="module")
def first(running: Server) -> str:
    """The models that it knew when it started."""
    return json.dumps(known(running))


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def kept_tab(chromium: Browser, running: Server) -> AsyncIterator[KeptTab]:
    """One tab for all of them."""
    async with keeping(chromium) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def server(running: Server, endpoint: Endpoint, first: str) -> Server:
    """That server, with its three models as they were, at this test's model server."""
    (running.home / "models.json").write_text(json.dumps(three(endpoint.url), indent=2), encoding="utf-8")
    wanted = json.loads(first.replace(NOBODY, endpoint.url))

    async def restored() -> bool:
        return bool(await asyncio.to_thread(known, running) == wanted)

    await eventually(restored, "the models to be as they were")
    return running


@pytest_asyncio.fixture(loop_scope="session")
async def page(kept_tab: KeptTab, profile: BrowserContext, server: Server, endpoint: Endpoint) -> Page:
    """The tab at the start, once it has heard of the models."""
    page = await kept_tab.at(server, "/settings/models")
    await expect(card(page, "Fast one")).to_contain_text(endpoint.url.removeprefix("http://"))
    await go(page, "/")
    return page


async def test_the_settings_have_tabs_and_nothing_in_them_that_does_nothing(server: Server, page: Page) -> None:
    await page.get_by_role("button", name="Settings", exact=True).click()
    await expect(page.get_by_role("heading", name="Settings", level=1)).to_be_focused()
    await expect(page.get_by_role("tab")).to_have_text(list(TABS))
    for name in TABS:
        await page.get_by_role("tab", name=name).click()
        await expect(page).to_have_url(f"{server.url}/settings/{name.lower()}")
        await drawn(page)
        assert await serious_problems(page) == []
    await page.get_by_role("tab", name="General").click()
    await drawn(page)
    await expect(page.get_by_text("hotkey")).to_have_count(0)
    await page.keyboard.press("Escape")
    await expect(page).to_have_url(f"{server.url}/")


async def test_pointing_at_the_button_that_cannot_delete_the_default_says_why(server: Server, page: Page) -> None:
    await open_models(page)
    kept = card(page, "Fast one").get_by_role("button", name="Delete Fast one: This is the default.")
    await kept.hover()
    await expect(page.get_by_role("tooltip")).to_contain_text("Make another model the default")


@pytest.mark.case("NAT-01")
async def test_more_has_how_tools_are_called_and_the_providers_own_tools(server: Server, page: Page) -> None:
    await open_models(page)
    await page.get_by_role("button", name="Edit Fast one").click()
    form = page.get_by_role("dialog")
    await expect(form.get_by_role("radiogroup", name="Web search")).to_have_count(0)
    await form.get_by_role("button", name="More").click()
    await choose(form, "Calls tools", "In the text of its answer")
    for tool, state in (("Web search", "On"), ("Code execution", "Off")):
        await form.get_by_role("radiogroup", name=tool).get_by_text(state, exact=True).click()
    assert await serious_problems(page) == []
    await form.get_by_role("button", name="Save").click()
    await expect(form).to_have_count(0)
    kept = server.read("models.json")["models"]["fast"]
    assert kept["toolCalls"] == "text"
    assert (kept["nativeTools"]["webSearch"], kept["nativeTools"]["codeExecution"]) == (True, False)
    await page.get_by_role("button", name="Edit Fast one").click()
    search = form.get_by_role("radiogroup", name="Web search")
    await expect(search.get_by_role("radio", name="On")).to_be_checked()
    await expect(form.get_by_role("radiogroup", name="Reading web pages").get_by_role("radio").first).to_be_checked()
    await search.get_by_text("Default", exact=True).click()
    await form.get_by_role("button", name="Save").click()
    await expect(form).to_have_count(0)
    assert server.read("models.json")["models"]["fast"]["nativeTools"].get("webSearch") is None


@pytest.mark.case("MOD-01", "MOD-21")
async def test_a_model_is_tried_and_added_and_its_key_kept_as_a_secret(
    server: Server, page: Page, endpoint: Endpoint
) -> None:
    await open_models(page)
    await page.get_by_role("button", name="Add Model").click()
    form = page.get_by_role("dialog", name="Add a model")
    await form.get_by_role("textbox", name="Name").fill("Brand new")
    await choose(form, "Provider", "Another, OpenAI compatible")
    await form.get_by_label("Base URL").fill(f"{endpoint.url}/v1")
    await field(form, "Model").fill("text-3")
    await form.get_by_label("Key", exact=True).fill("sk-typed-by-hand")
    await form.get_by_role("button", name="Test").click()
    await expect(form.get_by_role("status")).to_contain_text("Answered in")
    assert endpoint.requests[-1].headers["authorization"] == "Bearer sk-typed-by-hand"
    await form.get_by_role("button", name="Add", exact=True).click()
    await expect(form).to_have_count(0)
    await expect(card(page, "Brand new")).to_contain_text("Key stored as a secret")
    await expect(page.get_by_role("button", name="Add Model")).to_be_focused()
    assert server.read("models.json")["models"]["brand-new"]["apiKeySource"].startswith("secret:")
    assert "sk-typed-by-hand" not in (server.home / "models.json").read_text()
    assert "sk-typed-by-hand" not in await page.content()


@pytest.mark.case("MOD-01", "MOD-04")
async def test_the_first_model_that_is_added_answers_at_once_in_the_chat(
    home: Path, browser_context: BrowserContext, endpoint: Endpoint
) -> None:
    page = await browser_context.new_page()
    with Server(home) as fresh:
        await fresh.open(page)
        main = page.get_by_role("main")
        await expect(main).to_contain_text("far too small for real questions")
        await main.get_by_role("link", name="Add a model").click()
        form = page.get_by_role("dialog", name="Add a model")
        await form.get_by_role("textbox", name="Name").fill("My first")
        await choose(form, "Provider", "Another, OpenAI compatible")
        await form.get_by_label("Base URL").fill(f"{endpoint.url}/v1")
        await field(form, "Model").fill("text-3")
        await form.get_by_label("Key", exact=True).fill("sk-typed-by-hand")
        await form.get_by_role("button", name="Add", exact=True).click()
        await expect(page).to_have_url(f"{fresh.url}/")
        await expect(page.get_by_role("textbox", name="Message")).to_be_focused()
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await expect(main).to_contain_text("My first answers here.")
        await expect(main).not_to_contain_text("too small")
        assert fresh.read("models.json")["defaultModelId"] == "my-first"
        # The built-in one is not scolded either, once there is another.
        await page.get_by_role("button", name="Model: My first").click()
        await page.get_by_role("menuitemradio", name="SmolLM2").click()
        await expect(main).to_contain_text("SmolLM2 135M (built in) answers here.")
        await expect(main).not_to_contain_text("too small")
        await page.close()


async def test_a_form_with_mistakes_has_the_cursor_at_the_first_and_keeps_nobody_out(page: Page) -> None:
    await go(page, "/settings/models?add=1")
    form = page.get_by_role("dialog", name="Add a model")
    await form.get_by_label("Base URL").fill("no address")
    await form.get_by_role("button", name="Add", exact=True).click()
    await expect(form.get_by_role("textbox", name="Name")).to_be_focused()
    assert await serious_problems(page) == []


@pytest.mark.case("MOD-02")
async def test_what_the_server_refuses_is_told_in_the_form_and_nothing_typed_is_lost(
    server: Server, page: Page, console: Console
) -> None:
    console.expect("404")
    await open_models(page)
    await page.get_by_role("button", name="Edit Refused").click()
    form = page.get_by_role("dialog", name="Edit Refused")
    await form.get_by_role("textbox", name="Name").fill("Typed with care")
    content = server.read("models.json")
    del content["models"]["refused"]
    (server.home / "models.json").write_text(json.dumps(content))
    await form.get_by_role("button", name="Save").click()
    await expect(form.get_by_role("alert")).to_contain_text("There is no model “refused”.")
    await expect(form.get_by_role("textbox", name="Name")).to_have_value("Typed with care")


@pytest.mark.case("MOD-02")
async def test_a_model_is_edited_and_its_card_follows(server: Server, page: Page) -> None:
    await open_models(page)
    await page.get_by_role("button", name="Edit Fast one").click()
    form = page.get_by_role("dialog", name="Edit Fast one")
    await form.get_by_role("textbox", name="Name").fill("Faster one")
    await form.get_by_label("Context window").fill("64000")
    await form.get_by_role("checkbox", name="Supports thinking").check()
    await form.get_by_role("button", name="Save").click()
    await expect(card(page, "Faster one")).to_contain_text("64K context • Thinking ✓")
    saved = server.read("models.json")["models"]["fast"]
    assert (saved["name"], saved["contextWindow"], saved["supportsThinking"]) == ("Faster one", 64000, True)


@pytest.mark.case("MOD-03")
async def test_deleting_a_model_asks_once_and_can_be_left(server: Server, page: Page) -> None:
    await open_models(page)
    delete = page.get_by_role("button", name="Delete Refused")
    await delete.click()
    await page.get_by_role("dialog").get_by_role("button", name="Keep").click()
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await expect(card(page, "Refused")).to_be_visible()
    await expect(delete).to_be_focused()
    await delete.click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(card(page, "Refused")).to_have_count(0)
    await expect(page.get_by_role("button", name="Add Model")).to_be_focused()
    assert "refused" not in server.read("models.json")["models"]


@pytest.mark.case("MOD-04", "MOD-05", "MOD-16")
async def test_another_default_is_one_click_and_the_app_bar_shows_it(server: Server, page: Page) -> None:
    await open_models(page)
    await expect(page.get_by_role("button", name="Model: Fast one")).to_be_visible()
    await page.get_by_role("button", name="Set as Default: Deep thinker").click()
    await expect(card(page, "Deep thinker").get_by_text("Default", exact=True)).to_be_visible()
    await expect(page.get_by_role("button", name="Model: Deep thinker")).to_be_visible()
    await expect(page.get_by_role("button", name="Delete Fast one", exact=True)).to_be_enabled()
    assert server.read("models.json")["defaultModelId"] == "deep"
    await page.reload()
    await expect(page.get_by_role("button", name="Model: Deep thinker")).to_be_visible()


async def test_a_test_tells_the_latency_or_what_the_provider_said(server: Server, page: Page) -> None:
    await open_models(page)
    await page.get_by_role("button", name="Test Fast one").click()
    await expect(card(page, "Fast one").get_by_role("status")).to_contain_text("Answered in")
    await page.get_by_role("button", name="Test Refused").click()
    await expect(card(page, "Refused").get_by_role("status")).to_contain_text("as the script says")


@pytest.mark.case("MOD-27")
async def test_refreshing_asks_the_providers_and_their_names_are_suggested(server: Server, page: Page) -> None:
    await open_models(page)
    await page.get_by_role("button", name="Refresh Models").click()
    await expect(page.get_by_text("2 models offered by 1 provider.")).to_be_visible()
    assert {each["model"] for each in server.read("cache/models.json")["entries"]} == {"text-100", "tools"}
    await page.get_by_role("button", name="Edit Fast one").click()
    form = page.get_by_role("dialog")
    await expect(form.locator(":focus")).to_have_count(1)  # a list that opens before would close again
    await field(form, "Model").fill("text-1")
    await page.get_by_role("option", name="text-100").click()
    await expect(field(form, "Model")).to_have_value("text-100")


@pytest.mark.case("F-55")
async def test_edits_of_the_file_show_without_a_reload_and_a_broken_one_with_its_line(
    server: Server, page: Page, endpoint: Endpoint
) -> None:
    await open_models(page)
    path = server.home / "models.json"
    before = json.loads(path.read_text())
    path.write_text('{\n "defaultModelId": "fast",\n "models": {,\n}')
    banner = page.get_by_role("alert").filter(has_text="The models file cannot be read")
    await expect(banner).to_contain_text("line 3")
    await expect(card(page, "Fast one")).to_be_visible()
    before["models"]["written"] = entry(endpoint.url, name="Written by hand", apiKeySource="sk-plain-text")
    path.write_text(json.dumps(before))
    await expect(card(page, "Written by hand")).to_contain_text("Key written in models.json (not recommended)")
    await expect(banner).to_have_count(0)
    assert "sk-plain-text" not in await page.content()


@pytest.mark.case("SECRET-05")
async def test_a_key_that_belongs_elsewhere_waits_for_a_click(
    start: Start, browser_context: BrowserContext, endpoint: Endpoint
) -> None:
    moved = entry(
        endpoint.url, name="Elsewhere", baseUrl="https://gateway.example/v1", apiKeySource="env:OPENAI_API_KEY"
    )
    unset = entry(endpoint.url, name="Unset", apiKeySource="env:NOBODY_SET_THIS")
    server = start({"moved": moved, "unset": unset}, OPENAI_API_KEY="sk-from-the-environment")
    page = await browser_context.new_page()
    await server.open(page, "/settings/models")
    elsewhere = card(page, "Elsewhere")
    await expect(elsewhere).to_contain_text("has not been confirmed for https://gateway.example")
    await elsewhere.get_by_role("button", name="Use it here").click()
    await expect(elsewhere).not_to_contain_text("confirmed")
    await expect(elsewhere.get_by_role("button", name="Use it here")).to_have_count(0)
    await expect(elsewhere).to_contain_text("Key from the environment variable OPENAI_API_KEY")
    await expect(card(page, "Unset")).to_contain_text("The environment variable NOBODY_SET_THIS is not set.")
    assert "sk-from-the-environment" not in await page.content()


@pytest.mark.case("MOD-01")
async def test_what_was_found_is_added_with_one_click(
    start: Start, browser_context: BrowserContext, endpoint: Endpoint
) -> None:
    server = start({"fast": entry(endpoint.url)}, ANTHROPIC_API_KEY="sk-found")
    page = await browser_context.new_page()
    await server.open(page, "/settings/models")
    await page.get_by_role("button", name="Add Anthropic: key found in ANTHROPIC_API_KEY").click()
    added = page.get_by_role("listitem").filter(has_text="api.anthropic.com •")
    await expect(added).to_contain_text("Key from the environment variable ANTHROPIC_API_KEY")
    await expect(page.get_by_text("key found in ANTHROPIC_API_KEY")).to_have_count(0)


@pytest.mark.case("MOD-26")
async def test_profiles_are_added_made_active_edited_and_deleted(server: Server, page: Page) -> None:
    await go(page, "/settings/mcp")
    await page.get_by_role("button", name="Add a profile").click()
    form = page.get_by_role("dialog", name="Add a profile")
    await form.get_by_role("button", name="Add", exact=True).click()
    await expect(form.get_by_text("Give the profile a name.")).to_be_visible()
    await form.get_by_role("textbox", name="Name").fill("Careful")
    await choose(form, "Model", "Deep thinker")
    await form.get_by_label("System prompt").fill("Check twice.")
    await form.get_by_label("Temperature").fill("0.2")
    await form.get_by_label("Max tokens").fill("900")
    await choose(form, "Thinking", "On")
    await form.get_by_role("button", name="Add", exact=True).click()
    row = page.get_by_role("option", name="Careful")
    await expect(row).to_have_attribute("aria-selected", "true")
    await page.get_by_role("button", name="Make active").click()
    await expect(row).to_contain_text("active")
    assert await serious_problems(page) == []
    config = server.read("config.json")
    settings = config["profiles"][0]["settings"]
    assert config["active_profile"] == "careful"
    assert (settings["modelId"], settings["systemPrompt"], settings["temperature"]) == ("deep", "Check twice.", 0.2)
    assert (settings["maxTokens"], settings["thinking"]) == (900, True)
    await page.get_by_role("listbox", name="Profiles").press("Enter")
    await expect(page.get_by_role("dialog")).to_be_visible()
    await page.get_by_role("dialog").get_by_role("textbox", name="Name").fill("Very careful")
    await page.get_by_role("dialog").get_by_role("button", name="Save").click()
    await expect(page.get_by_role("option", name="Very careful")).to_be_visible()
    await page.get_by_role("button", name="Delete the profile").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(page.get_by_text("No profiles yet.")).to_be_visible()
    after = server.read("config.json")
    assert (after["profiles"], after["active_profile"]) == ([], None)


async def test_a_conversation_begins_with_the_active_profile_and_what_was_chosen_besides(
    tmp_path: Path, browser_context: BrowserContext
) -> None:
    settings = {"modelId": "other", "systemPrompt": "Be brief.", "mode": "read_only"}
    profile = {"id": "p", "name": "Careful", "settings": settings}
    other = {"name": "Other", "provider": "scripted", "model": str(tmp_path / "script.json")}
    studio = Studio(tmp_path / "home", {"profiles": [profile], "active_profile": "p"}, {"other": other})
    try:
        chat = await studio.open(browser_context)
        mode = chat.page.get_by_role("button", name="Mode: ")
        await expect(chat.page.get_by_role("button", name="Model: Other")).to_be_visible()
        await expect(mode).to_have_text("Read-only")
        await chat.ask("As the profile says")
        assert _kept(studio, chat) == ("other", "Be brief.", "read_only")
        await chat.go("/")
        await mode.click()
        await chat.page.get_by_role("menuitemradio", name="Auto-edit").click()
        await chat.ask("As I say")
        assert _kept(studio, chat) == ("other", "Be brief.", "auto_edit")
        await chat.page.close()
    finally:
        studio.server.close()


def _kept(studio: Studio, chat: Chat) -> tuple[str, str, str]:
    """Return what was kept of the open conversation's settings."""
    kept = studio.server.get(f"/api/conversations/{chat.conversation}")["conversation"]["settings"]
    return kept["modelId"], kept["systemPrompt"], kept["mode"]


async def test_general_settings_are_kept_and_signing_out_ends_the_session(
    server: Server, browser_context: BrowserContext, console: Console
) -> None:
    console.expect("401")
    page = await browser_context.new_page()
    await server.open(page, "/settings/general")
    await expect(page.get_by_text(str(server.home))).to_be_visible()
    await expect(page.get_by_text("SQLite, in the data folder")).to_be_visible()
    await page.get_by_role("radio", name="Wait until you say so").check()
    until(lambda: server.read("config.json")["resume_after_restart"] == "ask", "the choice to be kept")
    await page.get_by_text("Dark", exact=True).click()
    await expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_role("heading", name="Open the link from the terminal")).to_be_visible()
    await page.reload()
    await expect(page.get_by_role("heading", name="Open the link from the terminal")).to_be_visible()


@pytest.mark.case("TMO-01", "CON-31")
async def test_times_of_built_in_tools_and_the_room_for_servers_are_set(server: Server, page: Page) -> None:
    await go(page, "/settings/general")
    seconds = page.get_by_label("Seconds that a call may take")
    await seconds.fill("90")
    await seconds.press("Enter")
    until(lambda: server.read("config.json").get("tool_timeouts", {}).get("default") == 90, "the time to be kept")
    await page.get_by_label("Hold them to the model").set_checked(False, force=True)
    until(lambda: server.read("config.json")["tool_timeouts"].get("align_with_model") is False, "the switch to be kept")
    await page.get_by_role("tab", name="MCP").click()
    room = page.get_by_label("Local servers that run at once")
    await room.fill("3")
    await room.press("Enter")
    until(lambda: server.read("config.json").get("local_servers") == 3, "the number to be kept")
    await room.fill("")
    await room.press("Enter")
    until(lambda: server.read("config.json")["local_servers"] is None, "the number to be left open")
    await expect(room).to_have_attribute("placeholder", re.compile(r"\d+"))


async def test_every_tab_fits_a_phone_and_keeps_nobody_out(server: Server, page: Page) -> None:
    await page.set_viewport_size({"width": 360, "height": 740})
    await go(page, "/settings/general")
    for name in TABS:
        await page.get_by_role("tab", name=name).click()
        await expect(page).to_have_url(f"{server.url}/settings/{name.lower()}")
        await drawn(page)
        await fits(page)
        await in_both_colours(page)
    await page.get_by_role("tab", name="Models").click()
    await page.get_by_role("button", name="Edit Deep thinker").click()
    await expect(page.get_by_role("dialog")).to_be_visible()
    await in_both_colours(page)
