"""Hundreds of WebSockets that are opened and left: each is answered, the server goes on, and nothing of them stays."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from tests.faults.test_readers import _UPGRADE, _client, _frame, until_answered
from tests.support.servers import TOKEN, Server
from tests.support.waiting import until

SOCKETS = 500
# So few connections are room for: of the files that may be open, half are for clients.
FILES = 256
# What closes without a word: the other side hears of a broken connection.
_AT_ONCE = struct.pack("ii", 1, 0)


@contextlib.contextmanager
def _crowd(server: Server, first: bytes) -> Iterator[list[tuple[socket.socket, int]]]:
    """Open many WebSockets, each with the status that it was answered."""
    where = urlsplit(server.url)
    assert where.hostname is not None
    head = f"GET /api/ws HTTP/1.1\r\nHost: {where.netloc}\r\nAuthorization: Bearer {TOKEN}\r\n".encode()
    with contextlib.ExitStack() as stack:
        crowd = []
        for _ in range(SOCKETS):
            one = stack.enter_context(socket.create_connection((where.hostname, where.port), timeout=20))
            # Whoever there is no room for is told so before it asks, and then nobody hears it.
            with contextlib.suppress(OSError):
                one.sendall(head + _UPGRADE)
            crowd.append((one, int(one.recv(12)[9:12])))
            if crowd[-1][1] == 101:
                one.sendall(first)
        yield crowd


def _open(server: Server) -> int:
    """Return how many connections a server has."""
    folder = f"/proc/{server.process.pid}/fd"
    count = 0
    for name in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            count += os.readlink(f"{folder}/{name}").startswith("socket:")
    return count


def _leave(crowd: list[tuple[socket.socket, int]]) -> None:
    """Leave without a goodbye: some close, some are gone."""
    for number, (one, _) in enumerate(crowd):
        if number % 2:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        one.close()


def _script(tmp_path: Path) -> Path:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": ["Yes."]}), encoding="utf-8")
    return script


def test_hundreds_that_watch_and_leave_without_a_word_leave_nothing_behind(tmp_path: Path) -> None:
    with Server(tmp_path / "home") as server, _client(server) as client:
        made = client.post("/api/conversations", json={"title": "Watched"}).json()["id"]
        before = _open(server)
        with _crowd(server, _frame({"op": "subscribe", "conversationId": made, "after": 0})) as crowd:
            assert Counter(status for _, status in crowd) == {101: SOCKETS}
            assert _open(server) - before >= SOCKETS
            assert until_answered(client, made, _script(tmp_path))
            for one, _ in (crowd[0], crowd[-1]):
                seen = b""
                while b'"status":"completed"' not in seen:
                    piece = one.recv(65_536)
                    assert piece, seen
                    seen += piece
            _leave(crowd)
            until(lambda: _open(server) <= before, "their connections to end", 30)
        assert until_answered(client, made, _script(tmp_path))


def test_those_beyond_the_room_are_each_told_and_when_they_leave_there_is_room_again(tmp_path: Path) -> None:
    with Server(tmp_path / "home", files=(FILES, FILES)) as server, _client(server) as client:
        made = client.post("/api/conversations", json={"title": "Crowded"}).json()["id"]
        before = _open(server)
        with _crowd(server, b"") as crowd:
            told = Counter(status for _, status in crowd)
            print(f"{SOCKETS} sockets and {FILES} files: {dict(told)}")
            assert set(told) == {101, 503}
            assert 0 < told[101] < FILES
            assert _open(server) < FILES
            assert until_answered(client, made, _script(tmp_path))
            _leave(crowd)
        until(lambda: _open(server) <= before, "their connections to end", 30)
        with _crowd(server, b"") as crowd:
            # Save for one or two that are on their way out.
            assert Counter(status for _, status in crowd)[101] >= told[101] - 2
