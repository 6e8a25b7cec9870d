"""Branches are made at any time, from anywhere: what is at work is finished or stopped, and nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types import limits
from pilothouse.types.api import Answer, Comparison, MessageAccepted, NewMessage
from pilothouse.types.branch_views import Retry
from pilothouse.types.items import Item
from pilothouse.wiring import open_host
from tests.support.branch_chats import all_items, refusal_of
from tests.support.chats import ME, Chat, open_chat, wait_for_runs
from tests.support.databases import SQLITE_AND_POSTGRESQL
from tests.support.tools import ToolOf, add_tools
from tests.support.waiting import eventually

ASKS = [{"call": "files__read", "arguments": {}}]


@pytest.fixture(params=SQLITE_AND_POSTGRESQL)
def url(request: pytest.FixtureRequest) -> str | None:
    return str(request.getfixturevalue("postgres_url")) if request.param == "postgresql" else None


@pytest.fixture
async def chat(home: Path, url: str | None) -> AsyncIterator[Chat]:
    async with open_chat(home, ["One.", "Two.", "Three.", "Four."], database_url=url) as chat:
        add_tools(chat.host, ToolOf("files__read", server="Files"))
        yield chat
        await wait_for_runs(chat)


def held(folder: Path, text: str = "Well,") -> list[Any]:
    """Return an answer that waits for a file in its middle."""
    return [{"text": text}, {"wait": 30, "until": str(folder / "go")}, {"text": " done."}]


async def answers(chat: Chat, branch: int) -> list[str]:
    snapshot = await chat.api.conversations.get(ME, chat.id, 500, branch)
    return [item.text for item in snapshot.items if item.kind in ("user_message", "response")]


async def questions(chat: Chat, branch: int) -> list[Item]:
    snapshot = await chat.api.conversations.get(ME, chat.id, 500, branch)
    return [item for item in snapshot.items if item.kind == "question" and item.status == "waiting"]


async def status(chat: Chat, sent: MessageAccepted) -> str:
    return (await chat.api.runs.get(ME, sent.run_id)).status


async def test_a_question_on_one_branch_holds_up_no_other_and_can_still_be_answered(chat: Chat) -> None:
    chat.write(["One.", ASKS, "Answered.", "Four."])
    await chat.say("First")
    asking = await chat.send("Ask me")
    assert (await chat.settled(asking.run_id)).status == "waiting"
    chat.write(["One.", "There.", "There, too."])
    edited = await chat.send("Do not ask", instead_of=asking.item_id)
    assert (await chat.settled(edited.run_id)).status == "completed"
    again = await chat.send("More there")
    assert (await chat.settled(again.run_id)).status == "completed"
    assert await status(chat, asking) == "waiting", "the question is left as it was"
    chat.write(["One.", ASKS, "Answered."])
    (question,) = await questions(chat, 0)
    await chat.api.questions.answer(ME, question.id, Answer(choice="allow"))
    assert (await chat.settled(asking.run_id)).status == "completed"
    assert await answers(chat, 0) == ["First", "One.", "Ask me", "", "Answered."]
    assert await answers(chat, 1) == ["First", "One.", "Do not ask", "There.", "More there", "There, too."]


async def test_a_message_behind_a_question_waits_in_its_branch_and_others_pass_it(chat: Chat, tmp_path: Path) -> None:
    chat.write(["One.", [*held(tmp_path)[:2], *ASKS], "Answered.", "Four."])
    first = await chat.send("First")
    await chat.settled(first.run_id)
    asking = await chat.send("Ask me")
    await chat.until_streaming("Well,")
    behind = await chat.send("Behind it")
    (tmp_path / "go").touch()
    assert (await chat.settled(asking.run_id)).status == "waiting"
    beside = await chat.send("Elsewhere", after=first.run_id)
    await eventually(lambda: _is(chat, beside, "waiting"), "the other branch to ask, too")
    assert await status(chat, behind) == "queued"
    for branch in (1, 0):
        (question,) = await questions(chat, branch)
        await chat.api.questions.answer(ME, question.id, Answer(choice="allow"))
    for each in (asking, behind, beside):
        assert (await chat.settled(each.run_id)).status == "completed"


async def _is(chat: Chat, sent: MessageAccepted, wanted: str) -> bool | None:
    return (await status(chat, sent)) == wanted or None


@pytest.mark.parametrize(("when_busy", "ended"), [("finish", "completed"), ("stop", "cancelled")])
async def test_an_edit_while_its_answer_is_written_finishes_or_stops_it_as_the_person_says(
    chat: Chat, tmp_path: Path, when_busy: str, ended: str
) -> None:
    chat.write([held(tmp_path), "Two."])
    sent = await chat.send("First")
    await chat.until_streaming("Well,")
    queued = await chat.send("Behind it")
    edited = await chat.send("First, edited", instead_of=sent.item_id, when_busy=when_busy)
    if when_busy == "finish":
        assert (await status(chat, sent), await status(chat, edited)) == ("running", "queued")
    (tmp_path / "go").touch()
    for each in (sent, queued, edited):
        await chat.settled(each.run_id)
    assert [await status(chat, each) for each in (sent, queued, edited)] == [ended, ended, "completed"]
    assert (await answers(chat, 1)) == ["First, edited", "Well, done."]


async def test_an_edit_of_what_waits_in_the_queue_stops_that_alone(chat: Chat, tmp_path: Path) -> None:
    chat.write([held(tmp_path), "Two."])
    first = await chat.send("First")
    await chat.until_streaming("Well,")
    queued = await chat.send("Second")
    edited = await chat.send("Second, edited", instead_of=queued.item_id, when_busy="stop")
    assert [await status(chat, each) for each in (first, queued)] == ["running", "cancelled"]
    (tmp_path / "go").touch()
    assert (await chat.settled(edited.run_id)).status == "completed"
    assert await answers(chat, 1) == ["First", "Well, done.", "Second, edited", "Two."]


async def test_what_cannot_be_a_branch_stops_nothing(chat: Chat, tmp_path: Path, monkeypatch: Any) -> None:
    chat.write(["One.", held(tmp_path)])
    first = await chat.send("First")
    await chat.settled(first.run_id)
    await chat.api.branches.hide(ME, first.item_id)
    working = await chat.send("Second")
    await chat.until_streaming("Well,")
    error = await refusal_of(chat.send("First b", instead_of=first.item_id, when_busy="stop"))
    assert error.code == "conflict"
    await chat.api.branches.show(ME, first.item_id)
    monkeypatch.setattr(limits, "BRANCHES", 0)
    error = await refusal_of(chat.send("First b", instead_of=first.item_id, when_busy="stop"))
    assert (error.code, error.message) == ("too_many", "This conversation has 0 branches already.")
    monkeypatch.undo()
    assert await status(chat, working) == "running"
    (tmp_path / "go").touch()
    assert (await chat.settled(working.run_id)).status == "completed"
    assert not (await chat.snapshot()).branches


async def test_the_same_key_makes_one_branch(chat: Chat) -> None:
    first = await chat.send("First")
    await chat.settled(first.run_id)
    edits = [await chat.send("Edited", instead_of=first.item_id, idempotency_key="edit") for _ in range(2)]
    assert edits[0] == edits[1]
    assert edits[0].branch == 1
    error = await refusal_of(chat.send("Edited", idempotency_key="edit"))
    assert error.code == "conflict"
    retries = [
        await chat.api.branches.retry(ME, first.run_id, Retry(idempotency_key="retry", temperature=0.5))
        for _ in range(2)
    ]
    assert retries[0] == retries[1]
    assert retries[0].branch == 2
    for other in (Retry(idempotency_key="retry", temperature=0.6), Retry(idempotency_key="edit")):
        assert (await refusal_of(chat.api.branches.retry(ME, first.run_id, other))).code == "conflict"
    for each in (*edits, *retries):
        await chat.settled(each.run_id)
    assert len((await chat.snapshot()).branches) == 2


async def test_a_comparison_that_is_sent_again_gives_the_same_runs(chat: Chat) -> None:
    wish = comparison(chat, 3, idempotency_key="which")
    both = await asyncio.gather(*(chat.api.branches.compare(ME, chat.id, wish) for _ in range(3)))
    once_more = await chat.api.branches.compare(ME, chat.id, wish)
    assert [each == once_more for each in both] == [True] * 3
    assert [each.branch for each in once_more.accepted] == [0, 1, 2]
    other = Comparison(message=wish.message, model_ids=wish.model_ids[:2])
    assert (await refusal_of(chat.api.branches.compare(ME, chat.id, other))).code == "conflict"
    (chat.script.parent / "go").write_text("")
    for each in once_more.accepted:
        assert (await chat.settled(each.run_id)).status == "completed"


def comparison(chat: Chat, models: int, **fields: Any) -> Comparison:
    """Return a wish to compare so many models, which all wait for the same file."""
    names = [chat.script.parent / f"model-{number}.json" for number in range(models)]
    return Comparison(
        message=NewMessage(text="Which is best?", **fields),
        model_ids=tuple(f"scripted:{_script(name)}" for name in names),
    )


def _script(path: Path) -> Path:
    folder = path.parent
    wait = f'{{"text": "I am {path.stem}"}}, {{"wait": 30, "until": "{folder / "go"}"}}, {{"text": "."}}'
    path.write_text(f'{{"turns": [[{wait}], [{wait}], [{wait}]]}}')
    return path


async def test_two_comparisons_come_one_after_the_other_and_each_is_side_by_side(chat: Chat, home: Path) -> None:
    wish = comparison(chat, 3)
    first = (await chat.api.branches.compare(ME, chat.id, wish)).accepted
    second = (await chat.api.branches.compare(ME, chat.id, wish)).accepted
    await eventually(lambda: _all_are(chat, first, "running"), "the first three to be at work side by side")
    assert [await status(chat, each) for each in second] == ["queued"] * 3
    # One of them is stopped, the others go on.
    await chat.api.runs.cancel(ME, first[1].run_id)
    go = home.parent / "go"
    go.touch()
    for each in first:
        await chat.settled(each.run_id)
    assert [await status(chat, each) for each in first] == ["completed", "cancelled", "completed"]
    go.unlink()
    await eventually(lambda: _at_work(chat, second, go), "the second three")
    for each in second:
        assert (await chat.settled(each.run_id)).status in ("completed",)
    # The person goes on with one of them, and only that is read.
    told = await answers(chat, second[2].branch)
    assert sorted(told) == ["I am model-0.", "I am model-2.", "Which is best?", "Which is best?"]


async def _all_are(chat: Chat, sent: Any, wanted: str) -> bool | None:
    return all([await status(chat, each) == wanted for each in sent]) or None


async def _at_work(chat: Chat, sent: Any, go: Path) -> bool | None:
    """Let them end once all of them are at work, or have ended because they began before the file was gone."""
    now = [await status(chat, each) for each in sent]
    if "queued" in now:
        return None
    await asyncio.to_thread(go.touch)
    return True


async def test_edits_from_two_tabs_at_once_are_all_kept_with_a_number_each(chat: Chat) -> None:
    first = await chat.send("First")
    await chat.settled(first.run_id)
    texts = [f"Edit {number}" for number in range(12)]
    sent = await asyncio.gather(*(chat.send(text, instead_of=first.item_id) for text in texts))
    for each in sent:
        assert (await chat.settled(each.run_id)).status == "completed"
    assert sorted(each.branch for each in sent) == list(range(1, 13))
    found = {each.branch: (await answers(chat, each.branch))[0] for each in sent}
    assert sorted(found.values()) == sorted(texts)
    assert all(found[each.branch] == text for each, text in zip(sent, texts, strict=True))


async def test_edits_from_two_processes_at_once_are_all_kept_with_a_number_each(
    home: Path, tmp_path: Path, postgres_url: str
) -> None:
    async with (
        open_chat(home, ["One."], database_url=postgres_url) as chat,
        open_host(tmp_path / "other" / "home", postgres_url, role="server") as other,
    ):
        first = await chat.send("First")
        await chat.settled(first.run_id)
        apis = [chat.api, other.api]
        posts = (
            apis[number % 2].runs.post_message(ME, chat.id, NewMessage(text=f"{number}", instead_of=first.item_id))
            for number in range(10)
        )
        retries = (apis[number % 2].branches.retry(ME, first.run_id, Retry()) for number in range(6))
        sent = await asyncio.gather(*posts, *retries)
        for each in sent:
            assert (await chat.settled(each.run_id)).status == "completed"
        assert sorted(each.branch for each in sent) == list(range(1, 17))
        items = [item for item in await all_items(chat) if item.kind == "user_message"]
        assert len(items) == 17


async def test_an_interrupted_run_of_a_branch_that_nobody_looks_at_is_resumed_there(
    home: Path, tmp_path: Path, url: str | None
) -> None:
    async with open_chat(home, ["One.", held(tmp_path)], database_url=url, at_rest=False) as chat:
        first = await chat.send("First")
        await chat.settled(first.run_id)
        left = await chat.send("Second")
        await chat.until_streaming("Well,")
        conversation, script = chat.id, chat.script
    script.write_text('{"turns": ["One.", "Two."]}')
    async with open_host(home, url, role="server") as host:
        chat = Chat(host, conversation, script)
        edited = await chat.send("Second b", instead_of=left.item_id)
        for each in (left, edited):
            assert (await chat.settled(each.run_id)).status == "completed"
        assert (await answers(chat, 0))[-1] == "Two."
        assert await answers(chat, 1) == ["First", "One.", "Second b", "Two."]


async def test_whoever_comes_in_the_middle_of_a_comparison_gets_the_text_of_all_answers(chat: Chat, home: Path) -> None:
    accepted = (await chat.api.branches.compare(ME, chat.id, comparison(chat, 3))).accepted
    for number in range(3):
        await chat.until_streaming(f"I am model-{number}")
    (home.parent / "go").touch()
    for each in accepted:
        assert (await chat.settled(each.run_id)).status == "completed"
