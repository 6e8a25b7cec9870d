"""Branches in what is made of a conversation: search, exports, imports, backups, summaries, todos, and its removal."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from pilothouse.store import schema
from pilothouse.types.api import CompactionWish
from pilothouse.types.branch_views import BranchChoice, Retry
from pilothouse.types.errors import PilothouseError
from pilothouse.types.exchange import Imported
from pilothouse.types.json import JsonObject, encode
from pilothouse.types.todos import Todo, TodoInput
from pilothouse.wiring import open_host
from tests.support.chats import ME, Chat, database_of, open_chat
from tests.support.databases import SQLITE_AND_POSTGRESQL, open_transaction

ANSWERS = ["One.", "Two.", "Three.", "Four."]


@pytest.fixture(params=SQLITE_AND_POSTGRESQL)
def database_url(request: pytest.FixtureRequest) -> str | None:
    return request.getfixturevalue("postgres_url") if request.param == "postgresql" else None


@pytest.fixture
async def chat(home: Path, database_url: str | None) -> AsyncIterator[Chat]:
    """A conversation of three branches: two messages, the second edited, and the first answer once more."""
    async with open_chat(home, ANSWERS, database_url=database_url) as chat:
        first = await chat.send("Albatross")
        await chat.settled(first.run_id)
        second = await chat.send("Pelican")
        await chat.settled(second.run_id)
        await chat.say("Kittiwake", instead_of=second.item_id)
        again = await chat.api.branches.retry(ME, first.run_id, Retry())
        await chat.settled(again.run_id)
        yield chat


async def choose(chat: Chat, branch: int) -> None:
    await chat.api.branches.choose(ME, chat.id, BranchChoice(branch=branch))


async def test_search_finds_what_is_off_the_chosen_path_and_says_so(chat: Chat) -> None:
    async def found(word: str) -> list[tuple[int, bool, bool]]:
        hits = (await chat.api.conversations.search(ME, word, 10)).hits
        return sorted((hit.branch, hit.off_path, hit.hidden) for hit in hits if hit.kind != "title")

    await choose(chat, 1)
    assert await found("Pelican") == [(0, True, False)]
    assert await found("Kittiwake") == [(1, False, False)]
    # What both share is on the path, though it stands in another branch; the repeated message is not.
    assert await found("Albatross") == [(0, False, False), (2, True, False)]
    # Where each stands, for who shows another path.
    hits = (await chat.api.conversations.search(ME, "Albatross", 10)).hits
    stands = {item.id: item.position for item in (await chat.api.conversations.items(ME, chat.id, None, 500)).items}
    assert [hit.position for hit in hits if hit.item_id] == [stands[hit.item_id] for hit in hits if hit.item_id]
    await choose(chat, 0)
    assert await found("Kittiwake") == [(1, True, False)]
    [message] = [item for item in (await chat.snapshot()).items if item.text == "Pelican"]
    await chat.api.branches.hide(ME, message.id)
    assert await found("Pelican") == [(0, False, True)]


async def markdown(chat: Chat, *, all_branches: bool = False) -> str:
    download = await chat.api.exchange.export_conversation(ME, chat.id, "markdown", all_branches)
    return b"".join([chunk async for chunk in download.chunks]).decode()


async def test_markdown_has_the_chosen_path_and_says_that_there_are_others(chat: Chat) -> None:
    await choose(chat, 1)
    told = await markdown(chat)
    assert "This is branch 1, the one chosen last. There are 2 other branches." in told
    assert told.index("Albatross") < told.index("One.") < told.index("Kittiwake") < told.rindex("Two.")
    assert "Pelican" not in told
    await choose(chat, 0)
    assert "This is the first branch. There are 2 other branches." in await markdown(chat)


async def test_markdown_of_all_branches_tells_each_once(chat: Chat) -> None:
    [item] = [each for each in (await chat.api.conversations.items(ME, chat.id)).items if each.text == "Pelican"]
    await chat.api.branches.hide(ME, item.id)
    told = await markdown(chat, all_branches=True)
    heads = [line for line in told.splitlines() if line.startswith("# ")]
    assert heads[1:] == ["# The first branch", "# Branch 1: an edited message", "# Branch 2: another answer"]
    leaves = [line for line in told.splitlines() if line.startswith("*It leaves ")]
    assert leaves == [
        "*It leaves the first branch after “Albatross”.*",
        "*It leaves the first branch at its beginning.*",
    ]
    assert [told.count(word) for word in ("Pelican", "Kittiwake")] == [1, 1]
    assert "## You (hidden from models)\n\nPelican" in told


async def paths_of(chat: Chat, count: int = 3) -> list[list[tuple[str, str, int]]]:
    shown = [await chat.api.conversations.get(ME, chat.id, 500, branch) for branch in range(count)]
    return [[(item.id, item.text, item.branch) for item in one.items] for one in shown]


async def exported(chat: Chat) -> bytes:
    download = await chat.api.exchange.export_conversation(ME, chat.id)
    return b"".join([chunk async for chunk in download.chunks])


async def chunks(file: bytes) -> AsyncIterator[bytes]:
    yield file


async def imported(home: Path, file: bytes) -> Imported:
    async with open_host(home) as host:
        return await host.api.exchange.import_conversations(ME, chunks(file))


async def test_an_import_elsewhere_has_the_same_branches_and_paths(chat: Chat, tmp_path: Path) -> None:
    await choose(chat, 1)
    before = await chat.snapshot()
    file = await exported(chat)
    async with open_host(tmp_path / "other") as other:
        await other.api.exchange.import_conversations(ME, chunks(file))
        there = Chat(other, chat.id, chat.script)
        after = await there.snapshot()
        assert (after.branches, after.branch) == (before.branches, 1)
        assert await paths_of(there) == await paths_of(chat)
        tree = await other.api.branches.tree(ME, chat.id)
        assert tree == await chat.api.branches.tree(ME, chat.id)


Spoil = Callable[[JsonObject], None]


def spoilt(file: bytes, spoil: Callable[[str, JsonObject], None]) -> bytes:
    """Return a file whose rows say other things, sealed and summed up like any."""
    from hashlib import sha256

    lines = [json.loads(line) for line in file.splitlines()]
    table: JsonObject = {}
    made = []
    for line in lines[:-1]:
        if isinstance(line, dict) and line.get("line") == "table":
            table = line
        elif isinstance(line, list):
            row = dict(zip(table["columns"], line, strict=True))
            spoil(table["name"], row)
            made.append(encode(list(row.values())) + b"\n")
            continue
        made.append(encode(line) + b"\n")
    end = lines[-1] | {"sha256": sha256(b"".join(made)).hexdigest()}
    return b"".join(made) + encode(end) + b"\n"


def forked(number: int, **change: Any) -> Callable[[str, JsonObject], None]:
    """Change a fork in the rows that tell of it."""

    def spoil(table: str, row: JsonObject) -> None:
        if table == "branches" and row["number"] == number:
            row.update(change)
        if table == "items" and row["branch"] == number and row["kind"] == "user_message":
            item = json.loads(row["body"])
            item["data"]["fork"] |= change
            row["body"] = json.dumps(item)

    return spoil


def only_in(wanted: str, **change: Any) -> Callable[[str, JsonObject], None]:
    def spoil(table: str, row: JsonObject) -> None:
        if table == wanted:
            row.update(change)

    return spoil


NONSENSE = {
    "a parent that is itself": forked(1, parent=1),
    "parents in a circle": forked(1, parent=2),
    "a parent that is not there": forked(2, parent=9),
    "a place after itself": forked(1, before=10_000),
    "a place before everything": forked(1, before=-5),
    "another run": forked(1, instead_of="r_none"),
    "rows that say another thing": only_in("branches", before=1),
    "a chosen branch that is not there": only_in("conversations", branch=7),
    "more branches than there are": only_in("conversations", branches=7),
    "items beyond": only_in("items", branch=5),
    "runs beyond": only_in("runs", branch=5),
    "todos that are none": only_in("branches", todos="[1]"),
}


@pytest.mark.parametrize("what", NONSENSE)
async def test_an_import_whose_branches_are_nonsense_is_refused_in_one_sentence(
    home: Path, tmp_path: Path, what: str
) -> None:
    async with open_chat(home, ANSWERS) as chat:
        first = await chat.send("A")
        await chat.settled(first.run_id)
        await chat.say("A2", instead_of=first.item_id)
        await chat.say("A3", instead_of=first.item_id)
        file = await exported(chat)
    sound = spoilt(file, lambda _table, _row: None)
    bad = spoilt(file, NONSENSE[what])
    async with asyncio.timeout(30), open_host(tmp_path / "other") as other:
        with pytest.raises(PilothouseError) as caught:
            await other.api.exchange.import_conversations(ME, chunks(bad))
        assert caught.value.code == "bad_request"
        assert "is damaged. Nothing was changed." in caught.value.message
        assert not (await other.api.conversations.list(ME, 10)).conversations
        assert (await other.api.exchange.import_conversations(ME, chunks(sound))).conversations


async def test_a_summary_is_made_of_the_branch_that_is_named_or_chosen(chat: Chat) -> None:
    summed = {"match": "Person: ", "steps": ["They spoke of birds."]}
    chat.write([summed, *ANSWERS])
    await choose(chat, 1)
    accepted = await chat.api.runs.compact(ME, chat.id, CompactionWish())
    assert accepted.branch == 1
    assert (await chat.settled(accepted.run_id)).status == "completed"
    other = await chat.api.runs.compact(ME, chat.id, CompactionWish(branch=0))
    assert other.branch == 0
    await chat.settled(other.run_id)

    async def summaries(branch: int) -> int:
        shown = await chat.api.conversations.get(ME, chat.id, 500, branch)
        return sum(item.kind == "compaction" and item.status == "completed" for item in shown.items)

    assert [await summaries(branch) for branch in range(3)] == [1, 1, 0]
    with pytest.raises(PilothouseError) as caught:
        await chat.api.runs.compact(ME, chat.id, CompactionWish(branch=7))
    assert caught.value.code == "not_found"


async def test_each_branch_has_todos_of_its_own(chat: Chat) -> None:
    def todo(title: str) -> tuple[Todo, ...]:
        return (Todo(id=1, title=title),)

    async def titles(branch: int | None) -> list[str]:
        return [each.title for each in (await chat.api.todos.get(ME, chat.id, branch)).todos]

    await choose(chat, 1)
    await chat.api.todos.put(ME, chat.id, TodoInput(todos=todo("Chosen")))
    await chat.api.todos.put(ME, chat.id, TodoInput(todos=todo("First"), branch=0))
    assert [await titles(branch) for branch in (0, 1, 2, None)] == [["First"], ["Chosen"], [], ["Chosen"]]
    with pytest.raises(PilothouseError) as caught:
        await chat.api.todos.put(ME, chat.id, TodoInput(todos=todo("None"), branch=7))
    assert caught.value.code == "not_found"


async def test_a_conversation_that_is_removed_leaves_no_branches(
    chat: Chat, home: Path, database_url: str | None
) -> None:
    await chat.api.conversations.delete(ME, chat.id)
    await chat.host.api._records.purge(9e12)
    with open_transaction(database_url or database_of(home)) as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(schema.branches)).scalar_one() == 0
