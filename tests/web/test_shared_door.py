"""Browsers that come to one of several servers on one PostgreSQL are known at all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pilothouse.types import limits
from pilothouse.types.json import JsonObject
from pilothouse.web.guard import HALF
from pilothouse.web.run import ServerOptions
from pilothouse.wiring import open_host
from pilothouse.wiring.shared_door import _add
from tests.support.in_process_server import BEARER, TOKEN, Reach, serve_host
from tests.support.replicas import set_master_key


@pytest.fixture(autouse=True)
def one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_master_key(monkeypatch, tmp_path)


@asynccontextmanager
async def serving(home: Path, url: str) -> AsyncIterator[Reach]:
    """A server of its own on a database."""
    async with open_host(home, url, role="server") as host:
        assert host.door is not None
        options = ServerOptions(home=home, token=TOKEN, door=await host.door())
        async with serve_host(host.api, options) as reached:
            yield reached


async def a_code(at: Reach) -> str:
    return str((await at.http.post("/api/link", headers=BEARER)).json()["url"].partition("#code=")[2])


async def session_of(at: Reach, code: str) -> dict[str, str]:
    """Use a code as the page does; return the headers that a browser sends from then on."""
    answer = await at.http.post("/api/session", json={"code": code})
    assert answer.status_code == 200, answer.text
    return {"cookie": answer.headers["set-cookie"].partition(";")[0], HALF: answer.json()["half"]}


async def is_known(at: Reach, session: dict[str, str]) -> bool:
    origin = {"sec-fetch-site": "same-origin", "origin": f"http://{at.authority}"}
    return (await at.http.get("/api/models", headers={**session, **origin})).status_code == 200


async def test_a_link_made_at_one_server_signs_in_at_another_once(tmp_path: Path, postgres_url: str) -> None:
    async with serving(tmp_path / "a", postgres_url) as a, serving(tmp_path / "b", postgres_url) as b:
        code = await a_code(a)
        session = await session_of(b, code)
        assert await is_known(b, session)
        assert await is_known(a, session)
        for each in (a, b):
            assert (await each.http.post("/api/session", json={"code": code})).status_code == 401


async def test_who_signs_out_at_one_is_out_at_the_other(tmp_path: Path, postgres_url: str) -> None:
    async with serving(tmp_path / "a", postgres_url) as a, serving(tmp_path / "b", postgres_url) as b:
        session = await session_of(a, await a_code(a))
        assert await is_known(b, session)
        origin = {"sec-fetch-site": "same-origin", "origin": f"http://{a.authority}"}
        assert (await a.http.delete("/api/session", headers={**session, **origin})).status_code < 300
        assert not await is_known(b, session)


async def test_what_a_browser_sent_is_of_no_use_after_nobody_was_there(tmp_path: Path, postgres_url: str) -> None:
    async with serving(tmp_path / "a", postgres_url) as a:
        session = await session_of(a, await a_code(a))
        async with serving(tmp_path / "b", postgres_url) as b:
            assert await is_known(b, session)
        assert await is_known(a, session)
    async with serving(tmp_path / "a", postgres_url) as again:
        assert not await is_known(again, session)


def test_old_links_make_room_for_new_ones() -> None:
    raw: JsonObject = {"codes": {}}
    for number in range(limits.OPEN_CODES + 3):
        _add(raw, str(number))
    assert list(raw["codes"]) == [str(number) for number in range(3, limits.OPEN_CODES + 3)]
