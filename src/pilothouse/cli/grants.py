"""`pilothouse grants` and `pilothouse approvals`: what is allowed for a while, and what waits."""

from __future__ import annotations

import time

from pilothouse.cli.pattern_form import PatternForm
from pilothouse.cli.tables import show_table
from pilothouse.cli.terminal import messages, output
from pilothouse.connection import connect_host
from pilothouse.types.authority import Grant, NewGrant
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.paging import whole
from pilothouse.types.patterns import in_words


async def list_grants(conversation_id: str | None, *, as_json: bool) -> int:
    """List what is allowed for a while."""
    async with connect_host() as api:
        found = await whole(lambda page: api.grants(LOCAL_OWNER, conversation_id, page))
    if as_json:
        output().json(found)
    elif found.grants:
        rows = [(one.id, one.conversation_id, _left(one), _used(one), in_words(one.pattern)) for one in found.grants]
        show_table(output(), ("permission", "conversation", "for", "used", "about"), rows)
    else:
        messages().line("Nothing is allowed for a while.")
    return 0


def _left(grant: Grant) -> str:
    minutes, seconds = divmod(max(0, round(grant.expires_at - time.time())), 60)
    return f"{minutes // 60}h {minutes % 60}m" if minutes >= 60 else f"{minutes}m" if minutes else f"{seconds}s"


def _used(grant: Grant) -> str:
    return "once" if grant.single_use else f"{grant.uses}×"


async def give(conversation_id: str, form: PatternForm, duration: str, *, many: bool) -> int:
    """Allow something for a while in one conversation."""
    body = NewGrant(conversation_id=conversation_id, pattern=form.allowed, duration=duration, single_use=not many)
    async with connect_host() as api:
        grant = await api.give_grant(LOCAL_OWNER, body)
    output().line(grant.id)
    return 0


async def revoke(grant_id: str) -> int:
    """Withdraw a permission."""
    async with connect_host() as api:
        await api.revoke_grant(LOCAL_OWNER, grant_id)
    messages().line(f"Withdrawn: {grant_id}.")
    return 0


async def approvals(*, as_json: bool) -> int:
    """List every question that waits, in whichever conversation."""
    async with connect_host() as api:
        found = await whole(lambda page: api.approvals(LOCAL_OWNER, page))
    if as_json:
        output().json(found)
    elif found.pending:
        rows = [(one.item_id, one.title or "(new)", one.text) for one in found.pending]
        show_table(output(), ("question", "conversation", "asks"), rows)
        messages().line("Answer one: pilothouse answer QUESTION CHOICE")
    else:
        messages().line("Nothing waits for you.")
    return 0
