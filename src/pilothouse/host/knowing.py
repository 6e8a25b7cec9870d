"""What is not known here may have been added elsewhere a moment ago: the database is looked at before it is refused."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from pilothouse.types.errors import ErrorCode, PilothouseError

T = TypeVar("T")
Look = Callable[[], Awaitable[None]]

# What a name is refused with that no settings have; nothing was done by then, so that it can be asked again.
UNKNOWN: frozenset[ErrorCode] = frozenset({"unknown_model", "unknown_server", "no_model"})
# The nouns whose things are settings: there `not_found` says the same.
OF_SETTINGS = frozenset({"models", "servers", "settings", "permissions", "registries", "packages", "web"})


async def knowing(look: Look, ask: Callable[[], Awaitable[T]], *, noun: str = "") -> T:
    """Return what is asked for; where a name is not known, look at what other processes share and ask once more."""
    try:
        return await ask()
    except PilothouseError as error:
        unknown = error.code in UNKNOWN or (error.code == "not_found" and noun in OF_SETTINGS)
        if not unknown:
            raise
    await look()
    return await ask()
