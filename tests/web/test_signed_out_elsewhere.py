"""A stream ends when the session that opened it does, at whichever server that is, and when it runs out."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psycopg
import pytest

from pilothouse.types import limits
from pilothouse.web.socket import SIGNED_OUT
from tests.support.in_process_server import BEARER, PATIENCE, Reach
from tests.support.replicas import set_master_key
from tests.web.test_shared_door import a_code, serving, session_of


@pytest.fixture(autouse=True)
def one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_master_key(monkeypatch, tmp_path)


async def headers_at(at: Reach, session: dict[str, str]) -> dict[str, str]:
    """What the page at a server sends."""
    return {**session, "sec-fetch-site": "same-origin", "origin": f"http://{at.authority}"}


async def reading_until_the_end(at: Reach, session: dict[str, str], open_: asyncio.Event) -> None:
    """Read a conversation's events until the server ends them."""
    conversation = (await at.http.post("/api/conversations", json={}, headers=BEARER)).json()["id"]
    headers = await headers_at(at, session)
    async with at.http.stream("GET", f"/api/conversations/{conversation}/events", headers=headers) as answer:
        assert answer.status_code == 200
        async for _ in answer.aiter_lines():
            open_.set()


async def test_streams_at_one_server_end_when_the_person_signs_out_at_another(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Told, and not found out by looking.
    monkeypatch.setattr(limits, "SESSIONS_LOOK", 3_600.0)
    async with serving(tmp_path / "a", postgres_url) as a, serving(tmp_path / "b", postgres_url) as b:
        session, open_ = await session_of(a, await a_code(a)), asyncio.Event()
        other = await session_of(a, await a_code(a))
        async with (
            asyncio.timeout(PATIENCE),
            b.socket(await headers_at(b, session)) as socket,
            b.socket(await headers_at(b, other)) as another,
            asyncio.TaskGroup() as group,
        ):
            group.create_task(reading_until_the_end(b, session, open_))
            await open_.wait()
            # What is no session makes nobody deaf.
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                connection.execute("""NOTIFY pilothouse_sessions, '["no session"]'""")
            out = await a.http.delete("/api/session", headers=await headers_at(a, session))
            assert out.status_code == 204
            await socket.wait_closed()
            assert socket.close_code == SIGNED_OUT
            assert another.close_code is None


async def test_a_stream_ends_when_its_session_runs_out(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert limits.SESSIONS_LOOK < 15
    monkeypatch.setattr(limits, "SESSIONS_LOOK", 0.05)
    async with serving(tmp_path / "a", postgres_url) as a:
        session = await session_of(a, await a_code(a))
        async with (
            asyncio.timeout(PATIENCE),
            a.socket(await headers_at(a, session)) as socket,
            a.socket(BEARER) as by_token,
        ):
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                connection.execute("UPDATE sessions SET expires_at = 1")
            await socket.wait_closed()
            assert socket.close_code == SIGNED_OUT
            assert by_token.close_code is None
