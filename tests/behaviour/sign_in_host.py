"""Signing in as the whole product does it: the real host, its settings and secrets, and an issuer on this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from pilothouse.net.client import fetch
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.servers import ServerInput, ServerView, ToolTrial, ToolTry
from pilothouse.types.sign_ins import SignInAnswer, SignInStart, SignInStarted
from pilothouse.wiring import OpenHost, open_host
from tests.support.fake_issuer import Issuer, OneTool
from tests.support.sign_ins import PATIENCE, open_sign_in
from tests.support.waiting import eventually

BACK = "http://127.0.0.1:41999/oauth/callback"
NOT_OURS = "This sign-in is not one that waits here"


async def follow_sign_in(url: str) -> str:
    """Go where a person is sent, who agrees at once; return the address that their browser is sent back to."""
    return (await fetch(url, timeout=PATIENCE, limit=65536)).headers["location"]


def with_query(address: str, **parameters: str | None) -> str:
    """Return an address with other parameters; None takes one out."""
    parts = urlsplit(address)
    query = {**dict(parse_qsl(parts.query)), **parameters}
    return parts._replace(query=urlencode({name: one for name, one in query.items() if one is not None})).geturl()


class SignInHost:
    """A host with the server One, and what a person does with it."""

    def __init__(self, host: OpenHost, server: OneTool) -> None:
        self.host = host
        self.api = host.api
        self.server = server
        self.issuer: Issuer = server.issuer

    async def begin(self, name: str = "One", **client: str) -> SignInStarted:
        return await self.api.servers.begin_sign_in(ME, name, SignInStart(redirect_uri=BACK, **client))

    async def finish(self, address: str) -> ServerView:
        return await self.api.servers.finish_sign_in(ME, SignInAnswer(address=address))

    async def sign_in(self, name: str = "One", **client: str) -> ServerView:
        """Sign in as a person does."""
        return await self.finish(await follow_sign_in((await self.begin(name, **client)).url))

    async def view(self, name: str = "One") -> ServerView:
        return next(one for one in (await self.api.servers.list(ME)).servers if one.name == name)

    async def until(self, state: str, name: str = "One") -> ServerView:
        async def there() -> ServerView | None:
            found = await self.view(name)
            return found if found.state == state else None

        return await eventually(there, f"{name} to be {state}")

    async def call(self, name: str = "One", tool: str = "look") -> ToolTrial:
        """Call a tool by hand."""
        await self.until("connected", name)
        return await self.api.servers.try_tool(ME, ToolTry(server_id=name, tool=tool))

    async def works(self, name: str = "One") -> None:
        """See that the server is signed in to and of use."""
        assert (await self.call(name)).text == "seen"


def client(made: SignInHost) -> str:
    """Return who came to sign in last."""
    return made.issuer.requests_to("/authorize")[-1].query["client_id"]


async def refusal_of(work: Awaitable[object]) -> PilothouseError:
    """Return why something is refused: one sentence, without anything that came with an answer."""
    with pytest.raises(PilothouseError) as caught:
        await work
    message = caught.value.message
    assert message.endswith(".")
    assert "\n" not in message
    assert ". " not in message.replace("Authorization failed. Please", "")
    for secret in ("code-", "access-", "refresh-", "Traceback"):
        assert secret not in f"{message} {caught.value.fix}"
    return caught.value


@asynccontextmanager
async def open_sign_in_host(
    home: Path, *, signed_in: bool = False, arrange: Callable[[SignInHost], None] = lambda made: None
) -> AsyncIterator[SignInHost]:
    """A host with a server that wants a sign-in, arranged before anyone asks it."""
    async with open_sign_in(OneTool) as setting, open_host(home) as host:
        assert isinstance(setting.resource, OneTool)
        made = SignInHost(host, setting.resource)
        arrange(made)
        await host.api.servers.add(ME, ServerInput(name="One", command_line=setting.resource.mcp))
        if signed_in:
            await made.sign_in()
        yield made
