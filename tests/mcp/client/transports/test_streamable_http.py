"""Streamable HTTP: every form of answer, sessions, streams taken up again, faults that stay with their request."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import pytest

from pilothouse.mcp.client.channel import ChannelError, Garbage, Message, Undeliverable
from pilothouse.mcp.client.transports.remote import Target
from pilothouse.mcp.client.transports.streamable_http import StreamableHttp, _Stream
from pilothouse.net.sse import Event
from pilothouse.types import limits
from tests.mcp.client.transports.channel_client import ChannelClient, open_channel
from tests.support.mcp_gateway import EVENTS, JSON, FaultProxy, Streamable, event, then_forever
from tests.support.tiny_http import Answer, Request, TinyHttp

TEXT = '{"a": 1}'


def to(server: TinyHttp | FaultProxy, **more: Any) -> StreamableHttp:
    return StreamableHttp(Target(url=f"{server.url}/mcp", **more))


def note(text: str) -> str:
    return json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": text}})


def result(number: int = 1, **value: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": value})


@pytest.mark.case("TRN-03", "TRN-05", "TRN-07", "TRN-10", "TST-02", "TST-05")
@pytest.mark.parametrize("form", ["json", "events", "batch", "no type"])
async def test_an_answer_is_understood_in_every_form(form: Literal["json", "events", "batch", "no type"]) -> None:
    async with TinyHttp(Streamable(form=form)) as server, open_channel(to(server)) as talk:
        assert (await talk.shake_hands())["serverInfo"]["name"] == "gateway"
        assert (await talk.ask("tools/list"))["tools"][0]["name"] == "echo"
        called = await talk.ask("tools/call", {"name": "echo", "arguments": {"a": 1}})
        assert called["content"][0]["text"] == TEXT
        assert (await talk.ask("nonsense"))["code"] == -32601
        if form in ("events", "batch"):
            assert isinstance(said := await talk.other(), Message)
            assert said.value["method"] == "notifications/message"


@pytest.mark.case("TRN-05")
async def test_headers_of_the_person_the_message_and_the_protocol_travel() -> None:
    async with TinyHttp(Streamable()) as server, open_channel(to(server, headers={"X-API-Key": "k"})) as talk:
        await talk.ask("tools/list", headers={"Mcp-Method": "tools/list", "MCP-Protocol-Version": "2026-07-28"})
        sent = server.requests[0].headers
    assert sent["x-api-key"] == "k"
    assert sent["mcp-method"] == "tools/list"
    assert sent["mcp-protocol-version"] == "2026-07-28"
    assert sent["accept"] == "application/json, text/event-stream"
    assert sent["content-type"] == "application/json"


async def test_a_session_is_carried_and_ended() -> None:
    place = Streamable(session="s-1")
    async with TinyHttp(place) as server:
        async with open_channel(to(server)) as talk:
            await talk.shake_hands()
            await talk.ask("tools/list", headers={"MCP-Protocol-Version": "2025-06-18"})
        assert [request.headers.get("mcp-session-id") for request in server.requests if request.method == "POST"] == [
            None,
            "s-1",
            "s-1",
        ]
        assert place.ended == ["s-1"]
        assert server.requests[-1].headers["mcp-protocol-version"] == "2025-06-18"


async def test_who_does_not_wait_for_the_end_of_a_session_leaves_no_connection_behind() -> None:
    """What is left open fails the test at its end."""
    place, asked = Streamable(session="s-1"), asyncio.Event()

    async def answer(request: Request) -> Answer:
        if request.method == "DELETE":
            asked.set()
            await asyncio.Event().wait()
        return place(request)

    async with TinyHttp(answer) as server:
        talk = ChannelClient(to(server))
        await talk.channel.open(talk.deliver)
        await talk.shake_hands()
        closing = asyncio.create_task(talk.channel.close())
        await asked.wait()
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert await talk.end() is None


async def test_without_a_handshake_there_is_no_session_no_stream_and_no_goodbye() -> None:
    place = Streamable()
    async with TinyHttp(place) as server:
        async with open_channel(to(server)) as talk:
            await talk.ask("tools/list")
            await talk.tell("notifications/cancelled", {"requestId": 1})
        assert [request.method for request in server.requests] == ["POST"]


@pytest.mark.case("F-21", "PROTO-04")
@pytest.mark.parametrize("body", [b"", b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"x"}}'])
async def test_a_forgotten_session_ends_the_channel_and_says_so(body: bytes) -> None:
    place = Streamable(session="s-1")
    async with TinyHttp(place) as server, open_channel(to(server)) as talk:
        await talk.shake_hands()
        place.instead = {"tools/call": [Answer(404, body, JSON)]}
        with pytest.raises(ChannelError) as caught:
            await talk.ask("tools/call", {"name": "echo"})
        # It was turned away at the door: it may be sent again on a new session.
        assert not caught.value.sent
        error = await talk.end()
    assert error is not None
    assert error.message == "127.0.0.1 has ended the session."
    # Connecting again helps, other than with an address that is wrong.
    assert error.status is None


@pytest.mark.case("F-21")
async def test_a_server_that_calls_a_forgotten_session_a_bad_request_is_understood() -> None:
    place = Streamable(session="s-1")
    async with TinyHttp(place) as server, open_channel(to(server)) as talk:
        await talk.shake_hands()
        words = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID"}}'
        place.instead = {"tools/list": [Answer(400, words, JSON)]}
        await talk.send("tools/list")
        assert (await talk.end()) is not None


@pytest.mark.case("PROTO-04")
async def test_two_connections_to_one_server_share_no_session() -> None:
    place = Streamable(session="s-1")
    async with TinyHttp(place) as server, open_channel(to(server)) as one, open_channel(to(server)) as other:
        await one.shake_hands()
        assert (await other.ask("tools/list"))["message"] == "no session"


@pytest.mark.parametrize("number", ["1", 1, None])
async def test_an_answer_on_its_own_response_is_known_whatever_its_id_looks_like(number: object) -> None:
    answer = json.dumps({"id": number, "result": {"ok": True}})
    rubbish = event("{not json")
    for reply in (Answer(200, answer.encode(), JSON), Answer(200, rubbish + event(answer), EVENTS)):
        place = Streamable(instead={"tools/call": [reply]})
        async with TinyHttp(place) as server, open_channel(to(server)) as talk:
            assert await talk.ask("tools/call") == {"ok": True}


async def test_an_error_beside_an_http_status_is_the_answer() -> None:
    words = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"not this version","data":{}}}'
    place = Streamable(instead={"server/discover": [Answer(400, words, JSON)]})
    async with TinyHttp(place) as server, open_channel(to(server)) as talk:
        assert (await talk.ask("server/discover"))["code"] == -32022


@pytest.mark.case("TRN-09", "CON-17")
async def test_what_the_server_says_by_itself_arrives_in_the_handshake_era() -> None:
    place = Streamable(session="s", says=[event(note("one"), identity="7", retry=100), event(note("two"))])
    async with TinyHttp(place) as server, open_channel(to(server)) as talk:
        await talk.shake_hands()
        said = [await talk.other(), await talk.other()]
        assert [one.value["params"]["data"] for one in said if isinstance(one, Message)] == ["one", "two"]
        assert place.gets[0].headers["mcp-session-id"] == "s"


@pytest.mark.case("CON-17")
async def test_the_servers_own_stream_is_taken_up_again_where_it_broke() -> None:
    place = Streamable(session="s", resumed={"": [event(note("one"), identity="7", retry=100)]})
    place.resumed["7"] = [event(note("two"), identity="8")]
    async with TinyHttp(place) as server, open_channel(to(server)) as talk:
        await talk.shake_hands()
        said = [await talk.other(), await talk.other()]
        assert [one.value["params"]["data"] for one in said if isinstance(one, Message)] == ["one", "two"]
        assert place.gets[1].headers["last-event-id"] == "7"


@pytest.mark.case("F-18", "F-20")
async def test_an_answer_whose_stream_broke_is_fetched_from_where_it_broke() -> None:
    place = Streamable(session="s")
    place.instead = {"tools/call": [Answer(200, event("", identity="e1", retry=100), EVENTS)]}
    place.resumed = {"e1": [event(result(2, ok=True), identity="e2")]}
    async with TinyHttp(place) as server, open_channel(to(server)) as talk:
        await talk.shake_hands()
        assert await talk.ask("tools/call", {"name": "echo"}) == {"ok": True}


@pytest.mark.case("F-20")
async def test_a_stream_that_asks_for_no_wait_is_not_hammered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STREAM_RETRY_MIN", 0.01)
    place = Streamable(session="s", instead={"tools/call": [Answer(200, event("", identity="e", retry=0), EVENTS)]})
    place.resumed = {"e": []}
    async with TinyHttp(place) as server, open_channel(to(server)) as talk:
        await talk.shake_hands()
        with pytest.raises(ChannelError) as caught:
            await talk.ask("tools/call", {"name": "echo"})
        assert caught.value.sent
        assert len([get for get in place.gets if "last-event-id" in get.headers]) == limits.STREAM_RETRIES


@pytest.mark.case("F-20")
def test_however_soon_a_stream_wants_to_be_taken_up_it_is_not_at_once_and_each_time_later() -> None:
    stream = _Stream()
    stream.note(Event("", b"", retry=0.0))
    assert [stream.wait() for _ in range(3)] == pytest.approx([0.1, 0.2, 0.4])
    stream.note(Event("", b"", retry=9_999.0))
    assert stream.wait() == 60


async def test_a_stream_that_ends_without_the_answer_fails_its_request_in_the_modern_era() -> None:
    place = Streamable(instead={"tools/call": [Answer(200, event(note("x"), identity="e1"), EVENTS)]})
    async with TinyHttp(place) as server, open_channel(to(server)) as talk:
        with pytest.raises(ChannelError, match="ended its answer before it was complete"):
            await talk.ask("tools/call", {"name": "echo"})
        assert place.gets == []
        assert await talk.ask("ping") == {}


async def test_abandoning_a_request_closes_its_response() -> None:
    async with TinyHttp(Streamable()) as server, open_channel(to(server)) as talk:
        number = await talk.send("silent")
        async with asyncio.timeout(5):
            await server.asked.wait()
        talk.channel.abandon(number)
        async with asyncio.timeout(5):
            await server.let_go_of.wait()
        assert await talk.ask("ping") == {}


async def test_a_subscription_stays_open_and_brings_what_changes() -> None:
    stream = then_forever([event(note("one")), event(note("two"))])
    place = Streamable(instead={"subscriptions/listen": [Answer(200, b"", EVENTS, stream=stream)]})
    async with TinyHttp(place) as server, open_channel(to(server)) as talk:
        await talk.send("subscriptions/listen")
        assert isinstance(await talk.other(), Message)
        assert isinstance(await talk.other(), Message)
        assert await talk.ask("ping") == {}


@pytest.mark.case("F-18")
@pytest.mark.parametrize("fault", ["reset", "close"])
@pytest.mark.parametrize("after", [0, 40, 160])
async def test_a_reset_fails_its_request_and_nothing_else(fault: Literal["reset", "close"], after: int) -> None:
    async with TinyHttp(Streamable()) as server, FaultProxy(server.port) as proxy, open_channel(to(proxy)) as talk:
        await talk.ask("ping")
        proxy.fault, proxy.after = fault, after
        with pytest.raises(ChannelError) as caught:
            await talk.ask("tools/call", {"name": "echo"})
        # The server had it all: whether it was carried out is not known.
        assert caught.value.sent
        assert caught.value.message.startswith("The connection to 127.0.0.1 broke")
        proxy.fault = "none"
        assert await talk.ask("ping") == {}
        assert not talk.channel.closed.done()
        assert sum(heard.get("method") == "tools/call" for heard in map(_body, server.requests)) == 1


def _body(request: Any) -> dict[str, Any]:
    return dict(json.loads(request.body)) if request.body else {}


@pytest.mark.case("F-18")
@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, b'{"jsonrpc": "2.0", "id"', JSON),
        Answer(200, result().encode(), {**JSON, "Content-Length": "9999"}, reset_after=20),
        Answer(200, b'{"jsonrpc": "2.0", "id": 1, "result": {"a": "\xff\xfe"}}', JSON),
    ],
)
async def test_half_an_answer_fails_its_request(answer: Answer) -> None:
    place = Streamable(instead={"tools/call": [answer]})
    async with TinyHttp(place) as server, open_channel(to(server)) as talk:
        arrived = await talk.answer_to(await talk.send("tools/call"))
        assert isinstance(arrived, Garbage | Undeliverable)
        assert await talk.ask("ping") == {}


@pytest.mark.case("F-18")
async def test_a_request_is_sent_again_only_when_it_surely_did_not_arrive() -> None:
    async with TinyHttp(lambda request: Answer(500)) as gone:
        pass
    async with open_channel(StreamableHttp(Target(url=f"{gone.url}/mcp"))) as talk:
        with pytest.raises(ChannelError) as caught:
            await talk.ask("tools/call")
    assert not caught.value.sent
    assert caught.value.message == f"No connection to 127.0.0.1 on port {gone.port}: nothing listens there."
    assert caught.value.fix


@pytest.mark.case("F-17", "F-16")
async def test_a_stream_that_comes_by_the_byte_does_not_hold_up_others() -> None:
    place = Streamable(form="events")
    async with TinyHttp(place) as server, FaultProxy(server.port) as proxy, open_channel(to(proxy)) as talk:
        proxy.fault, proxy.after = "drop", 100
        held = [await talk.send("tools/call", {"name": "echo"}) for _ in range(30)]
        async with asyncio.timeout(5):
            await proxy.hit.wait()
        proxy.fault, proxy.slice = "none", 1
        assert await talk.ask("ping") == {}
        for number in held:
            talk.channel.abandon(number)


@pytest.mark.case("F-19", "ERR-11")
@pytest.mark.parametrize("status", [429, 502, 503, 504])
@pytest.mark.parametrize(("header", "seconds"), [("7", 7.0), ("9999", 60.0), ("", None), ("soon", None), ("nan", None)])
async def test_a_server_that_asks_for_patience_is_understood(status: int, header: str, seconds: float | None) -> None:
    headers = {"Retry-After": header} if header else {}
    place = Streamable(instead={"tools/call": [Answer(status, b"", headers)]})
    async with TinyHttp(place) as server, open_channel(to(server)) as talk:
        with pytest.raises(ChannelError) as caught:
            await talk.ask("tools/call")
        assert caught.value.status == status
        assert caught.value.retry_after == seconds
        if status == 429:
            wait = int(seconds or 1)
            assert caught.value.message == f"Rate limited. Try again in {wait} seconds."
        assert await talk.ask("ping") == {}


@pytest.mark.case("NET-08", "F-20")
async def test_an_event_larger_than_allowed_fails_its_request(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = then_forever([b"data: " + b"x" * (1 << 20)] * 70)
    place = Streamable(instead={"tools/call": [Answer(200, b"", EVENTS, stream=stream)]})
    async with TinyHttp(place) as server, open_channel(to(server)) as talk:
        with pytest.raises(ChannelError, match="sent too much"):
            await talk.ask("tools/call")
        assert await talk.ask("ping") == {}


@pytest.mark.case("NET-08")
async def test_a_large_answer_within_the_limit_arrives_whole() -> None:
    text = "x" * (20 << 20)
    place = Streamable(instead={"tools/call": [Answer(200, result(1, text=text).encode(), JSON)]})
    async with TinyHttp(place) as server, open_channel(to(server)) as talk:
        assert len((await talk.ask("tools/call"))["text"]) == len(text)


async def test_closing_twice_and_while_requests_run_is_fine() -> None:
    async with TinyHttp(Streamable(session="s", says=[])) as server, open_channel(to(server)) as talk:
        await talk.shake_hands()
        await talk.send("silent")
        await talk.channel.close()
        await talk.channel.close()
        assert await talk.end() is None
        with pytest.raises(ChannelError):
            await talk.ask("ping")
