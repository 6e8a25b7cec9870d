"""A server asks something in the middle of a call: the run is parked, the answer goes back, nothing is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilothouse.types import limits
from pilothouse.types.api import Answer
from pilothouse.types.errors import PilothouseError
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import Ask, CallContext, ToolOutput, ToolPaused
from tests.support.chats import ME, Chat, open_chat
from tests.support.tools import ToolOf, give_tools

FORM: JsonObject = {
    "type": "object",
    "properties": {"email": {"type": "string"}, "copies": {"type": "integer"}},
    "required": ["email"],
}
BOOK: list[Any] = [[{"call": "shop__book", "arguments": {"title": "Emma"}}], "Booked."]
EMAIL = Ask(id="who", kind="form", message="Where to?", schema=FORM)


class Shop:
    """Asks before it books; what it was told is its result."""

    def __init__(self, *rounds: tuple[Ask, ...], state: JsonObject | None = None) -> None:
        self.rounds = rounds or ((EMAIL,),)
        self.state = state or {"held": "h1"}
        self.tool = ToolOf("shop__book", self.book, server="Shop")

    async def book(self, arguments: JsonObject, context: CallContext) -> ToolOutput | ToolPaused:
        asked = int(context.resumed.state["round"]) if context.resumed else 0
        if asked < len(self.rounds):
            return ToolPaused(self.rounds[asked], {**self.state, "round": asked + 1})
        assert context.resumed is not None
        return ToolOutput(text=f"{arguments['title']} {dict(context.resumed.answers)}")

    def give(self, chat: Chat) -> None:
        give_tools(chat.host, self.tool)


async def asked(chat: Chat) -> list[Item]:
    return [item for item in await chat.items("question") if item.status == "waiting"]


async def begin(chat: Chat) -> Item:
    """Let the call come to its first question."""
    assert (await chat.say(allow=("shop.*",))).status == "waiting"
    return (await asked(chat))[0]


async def reply(chat: Chat, question: Item, choice: str, content: JsonObject | None = None) -> str:
    await chat.api.questions.answer(ME, question.id, Answer(choice=choice, content=content))
    return (await chat.settled(question.run_id or "")).status


async def test_a_form_is_a_question_and_its_answer_goes_back_to_the_server(home: Path) -> None:
    async with open_chat(home, BOOK) as chat:
        Shop().give(chat)
        question = await begin(chat)
        [call] = await chat.items("tool_call")
        assert (question.text, question.raw["mode"], question.raw["schema"]) == ("Where to?", "form", FORM)
        assert (question.raw["server"], question.raw["callItemId"]) == ("Shop", call.id)
        assert [choice["id"] for choice in question.raw["choices"]] == ["accept", "decline", "cancel"]
        assert (call.status, call.raw["phase"]) == ("waiting", "input_required")
        assert await reply(chat, question, "accept", {"email": "a@b.c"}) == "completed"
        [call] = await chat.items("tool_call")
        assert call.text == "Emma {'who': {'action': 'accept', 'content': {'email': 'a@b.c'}}}"
        assert call.raw["paused"] is None


@pytest.mark.parametrize("choice", ["decline", "cancel"])
async def test_a_person_may_decline_and_the_server_is_told(home: Path, choice: str) -> None:
    async with open_chat(home, BOOK) as chat:
        Shop().give(chat)
        assert await reply(chat, await begin(chat), choice) == "completed"
        [call] = await chat.items("tool_call")
        assert call.text == f"Emma {{'who': {{'action': '{choice}'}}}}"


async def test_a_question_with_an_address_needs_no_content(home: Path) -> None:
    async with open_chat(home, BOOK) as chat:
        Shop((Ask(id="pay", kind="url", message="Pay here.", url="https://shop.test/pay"),)).give(chat)
        question = await begin(chat)
        assert (question.raw["mode"], question.raw["url"]) == ("url", "https://shop.test/pay")
        assert await reply(chat, question, "accept") == "completed"


async def test_a_form_without_fields_needs_no_content(home: Path) -> None:
    async with open_chat(home, BOOK) as chat:
        Shop((Ask(id="again", kind="form", message="Make the call again?"),)).give(chat)
        assert await reply(chat, await begin(chat), "accept") == "completed"
        [call] = await chat.items("tool_call")
        assert call.text == "Emma {'again': {'action': 'accept', 'content': {}}}"


async def test_a_server_may_ask_several_things_and_then_more(home: Path) -> None:
    first = (EMAIL, Ask(id="sure", kind="form", message="Sure?", schema={"type": "object"}))
    async with open_chat(home, BOOK) as chat:
        Shop(first, (Ask(id="last", kind="form", message="Really?", schema={"type": "object"}),)).give(chat)
        await begin(chat)
        where, sure = await asked(chat)
        assert (await chat.api.questions.answer(ME, sure.id, Answer(choice="accept", content={}))).status == "waiting"
        assert await reply(chat, where, "accept", {"email": "x"}) == "waiting"
        [really] = await asked(chat)
        assert await reply(chat, really, "accept", {}) == "completed"


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (Answer(choice="accept"), "The form is not filled in."),
        (Answer(choice="accept", content={}), "Missing required field: email."),
        (
            Answer(choice="accept", content={"email": "x", "copies": "two"}),
            "Invalid field copies: 'two' is not of type 'integer'.",
        ),
        (Answer(choice="decline", content={"email": "x"}), "Only an accepted form has content."),
        (Answer(choice="allow"), "Choose one of: accept, decline, cancel."),
        (Answer(text="hello"), "Choose one of: accept, decline, cancel."),
    ],
)
async def test_an_answer_that_does_not_fit_is_refused_and_the_question_stays(
    home: Path, answer: Answer, sentence: str
) -> None:
    async with open_chat(home, BOOK) as chat:
        Shop().give(chat)
        question = await begin(chat)
        with pytest.raises(PilothouseError) as refused:
            await chat.api.questions.answer(ME, question.id, answer)
        assert (refused.value.code, refused.value.message) == ("bad_request", sentence)
        assert await asked(chat) == [question]


async def test_a_parked_question_survives_a_restart(home: Path) -> None:
    shop = Shop()
    async with open_chat(home, BOOK) as chat:
        shop.give(chat)
        question, conversation = await begin(chat), chat.id
    async with open_chat(home, BOOK) as chat:
        shop.give(chat)
        chat.id = conversation
        assert [item.id for item in await asked(chat)] == [question.id]
        assert await reply(chat, question, "accept", {"email": "a@b.c"}) == "completed"
        [(_, first), (_, second)] = shop.tool.calls
        assert first.resumed is None
        assert second.resumed is not None
        assert second.resumed.state == {"held": "h1", "round": 1}
        assert (first.call_id, first.run_id) == (second.call_id, second.run_id)


class Releasing:
    """A shop, and which of its calls were given up."""

    def __init__(self, chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
        self.released: list[str] = []
        monkeypatch.setattr(chat.api.runs._dependencies.servers(), "release", self.release)
        Shop().give(chat)

    async def release(self, call_ids: Any) -> None:
        self.released += call_ids


@pytest.mark.parametrize("by", ["run", "call", "message"])
async def test_a_call_that_is_given_up_is_released(home: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    async with open_chat(home, BOOK) as chat:
        servers = Releasing(chat, monkeypatch)
        question = await begin(chat)
        [call] = await chat.items("tool_call")
        if by == "run":
            await chat.api.runs.cancel(ME, question.run_id or "")
        elif by == "call":
            await chat.api.runs.cancel_call(ME, call.id)
            assert (await chat.settled(question.run_id or "")).status == "completed"
        else:
            await chat.say("Something else", allow=("shop.*",))
        assert servers.released[:1] == [call.id]
        assert (await chat.items("tool_call"))[0].status == "cancelled"
        assert (await chat.items("question"))[0].status == "cancelled"


async def test_a_call_that_is_given_up_in_the_moment_it_asks_is_released(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_chat(home, BOOK) as chat:
        servers = Releasing(chat, monkeypatch)
        question = await begin(chat)
        [call] = await chat.items("tool_call")
        records = chat.api._records
        item = records.item

        async def a_moment_ago(owner: str, item_id: str) -> Item:
            now = await item(owner, item_id)
            return msgspec.structs.replace(now, raw={**now.raw, "phase": "executing"})

        with monkeypatch.context() as late:
            late.setattr(records, "item", a_moment_ago)
            await chat.api.runs.cancel_call(ME, call.id)
        assert (await chat.settled(question.run_id or "")).status == "completed"
        assert servers.released == [call.id]


async def test_a_tool_that_is_gone_when_the_answer_comes_may_have_done_its_work(home: Path) -> None:
    async with open_chat(home, BOOK) as chat:
        Shop().give(chat)
        question = await begin(chat)
        give_tools(chat.host)
        assert await reply(chat, question, "accept", {"email": "a@b.c"}) == "completed"
        [call] = await chat.items("tool_call")
        assert call.raw["error"]["code"] == "TOOL_NOT_FOUND"
        assert call.text.endswith("It may have been carried out; check before you repeat it.")


async def test_what_a_server_asks_is_masked(home: Path) -> None:
    async with open_chat(home, BOOK) as chat:
        chat.host.redactor.learn("hunter2-is-secret")
        Shop((Ask(id="a", kind="form", message="Use hunter2-is-secret?", schema={"title": "hunter2-is-secret"}),)).give(
            chat
        )
        question = await begin(chat)
        assert "hunter2" not in repr(question)


async def test_a_server_that_asks_too_much_fails_its_call_only(home: Path) -> None:
    many = tuple(Ask(id=str(number), kind="form", message="?") for number in range(limits.ASKS_PER_PAUSE + 1))
    large = {"bulk": "x" * limits.PAUSED_STATE_BYTES}
    for shop in (Shop(many), Shop(state=large)):
        async with open_chat(home, BOOK) as chat:
            shop.give(chat)
            assert (await chat.say(allow=("shop.*",))).status == "completed"
            [call] = await chat.items("tool_call")
            assert call.status == "failed"


async def test_an_answer_is_taken_once(home: Path) -> None:
    async with open_chat(home, BOOK) as chat:
        Shop().give(chat)
        question = await begin(chat)
        await reply(chat, question, "decline")
        with pytest.raises(PilothouseError) as refused:
            await chat.api.questions.answer(ME, question.id, Answer(choice="decline"))
        assert refused.value.code == "conflict"
