"""A registry without an end: copied over real HTTP within bounds, while searches answer.

A hundred thousand servers are copied in long runs only; else the bound is a tenth of that.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pilothouse.types import limits
from tests.mcp.registry.services import Both, open_registries
from tests.support import sampling
from tests.support.lag import HELD, longest_hold
from tests.support.registry_server import OfficialServer
from tests.support.tiny_http import Answer, Request
from tests.support.waiting import eventually

# Short, so that each takes little to copy.
WORDS = ("air", "bus", "car", "dog", "map", "sea", "sky", "zoo")
# Three times what such a server takes in the copy.
BYTES_EACH = 1_000


def endless(request: Request) -> Answer | None:
    """Answer with a page of a registry that has no end; what it is searched for it does not find."""
    path, _, given = request.target.partition("?")
    if path != OfficialServer.LIST:
        return None
    query = dict(part.partition("=")[::2] for part in given.split("&"))
    begin, count = int(query.get("cursor") or 0), int(query["limit"])
    listed = ",".join(
        f'{{"server":{{"name":"a.b/{WORDS[number % 8]}-{number // 1_000}-{number % 1_000}",'
        f'"description":"{WORDS[number % 7]}"}}}}'
        for number in (range(begin, begin + count) if "search" not in query else ())
    )
    body = f'{{"servers":[{listed}],"metadata":{{"nextCursor":"{begin + count}"}}}}'
    return Answer(200, body.encode(), {"Content-Type": "application/json"})


async def copied_to_the_bound(both: Both) -> None:
    """Search, which begins the copy, search while it is made, and wait for its end."""
    assert (await both.finder.search("zoo", "official")).total == 0

    async def asked(pages: int) -> bool:
        # Looking at the copy itself, again and again, would be most of the work.
        return len(both.official.requests) > pages

    for half in (limits.REGISTRY_PAGES // 2, limits.REGISTRY_PAGES):
        await eventually(lambda pages=half: asked(pages), f"{half} pages", 120)  # type: ignore[misc]
        found = await both.finder.search("zoo map", "official")
        assert len(found.servers) == limits.REGISTRY_HITS

    async def told() -> str:
        return (await both.finder.view("official")).problem

    assert await eventually(told, "the end") == "The official registry has more pages than are copied."


@pytest.mark.timeout(180)
async def test_a_registry_without_an_end_is_copied_up_to_a_hundred_thousand_servers_while_everything_goes_on(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert limits.REGISTRY_ENTRIES == 100_000
    if not sampling.is_long():
        monkeypatch.setattr(limits, "REGISTRY_PAGES", limits.REGISTRY_PAGES // 10)
        monkeypatch.setattr(limits, "REGISTRY_ENTRIES", limits.REGISTRY_ENTRIES // 10)
    async with open_registries(home, monkeypatch) as both:
        both.official.answering = endless
        assert await longest_hold(copied_to_the_bound(both)) < HELD
        assert (await both.finder.view("official")).servers == limits.REGISTRY_ENTRIES
        found = await both.finder.search("zoo", "official")
        assert (len(found.servers), found.total) == (limits.REGISTRY_HITS, limits.REGISTRY_ENTRIES // len(WORDS))
        # It is left alone then: the pages, and the searches of it before there was a copy.
        assert len(both.official.requests) <= limits.REGISTRY_PAGES + 4
    size = sum(each.stat().st_size for each in (home / "cache").glob("registries.sqlite*"))
    assert size < limits.REGISTRY_ENTRIES * BYTES_EACH
