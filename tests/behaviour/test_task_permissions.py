"""A permission for this task: for calls like it until the run ends, also over a restart, and no longer."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pilothouse.host import answers
from pilothouse.types.api import Answer, ConfigPatch, NewConversation, NewMessage
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.items import Item, new_item
from pilothouse.types.runs import Run
from pilothouse.wiring import open_host
from tests.support.chats import ME, Chat, open_chat
from tests.support.servers import Server
from tests.support.waiting import until


def create(path: str) -> dict[str, Any]:
    return {"call": "file_operations", "arguments": {"operation": "create_file", "filePath": path, "content": "x\n"}}


def asking_in(folder: Path) -> dict[str, Any]:
    return {"working_directory": str(folder), "mode": "ask"}


async def the_question(chat: Chat) -> Item:
    [question] = [item for item in await chat.items("question") if item.status == "waiting"]
    return question


async def answered(chat: Chat, choice: str) -> Run:
    question = await the_question(chat)
    await chat.api.questions.answer(ME, question.id, Answer(choice=choice))
    return await chat.settled(question.run_id or "")


async def standing(chat: Chat) -> int:
    return len((await chat.api.permissions.grants(ME, None)).grants)


async def test_it_covers_the_whole_folder_for_the_rest_of_its_run_and_the_next_message_has_none_of_it(
    home: Path, tmp_path: Path
) -> None:
    turns = [[create("src/a.md")], [create("docs/deep/b.md")], "Done.", [create("c.md")], "Done."]
    async with open_chat(home, turns, settings=asking_in(tmp_path)) as chat:
        assert (await chat.say()).status == "waiting"
        assert (await answered(chat, "task")).status == "completed"
        assert (tmp_path / "docs" / "deep" / "b.md").exists()
        [first, second] = await chat.items("tool_call")
        assert first.raw["decision"]["authority"] == "person"
        assert (second.raw["decision"]["authority"], second.raw["decision"]["why"]) == (
            "grant",
            "The person allowed this for this task.",
        )
        assert await standing(chat) == 0
        assert (await chat.say("More")).status == "waiting"
        assert not (tmp_path / "c.md").exists()
        assert (await answered(chat, "deny")).status == "completed"


def files(operation: str, **arguments: Any) -> dict[str, Any]:
    return {"call": "file_operations", "arguments": {"operation": operation, **arguments}}


async def test_for_edits_it_covers_creating_changing_and_moving_in_the_folder(home: Path, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("one\n")
    turns = [
        [files("replace_string", filePath="a.md", oldString="one", newString="two")],
        [create("b.md")],
        [files("rename_file", filePath="b.md", newPath="c.md")],
        [files("insert_edit", filePath="c.md", startLine=1, content="y\n")],
        "Done.",
    ]
    async with open_chat(home, turns, settings=asking_in(tmp_path)) as chat:
        assert (await chat.say()).status == "waiting"
        assert (await answered(chat, "task")).status == "completed"
        assert len(await chat.items("question")) == 1
        assert [call.status for call in await chat.items("tool_call")] == ["completed"] * 4
        assert ((tmp_path / "c.md").exists(), (tmp_path / "b.md").exists()) == (True, False)


BEYOND: dict[str, dict[str, Any]] = {
    "deleting": files("delete_file", filePath="a.md"),
    "out": files("rename_file", filePath="a.md", newPath="ABOVE/out.md"),
    "in": files("rename_file", filePath="ABOVE/beside.md", newPath="in.md"),
    "a folder": files("rename_file", filePath="src", newPath="lib"),
    "outside": files("create_file", filePath="ABOVE/beside/new.md", content="x"),
    "what starts": files("create_file", filePath="AGENTS.md", content="x"),
    "a command": {"call": "terminal_operations", "arguments": {"operation": "run_command", "command": "touch x"}},
}


@pytest.mark.parametrize("beyond", BEYOND)
async def test_for_edits_it_covers_no_deleting_nothing_outside_and_no_whole_folder(
    home: Path, tmp_path: Path, beyond: str
) -> None:
    (work := tmp_path / "work").mkdir()
    (work / "src").mkdir()
    (work / "src" / "x").write_text("x")
    (work / "a.md").write_text("one\n")
    (tmp_path / "beside.md").write_text("beside\n")
    call = json.loads(json.dumps(BEYOND[beyond]).replace("ABOVE", str(tmp_path)))
    async with open_chat(home, [[create("b.md")], [call], "Done."], settings=asking_in(work)) as chat:
        assert (await chat.say()).status == "waiting"
        assert (await answered(chat, "task")).status == "waiting"
        assert set(os.listdir(work)) == {"src", "a.md", "b.md"}
        assert (await answered(chat, "deny")).status == "completed"


async def test_while_its_run_is_at_work_it_is_listed_as_what_it_is_and_another_conversation_has_none_of_it(
    home: Path, tmp_path: Path
) -> None:
    outside = str(tmp_path.parent / "elsewhere.md")
    async with open_chat(home, [[create("a.md")], [create(outside)], "Done."], settings=asking_in(tmp_path)) as chat:
        await chat.say()
        # It is about files in the folder: the second call is asked about, and the run waits with what was given.
        assert (await answered(chat, "task")).status == "waiting"
        [grant] = (await chat.api.permissions.grants(ME, chat.id)).grants
        question = await the_question(chat)
        assert (grant.expires_at, grant.run_id, grant.single_use) == (None, question.run_id, False)
        assert grant.pattern.paths == ("**",)
        (script := home.parent / "other.json").write_text(json.dumps({"turns": [[create("b.md")], "Done."]}))
        settings = ConversationSettings(model_id=f"scripted:{script}", **asking_in(tmp_path))
        other = await chat.api.conversations.create(ME, NewConversation(settings=settings))
        sent = await chat.api.runs.post_message(ME, other.id, NewMessage(text="Hello"))
        beside = Chat(chat.host, other.id, script)
        assert (await beside.settled(sent.run_id)).status == "waiting"
        assert (await answered(beside, "deny")).status == "completed"
        assert await standing(chat) == 1
        assert (await answered(chat, "deny")).status == "completed"
        assert await standing(chat) == 0


@pytest.mark.parametrize("end", ["cancelled", "failed"])
async def test_a_run_that_ended_and_is_resumed_by_hand_has_none_of_it(home: Path, tmp_path: Path, end: str) -> None:
    stuck = {"wait": 60} if end == "cancelled" else {"fault": 400}
    async with open_chat(home, [[create("a.md")], [stuck], "Done."], settings=asking_in(tmp_path)) as chat:
        await chat.say()
        question = await the_question(chat)
        await chat.api.questions.answer(ME, question.id, Answer(choice="task"))
        if end == "cancelled":
            await chat.api.runs.cancel(ME, question.run_id or "")
        run = await chat.settled(question.run_id or "")
        assert run.status == end
        assert await standing(chat) == 0
        chat.write([[create("a.md")], [create("b.md")], "Done."])
        await chat.api.runs.resume(ME, run.id)
        assert (await chat.settled(run.id)).status == "waiting"
        assert not (tmp_path / "b.md").exists()
        assert (await answered(chat, "deny")).status == "completed"


async def test_it_can_be_withdrawn_while_its_run_is_at_work(home: Path, tmp_path: Path) -> None:
    outside = str(tmp_path.parent / "elsewhere.md")
    turns = [[create("a.md")], [create(outside)], [create("b.md")], "Done."]
    async with open_chat(home, turns, settings=asking_in(tmp_path)) as chat:
        await chat.say()
        assert (await answered(chat, "task")).status == "waiting"
        [grant] = (await chat.api.permissions.grants(ME, chat.id)).grants
        await chat.api.permissions.revoke_grant(ME, grant.id)
        assert (await answered(chat, "deny")).status == "waiting"
        assert not (tmp_path / "b.md").exists()
        assert (await answered(chat, "deny")).status == "completed"


@pytest.mark.timeout(120)
async def test_it_stands_for_its_run_after_the_server_was_killed_and_for_no_other(tmp_path: Path) -> None:
    home, folder, script, go = (tmp_path / name for name in ("home", "work", "script.json", "go"))
    folder.mkdir()
    waits = {"wait": 60, "until": str(go)}
    turns = [[create("a.md")], [waits, create("b.md")], "Done.", [create("c.md")], "Done."]
    script.write_text(json.dumps({"turns": turns}))
    with Server(home) as server:
        settings = {"modelId": f"scripted:{script}", "workingDirectory": str(folder), "mode": "ask"}
        conversation = server.post("/api/conversations", {"settings": settings}, 201)["id"]
        run = server.post(f"/api/conversations/{conversation}/messages", {"text": "Go"}, 202)["runId"]
        server.wait_for_run(run, "waiting")
        [pending] = server.get("/api/approvals")["pending"]
        server.post(f"/api/questions/{pending['itemId']}/answer", {"choice": "task"})
        until((folder / "a.md").exists, "the first call")
        server.kill()
    go.touch()
    async with open_host(home, role="server") as host:
        chat = Chat(host, conversation, script)
        assert (await chat.settled(run)).status == "completed"
        assert (folder / "b.md").exists()
        assert len(await chat.items("question")) == 1
        assert await standing(chat) == 0
        assert (await chat.say("More")).status == "waiting"
        assert not (folder / "c.md").exists()
        assert (await answered(chat, "deny")).status == "completed"


async def test_in_this_conversation_stands_until_it_is_withdrawn(home: Path, tmp_path: Path) -> None:
    turns = [[create("a.md")], "Done.", [create("b.md")], "Done.", [create("c.md")], "Done."]
    async with open_chat(home, turns, settings=asking_in(tmp_path)) as chat:
        await chat.say()
        assert (await answered(chat, "conversation")).status == "completed"
        [grant] = (await chat.api.permissions.grants(ME, chat.id)).grants
        assert (grant.expires_at, grant.run_id) == (None, "")
        assert (await chat.say("More")).status == "completed"
        await chat.api.permissions.revoke_grant(ME, grant.id)
        assert (await chat.say("More")).status == "waiting"
        assert (await answered(chat, "deny")).status == "completed"


async def test_a_question_of_an_earlier_version_gives_what_it_offered_then() -> None:
    offered = {"id": "conversation", "label": "Allow in this conversation for 5 minutes", "durations": ["5m", "1m"]}
    asked = {"kind": "approval", "choices": [offered], "proposal": {"tool": "files.read"}}
    item = new_item("c_1", "question", run_id="r_1", text="Allow files.read?", data=asked)
    question, answer = await answers.checked(item, Answer(choice="conversation"), ME)
    grant = answers.grant_of(question, answer, ME)
    assert grant is not None
    assert grant.expires_at is not None
    assert (round(grant.expires_at - grant.created_at), grant.run_id) == (300, "")


async def test_how_long_a_while_is_is_a_setting_that_the_question_says_and_keeps(home: Path, tmp_path: Path) -> None:
    async with open_chat(home, [[create("a.md")], "Done."], settings=asking_in(tmp_path)) as chat:
        await chat.api.settings.update(ME, ConfigPatch(permission_minutes=45))
        await chat.say()
        labels = {choice["id"]: choice["label"] for choice in (await the_question(chat)).raw["choices"]}
        assert labels["while"] == "For 45 minutes"
        await chat.api.settings.update(ME, ConfigPatch(permission_minutes=2))
        assert (await answered(chat, "while")).status == "completed"
        [grant] = (await chat.api.permissions.grants(ME, chat.id)).grants
        assert grant.expires_at is not None
        assert round(grant.expires_at - grant.created_at) == 45 * 60
