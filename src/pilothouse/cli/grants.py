"""`pilothouse grants`: what is allowed in a conversation, and until when."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from pilothouse.cli.options import AsJson, ConversationId, OneConversation, command, new_app
from pilothouse.cli.pattern_form import PatternForm
from pilothouse.cli.tables import show_table
from pilothouse.cli.terminal import messages, output
from pilothouse.connection import connect_host
from pilothouse.types.authority import Grant, NewGrant
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.paging import whole
from pilothouse.types.patterns import in_words

_HOW_LONG = "How long: “5m”, “1h 30m”; else as the settings say, 30 minutes."
app = new_app()


@command(app, "list")
async def list_grants(conversation: OneConversation = None, json: AsJson = False) -> int:
    """List what is allowed in conversations, and until when."""
    async with connect_host() as api:
        found = await whole(lambda page: api.permissions.grants(LOCAL_OWNER, conversation, page))
    if json:
        output().json(found)
        return 0
    rows = [(one.id, one.conversation_id, _left(one), _used(one), in_words(one.pattern)) for one in found.grants]
    head = ("permission", "conversation", "until", "used", "about")
    show_table(output(), head, rows, none="Nothing is allowed in a conversation.")
    return 0


def _left(grant: Grant) -> str:
    if grant.expires_at is None:
        return "its answer ends" if grant.run_id else "it is withdrawn"
    minutes, seconds = divmod(max(0, round(grant.expires_at - time.time())), 60)
    left = f"{minutes // 60}h {minutes % 60}m" if minutes >= 60 else f"{minutes}m" if minutes else f"{seconds}s"
    return f"in {left}"


def _used(grant: Grant) -> str:
    return "once" if grant.single_use else f"{grant.uses}×"


@command(app)
async def give(
    conversation: ConversationId,
    duration: Annotated[str, typer.Option("--for", metavar="TIME", help=_HOW_LONG)] = "",
    many: Annotated[bool, typer.Option("--many/--once", help="As often as needed, or once.")] = False,
    *,
    form: PatternForm,
) -> int:
    """Allow something for a while in one conversation.

    It prints the permission's id.
    """
    body = NewGrant(conversation_id=conversation, pattern=form.allowed, duration=duration, single_use=not many)
    async with connect_host() as api:
        grant = await api.permissions.give_grant(LOCAL_OWNER, body)
    output().line(grant.id)
    return 0


@command(app)
async def revoke(grant: Annotated[str, typer.Argument(metavar="GRANT", help="The permission's id.")]) -> int:
    """Withdraw a permission, at once."""
    async with connect_host() as api:
        await api.permissions.revoke_grant(LOCAL_OWNER, grant)
    messages().line(f"Withdrawn: {grant}.")
    return 0
