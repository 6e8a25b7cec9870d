"""The web as a host has it: pages, and the services that the person chose; loaded when someone needs it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from pilothouse.helper.client import Helper
from pilothouse.types.lazy import Lazy
from pilothouse.wiring.foundation import Foundation

if TYPE_CHECKING:
    from pilothouse.tools.web.admin import WebAdmin
    from pilothouse.tools.web.parts import WebParts


class WebServices:
    """Pages, searching and pictures."""

    def __init__(self, stack: AsyncExitStack, base: Foundation) -> None:
        self._base = base
        # Pages have a process for themselves: one that takes long to read holds up nobody's files.
        self._helper = Helper()
        stack.callback(self._helper.close)
        self.parts = Lazy(self._make_parts)
        self.admin = Lazy(self._make_admin)

    def _make_parts(self) -> WebParts:
        from pilothouse.tools.web.chosen import Choice, ChosenService
        from pilothouse.tools.web.pages import Pages
        from pilothouse.tools.web.parts import WebParts
        from pilothouse.tools.web.services import PICTURE_MAKERS, SEARCHES

        config, secrets = self._base.config, self._base.secrets

        def searching() -> Choice:
            now = config.config.web
            return Choice(now.search, now.search_address or "")

        def making() -> Choice:
            now = config.config.web
            return Choice(now.pictures, now.pictures_address or "", now.pictures_model or "")

        return WebParts(
            Pages(self._helper, lambda: config.config.web.own_addresses or ""),
            ChosenService("search", SEARCHES, searching, secrets),
            ChosenService("pictures", PICTURE_MAKERS, making, secrets),
        )

    def _make_admin(self) -> WebAdmin:
        from pilothouse.tools.web.admin import WebAdmin

        return WebAdmin(self.parts())
