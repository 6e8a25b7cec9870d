"""The core of a running server, asked over HTTP, is the same core."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec
import pytest

from pilothouse.client.calling import Revive, path_of, request_of
from pilothouse.client.host import RemoteHost
from pilothouse.client.sse import EventReader
from pilothouse.connection import connect_host, connect_server
from pilothouse.host.address import read_address, write_address
from pilothouse.host.following import Following
from pilothouse.host.selection import choose
from pilothouse.host.service import HostService
from pilothouse.net.loop_clients import close_clients
from pilothouse.types import limits
from pilothouse.types.address import ServerAddress
from pilothouse.types.api import ConfigPatch, ConversationPatch, ModelInput, NewConversation, NewMessage
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.feed import FeedEvent, Lagged
from pilothouse.types.host import LOCAL_OWNER, ClientApi, all_verbs, services
from pilothouse.types.server_traffic import TrafficSwitch
from pilothouse.types.servers import ConsentGiven, ImportRequest, ServerInput, ServerPatch, ToolTry
from pilothouse.web.routes import ROUTES
from pilothouse.web.run import ServerOptions
from pilothouse.web.streams import LAGGED, PING, encode_batch
from pilothouse.wiring import open_host
from tests.support.in_process_server import PATIENCE, serve_host
from tests.support.mcp_servers import scripted

ME = LOCAL_OWNER


@asynccontextmanager
async def both(home: Path) -> AsyncIterator[tuple[HostService, RemoteHost]]:
    """Serve a core, and give it with its remote twin."""
    try:
        async with open_host(home, role="server") as host, serve_host(host.api, ServerOptions(home=home)):
            yield host.api, RemoteHost(lambda: read_address(home))
    finally:
        await close_clients()


def script(folder: Path, turns: object) -> str:
    path = folder / "script.json"
    path.write_text(json.dumps(turns))
    return f"scripted:{path}"


async def ask(api: ClientApi, conversation: str, model: str) -> Following:
    accepted = await api.runs.post_message(ME, conversation, NewMessage(text="Hi", model_id=model))
    return Following(api, await api.runs.get(ME, accepted.run_id), 0)


async def read(following: Following) -> list[FeedEvent]:
    async with asyncio.timeout(PATIENCE), aclosing(following.events()) as events:
        return [sent async for sent, _ in events]


def example(kind: Any) -> Any:
    """Return something that an argument of a query or a path could be."""
    found = get_args(kind)
    if get_origin(kind) is Literal:
        return found[-1]
    if found:
        return example(found[0])
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind(**{field.name: example(field.type) for field in msgspec.structs.fields(kind)})
    return {int: 7, str: "a/b?c=d&e", bool: True, float: 0.5}[kind]


def test_every_noun_of_a_host_is_one_of_a_remote_host() -> None:
    remote = RemoteHost(lambda: None)
    assert [noun for noun in services() if not hasattr(remote, noun)] == []


def test_every_verb_is_sent_as_the_server_reads_it() -> None:
    routes = {route.name: route for route in ROUTES}
    for _, verb in all_verbs():
        placed = [each for each in verb.takes if each.place not in ("body", "upload")]
        given: list[Any] = [example(each.kind) if each in placed else None for each in verb.takes]
        path, query, _ = request_of(verb, given)
        assert path.count("/") == verb.path.count("/")
        assert "?" not in path
        sent = {name: str(value) for name, value in query.items()}
        read = msgspec.structs.asdict(msgspec.convert(sent, routes[verb.name].query, strict=False))
        meant: dict[str, Any] = {}
        for each, value in zip(verb.takes, given, strict=True):
            if each.place == "query":
                meant[each.name] = value
            elif each.place == "spread":
                meant |= msgspec.structs.asdict(value)
        assert read == meant, verb.name


async def test_a_conversation_leaves_and_comes_in_as_a_file(home: Path, tmp_path: Path) -> None:
    async with both(home) as (local, remote):
        made = await remote.conversations.create(ME, NewConversation(title="A talk: for export"))
        await read(await ask(remote, made.id, script(tmp_path, [["Hello."]])))
        told = await remote.exchange.export_conversation(ME, made.id, "markdown")
        assert told.name == "A-talk-for-export.md"
        assert b"Hello." in b"".join([chunk async for chunk in told.chunks])
        whole = await remote.exchange.export_conversation(ME, made.id)
        assert whole.name == "A-talk-for-export.jsonl"
        content = b"".join([chunk async for chunk in whole.chunks])

        async def chunks() -> AsyncIterator[bytes]:
            yield content

        [imported] = (await remote.exchange.import_conversations(ME, chunks())).conversations
        assert (imported.id, imported.already) == (made.id, True)
        assert (await local.conversations.get(ME, made.id)).conversation.title == "A talk: for export"


@pytest.mark.slow
async def test_both_say_the_same_about_everything(home: Path, tmp_path: Path) -> None:
    async with both(home) as (local, remote):
        made = await remote.conversations.create(ME, NewConversation(title="A talk", settings=ConversationSettings()))
        await read(await ask(remote, made.id, script(tmp_path, [["A rare word: quokka."]])))
        changed = await remote.conversations.update(ME, made.id, ConversationPatch(title="Another name"))
        assert changed.title == "Another name"
        assert await remote.conversations.get(ME, made.id, limit=9) == await local.conversations.get(
            ME, made.id, limit=9
        )
        for before in (None, 3):
            page = await remote.conversations.items(ME, made.id, before=before, limit=2)
            assert page == await local.conversations.items(ME, made.id, before=before, limit=2)
        assert await remote.conversations.list(ME, limit=5, cursor=None) == await local.conversations.list(
            ME, limit=5, cursor=None
        )
        found = await remote.conversations.search(ME, "quokka", limit=5)
        assert found == await local.conversations.search(ME, "quokka", limit=5)
        assert found.hits
        assert await remote.conversations.page_state(ME, made.id) == await local.conversations.page_state(ME, made.id)
        await remote.conversations.delete(ME, made.id)
        assert not (await local.conversations.list(ME, limit=5, cursor=None)).conversations
        assert (await remote.conversations.restore(ME, made.id)).deleted_at is None
        view = await remote.settings.update(ME, ConfigPatch(resume_after_restart="ask"))
        assert view == await remote.settings.get(ME) == await local.settings.get(ME)


@pytest.mark.slow
async def test_models_are_managed_through_it(home: Path, tmp_path: Path) -> None:
    async with both(home) as (local, remote):
        body = ModelInput(name="Scripted", provider="scripted", model=script(tmp_path, [["ok"]]).partition(":")[2])
        added = await remote.models.add(ME, body)
        assert (await remote.models.test(ME, added.id)).ok
        assert (await remote.models.test_draft(ME, body)).ok
        assert (await remote.models.set_default(ME, added.id)).default_model_id == added.id
        renamed = ModelInput(name="Other", provider="scripted", model=body.model)
        assert (await remote.models.update(ME, added.id, renamed)).name == "Other"
        assert await remote.models.list(ME) == await local.models.list(ME)
        assert await remote.models.catalogue(ME) == await local.models.catalogue(ME)
        assert (await remote.models.refresh(ME)).refreshed_at is not None
        assert isinstance((await remote.models.found(ME)).found, tuple)
        await remote.models.set_default(ME, "embedded")
        await remote.models.delete(ME, added.id)
        assert added.id not in {one.id for one in (await local.models.list(ME)).models}


@pytest.mark.slow
async def test_servers_are_managed_and_their_results_fetched_through_it(home: Path, tmp_path: Path) -> None:
    command, *args = scripted("--say", "hello")
    async with both(home) as (local, remote):
        added = await remote.servers.add(ME, ServerInput(name="Echo", command=command, args=tuple(args)))
        assert added.consent is not None
        given = ConsentGiven(fingerprint=added.consent.fingerprint)
        assert (await remote.servers.consent(ME, added.id, given)).consent is None
        assert (await remote.servers.retry(ME, added.id)).id == added.id
        assert (await remote.servers.test(ME, added.id)).tools > 10
        assert (await remote.servers.disconnect(ME, added.id)).state == "idle"
        assert await remote.servers.tools(ME, added.id) == await local.servers.all_tools(ME)
        await remote.servers.switch_traffic(ME, TrafficSwitch(recording=True))
        tried = await remote.servers.try_tool(ME, ToolTry(server_id=added.id, tool="echo", arguments={"text": "hi"}))
        assert (tried.ok, tried.text) == (True, "hi")
        page = await remote.servers.traffic(ME, 0, added.id)
        assert page == await local.servers.traffic(ME, 0, added.id)
        assert page.messages
        assert await remote.servers.log(ME, added.id) == await local.servers.log(ME, added.id)
        assert await remote.servers.status(ME) == await local.servers.status(ME)
        await _call_through(remote, local, script(tmp_path, [[{"call": "echo__image", "arguments": {}}], ["Done."]]))
        changed = await remote.servers.patch(ME, added.id, ServerPatch(off_tools=("fail",)))
        assert changed.settings.off_tools == ("fail",)
        moved = ServerInput(name="Far", url="https://mcp.example/mcp", enabled=False)
        assert (await remote.servers.update(ME, added.id, moved)).transport == "http"
        report = await remote.other_programs.import_file(
            ME, ImportRequest(text='{"servers": {"a": {"url": "https://a.example"}}}')
        )
        assert [one.outcome for one in report.servers] == ["added"]
        await remote.servers.delete(ME, added.id)
        assert [one.name for one in (await remote.servers.list(ME)).servers] == ["a"]


async def _call_through(remote: RemoteHost, local: HostService, model: str) -> None:
    """Make a call that needs no question, and fetch what it gave."""
    made = await remote.conversations.create(ME, NewConversation())
    body = NewMessage(text="Go.", model_id=model, selection=choose(["echo:image"]), allow=("echo.image",))
    accepted = await remote.runs.post_message(ME, made.id, body)
    await read(Following(remote, await remote.runs.get(ME, accepted.run_id), 0))
    items = (await remote.conversations.items(ME, made.id, before=None, limit=9)).items
    call = next(item for item in items if item.kind == "tool_call")
    result = await remote.runs.result(ME, call.id)
    assert result == await local.runs.result(ME, call.id)
    index = next(part.index for part in result.parts if part.kind == "image")
    fetched, kept = await remote.runs.part(ME, call.id, index), await local.runs.part(ME, call.id, index)
    assert (fetched.media_type, fetched.data) == (kept.media_type, kept.data)
    with pytest.raises(PilothouseError, match="ended"):
        await remote.runs.keep_waiting(ME, call.id)


@pytest.mark.slow
async def test_a_run_is_read_to_its_end_with_what_the_store_keeps(home: Path, tmp_path: Path) -> None:
    model = script(tmp_path, [[{"thinking": "hm"}, {"text": "Grüße, 世界 👋. " * 20, "pieces": 7, "every": 0.001}]])
    async with both(home) as (local, remote):
        made = await remote.conversations.create(ME, NewConversation())
        seen = await read(await ask(remote, made.id, model))
        durable = [event for event in seen if event.seq]
        assert [event.seq for event in durable] == list(range(1, len(durable) + 1))
        stored = await anext(await local.conversations.events(ME, made.id, 0))
        assert [(event.seq, event.kind) for event in stored][: len(durable)] == [
            (event.seq, event.kind) for event in durable
        ]
        item = (await local.conversations.get(ME, made.id, limit=1)).items[-1]
        assert item.text == "Grüße, 世界 👋. " * 20


@pytest.mark.slow
async def test_a_cancel_and_a_resume_reach_the_run(home: Path, tmp_path: Path) -> None:
    model = script(tmp_path, [[{"text": "Slow. "}, {"wait": 60}]])
    async with both(home) as (_local, remote):
        made = await remote.conversations.create(ME, NewConversation())
        following = await ask(remote, made.id, model)
        async with asyncio.timeout(PATIENCE), aclosing(following.events()) as events:
            async for sent, _ in events:
                if b"Slow." in sent.json:
                    await remote.runs.cancel(ME, following.run.id)
        stopped = following.run
        assert stopped.status == "cancelled"
        assert script(tmp_path, [["Done."]]) == model
        following.go_on(await remote.runs.resume(ME, stopped.id))
        await read(following)
        assert following.run.status == "completed"


async def test_problems_come_back_as_they_were(home: Path) -> None:
    async with both(home) as (local, remote):
        made = await remote.conversations.create(ME, NewConversation())

        async def problem(api: ClientApi, conversation: str, body: NewMessage) -> tuple[str, str, str]:
            with pytest.raises(PilothouseError) as refused:
                await api.runs.post_message(ME, conversation, body)
            return refused.value.code, refused.value.message, refused.value.fix

        for conversation, body in (
            ("c_unknown", NewMessage(text="hi")),
            (made.id, NewMessage(text="hi", model_id="nope")),
            (made.id, NewMessage(text="")),
        ):
            assert await problem(remote, conversation, body) == await problem(local, conversation, body)
        with pytest.raises(PilothouseError) as stranger:
            await remote.conversations.events(ME, "c_unknown", 0)
        assert stranger.value.code == "not_found"


@pytest.mark.parametrize("typed", ["..", "../models", "a/b?x=1#y", "%2e%2e", "c_1\r\nx: y", "ü"])
@pytest.mark.slow
async def test_an_id_that_someone_typed_leads_nowhere_else(home: Path, typed: str) -> None:
    assert path_of("/api/conversations/{id}", typed).count("/") == 3
    assert ".." not in path_of("/api/{id}", typed)
    async with both(home) as (_local, remote):
        with pytest.raises(PilothouseError) as refused:
            await remote.conversations.get(ME, typed, limit=1)
        assert refused.value.code in ("not_found", "bad_request")


@pytest.mark.slow
async def test_a_stream_goes_on_where_it_was_when_the_server_comes_back(home: Path, tmp_path: Path) -> None:
    model = script(tmp_path, [[{"text": "word " * 60, "pieces": 5, "every": 0.02}]])
    remote = RemoteHost(lambda: read_address(home))
    try:
        async with open_host(home, role="server") as host:
            seen: list[FeedEvent] = []
            async with serve_host(host.api, ServerOptions(home=home)):
                made = await remote.conversations.create(ME, NewConversation())
                following = await ask(remote, made.id, model)
                events = following.events()
                async with asyncio.timeout(PATIENCE):
                    while not any(b'"response"' in event.json for event in seen):
                        seen.append((await anext(events))[0])
            # Another server on another port with another token, for the same core.
            async with serve_host(host.api, ServerOptions(home=home)), asyncio.timeout(PATIENCE):
                seen += [sent async for sent, _ in events]
            numbers = [event.seq for event in seen if event.seq]
            assert numbers == list(range(1, len(numbers) + 1))
            assert following.run.status == "completed"
    finally:
        await close_clients()


async def test_a_server_that_stays_away_is_one_sentence(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SERVER_AWAY", 0.0)
    remote = RemoteHost(lambda: read_address(home))
    try:
        async with open_host(home, role="server") as host:
            async with serve_host(host.api, ServerOptions(home=home)):
                made = await remote.conversations.create(ME, NewConversation())
                feed = await remote.conversations.events(ME, made.id, 0)
                assert await anext(feed) is not None
            with pytest.raises(PilothouseError, match="does not answer") as gone:
                async for _batch in feed:
                    pass
        assert gone.value.code == "server_away"
        assert "pilothouse serve" in gone.value.fix
        with pytest.raises(PilothouseError, match="does not answer"):
            await remote.models.list(ME)
    finally:
        await close_clients()


async def test_the_next_is_asked_for_as_long_as_whoever_was_found_is_gone_by_then(home: Path) -> None:
    gone = [ServerAddress(url="http://127.0.0.1:9", pid=number, token="x" * 32) for number in (1, 2)]
    async with both(home) as (host, _):
        left = [gone[0], gone[1], None, read_address(home)]

        async def revive(_gone: ServerAddress | None) -> None:
            left.pop(0)

        remote = RemoteHost(lambda: left[0], revive)
        assert await remote.models.list(ME) == await host.models.list(ME)
        # One that is there and fails all the same is not asked for ever.
        asked: list[ServerAddress | None] = []
        stays = RemoteHost(lambda: gone[0], _noted(asked))
        with pytest.raises(PilothouseError, match="does not answer"):
            await stays.models.list(ME)
        assert asked == [gone[0]]


def _noted(asked: list[ServerAddress | None]) -> Revive:
    async def revive(gone: ServerAddress | None) -> None:
        asked.append(gone)

    return revive


@pytest.mark.parametrize("size", [1, 2, 5, 64, 4096])
def test_events_are_read_however_the_bytes_are_cut(size: int) -> None:
    sent = [
        FeedEvent(7, "item.created", b'{"text":"a: b\\nid: 9"}'),
        FeedEvent(0, "item.delta", '{"text":"ü: 👋"}'.encode()),
        FeedEvent(8, "run.updated", b"{}"),
    ]
    data = b"retry: 1000\n\n" + PING + encode_batch(sent[:1]) + PING + encode_batch(sent[1:])
    reader = EventReader()
    read = [event for at in range(0, len(data), size) for event in reader.feed(data[at : at + size])]
    assert read == sent
    with pytest.raises(Lagged):
        reader.feed(LAGGED)


async def test_an_address_that_a_dead_server_left_does_not_mislead(home: Path) -> None:
    async with connect_host(home) as own:
        assert isinstance(own, HostService)
    write_address(home, ServerAddress(url="http://127.0.0.1:9", pid=os.getpid(), token="x" * 32))
    async with connect_server(home) as running:
        assert running is None
    async with connect_host(home) as own:
        assert isinstance(own, HostService)


async def test_a_running_server_is_found_and_a_held_folder_is_waited_for(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_host(home) as host:
        # Someone holds the folder and is no server yet.
        monkeypatch.setattr(limits, "FOLDER_PATIENCE", 0.0)
        with pytest.raises(PilothouseError, match="Another Pilothouse") as held:
            async with connect_host(home):
                pass
        assert "`fg`" in held.value.fix
        monkeypatch.setattr(limits, "FOLDER_PATIENCE", PATIENCE)
        waiting = asyncio.ensure_future(_connected_kind(home))
        async with serve_host(host.api, ServerOptions(home=home)), asyncio.timeout(PATIENCE):
            assert await waiting is RemoteHost


async def _connected_kind(home: Path) -> type:
    async with connect_host(home) as api:
        return type(api)
