"""The rows of the route table that are about rules, passing permissions, what waits, and the record."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from pilothouse.server.paging import Cursor, ListQuery
from pilothouse.server.routing import AnyRoute, Call, NoQuery, Route
from pilothouse.types import limits
from pilothouse.types.authority import (
    AuditReport,
    Example,
    Grant,
    GrantList,
    NewGrant,
    PendingApprovals,
    PolicyCheck,
    PolicyInput,
    PolicyReplay,
    PolicyView,
)


class CheckQuery(msgspec.Struct, frozen=True):
    """A call in short: its tool, and a path, a command or a destination; `folder` is its working directory."""

    tool: str
    path: str = ""
    command: str = ""
    destination: str = ""
    folder: str = "/"


class GrantsQuery(ListQuery, frozen=True):
    """Of one conversation, or of all."""

    conversation: str | None = None


class AuditQuery(msgspec.Struct, frozen=True):
    """Of one conversation or of all; events after this number are left out, and of the calls the newest are told.

    All are gone through in several requests, where there are many; the cursor says which are next.
    """

    conversation: str | None = None
    until: Annotated[int, Meta(ge=0)] | None = None
    limit: Annotated[int, Meta(ge=1, le=limits.AUDIT_ENTRIES)] = limits.AUDIT_ENTRIES
    cursor: Cursor | None = None


async def get_policy(call: Call[None, NoQuery]) -> PolicyView:
    """Return the rules."""
    return await call.host.policy(call.owner)


async def set_policy(call: Call[PolicyInput, NoQuery]) -> PolicyView:
    """Replace the rules."""
    return await call.host.set_policy(call.owner, call.body)


async def replay_policy(call: Call[PolicyInput, NoQuery]) -> PolicyReplay:
    """Try rules on the past."""
    return await call.host.replay_policy(call.owner, call.body)


async def check_policy(call: Call[None, CheckQuery]) -> PolicyCheck:
    """Try a call on the rules."""
    asked = call.query
    example = Example(
        tool=asked.tool,
        paths=(asked.path,) if asked.path else (),
        command=asked.command,
        destination=asked.destination,
        folder=asked.folder,
    )
    return await call.host.check_policy(call.owner, example)


async def list_grants(call: Call[None, GrantsQuery]) -> GrantList:
    """List them."""
    return await call.host.grants(call.owner, call.query.conversation, call.query.page)


async def give_grant(call: Call[NewGrant, NoQuery]) -> Grant:
    """Give one."""
    return await call.host.give_grant(call.owner, call.body)


async def revoke_grant(call: Call[None, NoQuery]) -> None:
    """Withdraw one."""
    await call.host.revoke_grant(call.owner, call.id)


async def list_approvals(call: Call[None, ListQuery]) -> PendingApprovals:
    """List what waits."""
    return await call.host.approvals(call.owner, call.query.page)


async def get_audit(call: Call[None, AuditQuery]) -> AuditReport:
    """Return the record."""
    asked = call.query
    return await call.host.audit(call.owner, asked.conversation, asked.until, asked.limit, asked.cursor)


AUTHORITY_ROUTES: tuple[AnyRoute, ...] = (
    Route(
        method="GET",
        path="/api/policy",
        handler=get_policy,
        reply=PolicyView,
        summary="The rules in force, how often each decided lately, and what is wrong with their file.",
    ),
    Route(
        method="PUT",
        path="/api/policy",
        handler=set_policy,
        body=PolicyInput,
        reply=PolicyView,
        summary="Replace all rules; each is tried on its own examples first.",
    ),
    Route(
        method="POST",
        path="/api/policy/replay",
        handler=replay_policy,
        body=PolicyInput,
        reply=PolicyReplay,
        summary="What these rules would have done about calls of the past; nothing is kept.",
    ),
    Route(
        method="GET",
        path="/api/policy/check",
        handler=check_policy,
        query=CheckQuery,
        reply=PolicyCheck,
        summary="What the rules in force say about a call.",
    ),
    Route(
        method="GET",
        path="/api/grants",
        handler=list_grants,
        query=GrantsQuery,
        reply=GrantList,
        summary="The passing permissions that stand, of one conversation or of all, newest first.",
    ),
    Route(
        method="POST",
        path="/api/grants",
        handler=give_grant,
        body=NewGrant,
        reply=Grant,
        status=201,
        summary="Allow something for a while in one conversation.",
    ),
    Route(
        method="DELETE",
        path="/api/grants/{id}",
        handler=revoke_grant,
        status=204,
        kind="empty",
        summary="Withdraw a passing permission, at once.",
    ),
    Route(
        method="GET",
        path="/api/approvals",
        handler=list_approvals,
        query=ListQuery,
        reply=PendingApprovals,
        summary="Every question that waits for the person, in whichever conversation, oldest first.",
    ),
    Route(
        method="GET",
        path="/api/audit",
        handler=get_audit,
        query=AuditQuery,
        reply=AuditReport,
        summary="Every call with who allowed it and why, and whether the record is as it was written.",
    ),
)
