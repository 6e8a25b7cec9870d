"""The verbs about searching the web and making pictures: a part of `types/host`."""

from __future__ import annotations

from pilothouse.types import limits
from pilothouse.types.verbs import Options, Service, verb
from pilothouse.types.web import WebKey, WebTest, WebView


class Web(Service):
    """Services that search the web and make pictures; which of them are used, the settings say."""

    @verb("list_web_services", "GET", "/api/web")
    async def list(self, owner: str) -> WebView:
        """The services that search the web and make pictures."""

    @verb("set_web_key", "PUT", "/api/web/{id}/key")
    async def set_key(self, owner: str, use: str, body: WebKey) -> WebView:
        """Keep a key for the service that is chosen, or take it away."""

    @verb("test_web_service", "POST", "/api/web/{id}/test", Options(longer=limits.WEB_SEARCH_TIME))
    async def test(self, owner: str, use: str) -> WebTest:
        """Ask a service something: one search, or for its models; no picture is made."""
