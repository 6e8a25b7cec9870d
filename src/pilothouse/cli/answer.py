"""`pilothouse answer`: answers a question that a run waits with, and shows how the run goes on."""

from __future__ import annotations

import msgspec

from pilothouse.cli import questions
from pilothouse.cli.asking import ask, converse, verdict
from pilothouse.cli.prompting import someone_is_there
from pilothouse.cli.terminal import messages, one_line, output
from pilothouse.connection import connect_host
from pilothouse.runs.following import Following
from pilothouse.types import limits
from pilothouse.types.api import Answer, ConversationSnapshot
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject


class GivenAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What was typed as an answer; nothing at all asks in the terminal."""

    choice: str | None = None
    text: str | None = None
    # A form's fields, as JSON.
    content: str | None = None


async def answer(item_id: str | None, given: GivenAnswer, *, as_json: bool) -> int:
    """Answer and follow the run; without an id, say what waits."""
    async with connect_host() as api:
        waiting = await _waiting(api)
        if item_id is None:
            return _list(waiting)
        found = next(((found, item) for found, item in waiting if item.id == item_id), None)
        if found is None:
            fix = "`pilothouse answer` lists the questions that do."
            raise PilothouseError("not_found", f"No question {item_id} waits for an answer.", fix=fix)
        snapshot, question = found
        run = await api.answer(LOCAL_OWNER, item_id, await _answer(given, question, snapshot))
        if run.status == "waiting":
            messages().line("That is settled; the run waits for its other questions: pilothouse answer")
            return 3
        following = Following(api, run, snapshot.last_seq)
        return verdict(await converse(api, following, output(), as_json=as_json))


async def _answer(given: GivenAnswer, question: Item, snapshot: ConversationSnapshot) -> Answer:
    """Return what was typed, or what the person says when asked."""
    if given == GivenAnswer():
        if someone_is_there(messages()):
            asked = await questions.ask(question, call_of(question, snapshot), messages())
            if asked is not None:
                return asked
        raise PilothouseError(
            "needs_answer", "The question stays open.", fix="Name a choice; `pilothouse answer` has them."
        )
    content = None
    if given.content is not None:
        try:
            content = msgspec.json.decode(given.content, type=JsonObject)
        except msgspec.MsgspecError as error:
            message = f"The content is not a JSON object: {error}."
            raise PilothouseError(
                "bad_request", message, fix="""For example: --content '{"name": "value"}'"""
            ) from None
    return Answer(choice=given.choice, text=given.text, content=content)


def call_of(question: Item, snapshot: ConversationSnapshot) -> Item | None:
    """Return the call that a question is about."""
    return next((item for item in snapshot.items if item.id == question.data.get("callItemId")), None)


async def _waiting(api: ClientApi) -> list[tuple[ConversationSnapshot, Item]]:
    """Return the open questions with their conversations, most recent first."""
    page = await api.conversations(LOCAL_OWNER, limit=limits.PAGE_ITEMS, cursor=None)
    found = []
    for conversation in page.conversations:
        if conversation.activity == "waiting":
            snapshot = await api.snapshot(LOCAL_OWNER, conversation.id, limit=limits.SNAPSHOT_ITEMS)
            open_questions = (item for item in snapshot.items if item.kind == "question" and item.status == "waiting")
            found += [(snapshot, item) for item in open_questions]
    return found


def _list(waiting: list[tuple[ConversationSnapshot, Item]]) -> int:
    if not waiting:
        messages().line("No question waits for an answer.")
        return 0
    out = output()
    for number, (snapshot, item) in enumerate(waiting):
        if number:
            out.line()
        out.line(one_line(snapshot.conversation.title), "dim")
        ask(item, call_of(item, snapshot), out)
    return 3
