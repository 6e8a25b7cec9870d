"""A real Chromium for every test in this folder; anything red in its console fails the test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from tests.browser.approving import Reviewer, open_reviewer
from tests.browser.branching import another_model
from tests.browser.rooms import ECHO, FAIL, Rooms, write_tools
from tests.browser.studio import Chat, Studio
from tests.support import chromium as finder
from tests.support import leaks
from tests.support.console import Console

# How long an expectation about the page may take to come true, on a machine that has much else to do.
PATIENCE_MS = 20_000
VIEWPORT = {"width": 1280, "height": 800}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run this folder's tests on one loop: the browser lives on it."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(loop_scope="session")
async def no_task_left() -> AsyncIterator[None]:
    """Fail a test that leaves tasks running on the browser's loop."""
    before = leaks.tasks()
    yield
    left = await leaks.tasks_left(before)
    assert not left, f"the test left tasks running: {left}"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def chromium() -> AsyncIterator[Browser]:
    """One browser for the whole run."""
    try:
        program = finder.find()
    except finder.ChromiumUnavailable as error:
        pytest.fail(str(error), pytrace=False)
    expect.set_options(timeout=PATIENCE_MS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=list(finder.ARGUMENTS))
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def console() -> AsyncIterator[Console]:
    """The complaints of every page of the test; any that is left fails it."""
    heard = Console()
    yield heard
    assert not heard.unexpected, "\n".join(heard.unexpected)


@pytest_asyncio.fixture(loop_scope="session")
async def browser_context(chromium: Browser, console: Console) -> AsyncIterator[BrowserContext]:
    """A browser profile of its own; every page opened in it is watched."""
    context = await chromium.new_context(viewport=VIEWPORT, reduced_motion="reduce")  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE_MS)
    context.on("page", console.watch)
    yield context
    await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser_context: BrowserContext) -> Page:
    """A blank tab."""
    return await browser_context.new_page()


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One server for all tests that leave it alone; each has a conversation of its own."""
    made = Studio(tmp_path_factory.mktemp("studio") / "home")
    yield made
    made.server.close()


@pytest_asyncio.fixture(loop_scope="session")
async def chat(studio: Studio, browser_context: BrowserContext) -> Chat:
    """A tab of that server, signed in, at the start page."""
    return await studio.open(browser_context)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Studio]:
    """A server of this test's own; it outlives the tabs."""
    made = Studio(tmp_path / "home")
    yield made
    made.server.close()


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """The tools that a scripted server offers."""
    return write_tools(tmp_path / "tools.json", ECHO, FAIL)


@pytest_asyncio.fixture(loop_scope="session")
async def rooms(own: Studio, browser_context: BrowserContext) -> Rooms:
    """A tab in the settings of the servers."""
    chat = await own.open(browser_context, "/settings/mcp")
    made = Rooms(chat.page, own)
    await made.toolbar.wait_for()
    return made


@pytest.fixture
def ship(tmp_path: Path) -> Path:
    """A working directory with something in it."""
    folder = tmp_path / "ship"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "tides.py").write_text("def high_water(day):\n    return table[day]\n", encoding="utf-8")
    return folder


@pytest_asyncio.fixture(loop_scope="session")
async def reviewer(served: Studio, browser_context: BrowserContext, ship: Path) -> Reviewer:
    """A tab of a module's own server, in a new conversation that works in that folder."""
    return await open_reviewer(served, browser_context, "The ship", workingDirectory=str(ship), mode="ask")


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Studio]:
    """A server of this test's own, with two models."""
    made = Studio(tmp_path / "home", models=another_model(tmp_path))
    yield made
    made.server.close()


@pytest_asyncio.fixture(loop_scope="session")
async def talk(two: Studio, browser_context: BrowserContext) -> Chat:
    """A conversation of two messages; the model counts what it has answered on each path."""
    two.script("One.", "Two.", "Three.", "Four.")
    chat = await two.open(browser_context)
    await chat.ask("First question")
    await chat.ask("Second question")
    return chat
