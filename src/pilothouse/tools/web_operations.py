"""The tool `web_operations`: reading pages, and searching where the person has a service for it."""

from __future__ import annotations

from pathlib import Path

from pilothouse.tools.consolidated import Consolidated
from pilothouse.tools.making import ToolParts
from pilothouse.tools.web.operations import Fetch, Search
from pilothouse.types.tool_names import WEB

_WORDS = (Path(__file__).parent / "web_operations.md").read_text().strip()
# What stands there about searching where that is possible.
_PLACE = "{search}\n"
_SEARCHING = (Path(__file__).parent / "web_operations_search.md").read_text()


def make(parts: ToolParts) -> WebOperations:
    """Make the tool."""
    return WebOperations(Fetch(parts.web), Search(parts.web, lambda: parts.settings().web.search != "none"))


class WebOperations(Consolidated):
    """Reads and searches; where there is no service that searches, it only reads."""

    def __init__(self, fetch: Fetch, search: Search) -> None:
        super().__init__(WEB, _WORDS.replace(_PLACE, f"{_SEARCHING}\n"), [fetch, search])
        self._search = search
        self._reading = Consolidated(WEB, _WORDS.replace(_PLACE, "\n"), [fetch])

    def now(self) -> Consolidated:
        """Return the tool as it can be used now."""
        return self if self._search.is_offered else self._reading
