"""Resources in results: what a server names is never fetched, and what it sends is shown as what it is."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types import limits
from pilothouse.types.items import Item
from pilothouse.types.servers import ConsentGiven, ServerInput
from pilothouse.web.run import ServerOptions
from tests.support.chats import ME, open_chat
from tests.support.in_process_server import BEARER, TOKEN, Reach, serve_host
from tests.support.mcp_servers import SCRIPTED
from tests.support.tiny_http import Answer, TinyHttp

SCRIPT = "<script>fetch('/api/conversations')</script>"


@asynccontextmanager
async def given(home: Path, content: list[Any]) -> AsyncIterator[tuple[Item, Reach]]:
    """Let a server answer a call with this content, and give the call and a way to its API."""
    line = f'{{"jsonrpc": "2.0", "id": $ID, "result": {{"content": {json.dumps(content)}}}}}'
    async with open_chat(home, [[{"call": "far__raw", "arguments": {"line": line}}], "Done."]) as chat:
        far = ServerInput(name="Far", command=sys.executable, args=(str(SCRIPTED),), cannot_send=True)
        view = await chat.api.servers.add(ME, far)
        assert view.consent is not None
        await chat.api.servers.consent(ME, view.id, ConsentGiven(fingerprint=view.consent.fingerprint))
        assert (await chat.api.servers.test(ME, view.id)).ok
        await chat.say(allow=("far.*",))
        (call,) = await chat.items("tool_call")
        async with serve_host(chat.api, ServerOptions(home=home, token=TOKEN)) as server:
            yield call, server


@pytest.mark.case("PROTO-06")
async def test_what_a_server_points_at_is_named_and_never_read(home: Path, tmp_path: Path) -> None:
    private = tmp_path / "private.txt"
    private.write_text("the-content-of-a-private-file")
    async with TinyHttp(lambda _request: Answer(200, b"fetched")) as elsewhere:
        uris = [
            private.as_uri(),
            "file:///etc/passwd",
            "javascript:alert(1)",
            "data:text/html;base64,PHNjcmlwdD4=",
            f"{elsewhere.url}/beacon.png",
            "smb://server/share",
            "ui://widget/1",
        ]
        links = [{"type": "resource_link", "uri": uri, "name": f"r{number}"} for number, uri in enumerate(uris)]
        async with given(home, links) as (call, _):
            assert [(part["kind"], part["uri"]) for part in call.raw["content"]] == [("link", uri) for uri in uris]
            assert all(uri in call.text for uri in uris)
            assert "the-content-of-a-private-file" not in json.dumps(call.raw) + call.text
        assert elsewhere.requests == []


@pytest.mark.case("PROTO-06")
async def test_a_page_in_a_resource_is_handed_out_as_a_file_and_never_as_a_page(home: Path) -> None:
    blob = base64.b64encode(SCRIPT.encode()).decode()
    content = [
        {"type": "resource", "resource": {"uri": "ui://x", "mimeType": "text/html", "text": SCRIPT}},
        {"type": "resource", "resource": {"uri": "ui://y", "mimeType": "text/html", "blob": blob}},
        {"type": "image", "mimeType": "image/svg+xml", "data": blob},
    ]
    async with given(home, content) as (call, server):
        assert SCRIPT in call.text
        for index in range(3):
            answer = await server.http.get(f"/api/items/{call.id}/parts/{index}", headers=BEARER)
            assert answer.status_code == 200, answer.text
            assert answer.headers["content-type"].partition(";")[0] == "application/octet-stream"
            assert answer.headers["content-disposition"].startswith("attachment")
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.content == SCRIPT.encode()


@pytest.mark.case("PROTO-06")
async def test_a_huge_resource_and_a_huge_address_are_cut_and_that_is_said(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "RESULT_KEPT", 100_000)
    content = [
        {"type": "resource", "resource": {"uri": "file:///" + "x" * 100_000, "text": "y" * 300_000}},
        {"type": "resource", "resource": {"uri": "file:///notes.txt", "text": "Notes."}},
    ]
    async with given(home, content) as (call, _):
        assert call.raw["cut"] is True
        assert len(call.text) < limits.RESULT_CHARS + 200
        assert len(call.raw["content"][0]["uri"]) < 3_000


@pytest.mark.case("PROTO-06")
async def test_an_honest_resource_is_read_by_the_model_and_shown(home: Path) -> None:
    notes = {"uri": "file:///notes.txt", "mimeType": "text/plain", "text": "Milk and bread."}
    async with given(home, [{"type": "resource", "resource": notes}]) as (call, _):
        assert call.text == "[file:///notes.txt]\nMilk and bread."
        (part,) = call.raw["content"]
        assert (part["kind"], part["uri"], part["text"]) == ("resource", "file:///notes.txt", "Milk and bread.")
