"""What was added at one server a moment ago is known at another that a balancer sends the next request to."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest

from pilothouse.types.api import ModelInput, NewConversation, NewMessage
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.wiring import open_host
from tests.support.chats import Chat
from tests.support.in_process_server import BEARER, Reach
from tests.support.replicas import set_master_key, stop_settings_watch
from tests.web.test_shared_door import serving

MODEL = {"id": "fresh", "name": "Fresh", "provider": "openai", "model": "m", "baseUrl": "http://127.0.0.1:9/v1"}


class Two(NamedTuple):
    """Two servers on one database, neither of which notices by itself what the other changes."""

    a: Reach
    b: Reach


@pytest.fixture
async def two(tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Two]:
    set_master_key(monkeypatch, tmp_path)
    stop_settings_watch(monkeypatch)
    async with serving(tmp_path / "a", postgres_url) as a, serving(tmp_path / "b", postgres_url) as b:
        yield Two(a, b)


async def test_a_model_added_at_one_server_is_taken_by_the_next_request_at_another(two: Two) -> None:
    added = await two.a.http.post("/api/models", json=MODEL, headers=BEARER)
    assert added.status_code == 201, added.text
    wanted = {"settings": {"modelId": "fresh"}}
    begun = await two.b.http.post("/api/conversations", json=wanted, headers=BEARER)
    assert begun.status_code == 201, begun.text


async def test_a_model_that_was_just_added_can_be_changed_at_another(two: Two) -> None:
    await two.a.http.post("/api/models", json=MODEL, headers=BEARER)
    changed = await two.b.http.put("/api/models/fresh", json={**MODEL, "name": "Fresher"}, headers=BEARER)
    assert changed.status_code == 200, changed.text


async def test_a_server_that_was_just_added_is_found_at_another(two: Two) -> None:
    far = {"name": "Far", "commandLine": "http://127.0.0.1:9/mcp"}
    added = await two.a.http.post("/api/servers", json=far, headers=BEARER)
    assert added.status_code == 201, added.text
    known = await two.b.http.get("/api/servers/far/tools", headers=BEARER)
    assert known.status_code == 200, known.text


async def test_what_nobody_added_is_still_refused(two: Two) -> None:
    wanted = {"settings": {"modelId": "nowhere"}}
    refused = await two.b.http.post("/api/conversations", json=wanted, headers=BEARER)
    assert (refused.status_code, refused.json()["code"]) == (400, "unknown_model")


async def test_a_worker_answers_with_a_model_that_was_added_a_moment_ago(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_master_key(monkeypatch, tmp_path)
    stop_settings_watch(monkeypatch)
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": ["Known at once."]}))
    async with (
        open_host(tmp_path / "page", postgres_url, role="web") as page,
        open_host(tmp_path / "worker", postgres_url, role="worker"),
    ):
        await page.api.models.add(ME, ModelInput(id="fresh", name="Fresh", provider="scripted", model=str(script)))
        wanted = ConversationSettings(model_id="fresh")
        conversation = await page.api.conversations.create(ME, NewConversation(settings=wanted))
        accepted = await page.api.runs.post_message(ME, conversation.id, NewMessage(text="Hello"))
        run = await Chat(page, conversation.id, script).settled(accepted.run_id)
        assert (run.status, run.error) == ("completed", None)
