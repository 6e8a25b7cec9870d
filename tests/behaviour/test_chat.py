"""A chat as a person has it: answers, titles, settings, second messages, deleting, finding."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from pilothouse.connection import connect_host
from pilothouse.host.following import Following
from pilothouse.types import limits
from pilothouse.types.api import (
    Answer,
    ConfigPatch,
    ConversationPatch,
    ImageInput,
    ModelInput,
    NewConversation,
    NewMessage,
)
from pilothouse.types.authority import PendingApproval
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.runs import Run
from pilothouse.wiring import open_host
from tests.support import invariants
from tests.support.chats import ME, Chat, database_of, open_chat
from tests.support.documents import png
from tests.support.scripted_endpoint import Endpoint, Received, Reply
from tests.support.waiting import eventually
from tests.support.wire_writers import Say, Text

PIXEL = base64.b64encode(png(1, 1)).decode()
SLOW = [{"text": "one two three four five six seven", "pieces": 4, "every": 0.05}]
LOOPING = [{"call": "think", "arguments": {"thoughts": "again"}}]


async def test_a_whole_chat_with_thinking_calls_and_text(home: Path) -> None:
    turns = [
        [{"thinking": "Let me see."}, "I will think.", {"call": "think", "arguments": {"thoughts": "plan"}}],
        [{"text": "It is 42 🚀.", "pieces": 2}, {"usage": {"input": 9, "output": 4}}],
        ["You are welcome."],
    ]
    async with open_chat(home, turns) as chat:
        run = await chat.say("What is it?")
        assert run.status == "completed", run.error
        assert [(item.kind, item.text) for item in await chat.items()] == [
            ("user_message", "What is it?"),
            ("thinking", "Let me see."),
            ("response", "I will think."),
            ("tool_call", "Noted. Now act."),
            ("response", "It is 42 🚀."),
        ]
        assert (await chat.items())[-1].raw["usage"]["output"] == 4
        assert (await chat.say("Thanks")).status == "completed"
        assert (await chat.texts("response"))[-1] == "You are welcome."


async def test_a_message_sent_during_an_answer_is_answered_after_it(home: Path) -> None:
    first = [[*SLOW, {"call": "think", "arguments": {"thoughts": "x"}}], [*SLOW]]
    async with open_chat(home, [*first, ["Second."]]) as chat:
        one = await chat.send("First")
        await chat.until_streaming("one")
        two = await chat.send("Second")
        assert (await chat.settled(one.run_id)).status == "completed"
        assert (await chat.settled(two.run_id)).status == "completed"
        assert await chat.texts("response") == [SLOW[0]["text"], SLOW[0]["text"], "Second."]
        statuses = {run.id: run.status for run in (await chat.snapshot()).runs}
        assert set(statuses.values()) == {"completed"}


async def test_a_new_message_withdraws_the_question_that_waits(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REPEATED_CALLS", 2)
    async with open_chat(home, [LOOPING, LOOPING, ["Fine."]]) as chat:
        assert (waiting := await chat.say("Loop")).status == "waiting"
        assert (await chat.say("Never mind")).status == "completed"
        assert (await chat.api.runs.get(ME, waiting.id)).status == "cancelled"
        assert [item.status for item in await chat.items("question")] == ["cancelled"]
        with pytest.raises(PilothouseError) as refused:
            await chat.api.questions.answer(ME, (await chat.items("question"))[0].id, Answer(choice="continue"))
        assert refused.value.code == "conflict"


async def test_resending_a_message_is_harmless_even_while_its_question_waits(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REPEATED_CALLS", 2)
    async with open_chat(home, [LOOPING]) as chat:
        posts = await asyncio.gather(*(chat.send("Loop", idempotency_key="k") for _ in range(6)))
        assert len({post.run_id for post in posts}) == 1
        run = await chat.settled(posts[0].run_id)
        assert run.status == "waiting"
        assert await chat.send("Loop", idempotency_key="k") == posts[0]
        assert (await chat.api.runs.get(ME, run.id)).status == "waiting"
        assert len(await chat.items("user_message")) == 1


@pytest.mark.parametrize(
    "other", [{"text": "Else"}, {"unattended": True}, {"thinking": True}, {"allow": ("core.*",)}], ids=str
)
async def test_a_key_with_another_message_is_refused_and_changes_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch, other: dict[str, Any]
) -> None:
    monkeypatch.setattr(limits, "REPEATED_CALLS", 2)
    async with open_chat(home, [LOOPING]) as chat:
        run = await chat.say("Loop", idempotency_key="k")
        assert run.status == "waiting"
        with pytest.raises(PilothouseError) as refused:
            await chat.send(**{"text": "Loop", "idempotency_key": "k", **other})
        assert refused.value.code == "conflict"
        assert "another message" in refused.value.message
        assert (await chat.api.runs.get(ME, run.id)).status == "waiting", "its question was not withdrawn"
        assert len(await chat.items("user_message")) == 1


async def test_what_queued_behind_a_question_runs_once_it_is_settled(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REPEATED_CALLS", 2)
    async with open_chat(home, [[*SLOW, *LOOPING], LOOPING, ["Second."]]) as chat:
        first = await chat.send("Loop")
        await chat.until_streaming("one")
        second = await chat.send("Second")
        assert (await chat.settled(first.run_id)).status == "waiting"
        assert (await chat.api.runs.get(ME, second.run_id)).status == "queued"
        assert (await chat.api.runs.cancel(ME, first.run_id)).status == "cancelled"
        assert (await chat.settled(second.run_id)).status == "completed"


async def test_a_stopped_answer_can_be_resumed_and_is_said_anew(home: Path) -> None:
    async with open_chat(home, [[*SLOW, {"wait": 5}]]) as chat:
        sent = await chat.send()
        await chat.until_streaming("two")
        await chat.api.runs.cancel(ME, sent.run_id)
        assert (await chat.settled(sent.run_id)).status == "cancelled"
        chat.write(["The whole answer."])
        await chat.api.runs.resume(ME, sent.run_id)
        await eventually(lambda: is_over(chat, sent.run_id), "the resumed run to end")
        half, whole = await chat.items("response")
        assert (half.status, half.raw["cutOff"], whole.text) == ("cancelled", True, "The whole answer.")


async def is_over(chat: Chat, run_id: str) -> bool:
    return (await chat.api.runs.get(ME, run_id)).status == "completed"


async def test_the_first_words_are_the_title_until_the_person_names_it(home: Path) -> None:
    async with open_chat(home) as chat:
        await chat.say("  How tall is\n\tthe tower? ")
        assert (await chat.snapshot()).conversation.title == "How tall is"
        named = await chat.api.conversations.update(ME, chat.id, ConversationPatch(title=" Towers.\n"))
        assert (named.title, named.title_source) == ("Towers", "person")
        await chat.say("And now?")
        assert (await chat.snapshot()).conversation.title == "Towers"
        with pytest.raises(PilothouseError):
            await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="  "))


async def add_models(chat: Chat, url: str, *names: str, **fields: object) -> None:
    for name in names:
        body = {"name": name, "provider": "openai-compatible", "model": name, "base_url": f"{url}/v1", "id": name}
        await chat.use(ModelInput(**{**body, **fields}))  # type: ignore[arg-type]


def asked_for(received: Received, name: str) -> bool:
    return bool(received.json["model"] == name)


async def test_a_host_that_ends_with_its_answer_asks_for_no_title(home: Path) -> None:
    async with Endpoint() as endpoint:
        async with open_chat(home) as chat:
            await add_models(chat, endpoint.url, "m")
        endpoint.answer(*(Reply(Say((Text(["Tall."]),))) for _ in range(6)))
        async with connect_host(home, brief=True) as api:
            # While the later ones are answered there is time enough to ask for a title of the first.
            for _ in range(3):
                made = await api.conversations.create(ME, NewConversation())
                accepted = await api.runs.post_message(ME, made.id, NewMessage(text="How tall is it?", model_id="m"))
                following = Following(api, await api.runs.get(ME, accepted.run_id), 0)
                async for _ in following.events():
                    pass
                assert following.run.status == "completed"
        assert len(endpoint.requests) == 3


async def test_the_model_makes_a_title_once_and_the_persons_own_wins(home: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        await add_models(chat, endpoint.url, "m")
        endpoint.answer(Reply(Say((Text(["Tall."]),))), Reply(Say((Text(['"A Tower', '."\n']),))))
        await chat.say("How tall is the tower?")
        titled = await eventually(lambda: title_of(chat, "model"), "a title by the model")
        assert titled == "A Tower"
        await endpoint.until_asked(2)
        await chat.say("Thanks")
        other = await chat.api.conversations.create(
            ME, NewConversation(title="Mine", settings=ConversationSettings(model_id="m"))
        )
        before = len(endpoint.requests)
        await Chat(chat.host, other.id, chat.script).say("Hello")
        assert (await chat.api.conversations.get(ME, other.id, limit=5)).conversation.title == "Mine"
        assert len(endpoint.requests) == before + 1


async def title_of(chat: Chat, source: str) -> str | None:
    conversation = (await chat.snapshot()).conversation
    return conversation.title if conversation.title_source == source else None


@pytest.mark.case("CHT-07", "CHT-08", "MOD-22", "MOD-23")
async def test_each_conversations_settings_reach_the_model_and_a_switch_takes_effect_at_once(home: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        await add_models(chat, endpoint.url, "plain")
        await add_models(chat, endpoint.url, "thinker", supports_thinking=True)
        settings = {"system_prompt": "Be a pirate.", "temperature": 0.25, "max_tokens": 77, "thinking": True}
        for model in ("plain", "thinker"):
            chosen = ConversationSettings(model_id=model, **settings)  # type: ignore[arg-type]
            await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="T", settings=chosen))
            assert (await chat.say("Ahoy")).status == "completed"
        plain, thinker = (received.json for received in endpoint.requests)
        for body in (plain, thinker):
            assert body["messages"][0] == {"role": "system", "content": "Be a pirate."}
            assert 77 in (body.get("max_tokens"), body.get("max_completion_tokens"))
        assert plain["temperature"] == 0.25
        assert (plain["model"], thinker["model"]) == ("plain", "thinker")
        different = {key for key in thinker if key not in plain} | {"temperature"}
        assert different, "thinking is asked for only where the model can"
        assert not any("reason" in key or "think" in key for key in plain)
        responses = await chat.items("response")
        assert [item.raw["model"] for item in responses] == ["plain", "thinker"]


@pytest.mark.case("CHT-14")
async def test_a_conversation_has_its_own_working_directory_and_bad_settings_are_refused(home: Path) -> None:
    async with open_chat(home, settings={"working_directory": "/tmp"}) as chat:
        assert (await chat.snapshot()).conversation.settings.working_directory == "/tmp"
        other = await chat.api.conversations.create(ME, NewConversation())
        assert other.settings.working_directory is None
        nowhere = {"working_directory": str(home / "not there")}
        for wrong in ({"temperature": 3.0}, {"max_tokens": 0}, nowhere, {"working_directory": "relative"}):
            with pytest.raises(PilothouseError):
                await chat.api.conversations.update(
                    ME,
                    chat.id,
                    ConversationPatch(settings=ConversationSettings(**wrong)),
                )


@pytest.mark.case("CHT-11")
async def test_an_image_reaches_the_model_and_what_is_no_image_does_not(home: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        await add_models(chat, endpoint.url, "m", supports_images=True)
        await chat.say("", images=(ImageInput(media_type="image/png", data=PIXEL),))
        assert PIXEL.encode() in endpoint.requests[0].body
        for media, data in (("image/jpeg", PIXEL), ("image/png", "not base64!")):
            with pytest.raises(PilothouseError) as refused:
                await chat.send("x", images=(ImageInput(media_type=media, data=data),))  # type: ignore[arg-type]
            assert refused.value.code == "bad_request"
        assert len(await chat.items("user_message")) == 1


async def test_a_message_with_half_of_a_character_is_refused_in_one_sentence(home: Path) -> None:
    async with open_chat(home) as chat:
        with pytest.raises(PilothouseError, match="half of a character"):
            await chat.send("So \ud83d")
        assert (await chat.say("So")).status == "completed"


async def test_deleting_stops_what_runs_and_can_be_undone_for_a_while(home: Path) -> None:
    async with open_chat(home, [[*SLOW, {"wait": 5}]]) as chat:
        sent = await chat.send("Find me later")
        await chat.until_streaming("one")
        await chat.api.conversations.delete(ME, chat.id)
        assert (await chat.api.conversations.list(ME, limit=10, cursor=None)).conversations == ()
        assert (await chat.api.conversations.search(ME, "later", limit=5)).hits == ()
        with pytest.raises(PilothouseError):
            await chat.snapshot()
        back = await chat.api.conversations.restore(ME, chat.id)
        assert back.deleted_at is None
        assert (await chat.settled(sent.run_id)).status == "cancelled"
        assert (await chat.texts("user_message")) == ["Find me later"]


async def test_what_was_deleted_long_ago_is_gone_for_good_and_the_rest_stays(home: Path) -> None:
    async with open_chat(home) as chat:
        await chat.say("Forget me")
        kept = await chat.api.conversations.create(ME, NewConversation(title="Kept"))
        await chat.api.conversations.delete(ME, chat.id)
        records = chat.api._records
        assert await records.purge(time.time() - limits.UNDO_DELETE_DAYS * 86_400) == 0
        assert await records.purge(time.time() + 1) == 1
        with pytest.raises(PilothouseError):
            await chat.api.conversations.restore(ME, chat.id)
        assert [c.id for c in (await chat.api.conversations.list(ME, limit=9, cursor=None)).conversations] == [kept.id]
    invariants.check(database_of(home))


async def test_a_server_that_runs_for_long_drops_what_was_deleted_by_itself(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "TIDY_EVERY", 0.05)
    async with open_chat(home) as chat:
        await chat.api.conversations.delete(ME, chat.id)
        monkeypatch.setattr(limits, "UNDO_DELETE_DAYS", 0)
        records = chat.api._records

        async def gone() -> bool:
            try:
                await records.conversation(ME, chat.id, deleted=True)
            except PilothouseError:
                return True
            return False

        await eventually(gone, "the conversation to be gone for good")


async def test_a_question_that_waited_is_there_again_when_its_conversation_is_restored(home: Path) -> None:
    turns: list[Any] = [[{"call": "no_such_tool", "arguments": {}}]] * 4
    async with open_chat(home, [*turns, "On we go."]) as chat:
        sent = await chat.send("Again and again")

        async def asked() -> list[PendingApproval]:
            return list((await chat.api.permissions.approvals(ME)).pending)

        [before] = await eventually(asked, "the question to be asked")
        await chat.api.conversations.delete(ME, chat.id)
        assert await asked() == []
        with pytest.raises(PilothouseError):
            await chat.api.questions.answer(ME, before.item_id, Answer(choice="continue"))
        await chat.api.conversations.restore(ME, chat.id)
        assert await asked() == [before]
        run = await chat.api.questions.answer(ME, before.item_id, Answer(choice=str(before.data["choices"][0]["id"])))
        assert run.id == sent.run_id

        async def done() -> bool:
            snapshot = await chat.api.conversations.get(ME, chat.id, limit=50)
            return snapshot.items[-1].text == "On we go."

        await eventually(done, "the run to go on")


async def test_no_message_begins_a_run_in_a_conversation_that_is_being_deleted(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_chat(home, [[{"wait": 60}]]) as chat:
        records = chat.api._records
        runs_in = records.runs_in
        first, second = await chat.send("One"), await chat.send("Two")

        async def and_meanwhile(*asked: Any) -> list[Run]:
            monkeypatch.setattr(records, "runs_in", runs_in)
            found = await runs_in(*asked)
            with contextlib.suppress(PilothouseError):
                await chat.send("Three")
            return found

        monkeypatch.setattr(records, "runs_in", and_meanwhile)
        await chat.api.conversations.delete(ME, chat.id)

        async def at_rest() -> bool:
            left = await runs_in(("queued", "running", "waiting"), chat.id)
            assert {run.id for run in left} <= {first.run_id, second.run_id}
            return not left

        await eventually(at_rest, "everything to stop")


@pytest.mark.case("CHT-03")
async def test_answers_and_messages_are_found_by_their_words(home: Path) -> None:
    async with open_chat(home, ["The Fernsehturm is 368 metres tall."]) as chat:
        await chat.say("How tall?")
        [hit] = (await chat.api.conversations.search(ME, "fernseht", limit=5)).hits
        assert (hit.conversation_id, hit.title) == (chat.id, "How tall?")
        [place] = hit.ranges
        assert hit.snippet[place.start : place.end] == "Fernseht"
        assert (await chat.api.conversations.search(ME, "nothing-like-this", limit=5)).hits == ()


@pytest.mark.case("CHT-09", "PLT-02")
async def test_everything_is_there_again_after_a_restart(home: Path) -> None:
    async with open_chat(home, ["Remember this."]) as chat:
        await chat.say()
        before, conversation = await chat.snapshot(), chat.id
        await chat.api.settings.update(ME, ConfigPatch(resume_after_restart="ask"))
    assert json.loads((home / "config.json").read_text())["resume_after_restart"] == "ask"
    with contextlib.closing(sqlite3.connect(home / "pilothouse.db")) as database:
        assert database.execute("SELECT id FROM conversations").fetchall() == [(conversation,)]
    async with open_host(home) as host:
        assert await host.api.conversations.get(ME, conversation, limit=500) == before
        assert (await host.api.settings.get(ME)).resume_after_restart == "ask"
