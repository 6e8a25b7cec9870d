"""Other ways on: an edited message, another answer, a branch. The log only grows, and models are sent one path of it.

The scripted model counts the answers that it is sent: on each path it says "One.", then "Two.".
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types.api import Comparison, NewMessage
from pilothouse.types.branch_views import BranchChoice, Retry
from pilothouse.types.errors import PilothouseError
from pilothouse.types.item_data import MessageData
from pilothouse.types.items import Item, is_a
from tests.support.chats import ME, Chat, open_chat, wait_for_runs
from tests.support.databases import SQLITE_AND_POSTGRESQL


@pytest.fixture(params=SQLITE_AND_POSTGRESQL)
async def chat(request: pytest.FixtureRequest, home: Path) -> AsyncIterator[Chat]:
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    async with open_chat(home, ["One.", "Two.", "Three.", "Four.", "Five.", "Six."], database_url=url) as chat:
        yield chat
        await wait_for_runs(chat)


async def said(chat: Chat, branch: int | None = None) -> list[str]:
    snapshot = await chat.api.conversations.get(ME, chat.id, 500, branch)
    return [item.text for item in snapshot.items if item.kind in ("user_message", "response")]


async def message(chat: Chat, text: str) -> Item:
    page = await chat.api.conversations.items(ME, chat.id, None, 500)
    return next(item for item in page.items if item.kind == "user_message" and item.text == text)


async def refused(work: Any) -> PilothouseError:
    with pytest.raises(PilothouseError) as raised:
        await work
    return raised.value


@pytest.mark.case("CHT-02")
async def test_an_edited_message_is_a_branch_and_the_old_one_stays(chat: Chat) -> None:
    await chat.say("A")
    await chat.say("B")
    before = (await chat.snapshot()).last_seq
    edited = await chat.send("B, but better", instead_of=(await message(chat, "B")).id)
    await chat.settled(edited.run_id)
    assert edited.branch == 1
    assert await said(chat) == ["A", "One.", "B, but better", "Two."]
    assert await said(chat, 0) == ["A", "One.", "B", "Two."]
    numbers = [event.seq async for event in _all(chat)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert numbers[-1] > before
    (branch,) = (await chat.snapshot()).branches
    assert (branch.parent, branch.kind, branch.repeats) == (0, "edit", None)


async def _all(chat: Chat) -> AsyncIterator[Any]:
    last = (await chat.snapshot()).last_seq
    feed = await chat.api.conversations.events(ME, chat.id, 0)
    async for batch in feed:
        for event in batch:
            if event.seq:
                yield event
                if event.seq >= last:
                    await feed.aclose()
                    return


@pytest.mark.case("CHT-02")
async def test_another_answer_stands_beside_the_first(chat: Chat) -> None:
    first = await chat.send("A")
    await chat.settled(first.run_id)
    again = await chat.api.branches.retry(ME, first.run_id, Retry(temperature=0.7))
    run = await chat.settled(again.run_id)
    assert (run.options.temperature, run.branch) == (0.7, 1)
    assert await said(chat) == ["A", "One."]
    third = await chat.api.branches.retry(ME, again.run_id, Retry())
    await chat.settled(third.run_id)
    branches = (await chat.snapshot()).branches
    # The third stands beside the first two, not below the second.
    assert [(each.parent, each.instead_of, each.repeats) for each in branches] == [
        (0, first.run_id, first.item_id),
        (0, first.run_id, first.item_id),
    ]


@pytest.mark.case("CHT-02")
async def test_going_on_from_an_earlier_answer_makes_a_branch_and_at_the_end_none(chat: Chat) -> None:
    first = await chat.send("A")
    await chat.settled(first.run_id)
    at_the_end = await chat.send("B", after=first.run_id)
    assert at_the_end.branch == 0
    await chat.settled(at_the_end.run_id)
    other = await chat.send("C", after=first.run_id)
    await chat.settled(other.run_id)
    assert other.branch == 1
    assert await said(chat) == ["A", "One.", "C", "Two."]


async def test_a_chosen_branch_is_what_is_opened_and_what_messages_are_added_to(chat: Chat) -> None:
    await chat.say("A")
    await chat.say("A2", instead_of=(await message(chat, "A")).id)
    snapshot = await chat.api.branches.choose(ME, chat.id, BranchChoice(branch=0))
    assert (snapshot.branch, snapshot.conversation.branch) == (0, 0)
    await chat.say("B")
    assert await said(chat) == ["A", "One.", "B", "Two."]
    assert await said(chat, 1) == ["A2", "One."]
    error = await refused(chat.api.branches.choose(ME, chat.id, BranchChoice(branch=7)))
    assert error.code == "not_found"


async def test_branches_of_branches_share_what_leads_to_them(chat: Chat) -> None:
    await chat.say("A")
    await chat.say("B")
    await chat.say("B2", instead_of=(await message(chat, "B")).id)
    await chat.say("C")
    await chat.say("C2", instead_of=(await message(chat, "C")).id)
    assert await said(chat) == ["A", "One.", "B2", "Two.", "C2", "Three."]
    first_page = await chat.api.conversations.items(ME, chat.id, None, 2, 2)
    assert first_page.has_earlier
    assert await said(chat, 1) == ["A", "One.", "B2", "Two.", "C", "Three."]
    await chat.say("A2", instead_of=(await message(chat, "A")).id)
    assert await said(chat) == ["A2", "One."]


async def test_a_hidden_message_cannot_be_edited_and_is_not_sent(chat: Chat) -> None:
    await chat.say("A")
    item = await message(chat, "A")
    hidden = await chat.api.branches.hide(ME, item.id)
    assert hidden.item_ids == (item.id,)
    error = await refused(chat.send("A2", instead_of=item.id))
    assert error.code == "conflict"
    assert "hidden" in error.message
    await chat.api.branches.show(ME, item.id)
    kept = (await chat.items("user_message"))[0]
    assert is_a(kept, MessageData)
    assert not kept.data.hidden


async def test_one_message_is_answered_by_several_models_side_by_side(chat: Chat) -> None:
    other = chat.script.parent / "other.json"
    other.write_text('{"turns": ["Other."]}')
    wish = Comparison(
        message=NewMessage(text="Which is best?"), model_ids=(f"scripted:{chat.script}", f"scripted:{other}")
    )
    accepted = (await chat.api.branches.compare(ME, chat.id, wish)).accepted
    for each in accepted:
        await chat.settled(each.run_id)
    assert [each.branch for each in accepted] == [0, 1]
    assert await said(chat, 0) == ["Which is best?", "One."]
    assert await said(chat, 1) == ["Which is best?", "Other."]
    assert (await chat.snapshot()).branch == 0
