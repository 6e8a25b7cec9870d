"""A commit in a conversation: shown, agreed to, and exactly that committed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types.api import Answer
from pilothouse.types.items import Item
from tests.support.chats import ME, Chat, open_chat
from tests.support.commands import pilothouse
from tests.support.repositories import git, make_repository

COMMIT = {
    "call": "build_and_version_control.git_commit",
    "arguments": {"message": "feat: a new file", "files": ["new.txt"]},
}
CHANGED = {"call": "build_and_version_control", "arguments": {"operation": "get_changed_files"}}


@asynccontextmanager
async def in_repository(
    home: Path, work: Path, turns: list[Any], *, at_rest: bool = True, **settings: Any
) -> AsyncIterator[Chat]:
    make_repository(work)
    (work / "new.txt").write_text("new\n")
    async with open_chat(home, turns, settings={"working_directory": str(work), **settings}, at_rest=at_rest) as chat:
        yield chat


async def asked(chat: Chat) -> Item:
    [question] = [item for item in await chat.items("question") if item.status == "waiting"]
    return question


async def answered(chat: Chat, question: Item, **answer: Any) -> str:
    await chat.api.questions.answer(ME, question.id, Answer(**answer))
    return (await chat.settled(question.run_id or "")).status


@pytest.mark.case("BLD-04")
async def test_the_person_sees_what_a_commit_contains_and_that_is_committed(home: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    async with in_repository(home, work, [[COMMIT], "Committed."]) as chat:
        assert (await chat.say()).status == "waiting"
        question = await asked(chat)
        assert question.raw["operation"] == "build_and_version_control.git_commit"
        [change] = question.raw["preview"]["changes"]
        assert (change["path"], change["kind"], change["added"]) == ("new.txt", "created", 1)
        assert git(work, "log", "--format=%s") == "First"
        assert await answered(chat, question, choice="allow") == "completed"
        [call] = await chat.items("tool_call")
        assert call.raw["commit"] == git(work, "rev-parse", "HEAD")
        assert git(work, "log", "--format=%s").splitlines() == ["feat: a new file", "First"]


async def test_the_command_line_shows_it_too(home: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    async with in_repository(home, work, [[COMMIT], "Committed."], at_rest=False) as chat:
        hook = work / ".git" / "hooks" / "pre-commit"
        hook.write_text("#!/bin/sh\n")
        hook.chmod(0o755)
        await chat.say()
        question = await asked(chat)
    listed = (await asyncio.to_thread(pilothouse, home, "answer")).out
    for line in (
        "  $ git commit '--message=feat: a new file' -- new.txt",
        "  runs the hooks pre-commit",
        "  new.txt (created, +1 −0)",
        "    +new",
        f"  pilothouse answer {question.id} allow         Allow once",
    ):
        assert line in listed.splitlines(), listed
    done = await asyncio.to_thread(pilothouse, home, "answer", question.id, "allow")
    assert (done.code, done.out) == (0, "Committed.\n"), done.err
    assert git(work, "log", "--format=%s").splitlines() == ["feat: a new file", "First"]


@pytest.mark.case("BLD-04", "AUTHZ-01")
async def test_what_changed_after_the_person_agreed_is_asked_about_again(home: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    async with in_repository(home, work, [[COMMIT], "Committed."]) as chat:
        await chat.say()
        question = await asked(chat)
        (work / "new.txt").write_text("new\nand more\n")
        assert await answered(chat, question, choice="allow") == "waiting"
        again = await asked(chat)
        assert again.id != question.id
        assert again.raw["preview"]["changes"][0]["added"] == 2
        assert git(work, "log", "--format=%s") == "First"
        assert await answered(chat, again, choice="allow") == "completed"
        assert git(work, "show", "HEAD:new.txt") == "new\nand more"


@pytest.mark.case("BLD-04")
async def test_a_denied_commit_leaves_everything_as_it_was(home: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    async with in_repository(home, work, [[COMMIT], "I see."]) as chat:
        await chat.say()
        assert await answered(chat, await asked(chat), choice="deny", text="Not before the tests pass.") == "completed"
        [call] = await chat.items("tool_call")
        assert "Not before the tests pass." in call.text
        assert git(work, "status", "--porcelain") == "?? new.txt"


@pytest.mark.case("BLD-05")
async def test_looking_at_changes_needs_no_question(home: Path, tmp_path: Path) -> None:
    async with in_repository(home, tmp_path / "work", [[CHANGED], "I see."]) as chat:
        assert (await chat.say()).status == "completed"
        [call] = await chat.items("tool_call")
        assert call.text.splitlines()[1] == "new.txt: untracked"


async def test_where_nothing_may_be_changed_nothing_is_committed(home: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    async with in_repository(home, work, [[COMMIT], [CHANGED], "I see."], mode="read_only") as chat:
        assert (await chat.say()).status == "completed"
        refused, looked = await chat.items("tool_call")
        assert refused.status == "failed"
        assert looked.status == "completed"
        assert git(work, "log", "--format=%s") == "First"
