"""The page never talks to a server of tools: the host does, over whatever wire, however the page itself came."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from pilothouse.net.proxies import proxy_for
from pilothouse.web.guard import CONTENT_POLICY
from pilothouse.web.run import ServerOptions
from pilothouse.wiring import open_host
from tests.support.in_process_server import TOKEN, serve_host
from tests.support.mcp_gateway import Socket, Streamable
from tests.support.tiny_http import TinyHttp

NAME = "pilot.example.org"


@pytest.mark.case("TRN-28")
@pytest.mark.parametrize("wire", ["http", "ws"])
@pytest.mark.slow
async def test_a_page_over_https_uses_servers_over_plain_http_and_ws(home: Path, wire: str) -> None:
    options = ServerOptions(home=home, token=TOKEN, allowed_hosts=(NAME,))
    async with (
        TinyHttp(Streamable()) as plain,
        Socket().running() as socket,
        open_host(home, role="server") as host,
        serve_host(host.api, options) as server,
    ):
        url = f"{plain.url}/mcp" if wire == "http" else f"ws://127.0.0.1:{socket.port}/"
        # As a proxy that ends TLS passes on what the browser sent.
        page = {"host": NAME, "origin": f"https://{NAME}", "authorization": f"Bearer {TOKEN}"}
        made = await server.http.post("/api/servers", json={"name": "Far", "url": url}, headers=page)
        assert made.status_code == 201, made.text
        tested = await server.http.post(f"/api/servers/{made.json()['id']}/test", headers=page)
        assert tested.json()["ok"], tested.text


@pytest.mark.case("TRN-28", "TRN-30")
def test_the_page_may_talk_to_its_own_server_and_to_nobody_else() -> None:
    assert "connect-src 'self'" in CONTENT_POLICY.split("; ")


@pytest.mark.case("TRN-30")
def test_the_proxy_of_the_persons_environment_is_used_and_never_for_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example.com:3128")
    monkeypatch.setenv("http_proxy", "proxy.example.com:3128")
    for url in ("https://mcp.example.org/mcp", "wss://mcp.example.org/", "http://mcp.example.org/", "ws://mcp.org/"):
        assert proxy_for(url) == "http://proxy.example.com:3128"
    assert proxy_for("http://127.0.0.1:8000/mcp") is None


@pytest.mark.case("TRN-30")
@pytest.mark.slow
async def test_a_request_that_is_blocked_is_logged_but_not_as_often_as_someone_likes(home: Path) -> None:
    evil = {"origin": "https://evil.example", "authorization": f"Bearer {TOKEN}"}
    async with open_host(home) as host, serve_host(host.api, ServerOptions(home=home, token=TOKEN)) as server:
        for _ in range(50):
            assert (await server.http.get("/api/servers", headers=evil)).status_code == 403
        assert (await server.http.get("/api/servers", headers={"authorization": f"Bearer {TOKEN}"})).status_code == 200
    lines = (home / "logs" / "pilothouse.log").read_text(encoding="utf-8").splitlines()
    told = [record for record in map(json.loads, lines) if record["message"].startswith("refused ")]
    assert 1 <= len(told) < 10
    assert told[0]["level"] == logging.getLevelName(logging.INFO).lower()
    assert told[0]["message"].startswith("refused /api/servers from https://evil.example: ")
    assert TOKEN not in json.dumps(told)
