"""`pilothouse answer`: answers a question that a run waits with, and shows how the run goes on."""

from __future__ import annotations

from pilothouse.cli.asking import ask, tell, verdict
from pilothouse.cli.terminal import messages, one_line, output
from pilothouse.connection import connect_host
from pilothouse.runs.following import Following
from pilothouse.types import limits
from pilothouse.types.api import Answer, ConversationSnapshot
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.items import Item


async def answer(item_id: str | None, choice: str | None, text: str | None, *, as_json: bool) -> int:
    """Answer and follow the run; without an id, say what waits."""
    async with connect_host() as api:
        waiting = await _waiting(api)
        if item_id is None:
            return _list(waiting)
        snapshot = next((found for found, item in waiting if item.id == item_id), None)
        if snapshot is None:
            fix = "`pilothouse answer` lists the questions that do."
            raise PilothouseError("not_found", f"No question {item_id} waits for an answer.", fix=fix)
        run = await api.answer(LOCAL_OWNER, item_id, Answer(choice=choice, text=text))
        following = Following(api, run, snapshot.last_seq)
        return verdict(await tell(api, following, output(), as_json=as_json))


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
        ask(item, out)
    return 3
