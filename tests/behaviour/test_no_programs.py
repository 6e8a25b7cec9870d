"""A worker that is told to start no programs starts none: what may need one goes to a worker that does."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pilothouse.types.api import Answer, NewConversation, NewMessage
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.servers import ConsentGiven, ServerInput
from pilothouse.wiring import OpenHost, open_host
from tests.behaviour.test_command_changes import command
from tests.support.chats import Chat
from tests.support.mcp_servers import scripted
from tests.support.replicas import set_master_key
from tests.support.waiting import eventually


@pytest.fixture
async def page(tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[OpenHost]:
    set_master_key(monkeypatch, tmp_path)
    async with open_host(tmp_path / "page", postgres_url, role="web") as host:
        yield host


async def a_chat(page: OpenHost, tmp_path: Path, turns: list[object], folder: Path | None = None) -> Chat:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": turns}))
    wanted = ConversationSettings(model_id=f"scripted:{script}", working_directory=str(folder) if folder else None)
    conversation = await page.api.conversations.create(ME, NewConversation(settings=wanted))
    return Chat(page, conversation.id, script)


async def say(chat: Chat) -> str:
    """Send a message and allow what it asks; return what became of its call."""
    accepted = await chat.api.runs.post_message(ME, chat.id, NewMessage(text="Go"))
    run = await chat.settled(accepted.run_id)
    for question in await chat.items("question"):
        await chat.api.questions.answer(ME, question.id, Answer(choice="allow"))
        run = await chat.settled(accepted.run_id)
    assert run.status == "completed", run.error
    (call,) = await chat.items("tool_call")
    return call.text


async def test_a_command_goes_to_a_worker_that_starts_programs(
    page: OpenHost, tmp_path: Path, postgres_url: str
) -> None:
    async with open_host(tmp_path / "none", postgres_url, role="worker", programs=False):
        # Several: by chance one of them may be taken by the right worker at once.
        folders = [tmp_path / f"project-{number}" for number in range(5)]
        async with open_host(tmp_path / "some", postgres_url, role="worker"):
            for folder in folders:
                folder.mkdir()
                chat = await a_chat(page, folder, [command("echo here > made"), "Done."], folder)
                await say(chat)
        assert [(folder / "made").read_text() for folder in folders] == ["here\n"] * 5


async def test_where_nobody_starts_programs_the_call_says_why(
    page: OpenHost, tmp_path: Path, postgres_url: str
) -> None:
    async with open_host(tmp_path / "none", postgres_url, role="worker", programs=False):
        (folder := tmp_path / "project").mkdir()
        chat = await a_chat(page, tmp_path, [command("echo here > made"), "Done."], folder)
        text = await say(chat)
        assert "this worker was told to start no programs, and no other one that does was there" in text
        assert not (folder / "made").exists()


async def test_a_worker_without_programs_starts_no_local_server(
    page: OpenHost, tmp_path: Path, postgres_url: str
) -> None:
    record = tmp_path / "record"
    program, *words = scripted("--record", record)
    await page.api.servers.add(ME, ServerInput(name="Local", command=program, args=tuple(words)))
    (shown,) = (await page.api.servers.list(ME)).servers
    assert shown.consent is not None
    await page.api.servers.consent(ME, shown.id, ConsentGiven(fingerprint=shown.consent.fingerprint))
    chat = await a_chat(page, tmp_path, ["Hello."])
    async with open_host(tmp_path / "none", postgres_url, role="worker", programs=False) as none:
        accepted = await chat.api.runs.post_message(ME, chat.id, NewMessage(text="Go"))
        await chat.settled(accepted.run_id)
        assert not record.exists()

        async def listed() -> bool:
            found = (await page.api.operations.processes(ME)).processes
            return [one.about.programs for one in found if one.about.role == "worker"] == [False]

        await eventually(listed, "the worker to be listed as one without programs")
        (near,) = (await none.api.servers.list(ME)).servers
        assert near.label == "Runs at the workers"
