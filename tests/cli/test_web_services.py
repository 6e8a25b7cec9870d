"""`pilothouse web`: real commands, a search service on loopback."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.cli.conftest import assert_told
from tests.support.commands import Outcome, pilothouse
from tests.support.tiny_http import Answer, Request, TinyHttp

# Every command is a process of its own.
pytestmark = pytest.mark.slow
KEY = "very-secret-key"


async def run(home: Path, *arguments: str, stdin: str = "") -> Outcome:
    return await asyncio.to_thread(pilothouse, home, *arguments, stdin=stdin)


def brave(request: Request) -> Answer:
    """Answer as Brave does, whoever has the key."""
    if request.headers.get("x-subscription-token") != KEY:
        return Answer(401, b"{}")
    found = {"web": {"results": [{"title": "Weather", "url": "https://weather.example/"}]}}
    return Answer(200, json.dumps(found).encode(), {"content-type": "application/json"})


@pytest.mark.case("UTL-15")
async def test_a_service_is_chosen_given_its_key_and_tried(home: Path) -> None:
    async with TinyHttp(brave) as server:
        assert_told(await run(home, "web", "key", "search", stdin=KEY), 2, "No service is chosen for search.")
        assert (await run(home, "settings", "web.search", "brave")).code == 0
        assert (await run(home, "settings", "web.search_address", server.url)).code == 0
        tried = await run(home, "web", "test", "search")
        assert (tried.code, "wants a key, or refuses programs (status 401)" in tried.err) == (1, True)
        kept = await run(home, "web", "key", "search", stdin=f"{KEY}\n")
        assert (kept.code, kept.out) == (0, "")
        tried = await run(home, "web", "test", "search")
        assert tried.lines == [f"Brave Search at 127.0.0.1:{server.port} answered and found something."]
        listed = json.loads((await run(home, "web", "list", "--json")).out)
        assert [(one["use"], one["name"], one["hasKey"], one["offered"]) for one in listed] == [
            ("search", "Brave Search", True, True),
            ("pictures", "", False, False),
        ]
        assert KEY not in "".join((await run(home, "web", "list")).lines)
        assert (await run(home, "web", "key", "search", "--forget")).code == 0
        assert_told(await run(home, "web", "test", "mail"), 2, "There is no service for “mail”.")
