"""`pilothouse compare`: one message to two or three models, their answers one below the other."""

from __future__ import annotations

import msgspec

from pilothouse.cli.asking import watch
from pilothouse.cli.command import CANCELLED
from pilothouse.cli.replays import spent_words
from pilothouse.cli.terminal import messages, output
from pilothouse.cli.wrapping import aside_only, say
from pilothouse.connection import connect_host
from pilothouse.host.following import Following
from pilothouse.host.new_conversations import begin_conversation, model_name
from pilothouse.types.api import Comparison, MessageAccepted, NewMessage
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.json import Frozen
from pilothouse.types.replays import RunSummary


class ComparisonRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What `compare` was asked to do."""

    message: str
    models: tuple[str, ...]
    conversation: str | None = None
    json: bool = False


class Compared(Frozen, frozen=True):
    """The answer of one model, for programs."""

    conversation_id: str
    branch: int
    answer: RunSummary


async def compare(request: ComparisonRequest) -> int:
    """Have the models answer side by side, show each answer when it is complete, and return the exit code."""
    wanted = tuple(model_name(name) or name for name in request.models)
    async with connect_host(tell=aside_only, brief=True) as api:
        wish = Comparison(message=NewMessage(text=request.message, unattended=True), model_ids=wanted)
        accepted, after = await _sent(api, wish, request.conversation)
        codes = [await _one(api, each, after, as_json=request.json) for each in accepted]
    if not request.json:
        where = accepted[0].conversation_id
        say(messages(), f"Go on with one: pilothouse conversations choose {where} BRANCH", "dim")
    return max(codes)


async def _sent(api: ClientApi, wish: Comparison, conversation: str | None) -> tuple[tuple[MessageAccepted, ...], int]:
    """Send the message, in a new conversation unless one is named; where it is not taken, nothing stays."""
    given = conversation or (await begin_conversation(api, {"model_id": None})).id
    try:
        after = (await api.conversations.get(LOCAL_OWNER, given, limit=1)).last_seq
        return (await api.branches.compare(LOCAL_OWNER, given, wish)).accepted, after
    except PilothouseError:
        if conversation is None:
            await api.conversations.delete(LOCAL_OWNER, given)
        raise


async def _one(api: ClientApi, accepted: MessageAccepted, after: int, *, as_json: bool) -> int:
    """Wait for an answer and show it; the others go on meanwhile."""
    report = await watch(api, Following(api, await api.runs.get(LOCAL_OWNER, accepted.run_id), after))
    summary = (await api.branches.difference(LOCAL_OWNER, accepted.run_id, accepted.run_id)).after
    if as_json:
        output().json(Compared(conversation_id=accepted.conversation_id, branch=accepted.branch, answer=summary))
    else:
        out = output()
        out.line(f"{summary.model or report.run.options.model_id or ''} (branch {accepted.branch})", "bold")
        why = report.run.error.message if report.run.error is not None else ""
        say(out, summary.answer or why or f"It was {summary.status}.")
        out.line(spent_words(summary), "dim")
        out.line()
    return {"completed": 0, "cancelled": CANCELLED}.get(summary.status, 1)
