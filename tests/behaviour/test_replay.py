"""A finished run once more, with what its tools gave then: nothing is carried out, nobody is asked, nothing changes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types import limits
from pilothouse.types.api import Answer, CompactionWish, ConversationPatch, NewConversation
from pilothouse.types.branch_views import BranchChoice, NewCopy, Retry
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.item_data import NoticeData, ResponseData
from pilothouse.types.items import is_a
from pilothouse.types.replays import ReplayWish
from pilothouse.types.selection import Selection, ServerChoice
from tests.support.chats import ME, Chat, database_of, open_chat, wait_for_runs
from tests.support.databases import SQLITE_AND_POSTGRESQL, open_transaction
from tests.support.replays import add_script, add_server, compare_runs, count_calls, echo, replay_run, run_items

PLAN = [{"title": "Look around", "status": "in-progress"}, {"title": "Write it"}]
FAR = ("far.*",)


class Replays:
    """A chat whose folder and server note what is done."""

    def __init__(self, chat: Chat, folder: Path, record: Path, url: str) -> None:
        self.chat = chat
        self.folder = folder
        self.record = record
        self.url = url


@pytest.fixture(params=SQLITE_AND_POSTGRESQL)
async def desk(request: pytest.FixtureRequest, home: Path, tmp_path: Path) -> AsyncIterator[Replays]:
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    folder, record = tmp_path / "project", tmp_path / "record.jsonl"
    folder.mkdir()
    settings = {"working_directory": str(folder)}
    async with open_chat(home, ["Hello."], database_url=url, settings=settings) as chat:
        await add_server(chat, record)
        yield Replays(chat, folder, record, url or database_of(home))
        await wait_for_runs(chat)


def create(name: str, content: str) -> dict[str, Any]:
    return {
        "call": "file_operations",
        "arguments": {"operation": "create_file", "filePath": name, "content": content},
    }


async def refused(work: Any) -> PilothouseError:
    with pytest.raises(PilothouseError) as raised:
        await work
    return raised.value


# --- what is done, and what is not ---


async def test_no_tool_is_executed_and_the_model_gets_what_was_given_then(desk: Replays) -> None:
    chat = desk.chat
    todo = {"call": "todo_operations", "arguments": {"operation": "write", "todoList": PLAN}}
    chat.write([[echo("one"), create("a.txt", "A")], [todo], "Done."])
    await chat.api.conversations.update(ME, chat.id, ConversationPatch(settings=await _with(chat, mode="auto_approve")))
    run = await chat.say(allow=FAR)
    assert (run.status, count_calls(desk.record)) == ("completed", 1)
    (desk.folder / "a.txt").unlink()
    todos = await chat.api.todos.get(ME, chat.id)
    before = await run_items(chat, run, "tool_call")
    again = await replay_run(
        chat, run.id, model_id=add_script(chat, [[echo("one"), create("a.txt", "A")], [todo], "Same."])
    )
    assert (again.status, again.error) == ("completed", None)
    calls = await run_items(chat, again, "tool_call")
    assert [(call.status, call.text) for call in calls] == [(call.status, call.text) for call in before]
    assert [call.raw["recorded"] for call in calls] == [call.id for call in before]
    assert all("executing" not in call.raw["phases"] for call in calls)
    assert count_calls(desk.record) == 1
    assert not (desk.folder / "a.txt").exists()
    assert await chat.api.todos.get(ME, chat.id) == todos
    assert (await chat.api.changes.list(ME, again.id)).changes == ()
    assert not await run_items(chat, again, "question")


async def _with(chat: Chat, **settings: Any) -> ConversationSettings:
    now = (await chat.snapshot()).conversation.settings
    return ConversationSettings(**{name: getattr(now, name) for name in now.__struct_fields__} | settings)


async def test_a_call_that_was_not_recorded_stops_there_and_says_so(desk: Replays) -> None:
    chat = desk.chat
    chat.write([[echo("one")], "Done."])
    run = await chat.say(allow=FAR)
    again = await replay_run(chat, run.id, model_id=add_script(chat, [[echo("one"), echo("two")], "Never."]))
    assert again.error is not None
    assert (again.status, again.error.code) == ("failed", "not_recorded")
    words = 'The model called far.echo with {"text":"two"}. That was not recorded, so the replay stops here.'
    assert again.error.message == words
    first, second = await run_items(chat, again, "tool_call")
    assert (first.status, first.text) == ("completed", "one")
    assert (second.status, second.text, second.raw["error"]["code"]) == ("failed", words, "NOT_RECORDED")
    assert count_calls(desk.record) == 1
    # The list does not say of the conversation that it failed.
    assert (await chat.snapshot()).conversation.activity == "completed"
    assert len(await run_items(chat, again, "response")) == 1
    assert (await refused(chat.api.runs.resume(ME, again.id))).code == "conflict"


async def test_the_nth_call_gets_the_nth_result_and_then_the_last_again(desk: Replays) -> None:
    chat = desk.chat
    count = {"call": "far__count", "arguments": {}}
    chat.write([[count], [count], "Counted."])
    run = await chat.say(allow=FAR)
    first, second = [call.text for call in await run_items(chat, run, "tool_call")]
    assert first != second
    again = await replay_run(chat, run.id, model_id=add_script(chat, [[count, count], [count], "Counted."]))
    assert [call.text for call in await run_items(chat, again, "tool_call")] == [first, second, second]
    assert count_calls(desk.record) == 2


async def test_arguments_are_the_same_whatever_their_order_and_however_a_number_is_written(desk: Replays) -> None:
    chat = desk.chat
    chat.write([[{"call": "far__structured", "arguments": '{"b": [1, {"y": 2.0}], "a": "x"}'}], "Done."])
    run = await chat.say(allow=FAR)
    same = '{"a": "x", "b": [1.0, {"y": 2}]}'
    again = await replay_run(
        chat, run.id, model_id=add_script(chat, [[{"call": "far__structured", "arguments": same}], "D"])
    )
    assert again.status == "completed"
    other = '{"a": "x", "b": [true, {"y": 2}]}'
    third = await replay_run(
        chat, run.id, model_id=add_script(chat, [[{"call": "far__structured", "arguments": other}]])
    )
    assert third.error is not None
    assert third.error.code == "not_recorded"


async def test_what_failed_or_was_denied_then_is_given_back_as_that(desk: Replays) -> None:
    chat = desk.chat
    broken, denied = {"call": "far__fail", "arguments": {"message": "Out of order"}}, echo("no")
    unread = {"call": "far__echo", "arguments": "{broken"}
    nobody = {"call": "nobody", "arguments": {"a": 1}}
    turns = [[broken, denied, unread, nobody], "I see."]
    chat.write(turns)
    run = await chat.say(allow=("far.fail",))
    (question,) = await chat.items("question")
    await chat.api.questions.answer(ME, question.id, Answer(choice="deny", text="Not today."))
    run = await chat.settled(run.id)
    before = await run_items(chat, run, "tool_call")
    assert [call.status for call in before] == ["failed"] * 4
    again = await replay_run(chat, run.id, model_id=add_script(chat, turns))
    assert again.status == "completed"
    after = await run_items(chat, again, "tool_call")
    assert [(call.status, call.text, call.raw["error"]) for call in after] == [
        (call.status, call.text, call.raw["error"]) for call in before
    ]
    assert count_calls(desk.record) == 1


async def test_nobody_is_asked_about_a_call_that_was_asked_about_then(desk: Replays) -> None:
    chat = desk.chat
    asking = {"call": "user_collaboration", "arguments": {"prompt": "Which colour?"}}
    turns = [[echo("one")], [asking], "Thanks."]
    chat.write(turns)
    run = await chat.say()
    for answer in (Answer(choice="allow"), Answer(text="Blue")):
        question = (await chat.items("question"))[-1]
        await chat.api.questions.answer(ME, question.id, answer)
        run = await chat.settled(run.id)
    assert run.status == "completed"
    again = await replay_run(chat, run.id, model_id=add_script(chat, turns))
    assert again.status == "completed"
    assert not await run_items(chat, again, "question")
    assert [call.text for call in await run_items(chat, again, "tool_call")] == [
        call.text for call in await run_items(chat, run, "tool_call")
    ]
    assert (await chat.api.permissions.grants(ME)).grants == ()


async def test_a_server_that_is_gone_is_said_and_its_results_are_there(desk: Replays) -> None:
    chat = desk.chat
    chat.write([[echo("one")], "Done."])
    chosen = Selection(servers=(ServerChoice(name="Far"),))
    run = await chat.say(allow=FAR, selection=chosen)
    server = next(view for view in (await chat.api.servers.list(ME)).servers if view.name == "Far")
    await chat.api.servers.delete(ME, server.id)
    again = await replay_run(chat, run.id, model_id=add_script(chat, [[echo("one")], "Done."]))
    assert again.status == "completed"
    (notice,) = await run_items(chat, again, "notice")
    assert is_a(notice, NoticeData)
    assert (notice.data.code, "far.echo" in notice.text) == ("tools_gone", True)
    assert (await compare_runs(chat, run, again)).same_calls


async def test_pictures_of_results_are_kept_for_the_replay_too(desk: Replays) -> None:
    chat = desk.chat
    turns = [[{"call": "far__image", "arguments": {}}], "A dot."]
    chat.write(turns)
    run = await chat.say(allow=FAR)
    again = await replay_run(chat, run.id, model_id=add_script(chat, turns))
    (first,), (second,) = await run_items(chat, run, "tool_call"), await run_items(chat, again, "tool_call")
    assert second.raw["content"] == first.raw["content"]
    index = next(part["index"] for part in first.raw["content"] if part["kind"] == "image")
    given = [(await chat.api.runs.part(ME, call.id, index)).data for call in (first, second)]
    assert given[0] == given[1] != b""


# --- where it stands ---


async def test_a_replay_is_a_branch_that_nobody_goes_on_with(desk: Replays) -> None:
    chat = desk.chat
    chat.write(["One.", "Two.", "Three."])
    await chat.say("A")
    run = await chat.say("B")
    await chat.say("C")
    shown = await chat.texts("user_message", "response")
    again = await replay_run(
        chat, run.id, model_id=add_script(chat, ["Uno.", "Due."]), temperature=0.3, system_prompt="Be."
    )
    assert (again.branch, again.options.temperature, again.options.system_prompt) == (1, 0.3, "Be.")
    snapshot = await chat.snapshot()
    assert (snapshot.branch, snapshot.conversation.branch) == (0, 0)
    assert await chat.texts("user_message", "response") == shown
    assert snapshot.conversation.activity == "completed"
    # No arrow leads to it; the tree has it.
    assert snapshot.branches == ()
    _, branch = (await chat.api.branches.tree(ME, chat.id)).branches
    assert (branch.kind, branch.instead_of, branch.repeats) == ("replay", run.id, run.message_item_id)
    items = (await chat.api.conversations.get(ME, chat.id, 500, 1)).items
    assert [item.text for item in items] == ["A", "One.", "B", "Due."]


async def test_nobody_goes_on_with_a_replay(desk: Replays) -> None:
    chat = desk.chat
    run = await chat.say("A")
    again = await replay_run(chat, run.id, model_id=add_script(chat, ["Uno."]))
    before = await chat.snapshot()
    chosen = chat.api.branches.choose(ME, chat.id, BranchChoice(branch=again.branch))
    copied = chat.api.branches.copy(ME, again.id, NewCopy())
    there = (await chat.api.conversations.list(ME)).conversations
    for work in (chat.send("B", branch=again.branch), chat.send("B", after=again.id), chosen, copied):
        error = await refused(work)
        assert (error.code, error.message) == ("conflict", "A replay is there to be looked at; nobody goes on with it.")
    assert await chat.snapshot() == before
    assert (await chat.api.conversations.list(ME)).conversations == there
    # Another answer to its message stands beside the first, and goes on from there.
    third = await chat.settled((await chat.api.branches.retry(ME, again.id, Retry())).run_id)
    assert (third.status, third.options.replay_of, third.branch) == ("completed", None, 2)
    assert (await chat.say("B")).branch == 2


async def test_a_replay_of_a_replay_has_the_results_of_the_first_run(desk: Replays) -> None:
    chat = desk.chat
    chat.write([[echo("one")], [echo("two")], "Done."])
    run = await chat.say(allow=FAR)
    second = await replay_run(
        chat, run.id, model_id=add_script(chat, [[echo("one")], "Short."]), system_prompt="Be brief."
    )
    third = await replay_run(chat, second.id, model_id=add_script(chat, [[echo("two")], "Other."], "third"))
    assert (third.status, third.options.replay_of) == ("completed", run.id)
    assert third.options.system_prompt == "Be brief."
    fourth = await replay_run(chat, second.id)
    assert fourth.options.model_id == second.options.model_id
    assert {node.instead_of for node in (await chat.api.branches.tree(ME, chat.id)).branches if node.number} == {run.id}


async def test_a_question_that_waits_in_the_conversation_stays_open(desk: Replays) -> None:
    chat = desk.chat
    chat.write(["One.", [echo("x")], "Done."])
    run = await chat.say("A")
    waiting = await chat.say("B")
    assert waiting.status == "waiting"
    again = await replay_run(chat, run.id, model_id=add_script(chat, ["Uno."]))
    assert again.status == "completed"
    assert (await chat.api.runs.get(ME, waiting.id)).status == "waiting"
    (question,) = await chat.items("question")
    await chat.api.questions.answer(ME, question.id, Answer(choice="allow"))
    assert (await chat.settled(waiting.id)).status == "completed"


async def test_the_tokens_of_a_replay_are_counted(desk: Replays) -> None:
    chat = desk.chat
    chat.write([["One.", {"usage": {"input": 10, "output": 2}}]])
    run = await chat.say("A")
    before = (await chat.api.usage.report(ME, 1)).total
    model = add_script(chat, [["Uno.", {"usage": {"input": 100, "output": 20}}]])
    again = await replay_run(chat, run.id, model_id=model)
    after = (await chat.api.usage.report(ME, 1)).total
    assert (after.input - before.input, after.output - before.output) == (100, 20)
    (answer,) = await run_items(chat, again, "response")
    assert is_a(answer, ResponseData)
    assert answer.data.usage is not None
    assert answer.data.usage.input == 100


async def test_the_same_key_begins_one_replay_and_another_wish_with_it_is_refused(desk: Replays) -> None:
    chat = desk.chat
    run = await chat.say("A")
    wish = ReplayWish(model_id=add_script(chat, ["Uno."]), idempotency_key="k1")
    first, second = [await chat.api.branches.replay(ME, run.id, wish) for _ in range(2)]
    assert first.run_id == second.run_id
    other = ReplayWish(model_id=wish.model_id, temperature=0.5, idempotency_key="k1")
    assert (await refused(chat.api.branches.replay(ME, run.id, other))).code == "conflict"
    await chat.settled(first.run_id)


# --- what cannot be replayed ---


async def test_a_run_that_is_not_finished_is_refused(desk: Replays) -> None:
    chat = desk.chat
    chat.write([[echo("one")], "Done."])
    run = await chat.say("A")
    assert run.status == "waiting"
    error = await refused(chat.api.branches.replay(ME, run.id, ReplayWish()))
    assert (error.code, error.message) == ("conflict", "This answer is not finished, so it cannot be replayed yet.")
    await chat.api.runs.cancel(ME, run.id)
    again = await replay_run(chat, run.id, model_id=add_script(chat, [[echo("one")], "Done."]))
    (call,) = await run_items(chat, again, "tool_call")
    assert (again.status, call.status) == ("completed", "cancelled")


async def test_a_run_whose_results_were_cleared_is_refused_and_nothing_is_lost(desk: Replays) -> None:
    chat = desk.chat
    chat.write([[{"call": "far__image", "arguments": {}}], "A dot."])
    run = await chat.say(allow=FAR)
    before = await chat.snapshot()
    with open_transaction(desk.url) as connection:
        kept = connection.exec_driver_sql("SELECT * FROM parts").all()
        connection.exec_driver_sql("DELETE FROM parts")
        connection.commit()
    error = await refused(chat.api.branches.replay(ME, run.id, ReplayWish()))
    assert (error.code, error.message) == (
        "conflict",
        "What tools gave in this run is not kept any more, so it cannot be replayed.",
    )
    assert (await chat.snapshot()) == before
    _put_back(desk, kept)
    assert (await replay_run(chat, run.id)).status == "completed"


def _put_back(desk: Replays, kept: Any) -> None:
    """Put the rows back, so that the record of the conversation is whole at the end."""
    with open_transaction(desk.url) as connection:
        for row in kept:
            values = ", ".join(("%s" if connection.dialect.name == "postgresql" else "?") for _ in row)
            connection.exec_driver_sql(f"INSERT INTO parts VALUES ({values})", tuple(row))
        connection.commit()


async def test_a_model_that_is_gone_and_a_temperature_that_is_none_are_refused(desk: Replays) -> None:
    chat = desk.chat
    run = await chat.say("A")
    assert (await refused(chat.api.branches.replay(ME, run.id, ReplayWish(model_id="gone")))).code == "unknown_model"
    assert (await refused(chat.api.branches.replay(ME, run.id, ReplayWish(temperature=7)))).code == "bad_request"
    assert (await chat.snapshot()).conversation.branches == 0


async def test_a_run_of_someone_else_and_a_summary_are_not_replayed(desk: Replays) -> None:
    chat = desk.chat
    run = await chat.say("A")
    assert (await refused(chat.api.branches.replay("stranger", run.id, ReplayWish()))).code == "not_found"
    assert (await refused(chat.api.branches.difference("stranger", run.id, run.id))).code == "not_found"
    summary = await chat.api.runs.compact(ME, chat.id, CompactionWish())
    await chat.settled(summary.run_id)
    assert (await refused(chat.api.branches.replay(ME, summary.run_id, ReplayWish()))).code == "bad_request"


async def test_a_model_that_calls_the_same_again_and_again_is_stopped_and_nobody_asked(desk: Replays) -> None:
    chat = desk.chat
    chat.write([[echo("one")], "Done."])
    run = await chat.say(allow=FAR)
    again = await replay_run(chat, run.id, model_id=add_script(chat, [[echo("one")]]))
    assert again.error is not None
    assert (again.status, again.error.code) == ("failed", "budget_reached")
    assert "Nobody is asked in a replay" in again.error.message
    assert len(await run_items(chat, again, "tool_call")) == limits.REPEATED_CALLS


# --- compared ---


async def test_two_runs_are_compared_step_by_step(desk: Replays) -> None:
    chat = desk.chat
    chat.write(
        [
            [{"text": "Let me see."}, echo("one"), {"usage": {"input": 100, "output": 10}}],
            [echo("two"), {"usage": {"input": 120, "output": 11}}],
            ["Done.", {"usage": {"input": 140, "output": 12}}],
        ]
    )
    run = await chat.say(allow=FAR)
    turns = [
        [{"text": "Let me see."}, echo("one"), {"usage": {"input": 90, "output": 5}}],
        [echo("one"), {"usage": {"input": 95, "output": 6}}],
        ["Finished.", {"usage": {"input": 97, "output": 7}}],
    ]
    again = await replay_run(chat, run.id, model_id=add_script(chat, turns))
    found = await compare_runs(chat, run, again)
    assert [step.differs for step in found.steps] == [("same",), ("arguments",), ("text",)]
    assert (found.same_calls, found.same_answer) == (False, False)
    assert (found.before.answer, found.after.answer) == ("Done.", "Finished.")
    assert (found.before.usage.input, found.after.usage.input) == (360, 282)
    assert (found.before.calls, found.before.steps, found.after.model) == (2, 3, again.options.model_id)
    first = found.steps[0].before
    assert first is not None
    assert [(call.tool, call.arguments, call.status, call.result) for call in first.calls] == [
        ("far.echo", '{"text":"one"}', "completed", "one")
    ]
    assert first.usage is not None
    assert (first.text, first.usage.input, first.usage.output) == ("Let me see.", 100, 10)
    assert first.duration_ms is not None
    same = await compare_runs(chat, run, run)
    assert (same.same_calls, same.same_answer) == (True, True)


async def test_a_replay_that_stopped_is_compared_as_far_as_it_came(desk: Replays) -> None:
    chat = desk.chat
    chat.write([[echo("one")], [echo("two")], "Done."])
    run = await chat.say(allow=FAR)
    again = await replay_run(
        chat, run.id, model_id=add_script(chat, [[{"text": "Done."}, echo("elsewhere"), create("b.txt", "B")]])
    )
    found = await compare_runs(chat, run, again)
    assert [step.differs for step in found.steps] == [("calls", "text"), ("only_before",), ("only_before",)]
    after = found.steps[0].after
    assert after is not None
    assert [call.status for call in after.calls] == ["not_recorded", "not_recorded"]
    assert "was not recorded" in found.after.stopped
    # The same words, and it was not at its end.
    assert found.before.answer == found.after.answer == "Done."
    assert not found.same_answer
    assert not (desk.folder / "b.txt").exists()


async def test_runs_of_different_conversations_can_be_compared(desk: Replays) -> None:
    chat = desk.chat
    chat.write(["Done."])
    run = await chat.say("A")
    settings = ConversationSettings(model_id=f"scripted:{chat.script}")
    created = await chat.api.conversations.create(ME, NewConversation(settings=settings))
    other = Chat(chat.host, created.id, chat.script)
    second = await other.say("B")
    assert (await compare_runs(chat, run, second)).same_answer
