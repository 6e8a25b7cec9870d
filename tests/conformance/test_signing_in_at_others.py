"""Authorization servers that nobody here wrote: signed in at, used, renewed and left, through the whole product."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pilothouse.net.client import fetch
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.servers import ServerInput, ToolTry
from pilothouse.types.sign_ins import SignInAnswer, SignInStart
from pilothouse.wiring import OpenHost, open_host
from tests.conformance.form_browser import Follower
from tests.conformance.programs import start_sign_in_server
from tests.support.fake_issuer import Issuer
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow

BACK = "http://127.0.0.1:41999/oauth/callback"


class Person:
    """Someone with a host, who signs in to its one server and uses it."""

    def __init__(self, host: OpenHost, origin: str) -> None:
        self.api = host.api
        self.origin = origin
        self.browser = Follower(BACK)

    async def add(self) -> None:
        await self.api.servers.add(ME, ServerInput(name="One", command_line=f"{self.origin}/mcp"))
        await self.until("needs_sign_in")

    async def until(self, state: str) -> None:
        async def there() -> bool:
            return (await self.api.servers.list(ME)).servers[0].state == state

        await eventually(there, f"the server to be {state}")

    async def sign_in(self) -> None:
        begun = await self.api.servers.begin_sign_in(ME, "One", SignInStart(redirect_uri=BACK))
        assert begun.scopes == ("read",)
        back = await self.browser.follow(begun.url)
        view = await self.api.servers.finish_sign_in(ME, SignInAnswer(address=back))
        assert view.signed_in is not None
        assert view.signed_in.scopes == ("read",)
        await self.until("connected")
        assert [tool.name for tool in (await self.api.servers.tools(ME, "One")).tools] == ["which"]

    async def call(self) -> str:
        """Return by which token a call came."""
        trial = await self.api.servers.try_tool(ME, ToolTry(server_id="One", tool="which"))
        assert trial.ok, trial.text
        return trial.text

    async def renewed(self) -> None:
        """Call until the token is another one; no call fails meanwhile."""
        first = await self.call()
        assert first

        async def another() -> bool:
            return await self.call() != first

        await eventually(another, "the token to be renewed")

    async def kept(self) -> int:
        """Return how many sign-ins the authorization server would still renew."""
        return int((await fetch(f"{self.origin}/kept", timeout=10, limit=100)).body)

    async def sign_out(self) -> None:
        view = await self.api.servers.sign_out(ME, "One")
        assert view.signed_in is None
        tried = await self.api.servers.test(ME, "One")
        assert (tried.ok, tried.needs_sign_in) == (False, True)
        assert tried.message.endswith(" asks you to sign in.")


@asynccontextmanager
async def person(home: Path, origin: str) -> AsyncIterator[Person]:
    async with open_host(home) as host:
        yield Person(host, origin)


@pytest.mark.case("AUT-16", "AUT-23", "OAUTH-13")
@pytest.mark.parametrize("kind", ["sdk", "fastmcp"])
async def test_a_server_of_anothers_oauth_is_signed_in_to_used_renewed_and_left(home: Path, kind: str) -> None:
    with start_sign_in_server("sdk" if kind == "sdk" else "fastmcp") as origin:
        async with person(home, origin) as ada:
            await ada.add()
            await ada.sign_in()
            assert len(ada.browser.agreed_at) == (1 if kind == "sdk" else 0)
            await ada.renewed()
        # After a restart nobody needs to sign in.
        async with person(home, origin) as ada:
            assert await ada.call()
            assert await ada.kept() == 1
            await ada.sign_out()
            assert await ada.kept() == 0
            await ada.sign_in()
            assert await ada.call()


@pytest.mark.case("AUT-16")
async def test_a_proxy_of_fastmcp_with_a_consent_page_of_its_own_leads_through_to_the_issuer_behind(home: Path) -> None:
    upstream = Issuer()
    async with upstream:
        upstream.gives_refresh = True
        with start_sign_in_server("fastmcp", upstream.url) as origin:
            async with person(home, origin) as ada:
                await ada.add()
                await ada.sign_in()
                assert [url.partition("?")[0] for url in ada.browser.agreed_at] == [f"{origin}/consent"]
                assert upstream.requests_to("/authorize")
                await ada.renewed()
                await ada.sign_out()
