"""Commands about rules and passing permissions, what waits for the person, and the record of what was done."""

from __future__ import annotations

import asyncio
import time

from pilothouse.runs.feed import Feed
from pilothouse.types import limits
from pilothouse.types.admin import AuthorityAdmin
from pilothouse.types.authority import (
    AuditCheck,
    AuditEntry,
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
from pilothouse.types.durations import seconds_of, words_of
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import ItemCreated
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.ids import new_id
from pilothouse.types.items import Item
from pilothouse.types.json import plain
from pilothouse.types.paging import FIRST, Page, window
from pilothouse.types.patterns import in_words
from pilothouse.types.records import Records

# The notice about a file of rules that cannot be read.
_NOTICE = "policy"


class AuthorityCommands:
    """The part of the core that says who may do what, and who did."""

    def __init__(self, records: Records, authority: AuthorityAdmin, feed: Feed) -> None:
        self._past = records
        self._authority = authority
        self._told = feed

    async def policy(self, owner: str) -> PolicyView:
        """Return the rules, how often each was used lately, and what is wrong with their file."""
        calls = await self._past.past_calls(owner, limits.REPLAYED_CALLS)
        uses = await asyncio.to_thread(self._authority.uses, calls)
        return PolicyView(rules=self._authority.rules, uses=uses, problem=self._authority.problem)

    async def set_policy(self, owner: str, body: PolicyInput) -> PolicyView:
        """Put these rules in the place of all others."""
        if owner != LOCAL_OWNER:
            raise PilothouseError("forbidden", "Only the owner of this installation may change its rules.")
        await self._authority.replace_rules(body.rules)
        self.policy_changed()
        return await self.policy(owner)

    async def replay_policy(self, owner: str, body: PolicyInput) -> PolicyReplay:
        """Return what rules would have done about calls of the past; nothing is kept."""
        calls = await self._past.past_calls(owner, limits.REPLAYED_CALLS)
        return await asyncio.to_thread(self._authority.replay, body.rules, calls)

    async def check_policy(self, owner: str, example: Example) -> PolicyCheck:
        """Return what the rules in force say about a call."""
        return self._authority.check(example)

    def policy_changed(self) -> None:
        """Tell every page that the rules cannot be read, or can be again."""
        problem = self._authority.problem
        if problem is None:
            self._told.notice("info", _NOTICE, "Your rules are in force again.")
            return
        said = f"Your rules in {problem.file} cannot be read, so nothing is allowed by rule. {problem.message}"
        self._told.notice("warning", _NOTICE, said)

    async def grants(self, owner: str, conversation_id: str | None, page: Page = FIRST) -> GrantList:
        """Return the passing permissions of a conversation or of all that stand, newest first."""
        if conversation_id is not None:
            await self._past.conversation(owner, conversation_id, deleted=True)
        standing = tuple(await self._authority.grants(owner, conversation_id))
        first, last, rest = window([grant.id for grant in standing], page)
        return GrantList(grants=standing[first:last], next=rest)

    async def give_grant(self, owner: str, body: NewGrant) -> Grant:
        """Allow something for a while, in one conversation."""
        now = time.time()
        grant = Grant(
            id=new_id("g"),
            owner=owner,
            conversation_id=body.conversation_id,
            pattern=body.pattern,
            created_at=now,
            expires_at=now + seconds_of(body.duration),
            single_use=body.single_use,
        )
        await self._authority.add_grant(grant)
        often = "once" if grant.single_use else "as often as needed"
        length = words_of(grant.expires_at - grant.created_at)
        await self._note(grant, f"Allowed for {length}, {often}: {in_words(grant.pattern)}.")
        return grant

    async def revoke_grant(self, owner: str, grant_id: str) -> None:
        """Withdraw a passing permission, at once."""
        standing = [grant for grant in await self._authority.grants(owner, None) if grant.id == grant_id]
        await self._authority.revoke_grant(owner, grant_id)
        for grant in standing:
            await self._note(grant, f"Not allowed any more: {in_words(grant.pattern)}.")

    async def _note(self, grant: Grant, text: str) -> None:
        """Write what the person allowed by hand, or withdrew, to the timeline: the record is made from it."""
        said = Item(
            id=new_id("i"),
            conversation_id=grant.conversation_id,
            run_id=None,
            kind="notice",
            status="completed",
            position=0,
            text=text,
            data={"level": "info", "code": "permission", "grant": plain(grant), "by": grant.owner},
            created_at=0.0,
            updated_at=0.0,
        )
        await self._past.append(grant.conversation_id, [ItemCreated(item=said)], None)

    async def approvals(self, owner: str, page: Page = FIRST) -> PendingApprovals:
        """Return what waits for the person, oldest first."""
        return await self._past.pending(owner, page)

    async def audit(
        self,
        owner: str,
        conversation_id: str | None,
        until: int | None = None,
        limit: int = limits.AUDIT_ENTRIES,
        cursor: str | None = None,
    ) -> AuditReport:
        """Return the calls of a conversation or of all with who allowed them, and whether the record is whole."""
        every = [conversation_id] if conversation_id is not None else await self._past.audited(owner)
        first, last, rest = window(every, Page(limits.AUDIT_CONVERSATIONS, cursor))
        entries: list[AuditEntry] = []
        checks: list[AuditCheck] = []
        for each in every[first:last]:
            found, check = await self._past.audit(owner, each, until)
            entries += found
            checks.append(check)
        # All are looked at, whatever is shown: a check of a part would be none.
        newest = sorted(range(len(entries)), key=lambda index: (entries[index].at, index))[-limit:]
        kept = tuple(entries[index] for index in sorted(newest))
        return AuditReport(entries=kept, checks=tuple(checks), more=len(kept) < len(entries), next=rest)
