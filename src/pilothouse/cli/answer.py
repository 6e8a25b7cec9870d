"""`pilothouse answer` and `approvals`: the questions that runs wait with, and how a run goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import msgspec

from pilothouse.cli import questions
from pilothouse.cli.asking import ask, converse, tell_changes, verdict
from pilothouse.cli.prompting import someone_is_there
from pilothouse.cli.tables import show_table
from pilothouse.cli.terminal import messages, one_line, output
from pilothouse.cli.wrapping import aside_only
from pilothouse.connection import connect_host
from pilothouse.host.following import Following
from pilothouse.types import limits
from pilothouse.types.api import Answer
from pilothouse.types.authority import PendingApproval
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.item_data import QuestionData
from pilothouse.types.items import Call, Item, Question, read
from pilothouse.types.json import JsonObject
from pilothouse.types.paging import whole


class GivenAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What was typed as an answer; nothing at all asks in the terminal."""

    choice: str | None = None
    text: str | None = None
    # A form's fields, as JSON.
    content: str | None = None


async def answer(item_id: str | None, given: GivenAnswer, *, as_json: bool) -> int:
    """Answer and follow the run; without an id, say what waits."""
    async with connect_host(tell=aside_only, brief=True) as api:
        waiting = await whole(lambda page: api.permissions.approvals(LOCAL_OWNER, page))
        if item_id is None:
            if as_json:
                output().json(waiting)
                return 3 if waiting.pending else 0
            return await _list(api, waiting.pending)
        found = next((one for one in waiting.pending if one.item_id == item_id), None)
        if found is None:
            fix = "`pilothouse answer` lists the questions that do."
            raise PilothouseError("not_found", f"No question {item_id} waits for an answer.", fix=fix)
        snapshot = await api.conversations.get(LOCAL_OWNER, found.conversation_id, limit=1)
        run = await api.questions.answer(LOCAL_OWNER, item_id, await _answer(given, *await _question(api, found)))
        if run.status == "waiting":
            messages().line("That is settled; the run waits for its other questions: pilothouse answer")
            return 3
        following = Following(api, run, snapshot.last_seq)
        told = await converse(api, following, output(), as_json=as_json)
        try:
            code = verdict(told)
            return 3 if await told.transcript.missing.tell(api) and code == 0 else code
        finally:
            await tell_changes(api, told)


async def _answer(given: GivenAnswer, question: Question, call: Call | None) -> Answer:
    """Return what was typed, or what the person says when asked."""
    if given == GivenAnswer():
        if someone_is_there(messages()):
            asked = await questions.ask(question, call, messages())
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


async def _question(api: ClientApi, waiting: PendingApproval) -> tuple[Question, Call | None]:
    """Return a question that waits and the call that it is about, however much came after them."""
    call_id = read(QuestionData, waiting.data).call_item_id
    wanted = {waiting.item_id, call_id or waiting.item_id}
    found: dict[str, Item] = {}
    before, more = None, True
    while more and not wanted <= found.keys():
        page = await api.conversations.items(
            LOCAL_OWNER, waiting.conversation_id, before=before, limit=limits.SNAPSHOT_ITEMS
        )
        found |= {item.id: item for item in page.items if item.id in wanted}
        more = page.has_earlier and bool(page.items)
        before = page.items[0].position if page.items else None
    if waiting.item_id not in found:
        raise PilothouseError("conflict", f"The question {waiting.item_id} was answered meanwhile.")
    return cast(Question, found[waiting.item_id]), cast("Call | None", found.get(call_id))


async def _list(api: ClientApi, waiting: Sequence[PendingApproval]) -> int:
    if not waiting:
        messages().line("No question waits for an answer.")
        return 0
    out = output()
    for number, one in enumerate(waiting):
        if number:
            out.line()
        out.line(one_line(one.title), "dim")
        ask(*await _question(api, one), out)
    return 3


async def approvals(*, as_json: bool) -> int:
    """List every question that waits, in whichever conversation."""
    async with connect_host() as api:
        found = await whole(lambda page: api.permissions.approvals(LOCAL_OWNER, page))
    if as_json:
        output().json(found)
        return 0
    rows = [(one.item_id, one.title or "(new)", one.text) for one in found.pending]
    show_table(output(), ("question", "conversation", "asks"), rows, none="Nothing waits for you.")
    if rows:
        messages().line("Answer one: pilothouse answer QUESTION CHOICE")
    return 0
