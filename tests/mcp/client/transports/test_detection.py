"""From an address to a server: which wire it speaks, and one clear sentence when it speaks none."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pilothouse.mcp.client.channel import ChannelError, Refusal
from pilothouse.mcp.client.transports import problems
from pilothouse.mcp.client.transports.detection import channel_to, ways
from pilothouse.mcp.client.transports.remote import Found, Target
from tests.mcp.client.transports.channel_client import open_channel
from tests.support.certificates import SelfSigned
from tests.support.mcp_gateway import OldGateway, Socket, Streamable
from tests.support.tiny_http import Answer, Request, TinyHttp


async def found_at(target: Target, method: str = "ping") -> Found:
    channel = channel_to(target)
    async with open_channel(channel) as talk:
        assert await talk.ask(method) == {}
        assert await talk.ask("ping") == {}
        return channel.found


async def failure(url: str, **more: Any) -> ChannelError:
    with pytest.raises(ChannelError) as caught:
        async with open_channel(channel_to(Target(url=url, **more))) as talk:
            await talk.ask("initialize")
    return caught.value


@pytest.mark.case("TRN-03", "TRN-05")
async def test_streamable_http_is_found_with_the_first_request() -> None:
    async with TinyHttp(Streamable()) as server:
        found = await found_at(Target(url=f"{server.url}/mcp"))
        assert found == Found("streamable", f"{server.url}/mcp")
        assert [request.method for request in server.requests] == ["POST", "POST"]


@pytest.mark.case("TRN-02", "TRN-06", "TST-06")
@pytest.mark.parametrize("path", ["/sse", "", "/"])
async def test_a_gateway_is_found_at_its_stream(path: str) -> None:
    async with TinyHttp(OldGateway()) as server:
        assert await found_at(Target(url=f"{server.url}{path}")) == Found("sse", f"{server.url}/sse")


@pytest.mark.case("TRN-01", "TRN-06", "TRN-12")
@pytest.mark.parametrize(("typed", "path"), [("ws", "/"), ("ws", "/ws"), ("http", "/ws")])
async def test_a_websocket_is_found(typed: str, path: str) -> None:
    async with Socket(path=path).running() as server:
        url = f"{server.url.replace('http', typed)}{'/ws' if path == '/ws' else ''}"
        assert (await found_at(Target(url=url))).wire == "websocket"


@pytest.mark.case("REG-01")
@pytest.mark.parametrize("path", ["/", "/mcp", "/some/where"])
async def test_a_websocket_server_that_drops_a_post_is_found(path: str) -> None:
    async with Socket(path=path).running() as server:
        url = f"{server.url}{path}"
        assert await found_at(Target(url=url)) == Found("websocket", url.replace("http", "ws", 1))


async def test_a_call_that_was_dropped_is_not_sent_again_over_a_websocket() -> None:
    async with Socket(path="/mcp").running() as server:
        with pytest.raises(ChannelError) as caught:
            async with open_channel(channel_to(Target(url=f"{server.url}/mcp"))) as talk:
                await talk.ask("tools/call")
        assert "broke" in caught.value.message
        assert server.seen == []


@pytest.mark.case("TRN-06")
def test_events_come_before_a_websocket_for_a_gateway() -> None:
    wires = [found.wire for found in ways(Target(url="http://127.0.0.1:8811"))]
    assert wires == ["streamable", "sse", "streamable", "sse", "websocket"]


async def test_what_worked_before_is_tried_first() -> None:
    async with TinyHttp(OldGateway()) as server:
        known = Found("sse", f"{server.url}/sse")
        assert await found_at(Target(url=server.url, remembered=known)) == known
        assert server.requests[0].method == "GET"


async def test_what_worked_elsewhere_is_not_tried() -> None:
    async with TinyHttp(Streamable()) as server:
        known = Found("sse", "http://evil.example/sse")
        assert (await found_at(Target(url=f"{server.url}/mcp", remembered=known))).wire == "streamable"


async def test_a_server_that_changed_its_wire_is_found_again() -> None:
    async with TinyHttp(Streamable()) as server:
        known = Found("sse", f"{server.url}/mcp")
        assert (await found_at(Target(url=f"{server.url}/mcp", remembered=known))).wire == "streamable"


async def test_a_chosen_wire_is_the_only_one_tried() -> None:
    async with TinyHttp(OldGateway()) as server:
        error = await failure(f"{server.url}/sse", wire="streamable")
        assert error.status == 405
        assert (await found_at(Target(url=f"{server.url}/sse", wire="sse"))).wire == "sse"


async def test_a_first_request_that_is_given_up_does_not_end_the_search() -> None:
    stalling = True

    async def answer(request: Request) -> Answer:
        if stalling:
            never: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
            return await never
        return Streamable()(request)

    async with TinyHttp(answer) as server, open_channel(channel_to(Target(url=f"{server.url}/mcp"))) as talk:
        number = await talk.send("server/discover")
        async with asyncio.timeout(5):
            await server.asked.wait()
        stalling = False
        talk.channel.abandon(number)
        await talk.tell("notifications/cancelled", {"requestId": number})
        assert await talk.ask("ping") == {}


async def test_a_lost_session_is_told_through_the_search() -> None:
    place = Streamable(session="s")
    async with TinyHttp(place) as server, open_channel(channel_to(Target(url=f"{server.url}/mcp"))) as talk:
        await talk.shake_hands()
        place.forgotten = True
        await talk.send("tools/list")
        error = await talk.end()
    assert error is not None
    assert error.message == "127.0.0.1 has ended the session."


# --- one sentence each ---------------------------------------------------------------------------


@pytest.mark.case("ERR-10", "ERR-11")
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer(401), "Authentication failed. Check your API key."),
        (Answer(403), "127.0.0.1 refuses access (403)."),
        (Answer(404), "127.0.0.1 has no MCP server at this address (404)."),
        (Answer(429, b"", {"Retry-After": "12"}), "Rate limited. Try again in 12 seconds."),
        (Answer(503), "127.0.0.1 is not available at the moment (503)."),
        (Answer(500), "127.0.0.1 failed (500)."),
        (Answer(418), "127.0.0.1 answers 418 and not as an MCP server does."),
        (
            Answer(200, b"<!doctype html><title>x", {"Content-Type": "text/html"}),
            "127.0.0.1 answers with a web page, not as an MCP server.",
        ),
        (
            Answer(404, b"<html>not here", {"Content-Type": "text/html"}),
            "127.0.0.1 answers with a web page, not as an MCP server.",
        ),
    ],
)
async def test_an_answer_that_is_no_mcp_is_told_in_one_sentence(answer: Answer, message: str) -> None:
    async with TinyHttp(lambda request: answer) as server:
        error = await failure(f"{server.url}/some/secret-path?token=t0ken")
    assert error.message == message
    assert error.fix or error.status == 429
    assert "secret-path" not in f"{error.message} {error.fix}"
    assert "t0ken" not in f"{error.message} {error.fix}"


async def test_a_page_that_only_a_get_shows_is_told_as_a_page() -> None:
    def site(request: Request) -> Answer:
        return Answer(405) if request.method == "POST" else Answer(200, b"<html>", {"Content-Type": "text/html"})

    async with TinyHttp(site) as server:
        assert "web page" in (await failure(f"{server.url}/about")).message


async def test_a_site_that_takes_no_post_and_opens_no_websocket_is_told_as_a_page() -> None:
    def site(request: Request) -> Answer:
        page = {"Content-Type": "text/html"}
        return Answer(501, b"<html>", page) if request.method == "POST" else Answer(200, b"<html>", page)

    async with TinyHttp(site) as server:
        assert "web page" in (await failure(server.url)).message


async def test_a_server_that_is_not_there_is_told() -> None:
    async with TinyHttp(lambda request: Answer()) as server:
        pass
    error = await failure(f"{server.url}/mcp")
    assert error.message == f"No connection to 127.0.0.1 on port {server.port}: nothing listens there."
    assert not error.sent


async def test_a_server_of_another_protocol_is_told() -> None:
    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        writer.write(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(other, "127.0.0.1", 0)
    try:
        error = await failure(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp")
    finally:
        server.close()
        await server.wait_closed()
    assert error.message == "The connection to 127.0.0.1 broke: its answer is not HTTP."


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error": {"code": 7, "message": "The key\\u001b[31m is\\n too old"}}', "The key is too old"),
        (b'{"error": "invalid_token", "error_description": "It ended yesterday"}', "It ended yesterday"),
        (b'{"detail": [{"msg": "no such tenant"}]}', "no such tenant"),
        (b"No route /some/secret-path?token=t0ken here", "No route …?… here"),
        (b"word " * 200, "word word"),
    ],
)
async def test_what_a_server_says_about_a_failure_is_told_to_the_person_alone(body: bytes, said: str) -> None:
    async with TinyHttp(lambda request: Answer(403, body, {"Content-Type": "application/json"})) as server:
        error = await failure(f"{server.url}/some/secret-path?token=t0ken")
    assert f"It says: “{said}" in error.message
    assert "It says" not in error.outline
    assert "t0ken" not in error.message
    assert len(error.message) < 450
    assert error.message.isprintable()


async def test_a_name_server_that_does_not_answer_is_no_typing_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent(*args: object, **more: object) -> list[object]:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(problems, "is_offline", lambda host: False)
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", silent)
    error = await failure("https://mcp.example/mcp")
    assert error.message.startswith("The name mcp.example cannot be looked up at the moment")
    assert "typing" not in error.fix


@pytest.mark.case("F-23")
async def test_a_name_that_is_not_known_is_named() -> None:
    error = await failure("https://no-such-host.example/mcp")
    assert error.message == "The name no-such-host.example is not known."


@pytest.mark.case("ERR-12")
async def test_a_machine_without_a_network_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problems, "is_offline", lambda host: True)
    assert (await failure("https://no-such-host.example/mcp")).message == "Network unavailable. Check connection."


@pytest.mark.parametrize("url", ["", "hello", "ftp://x.example/", "http://", "http://a b/", "http://u:p@x.example/"])
async def test_an_address_that_is_none_is_told(url: str) -> None:
    assert (await failure(url)).message.startswith("The address cannot be used: ")


# --- certificates --------------------------------------------------------------------------------


@pytest.mark.case("NET-11", "TRN-29")
@pytest.mark.parametrize("days", [2, -1])
async def test_a_certificate_that_nobody_vouches_for_is_refused_and_shown(tmp_path: Path, days: int) -> None:
    own = SelfSigned(tmp_path, days=days)
    async with TinyHttp(Streamable(), own.server()) as server:
        error = await failure(f"{server.url}/mcp", headers={"Authorization": "Bearer t"})
        assert server.requests == []
    assert error.message.startswith("No safe connection to 127.0.0.1, because its certificate is not trusted: ")
    assert own.fingerprint in error.fix
    assert error.certificate == own.fingerprint


@pytest.mark.case("NET-11", "TRN-29")
async def test_a_certificate_that_the_person_accepted_is_trusted(tmp_path: Path) -> None:
    own = SelfSigned(tmp_path)
    pretty = ":".join(own.fingerprint[at : at + 2].upper() for at in range(0, 64, 2))
    async with TinyHttp(Streamable(), own.server()) as server:
        for accepted in (own.fingerprint, pretty, f"SHA256:{own.fingerprint}"):
            assert (await found_at(Target(url=f"{server.url}/mcp", certificate=accepted))).wire == "streamable"


@pytest.mark.case("NET-11")
async def test_an_accepted_certificate_is_trusted_for_nothing_else(tmp_path: Path) -> None:
    own, other = SelfSigned(tmp_path), SelfSigned(tmp_path, days=3)
    async with TinyHttp(Streamable(), other.server()) as server:
        error = await failure(f"{server.url}/mcp", certificate=own.fingerprint)
        assert server.requests == []
    assert "another one than the one you accepted" in error.message


@pytest.mark.case("F-24")
async def test_a_handshake_that_stalls_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from pilothouse.types import limits

    monkeypatch.setattr(limits, "CONNECT_TIMEOUT", 0.2)
    held: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda reader, writer: held.append(writer), "127.0.0.1", 0)
    try:
        port = server.sockets[0].getsockname()[1]
        error = await failure(f"https://127.0.0.1:{port}/mcp")
        assert error.message == f"No connection to 127.0.0.1 on port {port}: no connection came about in time."
        error = await failure(f"wss://127.0.0.1:{port}/mcp", connect_timeout=0.2)
        assert "within 0.2 s" in error.message
    finally:
        for writer in held:
            writer.transport.abort()
        server.close()
        await server.wait_closed()


# --- access --------------------------------------------------------------------------------------


class Tokens:
    """Gives out one token after the other."""

    def __init__(self, *tokens: str) -> None:
        self._tokens = list(tokens)
        self.refusals: list[Refusal] = []

    async def headers(self, url: str) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self._tokens[0]}"}

    async def challenged(self, refusal: Refusal) -> bool:
        self.refusals.append(refusal)
        if len(self._tokens) == 1:
            return False
        self._tokens.pop(0)
        return True


def guarded_by(place: Any, token: str) -> Any:
    def answer(request: Request) -> Answer:
        if request.headers.get("authorization") != f"Bearer {token}":
            return Answer(401, b"", {"WWW-Authenticate": 'Bearer error="invalid_token"', "Connection": "close"})
        answered: Answer = place(request)
        return answered

    return answer


@pytest.mark.parametrize("place", [Streamable(), OldGateway()])
async def test_a_refused_token_is_renewed_and_the_request_sent_again(place: Any) -> None:
    tokens = Tokens("old", "new")
    async with TinyHttp(guarded_by(place, "new")) as server:
        path = "/mcp" if isinstance(place, Streamable) else "/sse"
        await found_at(Target(url=f"{server.url}{path}", access=tokens))
    assert len(tokens.refusals) == 1
    refusal = tokens.refusals[0]
    assert (refusal.status, refusal.attempt) == (401, 1)
    assert refusal.www_authenticate == 'Bearer error="invalid_token"'
    assert refusal.sent == {"Authorization": "Bearer old"}


@pytest.mark.case("ERR-10")
async def test_a_token_that_stays_refused_is_told() -> None:
    tokens = Tokens("a", "b", "c", "d", "e", "f", "g")
    async with TinyHttp(guarded_by(Streamable(), "never")) as server:
        error = await failure(f"{server.url}/mcp", access=tokens)
        assert len(server.requests) == 4
    assert error.message == "Authentication failed. Check your API key."
    assert error.status == 401


@pytest.mark.case("NET-04", "NET-05", "TRN-26")
async def test_a_redirect_stays_with_the_server_that_the_person_named() -> None:
    place = Streamable()
    async with TinyHttp(place) as other:

        def moved(request: Request) -> Answer:
            if request.target == "/mcp":
                return place(request)
            target = "/mcp" if request.target == "/here" else f"{other.url}/mcp"
            return Answer(307, b"", {"Location": target})

        async with TinyHttp(moved) as server:
            assert (await found_at(Target(url=f"{server.url}/here"))).wire == "streamable"
            error = await failure(f"{server.url}/away", headers={"X-Api-Key": "k"})
        assert (
            error.message == "127.0.0.1 leads elsewhere: it sends us on to http://127.0.0.1, which is another server."
        )
        assert other.requests == []
