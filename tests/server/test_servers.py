"""Servers, tools and results over HTTP: what reaches the core, and how bytes from anywhere leave it."""

from __future__ import annotations

import pytest

from pilothouse.types.api import PartData
from pilothouse.types.servers import ServerInput, ToolTry
from tests.server.memory_servers import server_view
from tests.server.running import BEARER, RunningServer

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8


async def test_a_fixed_path_is_no_servers_id(server: RunningServer) -> None:
    for path in ("/api/servers/status", "/api/tools", "/api/traffic?after=7&server=s_1"):
        assert (await server.http.get(path, headers=BEARER)).status_code == 200
    assert server.host.asked == [("s_1", 7)]
    imported = await server.http.post("/api/servers/import", json={"text": "{}"}, headers=BEARER)
    assert imported.json() == {"servers": []}
    assert (await server.http.get("/api/traffic?after=-1", headers=BEARER)).status_code == 400


async def test_a_form_reaches_the_core_as_it_was_sent(server: RunningServer) -> None:
    form = {"url": "https://example.com/mcp", "headers": {"X-Key": "a secret", "X-Kept": None}, "wire": "sse"}
    answer = await server.http.post("/api/servers", json=form, headers=BEARER)
    assert answer.status_code == 201
    body = ServerInput(url="https://example.com/mcp", headers={"X-Key": "a secret", "X-Kept": None}, wire="sse")
    assert server.host.asked == [("", body)]
    for wrong in ({"wire": "pigeon"}, {"colour": "red"}, {"env": ["A=B"]}, {"args": "-y"}):
        answer = await server.http.post("/api/servers", json=wrong, headers=BEARER)
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")


async def test_a_server_is_changed_by_its_id_and_an_unknown_one_is_not_found(server: RunningServer) -> None:
    server.host.kept["s_1"] = server_view("Echo")
    tried = {"serverId": "s_1", "tool": "echo", "arguments": {"text": "hi"}}
    assert (await server.http.post("/api/tools/try", json=tried, headers=BEARER)).json()["text"] == "done"
    assert server.host.asked[-1] == ("s_1", ToolTry(server_id="s_1", tool="echo", arguments={"text": "hi"}))
    for verb in ("retry", "test"):
        assert (await server.http.post(f"/api/servers/s_1/{verb}", headers=BEARER)).status_code == 200
        assert (await server.http.post(f"/api/servers/s_2/{verb}", headers=BEARER)).status_code == 404
    confirmed = {"name": "echo", "fingerprint": "1"}
    answer = await server.http.post("/api/servers/s_1/tools/confirm", json=confirmed, headers=BEARER)
    assert answer.json()["tools"][0]["qualifiedName"] == "echo.echo"
    assert (await server.http.delete("/api/servers/s_1", headers=BEARER)).status_code == 204


async def _file(server: RunningServer, part: PartData) -> dict[str, str]:
    """Return the headers that a piece of a result is sent with."""
    conversation = await server.new_conversation()
    sent = await server.http.post(f"/api/conversations/{conversation}/messages", json={"text": "Hi"}, headers=BEARER)
    server.host.files[3] = part
    answers = [
        await server.http.get(f"/api/{kind}/{sent.json()['runId']}/parts/3", headers=BEARER)
        for kind in ("items", "calls")
    ]
    assert [(answer.status_code, answer.content) for answer in answers] == [(200, part.data)] * 2
    first, second = ({name: value for name, value in answer.headers.items() if name != "date"} for answer in answers)
    assert first == second
    return first


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
        answer = await server.http.get(f"/api/calls/i_1/parts/{index}", headers=BEARER)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
