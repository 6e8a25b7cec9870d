"""The agent asks the person: the run is parked, not blocked, and goes on with the answer wherever it comes from."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types import limits
from pilothouse.types.api import Answer, ConfigPatch, ConversationPatch
from pilothouse.types.authority import Pattern
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import Ask, CallContext, Choice, ToolOutput, ToolPaused
from tests.support.chats import ME, PATIENCE, Chat, open_chat
from tests.support.commands import pilothouse
from tests.support.tools import ToolOf, give_tools


def asks(prompt: str = "Which colour?", **more: Any) -> dict[str, Any]:
    return {"call": "user_collaboration", "arguments": {"prompt": prompt, **more}}


COLOUR = [[asks()], "Thank you."]
CHOICE = [[asks(choices=["Red", "Deep blue"], context="For the door.")], "Thank you."]
LEAVE = [[asks("May I write there?", authorize_operation="file_operations.create_file")], "Thank you."]


async def asked(chat: Chat, **fields: Any) -> Item:
    """Send a message, and return the question that its run now waits with."""
    run = await chat.say(**fields)
    assert run.status == "waiting", run
    [question] = [item for item in await chat.items("question") if item.status == "waiting"]
    return question


async def told(chat: Chat, question: Item, **answer: Any) -> Item:
    """Answer, and return the call as it ended."""
    await chat.api.questions.answer(ME, question.id, Answer(**answer))
    assert (await chat.settled(question.run_id or "")).status == "completed"
    [call] = await chat.items("tool_call")
    return call


@pytest.mark.case("UTL-03", "UTL-04", "UTL-08", "UTL-09", "FWK-05")
async def test_a_question_parks_the_run_and_its_answer_is_the_result(home: Path) -> None:
    async with open_chat(home, COLOUR) as chat:
        question = await asked(chat)
        [call] = await chat.items("tool_call")
        assert question.text == "Which colour?"
        assert question.raw["kind"] == "collaboration"
        assert question.raw["choices"] == []
        assert (question.raw["callItemId"], question.raw["toolCallId"]) == (call.id, call.raw["callId"])
        assert (call.raw["shown"]["icon"], call.raw["shown"]["summary"]) == ("question", "Asking: Which colour?")
        async with asyncio.timeout(PATIENCE):
            # Nothing waits in memory.
            await chat.host.executor.idle.wait()
        call = await told(chat, question, text="Green, please")
        assert (call.status, call.text) == ("completed", "User response: Green, please")


@pytest.mark.case("UTL-03")
async def test_there_is_no_time_limit_on_the_person(home: Path) -> None:
    async with open_chat(home, COLOUR) as chat:
        await asked(chat)
        [call] = await chat.items("tool_call")
        assert call.raw["deadlineAt"] is None


@pytest.mark.case("UTL-04")
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"choice": "2"}, "User response: Deep blue"),
        ({"choice": "1", "text": "but not too bright"}, "User response: Red. but not too bright"),
        ({"text": "Neither: green"}, "User response: Neither: green"),
    ],
)
async def test_choices_are_buttons_and_own_words_are_an_answer_too(home: Path, answer: Any, said: str) -> None:
    async with open_chat(home, CHOICE) as chat:
        question = await asked(chat)
        assert question.raw["choices"] == [{"id": "1", "label": "Red"}, {"id": "2", "label": "Deep blue"}]
        assert question.raw["context"] == "For the door."
        assert (await told(chat, question, **answer)).text == said


async def test_a_question_waits_through_a_restart_and_is_answered_there(home: Path) -> None:
    async with open_chat(home, COLOUR) as chat:
        question, conversation = await asked(chat), chat.id
    async with open_chat(home, COLOUR) as chat:
        chat.id = conversation
        assert (await told(chat, question, text="Green")).text == "User response: Green"


async def test_a_question_is_answered_from_the_command_line(home: Path) -> None:
    async with open_chat(home, CHOICE, at_rest=False) as chat:
        question = await asked(chat)
    listed = await asyncio.to_thread(pilothouse, home, "answer")
    assert "For the door." in listed.out
    assert f"pilothouse answer {question.id} 2  Deep blue" in listed.out
    assert f'pilothouse answer {question.id} --text "…"' in listed.out
    done = await asyncio.to_thread(pilothouse, home, "answer", question.id, "2")
    assert (done.code, done.out) == (0, "Thank you.\n"), done.err


async def test_only_the_first_answer_counts(home: Path) -> None:
    async with open_chat(home, COLOUR) as chat:
        question = await asked(chat)
        await told(chat, question, text="Green")
        with pytest.raises(PilothouseError) as late:
            await chat.api.questions.answer(ME, question.id, Answer(text="Red"))
        assert late.value.code == "conflict"


@pytest.mark.case("UTL-07", "FWK-15")
async def test_a_caller_that_nobody_watches_gets_the_question_at_once(home: Path) -> None:
    async with open_chat(home, CHOICE) as chat:
        assert (await chat.say(unattended=True)).status == "completed"
        [call] = await chat.items("tool_call")
        assert call.status == "completed"
        assert call.text.splitlines()[-4:] == ["Which colour?", "For the door.", "- Red", "- Deep blue"]
        assert "end your own answer with this question" in call.text
        assert await chat.items("question") == []


@pytest.mark.case("UTL-06")
async def test_auto_approve_answers_by_itself_and_permits_nothing(home: Path) -> None:
    async with open_chat(home, LEAVE) as chat:
        settings = ConversationSettings(model_id=f"scripted:{chat.script}", mode="auto_approve")
        settings = (await with_folder(chat, settings)).settings
        assert settings.mode == "auto_approve"
        assert (await chat.say()).status == "completed"
        [call] = await chat.items("tool_call")
        assert call.text.startswith("User response: Go on as you think best.")
        assert await grants(chat) == []


async def with_folder(chat: Chat, settings: ConversationSettings) -> Any:
    """Give the conversation a folder, so that there are operations to ask permission for."""
    folder = chat.script.parent / "project"
    folder.mkdir(exist_ok=True)
    patched = {**{field: getattr(settings, field) for field in settings.__struct_fields__}}
    patched["working_directory"] = str(folder)
    return await chat.api.conversations.update(ME, chat.id, ConversationPatch(settings=ConversationSettings(**patched)))


async def grants(chat: Chat) -> list[Pattern]:
    return [grant.pattern for grant in (await chat.api.permissions.grants(ME, chat.id)).grants]


async def asks_permission(chat: Chat) -> Item:
    await with_folder(chat, ConversationSettings(model_id=f"scripted:{chat.script}"))
    return await asked(chat)


@pytest.mark.case("UTL-05", "ATZ-09")
async def test_approving_allows_the_operation_for_five_minutes_as_often_as_needed(home: Path) -> None:
    async with open_chat(home, LEAVE) as chat:
        question = await asks_permission(chat)
        assert question.raw["authorizes"] == "file_operations.create_file"
        assert [choice["id"] for choice in question.raw["choices"]] == ["approve", "decline"]
        call = await told(chat, question, choice="approve", text="only there")
        assert call.text.startswith(
            "User response: Approve. only there (file_operations.create_file may be used for 5m"
        )
        [grant] = (await chat.api.permissions.grants(ME, chat.id)).grants
        assert grant.pattern == Pattern(tool="file_operations.create_file", sources=())
        assert (grant.single_use, grant.question_id) == (False, question.id)
        assert grant.expires_at is not None
        assert grant.expires_at - grant.created_at == 300


@pytest.mark.case("UTL-05", "ATZ-09")
@pytest.mark.parametrize("text", ["", "Yes, approve, go ahead, allow it!"])
async def test_declining_permits_nothing_whatever_the_words_say(home: Path, text: str) -> None:
    async with open_chat(home, LEAVE) as chat:
        call = await told(chat, await asks_permission(chat), choice="decline", text=text)
        assert call.text == f"User response: Decline{'. ' + text if text else ''}"
        assert await grants(chat) == []


@pytest.mark.case("ATZ-09")
async def test_words_alone_never_permit_anything(home: Path) -> None:
    async with open_chat(home, LEAVE, at_rest=False) as chat:
        question = await asks_permission(chat)
        with pytest.raises(PilothouseError, match="Choose one of: approve, decline"):
            await chat.api.questions.answer(ME, question.id, Answer(text="yes, I approve"))
        assert await grants(chat) == []
        assert (await chat.api.runs.get(ME, question.run_id or "")).status == "waiting"


@pytest.mark.case("ATZ-09")
@pytest.mark.parametrize(("name", "server"), [("other", ""), ("user_collaboration", "Shop")])
async def test_no_other_tool_can_ask_for_permission(home: Path, name: str, server: str) -> None:
    ask = Ask(id="a", kind="question", message="Sure?", choices=(Choice("approve", "Approve"),), authorizes="*")

    async def asking(arguments: JsonObject, context: CallContext) -> ToolOutput | ToolPaused:
        return ToolOutput(text="ok") if context.resumed else ToolPaused((ask,), {})

    async with open_chat(home, [[{"call": name, "arguments": {}}], "Thank you."]) as chat:
        give_tools(chat.host, ToolOf(name, asking, server=server))
        question = await asked(chat, allow=(name,))
        assert question.raw["authorizes"] == ""
        await told(chat, question, choice="approve")
        assert await grants(chat) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"prompt": "  "}, "`prompt` is empty; it must be a question."),
        ({"prompt": "x" * 9_000}, "A question and its context have at most 8,000 characters each."),
        ({"prompt": "?", "choices": ["a", "a"]}, "Choices must differ and have 1 to 200 characters."),
        (
            {"prompt": "?", "choices": [str(n) for n in range(11)]},
            "A question has at most 10 choices; this one has 11.",
        ),
        ({"prompt": "?", "authorize_operation": "*"}, "There is no operation * that permission can be asked for."),
        (
            {"prompt": "?", "authorize_operation": "file_operations.*"},
            "There is no operation file_operations.* that permission can be asked for.",
        ),
        (
            {"prompt": "?", "authorize_operation": "github.create_issue"},
            "There is no operation github.create_issue that permission can be asked for.",
        ),
    ],
)
async def test_a_question_that_makes_no_sense_is_one_sentence_to_the_model(
    home: Path, arguments: Any, sentence: str
) -> None:
    async with open_chat(home, [[{"call": "user_collaboration", "arguments": arguments}], "I see."]) as chat:
        assert (await chat.say()).status == "completed"
        [call] = await chat.items("tool_call")
        assert (call.status, call.text) == ("failed", sentence)
        assert await chat.items("question") == []


# --- more rounds ---

MORE = {"call": "increase_max_iterations", "arguments": {"additional_iterations": 3, "reason": "Much is left."}}


def thoughts(count: int, first: int = 0) -> list[Any]:
    """Return rounds of thinking and looking at the todos, so that none is like the one before."""
    looking = {"call": "todo_operations", "arguments": {"operation": "read"}}
    return [
        [{"call": "think", "arguments": {"thoughts": f"Round {number}"}}, looking]
        for number in range(first, first + count)
    ]


@pytest.mark.case("UTL-10")
async def test_an_agent_may_add_rounds_and_is_then_asked_later(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_ITERATIONS", 4)
    async with open_chat(home, [[MORE], *thoughts(20)], at_rest=False) as chat:
        assert (await chat.say()).status == "waiting"
        [question] = await chat.items("question")
        assert question.text == "The model has been asked 7 times for this message. Go on?"
        [more] = [item for item in await chat.items("tool_call") if item.raw["tool"] == MORE["call"]]
        assert (more.text, more.raw["iterations"]) == ("3 rounds were added; 6 are left.", 3)


@pytest.mark.case("UTL-10")
async def test_what_is_added_is_bounded_by_the_setting(home: Path) -> None:
    (home / "config.json").parent.mkdir(parents=True, exist_ok=True)
    (home / "config.json").write_text('{"version": "1.0", "most_added_iterations": 4}')
    async with open_chat(home, [[MORE, MORE, MORE], "Done."]) as chat:
        assert (await chat.say()).status == "completed"
        said = await chat.texts("tool_call")
        assert said[0].startswith("3 rounds were added")
        assert said[1].startswith("1 rounds were added")
        assert said[2].startswith("No more rounds can be added to this run.")


@pytest.mark.parametrize("wanted", [0, -5])
async def test_only_more_rounds_are_more(home: Path, wanted: int) -> None:
    call = {"call": MORE["call"], "arguments": {"additional_iterations": wanted, "reason": "x"}}
    async with open_chat(home, [[call], "Done."]) as chat:
        assert (await chat.say()).status == "completed"
        assert await chat.texts("tool_call") == ["`additional_iterations` must be at least 1."]


TWO_CALLS = [[{"call": "wait", "arguments": {}}, {"call": "change", "arguments": {}}], "Well."]


async def interrupted(home: Path) -> tuple[str, str]:
    """Stop the host while one call of a run waits for the person and another is at work; return where."""
    busy = asyncio.Event()

    async def for_ever(_arguments: JsonObject, _context: CallContext) -> ToolOutput:
        busy.set()
        await asyncio.Event().wait()
        return ToolOutput("")

    async with open_chat(home, TWO_CALLS) as chat:
        await chat.api.settings.update(ME, ConfigPatch(resume_after_restart="ask"))
        give_tools(chat.host, ToolOf("wait", for_ever), ToolOf("change", effects=frozenset({"writes"})))
        sent = await chat.send()
        async with asyncio.timeout(10):
            await busy.wait()
        return chat.id, sent.run_id


@pytest.mark.case("F-52")
async def test_a_question_of_a_run_that_a_restart_interrupted_is_withdrawn_when_the_person_goes_on(home: Path) -> None:
    conversation, run_id = await interrupted(home)
    async with open_chat(home, TWO_CALLS) as chat:
        chat.id = conversation
        assert (await chat.api.runs.get(ME, run_id)).status == "interrupted"
        assert [item.status for item in await chat.items("question")] == ["waiting"], "it may still be resumed"
        assert (await chat.say("Never mind")).status == "completed"
        assert [item.status for item in await chat.items("question")] == ["cancelled"]
        assert [item.status for item in await chat.items("tool_call")] == ["unknown", "cancelled"]


@pytest.mark.case("F-36")
async def test_an_answer_lets_a_run_go_on_that_a_restart_interrupted(home: Path) -> None:
    conversation, run_id = await interrupted(home)
    async with open_chat(home, TWO_CALLS) as chat:
        chat.id = conversation
        give_tools(chat.host, ToolOf("wait"), ToolOf("change", effects=frozenset({"writes"})))
        [question] = await chat.items("question")
        await chat.api.questions.answer(ME, question.id, Answer(choice="allow"))
        assert (await chat.settled(run_id)).status == "completed"
        assert [item.status for item in await chat.items("tool_call")] == ["unknown", "completed"]
