"""Topics by the names that people give them, for commands and programs."""

from __future__ import annotations

from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.paging import whole
from pilothouse.types.topics import Topic


async def topic_named(api: ClientApi, name: str) -> Topic:
    """Return the topic of this name, whatever its case, or of this id; raise one sentence where there is none."""
    topics = (await whole(lambda page: api.topics.list(LOCAL_OWNER, page))).topics
    wanted = name.strip().casefold()
    for each in topics:
        if name == each.id or wanted == each.name.casefold():
            return each
    known = ", ".join(each.name for each in topics[:20])
    fix = f"There are: {known}." if known else f'Make it first: pilothouse topic create "{name}"'
    raise PilothouseError("not_found", f"There is no topic “{name}”.", fix=fix)
