"""The server over the real core: a real database, a real run, a scripted model."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import threading
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from pilothouse.models.provider_rows import ROWS
from pilothouse.types import limits
from pilothouse.types.address import ADDRESS_FILE
from pilothouse.types.api import ConversationPatch, NewConversation
from pilothouse.types.feed import Lagged
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.web.guard import HALF
from pilothouse.web.routes import ROUTES
from pilothouse.web.run import ServerOptions
from pilothouse.wiring import open_host
from tests.support.in_process_server import BEARER, PATIENCE, TOKEN, Reach, serve_folder, serve_host
from tests.support.waiting import eventually
from tests.web.samples import nothing_there, request_for

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x % 7 FROM n) SELECT count(*) FROM n"
SCRIPT = {"turns": [[{"text": "Hello from the script, in several pieces.", "pieces": 6, "every": 0.01}]]}


async def ask(server: Reach, conversation: str, script: Path) -> str:
    answer = await server.http.post(
        f"/api/conversations/{conversation}/messages",
        json={"text": "Hi", "modelId": f"scripted:{script}"},
        headers={**BEARER, "idempotency-key": "the-one"},
    )
    assert answer.status_code == 202, answer.text
    return str(answer.json()["runId"])


async def read_run(server: Reach, conversation: str, run: str, after: int = 0) -> list[dict[str, Any]]:
    """Return the events of a stream until the run is over."""
    found: list[dict[str, Any]] = []
    path = f"/api/conversations/{conversation}/events"
    async with (
        asyncio.timeout(PATIENCE),
        server.http.stream("GET", path, params={"after": after}, headers=BEARER) as response,
    ):
        async for line in response.aiter_lines():
            if line.startswith("data: "):
                event = json.loads(line.removeprefix("data: "))
                found.append(event)
                ended = event["type"] == "run.updated" and event["run"]["status"] not in ("queued", "running")
                if ended and event["run"]["id"] == run:
                    return found
    raise AssertionError("the stream ended before the run did")


def durable(events: list[dict[str, Any]]) -> list[int]:
    return [event["seq"] for event in events if event["seq"]]


def files_with(folder: Path, text: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.json"
    path.write_text(json.dumps(SCRIPT))
    return path


@pytest.mark.case("F-39")
@pytest.mark.slow
async def test_an_answer_streams_and_a_reload_finds_the_same_one(home: Path, script: Path) -> None:
    async with serve_folder(home) as (_, server):
        conversation = await server.new_conversation()
        run = await ask(server, conversation, script)
        events = await read_run(server, conversation, run)
        numbers = durable(events)
        assert numbers == list(range(1, len(numbers) + 1))
        assert events[-1]["run"]["status"] == "completed", events[-1]
        again = await read_run(server, conversation, run)
        assert durable(again) == numbers
        assert durable(await read_run(server, conversation, run, after=3)) == numbers[3:]
        state = (await server.http.get("/api/state", params={"conversation": conversation}, headers=BEARER)).json()
        [response] = [item for item in state["snapshot"]["items"] if item["kind"] == "response"]
        assert response["text"] == "Hello from the script, in several pieces."
        assert await ask(server, conversation, script) == run


async def test_the_page_is_served_what_can_be_chosen_and_how_each_setting_is_shown(home: Path) -> None:
    async with serve_folder(home) as (_, server):
        state = (await server.http.get("/api/state", headers=BEARER)).json()
    providers = {row["id"]: row for row in state["providers"]}
    assert list(providers) == [row.id for row in ROWS]
    assert providers["groq"]["baseUrl"] == "https://api.groq.com/openai/v1"
    assert {id for id, row in providers.items() if row["inside"]} == {"embedded", "scripted"}
    # How a provider is spoken to is nobody else's business.
    assert not [row for row in providers.values() if {"headers", "extra", "path"} & set(row)]
    assert state["config"]["about"]["retention.days"]["most"] == limits.RETENTION_DAYS


@pytest.mark.slow
async def test_nothing_that_opens_a_session_is_in_the_data_folder(home: Path) -> None:
    async with serve_folder(home) as (_, server):
        browser = await server.sign_in()
        cookie, half = browser["cookie"].partition("=")[2], browser[HALF].partition(".")[2]
        assert not await asyncio.to_thread(files_with, home, cookie)
        assert not await asyncio.to_thread(files_with, home, half)
    assert not (home / ADDRESS_FILE).exists()


@pytest.mark.case("WEB-10")
@pytest.mark.slow
async def test_nothing_of_someone_elses_is_there_by_any_route(home: Path, script: Path) -> None:
    async with open_host(home, role="server") as host, serve_host(host.api, ServerOptions(token=TOKEN)) as server:
        conversation = await server.new_conversation()
        run = await ask(server, conversation, script)
        await read_run(server, conversation, run)
        item = (await server.http.get(f"/api/conversations/{conversation}/items", headers=BEARER)).json()["items"][0]
        stranger = await server.stranger(host.api.sessions)
        owned = {"/conversations/": conversation, "/runs/": run, "/calls/": item["id"], "/questions/": item["id"]}
        for route in ROUTES:
            theirs = next((known for part, known in owned.items() if part in route.path), None)
            if theirs is not None:
                answer = await server.http.request(**request_for(route, theirs), headers=stranger)
                assert answer.status_code == 404, (route.method, route.path, answer.text)
        listed = (await server.http.get("/api/state", headers=stranger)).json()["conversations"]["conversations"]
        hits = (await server.http.get("/api/search", params={"q": "script"}, headers=stranger)).json()["hits"]
        assert (listed, hits) == ([], [])
        mine = (await server.http.get("/api/search", params={"q": "script"}, headers=BEARER)).json()["hits"]
        assert mine


@pytest.mark.slow
async def test_a_model_that_is_not_there_is_refused_for_a_conversation_and_a_gone_one_hinders_no_other_change(
    home: Path, script: Path
) -> None:
    _write_models(home, script, "here", "going")
    async with serve_folder(home) as (_, server):
        refused = await server.http.post("/api/conversations", json={"settings": {"modelId": "nobody"}}, headers=BEARER)
        problem = {"code": "unknown_model", "message": "There is no model “nobody”.", "fix": "There are: here, going."}
        assert (refused.status_code, refused.json()) == (400, problem)
        listed = (await server.http.get("/api/conversations", headers=BEARER)).json()["conversations"]
        assert listed == []
        body = {"settings": {"modelId": "going"}}
        made = (await server.http.post("/api/conversations", json=body, headers=BEARER)).json()
        path = f"/api/conversations/{made['id']}"
        changed = await server.http.patch(path, json={"settings": {"modelId": "nobody"}}, headers=BEARER)
        assert (changed.status_code, changed.json()) == (400, problem)
        assert (await server.http.delete("/api/models/going", headers=BEARER)).status_code == 204
        settings = {**made["settings"], "systemPrompt": "Be brief."}
        kept = await server.http.patch(path, json={"settings": settings}, headers=BEARER)
        assert (kept.status_code, kept.json()["settings"]["systemPrompt"]) == (200, "Be brief."), kept.text


def _write_models(home: Path, script: Path, *ids: str) -> None:
    """Let there be models that all answer from one script; the first is the default."""
    home.mkdir(mode=0o700)
    every = {name: {"name": name, "provider": "scripted", "model": str(script)} for name in ids}
    (home / "models.json").write_text(json.dumps({"defaultModelId": ids[0], "models": every}))


@pytest.mark.slow
async def test_the_socket_carries_a_run_from_its_first_event_to_its_last(home: Path, script: Path) -> None:
    async with serve_folder(home) as (_, server):
        conversation = await server.new_conversation()
        async with server.socket() as socket, asyncio.timeout(PATIENCE):
            await socket.send(json.dumps({"op": "subscribe", "conversationId": conversation, "after": 0}))
            run = await ask(server, conversation, script)
            kinds: set[str] = set()
            status = ""
            while status != "completed":
                frame = json.loads(await socket.recv())
                kinds.add(frame["op"])
                for event in frame.get("events", ()):
                    if event["type"] == "run.updated" and event["run"]["id"] == run:
                        status = event["run"]["status"]
            assert "events" in kinds


@pytest.mark.slow
async def test_every_route_answers_honestly_over_the_real_core(home: Path) -> None:
    async with serve_folder(home) as (_, server):
        for route in ROUTES:
            if route.kind == "socket" or route.path.startswith("/api/models/"):
                continue
            answer = await server.http.request(**request_for(route), headers=BEARER)
            honest = 401 if route.public else nothing_there(route)
            assert answer.status_code in (route.status, honest), (route.path, answer.text)


@pytest.mark.case("F-40")
@pytest.mark.slow
async def test_a_reader_that_stopped_reading_holds_a_bounded_part_of_the_feed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FEED_QUEUE", 10)
    async with open_host(home) as host:
        made = await host.api.conversations.create(LOCAL_OWNER, NewConversation())
        feed = await host.api.conversations.events(LOCAL_OWNER, made.id, 0)
        rename = partial(host.api.conversations.update, LOCAL_OWNER, made.id)

        async def overrun() -> None:
            reading = asyncio.ensure_future(anext(feed))
            # A reader that still catches up is not overrun, it reads on in the store: wait until it waits.
            while (await asyncio.wait({reading}, timeout=0.2))[0]:
                reading = asyncio.ensure_future(anext(feed))
            await rename(ConversationPatch(title="The last one it read"))
            await reading
            for number in range(40):
                await rename(ConversationPatch(title=f"Name {number}"))
            await anext(feed)

        async def overrun_for_good() -> None:
            # On a busy machine it may only have been slow, and did not wait yet.
            while True:
                await overrun()

        async with aclosing(feed), asyncio.timeout(PATIENCE):
            with pytest.raises(Lagged):
                await overrun_for_good()


@pytest.mark.slow
async def test_a_search_stops_with_the_client_that_asked_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped: list[int] = []

    begun = threading.Event()

    def endless(connection: sa.Connection, *_: object) -> None:
        begun.set()
        try:
            connection.execute(sa.text(ENDLESS))
        finally:
            stopped.append(1)

    async with serve_folder(tmp_path) as (_, server):
        with monkeypatch.context() as patch:
            patch.setattr("pilothouse.store.search.find", endless)
            asking = asyncio.ensure_future(server.http.get("/api/search", params={"q": "w"}, headers=BEARER))
            assert await asyncio.to_thread(begun.wait, PATIENCE)
            asking.cancel()
            await asyncio.wait([asking])
            await eventually(lambda: asyncio.sleep(0, bool(stopped)), "the search stops", limits.SEARCH_SECONDS / 2)
        answer = await server.http.get("/api/search", params={"q": "word"}, headers=BEARER)
        assert answer.json() == {"query": "word", "hits": []}


async def test_a_conversation_is_exported_as_a_file_and_imported_from_one(home: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(SCRIPT))
    async with serve_folder(home) as (_, server):
        made = await server.http.post("/api/conversations", json={"title": "Über/alles"}, headers=BEARER)
        conversation = made.json()["id"]
        await read_run(server, conversation, await ask(server, conversation, script))
        path = f"/api/conversations/{conversation}/export"
        told = await server.http.get(path, params={"format": "markdown"}, headers=BEARER)
        assert "## Answer\n\nHello from the script, in several pieces.\n" in told.text
        assert told.headers["content-disposition"].startswith("attachment; ")
        assert (
            "-ber-alles.md" in told.headers["content-disposition"] or "alles.md" in told.headers["content-disposition"]
        )
        file = (await server.http.get(path, headers=BEARER)).content
    async with serve_folder(tmp_path / "other") as (_, server):
        lines = {**BEARER, "content-type": "application/x-ndjson"}
        taken = await server.http.post("/api/import", content=file, headers=lines)
        assert taken.status_code == 201, taken.text
        assert taken.json()["conversations"] == [{"id": conversation, "title": "Über/alles", "already": False}]
        audit = await server.http.get("/api/audit", headers=BEARER)
        assert [check["sound"] for check in audit.json()["checks"]] == [True]
        form = {**BEARER, "content-type": "application/x-www-form-urlencoded"}
        refused = await server.http.post("/api/import", content=file, headers=form)
        assert refused.status_code == 400
        damaged = await server.http.post("/api/import", content=file[:-20], headers=lines)
        assert (damaged.status_code, damaged.json()["code"]) == (400, "bad_request")


async def test_an_import_of_nothing_is_refused_in_a_sentence(home: Path) -> None:
    async with serve_folder(home) as (_, server):
        for content in (b"", gzip.compress(b"")):
            lines = {**BEARER, "content-type": "application/x-ndjson"}
            refused = await server.http.post("/api/import", content=content, headers=lines)
            assert (refused.status_code, refused.json()["code"]) == (400, "bad_request")
            assert refused.json()["message"] == "The file is empty. Nothing was changed."
    left = await asyncio.to_thread(os.listdir, home)
    assert not [name for name in left if name.startswith(".import-")]


@pytest.mark.slow
async def test_a_conversation_with_megabytes_in_it_goes_into_a_file_and_comes_back(home: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": [{"steps": [{"text": "word " * 600_000}]}]}))
    async with serve_folder(home) as (_, server):
        conversation = (await server.http.post("/api/conversations", json={}, headers=BEARER)).json()["id"]
        await read_run(server, conversation, await ask(server, conversation, script))
        file = (await server.http.get(f"/api/conversations/{conversation}/export", headers=BEARER)).content
    assert len(file) > 2_000_000
    async with serve_folder(tmp_path / "other") as (_, server):
        lines = {**BEARER, "content-type": "application/x-ndjson"}
        taken = await server.http.post("/api/import", content=file, headers=lines)
        assert taken.status_code == 201, taken.text
