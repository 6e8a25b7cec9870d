"""The local HTTP server under load: too much, too slow, too deep, and clients that break off (WEB-11, F-41)."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from pilothouse.types import limits
from tests.support.in_process_server import (
    BEARER,
    PATIENCE,
    TOKEN,
    RunningServer,
    complaints,
    read_answer,
)


def request_bytes(host_lines: str, path: str = "/api/models") -> bytes:
    return f"GET {path} HTTP/1.1\r\n{host_lines}Authorization: Bearer {TOKEN}\r\n\r\n".encode()


# --- WEB-11: too much -------------------------------------------------------------------------------


def post_head(server: RunningServer, *fields: str, path: str = "/api/conversations") -> bytes:
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: {server.authority}",
        f"Authorization: Bearer {TOKEN}",
        "Content-Type: application/json",
        *fields,
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


@pytest.mark.case("WEB-11")
async def test_a_gigabyte_is_refused_when_it_is_announced(server: RunningServer) -> None:
    answer = await server.raw(post_head(server, f"Content-Length: {1024**3}"))
    assert (answer.status, answer.headers["connection"]) == (413, "close")
    assert json.loads(answer.body)["message"] == "The request is larger than 4 MiB."
    assert server.host.calls == []


@pytest.mark.case("WEB-11")
async def test_a_body_without_a_length_is_refused_at_the_limit(server: RunningServer) -> None:
    chunk = b"40000\r\n" + b"x" * 0x40000 + b"\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", server.listener.port)
    async with asyncio.timeout(PATIENCE):
        writer.write(post_head(server, "Transfer-Encoding: chunked"))
        # A little more than the limit, and never the end.
        for _ in range(limits.BODY_BYTES // 0x40000 + 1):
            writer.write(chunk)
            await writer.drain()
        assert (await read_answer(reader)).status == 413
    writer.close()
    assert (await server.http.get("/api/health")).status_code == 200
    assert server.host.calls == []


@pytest.mark.case("WEB-11")
async def test_a_message_may_be_larger_than_other_requests(server: RunningServer) -> None:
    conversation = await server.new_conversation()
    text = "x" * (limits.BODY_BYTES + 1)
    path = f"/api/conversations/{conversation}/messages"
    # It is read and looked at; that much text in one message is another matter.
    read = await server.http.post(path, json={"text": text}, headers=BEARER)
    assert read.json()["message"].startswith("The message has 4,194,305 characters")
    unread = await server.http.post("/api/conversations", json={"title": text}, headers=BEARER)
    assert (unread.status_code, unread.json()["message"]) == (413, "The request is larger than 4 MiB.")


@pytest.mark.case("WEB-11")
async def test_a_body_that_trickles_in_is_given_up(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_TIMEOUT", 0.2)
    answer = await server.raw(post_head(server, "Content-Length: 100") + b'{"title":')
    assert answer.status == 400
    assert "too long" in json.loads(answer.body)["message"]


@pytest.mark.case("WEB-11")
async def test_a_head_that_trickles_in_is_given_up(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HEAD_TIMEOUT", 0.2)
    for start in (b"", b"GET /api/health HTTP/1.1\r\nHost: localh"):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.listener.port)
        writer.write(start)
        async with asyncio.timeout(PATIENCE):
            assert await reader.read() == b""
        writer.close()


@pytest.mark.case("WEB-11")
@pytest.mark.parametrize(
    "fields",
    ["".join(f"X-{n}: 1\r\n" for n in range(10_000)), "X: " + "y" * 200_000 + "\r\n", "X: " + "y" * 200_000],
    ids=["many fields", "a long field", "a field without end"],
)
async def test_a_head_that_is_too_large_is_refused(server: RunningServer, fields: str) -> None:
    end = "\r\n" if fields.endswith("\r\n") else ""
    answer = await server.raw(f"GET /api/health HTTP/1.1\r\nHost: localhost\r\n{fields}{end}".encode())
    assert (answer.status, json.loads(answer.body)["code"]) == (400, "bad_request")
    assert (await server.http.get("/api/health")).status_code == 200


@pytest.mark.case("WEB-11")
async def test_an_address_that_is_too_long_is_refused(server: RunningServer) -> None:
    answer = await server.raw(b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert answer.status == 400


@pytest.mark.case("WEB-11")
@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"title":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
        b"[" + b"[]," * 500_000 + b"[]]",
    ],
    ids=["unclosed", "closed", "objects", "wide"],
)
async def test_deep_json_is_refused_before_it_is_decoded(server: RunningServer, body: bytes) -> None:
    headers = {**BEARER, "content-type": "application/json"}
    answer = await server.http.post("/api/conversations", content=body, headers=headers)
    assert answer.status_code == 400
    assert "nested" in answer.json()["message"]
    assert server.host.calls == []


@pytest.mark.case("WEB-11")
async def test_brackets_in_a_text_are_text(server: RunningServer) -> None:
    title = "[{" * 2_000 + '\\"[' * 500
    answer = await server.http.post("/api/conversations", json={"title": title}, headers=BEARER)
    assert (answer.status_code, answer.json()["title"][:40]) == (201, title[:40])


# --- F-41: clients that break off -------------------------------------------------------------------


@pytest.mark.case("F-41")
async def test_a_client_that_leaves_at_any_byte_harms_nobody(
    server: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    body = b'{"title":"x"}'
    whole = post_head(server, f"Content-Length: {len(body)}") + body
    for length in range(0, len(whole), 3):
        _, writer = await asyncio.open_connection("127.0.0.1", server.listener.port)
        writer.write(whole[:length])
        await writer.drain()
        writer.transport.abort()
    assert (await server.http.get("/api/health")).status_code == 200
    assert not complaints(caplog)


@pytest.mark.case("F-41")
async def test_a_reader_that_leaves_at_any_byte_of_the_answer_harms_nobody(
    server: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    request = request_bytes("Host: localhost\r\n")
    whole = len((await server.raw(request)).body) + 600
    for length in range(1, whole, 37):
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.listener.port)
            writer.write(request)
            await reader.read(length)
            writer.transport.abort()
    assert (await server.http.get("/api/health")).status_code == 200
    assert not complaints(caplog)


MALFORMED = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"\r\n\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\nHost localhost\n\n",
    b"\xff\xfe\x00GET / HTTP/1.1\r\n\r\n",
    b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"CONNECT example.com:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET http://[ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET /api/ws HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    b"GET /api/ws HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
)


@pytest.mark.case("F-41")
async def test_what_is_not_http_gets_a_refusal_and_harms_nobody(
    server: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    for data in MALFORMED:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.listener.port)
        writer.write(data)
        writer.write_eof()
        async with asyncio.timeout(PATIENCE):
            answer = await reader.read(64 * 1024)
        writer.close()
        assert not answer or re.match(rb"HTTP/1\.1 4\d\d ", answer), data
    assert (await server.http.get("/api/health")).status_code == 200
    assert not complaints(caplog)
