"""Observers hear what happens to calls; tools and the agent know of none."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from pilothouse.types.api import Answer, InputFrame
from pilothouse.types.host import ListChange
from pilothouse.types.json import JsonObject
from pilothouse.types.notifications import Notification
from pilothouse.types.ports import CallContext, CallFeedback, Part, ToolError, ToolOutput
from tests.support.chats import ME, PATIENCE, Chat, open_chat
from tests.support.tools import ToolOf, give_tools

ASKS = [
    [{"call": "user_collaboration", "arguments": {"prompt": "Which colour?", "context": "For the door."}}],
    "Thank you.",
]
PIXEL = b"\x89PNG\r\n\x1a\n" + b"\0" * 32


def listening(chat: Chat) -> list[Notification]:
    heard: list[Notification] = []
    chat.api.notifications.subscribe(heard.append)
    return heard


@pytest.mark.case("OBS-03", "OBS-04", "OBS-05")
async def test_a_question_and_its_answer_are_told_with_all_that_one_must_know(home: Path) -> None:
    async with open_chat(home, ASKS) as chat:
        heard = listening(chat)
        run = await chat.say()
        [question] = await chat.items("question")
        [call] = await chat.items("tool_call")
        assert heard == [
            Notification(
                kind="input_required",
                conversation_id=chat.id,
                item_id=question.id,
                tool_call_id=call.raw["callId"],
                prompt="Which colour?",
                context="For the door.",
            )
        ]
        await chat.api.questions.answer(ME, question.id, Answer(text="Green"))
        await chat.settled(run.id)
        assert [(news.kind, news.item_id, news.prompt) for news in heard[1:]] == [
            ("response_received", question.id, "Green")
        ]


@pytest.mark.case("OBS-03", "OBS-05")
async def test_progress_errors_and_images_are_told(home: Path) -> None:
    async def works(arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        feedback.progress(1, 2, "Half done")
        await asyncio.sleep(0)
        image = Part(kind="image", data=PIXEL, media_type="image/png", name="door.png")
        return ToolOutput(text="Painted.", parts=(image,))

    async def fails(arguments: JsonObject, context: CallContext) -> ToolOutput:
        return ToolOutput(text="No paint.", error=ToolError("EXECUTION_FAILED", "No paint."))

    async with open_chat(
        home, [[{"call": "paint", "arguments": {}}, {"call": "dry", "arguments": {}}], "Done."]
    ) as chat:
        paint = ToolOf("paint")
        paint.reporting = works
        give_tools(chat.host, paint, ToolOf("dry", fails))
        heard = listening(chat)
        assert (await chat.say()).status == "completed"
        painted, dried = await chat.items("tool_call")
        told = {(news.kind, news.item_id, news.prompt) for news in heard}
        assert ("image_display", painted.id, "door.png") in told
        assert ("tool_error", dried.id, "No paint.") in told
        assert {kind for kind, _, _ in told} <= {"tool_progress", "image_display", "tool_error"}


@pytest.mark.case("OBS-03", "OBS-05")
async def test_progress_is_told_while_a_call_works(home: Path) -> None:
    told = asyncio.Event()

    async def works(arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        feedback.progress(1, 2, "Half done")
        await asyncio.wait_for(told.wait(), PATIENCE / 2)
        return ToolOutput(text="Painted.")

    async with open_chat(home, [[{"call": "paint", "arguments": {}}], "Done."]) as chat:
        paint = ToolOf("paint")
        paint.reporting = works
        give_tools(chat.host, paint)

        def heard(news: Notification) -> None:
            if (news.kind, news.prompt) == ("tool_progress", "Half done"):
                told.set()

        chat.api.notifications.subscribe(heard)
        assert (await chat.say()).status == "completed"
        # Had nobody heard, it would have given up.
        assert [call.text for call in await chat.items("tool_call")] == ["Painted."]


@pytest.mark.case("OBS-05")
async def test_an_observer_that_fails_or_left_disturbs_nobody(home: Path) -> None:
    def fails(news: Notification) -> None:
        raise RuntimeError("I am broken")

    async with open_chat(home, ASKS, at_rest=False) as chat:
        chat.api.notifications.subscribe(fails)
        heard = listening(chat)
        left: list[Notification] = []
        chat.api.notifications.subscribe(left.append)()
        assert (await chat.say()).status == "waiting"
        assert [news.kind for news in heard] == ["input_required"]
        assert left == []


@pytest.mark.case("OBS-04")
async def test_every_page_of_the_owner_hears_that_something_is_asked_anywhere(home: Path) -> None:
    async with (
        open_chat(home, ASKS) as chat,
        aclosing(chat.api.list_changes(ME)) as mine,
        aclosing(chat.api.list_changes("someone")) as theirs,
    ):
        waiting = [asyncio.create_task(_next_input(changes)) for changes in (mine, theirs)]
        await asyncio.sleep(0)
        run = await chat.say()
        asked = await asyncio.wait_for(waiting[0], PATIENCE)
        [question] = await chat.items("question")
        assert (asked.conversation_id, asked.item_id, asked.prompt) == (chat.id, question.id, "Which colour?")
        assert (asked.context, asked.open) == ("For the door.", True)
        await chat.api.questions.answer(ME, question.id, Answer(text="Green"))
        answered = await asyncio.wait_for(_next_input(mine), PATIENCE)
        assert (answered.item_id, answered.open, answered.prompt) == (question.id, False, "")
        await chat.settled(run.id)
        assert not waiting[1].done()
        waiting[1].cancel()
        await asyncio.wait(waiting)


async def _next_input(changes: object) -> InputFrame:
    frame: ListChange
    async for frame in changes:  # type: ignore[attr-defined]
        if isinstance(frame, InputFrame):
            return frame
    raise AssertionError("the feed ended")
