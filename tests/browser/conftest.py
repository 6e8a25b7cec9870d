"""A real Chromium for every test in this folder; anything red in its console fails the test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from tests.browser.approving import Reviewer, open_reviewer
from tests.browser.branching import another_model, told
from tests.browser.comparing import Models
from tests.browser.console import Console
from tests.browser.filling import filling_with_focus
from tests.browser.finding import Places, product
from tests.browser.kept import IN_THE_ENVIRONMENT, KeptTab, keeping, remove_servers
from tests.browser.profile import Profile
from tests.browser.registries import registries_beside
from tests.browser.rooms import ECHO, FAIL, Rooms, write_tools
from tests.browser.studio import Chat, Studio
from tests.support import chromium as finder
from tests.support import leaks
from tests.support.ports import kept_port

# How long an expectation about the page may take to come true, on a machine that has much else to do.
PATIENCE_MS = 20_000
# The pages of a profile are drawn by one process, which has compiled them before.
ONE_PROCESS = "--process-per-site"
SETTINGS: Mapping[str, Any] = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"}


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
        browser = await playwright.chromium.launch(executable_path=program, args=[*finder.ARGUMENTS, ONE_PROCESS])
        with filling_with_focus():
            yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def console() -> AsyncIterator[Console]:
    """The complaints of every page of the test; any that is left fails it."""
    heard = Console()
    yield heard
    assert not heard.unexpected, "\n".join(heard.unexpected)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_profile(chromium: Browser) -> AsyncIterator[Profile]:
    """The browser profile of all tests that leave nothing in it which cannot be put back."""
    made = Profile(chromium, SETTINGS)
    yield made
    await made.close()


@pytest_asyncio.fixture(loop_scope="session")
async def browser_context(
    chromium: Browser, console: Console, shared_profile: Profile, request: pytest.FixtureRequest
) -> AsyncIterator[BrowserContext]:
    """A browser profile with nothing in it; every page opened in it is watched.

    A clock or a socket of the test's own cannot be taken out again: `own_profile` marks who needs a profile for that.
    """
    is_own = request.node.get_closest_marker("own_profile") is not None
    context = await chromium.new_context(**SETTINGS) if is_own else await shared_profile.take()
    context.set_default_timeout(PATIENCE_MS)
    context.on("page", console.watch)
    yield context
    context.remove_listener("page", console.watch)
    await (context.close() if is_own else shared_profile.put_back())


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser_context: BrowserContext) -> Page:
    """A blank tab."""
    return await browser_context.new_page()


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One server for all tests that leave it alone; each has a conversation of its own."""
    with Studio(tmp_path_factory.mktemp("studio") / "home") as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def chat(studio: Studio, browser_context: BrowserContext) -> Chat:
    """A tab of that server, signed in, at the start page."""
    return await studio.open(browser_context)


@pytest.fixture(scope="session")
def own_port() -> int:
    """Where the tests' own servers listen, one after the other: what the browser compiled is kept by its address."""
    return kept_port()


@pytest.fixture
def own(tmp_path: Path, own_port: int) -> Iterator[Studio]:
    """A server of this test's own; it outlives the tabs."""
    with Studio(tmp_path / "home", port=own_port) as made:
        yield made


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """The tools that a scripted server offers."""
    return write_tools(tmp_path / "tools.json", ECHO, FAIL)


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Studio]:
    """A server of this test's own, which may be taken down."""
    with Studio(tmp_path / "home") as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def watching(mortal: Studio, browser_context: BrowserContext, console: Console) -> AsyncIterator[Chat]:
    """A tab of that server that may lose it."""
    for complaint in ("WebSocket connection to", "net::ERR_", "Failed to load resource"):
        console.expect(complaint)
    chat = await mortal.open(browser_context)
    yield chat
    await chat.page.close()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One server for all tests that add MCP servers and remove them again."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in IN_THE_ENVIRONMENT.items():
            patch.setenv(name, value)
        made = Studio(tmp_path_factory.mktemp("shared") / "home")
    with made:
        yield made


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def kept_tab(chromium: Browser) -> AsyncIterator[KeptTab]:
    """One tab of that server for all of them."""
    async with keeping(chromium) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def profile(kept_tab: KeptTab, console: Console, request: pytest.FixtureRequest) -> AsyncIterator[BrowserContext]:
    """The browser profile of that tab."""
    async with kept_tab.lent(console, request.session) as context:
        yield context


@pytest_asyncio.fixture(loop_scope="session")
async def bare(shared: Studio) -> AsyncIterator[Studio]:
    """That server; the MCP servers that a test adds to it are removed."""
    yield shared
    await remove_servers(shared)


@pytest_asyncio.fixture(loop_scope="session")
async def rooms(bare: Studio, kept_tab: KeptTab, profile: BrowserContext) -> Rooms:
    """The tab in the settings of the MCP servers, of which there are none yet."""
    return await kept_tab.rooms(bare)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    """One server for a file, and the places where it finds MCP servers."""
    with (
        pytest.MonkeyPatch.context() as patch,
        registries_beside(patch),
        product(tmp_path_factory.mktemp("places"), patch) as made,
    ):
        yield made


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


@pytest.fixture(scope="session")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One server with two models, for all tests that leave both; each has a conversation of its own."""
    folder = tmp_path_factory.mktemp("two")
    with Studio(folder / "home", models=another_model(folder)) as made:
        yield made


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Models]:
    """One server with three more models, for all tests that compare them; each has a conversation of its own."""
    made = Models(tmp_path_factory.mktemp("models") / "home")
    with made.studio:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def talk(two: Studio, browser_context: BrowserContext) -> Chat:
    """A tab with a conversation of two messages; the model counts what it has answered on each path."""
    return await two.open(browser_context, f"/c/{told(two)}")
