"""The last search of each conversation, for those who want its other pages."""

from __future__ import annotations

from collections import OrderedDict

from pilothouse.tools.search.found import Found
from pilothouse.types import limits


class LastSearches:
    """Keeps what was found last, for as many conversations as are likely to ask."""

    def __init__(self) -> None:
        self._found: OrderedDict[str, Found] = OrderedDict()

    def keep(self, conversation_id: str, found: Found) -> None:
        """Keep a result instead of the one before."""
        self._found[conversation_id] = found
        self._found.move_to_end(conversation_id)
        if len(self._found) > limits.SEARCHES_KEPT:
            self._found.popitem(last=False)

    def get(self, conversation_id: str) -> Found | None:
        """Return the last result."""
        return self._found.get(conversation_id)
