"""What each conversation last saw of a file, so that an edit of something older is noticed."""

from __future__ import annotations

from collections import OrderedDict

from pilothouse.tools.files.places import PathRefused, Place
from pilothouse.types import limits


class Readings:
    """The hashes of what was read or written last, by conversation and path; the oldest are forgotten first."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, OrderedDict[str, str]] = OrderedDict()

    def saw(self, conversation_id: str, path: str, digest: str | None) -> None:
        """Remember the content that a conversation knows now; None for a file that is gone."""
        seen = self._seen.setdefault(conversation_id, OrderedDict())
        self._seen.move_to_end(conversation_id)
        seen.pop(path, None)
        if digest is not None:
            seen[path] = digest
        if len(seen) > limits.READINGS:
            seen.popitem(last=False)
        if len(self._seen) > limits.READING_CONVERSATIONS:
            self._seen.popitem(last=False)

    def check(self, conversation_id: str, place: Place, digest: str) -> None:
        """Refuse a change of a file that is not what the conversation saw of it."""
        known = self._seen.get(conversation_id, OrderedDict()).get(place.path)
        if known is not None and known != digest:
            message = f"{place.name} was changed by someone else since you read it; read it again before you change it."
            raise PathRefused(message, "CONFLICT")
