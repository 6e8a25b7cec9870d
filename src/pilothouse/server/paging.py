"""What a request says about which part of a list it wants."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from pilothouse.types import limits
from pilothouse.types.paging import Page

Limit = Annotated[int, Meta(ge=1, le=limits.PAGE_ITEMS)]
Cursor = Annotated[str, Meta(max_length=limits.CURSOR_CHARS)]


class ListQuery(msgspec.Struct, frozen=True):
    """Where a list goes on, and how far; as far as one answer goes unless it is said."""

    limit: Limit = limits.PAGE_ITEMS
    cursor: Cursor | None = None

    @property
    def page(self) -> Page:
        """Return the part that is wanted."""
        return Page(self.limit, self.cursor)
