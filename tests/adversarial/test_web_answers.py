"""What the local HTTP server lets out: headers, caching, files, failures (WEB-09, WEB-13, WEB-14, WEB-16)."""

from __future__ import annotations

import pytest

from pilothouse.web.routes import ROUTES
from tests.support.in_process_server import BEARER, RunningServer, complaints
from tests.web.samples import request_for

HTTP_ROUTES = [route for route in ROUTES if route.kind != "socket"]


# --- WEB-09, WEB-14, WEB-16: what every answer says -------------------------------------------------


@pytest.mark.case("WEB-09", "WEB-14", "UI-01", "UI-04")
async def test_every_answer_carries_the_security_headers(server: RunningServer) -> None:
    for path, headers in (("/", {}), ("/api/health", {}), ("/api/models", BEARER), ("/api/models", {}), ("/no", {})):
        answer = await server.http.get(path, headers=headers)
        policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert policy["img-src"] == "'self' data: blob:"
        assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-dns-prefetch-control"] == "off"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "server" not in answer.headers


@pytest.mark.case("WEB-14")
async def test_what_people_send_is_only_ever_given_back_as_data(server: RunningServer) -> None:
    script = "<script>alert(1)</script>"
    made = await server.http.post("/api/conversations", json={"title": script}, headers=BEARER)
    for route in HTTP_ROUTES:
        if route.kind == "json":
            answer = await server.http.request(**request_for(route, made.json()["id"]), headers=BEARER)
            assert answer.headers["content-type"] == "application/json"
            assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.case("WEB-16")
async def test_nothing_with_data_in_it_may_be_kept(server: RunningServer) -> None:
    for route in HTTP_ROUTES:
        for headers in ({}, BEARER):
            answer = await server.http.request(**request_for(route), headers=headers)
            assert answer.headers["cache-control"] == "no-store", route.path
    for path in ("/", "/c/c_1", "/index.html", "/nothing"):
        assert (await server.http.get(path)).headers["cache-control"] == "no-store"


@pytest.mark.case("WEB-16")
async def test_a_file_whose_name_is_its_hash_may_be_kept_for_ever(server: RunningServer) -> None:
    answer = await server.http.get("/assets/main-a1B2c3D4.js")
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-type"].startswith("text/javascript")


# --- WEB-13: paths ----------------------------------------------------------------------------------

TRICKS = (
    "/../secret.txt",
    "/..%2fsecret.txt",
    "/%2e%2e/secret.txt",
    "/%252e%252e%252fsecret.txt",
    "/assets/../../secret.txt",
    "/assets/..%2f..%2fsecret.txt",
    "/assets/..%5c..%5csecret.txt",
    "/assets\\..\\..\\secret.txt",
    "//etc/passwd",
    "/%2fetc%2fpasswd",
    "/etc/passwd",
    "/file:///etc/passwd",
    "/assets/main-a1B2c3D4.js%00.html",
    "/index.html%00",
    "/assets/",
    "/assets",
    "/.hidden",
    "/c/../../secret.txt",
    "/c/%2e%2e",
    "/settings/..%2f..%2fsecret.txt",
    "/API/models",
    "//api/models",
    "/api//models",
    "/./api/models",
    "/%61pi/models",
)


@pytest.mark.case("WEB-13")
async def test_a_tricky_path_reads_nothing(server: RunningServer) -> None:
    for path in TRICKS:
        answer = await server.raw(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert answer.status in (400, 401, 404), path
        assert b"secret beside" not in answer.body
        assert b"root:" not in answer.body
    assert server.host.calls == []


# --- failures of our own ----------------------------------------------------------------------------


@pytest.mark.case("SECRET-02")
async def test_an_unexpected_failure_tells_no_details_and_logs_one_line(
    server: RunningServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = await server.new_conversation()

    async def fail(*_asked: object) -> None:
        raise RuntimeError("the key is sk-secret-value")

    monkeypatch.setattr(server.host.api._records, "snapshot", fail)
    answer = await server.http.get(f"/api/conversations/{conversation}", headers=BEARER)
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert "sk-secret-value" not in answer.text
    [record] = complaints(caplog)
    line = record.getMessage()
    assert "\n" not in line
    assert "RuntimeError" in line
    assert "sk-secret-value" not in line + str(record.exc_info)
