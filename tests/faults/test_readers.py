"""Readers that do not read hold little, however much there is to read, and miss nothing once they read again.

`FAULTS_SECONDS=600` has the model say 30 MB.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.faults import chance
from tests.support.servers import TOKEN, Server
from tests.support.waiting import until

READERS = 100
MEGABYTES = max(20, min(30, round(chance.SECONDS / 20)))
# For all readers together: some hundred KB each.
MOST = 60
LINE = "All work and no play makes for a long answer, and nobody reads it. "


@contextlib.contextmanager
def _client(server: Server) -> Iterator[httpx2.Client]:
    headers = {"authorization": f"Bearer {TOKEN}"}
    with httpx2.Client(base_url=server.url, headers=headers, trust_env=False, timeout=60) as client:
        yield client


def _peak(server: Server) -> float:
    """Return the most memory that the server has had, in MB."""
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


@contextlib.contextmanager
def _readers(server: Server, ask: str, first: bytes = b"") -> Iterator[list[socket.socket]]:
    """Connect many who ask for something and take next to nothing of it."""
    where = urlsplit(server.url)
    assert where.hostname is not None
    head = f"{ask}\r\nHost: {where.netloc}\r\nAuthorization: Bearer {TOKEN}\r\n"
    with contextlib.ExitStack() as stack:
        crowd = []
        for _ in range(READERS):
            one = stack.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.connect((where.hostname, where.port))
            one.settimeout(60)
            one.sendall(head.encode())
            one.sendall(b"\r\n" if not first else _UPGRADE)
            until(lambda one=one: one.recv(1), "the head of the answer")  # type: ignore[misc]
            one.sendall(first)
            crowd.append(one)
        yield crowd


_UPGRADE = (
    b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
    + base64.b64encode(b"0123456789abcdef")
    + b"\r\n\r\n"
)


def _frame(command: dict[str, Any]) -> bytes:
    """Return a command as a WebSocket client sends it."""
    body, mask = json.dumps(command).encode(), os.urandom(4)
    body = body.ljust(126)
    masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(body))
    return b"\x81" + bytes([0x80 | 126]) + len(body).to_bytes(2, "big") + mask + masked


def _script(tmp_path: Path, text: str) -> Path:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": [[{"text": text, "pieces": 50_000, "every": 0.005}]]}), encoding="utf-8")
    return script


def until_answered(client: httpx2.Client, conversation_id: str, script: Path) -> bool:
    body = {"text": "Go on.", "modelId": f"scripted:{script}"}
    run_id = client.post(f"/api/conversations/{conversation_id}/messages", json=body).json()["runId"]

    def ended() -> bool:
        status = client.get(f"/api/runs/{run_id}").json()["status"]
        assert status in ("queued", "running", "completed"), status
        return bool(status == "completed")

    return until(ended, "the answer to stand", chance.AMPLE)


def _read_on(one: socket.socket, last: int) -> tuple[list[int], str]:
    """Read a stream up to the event with this number; return the numbers that came, and the text they make."""
    # With so little room the system itself may wait minutes before it sends more to someone who reads again.
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1_000_000)
    numbers: list[int] = []
    pieces, have, rest = [], 0, b""
    with one.makefile("rb") as stream:
        while stream.readline().strip():
            pass  # the rest of the head
        body = _chunks(stream)
        while not numbers or numbers[-1] < last:
            *events, rest = (rest + next(body)).split(b"\n\n")
            for event in events:
                fields = dict(line.partition(b": ")[::2] for line in event.split(b"\n"))
                if b"id" in fields:
                    numbers.append(int(fields[b"id"]))
                if fields.get(b"event") == b"item.delta":
                    delta = json.loads(fields[b"data"])
                    assert delta["offset"] <= have, f"text is missing from {have} to {delta['offset']}"
                    pieces.append(delta["text"][have - delta["offset"] :])
                    have += len(pieces[-1])
    return numbers, "".join(pieces)


def _chunks(stream: Any) -> Iterator[bytes]:
    while size := int(stream.readline(), 16):
        yield stream.read(size)
        stream.readline()


@pytest.mark.slow
@pytest.mark.timeout(3 * chance.AMPLE)
@pytest.mark.case("F-40")
@pytest.mark.parametrize("way", ["events", "socket"])
def test_readers_that_never_read_hold_little_of_a_long_answer(tmp_path: Path, way: str) -> None:
    text = LINE * (MEGABYTES * 1_000_000 // len(LINE))
    with Server(tmp_path / "home") as server, _client(server) as client:
        # What an answer of this size takes by itself is no reader's doing.
        made: Sequence[str] = [client.post("/api/conversations", json={"title": "Long"}).json()["id"] for _ in range(2)]
        script = _script(tmp_path, text)
        until_answered(client, made[0], script)
        before = _peak(server)
        ask = f"GET /api/conversations/{made[1]}/events HTTP/1.1" if way == "events" else "GET /api/ws HTTP/1.1"
        subscribe = _frame({"op": "subscribe", "conversationId": made[1], "after": 0}) if way == "socket" else b""
        with _readers(server, ask, subscribe) as crowd:
            until_answered(client, made[1], script)
            grown = _peak(server) - before
            print(f"{READERS} readers by {way}, {MEGABYTES} MB: {before:.0f} MB without them, {grown:.0f} MB more")
            if way == "events":
                kept = client.get(f"/api/conversations/{made[1]}").json()
                numbers, seen = _read_on(crowd[0], kept["lastSeq"])
                assert numbers == list(range(1, kept["lastSeq"] + 1)), "each event once, in order"
                assert seen == text
        assert grown < MOST
