"""Files and connections are bounded: the bound is as high as it may be, and running into it is told."""

from __future__ import annotations

import contextlib
import json
import resource
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.faults.test_readers import _client
from tests.support.servers import Server
from tests.support.waiting import until

SOME = 60


def _limits(server: Server) -> list[str]:
    lines = Path(f"/proc/{server.process.pid}/limits").read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if line.startswith("Max open files")).split()[3:5]


@contextlib.contextmanager
def _crowd(server: Server, count: int) -> Iterator[list[socket.socket]]:
    """Connect many clients that say nothing."""
    where = urlsplit(server.url)
    assert where.hostname is not None
    with contextlib.ExitStack() as stack:
        address = (where.hostname, where.port)
        yield [stack.enter_context(socket.create_connection(address, timeout=60)) for _ in range(count)]


def test_the_limit_of_open_files_is_raised_to_what_is_allowed(tmp_path: Path) -> None:
    with Server(tmp_path / "home", files=(256, 8_192)) as server:
        assert _limits(server) == ["8192", "8192"]
        assert "may be open at once" not in server.log.read_text(encoding="utf-8")


def test_few_open_files_are_said_at_the_start(tmp_path: Path) -> None:
    with Server(tmp_path / "home", files=(128, 256)) as server:
        assert _limits(server) == ["256", "256"]
        assert "Only 256 files and connections may be open at once" in server.log.read_text(encoding="utf-8")


def test_more_clients_than_there_is_room_for_are_told_and_the_others_go_on(tmp_path: Path) -> None:
    with Server(tmp_path / "home", files=(128, 128)) as server, _client(server) as client:
        made = client.post("/api/conversations", json={"title": "Crowded"}).json()
        with _crowd(server, 64 + SOME) as crowd:
            answer = until(lambda: crowd[-1].recv(65_536), "the last one is told", 60)
            head, _, body = answer.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 503 ")
            assert b"retry-after: 5" in head.lower()
            assert json.loads(body)["message"] == "Too many clients are connected to this server at once."
            for path in ("/api/servers", "/api/tools", "/api/models", "/api/conversations", "/api/search?q=x", "/"):
                assert client.get(path).status_code == 200, path
            sent = client.post(f"/api/conversations/{made['id']}/messages", json={"text": "Still here?"})
            assert sent.status_code == 202
            until(lambda: _ended(client, sent.json()["runId"]), "the run goes on", 60)


def _ended(client: httpx2.Client, run_id: str) -> bool:
    status = client.get(f"/api/runs/{run_id}").json()["status"]
    assert status in ("queued", "running", "completed"), status
    return bool(status == "completed")


@pytest.mark.parametrize("path", ["/api/servers", "/api/tools"])
def test_running_out_of_files_is_told_as_that(tmp_path: Path, path: str) -> None:
    # Just enough to start with: what is opened later finds none left.
    with Server(tmp_path / "home", files=(128, 128)) as server, _client(server) as client:
        assert client.get("/api/health").status_code == 200
        used = len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (used, 128))
        answer = client.get(path)
        assert (answer.status_code, answer.json()["code"]) == (503, "too_many_files")
        assert answer.json()["message"] == "Too many files and connections are open at once."
