"""Servers, tools and results over HTTP: what reaches the core, and how bytes from anywhere leave it."""

from __future__ import annotations

import pytest

from pilothouse.types.api import PartData
from pilothouse.types.json import convert
from pilothouse.types.ports import Part
from pilothouse.types.records import KeptResult
from pilothouse.types.servers import ServerInput, ToolTry
from tests.support.in_process_server import BEARER, RunningServer

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8


async def test_a_fixed_path_is_no_servers_id(server: RunningServer) -> None:
    for path in ("/api/servers/status", "/api/tools", "/api/traffic?after=7&server=s_1"):
        assert (await server.http.get(path, headers=BEARER)).status_code == 200
    assert server.host.calls[-1] == ("get_traffic", (7, "s_1"))
    imported = await server.http.post("/api/servers/import", json={"text": '{"mcpServers": {}}'}, headers=BEARER)
    assert imported.json()["message"] == "There are no MCP servers in this file."
    assert (await server.http.get("/api/traffic?after=-1", headers=BEARER)).status_code == 400


async def test_a_form_reaches_the_core_as_it_was_sent(server: RunningServer) -> None:
    form = {"url": "https://example.com/mcp", "headers": {"X-Key": "a secret"}, "wire": "sse", "enabled": False}
    answer = await server.http.post("/api/servers", json=form, headers=BEARER)
    assert answer.status_code == 201
    body = ServerInput(url="https://example.com/mcp", headers={"X-Key": "a secret"}, wire="sse", enabled=False)
    assert server.host.calls == [("add_server", (body,))]
    for wrong in ({"wire": "pigeon"}, {"colour": "red"}, {"env": ["A=B"]}, {"args": "-y"}):
        answer = await server.http.post("/api/servers", json=wrong, headers=BEARER)
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
    assert len(server.host.calls) == 1


async def test_a_server_is_changed_by_its_id_and_an_unknown_one_is_not_found(server: RunningServer) -> None:
    made = await server.http.post("/api/servers", json={"url": "https://example.com/mcp"}, headers=BEARER)
    path = f"/api/servers/{made.json()['id']}"
    off = await server.http.patch(path, json={"enabled": False}, headers=BEARER)
    assert (off.status_code, off.json()["enabled"]) == (200, False)
    tried = {"serverId": made.json()["id"], "tool": "echo", "arguments": {"text": "hi"}}
    assert (await server.http.post("/api/tools/try", json=tried, headers=BEARER)).status_code == 409
    assert server.host.calls[-1] == ("try_tool", (convert(tried, ToolTry),))
    for verb in ("retry", "test"):
        assert (await server.http.post(f"{path}/{verb}", headers=BEARER)).status_code == 409
        assert (await server.http.post(f"/api/servers/s_2/{verb}", headers=BEARER)).status_code == 404
    confirmed = {"name": "echo", "fingerprint": "1"}
    assert (await server.http.post(f"{path}/tools/confirm", json=confirmed, headers=BEARER)).status_code == 409
    assert (await server.http.delete(path, headers=BEARER)).status_code == 204
    assert (await server.http.delete(path, headers=BEARER)).status_code == 404


async def _file(server: RunningServer, part: PartData) -> dict[str, str]:
    """Return the headers that a piece of a result is sent with."""
    conversation = await server.new_conversation()
    sent = await server.http.post(f"/api/conversations/{conversation}/messages", json={"text": "Hi"}, headers=BEARER)
    item_id, kept = (
        sent.json()["itemId"],
        Part(kind="resource", data=part.data, media_type=part.media_type, name=part.name),
    )
    await server.host.api._records.keep_result(KeptResult(item_id, conversation, (kept,)))
    answer = await server.http.get(f"/api/items/{item_id}/parts/0", headers=BEARER)
    assert (answer.status_code, answer.content) == (200, part.data)
    return dict(answer.headers)


@pytest.mark.case("UI-07")
async def test_an_image_out_of_a_result_is_shown_in_place(server: RunningServer) -> None:
    headers = await _file(server, PartData("image/png", "chart.png", PNG))
    assert headers["content-type"] == "image/png"
    assert headers["content-disposition"].startswith('inline; filename="chart.png"')


@pytest.mark.case("UI-06")
@pytest.mark.parametrize(
    "media", ["text/html", "image/svg+xml", "application/xhtml+xml", "text/javascript", "", "x\r\ny"]
)
@pytest.mark.slow
async def test_a_file_that_a_browser_could_run_is_only_ever_saved(server: RunningServer, media: str) -> None:
    headers = await _file(server, PartData(media, "page.html", b"<script>alert(1)</script>"))
    assert headers["content-type"] == "application/octet-stream"
    assert headers["content-disposition"].startswith("attachment;")
    assert headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in headers["content-security-policy"]
    assert "script-src 'self'" in headers["content-security-policy"]


@pytest.mark.parametrize(
    ("name", "saved"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\windows\\evil.exe", "evil.exe"),
        ('a";\r\nset-cookie: x=y', "a____set-cookie_ x_y"),
        ("", "result"),
        ("...", "result"),
        ("Bericht für Zoë.pdf", "Bericht f_r Zo_.pdf"),
        ("\u202egpj.exe", "_gpj.exe"),
    ],
)
@pytest.mark.slow
async def test_a_files_name_is_a_name_and_nothing_else(server: RunningServer, name: str, saved: str) -> None:
    headers = await _file(server, PartData("application/pdf", name, b"%PDF"))
    assert f'filename="{saved}"' in headers["content-disposition"]
    assert "set-cookie" not in headers


async def test_a_piece_that_has_no_number_is_not_found(server: RunningServer) -> None:
    for index in ("x", "-1", "1.5", "9" * 40, "²"):
        answer = await server.http.get(f"/api/items/i_1/parts/{index}", headers=BEARER)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
