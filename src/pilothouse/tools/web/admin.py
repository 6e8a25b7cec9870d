"""What people ask about the services that search and make pictures; implements the verbs of `web`."""

from __future__ import annotations

from pilothouse.tools.images import making
from pilothouse.tools.web.chosen import ChosenService, ServiceTrouble
from pilothouse.tools.web.parts import WebParts
from pilothouse.tools.web.searching import search
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host_web import Web
from pilothouse.types.web import WebKey, WebTest, WebView


class WebAdmin(Web):
    """Shows the services, keeps their keys, tries them."""

    def __init__(self, parts: WebParts) -> None:
        self._services = {service.use: service for service in (parts.search, parts.pictures)}

    async def list(self, owner: str) -> WebView:
        return WebView(tuple(service.view() for service in self._services.values()))

    async def set_key(self, owner: str, use: str, body: WebKey) -> WebView:
        await self._of(use).set_key(body.value)
        return await self.list(owner)

    async def test(self, owner: str, use: str) -> WebTest:
        service = self._of(use)
        if (row := service.row) is None or not service.address:
            return WebTest(ok=False, message=service.problem)
        try:
            if service.use == "pictures":
                return WebTest(ok=True, message=await making.test(service))
            hits = await search(service, "weather", 1)
        except ServiceTrouble as trouble:
            return WebTest(ok=False, message=trouble.sentence)
        found = "and found something" if hits else "but found nothing for “weather”"
        return WebTest(ok=True, message=f"{row.name} at {service.host} answered {found}.")

    def _of(self, use: str) -> ChosenService:
        for name, service in self._services.items():
            if name == use:
                return service
        raise PilothouseError("not_found", f"There is no service for “{use}”.", fix="It is search or pictures.")
