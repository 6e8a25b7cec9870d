"""HTTP with events, with everything that gateways make of it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from pilothouse.mcp.client.channel import ChannelError, Message
from pilothouse.mcp.client.transports.http_sse import HttpSse, candidates, named_in
from pilothouse.mcp.client.transports.remote import Target
from tests.mcp.client.transports.channel_client import open_channel
from tests.support.mcp_gateway import EVENTS, FaultProxy, Json, OldGateway, event
from tests.support.tiny_http import Answer, Request, TinyHttp


def to(server: TinyHttp | FaultProxy, **more: Any) -> HttpSse:
    return HttpSse(Target(url=f"{server.url}/sse", **more))


async def works(gateway: OldGateway) -> list[str]:
    """Talk to a gateway, and return the targets of the messages that it took."""
    async with TinyHttp(gateway) as server, open_channel(to(server)) as talk:
        assert (await talk.shake_hands())["serverInfo"]["name"] == "gateway"
        assert (await talk.ask("tools/list"))["tools"][0]["name"] == "echo"
        called = await talk.ask("tools/call", {"name": "echo", "arguments": {"a": 1}})
        assert called["content"][0]["text"] == '{"a": 1}'
        assert (await talk.ask("nonsense"))["code"] == -32601
    return [post.target for post in gateway.posts]


@pytest.mark.case("TRN-02", "TRN-19", "TRN-21", "TRN-24", "TRN-25", "TST-02", "TST-04", "TST-06")
async def test_messages_go_where_the_stream_says() -> None:
    gateway = OldGateway()
    assert set(await works(gateway)) == {"/message?sessionId=s1"}
    assert all(post.headers["content-type"] == "application/json" for post in gateway.posts)
    assert isinstance(json.loads(gateway.posts[0].body), dict)


@pytest.mark.case("TRN-18", "F-20", "TST-04")
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
async def test_a_message_over_many_lines_is_one_message(newline: str) -> None:
    await works(OldGateway(newline=newline))


@pytest.mark.case("TRN-20", "TRN-23", "TST-04")
@pytest.mark.parametrize(
    ("hello", "takes"),
    [
        (b"/message?sessionId=abc\n\n", "/message"),
        (b"endpoint /message?sessionId=abc\n\n", "/message"),
        (b"data: /message?sessionid=abc\n\n", "/message"),
        (b"sessionId=abc\n\n", "/sse"),
        (event("?sessionid=abc", "endpoint"), "/sse"),
        (event("/messages/?session_id=abc", "endpoint"), "/messages/"),
        (event("message?sessionId=abc", "endpoint"), "/message"),
    ],
)
async def test_a_session_is_found_however_it_is_named(hello: bytes, takes: str) -> None:
    posts = await works(OldGateway(hello=hello, takes=(takes,)))
    assert all("abc" in post for post in posts)
    assert posts[0].startswith(takes)


@pytest.mark.case("TRN-21", "TRN-22")
@pytest.mark.parametrize(
    ("takes", "tried"),
    [
        ("/sse", ["/named", "/sse"]),
        ("/message", ["/named", "/sse", "/message"]),
        ("/rpc", ["/named", "/sse", "/message", "/rpc"]),
        ("/", ["/named", "/sse", "/message", "/rpc", "/"]),
    ],
)
async def test_other_addresses_are_tried_in_their_order_and_the_right_one_is_kept(takes: str, tried: list[str]) -> None:
    gateway = OldGateway(hello=event("/named?sessionId=abc", "endpoint"), takes=(takes,))
    posts = [target.partition("?")[0] for target in await works(gateway)]
    assert posts[: len(tried)] == tried
    assert set(posts[len(tried) :]) == {takes}


@pytest.mark.case("TRN-23")
def test_addresses_for_messages_are_made_as_gateways_expect_them() -> None:
    base = "http://gateway.example:8811/sse"
    assert candidates(base, "/message?sessionId=1") == [
        "http://gateway.example:8811/message?sessionId=1",
        "http://gateway.example:8811/sse?sessionid=1",
        "http://gateway.example:8811/rpc?sessionId=1",
        "http://gateway.example:8811?sessionId=1",
    ]
    assert candidates(base, "?sessionid=1")[0] == "http://gateway.example:8811/sse?sessionid=1"
    for spelling in ("sessionId", "sessionid", "session_id", "SESSIONID"):
        assert candidates(base, f"/named?{spelling}=1")[1] == "http://gateway.example:8811/sse?sessionid=1"
    assert named_in("nothing of interest") == ""


WRAPPED: list[Callable[[Json], object]] = [
    lambda answer: {"event": "message", "data": answer},
    lambda answer: {"data": {"message": answer}},
    lambda answer: {"payload": answer},
    lambda answer: {"payload": json.dumps(answer)},
    lambda answer: {"body": answer},
    lambda answer: json.dumps(json.dumps(answer)),
    lambda answer: {"event": "message", "data": json.dumps(answer)},
    lambda answer: [answer],
    lambda answer: {key: value for key, value in answer.items() if key != "jsonrpc"},
]


@pytest.mark.case("TRN-10", "TRN-27", "TST-04")
@pytest.mark.parametrize("wrap", WRAPPED)
async def test_an_answer_is_found_in_every_wrapping(wrap: Callable[[Json], object]) -> None:
    await works(OldGateway(wrap=wrap))


@pytest.mark.case("TRN-26")
@pytest.mark.parametrize("status", [302, 307])
async def test_a_redirect_of_a_message_is_followed_within_the_server(status: int) -> None:
    posts = await works(OldGateway(redirect=status))
    assert posts[0] == posts[1]


async def test_an_answer_in_the_reply_to_the_message_is_taken_too() -> None:
    await works(OldGateway(answers_post=True))


@pytest.mark.case("NET-05")
@pytest.mark.parametrize("hello", ["http://evil.example/message?sessionId=1", "//evil.example/m?sessionId=1"])
async def test_messages_never_go_to_another_server(hello: str) -> None:
    async with TinyHttp(OldGateway(hello=event(hello, "endpoint"))) as server:
        with pytest.raises(ChannelError, match="another server"):
            async with open_channel(to(server, headers={"Authorization": "Bearer t"})):
                pass


@pytest.mark.case("TRN-24")
async def test_a_stream_that_names_no_address_is_given_up() -> None:
    async with TinyHttp(OldGateway(hello=b": nothing\n\n")) as server:
        with pytest.raises(ChannelError, match="did not say where to send messages") as caught:
            async with open_channel(to(server, connect_timeout=0.2)):
                pass
    assert caught.value.fix


@pytest.mark.case("TRN-09", "TRN-19", "F-20")
async def test_what_the_server_says_by_itself_arrives_and_other_events_do_not() -> None:
    gateway = OldGateway()
    async with TinyHttp(gateway) as server, open_channel(to(server)) as talk:
        stream = gateway.streams[-1]
        stream.put_nowait(b': ping\n\nevent: heartbeat\ndata: {"method": "no"}\n\nretry: 0\n\n')
        note = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "é€"}}).encode()
        whole = event(note.decode(), "message")
        for at in range(0, len(whole), 3):
            stream.put_nowait(whole[at : at + 3])
        arrived = await talk.other()
        assert isinstance(arrived, Message)
        assert arrived.value["params"] == {"data": "é€"}


@pytest.mark.case("CON-17", "F-18")
async def test_the_end_of_the_stream_is_the_end_of_the_channel() -> None:
    gateway = OldGateway()
    async with TinyHttp(gateway) as server, open_channel(to(server)) as talk:
        gateway.streams[-1].put_nowait(None)
        error = await talk.end()
        assert error is not None
        assert error.message == "127.0.0.1 ended the connection."
        with pytest.raises(ChannelError) as caught:
            await talk.ask("ping")
        assert not caught.value.sent


@pytest.mark.case("F-16", "F-18")
async def test_a_reset_of_the_stream_is_told() -> None:
    gateway = OldGateway()
    async with TinyHttp(gateway) as server, FaultProxy(server.port) as proxy, open_channel(to(proxy)) as talk:
        proxy.fault = "reset"
        gateway.say({"jsonrpc": "2.0", "method": "notifications/message"})
        error = await talk.end()
    assert error is not None
    assert error.message.startswith("The connection to 127.0.0.1 broke")


@pytest.mark.case("F-21")
async def test_a_session_that_the_gateway_forgot_ends_the_channel() -> None:
    gateway = OldGateway()
    async with TinyHttp(gateway) as server, open_channel(to(server)) as talk:
        await talk.ask("ping")
        gateway.takes = ()
        await talk.send("tools/call")
        error = await talk.end()
    assert error is not None
    assert (error.message, error.sent) == ("127.0.0.1 has ended the session.", False)


async def test_a_page_instead_of_a_stream_is_told() -> None:
    def page(request: Request) -> Answer:
        return Answer(200, b"<!DOCTYPE html><p>hello", {"Content-Type": "text/html"})

    async with TinyHttp(page) as server:
        with pytest.raises(ChannelError, match="answers with a web page"):
            async with open_channel(to(server)):
                pass


@pytest.mark.case("AUT-29", "OBS-08", "OBS-09")
async def test_the_log_tells_names_and_beginnings_but_no_secrets(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "pilothouse.mcp")
    gateway = OldGateway()
    async with TinyHttp(gateway) as server, open_channel(to(server, headers={"X-API-Key": "very-secret"})) as talk:
        gateway.say({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x" * 1_000}})
        await talk.other()
        told = caplog.text
    assert f"GET to {server.url} with headers X-API-Key, accept, cache-control" in told
    assert "event 'endpoint': b'/message?" in told
    assert f"messages go to {server.url}/message\n" in told
    payloads = [record.args[1] for record in caplog.records if record.msg == "event %r: %s" and record.args]  # type: ignore[index]
    assert max(len(payload) for payload in payloads) == 200  # type: ignore[arg-type]
    assert "very-secret" not in told


async def test_abandoning_a_message_that_is_still_being_posted_lets_go_of_it() -> None:
    stuck = asyncio.Event()

    async def answer(request: Request) -> Answer:
        if request.method == "GET":
            return Answer(200, b"", EVENTS, stream=gateway._pour(asyncio.Queue()))
        stuck.set()
        never: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        return await never

    gateway = OldGateway()
    async with TinyHttp(answer) as server, open_channel(to(server)) as talk:
        number = await talk.send("tools/call")
        async with asyncio.timeout(5):
            await stuck.wait()
        talk.channel.abandon(number)


@pytest.mark.case("NET-07")
@pytest.mark.parametrize("session", ["../../admin", "%2e%2e%2fadmin", "a/../../b", "x?y=1", "..;/x"])
def test_a_session_never_changes_the_path_that_messages_go_to(session: str) -> None:
    found = [urlsplit(one) for one in candidates("http://gateway.example/sse", f"/message?sessionId={session}")]
    assert [one.path for one in found] == ["/message", "/sse", "/rpc", ""]
    assert {one.netloc for one in found} == {"gateway.example"}
