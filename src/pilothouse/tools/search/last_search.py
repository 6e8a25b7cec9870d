"""The last search of each conversation, for those who want its other pages."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

from pilothouse.tools.search.results import Found
from pilothouse.types import limits
from pilothouse.types.item_data import CallData
from pilothouse.types.items import Item, is_a
from pilothouse.types.json import JsonObject

# Returns the arguments of a conversation's last search, from its timeline; None when there was none.
Recall = Callable[[str], Awaitable[JsonObject | None]]
SEARCHES = frozenset({"file_search", "grep_search", "semantic_search", "list_usages", "search_index"})


async def recall_nothing(_conversation_id: str) -> JsonObject | None:
    """Remember no search but those of this process."""
    return None


def recall_from(history: Callable[[str], Awaitable[Sequence[Item]]]) -> Recall:
    """Return who finds the last search among the items of a conversation."""

    async def recall(conversation_id: str) -> JsonObject | None:
        for item in reversed(await history(conversation_id)):
            if not is_a(item, CallData) or item.status != "completed":
                continue
            arguments = item.data.arguments or {}
            if arguments.get("operation") in SEARCHES:
                # What was looked for was a secret, and stands nowhere.
                return None if item.data.masked else arguments
        return None

    return recall


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
