"""Lists in pages: how much of one is asked for, where it goes on, and how all of it is had."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Protocol, TypeVar

import msgspec
from msgspec import Meta

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError

Limit = Annotated[int, Meta(ge=1, le=limits.PAGE_ITEMS)]
Cursor = Annotated[str, Meta(max_length=limits.CURSOR_CHARS)]


class Page(msgspec.Struct, frozen=True):
    """So many of a list, from its beginning or from where a cursor says; as far as one answer goes by default."""

    limit: Limit = limits.PAGE_ITEMS
    cursor: Cursor | None = None


FIRST = Page()
# Of a record its calls count, and all of them are wanted.
REPORT = Page(limits.AUDIT_ENTRIES)


class Paged(Protocol):
    """A part of a list; `next` is the cursor for the rest, None at its end."""

    @property
    def next(self) -> str | None:
        """Return where the list goes on."""


R = TypeVar("R", bound=Paged)


def cursor_of(*place: object) -> str:
    """Return a cursor that stands for a place."""
    return "~".join(map(str, place))


def place_of(cursor: str, *kinds: Callable[[str], object]) -> list[Any]:
    """Return the place that a cursor stands for, its parts by these types; raise for what is none of ours."""
    try:
        return [kind(part) for kind, part in zip(kinds, cursor.split("~", len(kinds) - 1), strict=True)]
    except ValueError:
        raise _bad_cursor() from None


def _bad_cursor() -> PilothouseError:
    return PilothouseError("bad_request", "That cursor is not one of ours.", fix="Leave it out to begin anew.")


def window(keys: Sequence[str], page: Page) -> tuple[int, int, str | None]:
    """Return where a page of a list begins and ends, and the cursor for the rest.

    A cursor names the last one that was had, so that nothing is had twice or left out when the list changes meanwhile;
    if that one is gone, the list goes on at its place.
    """
    first = _begin(keys, page.cursor) if page.cursor is not None else 0
    last = min(len(keys), first + page.limit)
    return first, last, cursor_of(last, keys[last - 1]) if last < len(keys) else None


def _begin(keys: Sequence[str], cursor: str) -> int:
    number, key = place_of(cursor, str, str)
    if not (number.isascii() and number.isdigit() and len(number) <= 9):
        raise _bad_cursor()
    place = int(number)
    if 0 < place <= len(keys) and keys[place - 1] == key:
        return place
    return keys.index(key) + 1 if key in keys else min(place, len(keys))


async def whole(ask: Callable[[Page], Awaitable[R]], first: Page = FIRST) -> R:
    """Return all of a list, asked for page by page."""
    found = await ask(first)
    while found.next is not None:
        found = _joined(found, await ask(Page(first.limit, found.next)))
    return found


def _joined(first: R, second: R) -> R:
    """Return two parts of a list as one: lists follow each other, and what is true of one is true of both."""
    fields = {name: (getattr(first, name), getattr(second, name)) for name in first.__struct_fields__}  # type: ignore[attr-defined]
    lists = {name: a + b for name, (a, b) in fields.items() if isinstance(a, tuple)}
    flags = {name: a or b for name, (a, b) in fields.items() if isinstance(a, bool)}
    return msgspec.structs.replace(first, **lists, **flags, next=second.next)  # type: ignore[type-var]
