"""Lists in pages: how much of one is asked for, where it goes on, and how all of it is had."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

import msgspec

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError


class Page(msgspec.Struct, frozen=True):
    """So many of a list, from its beginning or from where a cursor says."""

    limit: int = limits.PAGE_ITEMS
    cursor: str | None = None


FIRST = Page()


class Paged(Protocol):
    """A part of a list; `next` is the cursor for the rest, None at its end."""

    @property
    def next(self) -> str | None:
        """Return where the list goes on."""
        ...


R = TypeVar("R", bound=Paged)


def cursor_of(*place: object) -> str:
    """Return a cursor that stands for a place."""
    return "~".join(map(str, place))


def place_of(cursor: str, parts: int) -> list[str]:
    """Return the place that a cursor stands for; raise one sentence for what is none of ours."""
    place = cursor.split("~", parts - 1)
    if len(place) != parts:
        raise bad_cursor()
    return place


def bad_cursor() -> PilothouseError:
    """Return what is said of a cursor that is none."""
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
    number, key = place_of(cursor, 2)
    if not (number.isascii() and number.isdigit() and len(number) <= 9):
        raise bad_cursor()
    place = int(number)
    if 0 < place <= len(keys) and keys[place - 1] == key:
        return place
    return keys.index(key) + 1 if key in keys else min(place, len(keys))


async def whole(ask: Callable[[Page], Awaitable[R]]) -> R:
    """Return all of a list, asked for page by page."""
    found = await ask(FIRST)
    while found.next is not None:
        found = _joined(found, await ask(Page(cursor=found.next)))
    return found


def _joined(first: R, second: R) -> R:
    """Return two parts of a list as one: lists follow each other, and what is true of one is true of both."""
    fields = {name: (getattr(first, name), getattr(second, name)) for name in first.__struct_fields__}  # type: ignore[attr-defined]
    lists = {name: a + b for name, (a, b) in fields.items() if isinstance(a, tuple)}
    flags = {name: a or b for name, (a, b) in fields.items() if isinstance(a, bool)}
    return msgspec.structs.replace(first, **lists, **flags, next=second.next)  # type: ignore[type-var]
