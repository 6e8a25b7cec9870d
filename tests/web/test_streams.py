"""A conversation's feed over server-sent events and over the page's WebSocket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest

from pilothouse.types import limits
from tests.support.in_process_server import BEARER, PATIENCE, RunningServer
from tests.support.waiting import AT_ONCE


class Lines:
    """The events of one open stream, one at a time."""

    def __init__(self, response: httpx2.Response) -> None:
        self._lines = response.aiter_lines()

    async def event(self) -> dict[str, str]:
        fields: dict[str, str] = {}
        async with asyncio.timeout(PATIENCE):
            async for line in self._lines:
                if not line and "data" in fields:
                    return fields
                name, _, value = line.partition(": ")
                if name:
                    fields[name] = value
        raise EOFError

    async def ends(self) -> bool:
        try:
            await self.event()
        except EOFError:
            return True
        return False


@asynccontextmanager
async def open_stream(server: RunningServer, path: str, **headers: str) -> AsyncIterator[Lines]:
    async with server.http.stream("GET", path, headers={**BEARER, **headers}) as response:
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"].startswith("text/event-stream")
        yield Lines(response)


@pytest.fixture
def short_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """The feed keeps a hundred events for a reader."""
    monkeypatch.setattr(limits, "FEED_QUEUE", 100)


async def test_a_stream_gives_what_was_missed_and_then_what_happens(server: RunningServer) -> None:
    conversation = await server.new_conversation()
    await server.host.say(conversation, "one")
    await server.host.say(conversation, "two")
    async with open_stream(server, f"/api/conversations/{conversation}/events?after=2") as stream:
        missed = await stream.event()
        assert (missed["id"], missed["event"], json.loads(missed["data"])["item"]["text"]) == (
            "3",
            "item.created",
            "two",
        )
        await server.host.say(conversation, "three")
        assert (await stream.event())["id"] == "4"


@pytest.mark.case("F-39")
async def test_last_event_id_wins_over_the_address_it_was_opened_with(server: RunningServer) -> None:
    conversation = await server.new_conversation()
    for word in ("one", "two", "three"):
        await server.host.say(conversation, word)
    path = f"/api/conversations/{conversation}/events?after=0"
    async with open_stream(server, path, **{"last-event-id": "3"}) as stream:
        assert (await stream.event())["id"] == "4"


async def test_a_live_delta_has_no_id_so_it_never_becomes_a_cursor(server: RunningServer) -> None:
    conversation = await server.new_conversation()
    async with open_stream(server, f"/api/conversations/{conversation}/events?after=1") as stream:
        await server.host.until_read(conversation)
        server.host.stream(conversation, "live")
        assert "id" not in await stream.event()


@pytest.mark.case("F-40")
async def test_a_reader_that_falls_behind_is_told_and_the_stream_ends(server: RunningServer, short_queue: None) -> None:
    conversation = await server.new_conversation()
    async with open_stream(server, f"/api/conversations/{conversation}/events?after=1") as stream:
        await server.host.until_read(conversation)
        # All at once, before the stream's own task gets a turn: more than the feed keeps for a reader.
        for _ in range(200):
            server.host.stream(conversation, "x" * 100)
        assert (await stream.event())["event"] == "lagged"
        assert await stream.ends()
    assert not server.host.feed.is_read(conversation)


@pytest.mark.case("F-39", "F-41")
async def test_a_reader_that_leaves_leaves_nothing_behind(server: RunningServer) -> None:
    conversation = await server.new_conversation()
    async with open_stream(server, f"/api/conversations/{conversation}/events?after=1"):
        await server.host.until_read(conversation)
        assert server.host.feed.is_read(conversation)
    await server.host.until_left(conversation)


async def test_a_stream_of_a_conversation_that_is_not_there_is_a_404_not_an_empty_stream(server: RunningServer) -> None:
    answer = await server.http.get("/api/conversations/c_unknown/events", headers=BEARER)
    assert answer.status_code == 404
    assert answer.json()["code"] == "not_found"


async def test_a_cursor_that_is_not_a_number_is_refused_in_one_sentence(server: RunningServer) -> None:
    conversation = await server.new_conversation()
    for cursor in ("-1", "1.5", "9" * 40):
        answer = await server.http.get(
            f"/api/conversations/{conversation}/events", headers={**BEARER, "last-event-id": cursor}
        )
        assert answer.status_code == 400


async def test_one_socket_carries_many_conversations_and_the_list(server: RunningServer) -> None:
    first, second = await server.new_conversation(), await server.new_conversation()
    await server.host.say(first, "before")
    async with server.socket() as socket, asyncio.timeout(PATIENCE):
        await socket.send(json.dumps({"op": "subscribe", "conversationId": first, "after": 1}))
        frame = json.loads(await socket.recv())
        assert (frame["op"], frame["conversationId"], frame["events"][0]["item"]["text"]) == ("events", first, "before")
        await socket.send(json.dumps({"op": "subscribe", "conversationId": second, "after": 1}))
        await server.host.until_read(second)
        await server.host.say(second, "other")
        assert json.loads(await socket.recv())["conversationId"] == second
        third = await server.new_conversation()
        frame = json.loads(await socket.recv())
        assert (frame["op"], frame["conversation"]["id"]) == ("conversation", third)
        await socket.send(json.dumps({"op": "unsubscribe", "conversationId": second}))
        await server.host.until_left(second)


async def test_a_socket_says_what_it_cannot_do_and_goes_on(server: RunningServer) -> None:
    conversation = await server.new_conversation()
    async with server.socket() as socket, asyncio.timeout(PATIENCE):
        await socket.send("not json")
        assert json.loads(await socket.recv())["code"] == "bad_request"
        await socket.send(json.dumps({"op": "execute", "code": "alert(1)"}))
        assert json.loads(await socket.recv())["code"] == "bad_request"
        await socket.send(json.dumps({"op": "subscribe", "conversationId": "c_unknown", "after": 1}))
        frame = json.loads(await socket.recv())
        assert (frame["op"], frame["conversationId"], frame["code"]) == ("problem", "c_unknown", "not_found")
        await server.host.say(conversation, "hello")
        await socket.send(json.dumps({"op": "subscribe", "conversationId": conversation, "after": 1}))
        assert json.loads(await socket.recv())["op"] == "events"


@pytest.mark.case("F-40")
async def test_a_tab_that_falls_behind_is_told_which_conversation(server: RunningServer, short_queue: None) -> None:
    conversation = await server.new_conversation()
    async with server.socket() as socket, asyncio.timeout(PATIENCE):
        await socket.send(json.dumps({"op": "subscribe", "conversationId": conversation, "after": 1}))
        await server.host.until_read(conversation)
        for _ in range(200):
            server.host.stream(conversation, "x")
        assert json.loads(await socket.recv()) == {"op": "lagged", "conversationId": conversation}


async def test_a_closed_tab_leaves_no_reader_behind(server: RunningServer) -> None:
    conversation = await server.new_conversation()
    async with server.socket() as socket:
        await socket.send(json.dumps({"op": "subscribe", "conversationId": conversation, "after": 1}))
        await server.host.until_read(conversation)
    await server.host.until_left(conversation)
    assert not server.host.feed.list_owners()


@pytest.mark.case("AUTHZ-09")
async def test_signing_out_ends_the_streams_of_that_session_and_no_others(server: RunningServer) -> None:
    conversation = await server.new_conversation()
    browser = await server.sign_in()
    path = f"/api/conversations/{conversation}/events?after=1"
    async with server.socket(browser) as mine, server.socket() as other, open_stream(server, path, **browser) as stream:
        del stream
        async with server.http.stream("GET", path, headers=browser) as response:
            lines = Lines(response)
            await server.host.until_read(conversation)
            assert (await server.http.delete("/api/session", headers=browser)).status_code == 204
            assert await lines.ends()
        async with asyncio.timeout(PATIENCE):
            await mine.wait_closed()
        assert mine.close_code == 4401
        await other.send(json.dumps({"op": "subscribe", "conversationId": "c_unknown", "after": 1}))
        assert json.loads(await other.recv())["code"] == "not_found"
    assert (await server.http.get("/api/models", headers=browser)).status_code == 401


@pytest.fixture
def lenient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that would let its connections go on for long."""
    monkeypatch.setattr(limits, "CONNECTION_GRACE", 60)


@pytest.mark.case("F-37")
async def test_open_streams_do_not_hold_up_a_stop(lenient: None, server: RunningServer) -> None:
    conversation = await server.new_conversation()
    async with (
        server.socket() as socket,
        open_stream(server, f"/api/conversations/{conversation}/events?after=1") as stream,
        asyncio.timeout(AT_ONCE),
    ):
        await server.host.until_read(conversation)
        server.stop.set()
        assert await stream.ends()
        await socket.wait_closed()
        assert socket.close_code == 1012
