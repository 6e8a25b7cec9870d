"""Requests that are honest, and requests that are merely wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from pilothouse.web.built_page import load_page
from pilothouse.web.run import ServerOptions
from tests.support.in_process_server import BEARER, RunningServer, run_server


async def test_a_message_is_accepted_with_the_ids_of_its_run_and_item(server: RunningServer) -> None:
    made = await server.http.post("/api/conversations", json={"title": "Hello"}, headers=BEARER)
    answer = await server.http.post(
        f"/api/conversations/{made.json()['id']}/messages", json={"text": "Hi"}, headers=BEARER
    )
    assert answer.status_code == 202
    run = await server.http.get(f"/api/runs/{answer.json()['runId']}", headers=BEARER)
    assert run.json()["messageItemId"] == answer.json()["itemId"]


async def test_an_idempotency_key_may_come_in_the_header_or_in_the_body(server: RunningServer) -> None:
    conversation = await server.new_conversation()
    path = f"/api/conversations/{conversation}/messages"
    keyed = {**BEARER, "idempotency-key": "k1"}
    first = await server.http.post(path, json={"text": "Hi"}, headers=keyed)
    second = await server.http.post(path, json={"text": "Hi", "idempotencyKey": "k1"}, headers=BEARER)
    assert first.json() == second.json()
    unclear = await server.http.post(path, json={"text": "Hi", "idempotencyKey": "k2"}, headers=keyed)
    assert unclear.status_code == 400


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "“text” is missing."),
        (b"{", "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        (b"[]", "must be an object in braces, not a list."),
        (b'{"text":1}', "“text” must be text, not a whole number."),
        (b'{"text":"x","colour":"red"}', "There is no field “colour”."),
        (b'{"text":"x","images":[{"mediaType":"image/svg+xml","data":""}]}', "image/svg+xml"),
    ],
)
@pytest.mark.slow
async def test_a_wrong_body_is_answered_with_what_is_wrong(server: RunningServer, body: bytes, words: str) -> None:
    conversation = await server.new_conversation()
    answer = await server.http.post(
        f"/api/conversations/{conversation}/messages",
        content=body,
        headers={**BEARER, "content-type": "application/json; charset=utf-8"},
    )
    assert answer.status_code == 400
    assert words in answer.json()["message"]


async def test_a_wrong_query_is_answered_with_what_is_wrong(server: RunningServer) -> None:
    for query, words in (
        ("limit=0", "“limit” must be at least 1."),
        ("limit=1000000", "“limit” must be at most 500."),
        ("limit=many", "“limit” must be a whole number, not text."),
    ):
        answer = await server.http.get(f"/api/conversations?{query}", headers=BEARER)
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
        assert words in answer.json()["message"]
        assert "openapi.json" in answer.json()["fix"]
    assert (await server.http.get("/api/audit?limit=5", headers=BEARER)).status_code == 200
    for wrong in ("0", "many", "20001"):
        assert (await server.http.get(f"/api/audit?limit={wrong}", headers=BEARER)).status_code == 400
    assert (await server.http.get("/api/search", headers=BEARER)).status_code == 400
    assert (await server.http.get("/api/search?q=x", headers=BEARER)).json()["query"] == "x"


async def test_a_page_that_is_not_built_says_which_command_builds_it(tmp_path: Path) -> None:
    async with run_server(tmp_path, options=ServerOptions(page=tmp_path / "nowhere")) as server:
        answer = await server.http.get("/")
        assert (answer.status_code, answer.headers["content-type"]) == (503, "text/html; charset=utf-8")
        assert "scripts/build-page" in answer.text


def test_a_hidden_file_is_no_part_of_the_page(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("page")
    (tmp_path / ".inputs").write_text("a hash")
    assert set(load_page(tmp_path)) == {"/index.html"}
