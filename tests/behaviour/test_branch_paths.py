"""A model is sent the path of one branch, and nothing else: each request extends the one before it on that path."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pilothouse.types.api import CompactionWish, ImageInput
from pilothouse.types.branch_views import Retry
from pilothouse.types.host_documents import Where
from pilothouse.types.item_data import MessageData
from pilothouse.types.items import read
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, ToolOutput
from pilothouse.types.tool_names import RECALL
from tests.support.branch_chats import BranchChat, call_reply, open_branch_chat, refusal_of, text_reply
from tests.support.chats import ME
from tests.support.databases import SQLITE_AND_POSTGRESQL
from tests.support.pictures import a_png
from tests.support.request_prefix import check_extends
from tests.support.sampling import first_and_some
from tests.support.scripted_endpoint import Reply
from tests.support.tools import ToolOf, add_tools
from tests.support.wire_writers import WIRES, Wire


@pytest.fixture(params=SQLITE_AND_POSTGRESQL)
def url(request: pytest.FixtureRequest) -> str | None:
    return str(request.getfixturevalue("postgres_url")) if request.param == "postgresql" else None


@pytest.fixture
async def talk(home: Path, url: str | None) -> AsyncIterator[BranchChat]:
    async with open_branch_chat(home, url) as talk:
        yield talk


@pytest.mark.case("CHT-02", "NAM-14")
@pytest.mark.parametrize("wire", first_and_some(WIRES))
async def test_each_request_extends_the_one_before_it_on_its_path(home: Path, url: str | None, wire: Wire) -> None:
    async with open_branch_chat(home, url, wire) as talk:
        thinks = [call_reply("think", '{"thoughts": "ünï 🚀"}', number, f"Round {number}.") for number in range(3)]
        first = await talk.say("First 🚀", thinks[0], text_reply("One."))
        second = await talk.say("Second", text_reply("Two."))
        await talk.say(
            "Second, but better", thinks[1], text_reply("Two b."), instead_of=(await talk.message(second)).id
        )
        await talk.say("Third there", text_reply("Three b."))
        await talk.choose(0)
        third = await talk.say("Third here", thinks[2], text_reply("Three."))
        talk.answer(text_reply("Three, again."))
        again = (await talk.chat.api.branches.retry(ME, third, Retry())).run_id
        await talk.followed(again)
        await talk.say("Fourth", text_reply("Four."))
        await talk.choose(1)
        await talk.say("Fourth there", text_reply("Four b."))
        await talk.say("All anew", text_reply("New."), instead_of=(await talk.message(first)).id)
        await talk.say("And on", text_reply("On."))
        lengths = [len(await talk.check_extends(branch)) for branch in range(4)]
        assert lengths == [3, 4, 4, 2]
        sent = talk.sent(again)[-1]
        assert [word in sent for word in ("Second", "Third here", "better", "Third there", "Three.")] == [
            *(True, True, False, False, False)
        ]


async def test_an_edited_message_that_waited_reads_the_whole_answer_before_it(talk: BranchChat) -> None:
    go = asyncio.Event()
    add_tools(talk.chat.host, held(go))
    talk.answer(call_reply("hold"), text_reply("The first is done."), text_reply("Old."), text_reply("New."))
    first = await talk.chat.send("First", allow=("hold",))
    await talk.endpoint.until_asked()
    queued = await talk.chat.send("Second, as it was")
    edited = await talk.chat.send("Second, edited", instead_of=queued.item_id)
    go.set()
    for each in (first, queued, edited):
        assert (await talk.chat.settled(each.run_id)).status == "completed"
    # Both were answered, each on its own path, and each after the whole of the first answer.
    bodies = [request.body for request in talk.endpoint.requests]
    assert len(bodies) == 4
    assert b"as it was" in bodies[2]
    assert b"edited" not in bodies[2]
    assert b"The first is done." in bodies[3]
    assert b"as it was" not in bodies[3]
    check_extends(bodies[1], bodies[2])
    check_extends(bodies[1], bodies[3])
    third = await talk.say("Third", text_reply("Three."))
    check_extends(bodies[3], talk.sent(third)[0].encode())


def held(go: asyncio.Event) -> ToolOf:
    """Return a tool that ends when it may."""

    async def action(_arguments: JsonObject, _context: CallContext) -> ToolOutput:
        await go.wait()
        return ToolOutput(text="Held.")

    return ToolOf("hold", action)


FAILS = Reply(status=400, body=b'{"error": {"message": "no such thing"}}')


async def failed(talk: BranchChat, text: str) -> str:
    """Send a message whose answer fails; return its run."""
    talk.answer(FAILS)
    run = await talk.chat.say(text)
    assert run.status == "failed"
    return run.id


async def test_what_was_said_late_and_with_a_later_message_in_view_is_no_part_of_an_earlier_place(
    talk: BranchChat,
) -> None:
    first = await failed(talk, "First")
    second = await talk.say("A secret of this branch", text_reply("I keep it."))
    await talk.chat.api.runs.resume(ME, first)
    await talk.followed(first, text_reply("Late words, about the secret."))
    # The second message is replaced: whoever read it is not part of what comes before it.
    run = await talk.say("Another second", text_reply("Fine."), instead_of=(await talk.message(second)).id)
    (sent,) = talk.sent(run)
    assert "secret" not in sent
    await talk.say("Third", text_reply("Fine."))
    await talk.check_extends(1, but=first)


async def test_a_run_that_is_resumed_late_adds_nothing_to_branches_that_went_on_without_it(talk: BranchChat) -> None:
    first = await failed(talk, "First")
    second = await talk.say("Second", text_reply("Two."))
    await talk.say("Second b", text_reply("Two b."), instead_of=(await talk.message(second)).id)
    await talk.chat.api.runs.resume(ME, first)
    await talk.followed(first, text_reply("Late words."))
    run = await talk.say("Third b", text_reply("Three b."))
    await talk.check_extends(1, but=first)
    assert "Late words." not in talk.sent(run)[-1]
    await talk.choose(0)
    run = await talk.say("Third", text_reply("Three."))
    assert "Late words." in talk.sent(run)[-1]
    await talk.check_extends(0, but=first)


async def test_a_summary_on_one_branch_does_not_reach_the_other_and_nothing_is_recalled_from_there(
    talk: BranchChat,
) -> None:
    await talk.say("The harbour is blue", text_reply("Blue."))
    second = await talk.say("The key is under the mat", text_reply("Noted."))
    await talk.say("The key is nowhere", text_reply("Odd."), instead_of=(await talk.message(second)).id)
    talk.answer(text_reply("They spoke of a blue harbour."))
    summed = await talk.chat.api.runs.compact(ME, talk.chat.id, CompactionWish())
    assert (summed.branch, (await talk.chat.settled(summed.run_id)).status) == (1, "completed")
    run = await talk.say("What colour?", call_reply(RECALL, '{"pattern": "key|harbour"}'), text_reply("Blue."))
    sent = talk.sent(run)
    assert "They spoke of a blue harbour." in sent[0]
    assert "under the mat" not in sent[-1]
    assert "The key is nowhere" in sent[-1], "it is recalled"
    talk.answer(call_reply(RECALL, f'{{"item": {(await talk.message(second)).position}}}', 2), text_reply("None."))
    run = await talk.say("Look it up")
    assert "under the mat" not in talk.sent(run)[-1]
    await talk.choose(0)
    run = await talk.say("And here?", text_reply("Here."))
    assert [text in talk.sent(run)[0] for text in ("They spoke of", "under the mat", RECALL)] == [False, True, False]
    await talk.check_extends(0)


async def finds_the_safe(_arguments: JsonObject, _context: CallContext) -> ToolOutput:
    return ToolOutput(text="The safe is behind the clock.")


async def test_results_of_another_branch_cannot_be_read(talk: BranchChat) -> None:
    add_tools(talk.chat.host, ToolOf("look", finds_the_safe))
    first = await talk.say("First", text_reply("One."))
    await talk.say("Look", call_reply("look"), text_reply("Seen."), allow=("look",))
    (call,) = await talk.chat.items("tool_call")
    asked = call_reply("read_tool_result", f'{{"id": "r{call.position}"}}', 1)
    here = await talk.say("Read it", asked, text_reply("Read."))
    assert talk.sent(here)[-1].count("behind the clock") == 2
    there = await talk.say("Read it there", asked, text_reply("No."), after=first)
    assert "behind the clock" not in talk.sent(there)[-1]
    assert "There is no result" in talk.sent(there)[-1]


async def test_pictures_and_documents_stay_in_an_edit_and_in_another_answer(talk: BranchChat) -> None:
    data = base64.b64encode(a_png(40)).decode()
    picture = ImageInput(media_type="image/png", data=data, name="seen.png")
    first = await talk.say("Look", text_reply("Nice."), images=(picture,))
    message = await talk.message(first)
    edited = await talk.say("Look again", text_reply("Nicer."), instead_of=message.id)
    other = base64.b64encode(a_png(60, number=7)).decode()
    both = await talk.say(
        "Both",
        text_reply("Two."),
        instead_of=message.id,
        images=(ImageInput(media_type="image/png", data=other, name="other.png"),),
    )
    without = await talk.say("Without", text_reply("Gone."), instead_of=message.id, keep_attachments=False)
    talk.answer(text_reply("Nicest."))
    again = await talk.followed((await talk.chat.api.branches.retry(ME, both, Retry())).run_id)
    found = {run: (data in talk.sent(run)[0], other in talk.sent(run)[0]) for run in (edited, both, without, again)}
    assert found == {edited: (True, False), both: (True, True), without: (False, False), again: (True, True)}
    for branch in range(1, 5):
        await talk.choose(branch)
        await talk.say(f"On {branch}", text_reply("Yes."))
        await talk.check_extends(branch)


async def test_hidden_messages_and_answers_are_not_sent_and_come_back(talk: BranchChat) -> None:
    first = await talk.say(
        "Blue message", call_reply("think", '{"thoughts": "blue thought"}'), text_reply("Blue answer.")
    )
    second = await talk.say("Red message", text_reply("Red answer."))
    items = await talk.chat.items()
    answer = next(item for item in items if item.kind == "response" and item.run_id == first and item.text)
    hidden = await talk.chat.api.branches.hide(ME, answer.id)
    assert len(hidden.item_ids) == 3, "the call and its result go with the words"
    await talk.chat.api.branches.hide(ME, (await talk.message(second)).id)
    sent = talk.sent(await talk.say("Go on", text_reply("On.")))[0]
    assert [
        text in sent for text in ("Blue message", "blue thought", "Blue answer.", "Red message", "Red answer.")
    ] == [*(True, False, False, False, True)]
    await talk.chat.api.branches.hide(ME, (await talk.message(first)).id)
    sent = talk.sent(await talk.say("Go on again", text_reply("On.")))[0]
    assert "Blue message" not in sent
    assert "The person hid the message that this answers." in sent
    for item_id in (answer.id, (await talk.message(first)).id, (await talk.message(second)).id):
        await talk.chat.api.branches.show(ME, item_id)
    sent = talk.sent(await talk.say("And all?", text_reply("All.")))[0]
    assert all(text in sent for text in ("Blue message", "blue thought", "Blue answer.", "Red message", "Red answer."))
    assert "The person hid" not in sent


@pytest.mark.parametrize("wire", WIRES)
async def test_every_wire_takes_a_conversation_whose_only_message_is_hidden(home: Path, wire: Wire) -> None:
    async with open_branch_chat(home, None, wire) as talk:
        first = await talk.say("Zanzibar", call_reply("think", '{"thoughts": "so"}'), text_reply("Answer."))
        message = await talk.message(first)
        await talk.chat.api.branches.hide(ME, message.id)
        await talk.say("Second", text_reply("Two."))
        await talk.say("Third", text_reply("Three."))
        bodies = [request.body for request in talk.endpoint.requests[2:]]
        assert all(b"Zanzibar" not in body and b"Answer." in body for body in bodies)
        (answer,) = [item for item in await talk.chat.items("response") if item.run_id == first and item.text]
        await talk.chat.api.branches.hide(ME, answer.id)
        last = await talk.say("Fourth", text_reply("Four."))
        assert "Answer." not in talk.sent(last)[0]
        assert "The person hid" not in talk.sent(last)[0]


async def test_what_is_hidden_is_neither_recalled_nor_read(talk: BranchChat) -> None:
    add_tools(talk.chat.host, ToolOf("look", finds_the_safe))
    first = await talk.say("The code is 4711", text_reply("The code is noted."))
    await talk.say("Look", call_reply("look"), text_reply("Seen at the clock."), allow=("look",))
    await talk.say("The harbour is blue", text_reply("Blue."))
    (call,) = await talk.chat.items("tool_call")
    message = await talk.message(first)
    for hidden in (message.id, call.id):
        await talk.chat.api.branches.hide(ME, hidden)
    talk.answer(text_reply("They spoke of a harbour."))
    summed = await talk.chat.api.runs.compact(ME, talk.chat.id, CompactionWish())
    assert (await talk.chat.settled(summed.run_id)).status == "completed"
    asked = (
        call_reply(RECALL, '{"pattern": "4711|clock|harbour"}', 1),
        call_reply(RECALL, '{"about": "code clock harbour"}', 2),
        call_reply(RECALL, f'{{"item": {message.position}}}', 3),
        call_reply(RECALL, f'{{"item": {call.position}}}', 4),
        call_reply("read_tool_result", f'{{"id": "r{call.position}"}}', 5),
    )
    run = await talk.say("Look it all up", *asked, text_reply("Nothing."))
    sent = talk.sent(run)[-1]
    assert "Person: The harbour is blue" in sent, "what is not hidden is recalled"
    assert [words in sent for words in ("code is 4711", "behind the clock", "Seen at")] == [False, False, False]
    assert f"There is no entry {message.position}" in sent
    assert f"There is no entry {call.position}" in sent
    assert "There is no result" in sent
    await talk.chat.api.branches.show(ME, message.id)
    run = await talk.say("And now", call_reply(RECALL, f'{{"item": {message.position}}}', 6), text_reply("Found."))
    assert "Person: The code is 4711" in talk.sent(run)[-1]


async def test_each_attachment_of_an_edited_message_is_kept_or_dropped_by_itself(talk: BranchChat) -> None:
    async def written(words: bytes) -> AsyncIterator[bytes]:
        yield words

    shelf, here = talk.chat.api.documents, Where(seen_by=talk.chat.id)
    notes = (await shelf.upload(ME, written(b"Ebb tide at noon."), "notes.txt", here)).document
    plan = (await shelf.upload(ME, written(b"Sail at dawn."), "plan.txt", here)).document
    data = [base64.b64encode(a_png(40, number=number)).decode() for number in (1, 2, 3)]
    pictures = tuple(ImageInput(media_type="image/png", data=each, name=f"{at}.png") for at, each in enumerate(data))
    first = await talk.say("Look", text_reply("Seen."), images=pictures, documents=(notes.id, plan.id))
    message = await talk.message(first)
    fewer = await talk.say(
        *("Look again", text_reply("Fewer.")),
        instead_of=message.id,
        drop_pictures=(0, 2),
        drop_documents=(plan.id,),
        images=(ImageInput(media_type="image/png", data=base64.b64encode(a_png(60)).decode(), name="new.png"),),
    )
    sent = talk.sent(fewer)[0]
    assert [each in sent for each in (*data, "Ebb tide", "Sail at dawn")] == [False, True, False, True, False]
    edited = await talk.message(fewer)
    now = read(MessageData, edited.raw)
    assert [part.name for part in now.content] == ["new.png", "1.png"]
    assert [each.id for each in now.documents] == [notes.id]
    # What was dropped is not kept for it, either.
    at = [part.index for part in now.content]
    assert [(await talk.chat.api.runs.part(ME, edited.id, index)).name for index in at] == ["new.png", "1.png"]
    gone = [await refusal_of(talk.chat.api.runs.part(ME, edited.id, index)) for index in range(4) if index not in at]
    assert {each.code for each in gone} == {"not_found"}
    talk.answer(text_reply("Once more."))
    again = await talk.followed((await talk.chat.api.branches.retry(ME, fewer, Retry())).run_id)
    assert [each in talk.sent(again)[0] for each in data] == [False, True, False]
    # Without words, what is kept is the message; nothing at all is none.
    silent = await talk.say(
        "", text_reply("Silence."), instead_of=message.id, drop_pictures=(0, 1), drop_documents=(notes.id,)
    )
    assert [each in talk.sent(silent)[0] for each in data] == [False, False, True]
    nothing = await refusal_of(talk.chat.send("", instead_of=message.id, keep_attachments=False))
    assert nothing.message == "The message is empty."
    unknown = await refusal_of(talk.chat.send("Look", instead_of=message.id, drop_pictures=(3,)))
    assert unknown.message == "The message has no such attachment."
