"""The page over TLS, from a server with a certificate of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, expect

from tests.browser.console import Console
from tests.browser.studio import Chat, Studio
from tests.support.certificates import SelfSigned

BACK_MS = 20_000


@pytest_asyncio.fixture(loop_scope="session")
async def secure(tmp_path: Path) -> AsyncIterator[Studio]:
    """A server that speaks TLS."""
    with Studio(tmp_path / "home", certificate=SelfSigned(tmp_path).path) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def trusting(chromium: Browser, console: Console) -> AsyncIterator[BrowserContext]:
    """A browser whose person has accepted the certificate."""
    context = await chromium.new_context(ignore_https_errors=True)
    context.on("page", console.watch)
    yield context
    await context.close()


@pytest.mark.case("WEB-15", "F-39")
async def test_a_page_over_tls_works_over_a_secure_socket_and_stays_signed_in_over_a_restart(
    secure: Studio, trusting: BrowserContext, console: Console
) -> None:
    for complaint in ("WebSocket connection to", "net::ERR_", "Failed to load resource"):
        console.expect(complaint)
    sockets: list[str] = []
    trusting.on("page", lambda page: page.on("websocket", lambda socket: sockets.append(socket.url)))
    chat = await secure.open(trusting)
    await chat.ask("Over TLS")
    await expect(chat.answers.last).to_contain_text("Hello from the script.")
    await expect(chat.page.get_by_text("plain HTTP")).to_have_count(0)
    assert {socket.partition(":")[0] for socket in sockets} == {"wss"}
    [session] = [cookie for cookie in await trusting.cookies() if str(cookie.get("name")).startswith("__Host-")]
    assert (session.get("secure"), session.get("httpOnly"), session.get("sameSite")) == (True, True, "Strict")
    secure.restart()
    await expect(chat.connection).to_have_text("connected", timeout=BACK_MS)
    await chat.ask("And again")
    another: Chat = await secure.open(trusting)
    await another.ask("In another tab")
