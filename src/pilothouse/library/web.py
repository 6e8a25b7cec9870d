"""The services that search the web and make pictures, for programs."""

from __future__ import annotations

from collections.abc import Sequence

from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.web import WebKey, WebServiceView, WebTest, WebUse


class Web:
    """Who searches and who makes pictures; which service is chosen, the settings say."""

    def __init__(self, api: ClientApi) -> None:
        self._api = api

    async def services(self) -> Sequence[WebServiceView]:
        """Return both, and whether the agent has them."""
        return (await self._api.web.list(LOCAL_OWNER)).services

    async def set_key(self, use: WebUse, key: str | None) -> None:
        """Keep a key for the service that is chosen, or take it away."""
        await self._api.web.set_key(LOCAL_OWNER, use, WebKey(value=key))

    async def test(self, use: WebUse) -> WebTest:
        """Ask a service something: one search, or for its models; no picture is made."""
        return await self._api.web.test(LOCAL_OWNER, use)
