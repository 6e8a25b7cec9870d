"""Todos, permissions, private data and budgets are those of the path: what another branch did does not count."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from pilothouse.types.access import Access, Effect
from pilothouse.types.api import Answer, ConfigPatch
from pilothouse.types.authority import PolicyInput
from pilothouse.types.branch_views import Retry
from pilothouse.types.items import Item
from pilothouse.types.todos import Todo, TodoInput
from tests.support.branch_chats import BranchChat, call_reply, open_branch_chat, text_reply
from tests.support.chats import ME
from tests.support.databases import SQLITE_AND_POSTGRESQL
from tests.support.tools import ToolOf, add_tools

SECRET = '{"text": "The code is 8123, and the key lies under the mat by the blue door."}'


@pytest.fixture(params=SQLITE_AND_POSTGRESQL)
async def talk(request: pytest.FixtureRequest, home: Path) -> AsyncIterator[BranchChat]:
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    async with open_branch_chat(home, url) as talk:
        yield talk


def writes(*titles: str) -> str:
    listed = ", ".join(
        f'{{"id": {place}, "title": "{title}", "status": "not-started"}}' for place, title in enumerate(titles, 1)
    )
    return f'{{"operation": "write", "todoList": [{listed}]}}'


async def todos(talk: BranchChat, branch: int | None = None) -> list[str]:
    snapshot = await talk.chat.api.conversations.get(ME, talk.chat.id, 500, branch)
    return [todo.title for todo in snapshot.todos.todos]


async def test_a_branch_begins_with_the_todos_of_its_place_and_has_its_own_from_then_on(talk: BranchChat) -> None:
    tool = "todo_operations"
    await talk.say("Plan", call_reply(tool, writes("Paint the door"), 1), text_reply("Planned."))
    second = await talk.say("More", call_reply(tool, writes("Paint the door", "Mow the lawn"), 2), text_reply("More."))
    assert await todos(talk) == ["Paint the door", "Mow the lawn"]
    await talk.say("Something else", text_reply("Fine."), instead_of=(await talk.message(second)).id)
    assert (await todos(talk), await todos(talk, 0)) == (["Paint the door"], ["Paint the door", "Mow the lawn"])
    await talk.chat.api.todos.put(ME, talk.chat.id, TodoInput(todos=(Todo(1, "Rest"),)))
    assert (await todos(talk), await todos(talk, 0)) == (["Rest"], ["Paint the door", "Mow the lawn"])
    run = await talk.say("What is to do?", text_reply("Rest."))
    assert "Rest" in talk.sent(run)[0]
    assert "Mow the lawn" not in talk.sent(run)[0]
    await talk.check_extends(1)
    # A branch of the branch begins with what the person wrote there.
    await talk.say("And on", text_reply("On."), instead_of=(await talk.message(run)).id)
    assert await todos(talk, 2) == ["Rest"]
    await talk.choose(0)
    assert [todo.title for todo in (await talk.chat.api.todos.get(ME, talk.chat.id)).todos] == [
        *("Paint the door", "Mow the lawn")
    ]


async def open_questions(talk: BranchChat, branch: int | None = None) -> list[Item]:
    snapshot = await talk.chat.api.conversations.get(ME, talk.chat.id, 500, branch)
    return [item for item in snapshot.items if item.kind == "question" and item.status == "waiting"]


async def test_what_was_allowed_at_a_question_counts_on_the_paths_that_it_stands_on(talk: BranchChat) -> None:
    tool = ToolOf("files__read", server="Files")
    add_tools(talk.chat.host, tool)
    first = await talk.say("First", text_reply("One."))
    second = await talk.say("Read", call_reply("files__read", number=1), text_reply("Read."))
    (question,) = await open_questions(talk)
    await talk.chat.api.questions.answer(ME, question.id, Answer(choice="conversation"))
    await talk.followed(second)
    third = await talk.say("Once more", call_reply("files__read", number=2), text_reply("Read."))
    assert (await talk.chat.api.runs.get(ME, third)).status == "completed", "it was allowed for the conversation"
    # After the question: the same holds.
    await talk.say(
        "Beside it", call_reply("files__read", number=3), text_reply("Read."), instead_of=(await talk.message(third)).id
    )
    assert not await open_questions(talk)
    # Before the question nobody had allowed anything.
    before = await talk.say("Read there", call_reply("files__read", number=4), text_reply("Read."), after=first)
    assert (await talk.chat.api.runs.get(ME, before)).status == "waiting"
    assert len(tool.calls) == 3
    (question,) = await open_questions(talk)
    await talk.chat.api.questions.answer(ME, question.id, Answer(choice="deny"))
    await talk.chat.settled(before)


async def test_private_data_of_one_branch_is_not_held_against_another(talk: BranchChat) -> None:
    notes, post = ToolOf("notes__read", server="Notes"), ToolOf("post__send", server="Post")
    anything: frozenset[Effect] = frozenset({"reads", "writes", "runs", "sends"})
    for tool in (notes, post):
        access = Access(
            operation=tool.qualified_name,
            effects=anything,
            destination=tool.server,
            payload_bytes=9,
            brings=frozenset({"private", "untrusted"}),
            source=f"server:{tool.server}",
        )
        tool.touching = lambda _given, _context, access=access: access
    add_tools(talk.chat.host, notes, post)
    allowed = {"tool": "post.send", "definition": post.grant_key, "sources": []}
    rules = [{"id": "post", "verdict": "allow", "pattern": allowed}, {"id": "all", "verdict": "allow", "pattern": {}}]
    await talk.chat.api.permissions.set_policy(ME, msgspec.convert({"rules": rules}, PolicyInput))
    first = await talk.say("First", text_reply("One."))
    read = await talk.say("Read my notes", call_reply("notes__read", number=1), text_reply("Read."), allow=("notes.*",))
    assert (await talk.chat.api.runs.get(ME, read)).status == "completed"
    sent = await talk.say("Send", call_reply("post__send", SECRET, 2), text_reply("Sent."))
    (question,) = await open_questions(talk)
    assert question.raw["rule"] == "leaving"
    await talk.chat.api.questions.answer(ME, question.id, Answer(choice="deny"))
    await talk.chat.settled(sent)
    there = await talk.say("Send there", call_reply("post__send", SECRET, 3), text_reply("Sent."), after=first)
    assert (await talk.chat.api.runs.get(ME, there)).status == "completed", "nothing private was read on this path"
    assert len(post.calls) == 1


async def test_another_answer_has_the_budget_of_a_message_of_its_own(talk: BranchChat) -> None:
    await talk.chat.api.settings.update(ME, ConfigPatch(run_token_budget=100_000))
    spends = BranchChat.spending(60_000)
    first = await talk.say("First", spends)
    again = await talk.chat.api.branches.retry(ME, first, Retry())
    talk.answer(spends)
    await talk.followed(again.run_id)
    assert (await talk.chat.api.runs.get(ME, again.run_id)).status == "completed"
