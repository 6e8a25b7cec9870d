"""A message is accepted with what is attached to it, or not at all, whenever the server is killed."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from pilothouse.store import schema
from tests.support import invariants
from tests.support.chats import database_of
from tests.support.databases import open_transaction
from tests.support.pictures import a_png
from tests.support.servers import Server

PICTURES = [a_png(2_000_000, number=number) for number in range(3)]
# The event that the message is, in a conversation that has only begun.
MESSAGE = 2


def message(script: Path) -> dict[str, Any]:
    images = [{"mediaType": "image/png", "data": base64.b64encode(data).decode()} for data in PICTURES]
    return {"text": "Look", "images": images, "modelId": f"scripted:{script}", "idempotencyKey": "once"}


def rows(url: str) -> int:
    with open_transaction(url) as connection:
        return int(connection.execute(sa.select(sa.func.count()).select_from(schema.parts)).scalar() or 0)


@pytest.mark.case("F-36")
@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_server_killed_while_it_takes_a_message_keeps_all_of_it_or_nothing(
    home: Path, tmp_path: Path, request: pytest.FixtureRequest, database: str, when: str
) -> None:
    url = str(request.getfixturevalue("postgres_url")) if database == "postgresql" else None
    kept_at = url or database_of(home)
    home.mkdir(mode=0o700)
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": ["I see."]}))
    body = message(script)
    with Server(home, database_url=url, dying=(when, MESSAGE)) as server:
        conversation = server.post("/api/conversations", {"title": f"kill {MESSAGE}"}, 201)["id"]
        with pytest.raises(httpx2.TransportError):
            server.post(f"/api/conversations/{conversation}/messages", body, 202)
        assert server.process.wait(10) != 0
    assert rows(kept_at) == (0 if when == "before" else len(PICTURES))
    with Server(home, database_url=url) as server:
        accepted = server.post(f"/api/conversations/{conversation}/messages", body, 202)
        server.wait_for_run(accepted["runId"], "completed")
        _check(server, conversation)
    assert rows(kept_at) == len(PICTURES)
    invariants.check(kept_at)


def _check(server: Server, conversation: str) -> None:
    items = server.get(f"/api/conversations/{conversation}?limit=200")["items"]
    (one,) = [item for item in items if item["kind"] == "user_message"]
    assert len(one["data"]["content"]) == len(PICTURES)
    for index, data in enumerate(PICTURES):
        assert server.client.get(f"/api/items/{one['id']}/parts/{index}").content == data
    (check,) = server.get(f"/api/audit?conversation={conversation}")["checks"]
    assert check["sound"]
