"""Databases of an earlier release, with every kind of item, question and end: they open, show and go on the same."""

from __future__ import annotations

import asyncio
import lzma
import re
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest

from pilothouse.types.api import Comparison, ConversationPatch, NewMessage
from pilothouse.types.branch_views import Retry
from pilothouse.types.json import encode
from pilothouse.wiring import open_host
from tests.store.released.opening import FOLDER, given
from tests.support import invariants
from tests.support.chats import ME, Chat, database_of

# Each reads and writes a whole database.
pytestmark = pytest.mark.slow

# What conversations could not be set to then: it is shown as not set, at the end of the settings.
NOT_SET = rb', "topicId": null, "prompt": null, "promptValues": {}, "miniPrompts": []}'
# What runs could not be told then.
LATER_OPTIONS = ("temperature", "systemPrompt", "replayOf", "beside")


def kept(name: str) -> bytes:
    return lzma.decompress((FOLDER / f"{name}.xz").read_bytes())


def check(now: bytes, then: bytes) -> None:
    """Fail unless every conversation is shown and sent in the same bytes; say first which is not."""
    read = msgspec.json.Decoder(dict[str, dict[str, msgspec.Raw]]).decode
    before, after = read(re.sub(rb'("modeSince": [0-9.e+]+)}', rb"\1" + NOT_SET, then)), read(now)
    assert list(after) == list(before)
    for title, was in before.items():
        assert list(was) == ["snapshot", "sent"]
        assert branchless(after[title]["snapshot"]) == encode(msgspec.json.decode(was["snapshot"])), title
        assert bytes(after[title]["sent"]) == bytes(was["sent"]), f"what is sent of “{title}”"


def branchless(snapshot: bytes) -> bytes:
    """Return a snapshot without what says that there are no branches; fail where it says anything else."""
    shown = msgspec.json.decode(snapshot)
    none: list[tuple[str, Any, object]] = [
        *((name, shown, nothing) for name, nothing in (("branch", 0), ("branches", []))),
        *((name, shown["conversation"], 0) for name in ("branch", "branches")),
        *(("branch", record, 0) for record in (*shown["items"], *shown["runs"])),
        *((name, run["options"], None) for run in shown["runs"] for name in LATER_OPTIONS),
    ]
    for name, record, nothing in none:
        assert record.pop(name) == nothing
    return encode(shown)


async def test_a_sqlite_database_of_an_earlier_release_opens_shows_and_goes_on_the_same(home: Path) -> None:
    await asyncio.to_thread(home.mkdir)
    (home / "pilothouse.db").write_bytes(kept("timeline.db"))
    check(await given(home, None), kept("timeline.db.json"))


async def test_a_postgresql_database_of_an_earlier_release_opens_shows_and_goes_on_the_same(
    home: Path, empty_postgres_url: str
) -> None:
    with psycopg.connect(empty_postgres_url, autocommit=True) as connection:
        connection.execute(kept("timeline.sql"))
    check(await given(home, empty_postgres_url), kept("timeline.sql.json"))


def test_there_is_every_kind_of_item_question_and_end_in_them() -> None:
    for name in ("timeline.db.json", "timeline.sql.json"):
        snapshots = [entry["snapshot"] for entry in msgspec.json.decode(kept(name)).values()]
        items = [item for snapshot in snapshots for item in snapshot["items"]]
        kinds = {"user_message", "response", "thinking", "tool_call", "tool_summary"}
        kinds |= {"question", "notice", "compaction", "reminder"}
        statuses = {"streaming", "waiting", "completed", "failed", "cancelled", "timed_out", "unknown"}
        found = {(item["kind"], item["status"]) for item in items}
        assert found == {(kind, status) for kind in kinds for status in statuses}
        asked = [(item["data"], item["status"]) for item in items if item["kind"] == "question"]
        questions = {(data.get("mode") or data["kind"], status) for data, status in asked}
        all_kinds = ("approval", "form", "url", "collaboration", "limit")
        assert {(kind, status) for kind in all_kinds for status in ("waiting", "completed")} <= questions
        runs = {run["status"] for snapshot in snapshots for run in snapshot["runs"]}
        assert runs == {"completed", "waiting", "failed", "cancelled", "interrupted"}


@pytest.fixture(params=["sqlite", "postgresql"])
async def before_branches(request: pytest.FixtureRequest, home: Path) -> str:
    """A database of the release before there were branches, schema 0011; its URL."""
    await asyncio.to_thread(home.mkdir)
    if request.param == "sqlite":
        (home / "pilothouse.db").write_bytes(kept("branchless.db"))
        return database_of(home)
    url = str(request.getfixturevalue("empty_postgres_url"))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(kept("branchless.sql"))
    return url


async def test_a_database_of_the_release_before_there_were_branches_goes_on_and_gets_some(
    before_branches: str, home: Path
) -> None:
    script = home.parent / "script.json"
    script.write_text('{"turns": ["A new answer."]}')
    url = None if before_branches.startswith("sqlite") else before_branches
    async with open_host(home, url, role="server") as host:
        listed = (await host.api.conversations.list(ME, limit=100, cursor=None)).conversations
        assert len(listed) == 6
        for each in listed:
            shown = await host.api.conversations.get(ME, each.id, 500)
            assert (shown.branch, shown.branches, bool(shown.items)) == (0, (), True)
            assert (await host.api.permissions.audit(ME, each.id)).checks[0].sound
            chat = Chat(host, each.id, script)
            settings = msgspec.structs.replace(shown.conversation.settings, model_id=f"scripted:{script}")
            await host.api.conversations.update(ME, each.id, ConversationPatch(settings=settings))
            await _branch(chat, [item.id for item in shown.items])
    invariants.check(before_branches, at_rest=False)


async def _branch(chat: Chat, before: list[str]) -> None:
    """Make every kind of branch in a conversation; what was there stays as it was."""
    first = next(item for item in await chat.items("user_message"))
    edited = await chat.send("Edited", instead_of=first.id)
    again = await chat.api.branches.retry(ME, first.run_id or "", Retry(model_id=f"scripted:{chat.script}"))
    wish = Comparison(
        message=NewMessage(text="Which?", branch=1), model_ids=(f"scripted:{chat.script}", f"scripted:{chat.script}.2")
    )
    await asyncio.to_thread(Path(f"{chat.script}.2").write_text, '{"turns": ["Mine.", "Mine, too."]}')
    compared = (await chat.api.branches.compare(ME, chat.id, wish)).accepted
    for each in (edited, again, *compared):
        assert (await chat.settled(each.run_id)).status == "completed"
    assert [each.branch for each in (edited, again, *compared)] == [1, 2, 1, 3]
    old = await chat.api.conversations.get(ME, chat.id, 500, 0)
    assert [item.id for item in old.items] == before
    new = await chat.api.conversations.get(ME, chat.id, 500, 1)
    assert [item.text for item in new.items if item.kind == "user_message"] == ["Edited", "Which?"]
