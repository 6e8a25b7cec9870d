"""Branches that are asked for in a wrong way, or by someone else: one plain sentence, and nothing has changed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from pilothouse.types import limits
from pilothouse.types.api import Comparison, NewConversation, NewMessage
from pilothouse.types.branch_views import BranchChoice, FilesBack, NewCopy, Retry
from pilothouse.types.replays import ReplayWish
from pilothouse.types.todos import Todo, TodoInput
from pilothouse.web.run import ServerOptions
from tests.support.branch_chats import refusal_of
from tests.support.chats import ME, Chat, open_chat, wait_for_runs
from tests.support.databases import SQLITE_AND_POSTGRESQL
from tests.support.in_process_server import BEARER, TOKEN, serve_host
from tests.support.tools import ToolOf, add_tools

STRANGER = "somebody-else"


@pytest.fixture(params=SQLITE_AND_POSTGRESQL)
async def chat(request: pytest.FixtureRequest, home: Path) -> AsyncIterator[Chat]:
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    async with open_chat(home, ["One.", "Two.", "Three."], database_url=url) as chat:
        yield chat
        await wait_for_runs(chat)


def everything(chat: Chat, owner: str, run: str, item: str) -> dict[str, Callable[[], Awaitable[Any]]]:
    """Return every verb about branches, and messages that make one, as someone asks for it."""
    branches, runs = chat.api.branches, chat.api.runs
    message = NewMessage(text="Mine now", model_id=f"scripted:{chat.script}")
    models = (f"scripted:{chat.script}", f"scripted:{chat.script}.none")
    return {
        "tree": lambda: branches.tree(owner, chat.id),
        "choose": lambda: branches.choose(owner, chat.id, BranchChoice(branch=0)),
        "retry": lambda: branches.retry(owner, run, Retry()),
        "compare": lambda: branches.compare(owner, chat.id, Comparison(message=message, model_ids=models)),
        "left behind": lambda: branches.left_behind(owner, run),
        "put back": lambda: branches.put_files_back(owner, run, FilesBack()),
        "copy": lambda: branches.copy(owner, run, NewCopy()),
        "hide": lambda: branches.hide(owner, item),
        "show": lambda: branches.show(owner, item),
        "replay": lambda: branches.replay(owner, run, ReplayWish()),
        "difference": lambda: branches.difference(owner, run, run),
        "edit": lambda: runs.post_message(owner, chat.id, NewMessage(text="x", instead_of=item)),
        "after": lambda: runs.post_message(owner, chat.id, NewMessage(text="x", after=run)),
        "branch": lambda: runs.post_message(owner, chat.id, NewMessage(text="x", branch=0)),
        "path": lambda: chat.api.conversations.get(owner, chat.id, 10, 0),
        "items": lambda: chat.api.conversations.items(owner, chat.id, None, 10, 0),
    }


async def test_nobody_else_has_anything_to_do_with_a_persons_branches(chat: Chat) -> None:
    Path(f"{chat.script}.none").write_text('{"turns": ["-"]}')  # noqa: ASYNC240
    first = await chat.send("First")
    await chat.settled(first.run_id)
    await chat.settled((await chat.send("First b", instead_of=first.item_id)).run_id)
    before = await chat.snapshot()
    for name, ask in everything(chat, STRANGER, first.run_id, first.item_id).items():
        assert (await refusal_of(ask())).code == "not_found", name
    assert await chat.snapshot() == before


async def test_messages_and_runs_of_another_conversation_are_no_place_for_a_branch(chat: Chat) -> None:
    first = await chat.send("First")
    await chat.settled(first.run_id)
    other = await chat.api.conversations.create(
        ME, NewConversation(settings=(await chat.snapshot()).conversation.settings)
    )
    elsewhere = await chat.api.runs.post_message(ME, other.id, NewMessage(text="Elsewhere"))
    await Chat(chat.host, other.id, chat.script).settled(elsewhere.run_id)
    before = (await chat.snapshot()).last_seq
    wishes: list[dict[str, Any]] = [
        {"instead_of": elsewhere.item_id},
        {"instead_of": "i_none"},
        {"instead_of": first.run_id},
        {"after": elsewhere.run_id},
        {"after": "r_none"},
        {"after": first.item_id},
        {"instead_of": first.item_id, "after": first.run_id},
        *({"branch": number} for number in (-1, 1, 2**31, 2**63 - 1)),
    ]
    for wish in wishes:
        error = await refusal_of(chat.send("x", **wish))
        assert error.code in ("not_found", "bad_request"), (wish, error)
        assert error.message.endswith(".")
    for number in (-1, 1, 2**40):
        assert (
            await refusal_of(chat.api.branches.choose(ME, chat.id, BranchChoice(branch=number)))
        ).code == "not_found"
        assert (await refusal_of(chat.api.conversations.get(ME, chat.id, 10, number))).code == "not_found"
        assert (await refusal_of(chat.api.conversations.items(ME, chat.id, None, 10, number))).code == "not_found"
    response = (await chat.items("response"))[0]
    assert (await refusal_of(chat.send("x", instead_of=response.id))).code == "bad_request"
    assert (await chat.snapshot()).last_seq == before


async def test_no_temperature_beyond_its_bounds_and_no_model_that_is_gone_makes_a_branch(chat: Chat) -> None:
    first = await chat.send("First")
    await chat.settled(first.run_id)
    before = (await chat.snapshot()).last_seq
    for wrong in (-0.1, 2.1, float("nan"), float("inf")):
        tries = (
            chat.api.branches.retry(ME, first.run_id, Retry(temperature=wrong)),
            chat.send("x", instead_of=first.item_id, temperature=wrong),
            chat.send("x", temperature=wrong),
        )
        for each in tries:
            assert (await refusal_of(each)).message == "The temperature must be between 0 and 2."
    gone = Retry(model_id="no-such-model", when_busy="stop")
    assert (await refusal_of(chat.api.branches.retry(ME, first.run_id, gone))).code == "unknown_model"
    error = await refusal_of(chat.send("x", instead_of=first.item_id, model_id="no-such-model"))
    assert error.message == "There is no model “no-such-model”."
    for key in ("", "x" * 201):
        assert (
            "1 to 200"
            in (await refusal_of(chat.api.branches.retry(ME, first.run_id, Retry(idempotency_key=key)))).message
        )
    for models in ((), (f"scripted:{chat.script}",), (f"scripted:{chat.script}",) * 3, tuple("abcd")):
        wish = Comparison(message=NewMessage(text="x"), model_ids=models)
        assert (await refusal_of(chat.api.branches.compare(ME, chat.id, wish))).code == "bad_request"
    assert (await chat.snapshot()).last_seq == before


async def test_one_more_branch_than_there_may_be_is_refused_in_one_sentence(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert limits.BRANCHES == 1_000
    monkeypatch.setattr(limits, "BRANCHES", 2)
    first = await chat.send("First")
    await chat.settled(first.run_id)
    for text in ("Two", "Three"):
        await chat.settled((await chat.send(text, instead_of=first.item_id)).run_id)
    before = (await chat.snapshot()).last_seq
    for each in (
        chat.send("Four", instead_of=first.item_id),
        chat.api.branches.retry(ME, first.run_id, Retry()),
    ):
        error = await refusal_of(each)
        assert (error.code, error.message) == ("too_many", "This conversation has 2 branches already.")
        assert error.fix == "Go on in a new conversation: branch into one from here."
    Path(f"{chat.script}.other").write_text('{"turns": ["-"]}')  # noqa: ASYNC240
    wish = Comparison(
        message=NewMessage(text="Which?"), model_ids=(f"scripted:{chat.script}", f"scripted:{chat.script}.other")
    )
    assert (await refusal_of(chat.api.branches.compare(ME, chat.id, wish))).code == "too_many"
    assert (await chat.snapshot()).last_seq == before, "of a comparison, too, all or nothing is kept"


async def test_only_messages_and_answers_that_are_at_their_end_are_hidden(chat: Chat, tmp_path: Path) -> None:
    add_tools(chat.host, ToolOf("files__read", server="Files"))
    await chat.api.todos.put(ME, chat.id, TodoInput(todos=(Todo(1, "Rest"),)))
    chat.write([[{"call": "files__read", "arguments": {}}], "One."])
    asking = await chat.say("First")
    others = [item for item in await chat.items() if item.kind in ("question", "notice")]
    assert {item.kind for item in others} == {"question", "notice"}
    for item in others:
        error = await refusal_of(chat.api.branches.hide(ME, item.id))
        assert error.message == "Only a message or an answer can be hidden."
    assert (await refusal_of(chat.api.branches.hide(ME, asking.message_item_id))).code == "conflict", "it waits"
    held = [{"text": "Well,"}, {"wait": 30, "until": str(tmp_path / "go")}]
    chat.write(["-", held, held, held])
    working = await chat.send("Second")
    await chat.until_streaming("Well,")
    assert (await refusal_of(chat.api.branches.hide(ME, working.item_id))).code == "conflict"
    await chat.api.runs.cancel(ME, working.run_id)
    await chat.settled(working.run_id)
    assert (await chat.api.branches.hide(ME, working.item_id)).item_ids == (working.item_id,)
    before = (await chat.snapshot()).last_seq
    await chat.api.branches.hide(ME, working.item_id)
    assert (await chat.snapshot()).last_seq == before, "what is hidden already writes nothing"
    error = await refusal_of(chat.api.runs.resume(ME, working.run_id))
    assert (error.message, error.fix) == ("This was hidden, so nobody can go on with it.", "Show it again first.")
    await chat.api.branches.show(ME, working.item_id)
    (tmp_path / "go").touch()
    await chat.api.runs.resume(ME, working.run_id)
    assert (await chat.settled(working.run_id)).status == "completed"


async def test_bodies_that_are_too_large_or_no_bodies_at_all_are_refused(chat: Chat) -> None:
    first = await chat.send("First")
    await chat.settled(first.run_id)
    before = (await chat.snapshot()).last_seq
    async with serve_host(chat.api, ServerOptions(token=TOKEN)) as server:
        conversation, run = f"/api/conversations/{chat.id}", f"/api/runs/{first.run_id}"
        huge = b'{"idempotencyKey": "' + b"x" * limits.BODY_BYTES + b'"}'
        for path in (f"{run}/retry", f"{conversation}/branch", f"{run}/put-files-back", f"{run}/copy", f"{run}/replay"):
            for body in (b"{", b"[]", b'{"unheard": 1}', b'{"branch": "one", "itself": 3}', b"\xff"):
                answer = await server.http.post(path, content=body, headers=BEARER)
                assert answer.status_code == 400, (path, body, answer.status_code)
                assert set(answer.json()) >= {"code", "message"}
            # Whether the answer is read depends on how much was written when the connection was closed.
            with suppress(httpx2.TransportError):
                assert (await server.http.post(path, content=huge, headers=BEARER)).status_code == 413
    assert (await chat.snapshot()).last_seq == before
